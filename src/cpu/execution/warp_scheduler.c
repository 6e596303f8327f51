/* CUDA threads as fibers, scheduled by warps: 32 threads with consecutive linear ids.
 *
 * A lane (a thread as a member of its warp) waits in one of several states:
 *
 * - At a warp function (meeting), for the lanes of its mask that have not exited. The last one to arrive computes the
 *   results of all.
 * - At the block's barrier (stopped), for all live threads of the block.
 * - At a convergence point (converging), where the program may rely on lanes in lockstep (__activemask, volatile shared
 *   memory): until no lane of the warp can run. Then all lanes that wait at one site continue together. Sites are
 *   numbered in the order of the code, and the lowest goes first, so that lanes reconverge after a branch, and lanes
 *   that left a loop wait for the others.
 * - In named_barrier.c: at a named barrier (at_named_barrier), where some threads may arrive without
 *   waiting; and until a word changes (watching).
 *
 * The scheduler prefers lanes of the current warp, since their stacks are in the caches. After many turns it switches
 * to the next warp, so that a warp can wait for values that another one writes. A thread starts when no other lane of
 * its warp can run. */
#include "warp.h"
#include "cluster.h"
#include "cpu/check/check.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum {
  TIME_SLICE = 256, /* turns of a warp before the next warp runs */
  FAIRNESS = 4096   /* after so many convergences the highest site goes first once: lower ones may wait for it */
};

cpu_warps *cpu_warps_new(void) { return mw_try_alloc(sizeof(cpu_warps), "the warps of a block"); }

/* ---- ending waits ---- */

/* The lanes that wait in the same call as lane `n`, if all lanes that it waits for have arrived; else 0. */
static uint32_t complete_group(const warp *w, const lane *lanes, uint32_t n) {
  uint32_t wanted = (lanes[n].mask & alive_of(w)) | 1u << n, group = 0;
  if (wanted & ~w->meeting) return 0;
  EACH_LANE(m, wanted) if (lanes[m].call == lanes[n].call && lanes[m].mask == lanes[n].mask) group |= 1u << m;
  return group == wanted ? group : 0;
}

static void finish_meeting(cpu_worker *worker, warp *w, lane *lanes, uint32_t group) {
  uint32_t first = (uint32_t)(lanes - worker->warps->lanes);
  if (worker->holds_check) {
    if (lanes[lowest(group)].call == MW_WARP_SYNC) cpu_check_warp(worker, first, group);
    cpu_check_group(worker, first + lowest(group), group);
    cpu_check_places(worker, first, group);
    if (cpu_warp_shuffles(lanes[lowest(group)].call)) EACH_LANE(n, group)
    if (!(group >> cpu_warp_source(&lanes[n], n) & 1))
      cpu_check_absent(worker, first + n, cpu_warp_source(&lanes[n], n));
  }
  cpu_warp_compute(lanes[lowest(group)].call, lanes, group);
  w->meeting &= ~group;
  w->ready |= group;
}

static void finish_barrier(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  if (worker->holds_check) {
    cpu_check_arrivals(worker);
    cpu_check_barrier(worker);
  }
  for (uint32_t i = 0; i < all->count; i++) {
    all->warps[i].ready |= all->warps[i].stopped;
    all->warps[i].stopped = 0;
  }
  all->stopped = 0;
  all->voted_zeros = all->zeros, all->voted_ones = all->ones;
  all->zeros = all->ones = 0;
}

/* No lane of the warp can run: let those continue that wait at one site. */
static void converge(warp *w, lane *lanes) {
  bool last = ++w->turns % FAIRNESS == 0;
  uint32_t site = lanes[lowest(w->converging)].site, group = 0;
  EACH_LANE(n, w->converging) if ((lanes[n].site < site) != last && lanes[n].site != site) site = lanes[n].site;
  EACH_LANE(m, w->converging) if (lanes[m].site == site) group |= 1u << m;
  EACH_LANE(k, group) lanes[k].result = group;
  w->converging &= ~group;
  w->ready |= group;
}

/* ---- switching between lanes ---- */

static void lane_main(void *argument);

/* Deadlock: no thread can continue, so the launch fails. */
_Noreturn static void fail_stuck(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  uint32_t thread = 0;
  for (uint32_t i = 0; i < all->count; i++)
    if (all->warps[i].meeting) thread = i * LANES + lowest(all->warps[i].meeting);
  const warp *w = &all->warps[thread / LANES];
  const lane *l = &all->lanes[thread];
  uint32_t missing = l->mask & alive_of(w) & ~w->meeting;
  char what[160];
  if (!w->meeting && cpu_waits_describe(all, what, sizeof what, &thread)) {
    l = &all->lanes[thread];
  } else if (missing)
    snprintf(what, sizeof what,
             "waits at a warp function for lanes (mask 0x%08x) that wait elsewhere; its mask is 0x%08x", missing,
             l->mask);
  else
    snprintf(what, sizeof what, "waits at a warp function with the mask 0x%08x, and lanes of it with another", l->mask);
  worker->base.thread = thread;
  worker->call = l->place;
  worker->finding = w->meeting ? "warp_mask" : "barrier_divergence";
  cpu_service_fail(&worker->base, MW_LAUNCH_FAILURE, NULL, 0, what);
}

