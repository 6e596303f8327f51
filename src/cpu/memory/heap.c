/* Device memory.
 *
 * Small allocations end (rounded up to 256 bytes) at an inaccessible page, the guard, so that accesses past the end
 * fault. Large ones start near a 2 MiB boundary, so that they get huge pages. Freed memory of moderate size is cached
 * with its pages, because allocating and clearing pages takes longer than most kernels. It is made inaccessible only
 * before the next blocks run (cpu_heap_settle), so that a loop that allocates and frees makes no system calls; and not at
 * all if it is small and no pointer to it was ever given away (cpu_heap_discard), since a change of protection takes longer
 * than a small operation on arrays.
 *
 * Each change of protection may split a mapping, and a process has about 65,000 (vm.max_map_count). With more than
 * GUARDED_MOST live allocations, new ones get no guard and freed memory stays accessible, so that neighbours share a
 * mapping. This ends only below TIDY_BELOW, since each remaining allocation may then need a mapping of its own. */
#include "heap.h"
#include "extent.h"
#include "address_range.h"
#include "address_slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULE   ((size_t)256)
#define HUGE_PAGE ((size_t)2 << 20)
#define LEADS     ((size_t)1024) /* large allocations start within so many bytes after a boundary */
/* Bytes of cached memory: a part of the machine's within these bounds. The least is two arrays of 64 MiB and their leads. */
#define CACHE_PART  16
#define CACHE_LEAST ((size_t)129 << 20)
#define CACHE_MOST  ((size_t)1 << 30)

#define OPEN_MOST ((size_t)64 << 10) /* discarded memory of at most this size stays accessible */

enum { GUARDED_MOST = 16000, TIDY_BELOW = 4000, CACHE_COUNT = 4096, SIZES = 512 };

struct cpu_heap {
  pthread_mutex_t lock;
  uintptr_t base;
  size_t size, page;
  int slot;                 /* address_slot.h's, or -1 */
  atomic_uint reach;        /* slots that kernels may write to, including its own; 0: only its own range */
  cpu_space arrays, stacks; /* two thirds of what the margins leave, and one third */
  size_t lead;              /* of the next large allocation: see place */

  cpu_extent **live; /* hash table by address, chained by next */
  size_t live_mask;
  size_t count, bytes, peak;
  size_t limit, machine; /* machine: bytes of its memory */

  cpu_extent *cached[SIZES + 1]; /* by pages; the last list has all larger ones */
  cpu_extent *oldest, *newest;
  cpu_extent *settled;                            /* the newest that is not fresh: all fresh ones are newer */
  size_t cached_bytes, cached_count, cached_most; /* cached_most: of bytes */
  bool crowded;
  atomic_uint_fast64_t changes; /* the number of changes of `live` */
  atomic_size_t fresh;          /* number of cached extents that kernels can still access */
};

/* ---- opening ---- */

/* An eighth of the range on either side; of those without a slot, as much as code for the usual reach relies on. */
size_t cpu_heap_margin(const cpu_heap *heap) {
  return heap->size == CPU_RANGE_MOST ? (size_t)1 << MW_REACH_MOST : heap->size / 8;
}

int cpu_heap_open(cpu_heap **out) {
  cpu_heap *heap = mw_alloc(sizeof *heap);
  int code = cpu_range_reserve(&heap->base, &heap->size, &heap->slot);
  if (code != MW_SUCCESS) {
    free(heap);
    return code;
  }
  unsigned char *range = (unsigned char *)heap->base; /* NOLINT */
  size_t size = heap->size;
  mw_lock_init(&heap->lock);
  heap->page = (size_t)sysconf(_SC_PAGESIZE);
  heap->machine = cpu_machine_memory();
  size_t part = heap->machine / CACHE_PART;
  heap->cached_most = part < CACHE_LEAST ? CACHE_LEAST : part > CACHE_MOST ? CACHE_MOST : part;
  heap->live_mask = 1023;
  heap->live = mw_alloc((heap->live_mask + 1) * sizeof *heap->live);
  /* The margins are never accessible: a store through a pointer into the range plus an offset within them is harmless,
     so compiled code does not test it (src/mwcc/entry/store_sandbox.c). Stores that fail the test are redirected to the
     range's first byte. */
  size_t margin = cpu_heap_margin(heap), arrays = (size - 2 * margin) / 3 * 2 / heap->page * heap->page;
  cpu_space_open(&heap->arrays, heap->base + margin, arrays, heap->page);
  cpu_space_open(&heap->stacks, heap->base + margin + arrays, size - arrays - 2 * margin, heap->page);
  madvise(range + margin, arrays, MADV_HUGEPAGE);
  *out = heap;
  return MW_SUCCESS;
}

