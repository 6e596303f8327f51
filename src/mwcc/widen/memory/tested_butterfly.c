/* Lanes that are near each other but not in order, as where the partners of a butterfly, `i ^ distance`, are closer
 * than a vector's length: see tested_access.c.
 *
 *   loads    of which all lanes are within two vectors' lengths, from a multiple of a vector's length on: both vectors
 *            are loaded and permuted by the lanes' distances
 *   stores   of lanes that are exchanged in pairs within one vector's length: the test is whether the permutation is
 *          its own inverse. The lanes are permuted and stored under a mask
 *
 * Two vectors are only read if they are on one page, and one of the elements is an active lane's.
 *
 * Only with AVX-512: AVX2 stores the lanes one by one, and a vector that is loaded soon after waits for these. */
#include "memory.h"
#include "mwcc/target/target.h"

#include <string.h>

bool may_be_near(const widener *w, LLVMTypeRef type) {
  bool words = LLVMSizeOfTypeInBits(w->p->layout, type) == 32;
  return has_pass(w->p, PASS_BUTTERFLIES) && words && w->width == 16 && strstr(w->p->features, "+avx512f");
}

static LLVMValueRef first_lane(widener *w, LLVMValueRef lanes) {
  return LLVMBuildExtractElement(w->b, lanes, constant_i32(w->p, 0), "");
}

/* A vector of 32-bit numbers, of which lane l is lane from[l]. */
static LLVMValueRef permuted(widener *w, LLVMValueRef lanes, LLVMValueRef from) {
  LLVMValueRef arguments[] = {lanes, from};
  return call_intrinsic(w->p, w->b, "llvm.x86.avx512.permvar.si.512", NULL, 0, arguments, 2);
}

/* The start of the vector in index space that lane 0 is in. */
static LLVMValueRef aligned_start(widener *w, LLVMValueRef first) {
  LLVMValueRef ones = LLVMConstInt(LLVMTypeOf(first), (unsigned)w->width - 1, 0);
  return LLVMBuildAnd(w->b, first, LLVMBuildNot(w->b, ones, ""), "");
}

/* The pointer of that element. */
static LLVMValueRef aligned_pointer(widener *w, const place *at, LLVMValueRef first, int u) {
  LLVMValueRef ones = LLVMConstInt(LLVMTypeOf(first), (unsigned)w->width - 1, 0);
  LLVMValueRef back = LLVMBuildAnd(w->b, first, ones, "");
  back = LLVMBuildNeg(w->b, LLVMBuildIntCast2(w->b, back, w->p->i64, 0, ""), "");
  return LLVMBuildGEP2(w->b, w->p->i32, first_pointer(w, at, u), &back, 1, "");
}

/* ---- loads ---- */

LLVMValueRef test_near(widener *w, const place *at, LLVMValueRef index, bool is_unsigned, mask m, int u, butterfly *x) {
  LLVMTypeRef type = LLVMTypeOf(index), element = LLVMGetElementType(type);
  unsigned width = (unsigned)w->width, bytes = 2 * width * 4;
  LLVMValueRef first = first_lane(w, index), start = aligned_start(w, first);
  LLVMValueRef distances = LLVMBuildSub(w->b, index, splat(w, start), "");
  LLVMValueRef within =
      LLVMBuildICmp(w->b, LLVMIntULT, distances, splat(w, LLVMConstInt(element, (uint64_t)2 * width, 0)), "");
  LLVMValueRef fits = in_every_lane(w, unless_inactive(w, m, u, within));
  fits = LLVMBuildAnd(w->b, fits, has_room(w, start, is_unsigned, 2 * width), "");
  x->pointer = aligned_pointer(w, at, first, u);
  if (!m.all) x->pointer = LLVMBuildSelect(w->b, any_in_vector(w, m.lanes.of[u]), x->pointer, place_for(w, bytes), "");
  x->lanes = LLVMBuildIntCast2(w->b, distances, vector_type(w, w->p->i32), 0, "");
  return LLVMBuildAnd(w->b, fits, is_on_a_page(w, x->pointer, bytes), "");
}

LLVMValueRef load_near(widener *w, const place *at, LLVMTypeRef wide, const butterfly *x) {
  LLVMTypeRef words = vector_type(w, w->p->i32);
  LLVMValueRef low = LLVMBuildLoad2(w->b, words, x->pointer, "");
  LLVMValueRef high = LLVMBuildLoad2(w->b, words, moved(w, x->pointer, 4 * (uint64_t)w->width), "");
  LLVMSetAlignment(low, at->align);
  LLVMSetAlignment(high, at->align);
  LLVMValueRef arguments[] = {low, x->lanes, high};
  LLVMValueRef result = call_intrinsic(w->p, w->b, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, arguments, 3);
  return LLVMBuildBitCast(w->b, result, wide, "");
}

/* ---- stores ---- */

LLVMValueRef test_swap(widener *w, const place *at, LLVMValueRef index, bool is_unsigned, int u, butterfly *x) {
  LLVMValueRef first = first_lane(w, index), start = aligned_start(w, first), lane = lane_numbers(w, w->p->i32);
  LLVMValueRef distances = LLVMBuildSub(w->b, index, splat(w, start), "");
  LLVMValueRef most = LLVMConstInt(LLVMTypeOf(first), (unsigned)w->width, 0);
  LLVMValueRef fits = LLVMBuildICmp(w->b, LLVMIntULT, distances, splat(w, most), "");
  x->lanes = LLVMBuildIntCast2(w->b, distances, vector_type(w, w->p->i32), 0, "");
  LLVMValueRef back = LLVMBuildICmp(w->b, LLVMIntEQ, permuted(w, x->lanes, x->lanes), lane, "");
  fits = in_every_lane(w, LLVMBuildAnd(w->b, fits, back, ""));
  x->pointer = aligned_pointer(w, at, first, u);
  return LLVMBuildAnd(w->b, fits, has_room(w, start, is_unsigned, (unsigned)w->width), "");
}

static LLVMValueRef permuted_mask(widener *w, LLVMValueRef lanes, LLVMValueRef from) {
  LLVMTypeRef words = vector_type(w, w->p->i32);
  LLVMValueRef moved_lanes = permuted(w, LLVMBuildSExt(w->b, lanes, words, ""), from);
  return LLVMBuildICmp(w->b, LLVMIntNE, moved_lanes, LLVMConstNull(words), "");
}

void store_swapped(widener *w, const place *at, LLVMValueRef lanes, mask m, int u, const butterfly *x) {
  LLVMValueRef words = LLVMBuildBitCast(w->b, lanes, vector_type(w, w->p->i32), "");
  LLVMValueRef value = LLVMBuildBitCast(w->b, permuted(w, words, x->lanes), LLVMTypeOf(lanes), "");
  LLVMValueRef active = m.all ? mask_vector(w, m, u) : permuted_mask(w, m.lanes.of[u], x->lanes);
  masked_store(w->p, w->b, value, x->pointer, at->align, active);
}