/* Make the next warp that can run the current one. */
static bool next_warp(cpu_warps *all) {
  all->turns = 0;
  cpu_watches_poll(all);
  for (uint32_t i = 1; i <= all->count; i++) {
    uint32_t n = (all->now + i) % all->count;
    const warp *w = &all->warps[n];
    if (!(w->ready | w->fresh | w->converging)) continue;
    all->now = n;
    return true;
  }
  return false;
}

/* One of the block's threads that can run, at random; ~0: none can. */
static uint32_t draw(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  uint32_t able = 0;
  for (uint32_t i = 0; i < all->count; i++)
    able += (uint32_t)__builtin_popcount(all->warps[i].ready | all->warps[i].fresh);
  if (!able) return ~0u;
  uint32_t left = cpu_check_draw(&worker->random, able);
  for (uint32_t i = 0;; i++) {
    uint32_t lanes = all->warps[i].ready | all->warps[i].fresh, count = (uint32_t)__builtin_popcount(lanes);
    if (left >= count) {
      left -= count;
      continue;
    }
    while (left--) lanes &= lanes - 1;
    all->now = i;
    return i * LANES + lowest(lanes);
  }
}

/* The thread to run now. */
static uint32_t choose(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  for (;;) {
    uint32_t drawn = worker->random ? draw(worker) : ~0u;
    if (drawn != ~0u) return drawn;
    warp *w = &all->warps[all->now];
    uint32_t first = all->now * LANES;
    if (w->ready) return first + lowest(w->ready);
    if (w->fresh) return first + lowest(w->fresh);
    if (w->converging) {
      if (all->watched && cpu_watches_poll(all)) continue;
      converge(w, &all->lanes[first]);
      if (++all->turns < TIME_SLICE) continue;
      cpu_cluster_yield(worker); /* lanes may poll what another block writes */
    }
    if (next_warp(all)) continue;
    if (all->watched && cpu_cluster_watch(worker)) continue;
    if (!cpu_watches_outside(worker)) fail_stuck(worker);
    cpu_check_pause(worker);
    sched_yield(); /* let another block run */
  }
}

/* The thread's fiber. A thread that has not started gets the fiber of one that has exited, or a new one. */
static cpu_fiber *fiber_of(cpu_worker *worker, uint32_t thread) {
  cpu_warps *all = worker->warps;
  warp *w = &all->warps[thread / LANES];
  uint32_t bit = 1u << thread % LANES;
  if (!(w->fresh & bit)) return all->lanes[thread].fiber;
  w->fresh &= ~bit;
  w->ready |= bit;
  cpu_fiber *fiber = all->idle;
  if (fiber) {
    all->idle = fiber->next;
  } else {
    fiber = &worker->ring.fibers[all->fibers++];
    cpu_fiber_reset(worker, fiber, lane_main);
  }
  fiber->thread = thread;
  return all->lanes[thread].fiber = fiber;
}

CPU_UNSANITIZED void cpu_warps_switch(cpu_worker *worker) {
  cpu_fiber *self = worker->ring.current, *next = fiber_of(worker, choose(worker));
  if (next != self) cpu_fiber_change(worker, self, next);
}

/* A thread has returned: end the waits for it. */
static void leave(cpu_worker *worker, uint32_t thread) {
  cpu_warps *all = worker->warps;
  warp *w = &all->warps[thread / LANES];
  lane *lanes = &all->lanes[thread / LANES * LANES];
  w->ready &= ~(1u << thread % LANES);
  all->alive--;
  for (uint32_t rest = w->meeting; rest; rest &= rest - 1) {
    uint32_t group = complete_group(w, lanes, lowest(rest));
    if (!group) continue;
    finish_meeting(worker, w, lanes, group);
    rest &= ~group | (rest & -rest);
  }
  if (all->alive && all->stopped == all->alive) finish_barrier(worker);
  cpu_named_barriers_leave(worker, thread);
}

