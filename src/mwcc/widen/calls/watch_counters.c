/* Counting in place: in code that is watched for basic blocks (--observe=code), a gang adds to the worker's mw_tally of
 * a site instead of calling the runtime. Branches and basic blocks add to sums. An access by a whole warp in one run
 * adds to the count of its residue; any other is compared with the site's pattern, and if it differs, the runtime is
 * called to replace the pattern. */
#include "watch_counters.h"

#include <stddef.h>

enum { PLAIN_RESIDUES = 31, SHARED_RESIDUES = 3 /* masks of addresses */ };

static bool is_access(const watch_call *c) { return c->of->of.kind <= MW_SITE_REDUCTION && !c->of->of.is_texture; }

/* The stride of a site's runs is in the table: code that has another one compares words. */
bool is_counted_in_place(program *p, watch_call *c) {
  unsigned observed = p->options->observe;
  if (!(observed & MW_OBSERVE_CODE) || observed & MW_OBSERVE_STEP) return false;
  if (!is_access(c)) return true;
  if (c->of->of.space == MW_SPACE_NONE) return false;
  if (c->kind != WATCH_RUNS) return true;
  if (!c->of->has_runs) c->of->of.stride = c->stride;
  c->of->has_runs = true;
  return c->of->of.stride == c->stride;
}

/* ---- places in a tally ---- */

static LLVMValueRef place(widener *w, LLVMValueRef base, size_t offset) {
  LLVMValueRef at = constant_i64(w->p, offset);
  return offset ? LLVMBuildInBoundsGEP2(w->b, w->p->i8, base, &at, 1, "") : base;
}

static LLVMValueRef element(widener *w, LLVMValueRef base, size_t offset, LLVMValueRef index, size_t size) {
  LLVMValueRef at = LLVMBuildMul(w->b, index, constant_i64(w->p, size), "");
  return LLVMBuildInBoundsGEP2(w->b, w->p->i8, place(w, base, offset), &at, 1, "");
}

static LLVMValueRef load_number(widener *w, LLVMValueRef base, size_t offset) {
  return LLVMBuildLoad2(w->b, w->p->i64, place(w, base, offset), "");
}

static void add_to(widener *w, LLVMValueRef base, size_t offset, LLVMValueRef number) {
  LLVMValueRef sum = LLVMBuildAdd(w->b, load_number(w, base, offset), number, "");
  LLVMBuildStore(w->b, sum, place(w, base, offset));
}

static LLVMValueRef wide(widener *w, LLVMValueRef number) { return LLVMBuildZExt(w->b, number, w->p->i64, ""); }

static LLVMValueRef both(widener *w, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildAnd(w->b, a, b, ""); }

static LLVMValueRef are_equal(widener *w, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(w->b, LLVMIntEQ, a, b, "");
}

/* ---- branches, basic blocks and so on ---- */

static void count_lanes(widener *w, const watch_call *c, LLVMValueRef tally) {
  program *p = w->p;
  LLVMValueRef none = constant_i32(p, 0), whole = constant_i32(p, ~0u), takes = c->words.of[0];
  bool branches = c->kind == WATCH_TAKES;
  if (c->m.all) {
    add_to(w, tally, offsetof(mw_tally, whole), constant_i64(p, 1));
  } else {
    LLVMValueRef lanes = c->lanes, count = call_intrinsic(p, w->b, "llvm.ctpop", &p->i32, 1, &lanes, 1);
    add_to(w, tally, offsetof(mw_tally, executed), wide(w, LLVMBuildICmp(w->b, LLVMIntNE, lanes, none, "")));
    add_to(w, tally, offsetof(mw_tally, lanes), wide(w, count));
  }
  if (branches) {
    LLVMValueRef some = LLVMBuildICmp(w->b, LLVMIntNE, takes, none, ""), all = are_equal(w, takes, c->lanes);
    add_to(w, tally, offsetof(mw_tally, full), wide(w, both(w, some, all)));
    LLVMValueRef differ = both(w, some, LLVMBuildNot(w->b, all, ""));
    add_to(w, tally, offsetof(mw_tally, divergent), wide(w, differ));
  } else if (!c->m.all) {
    add_to(w, tally, offsetof(mw_tally, full), wide(w, are_equal(w, c->lanes, whole)));
  }
}

/* ---- accesses ---- */

/* The address that residues are of: the first run's, or the first active lane's. */
static LLVMValueRef first_address(widener *w, const watch_call *c, LLVMValueRef memory) {
  program *p = w->p;
  if (c->kind == WATCH_RUNS) return c->words.of[0];
  if (c->m.all) return LLVMBuildExtractElement(w->b, c->words.of[0], constant_i32(p, 0), "");
  LLVMValueRef arguments[] = {c->lanes, LLVMConstNull(p->i1)};
  LLVMValueRef lane = call_intrinsic(p, w->b, "llvm.cttz", &p->i32, 1, arguments, 2);
  lane = wide(w, both(w, lane, constant_i32(p, WARP_LANES - 1))); /* no lane may be active */
  return LLVMBuildLoad2(w->b, p->i64, element(w, memory, 0, lane, sizeof(uint64_t)), "");
}

