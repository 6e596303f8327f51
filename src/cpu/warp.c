/* CUDA threads as fibers that see their warps: 32 threads with consecutive linear ids.
 *
 * A lane (a thread, as part of its warp) waits in one of several ways. At a warp function it waits for the lanes of its
 * mask that have not exited: the last to come works out everybody's result. At the block's barrier it waits for every
 * thread of the block that is alive. And where the program may count on lanes that run in step (__activemask, volatile
 * shared memory) it converges: it waits until no lane of the warp can go on, then all that wait at one place go on
 * together. Places are numbered in the order of the code and the lowest goes first, so that lanes that branched meet
 * again behind the branch, and those that left a loop wait for the others.
 *
 * A fourth way is a barrier for a part of the block: by its number, and with how many threads have to come. Some of them
 * may come without waiting.
 *
 * Lanes of one warp are preferred to other warps', for their stacks are warm; after many turns the next warp has its own,
 * so that a warp can wait for what another one writes. Threads start when nobody else of their warp can run. */
#include "cpu/fiber.h"

#include <stdio.h>
#include <string.h>

enum {
  LANES = 32,
  WARPS = CPU_MAX_THREADS / LANES,
  PATIENCE = 256, /* turns that a warp has at a stretch */
  FAIRNESS = 4096 /* so many turns, and once the highest place goes first: what lower ones wait for may be there */
};

typedef struct lane {
  cpu_fiber *fiber;
  uintptr_t place; /* in the kernel's code, where it waits */
  mw_warp_call call;
  uint32_t mask, source, segments, site;
  uint64_t value, result;
} lane;

typedef struct warp { /* lanes, each in one of these or in none once it has exited */
  uint32_t fresh, ready, meeting, converging, stopped, parted;
  uint32_t turns;
} warp;

typedef struct part_barrier {
  uint32_t wanted;                       /* threads; 0: nobody has come yet */
  uint32_t arrived[WARPS], waits[WARPS]; /* lanes */
} part_barrier;

struct cpu_warps {
  lane lanes[CPU_MAX_THREADS]; /* by linear id */
  warp warps[WARPS];
  uint32_t count, now, turns; /* warps; the one whose turn it is, and for how long */
  uint32_t alive, stopped;    /* threads */
  uint32_t zeros, ones, voted_zeros, voted_ones;
  uint32_t fibers; /* made so far in this block */
  uint32_t named;  /* barriers for parts of the block that somebody has come to, as bits */
  part_barrier parts[CPU_NAMED_BARRIERS];
  cpu_fiber *idle; /* whose threads have exited */
};

cpu_warps *cpu_warps_new(void) { return mw_alloc(sizeof(cpu_warps)); }

static uint32_t lowest(uint32_t set) { return (uint32_t)__builtin_ctz(set); }
static uint32_t alive_of(const warp *w) {
  return w->fresh | w->ready | w->meeting | w->converging | w->stopped | w->parted;
}

