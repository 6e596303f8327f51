/* A table of all arrays in the device's memory, for kernels that check their accesses.
 *
 * A running kernel continues to use the table that it began with: each change makes a new table, and old ones are
 * freed when no kernel runs that may read them. */
#include "guard.h"

#include <stdlib.h>

void cuda_guard_table_forget(guard_tables *tables) {
  free(tables->old);
  *tables = (guard_tables){0};
}

static void free_old(guard_tables *tables) {
  for (size_t i = 0; i < tables->old_count; i++) cu.cuMemFree(tables->old[i]);
  tables->old_count = 0;
}

void cuda_guard_table_free(guard_tables *tables) {
  free_old(tables);
  if (tables->current) cu.cuMemFree(tables->current);
}

static mw_guard_table *make_table(size_t *bytes) {
  size_t count;
  cuda_extent *list = cuda_heaps_list(&count);
  *bytes = sizeof(mw_guard_table) + count * sizeof *list;
  mw_guard_table *table = mw_alloc(*bytes);
  table->count = count;
  for (size_t i = 0; i < count; i++) {
    table->extents[i].base = list[i].address;
    table->extents[i].bytes = list[i].bytes;
  }
  free(list);
  return table;
}

/* The table is not recorded in the heap: it would be an entry of itself, and never be up to date. */
CUresult cuda_guard_table_update(cuda_device *device) {
  cuda_guard *guard = device->guard;
  guard_tables *tables = &guard->table;
  uint64_t changes = cuda_heaps_changes();
  if (tables->current && tables->changes == changes) return 0;
  size_t bytes;
  CUdeviceptr memory = 0;
  mw_guard_table *table = make_table(&bytes);
  if (atomic_load(&device->guarded) == 0) free_old(tables);
  CUresult result = cuda_heap_unrecorded(device, bytes, &memory);
  if (result == 0) result = cuda_guard_write(device, memory, table, bytes);
  free(table);
  if (result != 0) return result;
  if (tables->current) {
    tables->old = mw_realloc(tables->old, (tables->old_count + 1) * sizeof *tables->old);
    tables->old[tables->old_count++] = tables->current;
  }
  tables->current = memory;
  tables->changes = changes;
  return 0;
}