/* Whether the distances between addresses are those of the pattern. */
static LLVMValueRef has_distances(widener *w, const watch_call *c, LLVMValueRef pattern, LLVMValueRef first) {
  program *p = w->p;
  LLVMValueRef same = LLVMConstAllOnes(p->i1), distances = place(w, pattern, offsetof(mw_pattern, distance));
  for (int r = 1; r < c->count; r++) {
    LLVMValueRef distance = LLVMBuildSub(w->b, c->words.of[r], first, "");
    same = both(w, same, are_equal(w, distance, load_number(w, distances, (size_t)r * sizeof(uint64_t))));
  }
  if (c->kind == WATCH_RUNS) return same;
  vectors differ = {0};
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef distance = LLVMBuildSub(w->b, c->words.of[u], splat(w, first), "");
    size_t at = (size_t)(u * w->width) * sizeof(uint64_t);
    LLVMValueRef known = LLVMBuildLoad2(w->b, vector_type(w, p->i64), place(w, distances, at), "");
    LLVMSetAlignment(known, sizeof(uint64_t));
    differ.of[u] = LLVMBuildICmp(w->b, LLVMIntNE, distance, known, "");
    if (!c->m.all) differ.of[u] = both(w, differ.of[u], c->m.lanes.of[u]);
  }
  return LLVMBuildNot(w->b, any_lane(w, differ), "");
}

/* The pattern that the access may have, and whether it has. */
static LLVMValueRef find_pattern(widener *w, const watch_call *c, LLVMValueRef tally, LLVMValueRef memory,
                                 LLVMValueRef residues, LLVMValueRef *pattern) {
  program *p = w->p;
  LLVMValueRef first = first_address(w, c, memory), most = constant_i64(p, MW_TALLY_PATTERNS - 1);
  LLVMValueRef number = wide(w, c->warp);
  if (c->of->of.space != MW_SPACE_SHARED) number = LLVMBuildLShr(w->b, first, constant_i64(p, 2), "");
  *pattern = element(w, tally, offsetof(mw_tally, patterns), both(w, number, most), sizeof(mw_pattern));
  LLVMValueRef key = LLVMBuildShl(w->b, wide(w, c->lanes), constant_i64(p, 32), "");
  key = LLVMBuildOr(w->b, key, LLVMBuildShl(w->b, both(w, first, residues), constant_i64(p, 8), ""), "");
  key = LLVMBuildOr(w->b, key, constant_i64(p, (uint64_t)c->count), "");
  LLVMValueRef same = are_equal(w, key, load_number(w, *pattern, offsetof(mw_pattern, key)));
  return both(w, same, has_distances(w, c, *pattern, first));
}

LLVMValueRef count_in_place(widener *w, const watch_call *c, LLVMBasicBlockRef call_block, LLVMBasicBlockRef rest) {
  program *p = w->p;
  LLVMBasicBlockRef counted = LLVMAppendBasicBlockInContext(p->context, w->function, "watch.count");
  LLVMValueRef tallies = load_invariant(p, w->entry, p->pointer, w->worker, offsetof(mw_worker, tallies));
  LLVMValueRef tally = place(w, tallies, LLVMConstIntGetZExtValue(c->site) * sizeof(mw_tally)), memory = NULL,
               of = NULL;
  LLVMValueRef may =
      LLVMBuildICmp(w->b, LLVMIntNE, load_number(w, tally, offsetof(mw_tally, open)), constant_i64(p, 0), "");
  LLVMValueRef residues = constant_i64(p, c->of->of.space == MW_SPACE_SHARED ? SHARED_RESIDUES : PLAIN_RESIDUES);
  bool by_residue = c->kind == WATCH_RUNS && c->count == 1 && c->m.all, by_pattern = is_access(c) && !by_residue;
  if (by_pattern) {
    if (c->kind == WATCH_WORDS && !c->m.all) memory = lay_out_words(w, c);
    may = both(w, may, find_pattern(w, c, tally, memory, residues, &of));
  }
  LLVMBasicBlockRef not_counted = call_block;
  if (!c->m.all) not_counted = LLVMAppendBasicBlockInContext(p->context, w->function, "watch.new");
  build_likely(p, w->b, may, counted, not_counted);
  if (!c->m.all) { /* perhaps because no lane is active */
    LLVMPositionBuilderAtEnd(w->b, not_counted);
    LLVMBuildCondBr(w->b, are_equal(w, c->lanes, constant_i32(p, 0)), rest, call_block);
  }
  LLVMPositionBuilderAtEnd(w->b, counted);
  if (by_pattern)
    add_to(w, of, offsetof(mw_pattern, hits), constant_i64(p, 1));
  else if (is_access(c))
    add_to(w, element(w, tally, offsetof(mw_tally, residues), both(w, c->words.of[0], residues), sizeof(uint64_t)), 0,
           constant_i64(p, 1));
  else
    count_lanes(w, c, tally);
  LLVMBuildBr(w->b, rest);
  return memory;
}
