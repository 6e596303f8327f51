/* Bulk copies of PTX: cp.async.bulk and cp.reduce.async.bulk, of memory and of tensors. The copy is done at once, and
 * its bytes are counted by its barrier, so that a wait for the barrier only waits for other threads.
 *
 * Addresses must lie in the device's address range. In the range, an access to memory that is not allocated faults as
 * one by the kernel itself does. */
#include "bulk_copy.h"
#include "cpu/check/check.h"
#include "cpu/memory/heap.h"
#include "cpu/execution/services.h"

#include <stdio.h>
#include <string.h>

/* ---- barriers (src/device/moonwarp/sync/mbarrier.h has the layout) ---- */

static void count_bytes(uint64_t at, uint64_t bytes) {
  uint64_t *word = (uint64_t *)(uintptr_t)at, none = 1ull << 60;
  uint64_t now = __atomic_sub_fetch(word, bytes << 40, __ATOMIC_ACQ_REL);
  if ((now & 0xfffff) != 0 || (now & 0x1fffffull << 40) != none) return;
  __atomic_store_n(word, (now | (now >> 20 & 0xfffff)) + (1ull << 61), __ATOMIC_RELEASE);
}

/* ---- checks ---- */

_Noreturn static void refuse(mw_worker *base, int code, const char *what) {
  cpu_service_fail(base, code, NULL, 0, what);
}

static void check_range(mw_worker *base, uint64_t address, uint64_t bytes, const char *which) {
  uint64_t start, size;
  char what[160];
  cpu_heap_range(cpu_worker_device(base)->heap, &start, &size);
  if (address - start < size && bytes <= size - (address - start)) return;
  snprintf(what, sizeof what, "%s 0x%llx by a bulk copy, where no memory of the device is", which,
           (unsigned long long)address);
  refuse(base, MW_ILLEGAL_ADDRESS, what);
}

static void check_whole(mw_worker *base, uint64_t target, uint64_t source, uint64_t bytes) {
  char what[160];
  if ((target | source | bytes) % 16 == 0) return;
  snprintf(what, sizeof what,
           "copies %llu bytes from 0x%llx to 0x%llx by a bulk copy: all three have to be multiples of 16",
           (unsigned long long)bytes, (unsigned long long)source, (unsigned long long)target);
  refuse(base, MW_MISALIGNED_ADDRESS, what);
}

/* ---- copies of memory ---- */

uint64_t cpu_bulk_at_rank(const mw_worker *base, uint64_t address, uint32_t rank) {
  uint64_t own = address / MW_CLUSTER_STRIDE % MW_CLUSTER_MOST;
  const cpu_worker *worker = (const cpu_worker *)base;
  return worker->cluster ? address + (rank - own) * MW_CLUSTER_STRIDE : address;
}

static void copy(mw_worker *base, uint64_t target, uint64_t source, uint64_t bytes, uint32_t ranks, uint64_t barrier) {
  check_whole(base, target, source, bytes);
  check_range(base, source, bytes, "reads");
  cpu_check_bulk(base, source, bytes, 0);
  for (uint32_t rank = 0; rank < MW_CLUSTER_MOST; rank++) {
    if (ranks ? !(ranks >> rank & 1) : rank > 0) continue;
    uint64_t to = ranks ? cpu_bulk_at_rank(base, target, rank) : target;
    check_range(base, to, bytes, "writes");
    cpu_check_bulk(base, to, bytes, MW_ACCESS_STORE);
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)source, bytes);
    if (barrier) cpu_bulk_arrived(base, ranks ? cpu_bulk_at_rank(base, barrier, rank) : barrier, bytes);
  }
}

void cpu_bulk_arrived(mw_worker *base, uint64_t barrier, uint64_t bytes) {
  check_range(base, barrier, sizeof(uint64_t), "writes");
  cpu_check_counted(base, barrier);
  count_bytes(barrier, bytes);
}

static void reduce(mw_worker *base, uint64_t target, uint64_t source, uint64_t bytes, uint32_t call, uint64_t barrier) {
  mw_bulk_operation operation = call >> 8 & 255;
  mw_bulk_type type = call >> 16 & 255;
  size_t size = cpu_bulk_size(type);
  check_whole(base, target, source, bytes);
  check_range(base, source, bytes, "reads");
  check_range(base, target, bytes, "writes");
  cpu_check_bulk(base, source, bytes, 0);
  cpu_check_bulk(base, target, bytes, MW_ACCESS_STORE | MW_ACCESS_UPDATE | MW_ACCESS_ATOMIC);
  for (uint64_t i = 0; i < bytes; i += size)
    cpu_bulk_update((unsigned char *)(uintptr_t)target + i, (const unsigned char *)(uintptr_t)source + i, operation,
                    type);
  if (barrier) cpu_bulk_arrived(base, barrier, bytes);
}

void cpu_bulk_copy(mw_worker *base, uint32_t call, uint64_t target, uint64_t source, uint64_t a, uint64_t b, uint64_t c,
                   uint64_t barrier) {
  CPU_SERVICE_ENTER(base);
  cpu_tensor_place place = {.dimensions = call >> 8 & 255,
                            .im2col = (call & MW_BULK_IM2COL) != 0,
                            .offsets = (uint32_t)(c >> 48),
                            .at = {(int32_t)a, (int32_t)(a >> 32), (int32_t)b, (int32_t)(b >> 32), (int32_t)c}};
  switch ((mw_bulk_call)(call & 255)) {
  case MW_BULK_COPY: copy(base, target, source, a, (uint32_t)b, barrier); break;
  case MW_BULK_REDUCE: reduce(base, target, source, a, call, barrier); break;
  case MW_BULK_LOAD:
    check_range(base, source, sizeof(mw_tensor_map), "reads a tensor map at");
    place.map = (const void *)(uintptr_t)source;
    cpu_tensor_load(base, &place, target, (uint32_t)(c >> 32) & 0xffff, barrier);
    break;
  case MW_BULK_STORE:
    check_range(base, target, sizeof(mw_tensor_map), "reads a tensor map at");
    place.map = (const void *)(uintptr_t)target;
    cpu_tensor_store(base, &place, source, call >> 16 & 255);
    break;
  }
}

void cpu_bulk_check(mw_worker *base, uint64_t address, uint64_t bytes, const char *which) {
  check_range(base, address, bytes, which);
}
