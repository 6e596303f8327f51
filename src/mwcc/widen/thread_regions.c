/* Gangs of one lane: up to the next barrier, one thread after the other (pocl: work-item loops).
 *
 * For kernels with barriers whose accesses would mostly be gathers (thread_cost.c). A gang of one lane has neither
 * masks nor gathers: its values are scalars and its branches are branches, since all shapes of one lane are uniform.
 * Regions and barrier state are as for other gangs: the gangs of a block run a region before any begins the next. So
 * each thread does the same operations in the same order. LLVM's whole pipeline then optimises the code, without its
 * vectoriser of straight-line code (codegen.c).
 *
 * What threads would save at a barrier and could as well recompute, they recompute (barrier_rematerialization.c). */
#include "mwcc/analysis/analysis.h"
#include "mwcc/target/tuning.h"
#include "mwcc/widen/widen.h"

#include <stdio.h>

/* ---- the decision ---- */

/* Whether gangs may have one lane: in code for one block size. */
static bool may_run_by_threads(const program *p, const kernel *k) {
  const options *all = p->options;
  if (!all->launch_kernel || all->level == 0 || all->checks || all->observe) return false;
  return k->waits && !k->sees_warp && !k->has_block_wait;
}

/* Whether threads are clearly cheaper than lanes. The estimate is rough, and rougher where blocks have several gangs;
   in doubt, long launches measure both. */
static bool prefers_threads(const program *p, kernel *k, const graph *g, const liveness *live, int lanes) {
  enum { ONE_GANG = 13, SEVERAL = 20, DOUBTFUL = 7 }; /* tenths */
  long by_lanes, by_threads;
  flow f = graph_flow(g);
  order o = order_of(&f);
  shapes s = shapes_at_best(g, &o, cut_block(p->block, lanes, 1));
  bool one_gang = estimate_threads(g, &o, &s, live, &by_lanes, &by_threads);
  if (p->options->report)
    printf("kernel %s: about %ld cycles for %d threads as lanes, %ld for one after the other\n", k->name, by_lanes / 10,
           s.cut.lanes, by_threads / 10);
  shapes_free(&s);
  order_free(&o);
  k->threads_may_pay = by_lanes * 10 > DOUBTFUL * by_threads;
  return by_lanes * 10 > (one_gang ? ONE_GANG : SEVERAL) * by_threads;
}

bool run_by_threads(program *p, kernel *k, int lanes) {
  graph g;
  const char *why;
  if (!may_run_by_threads(p, k) || (lanes > 1 && (p->options->width || !has_pass(p, PASS_THREAD_REGIONS))))
    return false;
  if (!graph_build(p, k->body, false, &g, &why)) return false;
  liveness live = liveness_of(&g);
  bool chosen = lanes == 1 || prefers_threads(p, k, &g, &live, lanes);
  if (chosen) rematerialize_after_barriers(&g, &live, TUNE_REMATERIALIZED_IN_THREADS);
  liveness_free(&g, &live);
  graph_free(&g);
  return chosen;
}
