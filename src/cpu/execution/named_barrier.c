/* Synchronisation of a part of a block: barriers with a number and an expected number of threads (PTX barrier.sync);
 * and waits for a word to change, such as the phase of a cuda::barrier.
 *
 * A lane that watches a word is not scheduled until the word has changed. Words are polled when a warp has no lane left
 * that can run, once for all lanes that watch the same word. Other blocks may write them as well. */
#include "warp.h"
#include "cluster.h"
#include "cpu/check/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- named barriers ---- */

static bool finish_barrier(cpu_worker *worker, uint32_t id) {
  cpu_warps *all = worker->warps;
  named_barrier *b = &all->named_barriers[id];
  if (b->count < b->wanted) return false;
  if (worker->holds_check) cpu_check_named(worker, b->arrived, b->waits, all->count);
  for (uint32_t i = 0; i < all->count; i++) {
    all->warps[i].ready |= b->waits[i];
    all->warps[i].at_named_barrier &= ~b->waits[i];
  }
  *b = (named_barrier){0};
  all->named &= ~(1u << id);
  return true;
}

/* Barriers count whole warps: lanes that have exited, or that a partial warp never had, count as arrived with the first
   lane of their warp. */
static void arrive(cpu_warps *all, named_barrier *b, uint32_t thread) {
  uint32_t n = thread / LANES, bit = 1u << thread % LANES;
  if (!b->arrived[n]) b->count += LANES - (uint32_t)__builtin_popcount(alive_of(&all->warps[n]));
  if (!(b->arrived[n] & bit)) b->count++;
  b->arrived[n] |= bit;
}

void cpu_named_barriers_leave(cpu_worker *worker, uint32_t thread) {
  cpu_warps *all = worker->warps;
  uint32_t n = thread / LANES, bit = 1u << thread % LANES;
  EACH_LANE(id, all->named) {
    named_barrier *b = &all->named_barriers[id];
    if (b->arrived[n] && !(b->arrived[n] & bit)) b->count++;
    finish_barrier(worker, id);
  }
}

/* A count that is undefined on hardware ends the launch. */
CPU_UNSANITIZED static void check_count(cpu_worker *worker, const named_barrier *b, uint32_t id, uint32_t wanted) {
  char what[160];
  if (id >= CPU_NAMED_BARRIERS)
    snprintf(what, sizeof what, "arrives at barrier %u, and a block has barriers 0 to %d", id, CPU_NAMED_BARRIERS - 1);
  else if (wanted == 0 || wanted % LANES)
    snprintf(what, sizeof what, "arrives at barrier %u for %u threads, which is not a multiple of the warp size, %d",
             id, wanted, LANES);
  else if (b->wanted && b->wanted != wanted)
    snprintf(what, sizeof what, "arrives at barrier %u for %u threads, and others arrived at it for %u", id, wanted,
             b->wanted);
  else
    return;
  worker->finding = "barrier_divergence";
  cpu_service_fail(&worker->base, MW_LAUNCH_FAILURE, NULL, 0, what);
}

CPU_UNSANITIZED void cpu_named_barrier(mw_worker *base, uint32_t id, uint32_t wanted, uint32_t waits) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_warps *all = worker->warps;
  CPU_SERVICE_ENTER(base);
  if (is_alone(worker)) return;
  check_count(worker, &all->named_barriers[id % CPU_NAMED_BARRIERS], id, wanted);
  named_barrier *b = &all->named_barriers[id];
  uint32_t thread = worker->ring.current->thread;
  b->wanted = wanted;
  arrive(all, b, thread);
  all->named |= 1u << id;
  if (waits) {
    warp *w;
    uint32_t bit;
    cpu_warps_begin_wait(worker, &w, &bit);
    w->at_named_barrier |= bit;
    b->waits[thread / LANES] |= bit;
  }
  if (!finish_barrier(worker, id) && waits) cpu_warps_switch(worker);
}

/* ---- words ---- */

static bool has_changed(const watch *w) { return (__atomic_load_n(w->word, __ATOMIC_ACQUIRE) & w->mask) != w->value; }

/* A recent watch of the same condition, or a new one. Only recent ones are compared, since threads may each watch a
   word of their own; duplicates do no harm. */
static watch *find_watch(cpu_warps *all, const uint32_t *word, uint32_t mask, uint32_t value) {
  enum { LATEST = 8 };
  for (uint32_t i = all->watched; i-- > 0 && i + LATEST >= all->watched;) {
    watch *w = &all->watches[i];
    if (w->word == word && w->mask == mask && w->value == value) return w;
  }
  watch *w = &all->watches[all->watched++];
  *w = (watch){word, mask, value, NOBODY};
  return w;
}

static void wake(cpu_warps *all, const watch *w) {
  for (uint32_t thread = w->first; thread != NOBODY; thread = all->lanes[thread].next) {
    warp *of = &all->warps[thread / LANES];
    uint32_t bit = 1u << thread % LANES;
    of->watching &= ~bit;
    of->ready |= bit;
  }
}

bool cpu_watches_poll(cpu_warps *all) {
  uint32_t left = 0, watched = all->watched;
  for (uint32_t i = 0; i < watched; i++)
    if (has_changed(&all->watches[i]))
      wake(all, &all->watches[i]);
    else
      all->watches[left++] = all->watches[i];
  all->watched = left;
  return left < watched;
}

bool cpu_watches_have_changed(const cpu_worker *worker) {
  const cpu_warps *all = worker->warps;
  for (uint32_t i = 0; i < all->watched; i++)
    if (has_changed(&all->watches[i])) return true;
  return false;
}

bool cpu_watches_outside(const cpu_worker *worker) {
  const cpu_warps *all = worker->warps;
  size_t shared = (size_t)(worker->shared_end - worker->base.shared);
  for (uint32_t i = 0; i < all->watched; i++) {
    const uint32_t *word = all->watches[i].word;
    bool is_own = (uintptr_t)word - (uintptr_t)worker->base.shared < shared;
    if (!is_own && !cpu_cluster_has(worker, word)) return true;
  }
  return false;
}

CPU_UNSANITIZED void cpu_wait_word(mw_worker *base, const uint32_t *word, uint32_t mask, uint32_t value) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_warps *all = worker->warps;
  CPU_SERVICE_ENTER(base);
  if (is_alone(worker)) return;
  if (!word) {
    cpu_warps_yield(worker);
    return;
  }
  warp *w;
  uint32_t bit;
  lane *l = cpu_warps_begin_wait(worker, &w, &bit);
  watch *here = find_watch(all, word, mask, value);
  l->next = here->first;
  here->first = worker->ring.current->thread;
  w->watching |= bit;
  cpu_warps_switch(worker);
}

/* ---- reports ---- */

bool cpu_waits_describe(const cpu_warps *all, char *what, size_t bytes, uint32_t *thread) {
  if (all->named) {
    uint32_t id = lowest(all->named);
    const named_barrier *b = &all->named_barriers[id];
    snprintf(what, bytes, "waits at barrier %u for %u threads, and %u have arrived", id, b->wanted, b->count);
    for (uint32_t i = 0; i < all->count; i++)
      if (b->waits[i]) *thread = i * LANES + lowest(b->waits[i]);
  } else if (all->watched) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++) count += (uint32_t)__builtin_popcount(all->warps[i].watching);
    *thread = all->watches[0].first;
    snprintf(what, bytes,
             "waits for a cuda::barrier at which no thread is left to arrive: %u of the block's %u threads wait", count,
             all->alive);
  } else {
    return false;
  }
  return true;
}
