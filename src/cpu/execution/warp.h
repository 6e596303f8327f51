/* The threads of a block that see their warps: in which way each of them waits. warp_scheduler.c says what the ways are and gives
 * lanes their turns, named_barrier.c has those of parts of the block, warp_collectives.c what warp functions give. */
#ifndef MW_CPU_WARP_H
#define MW_CPU_WARP_H

#include "fiber.h"

enum { LANES = 32, WARPS = CPU_MAX_THREADS / LANES };

typedef struct lane {
  cpu_fiber *fiber;
  uintptr_t place; /* in the kernel's code, where it waits */
  mw_warp_call call;
  uint32_t mask, source, segments, site;
  uint32_t next; /* linear id of another that watches the same word; or NOBODY */
  uint64_t value, result;
} lane;

typedef struct warp { /* lanes, each in one of these or in none once it has exited */
  uint32_t fresh, ready, meeting, converging, stopped, parted, watching;
  uint32_t turns;
} warp;

typedef struct part_barrier {
  uint32_t wanted;                       /* threads; 0: nobody has come yet */
  uint32_t come;                         /* threads, counted by warps */
  uint32_t arrived[WARPS], waits[WARPS]; /* lanes */
} part_barrier;

#define NOBODY UINT32_MAX

/* Lanes that wait until word & mask is not the value. */
typedef struct watch {
  const uint32_t *word;
  uint32_t mask, value;
  uint32_t first; /* linear id of one of them; lane.next has the others */
} watch;

struct cpu_warps {
  lane lanes[CPU_MAX_THREADS]; /* by linear id */
  warp warps[WARPS];
  uint32_t count, now, turns; /* warps; the one whose turn it is, and for how long */
  uint32_t alive, stopped;    /* threads */
  uint32_t zeros, ones, voted_zeros, voted_ones;
  uint32_t fibers; /* made so far in this block */
  uint32_t named;  /* barriers for parts of the block that somebody has come to, as bits */
  part_barrier parts[CPU_NAMED_BARRIERS];
  uint32_t watched;
  watch watches[CPU_MAX_THREADS];
  cpu_fiber *idle; /* whose threads have exited */
};

static inline uint32_t lowest(uint32_t set) { return (uint32_t)__builtin_ctz(set); }
static inline uint32_t alive_of(const warp *w) {
  return w->fresh | w->ready | w->meeting | w->converging | w->stopped | w->parted | w->watching;
}

#define EACH_LANE(n, set)                                                                                              \
  for (uint32_t n##_rest = (set), n; n##_rest && (n = lowest(n##_rest), 1); n##_rest &= n##_rest - 1)

/* warp_scheduler.c: The running lane stops being ready, and waits in a way that the caller notes. */
lane *cpu_warps_begin_wait(cpu_worker *worker, warp **w, uint32_t *bit);
/* warp_scheduler.c: Others have their turns until the lane is ready again. */
void cpu_warps_go_on(cpu_worker *worker);
/* warp_scheduler.c: Not inside run_warps: a thread by itself. */
static inline bool is_alone(const cpu_worker *worker) { return worker->ring.current == &worker->ring.home; }

/* named_barrier.c: Nobody waits any more for a thread that has returned. */
void cpu_parts_leave(cpu_warps *all, uint32_t thread);
/* named_barrier.c: Lanes whose words have changed are ready; whether there was one. */
bool cpu_watches_look(cpu_warps *all);
/* named_barrier.c: Whether somebody outside of the block can end what lanes watch. */
bool cpu_watches_outside(const cpu_worker *worker);
/* named_barrier.c: For a report: what the threads wait for that nobody will bring, and which of them. False: there are none. */
bool cpu_parts_describe(const cpu_warps *all, char *what, size_t bytes, uint32_t *thread);

/* warp_collectives.c: What the lanes of a group that came to a warp function together get. */
void cpu_warp_work_out(mw_warp_call call, lane *lanes, uint32_t group);

#endif
