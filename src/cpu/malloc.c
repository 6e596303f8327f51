/* Device memory for kernels: malloc and free inside a kernel, from a region of a fixed size (cudaLimitMallocHeapSize's
 * default). A buddy allocator whose books stand in host memory, where no kernel can damage them. */
#include "cpu/heap.h"
#include "cpu/pool.h"
#include "cpu/services.h"

#include <stdlib.h>
#include <sys/mman.h>

#define REGION ((size_t)8 << 20)
#define NONE   UINT32_MAX

enum { UNIT_SHIFT = 4, ORDERS = 20 /* 16 bytes to 8 MiB */, UNITS = 1 << (ORDERS - 1) };

/* Of the block that begins at a unit. */
typedef enum unit_state { INSIDE, FREE, USED } unit_state;

struct cpu_malloc {
  pthread_mutex_t lock;
  cpu_heap *heap;
  unsigned char *memory;  /* NULL until the first allocation */
  uint32_t first[ORDERS]; /* free blocks by order, as unit numbers */
  uint32_t next[UNITS], previous[UNITS];
  unsigned char state[UNITS], order[UNITS];
};

static void add_free(cpu_malloc *region, uint32_t unit, unsigned order) {
  region->state[unit] = FREE;
  region->order[unit] = (unsigned char)order;
  region->previous[unit] = NONE;
  region->next[unit] = region->first[order];
  if (region->next[unit] != NONE) region->previous[region->next[unit]] = unit;
  region->first[order] = unit;
}

static void remove_free(cpu_malloc *region, uint32_t unit) {
  uint32_t next = region->next[unit], previous = region->previous[unit];
  if (previous != NONE)
    region->next[previous] = next;
  else
    region->first[region->order[unit]] = next;
  if (next != NONE) region->previous[next] = previous;
  region->state[unit] = INSIDE;
}

static bool make_memory(cpu_malloc *region) {
  if (region->memory) return true;
  unsigned char *memory = cpu_heap_reserve(region->heap, REGION);
  if (!memory || mprotect(memory, REGION, PROT_READ | PROT_WRITE)) {
    cpu_heap_unreserve(region->heap, memory);
    return false;
  }
  region->memory = memory;
  for (int i = 0; i < ORDERS; i++) region->first[i] = NONE;
  add_free(region, 0, ORDERS - 1);
  return true;
}

static void *take(cpu_malloc *region, uint64_t bytes) {
  unsigned wanted = 0, order;
  if (bytes == 0 || bytes > REGION || !make_memory(region)) return NULL;
  while ((uint64_t)1 << (wanted + UNIT_SHIFT) < bytes) wanted++;
  for (order = wanted; order < ORDERS && region->first[order] == NONE;) order++;
  if (order == ORDERS) return NULL;
  uint32_t unit = region->first[order];
  remove_free(region, unit);
  while (order > wanted) {
    order--;
    add_free(region, unit + (1u << order), order);
  }
  region->state[unit] = USED;
  region->order[unit] = (unsigned char)order;
  return region->memory + ((size_t)unit << UNIT_SHIFT);
}

static bool give(cpu_malloc *region, const unsigned char *memory) {
  size_t offset = (size_t)((uintptr_t)memory - (uintptr_t)region->memory);
  uint32_t unit = (uint32_t)(offset >> UNIT_SHIFT);
  if (!region->memory || offset >= REGION || offset & 15 || region->state[unit] != USED) return false;
  unsigned order = region->order[unit];
  region->state[unit] = INSIDE;
  for (; order < ORDERS - 1; order++) {
    uint32_t buddy = unit ^ (1u << order);
    if (region->state[buddy] != FREE || region->order[buddy] != order) break;
    remove_free(region, buddy);
    unit &= ~(1u << order);
  }
  add_free(region, unit, order);
  return true;
}

/* ---- services ---- */

typedef struct request {
  cpu_malloc *region;
  uint64_t bytes;
  void *memory;
  bool good;
} request;

static void run_malloc(void *argument) {
  request *r = argument;
  pthread_mutex_lock(&r->region->lock);
  r->memory = take(r->region, r->bytes);
  pthread_mutex_unlock(&r->region->lock);
}

static void run_free(void *argument) {
  request *r = argument;
  pthread_mutex_lock(&r->region->lock);
  r->good = give(r->region, r->memory);
  pthread_mutex_unlock(&r->region->lock);
}

void *cpu_services_malloc(mw_worker *worker, uint64_t bytes) {
  CPU_SERVICE_ENTER(worker);
  request r = {.region = cpu_worker_device(worker)->pool->region, .bytes = bytes};
  cpu_service_call(worker, run_malloc, &r);
  return r.memory;
}

void cpu_services_free(mw_worker *worker, void *memory) {
  if (!memory) return;
  CPU_SERVICE_ENTER(worker);
  request r = {.region = cpu_worker_device(worker)->pool->region, .memory = memory};
  cpu_service_call(worker, run_free, &r);
  if (!r.good) cpu_service_fail(worker, MW_ILLEGAL_ADDRESS, NULL, 0, "freed memory that malloc did not hand out");
}

cpu_malloc *cpu_malloc_open(cpu_heap *heap) {
  cpu_malloc *region = mw_alloc(sizeof *region);
  region->heap = heap;
  pthread_mutex_init(&region->lock, NULL);
  return region;
}

void cpu_malloc_close(cpu_malloc *region) {
  if (!region) return;
  cpu_heap_unreserve(region->heap, region->memory);
  pthread_mutex_destroy(&region->lock);
  free(region);
}
