/* Clusters: see cluster.h. */
#include "cluster.h"
#include "cpu/check/check.h"
#include "cpu/children/children.h"
#include "cpu/memory/heap.h"
#include "warp.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef enum member_state {
  MEMBER_READY,
  MEMBER_AT_BARRIER,
  MEMBER_WAITS_FOR_WORD,
  MEMBER_WATCHES, /* by its fibers */
  MEMBER_AT_GRID,
  MEMBER_ENDED
} member_state;

typedef struct member {
  cpu_worker *worker; /* NULL: not taken yet */
  uint64_t block;
  bool started;
  member_state state;
  uint32_t calls; /* of the cluster barrier, by threads of a block without its first */
  const uint32_t *word;
  uint32_t mask, value;
} member;

struct cpu_cluster {
  cpu_command *command;
  unsigned char *area, *rooms; /* `rooms` is aligned within `area`; NULL where the cluster is one block */
  uint32_t size, running;      /* number of blocks; rank of the one that runs */
  bool stuck;                  /* no block can continue: the one that is resumed fails */
  member members[];
};

/* ---- making ---- */

static uint64_t block_number(const mw_frame *frame, uint64_t number, uint32_t rank) {
  uint64_t at[3];
  for (int axis = 0; axis < 3; axis++) {
    uint32_t size = frame->cluster[axis], clusters = frame->grid[axis] / size;
    at[axis] = number % clusters * size + rank % size;
    number /= clusters;
    rank /= size;
  }
  return at[0] + frame->grid[0] * (at[1] + frame->grid[1] * at[2]);
}

static bool open_rooms(cpu_cluster *cluster) {
  enum { ALL = MW_CLUSTER_MOST * MW_CLUSTER_STRIDE };
  cpu_heap *heap = cluster->command->stream->device->heap;
  cluster->area = cpu_heap_reserve(heap, 2 * (size_t)ALL);
  if (!cluster->area) return false;
  cluster->rooms = (unsigned char *)(((uintptr_t)cluster->area + ALL - 1) & ~((uintptr_t)ALL - 1));
  for (uint32_t rank = 0; rank < cluster->size; rank++)
    if (mprotect(cluster->rooms + rank * (size_t)MW_CLUSTER_STRIDE, CPU_SHARED_ROOM, PROT_READ | PROT_WRITE))
      return false;
  return true;
}

cpu_cluster *cpu_cluster_new(cpu_command *command, uint64_t number) {
  const mw_frame *frame = &command->kernel.frame;
  uint32_t size = cpu_cluster_size(frame);
  cpu_cluster *cluster = mw_alloc(sizeof *cluster + size * sizeof *cluster->members);
  cluster->command = command;
  cluster->size = size;
  cpu_cluster_move(cluster, number);
  return cluster;
}

void cpu_cluster_move(cpu_cluster *cluster, uint64_t number) {
  const mw_frame *frame = &cluster->command->kernel.frame;
  for (uint32_t rank = 0; rank < cluster->size; rank++) {
    member *m = &cluster->members[rank];
    *m = (member){.worker = m->worker, .block = block_number(frame, number, rank)};
  }
}

void cpu_cluster_free(cpu_pool *pool, cpu_cluster *cluster) {
  if (!cluster) return;
  for (uint32_t rank = 0; rank < cluster->size; rank++) {
    cpu_worker *worker = cluster->members[rank].worker;
    if (!worker) continue;
    worker->cluster = NULL;
    worker->room = NULL;
    cpu_resident_give(pool, worker);
  }
  cpu_heap_unreserve(pool->device->heap, cluster->area);
  free(cluster);
}

/* ---- running ---- */

static bool has_changed(const member *m) { return (__atomic_load_n(m->word, __ATOMIC_ACQUIRE) & m->mask) != m->value; }

static bool can_run(const member *m) {
  switch (m->state) {
  case MEMBER_READY: return true;
  case MEMBER_WAITS_FOR_WORD: return has_changed(m);
  case MEMBER_WATCHES: return cpu_watches_have_changed(m->worker);
  default: return false;
  }
}

