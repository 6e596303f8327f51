/* Windowed gathers: a gather whose lanes lie within one vector's length of each other is one load and a permutation
 * (cf. ISPC's GatherCoalescePass). Indices that are clamped to an edge are like that: the first lanes are
 * consecutive and the rest the same, or the reverse.
 *
 *   if (index of lane 0 <= all others <= index of the last lane, and that is less than the vector's length away)
 *     load the window as one masked vector, and permute it by the lanes' distances from lane 0
 *   else
 *     gather
 *
 * The test is made only in the fallback (divergent_fallback.c), where gangs at an edge are run; elsewhere such lanes
 * are too rare for it. */
#include "memory.h"
#include "mwcc/target/target.h"

#include <string.h>

static const char *permutation(const widener *w, LLVMTypeRef type) {
  if (LLVMSizeOfTypeInBits(w->p->layout, type) != 32) return NULL;
  if (w->width == 16 && strstr(w->p->features, "+avx512f")) return "llvm.x86.avx512.permvar.si.512";
  return w->width == 8 && strstr(w->p->features, "+avx2") ? "llvm.x86.avx2.permd" : NULL;
}

bool may_be_window(const widener *w, const place *at, LLVMTypeRef type) {
  return has_pass(w->p, PASS_WINDOWED_GATHER) && w->fallback && w->vectors == 1 && !at->is_volatile &&
         permutation(w, type);
}

static LLVMValueRef lane_of_vector(widener *w, LLVMValueRef lanes, int lane) {
  return LLVMBuildExtractElement(w->b, lanes, constant_i32(w->p, (unsigned)lane), "");
}

static LLVMValueRef every(widener *w, LLVMValueRef lanes) {
  LLVMValueRef word = mask_word(w, lanes);
  return LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), "");
}

/* The part of an index that differs between lanes: without uniform terms that are added without wrapping. For `row *
   width + column` in a loop over rows that is the same in every iteration, and the test is loop-invariant. */
static LLVMValueRef varying_term(widener *w, const place *at, LLVMValueRef index, bool is_unsigned) {
  while (LLVMIsAInstruction(index) && LLVMGetInstructionOpcode(index) == LLVMAdd) {
    unsigned other = is_uniform(w, LLVMGetOperand(index, 0)) ? 1 : 0;
    LLVMValueRef rest = LLVMGetOperand(index, other);
    bool exact = is_unsigned ? LLVMGetNUW(index) : LLVMGetNSW(index);
    if (!exact || !is_uniform(w, LLVMGetOperand(index, 1 - other)) || !is_at_hand(w, at, rest)) break;
    index = rest;
  }
  return index;
}

/* `index`: of a uniform base, as it is used or extended to 64 bits. */
vectors load_window(widener *w, const place *at, LLVMValueRef index, LLVMTypeRef type, mask m) {
  bool is_unsigned = LLVMIsAZExtInst(index) != NULL;
  if (is_unsigned || LLVMIsASExtInst(index)) index = LLVMGetOperand(index, 0);
  LLVMTypeRef wide = vector_type(w, type), number = LLVMTypeOf(index), words = vector_type(w, w->p->i32);
  vectors slots = new_slots(w, wide, 1);
  need_pointers(w, at);
  index = varying_term(w, at, index, is_unsigned);
  /* freeze: a branch must not depend on what an inactive lane holds */
  LLVMValueRef lanes = LLVMBuildFreeze(w->b, value_vector(w, index, 0), "");
  LLVMValueRef first = lane_of_vector(w, lanes, 0), last = lane_of_vector(w, lanes, w->width - 1);
  LLVMValueRef distances = LLVMBuildSub(w->b, lanes, splat(w, first), "");
  LLVMValueRef most = LLVMBuildSub(w->b, last, first, "");
  LLVMValueRef near = every(w, LLVMBuildICmp(w->b, LLVMIntULE, distances, splat(w, most), ""));
  LLVMValueRef width = LLVMConstInt(number, (unsigned)w->width, 0);
  near = LLVMBuildAnd(w->b, near, LLVMBuildICmp(w->b, LLVMIntULT, most, width, ""), "");
  /* the indices do not wrap: the last is the greatest */
  near = LLVMBuildAnd(w->b, near, LLVMBuildICmp(w->b, is_unsigned ? LLVMIntULE : LLVMIntSLE, first, last, ""), "");
  if (!m.all) near = LLVMBuildAnd(w->b, near, every(w, m.lanes.of[0]), "");
  LLVMBasicBlockRef quick = LLVMAppendBasicBlockInContext(w->p->context, w->function, "near");
  choice c = {.some = LLVMAppendBasicBlockInContext(w->p->context, w->function, "anywhere"),
              .done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "accessed")};
  build_likely(w->p, w->b, near, quick, c.some);
  LLVMPositionBuilderAtEnd(w->b, quick);
  LLVMValueRef between = LLVMBuildICmp(w->b, LLVMIntULE, lane_numbers(w, w->p->i32),
                                       splat(w, LLVMBuildIntCast2(w->b, most, w->p->i32, 0, "")), "");
  LLVMValueRef loaded = masked_load(w->p, w->b, words, first_pointer(w, at, 0), at->align, between);
  LLVMValueRef from = LLVMBuildIntCast2(w->b, distances, words, 0, "");
  LLVMValueRef arguments[] = {loaded, from};
  LLVMValueRef permuted = call_intrinsic(w->p, w->b, permutation(w, type), NULL, 0, arguments, 2);
  LLVMBuildStore(w->b, LLVMBuildBitCast(w->b, permuted, wide, ""), slots.of[0]);
  else_some(w, &c);
  LLVMBuildStore(w->b, gather(w, at, wide, m, 0), slots.of[0]);
  end_choice(w, &c);
  return load_slots(w, wide, slots, 1);
}