void cpu_heap_close(cpu_heap *heap) {
  if (!heap) return;
  cpu_range_release(heap->base, heap->size, heap->slot);
  cpu_space_close(&heap->arrays);
  cpu_space_close(&heap->stacks);
  pthread_mutex_destroy(&heap->lock);
  free(heap->live);
  free(heap);
}

void cpu_heap_range(const cpu_heap *heap, uint64_t *base, uint64_t *size) {
  unsigned reach = atomic_load_explicit(&heap->reach, memory_order_relaxed);
  *base = heap->base;
  *size = heap->size;
  if (reach) cpu_slots_span(reach, base, size);
}

bool cpu_heap_adjoins(const cpu_heap *heap, const cpu_heap *other) { return cpu_slots_adjoin(heap->slot, other->slot); }

void cpu_heap_reach(cpu_heap *heap, const cpu_heap *other, bool on) {
  unsigned own = 1u << heap->slot, its = 1u << other->slot;
  mw_lock(&heap->lock);
  unsigned reach = atomic_load(&heap->reach) | own;
  reach = on ? reach | its : reach & ~its;
  atomic_store(&heap->reach, reach == own ? 0 : reach);
  mw_unlock(&heap->lock);
}

/* ---- live allocations by address ---- */

static cpu_extent **chain_of(cpu_heap *heap, uintptr_t user) {
  return &heap->live[(user / GRANULE * 0x9E3779B97F4A7C15u >> 32) & heap->live_mask];
}

static void live_add(cpu_heap *heap, cpu_extent *extent) {
  if (heap->count > heap->live_mask) {
    cpu_extent **old = heap->live;
    size_t chains = heap->live_mask + 1;
    heap->live_mask = chains * 2 - 1;
    heap->live = mw_alloc(chains * 2 * sizeof *heap->live);
    for (size_t i = 0; i < chains; i++) {
      for (cpu_extent *e = old[i], *next; e; e = next) {
        cpu_extent **chain = chain_of(heap, e->user);
        next = e->next;
        e->next = *chain;
        *chain = e;
      }
    }
    free(old);
  }
  cpu_extent **chain = chain_of(heap, extent->user);
  extent->state = CPU_EXTENT_LIVE;
  atomic_fetch_add(&heap->changes, 1);
  extent->next = *chain;
  *chain = extent;
  if (++heap->count > GUARDED_MOST) heap->crowded = true;
  heap->bytes += extent->bytes;
  if (heap->bytes > heap->peak) heap->peak = heap->bytes;
}

static cpu_extent *live_remove(cpu_heap *heap, uintptr_t user) {
  cpu_extent **link = chain_of(heap, user);
  while (*link && (*link)->user != user) link = &(*link)->next;
  cpu_extent *extent = *link;
  if (!extent) return NULL;
  *link = extent->next;
  atomic_fetch_add(&heap->changes, 1);
  heap->count--;
  heap->bytes -= extent->bytes;
  return extent;
}

/* ---- protection ---- */

static bool protect(uintptr_t address, size_t bytes, int protection) {
  return bytes == 0 || mprotect((void *)address, bytes, protection) == 0;
}

/* Make all free memory inaccessible that was left open, which merges mappings. */
static void tidy(cpu_heap *heap) {
  for (cpu_extent *e = heap->arrays.first; e; e = e->after) {
    if (e->state == CPU_EXTENT_FREE && e->open) e->open = !protect(e->address, e->span, PROT_NONE);
  }
}

