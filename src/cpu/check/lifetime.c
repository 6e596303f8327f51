/* Memory that was freed: arrays, which a session keeps until its end so that their addresses are not reused, and blocks
 * of malloc in kernels, with what is left of them at the end. */
#include "session.h"

#include "cpu/execution/cluster.h"
#include "cpu/memory/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t kept_most = (uint64_t)256 << 20; /* bytes of freed arrays */

static check_range *add(cpu_check *check) {
  if (check->range_count == check->range_capacity) {
    check->range_capacity = check->range_capacity ? 2 * check->range_capacity : 16;
    check->ranges = mw_realloc(check->ranges, check->range_capacity * sizeof *check->ranges);
  }
  check_range *made = &check->ranges[check->range_count++];
  *made = (check_range){0};
  return made;
}

check_range *check_range_of(cpu_check *check, uint64_t address) {
  if (check->range_latest < check->range_count) {
    check_range *latest = &check->ranges[check->range_latest];
    if (address - latest->base < latest->bytes) return latest;
  }
  for (size_t i = check->range_count; i-- > 0;) {
    if (address - check->ranges[i].base >= check->ranges[i].bytes) continue;
    check->range_latest = i;
    return &check->ranges[i];
  }
  return NULL;
}

static void drop(cpu_check *check, size_t i) { check->ranges[i] = check->ranges[--check->range_count]; }

void cpu_check_allocated(cpu_device *device, uint64_t address, uint64_t bytes) {
  cpu_check *check = cpu_check_of(device);
  if (!check || !check_wants(check, MW_CHECK_INITIALISATION)) return;
  mw_lock(&check->lock);
  *add(check) = (check_range){.base = address, .bytes = bytes, .live = true, .is_array = true};
  check_set_unwritten(check, address, bytes);
  mw_unlock(&check->lock);
}

bool cpu_check_frees(cpu_device *device, uint64_t address) {
  cpu_check *check = cpu_check_of(device);
  uint64_t base, kept = 0;
  size_t bytes;
  if (!check || !cpu_heap_find(device->heap, address, &base, &bytes)) return false;
  mw_lock(&check->lock);
  for (size_t i = 0; i < check->range_count; i++)
    if (check->ranges[i].is_array && check->ranges[i].base == base) drop(check, i--);
  for (size_t i = 0; i < check->range_count; i++) kept += check->ranges[i].quarantined ? check->ranges[i].bytes : 0;
  bool keeps = kept + bytes <= kept_most;
  if (keeps) {
    check_range *made = add(check);
    *made = (check_range){.base = base, .bytes = bytes, .quarantined = true};
    atomic_fetch_add(&check->frees, 1);
  } else {
    shadow_forget(check->global, base, bytes);
  }
  mw_unlock(&check->lock);
  return keeps;
}

bool cpu_check_is_freed(cpu_check *check, uint64_t address) {
  const check_range *range = check_range_of(check, address);
  return range && !range->live;
}

uint64_t cpu_check_frees_count(const cpu_check *check) { return atomic_load(&((cpu_check *)check)->frees); }

bool cpu_check_is_global(const cpu_worker *worker, uint64_t address) {
  if (cpu_cluster_has(worker, (const void *)(uintptr_t)address)) return true;
  if (cpu_heap_is_for_arrays(worker->device->heap, address)) return true;
  const check_range *range = check_range_of(cpu_check_of(worker->device), address);
  return range && range->live;
}

/* ---- malloc in kernels ---- */

void cpu_check_malloced(cpu_worker *worker, uint64_t address, uint64_t bytes) {
  cpu_checked *self = worker->checked;
  if (!address || !worker->holds_check || !self->check) return;
  cpu_check *check = self->check;
  worker->in_service = 1;
  for (size_t i = 0; i < check->range_count; i++) { /* freed blocks that this one reuses */
    const check_range *r = &check->ranges[i];
    if (r->live || r->base >= address + bytes || r->base + r->bytes <= address) continue;
    drop(check, i--);
  }
  shadow_forget(check->global, address, bytes);
  atomic_fetch_add(&check->frees, 1);
  uint32_t site = check_site_here(worker);
  *add(check) = (check_range){.base = address,
                              .bytes = bytes,
                              .site = site,
                              .thread = checked_thread_of(worker),
                              .block = self->block,
                              .launch = self->launch,
                              .live = true};
  if (check_wants(check, MW_CHECK_INITIALISATION)) check_set_unwritten(check, address, bytes);
  cpu_service_leave(worker);
}

bool cpu_check_malloc_freed(cpu_worker *worker, uint64_t address) {
  const cpu_checked *self = worker->checked;
  if (!worker->holds_check || !self->check) return false;
  check_range *range = check_range_of(self->check, address);
  if (range && range->base == address && range->live && !range->is_array) {
    range->live = false;
    atomic_fetch_add(&self->check->frees, 1);
  }
  return range && range->base == address && !range->is_array;
}

bool cpu_check_malloc_find(cpu_check *check, uint64_t address, uint64_t *base, size_t *bytes) {
  const check_range *range = check_range_of(check, address);
  if (!range || !range->live) return false;
  *base = range->base;
  *bytes = range->bytes;
  return true;
}

/* ---- the end ---- */

void check_lifetime_end(cpu_check *check) {
  for (size_t i = 0; i < check->range_count; i++) {
    const check_range *r = &check->ranges[i];
    if (r->quarantined) cpu_heap_free(check->device->heap, r->base);
    const check_launch *launch = check_launch_at(check, r->launch);
    if (!r->live || r->is_array || !check_wants(check, MW_CHECK_MEMORY) || (launch && launch->stopped)) continue;
    char text[120];
    snprintf(text, sizeof text, "allocated %llu bytes by malloc that nothing has freed", (unsigned long long)r->bytes);
    check_end here = {.site = r->site, .thread = r->thread, .block = r->block, .launch = r->launch};
    check_found(
        check,
        &(check_fact){.kind = "leak", .here = here, .text = text, .hint = "free it in the same or a later kernel"});
  }
  free(check->ranges);
}
