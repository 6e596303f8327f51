/* Functions for whole warps, called from lanes: __mw_warp_apply(function, x0, x1, …) of the device headers.
 *
 *   {d0 | d1 << 32, d2 | d3 << 32} = __mw_warp_apply(f, x0, …, xN)
 *
 * becomes a call f(in, out), where in[32 * n + lane] is a lane's xn and out[32 * n + lane] its dn; all are 32 bits. f
 * depends on memory alone: it neither reads ids nor waits. All lanes of the warp take part; the values of inactive ones
 * are arbitrary. */
#include "mwcc/widen/widen.h"
#include "mwcc/lower/lower.h"
#include "mwcc/target/target.h"

static LLVMValueRef words(widener *w, unsigned count) {
  LLVMValueRef memory = LLVMBuildAlloca(w->entry, LLVMArrayType2(w->p->i32, (uint64_t)count * WARP_LANES), "");
  LLVMSetAlignment(memory, 64);
  return memory;
}

static LLVMValueRef place(widener *w, LLVMValueRef memory, unsigned word, int vector) {
  LLVMValueRef at = constant_i32(w->p, word * WARP_LANES + (unsigned)(vector * w->width));
  return LLVMBuildInBoundsGEP2(w->b, w->p->i32, memory, &at, 1, "");
}

static LLVMValueRef pair(widener *w, LLVMValueRef out, unsigned first, int vector) {
  LLVMTypeRef wide = vector_type(w, w->p->i64);
  LLVMValueRef words[2];
  for (unsigned n = 0; n < 2; n++) {
    words[n] = LLVMBuildLoad2(w->b, vector_type(w, w->p->i32), place(w, out, first + n, vector), "");
    words[n] = LLVMBuildZExt(w->b, words[n], wide, "");
  }
  words[1] = LLVMBuildShl(w->b, words[1], splat(w, constant_i64(w->p, 32)), "");
  return LLVMBuildOr(w->b, words[0], words[1], "");
}

void widen_warp_apply(widener *w, LLVMValueRef call, mask m) {
  unsigned count = LLVMGetNumArgOperands(call) - 1;
  LLVMValueRef function = LLVMGetOperand(call, 0), in = words(w, count), out = words(w, WARP_APPLY_RESULTS);
  if (!LLVMIsAFunction(function)) {
    refuse(w, call, "a function for a warp that is not known");
    return;
  }
  for (unsigned n = 0; n < count; n++) {
    for (int u = 0; u < w->vectors; u++) {
      LLVMValueRef value = value_vector(w, LLVMGetOperand(call, n + 1), u);
      if (!m.all) value = LLVMBuildFreeze(w->b, value, "");
      LLVMBuildStore(w->b, value, place(w, in, n, u));
    }
  }
  LLVMValueRef arguments[] = {serial_thread(w), in, out};
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  call_source_function(w, type, function, arguments, 3);
  vectors result = {0};
  for (int u = 0; u < w->vectors; u++) {
    LLVMTypeRef both[] = {vector_type(w, w->p->i64), vector_type(w, w->p->i64)};
    result.of[u] = LLVMGetPoison(LLVMStructTypeInContext(w->p->context, both, 2, 0));
    for (unsigned n = 0; n < 2; n++)
      result.of[u] = LLVMBuildInsertValue(w->b, result.of[u], pair(w, out, 2 * n, u), n, "");
  }
  set_value(w, call, result);
}
