/* The state of the threads of a block that synchronise within warps: each lane is ready or waits in one of several
 * states. warp_scheduler.c explains the states and schedules the lanes, named_barrier.c has barriers of a part of the
 * block and waits for words, warp_collectives.c computes the results of warp functions. */
#ifndef MW_CPU_WARP_H
#define MW_CPU_WARP_H

#include "fiber.h"

enum { LANES = 32, WARPS = CPU_MAX_THREADS / LANES };

typedef struct lane {
  cpu_fiber *fiber;
  uintptr_t place; /* the code address of the call in which it waits */
  mw_warp_call call;
  uint32_t mask, source, segments, site;
  uint32_t next; /* linear id of the next thread that watches the same word, or NOBODY */
  uint64_t value, result;
} lane;

typedef struct warp { /* sets of lanes: a lane is in one of them, or in none once it has exited */
  uint32_t fresh, ready, meeting, converging, stopped, at_named_barrier, watching;
  uint32_t turns;
} warp;

typedef struct named_barrier {
  uint32_t wanted;                       /* number of threads; 0: none has arrived yet */
  uint32_t count;                        /* number of threads that count as arrived, by whole warps */
  uint32_t arrived[WARPS], waits[WARPS]; /* sets of lanes */
} named_barrier;

#define NOBODY UINT32_MAX

/* A word that lanes watch: they wait until word & mask differs from the value. */
typedef struct watch {
  const uint32_t *word;
  uint32_t mask, value;
  uint32_t first; /* linear id of the first of them; lane.next links the others */
} watch;

struct cpu_warps {
  lane lanes[CPU_MAX_THREADS]; /* by linear id */
  warp warps[WARPS];
  uint32_t count, now, turns; /* number of warps; the current one, and how many turns it has had */
  uint32_t alive, stopped;    /* threads */
  uint32_t zeros, ones, voted_zeros, voted_ones;
  uint32_t fibers; /* number made so far in this block */
  uint32_t named;  /* set of the named barriers at which a thread has arrived */
  named_barrier named_barriers[CPU_NAMED_BARRIERS];
  uint32_t watched;
  watch watches[CPU_MAX_THREADS];
  cpu_fiber *idle; /* fibers whose threads have exited */
};

static inline uint32_t lowest(uint32_t set) { return (uint32_t)__builtin_ctz(set); }
static inline uint32_t alive_of(const warp *w) {
  return w->fresh | w->ready | w->meeting | w->converging | w->stopped | w->at_named_barrier | w->watching;
}

#define EACH_LANE(n, set)                                                                                              \
  for (uint32_t n##_rest = (set), n; n##_rest && (n = lowest(n##_rest), 1); n##_rest &= n##_rest - 1)

/* warp_scheduler.c: Make the running lane not ready; the caller adds it to the set in which it waits. */
lane *cpu_warps_begin_wait(cpu_worker *worker, warp **w, uint32_t *bit);
/* warp_scheduler.c: Run other lanes until this one is ready again. */
void cpu_warps_switch(cpu_worker *worker);
/* warp_scheduler.c: Let all other lanes run first. */
void cpu_warps_yield(cpu_worker *worker);
/* warp_scheduler.c: Whether the code runs outside of run_warps, as a single thread. */
static inline bool is_alone(const cpu_worker *worker) { return worker->ring.current == &worker->ring.home; }

/* named_barrier.c: A thread has returned: named barriers count it as arrived. */
void cpu_named_barriers_leave(cpu_worker *worker, uint32_t thread);
/* named_barrier.c: Make lanes ready whose words have changed; whether there was one. */
bool cpu_watches_poll(cpu_warps *all);
/* named_barrier.c: Whether one of the words has changed. */
bool cpu_watches_have_changed(const cpu_worker *worker);
/* named_barrier.c: Whether threads outside of the block or, in a cluster, outside of the cluster, could change a watched
   word. */
bool cpu_watches_outside(const cpu_worker *worker);
/* named_barrier.c: For the report of a deadlock: describe a wait that cannot end, and name one of its threads. False:
   there is none. */
bool cpu_waits_describe(const cpu_warps *all, char *what, size_t bytes, uint32_t *thread);

/* warp_collectives.c: Compute the results of a warp function for the group of lanes that called it together. */
void cpu_warp_compute(mw_warp_call call, lane *lanes, uint32_t group);
static inline bool cpu_warp_shuffles(mw_warp_call call) {
  return call >= MW_WARP_SHUFFLE && call <= MW_WARP_SHUFFLE_XOR;
}
/* warp_collectives.c: the lane that lane `self` reads from in a shuffle. */
uint32_t cpu_warp_source(const lane *l, uint32_t self);

#endif
