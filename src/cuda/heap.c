/* Device memory, and a record of allocations by address.
 *
 * Memory is allocated from the device's pool in an internal stream that is used only for this: so freed memory, which
 * the core guarantees to be unused, is available to the next allocation at once. The pool returns memory to the system
 * beyond the amount that context.c sets, and all of it if an allocation fails.
 *
 * Pieces that are freed are cached in free lists for the next allocations of their size, because the driver's calls take
 * longer than the rest of an operation. Lua's collector may free thousands at once, so the lists may be long. The
 * records of cached pieces stay in place. */
#include "cuda/cuda.h"
#include "cuda/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Free lists: one for each multiple of GRANULE up to 64 KiB, then for 32 sizes between powers of 2, up to 64 MiB. Kernels
   that write more take longer than the driver's calls. */
enum { GRANULE = 256, FINE = 256, SIZES = 32, OCTAVES = 10, FREE_LISTS = FINE + OCTAVES * SIZES };

typedef struct free_list {
  uint64_t *addresses;
  size_t count, capacity;
} free_list;

typedef struct extent {
  uint64_t address;
  size_t bytes;
  mw_memory_kind kind; /* UNKNOWN: not allocated here */
  bool lent;           /* owned by others; only kernels with bounds checks need it */
  bool cached;         /* free, and not returned to the driver */
} extent;

struct cuda_heap {
  struct cuda_heap *next; /* in the list of all */
  pthread_mutex_t lock;
  extent *extents; /* by address */
  size_t count, capacity;
  size_t bytes, live, peak;
  free_list free_lists[FREE_LISTS];
  size_t cached_bytes;
};

static struct {
  pthread_mutex_t lock;
  cuda_heap *first;
} all = {.lock = MW_LOCK_INITIALIZER};
static _Atomic uint64_t changes;

cuda_heap *cuda_heap_open(void) {
  cuda_heap *heap = mw_alloc(sizeof *heap);
  mw_lock_init(&heap->lock);
  mw_lock(&all.lock);
  heap->next = all.first;
  all.first = heap;
  mw_unlock(&all.lock);
  return heap;
}

void cuda_heap_close(cuda_heap *heap) {
  if (!heap) return;
  mw_lock(&all.lock);
  cuda_heap **link = &all.first;
  while (*link != heap) link = &(*link)->next;
  *link = heap->next;
  mw_unlock(&all.lock);
  pthread_mutex_destroy(&heap->lock);
  for (int i = 0; i < FREE_LISTS; i++) free(heap->free_lists[i].addresses);
  free(heap->extents);
  free(heap);
}

void cuda_heap_forget(cuda_heap *heap) {
  mw_lock(&heap->lock);
  heap->count = heap->bytes = heap->live = 0;
  for (int i = 0; i < FREE_LISTS; i++) heap->free_lists[i].count = 0;
  heap->cached_bytes = 0;
  changes++;
  mw_unlock(&heap->lock);
}

/* ---- records, under the heap's lock ---- */

