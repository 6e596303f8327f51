/* Uninitialised values: in shared memory since the block began, local variables, blocks of malloc in kernels, and
 * arrays that were allocated in the run.
 *
 * Each byte of the device's range has a shadow byte with a bit for each of its bits, in an address range of its own
 * whose pages are allocated when they are written. A set bit means that the bit of memory was never written. Generated
 * code computes the shadows of values (src/mwcc/prepare/values/value_check.c), and calls the functions here to load,
 * store and copy shadows, and to report uses of unwritten values. */
#include "screen.h"
#include "session.h"

#include "cpu/execution/services.h"
#include "cpu/memory/heap.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the shadow ---- */

/* Rows of an array are often a power of two apart and share the sets of a cache. Their shadows are in other sets: a cache of
   8 ways does not hold both. */
enum { OTHER_SETS = 17 * 4096 + 2048 };

void check_values_open(cpu_check *check) {
  uint64_t base, size;
  cpu_heap_range(check->device->heap, &base, &size);
  void *bits =
      mmap(NULL, size + OTHER_SETS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bits == MAP_FAILED) return; /* values are then not followed */
  /* whole arrays are scanned, and most of their shadow is zero */
  (void)madvise(bits, size + OTHER_SETS, MADV_HUGEPAGE);
  check->values = (uint8_t *)bits + OTHER_SETS;
  check->values_base = base;
  check->values_size = size;
}

void check_values_close(cpu_check *check) {
  if (check->values) munmap(check->values - OTHER_SETS, check->values_size + OTHER_SETS);
}

static uint8_t *shadow_at(const cpu_check *check, uint64_t address, uint64_t bytes) {
  uint64_t at = address - check->values_base;
  return check->values && at < check->values_size && bytes <= check->values_size - at ? check->values + at : NULL;
}

unsigned char *check_values_at(const cpu_check *check, uint64_t address, uint64_t bytes) {
  return shadow_at(check, address, bytes);
}

void check_set_unwritten(cpu_check *check, uint64_t address, uint64_t bytes) {
  uint8_t *bits = shadow_at(check, address, bytes);
  if (bits) memset(bits, 0xff, bytes);
}

static void set_written(const cpu_check *check, uint64_t address, uint64_t bytes) {
  uint8_t *bits = shadow_at(check, address, bytes);
  for (uint64_t at = 0, part; bits && at < bytes;
       at += part) { /* pages of the shadow that were never written stay unallocated */
    enum { PART = 4096 };
    part = bytes - at < PART ? bytes - at : PART;
    for (uint64_t i = 0; i < part; i++)
      if (bits[at + i]) {
        memset(bits + at + i, 0, part - i);
        break;
      }
  }
}

static void copy(const cpu_check *check, uint64_t to, uint64_t from, uint64_t bytes) {
  uint8_t *target = shadow_at(check, to, bytes), *source = shadow_at(check, from, bytes);
  if (target && source)
    memmove(target, source, bytes);
  else
    set_written(check, to, bytes);
}

void check_copied(cpu_check *check, uint64_t to, uint64_t from, uint64_t bytes) { copy(check, to, from, bytes); }

void check_wrote(cpu_check *check, uint64_t address, uint64_t bytes) {
  const check_range *range = check_range_of(check, address);
  if (!range) return;
  uint64_t left = range->bytes - (address - range->base);
  set_written(check, address, bytes < left ? bytes : left);
}

void check_wrote_all(cpu_check *check) {
  for (size_t i = 0; i < check->range_count; i++)
    if (check->ranges[i].is_array) check_wrote(check, check->ranges[i].base, check->ranges[i].bytes);
}

void cpu_check_wrote(void *handle, uint64_t address, uint64_t bytes) {
  cpu_check *check = cpu_check_of(handle);
  if (!check) return;
  mw_lock(&check->lock);
  check_wrote(check, address, bytes);
  mw_unlock(&check->lock);
}

/* ---- of running code ---- */

static bool take_absent(cpu_checked *self, uint32_t thread) {
  bool was = self->threads[thread].absent;
  self->threads[thread].absent = false;
  return was;
}

/* Remember a load of unwritten memory, with its array: where the value is used, only the line of the load is known. */
static void remember(cpu_worker *worker, uint64_t address, uint64_t bytes, const uint8_t *bits) {
  cpu_checked *self = worker->checked;
  const cpu_read *read = &worker->latest_read;
  uint64_t first = 0;
  while (first < bytes && !bits[first]) first++;
  if (first == bytes || !worker->holds_check) return;
  check_unwritten_read *made = &self->unwritten[self->unwritten_count++ % CHECK_UNWRITTEN_READS];
  *made = (check_unwritten_read){.thread = checked_thread_of(worker), .site = check_site_here(worker)};
  if (read->address != address) return;
  made->array = read->name;
  made->has_index = read->name && read->object && read->bytes;
  if (made->has_index) made->index = (int64_t)(address + first - read->object) / (int64_t)read->bytes;
}

