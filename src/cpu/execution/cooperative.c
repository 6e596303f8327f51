/* Cooperative launches: see cooperative.h. */
#include "cooperative.h"
#include "cluster.h"
#include "cpu/check/check.h"

#include <stdlib.h>

/* Of a cooperative launch: a cluster, from its first phase to its last. */
typedef struct resident {
  cpu_cluster *cluster;
  bool ended;
} resident;

struct cpu_residents {
  _Atomic uint64_t waiting; /* the number of blocks that arrived in this phase */
  bool complete;            /* all of them had arrived when the last phase ended */
  uint64_t count, blocks;   /* of clusters that are kept: 0 where the launch is not cooperative */
  resident clusters[];
};

/* ---- the limit on the number of blocks ---- */

static uint64_t blocks_of_one(uint64_t threads, size_t shared) {
  uint64_t warps = (threads + 31) / 32, most = CPU_RESIDENT_WARPS / warps;
  size_t needed = (shared + CPU_RESIDENT_RESERVED + CPU_RESIDENT_UNIT - 1) / CPU_RESIDENT_UNIT * CPU_RESIDENT_UNIT;
  if (most > CPU_RESIDENT_BLOCKS) most = CPU_RESIDENT_BLOCKS;
  if (most > CPU_RESIDENT_SHARED / needed) most = CPU_RESIDENT_SHARED / needed;
  return most > 0 ? most : 1; /* a block that can be launched at all fits alone */
}

int cpu_residents_check(const cpu_device *device, const cpu_kernel *kernel, const unsigned grid[3],
                        const unsigned block[3], size_t shared) {
  const mw_kernel_info *info = &kernel->image->info;
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2], each = blocks_of_one(threads, shared);
  uint64_t room = each * (uint64_t)device->workers, blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  if (blocks <= room) return MW_SUCCESS;
  int code =
      fail(MW_COOPERATIVE_LAUNCH_TOO_LARGE,
           "all blocks of a cooperative launch are resident at once, and the device holds %llu blocks of %llu threads "
           "and %zu bytes of shared memory (%llu on each of %d multiprocessors): %s is launched with %llu. Give "
           "each thread more work",
           (unsigned long long)room, (unsigned long long)threads, shared, (unsigned long long)each, device->workers,
           info->name, (unsigned long long)blocks);
  mw_error_kernel(info->name, NULL, NULL);
  return code;
}

/* ---- workers ---- */

cpu_worker *cpu_resident_take(cpu_pool *pool) {
  mw_lock(&pool->lock);
  cpu_worker *worker = pool->idle;
  if (worker) pool->idle = worker->idle, pool->idle_count--;
  mw_unlock(&pool->lock);
  return worker ? worker : cpu_worker_new(pool->device);
}

/* Free the threads' stacks; keep the worker for reuse unless there are enough. */
void cpu_resident_give(cpu_pool *pool, cpu_worker *worker) {
  cpu_worker_drop(worker);
  mw_lock(&pool->lock);
  bool keep = pool->idle_count < 2 * pool->slots;
  if (keep) {
    worker->idle = pool->idle;
    pool->idle = worker;
    pool->idle_count++;
  }
  mw_unlock(&pool->lock);
  if (!keep) cpu_worker_free(worker);
}

void cpu_residents_close(cpu_pool *pool) {
  for (cpu_worker *worker = pool->idle, *next; worker; worker = next) {
    next = worker->idle;
    cpu_worker_free(worker);
  }
  pool->idle = NULL;
}

cpu_residents *cpu_residents_new(const mw_frame *frame, uint64_t clusters) {
  uint64_t count = frame->cooperative ? clusters : 0;
  cpu_residents *made = mw_alloc(sizeof *made + count * sizeof *made->clusters);
  made->count = count;
  made->blocks = clusters * cpu_cluster_size(frame);
  return made;
}

void cpu_residents_free(cpu_pool *pool, cpu_command *command) {
  cpu_residents *residents = command->residents;
  command->residents = NULL;
  for (uint64_t i = 0; i < residents->count; i++) cpu_cluster_free(pool, residents->clusters[i].cluster);
  free(residents);
}

/* ---- phases ---- */

static void run_kept(cpu_pool *pool, cpu_command *command, uint64_t number) {
  resident *kept = &command->residents->clusters[number];
  if (kept->ended) return;
  if (!kept->cluster) kept->cluster = cpu_cluster_new(command, number);
  uint32_t waiting = cpu_cluster_run(pool, kept->cluster);
  kept->ended = waiting == 0;
  if (kept->ended) cpu_cluster_free(pool, kept->cluster);
  if (kept->ended) kept->cluster = NULL;
  atomic_fetch_add(&command->residents->waiting, waiting);
}

/* ---- random order, for a checked run with a seed ---- */

enum { DRAWN_MOST = 8 }; /* clusters between which a launch that is not cooperative switches */