/* The first extent that ends after the address. */
static size_t place_of(const cuda_heap *heap, uint64_t address) {
  size_t low = 0, high = heap->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (heap->extents[middle].address + heap->extents[middle].bytes <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static extent *find_any(const cuda_heap *heap, uint64_t address) {
  size_t i = place_of(heap, address);
  return i < heap->count && heap->extents[i].address <= address ? &heap->extents[i] : NULL;
}

static extent look(cuda_heap *heap, uint64_t address) {
  mw_lock(&heap->lock);
  const extent *at = find_any(heap, address);
  extent found = at ? *at : (extent){0}; /* of 0 bytes: there is nothing */
  mw_unlock(&heap->lock);
  return found;
}

static extent *find(const cuda_heap *heap, uint64_t address) {
  extent *at = find_any(heap, address);
  return at && !at->cached ? at : NULL;
}

static void count_in(cuda_heap *heap, const extent *new) {
  changes++;
  if (new->lent) return;
  heap->bytes += new->bytes;
  heap->live += new->kind != MW_MEMORY_UNKNOWN;
  if (heap->bytes > heap->peak) heap->peak = heap->bytes;
}

static void count_out(cuda_heap *heap, const extent *old) {
  changes++;
  if (old->lent) return;
  heap->bytes -= old->bytes;
  heap->live -= old->kind != MW_MEMORY_UNKNOWN;
}

static void enter(cuda_heap *heap, extent new) {
  if (heap->count == heap->capacity) {
    heap->capacity = heap->capacity ? 2 * heap->capacity : 64;
    heap->extents = mw_realloc(heap->extents, heap->capacity * sizeof *heap->extents);
  }
  size_t i = place_of(heap, new.address);
  memmove(&heap->extents[i + 1], &heap->extents[i], (heap->count - i) * sizeof *heap->extents);
  heap->extents[i] = new;
  heap->count++;
  count_in(heap, &new);
}

static void remove_at(cuda_heap *heap, extent *at) {
  size_t i = (size_t)(at - heap->extents);
  memmove(at, at + 1, (heap->count - i - 1) * sizeof *at);
  heap->count--;
}

static bool take_out(cuda_heap *heap, uint64_t address, extent *out) {
  extent *at = find(heap, address);
  if (!at || at->address != address) return false;
  *out = *at;
  remove_at(heap, at);
  count_out(heap, out);
  return true;
}

void cuda_heap_add(cuda_device *device, uint64_t address, size_t bytes) {
  mw_lock(&device->heap->lock);
  enter(device->heap, (extent){address, bytes, MW_MEMORY_UNKNOWN, false, false});
  mw_unlock(&device->heap->lock);
}

void cuda_heap_lend(cuda_device *device, uint64_t address, size_t bytes) {
  mw_lock(&device->heap->lock);
  if (bytes && !find(device->heap, address))
    enter(device->heap, (extent){address, bytes, MW_MEMORY_UNKNOWN, true, false});
  mw_unlock(&device->heap->lock);
}

void cuda_heap_remove(cuda_device *device, uint64_t address) {
  extent old;
  mw_lock(&device->heap->lock);
  take_out(device->heap, address, &old);
  mw_unlock(&device->heap->lock);
}

void cuda_heap_count(cuda_device *device, size_t bytes) {
  cuda_heap *heap = device->heap;
  mw_lock(&heap->lock);
  heap->bytes += bytes;
  if (heap->bytes > heap->peak) heap->peak = heap->bytes;
  mw_unlock(&heap->lock);
}

/* ---- free lists ---- */

/* What pieces of a size are rounded up to, and the place of their free list; FREE_LISTS: they are not cached. */
static size_t rounded(size_t bytes, size_t *list) {
  size_t granules = bytes ? (bytes + GRANULE - 1) / GRANULE : 1;
  *list = granules - 1;
  if (granules <= FINE) return granules * GRANULE;
  size_t octave = (size_t)(63 - __builtin_clzll((granules - 1) / FINE)), step = (size_t)(FINE / SIZES) << octave;
  size_t steps = (granules + step - 1) / step;
  *list = octave < OCTAVES ? FINE + octave * SIZES + steps - SIZES - 1 : FREE_LISTS;
  return octave < OCTAVES ? steps * step * GRANULE : bytes;
}

static bool take_cached(cuda_device *device, size_t bytes, uint64_t *address) {
  cuda_heap *heap = device->heap;
  size_t place, whole = rounded(bytes, &place);
  if (!device->pools || place == FREE_LISTS) return false;
  free_list *list = &heap->free_lists[place];
  mw_lock(&heap->lock);
  bool found = list->count > 0;
  if (found) {
    extent *at = find_any(heap, *address = list->addresses[--list->count]);
    at->bytes = bytes;
    at->cached = false;
    heap->cached_bytes -= whole;
    count_in(heap, at);
  }
  mw_unlock(&heap->lock);
  return found;
}

/* Under the lock. */
static bool keep_cached(cuda_device *device, extent *at) {
  cuda_heap *heap = device->heap;
  size_t place, bytes = rounded(at->bytes, &place);
  if (at->kind != MW_MEMORY_DEVICE || !device->pools || place == FREE_LISTS || atomic_load(&device->lost) ||
      heap->cached_bytes + bytes > device->cached_most)
    return false;
  free_list *list = &heap->free_lists[place];
  if (list->count == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 64;
    list->addresses = mw_realloc(list->addresses, list->capacity * sizeof *list->addresses);
  }
  list->addresses[list->count++] = at->address;
  heap->cached_bytes += bytes;
  count_out(heap, at);
  at->cached = true;
  return true;
}

void cuda_heap_drop_cached(cuda_device *device) {
  cuda_heap *heap = device->heap;
  mw_lock(&heap->lock);
  size_t kept = 0;
  for (size_t i = 0; i < heap->count; i++)
    if (heap->extents[i].cached)
      cu.cuMemFreeAsync(heap->extents[i].address, device->side);
    else
      heap->extents[kept++] = heap->extents[i];
  heap->count = kept;
  for (int i = 0; i < FREE_LISTS; i++) heap->free_lists[i].count = 0;
  heap->cached_bytes = 0;
  mw_unlock(&heap->lock);
}

/* ---- memory ---- */

static CUresult allocate_device(cuda_device *device, size_t bytes, CUdeviceptr *address) {
  if (!device->pools) return cu.cuMemAlloc(address, bytes);
  size_t list;
  CUresult result = cu.cuMemAllocAsync(address, rounded(bytes, &list), device->side);
  return result ? result : cu.cuStreamSynchronize(device->side); /* from now on any stream may use it */
}

static CUresult allocate(cuda_device *device, mw_memory_kind kind, size_t bytes, uint64_t *address) {
  if (kind == MW_MEMORY_MANAGED) return cu.cuMemAllocManaged(address, bytes, CU_MANAGED_GLOBAL);
  if (kind == MW_MEMORY_DEVICE) return allocate_device(device, bytes, address);
  void *memory = NULL;
  CUresult result = cu.cuMemHostAlloc(&memory, bytes, CU_HOST_PORTABLE | CU_HOST_MAPPED);
  *address = (uint64_t)(uintptr_t)memory;
  return result;
}

/* The pool cannot return what was freed in a stream before the host has waited for that. */
static void trim(cuda_device *device) {
  CUmemoryPool pool;
  cuda_heap_drop_cached(device);
  if (!device->pools) return;
  cu.cuStreamSynchronize(device->side);
  if (cu.cuDeviceGetDefaultMemPool(&pool, device->id) == 0) cu.cuMemPoolTrimTo(pool, 0);
}

bool cuda_heap_make_room(cuda_device *device, CUresult result) {
  if (result != CUDA_OUT_OF_MEMORY) return false;
  mw_lock(&device->heap->lock);
  bool has_cached = device->heap->cached_bytes > 0;
  mw_unlock(&device->heap->lock);
  if (has_cached) trim(device);
  return has_cached;
}

CUresult cuda_heap_unrecorded(cuda_device *device, size_t bytes, CUdeviceptr *address) {
  CUresult result = cu.cuMemAlloc(address, bytes);
  return cuda_heap_make_room(device, result) ? cu.cuMemAlloc(address, bytes) : result;
}

static int fail_memory(cuda_device *device, size_t bytes) {
  size_t available = 0, total = 0;
  mw_text largest = {0};
  cu.cuMemGetInfo(&available, &total);
  cuda_heap *heap = device->heap;
  mw_lock(&heap->lock);
  size_t last = SIZE_MAX, live = heap->bytes;
  for (int n = 0; n < 3; n++) {
    size_t most = 0;
    for (size_t i = 0; i < heap->count; i++)
      if (!heap->extents[i].cached && heap->extents[i].bytes > most && heap->extents[i].bytes < last)
        most = heap->extents[i].bytes;
    if (most == 0) break;
    mw_text_addf(&largest, "%s%zu", n ? ", " : "; the largest have ", most);
    last = most;
  }
  mw_unlock(&heap->lock);
  int code = fail(MW_MEMORY_ALLOCATION,
                  "cuda:%d has no %zu bytes: %zu of its %zu are free, and %zu are in arrays of this process%s%s",
                  device->ordinal, bytes, available, total, live, largest.length ? largest.data : "",
                  largest.length ? " bytes" : "");
  mw_text_free(&largest);
  return code;
}

int cuda_heap_check(cuda_device *device, size_t bytes) {
  double limit = device->limits[MW_LIMIT_MEMORY];
  if (limit <= 0) return MW_SUCCESS;
  mw_lock(&device->heap->lock);
  size_t bytes_now = device->heap->bytes;
  mw_unlock(&device->heap->lock);
  if ((double)bytes_now + (double)bytes <= limit) return MW_SUCCESS;
  cuda_streams_poll(device);
  return fail(MW_MEMORY_ALLOCATION,
              "%zu bytes more than the %zu in use would pass the limit \"memory\", which is %.0f bytes", bytes,
              bytes_now, limit);
}

int cuda_alloc(void *handle, mw_memory_kind kind, size_t bytes, uint64_t *address) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code == MW_SUCCESS) code = cuda_heap_check(device, bytes);
  if (code != MW_SUCCESS) return code;
  if (kind == MW_MEMORY_DEVICE && take_cached(device, bytes, address)) {
    cuda_check_allocated(device, *address, bytes, false);
    return MW_SUCCESS;
  }
  *address = 0;
  CUresult result = allocate(device, kind, bytes, address);
  if (result == CUDA_OUT_OF_MEMORY) {
    cuda_streams_poll(device);
    trim(device);
    result = allocate(device, kind, bytes, address);
  }
  if (result == CUDA_OUT_OF_MEMORY) return fail_memory(device, bytes);
  if (result != 0) return cuda_outcome(device, result, "allocating memory");
  mw_lock(&device->heap->lock);
  enter(device->heap, (extent){*address, bytes, kind, false, false});
  mw_unlock(&device->heap->lock);
  cuda_check_allocated(device, *address, bytes, kind != MW_MEMORY_DEVICE);
  return MW_SUCCESS;
}

