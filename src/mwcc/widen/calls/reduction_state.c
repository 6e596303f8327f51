/* The widened form of sums that threads save between the strips of a grid-stride loop
 * (grid_stride/reduction_state.c). */
#include "mwcc/grid_stride/grid_stride.h"
#include "mwcc/widen/widen.h"

#include <stdlib.h>
#include <string.h>

void choose_strip_blocks(widener *w) {
  uint64_t lanes = (uint64_t)w->width * (uint64_t)w->vectors * LLVMConstIntGetZExtValue(w->gangs);
  if (!w->k->saves_state) return;
  w->k->strip_blocks = blocks_per_strip(lanes * w->k->saved_bytes);
  if (w->k->private_shared && private_shared_blocks(w->k) < w->k->strip_blocks)
    w->k->strip_blocks = private_shared_blocks(w->k);
}

static void note_shared_block(widener *w, LLVMValueRef number) {
  LLVMTypeRef type = LLVMFunctionType(w->p->void_type, &w->p->i32, 1, 0);
  LLVMValueRef function = LLVMGetNamedFunction(w->p->module, PRIVATE_SHARED);
  if (!function) function = LLVMAddFunction(w->p->module, PRIVATE_SHARED, type);
  LLVMBuildCall2(w->b, type, function, &number, 1, "");
}

void select_strip_block(widener *w, LLVMValueRef number) {
  if (!w->k->saves_state) return;
  if (!w->saved_block) w->saved_block = LLVMBuildAlloca(w->entry, w->p->i32, "saved");
  number = LLVMBuildTrunc(w->b, number, w->p->i32, "");
  LLVMBuildStore(w->b, number, w->saved_block);
  if (w->k->private_shared) note_shared_block(w, number);
}

/* The address of the sums of the gang's first vector: those of its other vectors are adjacent, and so are those of
   the block's gangs. */
static LLVMValueRef place_in_strip(widener *w, unsigned number, LLVMTypeRef type) {
  LLVMValueRef count = constant_i32(w->p, (unsigned)w->vectors);
  LLVMTypeRef wide = vector_type(w, type);
  if (!w->saved[number]) {
    LLVMValueRef all =
        LLVMBuildMul(w->entry, w->gangs, constant_i32(w->p, (unsigned)w->vectors * w->k->strip_blocks), "");
    w->saved[number] = LLVMBuildArrayAlloca(w->entry, wide, all, "sums");
  }
  LLVMValueRef at = LLVMBuildMul(w->b, LLVMBuildLoad2(w->b, w->p->i32, w->saved_block, ""), w->gangs, "");
  at = LLVMBuildAdd(w->b, at, LLVMBuildLoad2(w->b, w->p->i32, w->gang, ""), "");
  at = LLVMBuildMul(w->b, at, count, "");
  return LLVMBuildInBoundsGEP2(w->b, wide, w->saved[number], &at, 1, "");
}

/* All lanes are saved, also those without a thread. */
bool widen_saved(widener *w, LLVMValueRef call) {
  const char *name = callee_name(call);
  bool loads = starts_with(name, SAVED_LOAD);
  if (!loads && !starts_with(name, SAVED_STORE)) return false;
  unsigned number = (unsigned)strtoul(strrchr(name, '.') + 1, NULL, 10);
  LLVMTypeRef type = loads ? LLVMTypeOf(call) : LLVMTypeOf(LLVMGetOperand(call, 0)), wide = vector_type(w, type);
  LLVMValueRef first = place_in_strip(w, number, type);
  vectors lanes = {0};
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef vector = constant_i32(w->p, (unsigned)u),
                 at = LLVMBuildInBoundsGEP2(w->b, wide, first, &vector, 1, "");
    if (loads)
      lanes.of[u] = LLVMBuildLoad2(w->b, wide, at, "");
    else
      LLVMBuildStore(w->b, value_vector(w, LLVMGetOperand(call, 0), u), at);
  }
  if (loads) set_value(w, call, lanes);
  return true;
}
