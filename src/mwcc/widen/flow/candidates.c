/* Measured candidates: other gangs for a kernel, where the cost model is unsure of its choice.
 *
 * The model (cost_model.c) counts registers and operations. It does not know how often lanes diverge, which gathers hit
 * the cache, or how well LLVM compiles long code. Where a kernel has much of these, the runtime compiles it for other
 * gangs as well, times each on some blocks of long launches, and keeps the fastest (src/cpu/schedule/trial.c).
 *
 * Results are the same bits with every candidate, so the choice and its time have no visible effect:
 *   - each thread does the same operations in the same order. Widening never reorders a thread's own operations, and
 *     sums and products were contracted before (contraction.c). The flags of -use_fast_math allow LLVM to reorder, and
 *     libmvec's functions differ by the number of lanes: with either, there are no candidates.
 *   - threads of a block may exchange data at barriers only. Those that see their warp have gangs of one size.
 *   - blocks are independent, or there are no candidates (k->any_order).
 * The order of atomic operations is undefined, as on GPUs. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"
#include "mwcc/widen/widen.h"

#include <stdio.h>

typedef struct profile {
  int instructions, gathers, local_accesses, divergent_loops, divergent_branches;
  bool has_loops, has_same_bits;
} profile;

/* Whether its result depends on how it is vectorised. */
static bool is_order_dependent(program *p, LLVMValueRef i) {
  if (LLVMCanValueUseFastMathFlags(i) &&
      LLVMGetFastMathFlags(i) & (LLVMFastMathAllowReassoc | LLVMFastMathAllowReciprocal | LLVMFastMathApproxFunc))
    return true;
  return LLVMIsACallInst(i) && (starts_with(callee_name(i), "_ZGV") || called_by_lanes(p, i));
}

static void count_instruction(profile *f, const graph *g, const order *o, const shapes *s, int number) {
  LLVMValueRef i = g->values[number];
  if (is_order_dependent(g->program, i)) f->has_same_bits = false;
  if (f->has_loops && o->innermost[g->node_of[number]] < 0) return;
  f->instructions++;
  bool load = LLVMIsALoadInst(i);
  if (!load && !LLVMIsAStoreInst(i)) return;
  LLVMValueRef address = LLVMGetOperand(i, load ? 0 : 1);
  memory_kind kind = memory_of(address);
  if (kind == MEMORY_LOCAL)
    f->local_accesses++;
  else if (gathers_lanes(s, i))
    f->gathers++;
}

static profile profile_of(const graph *g, const order *o, const shapes *s) {
  profile f = {.has_loops = o->loop_count > 0, .has_same_bits = true};
  for (int n = 0; n < g->value_count; n++) count_instruction(&f, g, o, s, n);
  for (int n = 0; n < g->count; n++) f.divergent_branches += s->divergent[n];
  for (int l = 0; l < o->loop_count; l++) f.divergent_loops += is_left_divergently(g, s, &o->loops[l]);
  return f;
}

/* Whether loops carry more vectors than fit into registers, in gangs of so many threads. */
static bool carries_many_vectors(const graph *g, const order *o, const shapes *s, int threads) {
  uint64_t registers = carried_words(g, o, s) * (uint64_t)threads / (uint64_t)register_lanes(g->program);
  return registers > (uint64_t)vector_registers(g->program);
}

static void add(kernel *k, int lanes, int each) {
  uint32_t gang = (uint32_t)lanes << 16 | (uint32_t)each;
  const cut *own = &k->variants[0].cut;
  if (own->lanes == lanes && own->vectors == each) return;
  for (uint32_t i = 0; i < k->candidate_count; i++)
    if (k->candidates[i] == gang) return;
  if (k->candidate_count < MW_MOST_CANDIDATES) k->candidates[k->candidate_count++] = gang;
}

/* Whether candidates may replace the code, block by block. */
static bool may_have_candidates(const program *p, const kernel *k) {
  const options *all = p->options;
  if (!has_pass(p, PASS_CANDIDATES) || !has_pass(p, PASS_CONTRACTION)) return false;
  if (!all->launch_kernel || all->launch_one || all->width || !k->any_order || k->sees_warp || k->iterations_end)
    return false;
  if (p->turned_grid) return false; /* other gangs would have other blocks of the same numbers: lane_axis.c */
  return p->gangs <= 1 && !(p->mergeable && p->merged > 1) && !k->reads_rows_in_place && !k->reads_tiles_in_place;
}

void list_candidates(const program *p, kernel *k, const graph *g, const order *o, const shapes *s) {
  enum { RARE = TUNE_CANDIDATE_GATHERS, LONG = TUNE_VECTORS_MUCH_CODE };
  if (!may_have_candidates(p, k)) return;
  profile f = profile_of(g, o, s);
  const cut *own = &k->variants[0].cut;
  int native = register_lanes(p);
  if (!f.has_same_bits) return;
  bool gathers = f.gathers * RARE >= f.instructions && f.gathers, is_long = g->value_count > LONG;
  bool doubtful = gathers || f.divergent_loops || f.local_accesses || is_long, stores;
  bool carries_much = f.has_loops && carries_many_vectors(g, o, s, own->lanes * own->vectors);
  /* one thread after the other: no masks, no gathers, and LLVM's own optimisation of local arrays */
  bool walks_own_rows = has_pass(p, PASS_THREAD_LOOPS) && has_vectorisable_loops(g, o, s, &stores);
  if (k->waits ? k->threads_may_pay : doubtful || walks_own_rows) add(k, 1, 1);
  if (own->lanes < native) add(k, native, 1);
  if (doubtful || carries_much || k->waits) add(k, native, 1);
  if (f.local_accesses) add(k, 2 * native, 1);
  if (carries_much && native > 4) add(k, native / 2, 1);
  if (doubtful && own->vectors == 1) add(k, native, 2);
}

void report_candidates(const kernel *k) {
  for (uint32_t i = 0; i < k->candidate_count; i++)
    printf("%s%u x %u lanes%s", i ? ", " : "  long launches measure other gangs: ", k->candidates[i] & 0xffff,
           k->candidates[i] >> 16, i + 1 == k->candidate_count ? "\n" : "");
}
