/* malloc and free in kernels, from a region of the size of the limit "heap" (cudaLimitMallocHeapSize, 8 MiB by
 * default): a buddy allocator whose records are in host memory, where kernels cannot damage them. The first allocation
 * makes the region, as does the first one after a change of the limit. */
#include "heap.h"
#include "cpu/check/check.h"
#include "cpu/schedule/pool.h"
#include "cpu/execution/services.h"

#include <stdlib.h>
#include <sys/mman.h>

#define NONE UINT32_MAX

enum { UNIT_SHIFT = 4, ORDERS = 32 /* 16 bytes to 32 GiB */ };

/* The state of the block that begins at a unit. */
typedef enum unit_state { INSIDE, FREE, USED } unit_state;

struct cpu_malloc {
  pthread_mutex_t lock;
  cpu_heap *heap;
  size_t limit;              /* bytes */
  size_t used;               /* number of blocks in use */
  unsigned char *memory;     /* NULL until the first allocation */
  uint32_t units;            /* of 16 bytes, in the memory */
  uint32_t first[ORDERS];    /* free blocks by order, as unit numbers */
  uint32_t *next, *previous; /* of each unit */
  unsigned char *state, *order;
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

static void drop_memory(cpu_malloc *region) {
  cpu_heap_unreserve(region->heap, region->memory);
  free(region->next);
  free(region->previous);
  free(region->state);
  free(region->order);
  region->memory = NULL;
}

/* calloc: pages of records that are never used take no memory. */
static bool make_records(cpu_malloc *region, size_t units) {
  region->next = calloc(units, sizeof *region->next);
  region->previous = calloc(units, sizeof *region->previous);
  region->state = calloc(units, 1);
  region->order = calloc(units, 1);
  return region->next && region->previous && region->state && region->order;
}

/* A region whose size is not a power of two starts as several blocks, the largest first, so that each is aligned to its
   size. */
static bool make_memory(cpu_malloc *region) {
  if (region->memory) return true;
  uint32_t units = (uint32_t)(region->limit >> UNIT_SHIFT), at = 0;
  size_t bytes = (size_t)units << UNIT_SHIFT;
  if (units == 0) return false;
  region->memory = cpu_heap_reserve(region->heap, bytes);
  if (!make_records(region, units) || !region->memory || mprotect(region->memory, bytes, PROT_READ | PROT_WRITE)) {
    drop_memory(region);
    return false;
  }
  region->units = units;
  for (int i = 0; i < ORDERS; i++) region->first[i] = NONE;
  for (unsigned order = ORDERS; order-- > 0;) {
    if (!(units >> order & 1)) continue;
    add_free(region, at, order);
    at += 1u << order;
  }
  return true;
}

static void *take(cpu_malloc *region, uint64_t bytes) {
  unsigned wanted = 0, order;
  if (bytes == 0 || bytes > region->limit || !make_memory(region)) return NULL;
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
  region->used++;
  return region->memory + ((size_t)unit << UNIT_SHIFT);
}

static bool give(cpu_malloc *region, const unsigned char *memory) {
  size_t offset = (size_t)((uintptr_t)memory - (uintptr_t)region->memory);
  uint32_t unit = (uint32_t)(offset >> UNIT_SHIFT);
  if (!region->memory || offset >> UNIT_SHIFT >= region->units || offset & 15 || region->state[unit] != USED)
    return false;
  unsigned order = region->order[unit];
  region->state[unit] = INSIDE;
  region->used--;
  for (; order < ORDERS - 1; order++) {
    uint32_t buddy = unit ^ (1u << order);
    if (buddy >= region->units || region->state[buddy] != FREE || region->order[buddy] != order) break;
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
  mw_lock(&r->region->lock);
  r->memory = take(r->region, r->bytes);
  mw_unlock(&r->region->lock);
}

static void run_free(void *argument) {
  request *r = argument;
  mw_lock(&r->region->lock);
  r->good = give(r->region, r->memory);
  mw_unlock(&r->region->lock);
}

void *cpu_services_malloc(mw_worker *worker, uint64_t bytes) {
  CPU_SERVICE_ENTER(worker);
  request r = {.region = cpu_worker_device(worker)->pool->region, .bytes = bytes};
  cpu_service_call(worker, run_malloc, &r);
  cpu_check_malloced((cpu_worker *)worker, (uint64_t)(uintptr_t)r.memory, bytes);
  return r.memory;
}

void cpu_services_free(mw_worker *worker, void *memory) {
  if (!memory) return;
  CPU_SERVICE_ENTER(worker);
  request r = {.region = cpu_worker_device(worker)->pool->region, .memory = memory};
  cpu_service_call(worker, run_free, &r);
  bool known = cpu_check_malloc_freed((cpu_worker *)worker, (uint64_t)(uintptr_t)memory);
  if (r.good) return;
  ((cpu_worker *)worker)->finding = "invalid_free";
  cpu_service_fail(worker, MW_ILLEGAL_ADDRESS, NULL, 0,
                   known ? "freed memory that was freed before" : "freed memory that malloc did not return");
}

cpu_malloc *cpu_malloc_open(cpu_heap *heap) {
  cpu_malloc *region = mw_alloc(sizeof *region);
  region->heap = heap;
  region->limit = (size_t)8 << 20;
  mw_lock_init(&region->lock);
  return region;
}

void cpu_malloc_close(cpu_malloc *region) {
  if (!region) return;
  if (region->memory) drop_memory(region);
  pthread_mutex_destroy(&region->lock);
  free(region);
}

int cpu_malloc_limit(cpu_malloc *region, size_t bytes) {
  const size_t most = (size_t)32 << 30;
  if (bytes > most)
    return fail(MW_INVALID_VALUE, "a heap of %zu bytes for kernels' malloc: it can be 0 to %zu", bytes, most);
  mw_lock(&region->lock);
  size_t used = region->used;
  if (!used && region->memory) drop_memory(region);
  if (!used) region->limit = bytes;
  mw_unlock(&region->lock);
  if (used)
    return fail(MW_INVALID_VALUE,
                "the limit 'heap' cannot change now: kernels hold %zu allocations of it. Set it before "
                "the first kernel that calls malloc, or after all has been freed",
                used);
  return MW_SUCCESS;
}