void cuda_heap_give_back(cuda_device *device, uint64_t address) {
  (void)(device->pools ? cu.cuMemFreeAsync(address, device->side) : cu.cuMemFree(address));
}

/* May free memory that a completed command of another device used: the thread keeps its current context. */
static void free_now(cuda_device *device, uint64_t address) {
  extent old;
  CUcontext before = NULL;
  mw_lock(&device->heap->lock);
  extent *at = find(device->heap, address);
  bool is_kept = at && at->address == address && !device->check && keep_cached(device, at);
  bool known = !is_kept && take_out(device->heap, address, &old);
  mw_unlock(&device->heap->lock);
  if (known && old.kind == MW_MEMORY_DEVICE && cuda_check_frees(device, address, old.bytes)) return;
  if (!known || cu.cuCtxGetCurrent(&before) != 0 || !cuda_enter_quietly(device)) return;
  if (old.kind == MW_MEMORY_PINNED)
    cu.cuMemFreeHost((void *)(uintptr_t)address);
  else if (old.kind == MW_MEMORY_DEVICE && device->pools)
    cu.cuMemFreeAsync(address, device->side);
  else
    cu.cuMemFree(address);
  if (before != device->context) cu.cuCtxSetCurrent(before);
}

void cuda_free(void *handle, uint64_t address) {
  cuda_device *device = handle;
  bool held = atomic_load(&device->live_holds) > 0; /* then: whether the driver would wait for the device */
  cuda_end(device, free_now, address, held && (look(device->heap, address).kind != MW_MEMORY_DEVICE || !device->pools));
}

