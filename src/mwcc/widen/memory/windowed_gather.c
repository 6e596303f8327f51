/* Windowed gathers: a gather whose lanes lie within one vector's length of each other is one load and a permutation
 * (cf. ISPC's GatherCoalescePass). Indices that are clamped to an edge are like that: the first lanes are
 * consecutive and the rest the same, or the reverse.
 *
 *   if (in every vector: index of lane 0 <= those of active lanes <= index of the last lane, which is less than the
 *       vector's length away, and the window may be read)
 *     load each vector's window, and permute it by the lanes' distances from lane 0
 *   else
 *     gather
 *
 * A window that begins and ends with active lanes may be read: it is not longer than a vector, so each of its elements
 * is on the page of one of them. So may any window on a page, since it holds an active lane's element. A vector
 * without active lanes reads a dummy.
 *
 * The test is made where lanes are often clamped: in shared memory, whose edges are those of every block, and in the
 * fallback (divergent_fallback.c), which runs gangs at an edge. Elsewhere such lanes are too rare for a test. */
#include "memory.h"
#include "mwcc/target/target.h"

#include <string.h>

static const char *permutation(const widener *w, LLVMTypeRef type) {
  if (LLVMSizeOfTypeInBits(w->p->layout, type) != 32) return NULL;
  if (w->width == 16 && strstr(w->p->features, "+avx512f")) return "llvm.x86.avx512.permvar.si.512";
  return w->width == 8 && strstr(w->p->features, "+avx2") ? "llvm.x86.avx2.permd" : NULL;
}

bool may_be_window(const widener *w, const place *at, LLVMTypeRef type) {
  /* with AVX2, gathers by scalar loads were as fast */
  bool often_clamped =
      (memory_of(at->address) == MEMORY_SHARED && has_mask_registers(w->p)) || (w->fallback && w->vectors == 1);
  return has_pass(w->p, PASS_WINDOWED_GATHER) && often_clamped && !at->is_volatile && permutation(w, type);
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
    if (!exact || !is_uniform(w, LLVMGetOperand(index, 1 - other)) || !is_available(w, at, rest)) break;
    index = rest;
  }
  return index;
}

typedef struct window {
  LLVMValueRef pointer, distances; /* of its first element; of the lanes' elements from it */
  LLVMValueRef most;               /* the last lane's distance */
} window;

/* A vector's window; the test of its lanes is joined to *near, and that of the whole to *all. */
static window find_window(widener *w, const place *at, LLVMValueRef index, bool is_unsigned, mask m, int u,
                          LLVMValueRef *near, LLVMValueRef *all) {
  LLVMTypeRef number = LLVMTypeOf(index);
  LLVMValueRef own = varying_term(w, at, index, is_unsigned);
  /* freeze: a branch must not depend on the value of an inactive lane */
  LLVMValueRef lanes = LLVMBuildFreeze(w->b, value_vector(w, own, u), "");
  LLVMValueRef first = lane_of_vector(w, lanes, 0), last = lane_of_vector(w, lanes, w->width - 1);
  window x = {.distances = LLVMBuildSub(w->b, lanes, splat(w, first), ""), .most = LLVMBuildSub(w->b, last, first, "")};
  LLVMValueRef within = LLVMBuildICmp(w->b, LLVMIntULE, x.distances, splat(w, x.most), "");
  if (!m.all) within = LLVMBuildSelect(w->b, m.lanes.of[u], within, LLVMConstAllOnes(LLVMTypeOf(within)), "");
  *near = *near ? LLVMBuildAnd(w->b, *near, within, "") : within;
  LLVMValueRef fits = LLVMBuildICmp(w->b, LLVMIntULT, x.most, LLVMConstInt(number, (unsigned)w->width, 0), "");
  /* the indices do not wrap: the last is the greatest */
  LLVMValueRef ordered = LLVMBuildICmp(w->b, is_unsigned ? LLVMIntULE : LLVMIntSLE, first, last, "");
  fits = LLVMBuildAnd(w->b, fits, ordered, "");
  x.pointer = first_pointer(w, at, u);
  if (!m.all) {
    LLVMTypeRef wide = vector_type(w, w->p->i32);
    unsigned bytes = (unsigned)LLVMABISizeOfType(w->p->layout, wide);
    LLVMValueRef active = m.lanes.of[u], readable = is_on_a_page(w, x.pointer, bytes);
    LLVMValueRef ends = LLVMBuildAnd(w->b, lane_of_vector(w, active, 0), lane_of_vector(w, active, w->width - 1), "");
    readable = LLVMBuildOr(w->b, readable, ends, "");
    LLVMValueRef any = any_in_vector(w, active), none = LLVMBuildNot(w->b, any, "");
    fits = LLVMBuildOr(w->b, LLVMBuildAnd(w->b, fits, readable, ""), none, "");
    x.pointer = LLVMBuildSelect(w->b, any, x.pointer, place_for(w, bytes), "");
  }
  *all = *all ? LLVMBuildAnd(w->b, *all, fits, "") : fits;
  return x;
}

/* `index`: of a uniform base, as it is used or extended to 64 bits. */
vectors load_window(widener *w, const place *at, LLVMValueRef index, LLVMTypeRef type, mask m) {
  bool is_unsigned = LLVMIsAZExtInst(index) != NULL;
  if (is_unsigned || LLVMIsASExtInst(index)) index = LLVMGetOperand(index, 0);
  LLVMTypeRef wide = vector_type(w, type), words = vector_type(w, w->p->i32);
  vectors slots = new_slots(w, wide, w->vectors);
  window windows[MOST_VECTORS];
  LLVMValueRef near = NULL, all = NULL;
  need_pointers(w, at);
  for (int u = 0; u < w->vectors; u++) windows[u] = find_window(w, at, index, is_unsigned, m, u, &near, &all);
  near = LLVMBuildFreeze(w->b, LLVMBuildAnd(w->b, every(w, near), all, ""), "");
  LLVMBasicBlockRef quick = LLVMAppendBasicBlockInContext(w->p->context, w->function, "near");
  choice c = {.some = LLVMAppendBasicBlockInContext(w->p->context, w->function, "anywhere"),
              .done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "accessed")};
  build_likely(w->p, w->b, near, quick, c.some);
  LLVMPositionBuilderAtEnd(w->b, quick);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef most = splat(w, LLVMBuildIntCast2(w->b, windows[u].most, w->p->i32, 0, ""));
    LLVMValueRef between = LLVMBuildICmp(w->b, LLVMIntULE, lane_numbers(w, w->p->i32), most, "");
    LLVMValueRef loaded = masked_load(w->p, w->b, words, windows[u].pointer, at->align, between);
    LLVMValueRef from = LLVMBuildIntCast2(w->b, windows[u].distances, words, 0, "");
    LLVMValueRef arguments[] = {loaded, from};
    LLVMValueRef permuted = call_intrinsic(w->p, w->b, permutation(w, type), NULL, 0, arguments, 2);
    LLVMBuildStore(w->b, LLVMBuildBitCast(w->b, permuted, wide, ""), slots.of[u]);
  }
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) LLVMBuildStore(w->b, gather(w, at, wide, m, u), slots.of[u]);
  end_choice(w, &c);
  return load_slots(w, wide, slots, w->vectors);
}