/* ---- cached memory ---- */

static cpu_extent **cached_list(cpu_heap *heap, size_t data) {
  size_t pages = data / heap->page;
  return &heap->cached[pages < SIZES ? pages : SIZES];
}

/* Insert in the order of age: as the newest, or next to `older`. */
static void add_by_age(cpu_heap *heap, cpu_extent *extent, cpu_extent *older) {
  extent->older = older;
  extent->newer = older ? older->newer : heap->oldest;
  *(extent->newer ? &extent->newer->older : &heap->newest) = extent;
  *(older ? &older->newer : &heap->oldest) = extent;
}

static void cached_add(cpu_heap *heap, cpu_extent *extent, bool fresh) {
  cpu_extent **list = cached_list(heap, extent->data);
  extent->state = CPU_EXTENT_CACHED;
  extent->open = true;
  extent->fresh = fresh;
  extent->prev = NULL;
  extent->next = *list;
  if (extent->next) extent->next->prev = extent;
  *list = extent;
  add_by_age(heap, extent, fresh ? heap->newest : heap->settled);
  if (!fresh) heap->settled = extent;
  heap->cached_bytes += extent->data;
  heap->cached_count++;
  if (fresh) atomic_fetch_add_explicit(&heap->fresh, 1, memory_order_release);
}

static void cached_remove(cpu_heap *heap, cpu_extent *extent) {
  if (extent->prev)
    extent->prev->next = extent->next;
  else
    *cached_list(heap, extent->data) = extent->next;
  if (extent->next) extent->next->prev = extent->prev;
  if (extent->older)
    extent->older->newer = extent->newer;
  else
    heap->oldest = extent->newer;
  if (extent->newer)
    extent->newer->older = extent->older;
  else
    heap->newest = extent->older;
  if (heap->settled == extent) heap->settled = extent->older;
  heap->cached_bytes -= extent->data;
  heap->cached_count--;
  if (extent->fresh) atomic_fetch_sub_explicit(&heap->fresh, 1, memory_order_release);
  extent->fresh = false;
}

/* Free the pages and the addresses. */
static void release(cpu_heap *heap, cpu_extent *extent) {
  extent->open = heap->crowded || !protect(extent->address, extent->data, PROT_NONE);
  madvise((void *)extent->address, extent->data, MADV_DONTNEED);
  cpu_space_give(&heap->arrays, extent);
}

static void shrink_cache(cpu_heap *heap, size_t bytes) {
  while (heap->oldest && (heap->cached_bytes > bytes || heap->cached_count > CACHE_COUNT)) {
    cpu_extent *extent = heap->oldest;
    cached_remove(heap, extent);
    release(heap, extent);
  }
}

void cpu_heap_settle(cpu_heap *heap) {
  if (!atomic_load_explicit(&heap->fresh, memory_order_acquire)) return;
  mw_lock(&heap->lock);
  bool keep = heap->crowded;
  for (cpu_extent *e = heap->newest; e && e->fresh; e = e->older) {
    e->fresh = false;
    if (!keep) e->open = !protect(e->address, e->data, PROT_NONE);
  }
  heap->settled = heap->newest;
  atomic_store_explicit(&heap->fresh, 0, memory_order_release);
  mw_unlock(&heap->lock);
}

/* ---- allocation ---- */

static cpu_extent *take_cached(cpu_heap *heap, size_t data) {
  cpu_extent *extent = *cached_list(heap, data);
  while (extent && extent->data != data) extent = extent->next;
  if (!extent) return NULL;
  cached_remove(heap, extent);
  if (extent->open || protect(extent->address, data, PROT_READ | PROT_WRITE)) return extent;
  release(heap, extent);
  return NULL;
}