bool cuda_find(void *device, uint64_t address, uint64_t *base, size_t *bytes) {
  extent at = look(((cuda_device *)device)->heap, address);
  bool known = at.bytes && !at.cached && !at.lent;
  if (known) *base = at.address, *bytes = at.bytes;
  return known;
}

bool cuda_reserves(void *device, uint64_t address) {
  extent at = look(((cuda_device *)device)->heap, address);
  return at.bytes && !at.lent;
}

void *cuda_host(void *device, uint64_t address) {
  extent at = look(((cuda_device *)device)->heap, address);
  return at.kind == MW_MEMORY_PINNED || at.kind == MW_MEMORY_MANAGED ? (void *)(uintptr_t)address : NULL;
}

int cuda_memory(void *handle, mw_memory *out) {
  cuda_device *device = handle;
  size_t available, total = 0;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  cuda_streams_poll(device);
  code = cuda_outcome(device, cu.cuMemGetInfo(&available, &total), "reading the memory's size");
  if (code != MW_SUCCESS) return code;
  mw_lock(&device->heap->lock);
  *out = (mw_memory){device->heap->bytes, device->heap->live, device->heap->peak, total};
  mw_unlock(&device->heap->lock);
  return MW_SUCCESS;
}

/* ---- all heaps ---- */

uint64_t cuda_heaps_changes(void) { return changes; }

static int by_address(const void *a, const void *b) {
  const cuda_extent *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

cuda_extent *cuda_heaps_list(size_t *count) {
  cuda_extent *list = mw_alloc(sizeof *list);
  *count = 0;
  mw_lock(&all.lock);
  for (cuda_heap *heap = all.first; heap; heap = heap->next) {
    mw_lock(&heap->lock);
    list = mw_realloc(list, (*count + heap->count + 1) * sizeof *list);
    for (size_t i = 0; i < heap->count; i++)
      if (!heap->extents[i].cached) list[(*count)++] = (cuda_extent){heap->extents[i].address, heap->extents[i].bytes};
    mw_unlock(&heap->lock);
  }
  mw_unlock(&all.lock);
  qsort(list, *count, sizeof *list, by_address);
  return list;
}

cuda_extent cuda_heaps_find(uint64_t address) {
  cuda_extent result = {0, 0};
  mw_lock(&all.lock);
  for (cuda_heap *heap = all.first; heap && !result.bytes; heap = heap->next) {
    extent at = look(heap, address);
    if (at.bytes && !at.cached) result = (cuda_extent){at.address, at.bytes};
  }
  mw_unlock(&all.lock);
  return result;
}