CPU_UNSANITIZED static void lane_main(void *argument) {
  cpu_worker *worker = argument;
  cpu_ring *ring = &worker->ring;
  cpu_warps *all = worker->warps;
  cpu_fiber_arrive(worker, ring->current);
  for (;;) {
    cpu_fiber *self = ring->current;
    ring->function(ring->frame, &worker->base, self->thread);
    leave(worker, self->thread);
    self->next = all->idle;
    all->idle = self;
    cpu_fiber *next = all->alive ? fiber_of(worker, choose(worker)) : &ring->home;
    if (next != self) cpu_fiber_change(worker, self, next);
    worker->base.thread = self->thread;
  }
}

CPU_UNSANITIZED void cpu_run_warps(const mw_frame *frame, mw_worker *base, mw_thread_function *function,
                                   uint32_t count) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_ring *ring = &worker->ring;
  cpu_warps *all = worker->warps;
  if (count == 0) return;
  CPU_SERVICE_ENTER(base);
  cpu_ring_open(worker, count);
  ring->function = function;
  ring->frame = frame;
  ring->sees_warps = true;
  ring->home.thread = ~0u;
  all->count = (count + LANES - 1) / LANES;
  all->alive = count;
  all->now = all->turns = all->stopped = all->zeros = all->ones = all->fibers = 0;
  all->idle = NULL;
  memset(all->warps, 0, sizeof all->warps);
  if (all->named) memset(all->named_barriers, 0, sizeof all->named_barriers); /* left by a failed launch */
  all->named = all->watched = 0;
  for (uint32_t i = 0; i < all->count; i++)
    all->warps[i].fresh = i + 1 < all->count || count % LANES == 0 ? ~0u : (1u << count % LANES) - 1;
  cpu_check_block(worker, count);
  cpu_fiber_change(worker, &ring->home, fiber_of(worker, choose(worker)));
  cpu_check_block_end(worker);
}

/* ---- services ---- */

lane *cpu_warps_begin_wait(cpu_worker *worker, warp **w, uint32_t *bit) {
  cpu_warps *all = worker->warps;
  uint32_t thread = worker->ring.current->thread;
  *w = &all->warps[thread / LANES];
  *bit = 1u << thread % LANES;
  (*w)->ready &= ~*bit;
  lane *l = &all->lanes[thread];
  l->place = worker->call;
  return l;
}

CPU_UNSANITIZED uint64_t cpu_warp(mw_worker *base, mw_warp_call call, uint32_t mask, uint64_t value, uint32_t source,
                                  uint32_t segments) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_warps *all = worker->warps;
  CPU_SERVICE_ENTER(base);
  warp *w;
  uint32_t bit;
  lane *l = cpu_warps_begin_wait(worker, &w, &bit);
  if (worker->holds_check) cpu_check_mask(worker, worker->ring.current->thread, mask);
  l->call = call, l->mask = mask, l->value = value, l->source = source, l->segments = segments;
  w->meeting |= bit;
  lane *lanes = l - lowest(bit);
  uint32_t group = complete_group(w, lanes, lowest(bit));
  if (group) finish_meeting(worker, w, lanes, group);
  /* The last lane to arrive continues at once, unless the warp's time slice is over. */
  if (group && ++all->turns < TIME_SLICE) return l->result;
  if (group) next_warp(all);
  cpu_warps_switch(worker);
  return l->result;
}

CPU_UNSANITIZED uint32_t cpu_warp_converge(mw_worker *base, uint32_t site) {
  cpu_worker *worker = (cpu_worker *)base;
  CPU_SERVICE_ENTER(base);
  warp *w;
  uint32_t bit;
  lane *l = cpu_warps_begin_wait(worker, &w, &bit);
  l->site = site;
  w->converging |= bit;
  cpu_warps_switch(worker);
  return (uint32_t)l->result;
}

CPU_UNSANITIZED void cpu_warps_yield(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  warp *w;
  uint32_t bit;
  if (is_alone(worker)) return;
  cpu_warps_begin_wait(worker, &w, &bit)->site = UINT32_MAX;
  w->converging |= bit;
  all->turns = TIME_SLICE;
  cpu_warps_switch(worker);
}

CPU_UNSANITIZED void cpu_warps_barrier(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  warp *w;
  uint32_t bit;
  if (is_alone(worker)) return;
  cpu_warps_begin_wait(worker, &w, &bit);
  w->stopped |= bit;
  if (++all->stopped == all->alive)
    finish_barrier(worker);
  else
    cpu_warps_switch(worker);
}

CPU_UNSANITIZED uint32_t cpu_warps_vote(cpu_worker *worker, mw_vote vote, int32_t predicate) {
  cpu_warps *all = worker->warps;
  if (predicate)
    all->ones++;
  else
    all->zeros++;
  cpu_warps_barrier(worker);
  switch (vote) {
  case MW_VOTE_AND: return all->voted_zeros == 0;
  case MW_VOTE_OR: return all->voted_ones != 0;
  default: return all->voted_ones;
  }
}
