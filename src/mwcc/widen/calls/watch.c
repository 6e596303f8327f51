/* Markers of watched code, where a gang is a warp: one call of the runtime for all lanes, with the set of active ones and
 * a word for each. See watch_markers.c, mw_services.watch. */
#include "mwcc/widen/widen.h"
#include "mwcc/target/target.h"
#include "mwcc/analysis/watched_site.h"

#include <string.h>

static LLVMValueRef words_memory(widener *w) {
  if (!w->watched_words) {
    w->watched_words = LLVMBuildAlloca(w->entry, LLVMArrayType2(w->p->i64, WARP_LANES), "watched");
    LLVMSetAlignment(w->watched_words, 64);
  }
  return w->watched_words;
}

/* The words of the lanes in memory. Lanes that are not active hold anything. */
static LLVMValueRef lay_out(widener *w, LLVMValueRef word, mask m) {
  program *p = w->p;
  LLVMValueRef memory = words_memory(w);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef value = value_vector(w, word, u), at = constant_i32(p, (unsigned)(u * w->width));
    if (!m.all) value = LLVMBuildFreeze(w->b, value, "");
    if (LLVMGetTypeKind(LLVMTypeOf(word)) == LLVMPointerTypeKind)
      value = LLVMBuildPtrToInt(w->b, value, vector_type(w, p->i64), "");
    LLVMBuildStore(w->b, value, LLVMBuildInBoundsGEP2(w->b, p->i64, memory, &at, 1, ""));
  }
  return memory;
}

/* The lanes for which a number is not 0, a bit for each. */
static LLVMValueRef lanes_that_take(widener *w, LLVMValueRef word, mask m) {
  mask takes = {.all = false};
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef value = value_vector(w, word, u);
    if (!m.all) value = LLVMBuildFreeze(w->b, value, "");
    takes.lanes.of[u] = LLVMBuildICmp(w->b, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
  }
  return LLVMBuildZExt(w->b, active_word(w, takes), w->p->i64, "");
}

static void store_word(widener *w, LLVMValueRef memory, int n, LLVMValueRef word, mask m) {
  LLVMValueRef at = constant_i32(w->p, (unsigned)n);
  if (!m.all) word = LLVMBuildFreeze(w->b, word, "");
  if (LLVMGetTypeKind(LLVMTypeOf(word)) == LLVMPointerTypeKind) word = LLVMBuildPtrToInt(w->b, word, w->p->i64, "");
  LLVMBuildStore(w->b, word, LLVMBuildInBoundsGEP2(w->b, w->p->i64, memory, &at, 1, ""));
}

/* A call with the first address of each run of lanes, where the analysis knows how far apart lanes are; false: it does
   not. */
static bool call_with_runs(widener *w, LLVMValueRef site, LLVMValueRef warp, LLVMValueRef address, mask m) {
  program *p = w->p;
  if (is_varying(w, address)) return false;
  shape s = shape_of(w->shapes, address);
  bool uniform = is_uniform(w, address), in_line = uniform || (is_affine(w, address) && s.step == s.stride * w->width);
  int count = in_line ? 1 : w->vectors;
  LLVMValueRef memory = words_memory(w);
  for (int r = 0; r < count; r++)
    store_word(w, memory, r, in_line ? value_scalar(w, address) : vector_scalar(w, address, r), m);
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32, p->i32, p->pointer, p->i64, p->i32};
  LLVMValueRef stride = constant_i64(p, uniform ? 0 : (uint64_t)s.stride);
  LLVMValueRef arguments[] = {
      w->worker, site, warp, active_word(w, m), memory, stride, constant_i32(p, (unsigned)count)};
  LLVMTypeRef type = LLVMFunctionType(p->void_type, params, MW_COUNT(params), 0);
  call_service(p, w->b, w->frame, offsetof(mw_services, watch_runs), type, arguments, MW_COUNT(arguments));
  return true;
}

bool widen_watch(widener *w, LLVMValueRef call, mask m) {
  program *p = w->p;
  const char *name = callee_name(call);
  if (strcmp(name, WATCH_ADDRESS) != 0 && strcmp(name, WATCH_NUMBER) != 0) return false;
  LLVMValueRef site = LLVMGetOperand(call, 0), word = LLVMGetOperand(call, 1);
  uint32_t kind = p->sites[LLVMConstIntGetZExtValue(site)].of.kind;
  LLVMValueRef warp = LLVMBuildLShr(w->b, first_thread(w), constant_i32(p, 5), ""), words;
  if (kind <= MW_SITE_REDUCTION && call_with_runs(w, site, warp, word, m)) return true;
  if (kind == MW_SITE_BRANCH)
    store_word(w, words = words_memory(w), 0, lanes_that_take(w, word, m), m);
  else
    words = kind == MW_SITE_CODE ? LLVMConstNull(p->pointer) : lay_out(w, word, m);
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32, p->i32, p->pointer};
  LLVMValueRef arguments[] = {w->worker, site, warp, active_word(w, m), words};
  LLVMTypeRef type = LLVMFunctionType(p->void_type, params, MW_COUNT(params), 0);
  call_service(p, w->b, w->frame, offsetof(mw_services, watch), type, arguments, MW_COUNT(arguments));
  return true;
}
