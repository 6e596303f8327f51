/* Markers of watched code, where a gang is a warp: one call of the runtime for all lanes, with the set of active ones
 * and a word for each. See watch_markers.c, mw_services.watch. If a site is counted in place (watch_counters.c), the
 * call is made only if counting fails. */
#include "watch_counters.h"
#include "mwcc/analysis/watched_site.h"
#include "mwcc/support/predicates.h"

#include <string.h>

static LLVMValueRef words_memory(widener *w) {
  if (!w->watched_words) {
    w->watched_words = LLVMBuildAlloca(w->entry, LLVMArrayType2(w->p->i64, WARP_LANES), "watched");
    LLVMSetAlignment(w->watched_words, 64);
  }
  return w->watched_words;
}

/* A scalar or a vector, lanes of which may not be active, as numbers of 64 bits. */
static LLVMValueRef as_number(widener *w, LLVMValueRef word, mask m) {
  LLVMTypeRef type = LLVMTypeOf(word), number_type = is_vector_type(type) ? vector_type(w, w->p->i64) : w->p->i64;
  if (!m.all) word = LLVMBuildFreeze(w->b, word, "");
  return type == number_type ? word : LLVMBuildPtrToInt(w->b, word, number_type, "");
}

/* The lanes for which a number is not 0, a bit for each. */
static LLVMValueRef lanes_that_take(widener *w, LLVMValueRef word, LLVMValueRef lanes, mask m) {
  mask takes = {.all = false};
  if (is_uniform(w, word)) {
    LLVMValueRef value = as_number(w, value_scalar(w, word), m), none = constant_i32(w->p, 0);
    return LLVMBuildSelect(w->b, LLVMBuildICmp(w->b, LLVMIntNE, value, constant_i64(w->p, 0), ""), lanes, none, "");
  }
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef value = as_number(w, value_vector(w, word, u), m);
    takes.lanes.of[u] = LLVMBuildICmp(w->b, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
    if (!m.all) takes.lanes.of[u] = LLVMBuildAnd(w->b, takes.lanes.of[u], m.lanes.of[u], "");
  }
  return active_word(w, takes);
}

/* The first address of each run of lanes, if the analysis knows the distances between lanes; else false. */
static bool find_runs(widener *w, LLVMValueRef address, watch_call *c) {
  if (is_varying(w, address)) return false;
  shape s = shape_of(w->shapes, address);
  bool uniform = is_uniform(w, address), in_line = uniform || (is_affine(w, address) && s.step == s.stride * w->width);
  c->kind = WATCH_RUNS;
  c->count = in_line ? 1 : w->vectors;
  c->stride = uniform ? 0 : (uint64_t)s.stride;
  for (int r = 0; r < c->count; r++)
    c->words.of[r] = as_number(w, in_line ? value_scalar(w, address) : vector_scalar(w, address, r), c->m);
  return true;
}

static watch_call new_call(widener *w, LLVMValueRef call, mask m) {
  program *p = w->p;
  LLVMValueRef word = LLVMGetOperand(call, 1);
  watch_call c = {.m = m, .site = LLVMGetOperand(call, 0), .lanes = active_word(w, m)};
  c.of = &p->sites[LLVMConstIntGetZExtValue(c.site)];
  c.warp = LLVMBuildLShr(w->b, first_thread(w), constant_i32(p, 5), "");
  if (c.of->of.kind == MW_SITE_CODE) return c;
  if (c.of->of.kind == MW_SITE_BRANCH) {
    c.kind = WATCH_TAKES;
    c.words.of[0] = lanes_that_take(w, word, c.lanes, m);
  } else if (c.of->of.kind > MW_SITE_REDUCTION || !find_runs(w, word, &c)) {
    c.kind = WATCH_WORDS;
    for (int u = 0; u < w->vectors; u++) c.words.of[u] = as_number(w, value_vector(w, word, u), m);
  }
  return c;
}

static void store_at(widener *w, LLVMValueRef memory, int n, LLVMValueRef word) {
  LLVMValueRef at = constant_i32(w->p, (unsigned)n);
  LLVMBuildStore(w->b, word, LLVMBuildInBoundsGEP2(w->b, w->p->i64, memory, &at, 1, ""));
}

LLVMValueRef lay_out_words(widener *w, const watch_call *c) {
  LLVMValueRef memory = c->kind == WATCH_NOTHING ? LLVMConstNull(w->p->pointer) : words_memory(w);
  if (c->kind == WATCH_TAKES) store_at(w, memory, 0, LLVMBuildZExt(w->b, c->words.of[0], w->p->i64, ""));
  for (int r = 0; r < c->count; r++) store_at(w, memory, r, c->words.of[r]);
  for (int u = 0; u < w->vectors && c->kind == WATCH_WORDS; u++) store_at(w, memory, u * w->width, c->words.of[u]);
  return memory;
}

/* The call of the runtime. `memory`: the words, where they are laid out already; or NULL. */
static void build_call(widener *w, const watch_call *c, LLVMValueRef memory) {
  program *p = w->p;
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32, p->i32, p->pointer, p->i64, p->i32};
  if (!memory) memory = lay_out_words(w, c);
  LLVMValueRef arguments[] = {
      w->worker, c->site, c->warp, c->lanes, memory, constant_i64(p, c->stride), constant_i32(p, (unsigned)c->count)};
  bool runs = c->kind == WATCH_RUNS;
  size_t service = runs ? offsetof(mw_services, watch_runs) : offsetof(mw_services, watch);
  unsigned count = MW_COUNT(params) - (runs ? 0 : 2);
  call_service(p, w->b, w->frame, service, LLVMFunctionType(p->void_type, params, count, 0), arguments, count);
}

bool widen_watch(widener *w, LLVMValueRef call, mask m) {
  program *p = w->p;
  const char *name = callee_name(call);
  if (strcmp(name, WATCH_ADDRESS) != 0 && strcmp(name, WATCH_NUMBER) != 0) return false;
  watch_call c = new_call(w, call, m);
  if (!is_counted_in_place(p, &c)) {
    build_call(w, &c, NULL);
    return true;
  }
  LLVMBasicBlockRef call_block = LLVMAppendBasicBlockInContext(p->context, w->function, "watch.call"),
                    rest = LLVMAppendBasicBlockInContext(p->context, w->function, "watched");
  LLVMValueRef memory = count_in_place(w, &c, call_block, rest);
  LLVMPositionBuilderAtEnd(w->b, call_block);
  build_call(w, &c, memory);
  LLVMBuildBr(w->b, rest);
  LLVMPositionBuilderAtEnd(w->b, rest);
  return true;
}