#define EACH_LANE(n, set)                                                                                              \
  for (uint32_t n##_rest = (set), n; n##_rest && (n = lowest(n##_rest), 1); n##_rest &= n##_rest - 1)

/* ---- what a warp function gives each lane ---- */

/* The lane that `self` reads from. (PTX ISA, shfl.sync) */
static uint32_t source_of(mw_warp_call call, uint32_t self, uint32_t source, uint32_t segments) {
  uint32_t segment = segments >> 8 & 31, clamp = segments & 31;
  int32_t first = (int32_t)(self & segment), last = (int32_t)((self & segment) | (clamp & ~segment)), from;
  source &= 31;
  switch (call) {
  case MW_WARP_SHUFFLE_UP: from = (int32_t)self - (int32_t)source; return from >= last ? (uint32_t)from : self;
  case MW_WARP_SHUFFLE_DOWN: from = (int32_t)(self + source); break;
  case MW_WARP_SHUFFLE_XOR: from = (int32_t)(self ^ source); break;
  default: from = (int32_t)((uint32_t)first | (source & ~segment)); break;
  }
  return from <= last ? (uint32_t)from : self;
}

static void shuffle(lane *lanes, uint32_t group) {
  EACH_LANE(n, group) {
    uint32_t from = source_of(lanes[n].call, n, lanes[n].source, lanes[n].segments);
    lanes[n].result = group >> from & 1 ? lanes[from].value : 0; /* nobody says what an absent lane's would be */
  }
}

static void match_any(lane *lanes, uint32_t group) {
  EACH_LANE(n, group) {
    lanes[n].result = 0;
    EACH_LANE(m, group) if (lanes[m].value == lanes[n].value) lanes[n].result |= 1u << m;
  }
}

static uint32_t reduced(mw_warp_call call, uint32_t a, uint32_t b) {
  switch (call) {
  case MW_WARP_ADD: return a + b;
  case MW_WARP_MIN: return (int32_t)a < (int32_t)b ? a : b;
  case MW_WARP_MAX: return (int32_t)a > (int32_t)b ? a : b;
  case MW_WARP_UMIN: return a < b ? a : b;
  case MW_WARP_UMAX: return a > b ? a : b;
  case MW_WARP_AND: return a & b;
  case MW_WARP_OR: return a | b;
  default: return a ^ b;
  }
}

/* What all of them get. */
static uint64_t agreed(mw_warp_call call, const lane *lanes, uint32_t group) {
  uint64_t first = lanes[lowest(group)].value;
  uint32_t votes = 0, sum = (uint32_t)first;
  bool same = true;
  EACH_LANE(n, group) {
    if (lanes[n].value) votes |= 1u << n;
    if (lanes[n].value != first) same = false;
    if (n != lowest(group)) sum = reduced(call, sum, (uint32_t)lanes[n].value);
  }
  switch (call) {
  case MW_WARP_SYNC: return 0;
  case MW_WARP_ALL: return votes == group;
  case MW_WARP_ANY: return votes != 0;
  case MW_WARP_UNIFORM: return votes == 0 || votes == group;
  case MW_WARP_BALLOT: return votes;
  case MW_WARP_MATCH_ALL: return same ? group : 0;
  default: return sum;
  }
}

static void work_out(mw_warp_call call, lane *lanes, uint32_t group) {
  if (call >= MW_WARP_SHUFFLE && call <= MW_WARP_SHUFFLE_XOR) {
    shuffle(lanes, group);
  } else if (call == MW_WARP_MATCH_ANY) {
    match_any(lanes, group);
  } else {
    uint64_t result = agreed(call, lanes, group);
    EACH_LANE(n, group) lanes[n].result = result;
  }
}

/* ---- who waits for whom ---- */

/* The lanes that wait in the same call as lane `n`, if all that it waits for are there; else 0. */
static uint32_t complete_group(const warp *w, const lane *lanes, uint32_t n) {
  uint32_t wanted = (lanes[n].mask & alive_of(w)) | 1u << n, group = 0;
  if (wanted & ~w->meeting) return 0;
  EACH_LANE(m, wanted) if (lanes[m].call == lanes[n].call && lanes[m].mask == lanes[n].mask) group |= 1u << m;
  return group == wanted ? group : 0;
}

static void finish_meeting(warp *w, lane *lanes, uint32_t group) {
  work_out(lanes[lowest(group)].call, lanes, group);
  w->meeting &= ~group;
  w->ready |= group;
}

static void finish_barrier(cpu_warps *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    all->warps[i].ready |= all->warps[i].stopped;
    all->warps[i].stopped = 0;
  }
  all->stopped = 0;
  all->voted_zeros = all->zeros, all->voted_ones = all->ones;
  all->zeros = all->ones = 0;
}

/* Threads are counted by warps: those that a warp has no more, or never had, come with the others of it. */
static uint32_t count_arrived(const cpu_warps *all, const part_barrier *b) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < all->count; i++)
    if (b->arrived[i]) count += (uint32_t)__builtin_popcount(b->arrived[i] | ~alive_of(&all->warps[i]));
  return count;
}

static bool finish_part(cpu_warps *all, uint32_t id) {
  part_barrier *b = &all->parts[id];
  if (count_arrived(all, b) < b->wanted) return false;
  for (uint32_t i = 0; i < all->count; i++) {
    all->warps[i].ready |= b->waits[i];
    all->warps[i].parted &= ~b->waits[i];
  }
  *b = (part_barrier){0};
  all->named &= ~(1u << id);
  return true;
}

