/* Kernels that are compiled again for blocks of one size.
 *
 * A module's code serves all launches. Once enough threads of a kernel were launched with blocks of one size, and the
 * driver can make better code for that size, it is compiled as one more unit (from the cache, if it is there) and runs
 * the launches from then on. Nothing depends on it: where it cannot be made, all stays as it was. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* Under the lock: the entry, or NULL. What was made for grids of an even width, or of others, may be good for all. */
static mw_special *find(const mw_module *module, const void *handle, const unsigned block[3], unsigned columns) {
  for (size_t i = 0; i < module->special_count; i++) {
    mw_special *special = module->specials[i];
    if (special->handle != handle || memcmp(special->block, block, sizeof special->block) != 0) continue;
    if (special->columns == columns || special->for_all) return special;
  }
  return NULL;
}

static mw_special *find_or_add(mw_module *module, const mw_kernel_info *info, void *handle, const unsigned block[3],
                               unsigned columns) {
  mw_special *special = find(module, handle, block, columns);
  if (special) return special;
  special = mw_alloc(sizeof *special);
  *special = (mw_special){.handle = handle, .linkage = info->linkage, .columns = columns};
  memcpy(special->block, block, sizeof special->block);
  module->specials = mw_realloc(module->specials, (module->special_count + 1) * sizeof *module->specials);
  module->specials[module->special_count++] = special;
  return special;
}

typedef struct loading {
  void *parent, *unit;
} loading;

static int load_special(mw_module *module, const char *path, void *context) {
  loading *l = context;
  return module->device->driver->load(module->device->state, path, l->parent, module->source, &l->unit);
}

/* The kernel of the unit with that linkage name, or NULL. */
static void *kernel_in(const mw_driver *driver, void *unit, const char *linkage) {
  const mw_kernel_info *info;
  void *handle;
  for (size_t i = 0; driver->unit_kernel(unit, i, &info, &handle); i++)
    if (strcmp(info->linkage, linkage) == 0) return handle;
  return NULL;
}

/* The unit that the kernel is of, or NULL. */
static void *unit_of(mw_module *module, const void *handle) {
  void *unit = NULL;
  pthread_mutex_lock(&module->lock);
  for (size_t i = 0; i < module->kernel_count && !unit; i++)
    if (module->kernels[i].handle == handle) unit = module->kernels[i].unit;
  pthread_mutex_unlock(&module->lock);
  return unit;
}

/* NULL where it cannot be made. */
static void *make(mw_module *module, const mw_special *special) {
  loading l = {.parent = unit_of(module, special->handle)};
  if (!l.parent) return NULL;
  if (mw_module_with_file(module, &(mw_recipe){.special = special}, load_special, &l) != MW_SUCCESS) return NULL;
  pthread_mutex_lock(&module->lock);
  module->units = mw_realloc(module->units, (module->unit_count + 1) * sizeof *module->units);
  module->units[module->unit_count++] = l.unit;
  pthread_mutex_unlock(&module->lock);
  return kernel_in(module->device->driver, l.unit, special->linkage);
}

/* Compiling may fail, which is nobody's error: the error slot stays as it was. */
static void *make_quietly(mw_module *module, const mw_special *special) {
  mw_error *before = mw_error_last() ? mw_error_copy(mw_error_last()) : NULL;
  void *made = make(module, special);
  if (before)
    mw_error_raise(before);
  else
    mw_error_clear();
  mw_error_free(before);
  return made;
}

/* 0: it cannot be made; else how many times each thread counts. */
static unsigned weight_of(const mw_module *module, void *handle) {
  const mw_driver *driver = module->device->driver;
  return module->source && driver->specialises ? driver->specialises(handle) : 0;
}

void *mw_module_special(mw_module *module, const mw_kernel_info *info, void *handle, const unsigned grid[3],
                        const unsigned block[3], uint64_t times, bool *settled) {
  double enough = 0;
  mw_device *device = module->device;
  unsigned weight = weight_of(module, handle);
  uint64_t threads = (uint64_t)grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2] * times * weight;
  if (!weight || device->driver->limit_get(device->state, MW_LIMIT_SPECIALISE, &enough) != MW_SUCCESS) {
    *settled = true;
    return handle;
  }
  pthread_mutex_lock(&module->lock);
  mw_special *special = find_or_add(module, info, handle, block, grid[0] % 2 ? 1 : 2);
  special->threads += threads;
  bool due = !special->tried && (double)special->threads >= enough;
  pthread_mutex_unlock(&module->lock);
  if (due) {
    pthread_mutex_lock(&module->making);
    if (!special->tried) {
      void *made = make_quietly(module, special);
      pthread_mutex_lock(&module->lock);
      special->made = made;
      special->tried = true;
      special->for_all = !made || device->driver->takes_all_widths(made);
      pthread_mutex_unlock(&module->lock);
    }
    pthread_mutex_unlock(&module->making);
  }
  pthread_mutex_lock(&module->lock);
  *settled = special->tried;
  void *best = special->made ? special->made : handle;
  pthread_mutex_unlock(&module->lock);
  return best;
}

void mw_module_forget_specials(mw_module *module) {
  for (size_t i = 0; i < module->special_count; i++) free(module->specials[i]);
  free(module->specials);
}
