/* Lanes whose elements lie within as many as a vector has, as those of an index that is clamped to an edge do: the first of
 * them are one after the other, the rest all the same, or the other way round.
 *
 * Where lane 0 has the least index and the last lane the greatest, and they are no further apart, what lies between them is
 * loaded as one vector, which one instruction then deals out. A gather takes several times as long. Each gang looks, in
 * code for those that do not go the way of most (divergent_fallback.c); elsewhere such lanes are not looked for. */
#include "memory.h"
#include "mwcc/target/target.h"

#include <string.h>

static const char *deals_out(const widener *w, LLVMTypeRef type) {
  if (LLVMSizeOfTypeInBits(w->p->layout, type) != 32) return NULL;
  if (w->width == 16 && strstr(w->p->features, "+avx512f")) return "llvm.x86.avx512.permvar.si.512";
  return w->width == 8 && strstr(w->p->features, "+avx2") ? "llvm.x86.avx2.permd" : NULL;
}

bool may_be_near(const widener *w, const place *at, LLVMTypeRef type) {
  return has_pass(w->p, PASS_WINDOWED_GATHER) && w->fallback && w->parts == 1 && !at->is_volatile && deals_out(w, type);
}

static LLVMValueRef lane_of_vector(widener *w, LLVMValueRef lanes, int lane) {
  return LLVMBuildExtractElement(w->b, lanes, constant_i32(w->p, (unsigned)lane), "");
}

static LLVMValueRef every(widener *w, LLVMValueRef lanes) {
  LLVMValueRef word = mask_word(w, lanes);
  return LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), "");
}

/* Of an index, what differs from lane to lane: without what is added to it in all of them, where that does not wrap. Of
   `row * width + column` in a loop over rows that is the same in every round, and so is all that is found out from it. */
static LLVMValueRef differing(widener *w, const place *at, LLVMValueRef index, bool is_unsigned) {
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
parts load_near(widener *w, const place *at, LLVMValueRef index, LLVMTypeRef type, mask m) {
  bool is_unsigned = LLVMIsAZExtInst(index) != NULL;
  if (is_unsigned || LLVMIsASExtInst(index)) index = LLVMGetOperand(index, 0);
  LLVMTypeRef wide = vector_type(w, type), number = LLVMTypeOf(index), words = vector_type(w, w->p->i32);
  parts slots = new_slots(w, wide, 1);
  need_pointers(w, at);
  index = differing(w, at, index, is_unsigned);
  /* no branch may depend on what a lane that is not active holds */
  LLVMValueRef lanes = LLVMBuildFreeze(w->b, part_vector(w, index, 0), "");
  LLVMValueRef first = lane_of_vector(w, lanes, 0), last = lane_of_vector(w, lanes, w->width - 1);
  LLVMValueRef distances = LLVMBuildSub(w->b, lanes, splat(w, first), "");
  LLVMValueRef most = LLVMBuildSub(w->b, last, first, "");
  LLVMValueRef near = every(w, LLVMBuildICmp(w->b, LLVMIntULE, distances, splat(w, most), ""));
  LLVMValueRef width = LLVMConstInt(number, (unsigned)w->width, 0);
  near = LLVMBuildAnd(w->b, near, LLVMBuildICmp(w->b, LLVMIntULT, most, width, ""), "");
  /* and do not wrap: the last is the greatest */
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
  LLVMValueRef dealt = call_intrinsic(w->p, w->b, deals_out(w, type), NULL, 0, arguments, 2);
  LLVMBuildStore(w->b, LLVMBuildBitCast(w->b, dealt, wide, ""), slots.of[0]);
  else_some(w, &c);
  LLVMBuildStore(w->b, gather(w, at, wide, m, 0), slots.of[0]);
  end_choice(w, &c);
  return load_slots(w, wide, slots, 1);
}