static cpu_extent *take_new(cpu_heap *heap, size_t data) {
  size_t guard = heap->crowded ? 0 : heap->page;
  cpu_extent *extent = cpu_space_take(&heap->arrays, data + guard, data >= HUGE_PAGE ? HUGE_PAGE : heap->page);
  if (!extent) return NULL;
  extent->data = data;
  bool opened = protect(extent->address, data, PROT_READ | PROT_WRITE);
  if (opened && (!extent->open || protect(extent->address + data, guard, PROT_NONE))) return extent;
  extent->open |= opened;
  cpu_space_give(&heap->arrays, extent);
  return NULL;
}

static cpu_extent *take(cpu_heap *heap, size_t bytes) {
  size_t data = (bytes + heap->page - 1) & ~(heap->page - 1);
  if (heap->bytes + heap->cached_bytes + data > heap->machine) shrink_cache(heap, 0);
  cpu_extent *extent = take_cached(heap, data);
  if (!extent) extent = take_new(heap, data);
  if (!extent) {
    shrink_cache(heap, 0);
    tidy(heap);
    extent = take_new(heap, data);
  }
  return extent;
}

static int refuse(size_t bytes, size_t used, size_t most, bool by_limit) {
  return fail(MW_MEMORY_ALLOCATION, "out of device memory: %zu bytes wanted, %zu of %zu in use%s", bytes, used, most,
              by_limit ? " (the limit \"memory\")" : "");
}

/* Each large allocation starts a few cache lines further from its boundary than the previous one, to avoid 4K aliasing:
   processors compare only the low 12 bits of addresses to decide whether a load must wait for an earlier store, so a
   load would wait for a store to the same element (or a neighbour) of another array, or to its column if rows are whole
   pages. Only a few lines, since otherwise a block's part of an array would span more pages. */
static uintptr_t place(cpu_heap *heap, const cpu_extent *extent, size_t rounded) {
  if (rounded < HUGE_PAGE) return extent->address + extent->data - rounded;
  size_t lead = heap->lead;
  heap->lead = (lead + GRANULE) % LEADS;
  return extent->address + lead;
}

int cpu_heap_alloc(cpu_heap *heap, size_t bytes, uint64_t *address) {
  mw_lock(&heap->lock);
  size_t most = heap->limit ? heap->limit : heap->machine, used = heap->bytes;
  bool by_limit = heap->limit != 0;
  if (bytes > most || used > most - bytes) {
    mw_unlock(&heap->lock);
    return refuse(bytes, used, most, by_limit);
  }
  size_t rounded = (bytes + GRANULE - 1) & ~(GRANULE - 1);
  cpu_extent *extent = take(heap, rounded < HUGE_PAGE ? rounded : rounded + LEADS - GRANULE);
  if (!extent) {
    size_t total = heap->size / 2; /* of addresses */
    mw_unlock(&heap->lock);
    return refuse(bytes, used, total < most ? total : most, false);
  }
  extent->bytes = bytes;
  extent->user = place(heap, extent, rounded);
  live_add(heap, extent);
  *address = extent->user;
  mw_unlock(&heap->lock);
  return MW_SUCCESS;
}

static void give(cpu_heap *heap, uint64_t address, bool was_hidden) {
  mw_lock(&heap->lock);
  cpu_extent *extent = live_remove(heap, address);
  if (heap->crowded && heap->count < TIDY_BELOW) {
    heap->crowded = false;
    shrink_cache(heap, 0); /* cached extents have no guards and are accessible */
    tidy(heap);
  }
  /* An extent cached while the heap was crowded has no guard; reusing it would not add one. */
  bool keeps = extent && extent->data <= heap->cached_most / 2 && (heap->crowded || extent->span > extent->data);
  if (keeps) {
    cached_add(heap, extent, !was_hidden || extent->data > OPEN_MOST);
    shrink_cache(heap, heap->cached_most);
  } else if (extent) {
    release(heap, extent);
  }
  mw_unlock(&heap->lock);
}

void cpu_heap_free(cpu_heap *heap, uint64_t address) { give(heap, address, false); }
void cpu_heap_discard(cpu_heap *heap, uint64_t address) { give(heap, address, true); }