static bool start(cpu_pool *pool, cpu_cluster *cluster, uint32_t rank) {
  member *m = &cluster->members[rank];
  cpu_worker *worker = m->worker = cpu_resident_take(pool);
  worker->cluster = cluster;
  worker->room = cluster->rooms ? cluster->rooms + rank * (size_t)MW_CLUSTER_STRIDE + CPU_SHARED_ROOM : NULL;
  return cpu_worker_prepare(worker, cluster->command, &cluster->command->kernel);
}

/* Run the block until it waits, ends or fails. */
static void run(cpu_pool *pool, cpu_cluster *cluster, uint32_t rank) {
  member *m = &cluster->members[rank];
  cpu_command *command = cluster->command;
  bool begins = !m->started, good = m->worker || start(pool, cluster, rank);
  cpu_worker *worker = m->worker;
  m->started = true;
  cpu_worker_current = worker;
  cluster->running = rank;
  m->state = MEMBER_READY;
  if (good) good = begins ? cpu_worker_run(worker, m->block, m->block + 1) : cpu_worker_resume(worker);
  cpu_worker_current = NULL;
  if (!good) cpu_pool_fail(pool, worker, command);
  cpu_family_leave(worker, command);
  if (!good || !worker->suspended) m->state = MEMBER_ENDED;
}

/* If all blocks that have not ended are at the cluster barrier, it is passed. */
static bool pass_barrier(cpu_cluster *cluster) {
  uint32_t arrived = 0;
  for (uint32_t rank = 0; rank < cluster->size; rank++) {
    member_state state = cluster->members[rank].state;
    if (state != MEMBER_AT_BARRIER && state != MEMBER_ENDED) return false;
    arrived += state == MEMBER_AT_BARRIER;
  }
  for (uint32_t rank = 0; rank < cluster->size; rank++)
    if (cluster->members[rank].state == MEMBER_AT_BARRIER) cluster->members[rank].state = MEMBER_READY;
  return arrived > 0;
}

/* A block that waits within its cluster, for what other blocks of the grid may still do (`outside`), or for what only
   the cluster could do. */
static bool find_waiting(const cpu_cluster *cluster, bool outside, uint32_t *found) {
  for (uint32_t rank = 0; rank < cluster->size; rank++) {
    const member *m = &cluster->members[rank];
    bool waits = m->state == MEMBER_AT_BARRIER || m->state == MEMBER_WAITS_FOR_WORD || m->state == MEMBER_WATCHES;
    if (!waits) continue;
    bool is_outside = (m->state == MEMBER_WATCHES && cpu_watches_outside(m->worker)) ||
                      (m->state == MEMBER_WAITS_FOR_WORD && !cpu_cluster_has(m->worker, m->word));
    if (is_outside != outside) continue;
    *found = rank;
    return true;
  }
  return false;
}

/* A phase begins. */
bool cpu_cluster_begin(cpu_pool *pool, cpu_cluster *cluster) {
  const cpu_command *command = cluster->command;
  if (cluster->size > 1 && !cluster->rooms && !open_rooms(cluster)) {
    cpu_worker *worker = cluster->members[0].worker = cpu_resident_take(pool);
    worker->command = cluster->command;
    worker->work = &command->kernel;
    worker->fault = (cpu_fault){.kind = CPU_FAULT_SERVICE,
                                .code = MW_LAUNCH_OUT_OF_RESOURCES,
                                .what = "found no address space for the shared memory of a cluster"};
    cpu_pool_fail(pool, worker, cluster->command);
    return false;
  }
  for (uint32_t rank = 0; rank < cluster->size; rank++)
    if (cluster->members[rank].state == MEMBER_AT_GRID) cluster->members[rank].state = MEMBER_READY;
  return true;
}

/* No block can run: pass the cluster barrier, wait for other clusters, or fail a block whose wait cannot end. False: no
   block waits within the cluster. */
static bool end_wait(cpu_pool *pool, cpu_cluster *cluster) {
  uint32_t rank;
  if (pass_barrier(cluster)) return true;
  if (find_waiting(cluster, true, &rank)) {
    sched_yield(); /* let another cluster run */
    return true;
  }
  if (!find_waiting(cluster, false, &rank)) return false;
  cluster->stuck = true;
  run(pool, cluster, rank);
  return true;
}

