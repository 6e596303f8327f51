/* Bounds checks: code compiled with --check-memory calls this before every access (src/mwcc/prepare/bounds_check.c).
 *
 * Most accesses of a thread are to a few arrays, so a worker caches the latest allocations that it looked up, until the
 * heap changes. A lookup takes the heap's lock, which code on a kernel's stack must not do, so it is a
 * cpu_service_call. */
#include "heap.h"
#include "cpu/execution/cluster.h"
#include "cpu/check/check.h"
#include "cpu/execution/services.h"
#include "cpu/execution/worker.h"

#include <stdio.h>
#include <string.h>

typedef struct question {
  cpu_heap *heap;
  uint64_t address;
  cpu_worker *worker;
  bool found, is_freed;
  uint64_t base;
  size_t bytes;
  char where[160]; /* if none was found: cpu_heap_describe */
} question;

static void find(question *q) {
  q->found = cpu_heap_find(q->heap, q->address, &q->base, &q->bytes);
  q->is_freed = false;
  cpu_check *check = q->worker->session;
  if (!check) return;
  cpu_check_lock(q->worker);
  if (cpu_check_is_freed(check, q->address)) q->found = false, q->is_freed = true;
  if (!q->found) q->found = cpu_check_malloc_find(check, q->address, &q->base, &q->bytes);
  cpu_check_unlock(q->worker);
}

static void look_up(void *argument) {
  question *q = argument;
  find(q);
  if (!q->found) cpu_heap_describe(q->heap, q->address, q->where, sizeof q->where);
}

/* Before a kernel's code runs, which compares addresses with these. Where nothing is known of a pointer the code calls
   cpu_check_access. */
void cpu_bounds_find(cpu_worker *worker) {
  const cpu_kernel_work *work = worker->work;
  const cpu_kernel *kernel = work->kernel;
  size_t words = kernel->image->info.param_bytes / sizeof(uint64_t) + 1;
  if (work->instead || !kernel->unit->image->checks) return;
  if (worker->bounds_room < words) {
    worker->bounds = mw_realloc(worker->bounds, words * sizeof *worker->bounds);
    worker->bounds_room = words;
  }
  worker->base.bounds = worker->bounds;
  memset(worker->bounds, 0, words * sizeof *worker->bounds);
  question q = {.heap = worker->device->heap, .worker = worker};
  for (size_t i = 0; i < kernel->pointer_count; i++) {
    memcpy(&q.address, work->frame.params + kernel->pointers[i], sizeof q.address);
    find(&q);
    if (q.found) worker->bounds[kernel->pointers[i] / sizeof(uint64_t)] = (mw_bounds){q.base, q.bytes};
  }
}

static bool lies_in(uint64_t address, uint64_t bytes, uint64_t base, uint64_t size) {
  return address >= base && address - base <= size && bytes <= size - (address - base);
}

/* The allocation that contains the address; NULL if there is none, with a description in q->where. */
static const cpu_seen *allocation_at(cpu_worker *worker, uint64_t address, question *q) {
  cpu_heap *heap = worker->device->heap;
  uint64_t changes = cpu_heap_changes(heap) + (worker->session ? cpu_check_frees_count(worker->session) : 0);
  if (worker->seen_changes != changes) memset(worker->seen, 0, sizeof worker->seen);
  worker->seen_changes = changes;
  for (unsigned i = 0; i < CPU_SEEN; i++)
    if (address - worker->seen[i].base < worker->seen[i].bytes) return &worker->seen[i];
  *q = (question){.heap = heap, .address = address, .worker = worker};
  cpu_service_call(&worker->base, look_up, q);
  if (!q->found) return NULL;
  cpu_seen *seen = &worker->seen[worker->next_seen++ % CPU_SEEN];
  *seen = (cpu_seen){q->base, q->bytes};
  return seen;
}

typedef struct access_made {
  uint64_t address, bytes;
  const char *name;
  bool is_store;
} access_made;

/* What a checked run is to know of it. */
static void note(cpu_worker *worker, const access_made *a, const char *kind, bool has_index, int64_t index) {
  worker->finding = kind;
  worker->finding_array = a->name;
  worker->finding_stores = a->is_store;
  worker->finding_has_index = has_index;
  worker->finding_index = index;
}

