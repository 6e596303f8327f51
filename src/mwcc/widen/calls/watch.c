/* Markers of watched code, where a gang is a warp: one call of the runtime for all lanes, with the set of active ones and
 * a word for each. See watch_markers.c, mw_services.watch. */
#include "mwcc/widen/widen.h"
#include "mwcc/target/target.h"
#include "mwcc/analysis/watched_site.h"

#include <string.h>

/* The words of the lanes in memory. Lanes that are not active hold anything. */
static LLVMValueRef lay_out(widener *w, LLVMValueRef word, mask m) {
  program *p = w->p;
  if (!w->watched_words) {
    w->watched_words = LLVMBuildAlloca(w->entry, LLVMArrayType2(p->i64, WARP_LANES), "watched");
    LLVMSetAlignment(w->watched_words, 64);
  }
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef value = value_vector(w, word, u), at = constant_i32(p, (unsigned)(u * w->width));
    if (!m.all) value = LLVMBuildFreeze(w->b, value, "");
    if (LLVMGetTypeKind(LLVMTypeOf(word)) == LLVMPointerTypeKind)
      value = LLVMBuildPtrToInt(w->b, value, vector_type(w, p->i64), "");
    LLVMBuildStore(w->b, value, LLVMBuildInBoundsGEP2(w->b, p->i64, w->watched_words, &at, 1, ""));
  }
  return w->watched_words;
}

bool widen_watch(widener *w, LLVMValueRef call, mask m) {
  program *p = w->p;
  const char *name = callee_name(call);
  if (strcmp(name, WATCH_ADDRESS) != 0 && strcmp(name, WATCH_NUMBER) != 0) return false;
  LLVMValueRef site = LLVMGetOperand(call, 0), word = LLVMGetOperand(call, 1);
  bool counts = p->sites[LLVMConstIntGetZExtValue(site)].of.kind == MW_SITE_CODE;
  LLVMValueRef warp = LLVMBuildLShr(w->b, first_thread(w), constant_i32(p, 5), "");
  LLVMValueRef words = counts ? LLVMConstNull(p->pointer) : lay_out(w, word, m);
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32, p->i32, p->pointer};
  LLVMValueRef arguments[] = {w->worker, site, warp, active_word(w, m), words};
  LLVMTypeRef type = LLVMFunctionType(p->void_type, params, MW_COUNT(params), 0);
  call_service(p, w->b, w->frame, offsetof(mw_services, watch), type, arguments, MW_COUNT(arguments));
  return true;
}