uint32_t cpu_cluster_waiting(const cpu_cluster *cluster) {
  uint32_t waiting = 0;
  for (uint32_t rank = 0; rank < cluster->size; rank++) waiting += cluster->members[rank].state == MEMBER_AT_GRID;
  return waiting;
}

uint32_t cpu_cluster_run(cpu_pool *pool, cpu_cluster *cluster) {
  const cpu_command *command = cluster->command;
  if (!cpu_cluster_begin(pool, cluster)) return 0;
  while (!atomic_load(&command->stop)) {
    bool ran = false;
    for (uint32_t rank = 0; rank < cluster->size && !atomic_load(&command->stop); rank++) {
      if (!can_run(&cluster->members[rank])) continue;
      run(pool, cluster, rank);
      ran = true;
    }
    if (!ran && !end_wait(pool, cluster)) break;
  }
  return cpu_cluster_waiting(cluster);
}

bool cpu_cluster_step(cpu_pool *pool, cpu_cluster *cluster, uint32_t rank) {
  for (uint32_t i = 0; i < cluster->size; i++, rank++) {
    if (!can_run(&cluster->members[rank % cluster->size])) continue;
    run(pool, cluster, rank % cluster->size);
    return true;
  }
  return end_wait(pool, cluster);
}

/* ---- in services ---- */

static member *own(const cpu_worker *worker) { return &worker->cluster->members[worker->cluster->running]; }

static void wait(cpu_worker *worker, member_state state) {
  own(worker)->state = state;
  cpu_worker_suspend(worker);
}

void cpu_cluster_wait_grid(cpu_worker *worker) { wait(worker, MEMBER_AT_GRID); }

void cpu_cluster_yield(cpu_worker *worker) {
  if (worker->cluster && worker->cluster->size > 1) wait(worker, MEMBER_READY);
}

void cpu_cluster_leave(cpu_worker *worker) {
  if (worker->cluster) wait(worker, MEMBER_READY);
}

bool cpu_cluster_watch(cpu_worker *worker) {
  if (!worker->cluster || worker->cluster->size == 1) return false;
  wait(worker, MEMBER_WATCHES);
  return !worker->cluster->stuck;
}

bool cpu_cluster_has(const cpu_worker *worker, const void *address) {
  const cpu_cluster *cluster = worker->cluster;
  if (!cluster || !cluster->rooms) return false;
  return (uintptr_t)address - (uintptr_t)cluster->rooms < cluster->size * (size_t)MW_CLUSTER_STRIDE;
}

void cpu_cluster_wait(mw_worker *base, uint32_t callers) {
  CPU_SERVICE_ENTER(base);
  cpu_worker *worker = (cpu_worker *)base;
  if (!worker->cluster || worker->cluster->size == 1) return;
  member *m = own(worker);
  if (callers > 1 && m->calls++ > 0) {
    if (m->calls == callers) m->calls = 0;
    return;
  }
  wait(worker, MEMBER_AT_BARRIER);
  cpu_check_cluster(worker);
  if (!worker->cluster->stuck) return;
  worker->finding = "barrier_divergence";
  cpu_service_fail(base, MW_LAUNCH_FAILURE, NULL, 0,
                   "waits for its cluster, and another block of it waits for something else: all blocks of a cluster "
                   "have to reach cluster.sync(), or end");
}

void cpu_wait_outside(mw_worker *base, const uint32_t *word, uint32_t mask, uint32_t value) {
  CPU_SERVICE_ENTER(base);
  cpu_worker *worker = (cpu_worker *)base;
  cpu_cluster *cluster = worker->cluster;
  if (cluster && cluster->size > 1) {
    member *m = own(worker);
    m->word = word, m->mask = mask, m->value = value;
    if (!has_changed(m)) wait(worker, MEMBER_WAITS_FOR_WORD);
    if (!cluster->stuck) return;
  }
  worker->finding = "barrier_divergence";
  cpu_service_fail(
      base, MW_LAUNCH_FAILURE, NULL, 0,
      "waits for a cuda::barrier that counts more arrivals: all threads of the block wait, and none is left to arrive");
}