/* No lane of the warp can go on: those go on that wait at one place. */
static void converge(warp *w, lane *lanes) {
  bool last = ++w->turns % FAIRNESS == 0;
  uint32_t site = lanes[lowest(w->converging)].site, group = 0;
  EACH_LANE(n, w->converging) if ((lanes[n].site < site) != last && lanes[n].site != site) site = lanes[n].site;
  EACH_LANE(m, w->converging) if (lanes[m].site == site) group |= 1u << m;
  EACH_LANE(k, group) lanes[k].result = group;
  w->converging &= ~group;
  w->ready |= group;
}

/* ---- changing between lanes ---- */

static void lane_main(void *argument);

/* Everybody waits for somebody: the launch ends here. */
_Noreturn static void fail_stuck(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  uint32_t thread = 0;
  for (uint32_t i = 0; i < all->count; i++)
    if (all->warps[i].meeting) thread = i * LANES + lowest(all->warps[i].meeting);
  const warp *w = &all->warps[thread / LANES];
  const lane *l = &all->lanes[thread];
  uint32_t missing = l->mask & alive_of(w) & ~w->meeting;
  char what[160];
  if (!w->meeting && all->named) {
    uint32_t id = lowest(all->named);
    const part_barrier *b = &all->parts[id];
    snprintf(what, sizeof what, "waits at barrier %u for %u threads, and %u have come", id, b->wanted,
             count_arrived(all, b));
    for (uint32_t i = 0; i < all->count; i++)
      if (b->waits[i]) thread = i * LANES + lowest(b->waits[i]);
    l = &all->lanes[thread];
  } else if (missing)
    snprintf(what, sizeof what,
             "waits at a warp function for lanes (mask 0x%08x) that wait elsewhere; its mask is 0x%08x", missing,
             l->mask);
  else
    snprintf(what, sizeof what, "waits at a warp function with the mask 0x%08x, and lanes of it with another", l->mask);
  worker->base.thread = thread;
  worker->call = l->place;
  cpu_service_fail(&worker->base, MW_LAUNCH_FAILURE, NULL, 0, what);
}

/* The warp whose turn it is gives it to the next that can go on. */
static bool next_warp(cpu_warps *all) {
  all->turns = 0;
  for (uint32_t i = 1; i <= all->count; i++) {
    uint32_t n = (all->now + i) % all->count;
    const warp *w = &all->warps[n];
    if (!(w->ready | w->fresh | w->converging)) continue;
    all->now = n;
    return true;
  }
  return false;
}

/* The thread to run now. */
static uint32_t choose(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  for (;;) {
    warp *w = &all->warps[all->now];
    uint32_t first = all->now * LANES;
    if (w->ready) return first + lowest(w->ready);
    if (w->fresh) return first + lowest(w->fresh);
    if (w->converging) {
      converge(w, &all->lanes[first]);
      if (++all->turns < PATIENCE) continue;
    }
    if (!next_warp(all)) fail_stuck(worker);
  }
}

/* Threads that have not started take the fiber of one that has exited, or a new one. */
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

CPU_UNSANITIZED static void go_on(cpu_worker *worker) {
  cpu_fiber *self = worker->ring.current, *next = fiber_of(worker, choose(worker));
  if (next != self) cpu_fiber_change(worker, self, next);
}

/* A thread has returned: nobody waits for it any more. */
static void leave(cpu_warps *all, uint32_t thread) {
  warp *w = &all->warps[thread / LANES];
  lane *lanes = &all->lanes[thread / LANES * LANES];
  w->ready &= ~(1u << thread % LANES);
  all->alive--;
  for (uint32_t rest = w->meeting; rest; rest &= rest - 1) {
    uint32_t group = complete_group(w, lanes, lowest(rest));
    if (!group) continue;
    finish_meeting(w, lanes, group);
    rest &= ~group | (rest & -rest);
  }
  if (all->alive && all->stopped == all->alive) finish_barrier(all);
  EACH_LANE(id, all->named) finish_part(all, id);
}

