/* Clusters: blocks that one thread of the pool runs in turn, each with a worker of its own. A block runs until it ends
 * or waits; then the next one that can run does. So a cluster needs no more threads than a block, and its blocks
 * access each other's shared memory without conflicts. A block of a launch without clusters is a cluster of its own in a
 * cooperative launch (cooperative.h).
 *
 * The blocks' shared memory lies in rooms of one area, MW_CLUSTER_STRIDE apart in the order of ranks, so that generated
 * code finds another block's by adding a multiple of that. */
#ifndef MW_CPU_CLUSTER_H
#define MW_CPU_CLUSTER_H

#include "cpu/schedule/pool.h"

typedef struct cpu_cluster cpu_cluster;

static inline uint32_t cpu_cluster_size(const mw_frame *frame) {
  return frame->cluster[0] * frame->cluster[1] * frame->cluster[2];
}
/* Whether blocks of the launch wait for each other. */
static inline bool cpu_blocks_wait(const mw_frame *frame) { return frame->cooperative || cpu_cluster_size(frame) > 1; }

/* The cluster of that number in the command's grid. */
cpu_cluster *cpu_cluster_new(cpu_command *command, uint64_t number);
/* After it was run: let it be another cluster of the command. */
void cpu_cluster_move(cpu_cluster *cluster, uint64_t number);
void cpu_cluster_free(cpu_pool *pool, cpu_cluster *cluster);
/* Run its blocks until each has ended or waits at the grid barrier; the number of those that wait. */
uint32_t cpu_cluster_run(cpu_pool *pool, cpu_cluster *cluster);
/* The same in steps. Begin a phase; false if that failed. */
bool cpu_cluster_begin(cpu_pool *pool, cpu_cluster *cluster);
/* Run the first block that can run, from `rank` on, until it waits, ends or yields. False: none can run. */
bool cpu_cluster_step(cpu_pool *pool, cpu_cluster *cluster, uint32_t rank);
uint32_t cpu_cluster_waiting(const cpu_cluster *cluster);

/* In a service, for the block that the worker runs: */
/* Wait at the grid barrier. */
void cpu_cluster_wait_grid(cpu_worker *worker);
/* Let the cluster's other blocks run; or blocks of any cluster. */
void cpu_cluster_yield(cpu_worker *worker);
void cpu_cluster_leave(cpu_worker *worker);
/* The block's fibers watch words: wait until one has changed. False: nothing can change them. */
bool cpu_cluster_watch(cpu_worker *worker);
/* Whether the address is in the shared memory of a block of its cluster. */
bool cpu_cluster_has(const cpu_worker *worker, const void *address);

/* The services. */
void cpu_cluster_wait(mw_worker *worker, uint32_t callers);
void cpu_wait_outside(mw_worker *worker, const uint32_t *word, uint32_t mask, uint32_t value);

/* cooperative.c: an unused worker, and giving it back. */
cpu_worker *cpu_resident_take(cpu_pool *pool);
void cpu_resident_give(cpu_pool *pool, cpu_worker *worker);

#endif
