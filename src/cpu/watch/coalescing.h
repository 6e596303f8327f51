/* How the accesses of a warp become transactions, by compute capability: sectors of global memory, wavefronts of shared
 * memory (coalescing.c). */
#ifndef MW_CPU_COALESCING_H
#define MW_CPU_COALESCING_H

#include "watch.h"
#include "device/moonwarp/measured_run/rules.h"

/* What is counted, over calls. */
typedef struct memory_sums {
  uint64_t requests;
  uint64_t sectors;                  /* of 32 bytes; by the rules of 1.x: transactions */
  uint64_t ideal;                    /* the least number that the bytes used fit into */
  uint64_t wavefronts, least;        /* of shared memory: passes that banks need, and the least possible */
  uint64_t bytes;                    /* of all active lanes */
  uint64_t used;                     /* the same, a byte that several lanes access once */
  uint64_t collisions;               /* of atomics: lanes beyond the first at an address */
  uint64_t rounds, round_wavefronts; /* of loops around compare-and-swap: a load and a swap in each round */
  uint64_t moved;                    /* bytes of all transactions */
} memory_sums;

typedef struct rules {
  enum mw_rule_set set;
} rules;

/* Accesses in runs of lanes, in closed form; false: count_global and count_shared are to be called, with words. */
bool count_runs_global(const rules *r, const cpu_watch_event *event, memory_sums *into);
bool count_runs_shared(const rules *r, const cpu_watch_event *event, memory_sums *into);
void count_global(const rules *r, const cpu_watch_event *event, memory_sums *into);
void count_shared(const rules *r, const cpu_watch_event *event, memory_sums *into);

#endif