/* The array of the thread's latest load of that kind at the line of `site`. */
static void name_array(const cpu_worker *worker, uint32_t thread, uint32_t site, check_fact *fact) {
  const cpu_checked *self = worker->checked;
  const check_site *use = check_site_at(worker->session, site);
  for (uint32_t n = self->unwritten_count, left = CHECK_UNWRITTEN_READS; n > 0 && left > 0 && use; left--) {
    const check_unwritten_read *read = &self->unwritten[--n % CHECK_UNWRITTEN_READS];
    const check_site *at = check_site_at(worker->session, read->site);
    if (read->thread != thread || !at || at->line != use->line) continue;
    fact->array = read->array;
    fact->has_index = read->has_index;
    fact->index = read->index;
    return;
  }
}

void cpu_check_shadow(mw_worker *base, mw_shadow_operation what, uint64_t address, uint64_t bytes, void *memory) {
  CPU_SERVICE_ENTER(base);
  cpu_worker *worker = (cpu_worker *)base;
  cpu_checked *self = worker->checked;
  cpu_check *check = worker->session;
  bool runs = check && check_wants(check, MW_CHECK_INITIALISATION);
  uint8_t *bits = runs ? shadow_at(check, address, bytes) : NULL;
  switch (what) {
  case MW_SHADOW_LOAD:
    if (bits)
      memcpy(memory, bits, bytes), remember(worker, address, bytes, bits);
    else
      memset(memory, 0, bytes);
    return;
  case MW_SHADOW_STORE:
    if (bits && memcmp(bits, memory, bytes) != 0) memcpy(bits, memory, bytes);
    return;
  case MW_SHADOW_COPY:
    if (bits) copy(check, address, (uint64_t)(uintptr_t)memory, bytes);
    return;
  case MW_SHADOW_UNWRITTEN:
    if (bits) memset(bits, 0xff, bytes);
    return;
  case MW_SHADOW_CLEAN:
    if (bits) set_written(check, address, bytes);
    return;
  case MW_SHADOW_ABSENT:
    memset(memory, runs && worker->holds_check && take_absent(self, checked_thread_of(worker)) ? 0xff : 0, bytes);
    return;
  }
}

/* The place in the same file at `line`. `own` is the line of `site`; the compiler counts both. */
static uint32_t site_at_line(cpu_check *check, uint32_t site, uint32_t line, uint32_t own) {
  return line && own && line != own ? check_site_beside(check, site, (int)line - (int)own) : site;
}

/* `site`: of the call that reports the use. */
static void found_unwritten(cpu_worker *worker, uint64_t value, uint32_t thread, uint32_t site) {
  cpu_check *check = worker->session;
  uint32_t origin = (uint32_t)(value >> 32), line = origin & 0x7fffffff;
  site = site_at_line(check, site, line, (uint32_t)value);
  check_end here = {site, thread, (uint32_t)worker->base.block, worker->command->checked, "read"};
  check_fact fact = {.kind = "uninitialised", .here = here, .text = "used a value that nothing has written"};
  if (origin != line) {
    fact.kind = "warp_mask";
    fact.scope = "warp";
    fact.here.access = NULL;
    fact.text = "used what a shuffle read from a lane that does not take part in it: the value is undefined";
    fact.hint = "name all lanes that are read from, and let them call";
  }
  if (origin == line && worker->holds_check) name_array(worker, thread, site, &fact);
  check_found(check, &fact);
}

void check_unwritten(cpu_worker *worker, uint64_t value) {
  if (!check_wants(worker->session, MW_CHECK_INITIALISATION)) return;
  found_unwritten(worker, value, checked_thread_of(worker), check_site_here(worker));
}

/* ---- code that follows no threads ---- */

typedef struct unfollowed {
  cpu_worker *worker;
  uint64_t value;
} unfollowed;

static void find_unfollowed(void *argument) {
  const unfollowed *u = argument;
  cpu_worker *worker = u->worker;
  cpu_check_lock(worker);
  found_unwritten(worker, u->value, worker->base.thread, check_site_at_pc(worker, worker->call));
  cpu_check_unlock(worker);
}

void check_unfollowed(cpu_worker *worker, mw_check_event event, uint64_t value) {
  if (!worker->session || !check_wants(worker->session, MW_CHECK_INITIALISATION)) return;
  if (event == MW_CHECK_UNWRITTEN && cpu_screen_runs(worker->command))
    worker->base.suspicious = 1;
  else if (event == MW_CHECK_BLOCK)
    check_set_unwritten(worker->session, (uint64_t)(uintptr_t)worker->base.shared, worker->base.shared_bytes);
  else if (event == MW_CHECK_UNWRITTEN)
    cpu_service_call(&worker->base, find_unfollowed, &(unfollowed){worker, value});
}

uint64_t check_shadow_distance(const cpu_check *check) {
  return check && check->values ? (uint64_t)(uintptr_t)check->values - check->values_base : 0;
}

void check_show_address(const cpu_worker *worker, uint64_t *address) {
  enum { NULL_PAGES = 1 << 16 };
  const cpu_check *check = worker->session;
  uint64_t shown = *address - check_shadow_distance(check);
  if (!check->values || *address < NULL_PAGES || *address - check->values_base < check->values_size) return;
  if (shown < NULL_PAGES || shown - check->values_base < check->values_size) *address = shown;
}