CPU_UNSANITIZED static void lane_main(void *argument) {
  cpu_worker *worker = argument;
  cpu_ring *ring = &worker->ring;
  cpu_warps *all = worker->warps;
  cpu_fiber_arrive(worker, ring->current);
  for (;;) {
    cpu_fiber *self = ring->current;
    ring->function(ring->frame, &worker->base, self->thread);
    leave(all, self->thread);
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
  if (all->named) memset(all->parts, 0, sizeof all->parts); /* a launch that failed left them */
  all->named = 0;
  for (uint32_t i = 0; i < all->count; i++)
    all->warps[i].fresh = i + 1 < all->count || count % LANES == 0 ? ~0u : (1u << count % LANES) - 1;
  cpu_fiber_change(worker, &ring->home, fiber_of(worker, 0));
}

/* ---- services ---- */

/* The running lane stops being ready, and waits. */
static lane *begin_wait(cpu_worker *worker, warp **w, uint32_t *bit) {
  cpu_warps *all = worker->warps;
  uint32_t thread = worker->ring.current->thread;
  *w = &all->warps[thread / LANES];
  *bit = 1u << thread % LANES;
  (*w)->ready &= ~*bit;
  lane *l = &all->lanes[thread];
  l->place = worker->call;
  return l;
}

/* Not inside run_warps: a thread by itself. */
static bool is_alone(const cpu_worker *worker) { return worker->ring.current == &worker->ring.home; }

CPU_UNSANITIZED uint64_t cpu_warp(mw_worker *base, mw_warp_call call, uint32_t mask, uint64_t value, uint32_t source,
                                  uint32_t segments) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_warps *all = worker->warps;
  CPU_SERVICE_ENTER(base);
  warp *w;
  uint32_t bit;
  lane *l = begin_wait(worker, &w, &bit);
  l->call = call, l->mask = mask, l->value = value, l->source = source, l->segments = segments;
  w->meeting |= bit;
  lane *lanes = l - lowest(bit);
  uint32_t group = complete_group(w, lanes, lowest(bit));
  if (group) finish_meeting(w, lanes, group);
  /* the last to come goes on at once, unless other warps have waited long enough */
  if (group && ++all->turns < PATIENCE) return l->result;
  if (group) next_warp(all);
  go_on(worker);
  return l->result;
}

CPU_UNSANITIZED uint32_t cpu_warp_converge(mw_worker *base, uint32_t site) {
  cpu_worker *worker = (cpu_worker *)base;
  CPU_SERVICE_ENTER(base);
  warp *w;
  uint32_t bit;
  lane *l = begin_wait(worker, &w, &bit);
  l->site = site;
  w->converging |= bit;
  go_on(worker);
  return (uint32_t)l->result;
}

/* A count that the hardware has no meaning for ends the launch. */
static void check_part(cpu_worker *worker, const part_barrier *b, uint32_t id, uint32_t wanted) {
  char what[160];
  if (id >= CPU_NAMED_BARRIERS)
    snprintf(what, sizeof what, "comes to barrier %u, and a block has those of 0 to %d", id, CPU_NAMED_BARRIERS - 1);
  else if (wanted == 0 || wanted % LANES)
    snprintf(what, sizeof what, "comes to barrier %u for %u threads, which are no whole warps of %d", id, wanted,
             LANES);
  else if (b->wanted && b->wanted != wanted)
    snprintf(what, sizeof what, "comes to barrier %u for %u threads, and others came to it for %u", id, wanted,
             b->wanted);
  else
    return;
  cpu_service_fail(&worker->base, MW_LAUNCH_FAILURE, NULL, 0, what);
}

CPU_UNSANITIZED void cpu_barrier_part(mw_worker *base, uint32_t id, uint32_t wanted, uint32_t waits) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_warps *all = worker->warps;
  CPU_SERVICE_ENTER(base);
  if (is_alone(worker)) return;
  check_part(worker, &all->parts[id % CPU_NAMED_BARRIERS], id, wanted);
  part_barrier *b = &all->parts[id];
  uint32_t thread = worker->ring.current->thread;
  b->wanted = wanted;
  b->arrived[thread / LANES] |= 1u << thread % LANES;
  all->named |= 1u << id;
  if (waits) {
    warp *w;
    uint32_t bit;
    begin_wait(worker, &w, &bit);
    w->parted |= bit;
    b->waits[thread / LANES] |= bit;
  }
  if (!finish_part(all, id) && waits) go_on(worker);
}

CPU_UNSANITIZED void cpu_warps_barrier(cpu_worker *worker) {
  cpu_warps *all = worker->warps;
  warp *w;
  uint32_t bit;
  if (is_alone(worker)) return;
  begin_wait(worker, &w, &bit);
  w->stopped |= bit;
  if (++all->stopped == all->alive)
    finish_barrier(all);
  else
    go_on(worker);
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