/* `object` is the address that the source indexes; `size` bytes follow it, of an array that may begin before it. */
_Noreturn static void refuse(cpu_worker *worker, const access_made *a, uint64_t object, uint64_t size) {
  char hint[400] = "", text[400 + sizeof hint];
  const char *verb = a->is_store ? "wrote to" : "read", *name = a->name ? a->name : "an array";
  long long distance = (long long)(a->address - object), index = a->bytes ? distance / (long long)a->bytes : 0;
  note(worker, a, "out_of_bounds", a->bytes && distance % (long long)a->bytes == 0, index);
  if (size == 0) cpu_fault_hint_shared(worker->work, hint, sizeof hint);
  if (a->bytes && distance % (long long)a->bytes == 0 && size % a->bytes == 0 && size)
    snprintf(text, sizeof text, "%s %s[%lld], and %s ends with [%llu]: it has %llu elements of %llu bytes", verb, name,
             index, a->name ? a->name : "it", (unsigned long long)(size / a->bytes - 1),
             (unsigned long long)(size / a->bytes), (unsigned long long)a->bytes);
  else
    snprintf(text, sizeof text, "%s bytes %lld to %lld of %s, and there it has %llu, from 0 on%s", verb, distance,
             distance + (long long)a->bytes - 1, name, (unsigned long long)size, hint);
  cpu_service_fail(&worker->base, MW_ILLEGAL_ADDRESS, NULL, 0, text);
}

_Noreturn static void refuse_place(cpu_worker *worker, const access_made *a, const char *where, bool is_freed) {
  char text[400];
  note(worker, a, is_freed ? "use_after_free" : "out_of_bounds", false, 0);
  if (is_freed) where = "in an array that was freed";
  snprintf(text, sizeof text, "%s %llu bytes at address 0x%llx, %s%s%s", a->is_store ? "wrote" : "read",
           (unsigned long long)a->bytes, (unsigned long long)a->address, where, a->name ? "; it was made from " : "",
           a->name ? a->name : "");
  cpu_service_fail(&worker->base, MW_ILLEGAL_ADDRESS, NULL, 0, text);
}

_Noreturn static void refuse_alignment(cpu_worker *worker, const access_made *a, unsigned align) {
  char text[200];
  note(worker, a, "misaligned", false, 0);
  snprintf(text, sizeof text, "%s %llu bytes of %s at address 0x%llx, which is not a multiple of %u",
           a->is_store ? "wrote" : "read", (unsigned long long)a->bytes, a->name ? a->name : "an array",
           (unsigned long long)a->address, align);
  cpu_service_fail(&worker->base, MW_MISALIGNED_ADDRESS, NULL, 0, text);
}

static void check_bounds(cpu_worker *worker, const access_made *a, uint64_t object, uint64_t size) {
  bool shared = size == MW_OBJECT_SHARED; /* its computed size may be 0 */
  if (shared) size = (uint64_t)(uintptr_t)worker->base.shared + worker->work->shared - object;
  if (shared || size != MW_OBJECT_ALLOCATION) {
    if (!lies_in(a->address, a->bytes, object, size)) refuse(worker, a, object, size);
    return;
  }
  question q;
  const cpu_seen *seen = allocation_at(worker, object, &q);
  if (seen) {
    if (!lies_in(a->address, a->bytes, seen->base, seen->bytes))
      refuse(worker, a, object, seen->base + seen->bytes - object);
    return;
  }
  /* The pointer was not made from an allocation: it may be to a stack, to shared memory or another device, or wild,
     which the access itself detects. But an address in the range for allocations must lie in one. */
  if (q.is_freed) refuse_place(worker, a, q.where, true);
  if (!cpu_heap_is_for_arrays(worker->device->heap, a->address)) return;
  seen = allocation_at(worker, a->address, &q);
  if (!seen) refuse_place(worker, a, q.where, q.is_freed);
  if (!lies_in(a->address, a->bytes, seen->base, seen->bytes)) refuse(worker, a, seen->base, seen->bytes);
}

void cpu_check_access(mw_worker *base, uint64_t object, uint64_t address, uint64_t bytes, uint64_t size,
                      const char *name, uint32_t flags) {
  CPU_SERVICE_ENTER(base);
  cpu_worker *worker = (cpu_worker *)base;
  access_made a = {address, bytes, name, (flags & MW_ACCESS_STORE) != 0};
  if (flags & MW_ACCESS_UNBOUND) {
    bool reads = !(flags & (MW_ACCESS_STORE | MW_ACCESS_ATOMIC)); /* texels are read with others, as whole words */
    if (!reads || cpu_cluster_has(worker, (const void *)(uintptr_t)address))
      cpu_check_watch(worker, address, bytes, 0, name, flags);
    return;
  }
  if (flags >> MW_ACCESS_ALIGN_SHIFT && address & ((1u << (flags >> MW_ACCESS_ALIGN_SHIFT)) - 1))
    refuse_alignment(worker, &a, 1u << (flags >> MW_ACCESS_ALIGN_SHIFT));
  check_bounds(worker, &a, object, size);
  if (!a.is_store || flags & MW_ACCESS_UPDATE) worker->latest_read = (cpu_read){address, bytes, object, name};
  if ((flags & (MW_ACCESS_WATCHED | MW_ACCESS_INNER)) == MW_ACCESS_WATCHED)
    cpu_check_watch(worker, address, bytes, object, name, flags);
}
