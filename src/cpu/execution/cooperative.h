/* Cooperative launches: all blocks are resident at once, each with a worker of its own (stack, shared memory, fibers of
 * its threads), and may wait for each other.
 *
 * A launch runs in phases, which grid barriers separate. In each phase, threads of the pool take every block, as in any
 * launch, and run it until it waits or ends. When no block is left to take, all waiting blocks have arrived at the
 * barrier, and the next phase resumes them. So the barrier does not wait for blocks that have ended, and a cooperative
 * launch needs no more threads than any other. */
#ifndef MW_CPU_RESIDENT_H
#define MW_CPU_RESIDENT_H

#include "cpu/schedule/pool.h"

/* The limits of a multiprocessor of compute capability 8.0, which a worker represents (lua/moonwarp/module/occupancy.lua has
   the same figures). */
enum {
  CPU_RESIDENT_WARPS = 64,
  CPU_RESIDENT_BLOCKS = 32,
  CPU_RESIDENT_SHARED = 164 << 10,
  CPU_RESIDENT_RESERVED = 1 << 10, /* of a block's shared memory, besides its own */
  CPU_RESIDENT_UNIT = 128
};

typedef struct cpu_residents cpu_residents;

/* MW_COOPERATIVE_LAUNCH_TOO_LARGE if the device cannot hold all blocks of the grid at once. */
int cpu_residents_check(const cpu_device *device, const cpu_kernel *kernel, const unsigned grid[3],
                        const unsigned block[3], size_t shared);
/* For a cooperative launch, or one with clusters, or whose blocks run in a random order: of so many clusters. */
cpu_residents *cpu_residents_new(const mw_frame *frame, uint64_t clusters);
/* At the command's end: return its workers to the pool. The lock is not held. */
void cpu_residents_free(cpu_pool *pool, cpu_command *command);
void cpu_residents_close(cpu_pool *pool);

/* Without the lock, by the thread that took these clusters: run one phase of each. */
void cpu_residents_run(cpu_pool *pool, cpu_command *command, uint64_t first, uint64_t last);
/* With the lock, when all blocks were taken and no thread runs one: whether there is another phase. If so, the blocks
   can be taken again. */
bool cpu_residents_next(cpu_command *command);

/* The service that implements grid.sync(). */
void cpu_grid_wait(mw_worker *worker, uint32_t led);

#endif