void cpu_heap_limit(cpu_heap *heap, size_t bytes) {
  mw_lock(&heap->lock);
  heap->limit = bytes;
  mw_unlock(&heap->lock);
}

void cpu_heap_usage(cpu_heap *heap, mw_memory *out) {
  mw_lock(&heap->lock);
  *out = (mw_memory){heap->bytes, heap->count, heap->peak, heap->limit ? heap->limit : heap->machine};
  mw_unlock(&heap->lock);
}

/* ---- finding allocations ---- */

bool cpu_heap_find(cpu_heap *heap, uint64_t address, uint64_t *base, size_t *bytes) {
  bool found = false;
  mw_lock(&heap->lock);
  /* Most queries are for start addresses. */
  const cpu_extent *e = *chain_of(heap, address);
  while (e && e->user != address) e = e->next;
  if (!e) {
    e = heap->arrays.first;
    while (e && !(e->state == CPU_EXTENT_LIVE && address - e->user < e->bytes)) e = e->after;
  }
  if (e) {
    *base = e->user;
    *bytes = e->bytes;
    found = true;
  }
  mw_unlock(&heap->lock);
  return found;
}

uint64_t cpu_heap_changes(const cpu_heap *heap) { return atomic_load(&heap->changes); }

bool cpu_heap_is_for_arrays(const cpu_heap *heap, uint64_t address) {
  return address - (heap->base + cpu_heap_margin(heap)) < heap->size / 2; /* cpu_heap_open */
}

static void describe(cpu_heap *heap, uintptr_t address, char *out, size_t size) {
  const size_t near = (size_t)1 << 20;
  const cpu_extent *below = NULL, *above = NULL;
  for (const cpu_extent *e = heap->arrays.first; e && !above; e = e->after) {
    bool inside = address >= e->address && address - e->address < e->data;
    if (e->state == CPU_EXTENT_CACHED && inside) {
      snprintf(out, size, "in an array of %zu bytes that was freed", e->bytes);
      return;
    }
    if (e->state == CPU_EXTENT_LIVE && e->user <= address) below = e;
    if (e->state == CPU_EXTENT_LIVE && e->user > address) above = e;
  }
  size_t past = below ? address - below->user - below->bytes : SIZE_MAX;
  if (below && address - below->user < below->bytes) {
    snprintf(out, size, "at byte %zu of an array of %zu bytes", (size_t)(address - below->user), below->bytes);
  } else if (past < near) {
    snprintf(out, size, "%zu bytes past the end of an array of %zu bytes", past, below->bytes);
  } else if (above && above->user - address < near) {
    snprintf(out, size, "%zu bytes before the start of an array of %zu bytes", (size_t)(above->user - address),
             above->bytes);
  } else {
    snprintf(out, size, "which no array holds%s", address < 0x10000 ? " (a null pointer?)" : "");
  }
}

void cpu_heap_describe(cpu_heap *heap, uintptr_t address, char *out, size_t size) {
  mw_lock(&heap->lock);
  describe(heap, address, out, size);
  mw_unlock(&heap->lock);
}

/* ---- stacks ---- */

unsigned char *cpu_heap_reserve(cpu_heap *heap, size_t bytes) {
  size_t span = (bytes + heap->page - 1) & ~(heap->page - 1);
  mw_lock(&heap->lock);
  cpu_extent *extent = cpu_space_take(&heap->stacks, span, heap->page);
  if (extent) extent->state = CPU_EXTENT_RESERVED;
  mw_unlock(&heap->lock);
  return extent ? (unsigned char *)extent->address : NULL;
}

void cpu_heap_unreserve(cpu_heap *heap, unsigned char *area) {
  if (!area) return;
  mw_lock(&heap->lock);
  cpu_extent *extent = heap->stacks.first;
  while (extent && extent->address != (uintptr_t)area) extent = extent->after;
  if (extent) {
    /* A new mapping, because guard markers outlive a change of protection. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    (void)!mmap(area, extent->span, PROT_NONE, flags, -1, 0);
    cpu_space_give(&heap->stacks, extent);
  }
  mw_unlock(&heap->lock);
}
