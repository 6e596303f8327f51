/* The blocks of a cooperative launch: all are there at once, each with a worker of its own (its stack, its shared memory,
 * its threads' fibers), and may wait for each other.
 *
 * A launch runs in rounds. In each, threads of the pool take every block and run it until it waits or ends, as they
 * take the blocks of any launch; when none is left, all that wait have arrived, and the next round goes on with them. So
 * blocks that have ended are not waited for, and a launch needs no more threads than any other. */
#ifndef MW_CPU_RESIDENT_H
#define MW_CPU_RESIDENT_H

#include "cpu/schedule/pool.h"

/* What compute capability 8.0 has on a multiprocessor, which a worker stands for (lua/moonwarp/occupancy.lua has the same
   figures). */
enum {
  CPU_RESIDENT_WARPS = 64,
  CPU_RESIDENT_BLOCKS = 32,
  CPU_RESIDENT_SHARED = 164 << 10,
  CPU_RESIDENT_RESERVED = 1 << 10, /* of a block's shared memory, besides its own */
  CPU_RESIDENT_UNIT = 128
};

typedef struct cpu_residents cpu_residents;

/* MW_COOPERATIVE_LAUNCH_TOO_LARGE where the device cannot hold the grid's blocks at once. */
int cpu_residents_check(const cpu_device *device, const cpu_kernel *kernel, const unsigned grid[3],
                        const unsigned block[3], size_t shared);
cpu_residents *cpu_residents_new(uint64_t blocks);
/* The command's end: workers go back to the pool. The lock is not held. */
void cpu_residents_free(cpu_pool *pool, cpu_command *command);
void cpu_residents_close(cpu_pool *pool);

/* Without the lock, by the thread that took the block: its worker, NULL where it has ended; and one round of it. */
cpu_worker *cpu_residents_worker(cpu_pool *pool, cpu_command *command, uint64_t block);
bool cpu_residents_run(cpu_command *command, uint64_t block);
/* With the lock, when all blocks were taken and nobody runs one: whether there is a round more; then they can be taken
   again. */
bool cpu_residents_next(cpu_command *command);

/* The service that kernels wait by. */
void cpu_grid_wait(mw_worker *worker, uint32_t led);

#endif
