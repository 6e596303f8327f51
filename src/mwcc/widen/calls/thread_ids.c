/* Thread ids in lanes: a thread's place in its warp, and in its block if a gang's threads may be anywhere in the block.
 *
 * Both follow from the linear id, by which warps are cut: the threads of such a gang have consecutive linear ids,
 * whatever its cut. */
#include "mwcc/widen/widen.h"
#include "mwcc/support/predicates.h"

#include <string.h>

/* A scalar in the form of `like`, which may be a vector. */
static LLVMValueRef in_form(widener *w, LLVMValueRef like, LLVMValueRef scalar) {
  return is_vector_type(LLVMTypeOf(like)) ? splat(w, scalar) : scalar;
}

LLVMValueRef number_like(widener *w, LLVMValueRef like, unsigned value) {
  return in_form(w, like, constant_i32(w->p, value));
}

LLVMValueRef first_thread(widener *w) {
  cut_kind kind = w->shapes->cut.kind;
  LLVMValueRef x = first_id(w, 0);
  if (kind == CUT_LINE || kind == CUT_SINGLE) return x;
  LLVMValueRef row = LLVMBuildMul(w->b, w->ntid[1], first_id(w, 2), "");
  row = LLVMBuildAdd(w->b, row, first_id(w, 1), "");
  return LLVMBuildAdd(w->b, x, LLVMBuildMul(w->b, row, w->ntid[0], ""), "");
}

/* Numbers below 1024 divided by one up to 1024: n * (2^20 / d + 1) / 2^20 is exact, as n * d < 2^20. */
static LLVMValueRef divided(widener *w, LLVMValueRef numbers, LLVMValueRef by) {
  enum { SCALE = 20 };
  LLVMValueRef inverse = LLVMBuildUDiv(w->entry, constant_i32(w->p, 1u << SCALE), by, "");
  inverse = LLVMBuildAdd(w->entry, inverse, constant_i32(w->p, 1), "");
  return LLVMBuildLShr(w->b, LLVMBuildMul(w->b, numbers, in_form(w, numbers, inverse), ""),
                       number_like(w, numbers, SCALE), "");
}

LLVMValueRef scattered_id(widener *w, LLVMValueRef threads, unsigned axis) {
  LLVMValueRef size = in_form(w, threads, w->ntid[0]), rows = divided(w, threads, w->ntid[0]);
  if (axis == 0) return LLVMBuildSub(w->b, threads, LLVMBuildMul(w->b, rows, size, ""), "");
  LLVMValueRef planes = divided(w, rows, w->ntid[1]);
  if (axis == 2) return planes;
  return LLVMBuildSub(w->b, rows, LLVMBuildMul(w->b, planes, in_form(w, threads, w->ntid[1]), ""), "");
}

/* The value of a register for threads with the linear ids `threads`, a scalar or a vector; NULL: it is none of
   these. */
static LLVMValueRef register_of(widener *w, const char *name, LLVMValueRef threads) {
  LLVMValueRef lane = LLVMBuildAnd(w->b, threads, number_like(w, threads, WARP_LANES - 1), "");
  if (strcmp(name, "laneid") == 0) return lane;
  if (strcmp(name, "warpid") == 0) return LLVMBuildLShr(w->b, threads, number_like(w, threads, 5), "");
  if (!starts_with(name, "lanemask.")) return NULL;
  name += strlen("lanemask.");
  bool equal = strcmp(name, "eq") == 0, outside = strcmp(name, "le") == 0 || strcmp(name, "gt") == 0;
  LLVMValueRef bits = LLVMBuildShl(w->b, number_like(w, threads, equal ? 1 : outside ? ~1u : ~0u), lane, "");
  return name[0] == 'l' ? LLVMBuildNot(w->b, bits, "") : bits;
}

static LLVMValueRef count_warps(widener *w) {
  LLVMValueRef threads = LLVMBuildMul(w->b, w->ntid[0], LLVMBuildMul(w->b, w->ntid[1], w->ntid[2], ""), "");
  return LLVMBuildLShr(w->b, LLVMBuildAdd(w->b, threads, constant_i32(w->p, WARP_LANES - 1), ""), constant_i32(w->p, 5),
                       "");
}

bool widen_warp_register(widener *w, LLVMValueRef call, const char *name) {
  bool scattered = w->shapes->cut.kind == CUT_LINE && starts_with(name, "tid.");
  vectors result = {0};
  bool all = strcmp(name, "nwarpid") == 0;
  if (!all && !scattered && !starts_with(name, "lane") && strcmp(name, "warpid") != 0) return false;
  LLVMValueRef first = first_thread(w);
  for (int u = 0; u < form_count(w, call); u++) {
    LLVMValueRef threads = LLVMBuildAdd(w->b, first, constant_i32(w->p, (unsigned)(u * w->width)), "");
    if (is_varying(w, call)) threads = LLVMBuildAdd(w->b, splat(w, threads), lane_numbers(w, w->p->i32), "");
    result.of[u] = all         ? in_form(w, threads, count_warps(w))
                   : scattered ? scattered_id(w, threads, (unsigned)(name[4] - 'x'))
                               : register_of(w, name, threads);
    if (!result.of[u]) return false;
  }
  set_value(w, call, result);
  return true;
}

LLVMValueRef iteration_word(widener *w, const char *name) {
  bool limit = strcmp(name, ELEMENTS_LIMIT_LOW) == 0 || strcmp(name, ELEMENTS_LIMIT_HIGH) == 0;
  bool high = strcmp(name, ELEMENTS_DONE_HIGH) == 0 || strcmp(name, ELEMENTS_LIMIT_HIGH) == 0;
  size_t field = limit ? offsetof(mw_worker, iteration_limit) : offsetof(mw_worker, iteration);
  LLVMValueRef at = constant_i64(w->p, field + (high ? sizeof(uint32_t) : 0));
  return LLVMBuildLoad2(w->b, w->p->i32, LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, ""), "");
}