typedef struct drawn {
  cpu_cluster **clusters; /* those that run; fresh ones come from `order` */
  uint64_t count, most, next, last;
  uint32_t *order;
  uint64_t random; /* the state of random numbers */
} drawn;

static bool draw_in(cpu_pool *pool, cpu_command *command, drawn *d) {
  if (d->count == d->most || d->next == d->last) return false;
  cpu_residents *residents = command->residents;
  uint64_t number = d->order[d->next++];
  resident *kept = residents->count ? &residents->clusters[number] : NULL;
  if (kept && kept->ended) return true;
  cpu_cluster *cluster = kept && kept->cluster ? kept->cluster : cpu_cluster_new(command, number);
  if (kept) kept->cluster = cluster;
  if (cpu_cluster_begin(pool, cluster))
    d->clusters[d->count++] = cluster;
  else if (!kept)
    cpu_cluster_free(pool, cluster);
  return true;
}

/* No block of the cluster can run until the next phase, if there is one. */
static void draw_out(cpu_pool *pool, cpu_command *command, drawn *d, uint64_t at) {
  cpu_cluster *cluster = d->clusters[at];
  cpu_residents *residents = command->residents;
  uint32_t waiting = cpu_cluster_waiting(cluster);
  d->clusters[at] = d->clusters[--d->count];
  atomic_fetch_add(&residents->waiting, waiting);
  for (uint64_t i = 0; i < residents->count && !waiting; i++) {
    resident *kept = &residents->clusters[i];
    if (kept->cluster == cluster) *kept = (resident){.ended = true};
  }
  if (!waiting) cpu_cluster_free(pool, cluster);
}

static void run_drawn(cpu_pool *pool, cpu_command *command, uint64_t first, uint64_t last) {
  drawn d = {.most = command->residents->count ? last - first : DRAWN_MOST, .last = last - first};
  d.random = cpu_check_random_state(pool->device, command->checked, 0);
  d.order = mw_alloc(d.last * sizeof *d.order);
  d.clusters = mw_alloc(d.most * sizeof *d.clusters);
  for (uint64_t i = 0; i < d.last; i++) {
    uint64_t other = cpu_check_draw(&d.random, (uint32_t)i + 1);
    d.order[i] = d.order[other];
    d.order[other] = (uint32_t)(first + i);
  }
  for (;;) {
    while (draw_in(pool, command, &d)) continue;
    if (!d.count || atomic_load(&command->stop)) break;
    uint32_t at = cpu_check_draw(&d.random, (uint32_t)d.count);
    uint32_t rank = cpu_check_draw(&d.random, cpu_cluster_size(&command->kernel.frame));
    if (!cpu_cluster_step(pool, d.clusters[at], rank)) draw_out(pool, command, &d, at);
  }
  for (uint64_t i = 0; i < d.count && !command->residents->count; i++) cpu_cluster_free(pool, d.clusters[i]);
  free(d.clusters);
  free(d.order);
}

void cpu_residents_run(cpu_pool *pool, cpu_command *command, uint64_t first, uint64_t last) {
  if (command->drawn) {
    run_drawn(pool, command, first, last);
    return;
  }
  bool kept = command->residents->count > 0;
  cpu_cluster *cluster = NULL;
  for (uint64_t number = first; number < last && !atomic_load(&command->stop); number++) {
    if (kept) {
      run_kept(pool, command, number);
      continue;
    }
    if (cluster)
      cpu_cluster_move(cluster, number);
    else
      cluster = cpu_cluster_new(command, number);
    (void)cpu_cluster_run(pool, cluster);
  }
  cpu_cluster_free(pool, cluster);
}

bool cpu_residents_next(cpu_command *command) {
  uint64_t waited = atomic_exchange(&command->residents->waiting, 0);
  if (atomic_load(&command->stop) || waited == 0) return false;
  command->residents->complete = waited == command->residents->blocks;
  atomic_store(&command->taken, 0);
  return true;
}

void cpu_grid_wait(mw_worker *base, uint32_t led) {
  CPU_SERVICE_ENTER(base);
  cpu_worker *worker = (cpu_worker *)base;
  worker->finding = "barrier_divergence";
  if (!worker->work->frame.cooperative || !worker->cluster)
    cpu_service_fail(base, MW_LAUNCH_FAILURE, NULL, 0,
                     "waits for the whole grid (grid.sync()) in a launch that is not cooperative: launch it as "
                     "kernel:cooperative(grid, block)(...), or with cudaLaunchCooperativeKernel");
  if (!led)
    cpu_service_fail(base, MW_LAUNCH_FAILURE, NULL, 0,
                     "waits for the whole grid (grid.sync()) in a block whose thread 0 has returned: every thread of "
                     "the grid has to call it");
  worker->finding = NULL;
  cpu_cluster_wait_grid(worker);
  cpu_check_grid(worker, worker->command->residents->complete);
}
