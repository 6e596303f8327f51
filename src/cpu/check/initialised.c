/* Reads of memory that nothing has written: shared memory since the block began, blocks of malloc in kernels, and
 * arrays that were allocated in the run.
 *
 * A bit for each byte says whether it was written. The compiler says which reads are uses (MW_ACCESS_USED): a value
 * that is only moved, as the padding of structs is, may be undefined. What is moved counts as written. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

static bool are_set(const uint8_t *bits, uint64_t from, uint64_t count) {
  for (uint64_t i = from; i < from + count; i++)
    if (!(bits[i / 8] >> i % 8 & 1)) return false;
  return true;
}

static void set(uint8_t *bits, uint64_t from, uint64_t count) {
  for (uint64_t i = from; i < from + count; i++) bits[i / 8] |= (uint8_t)(1u << i % 8);
}

void check_initialised(cpu_worker *worker, const check_touch *touch) {
  cpu_checked *self = worker->checked;
  uint8_t *bits = self->written;
  uint64_t at = touch->address - (uint64_t)(uintptr_t)worker->base.shared, bytes = touch->bytes;
  if (!touch->shared) {
    check_range *range = check_range_of(self->check, touch->address);
    if (!range || !range->written) return;
    bits = range->written;
    at = touch->address - range->base;
    if (bytes > range->bytes - at) bytes = range->bytes - at;
  }
  if (touch->flags & MW_ACCESS_USED && !are_set(bits, at, bytes)) {
    set(bits, at, bytes);
    check_end here = {check_site_here(worker), checked_thread_of(worker), self->block, self->launch, "read"};
    check_found(self->check,
                &(check_fact){.kind = "uninitialised",
                              .here = here,
                              .array = touch->name,
                              .has_index = touch->object && bytes && bytes <= 16,
                              .index = (int64_t)(touch->address - touch->object) / (int64_t)(bytes ? bytes : 1),
                              .text = "used a value that nothing has written"});
  }
  if (touch->flags & MW_ACCESS_STORE) set(bits, at, bytes);
}

void check_wrote(cpu_check *check, uint64_t address, uint64_t bytes) {
  check_range *range = check_range_of(check, address);
  if (!range || !range->written) return;
  uint64_t at = address - range->base;
  set(range->written, at, bytes < range->bytes - at ? bytes : range->bytes - at);
}

void check_wrote_all(cpu_check *check) {
  for (size_t i = 0; i < check->range_count; i++)
    if (check->ranges[i].is_array) check_wrote(check, check->ranges[i].base, check->ranges[i].bytes);
}

void cpu_check_wrote(const cpu_device *device, uint64_t address, uint64_t bytes) {
  cpu_check *check = cpu_check_of(device);
  if (!check) return;
  mw_lock(&check->lock);
  check_wrote(check, address, bytes);
  mw_unlock(&check->lock);
}
