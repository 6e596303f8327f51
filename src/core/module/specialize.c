/* Specialisation of kernels for block classes (function specialisation).
 *
 * A module's general code serves all launches. Once enough threads of a kernel have been launched with one block class,
 * and the driver can generate better code for it, the kernel is compiled for that class as another unit (or taken from
 * the cache), which runs such launches from then on. It is only an optimisation: if it fails, the general code remains.
 *
 * The kernel is compiled in the background, and launches run the general code until it is compiled. A launch waits for
 * that only if MW_LIMIT_SPECIALISE is 0 or $MOONWARP_BACKGROUND is "off", which makes the code of each launch
 * predictable. Either code computes the same bits. */
#include "background.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

static mw_launch_class class_of(const mw_device *device, const unsigned grid[3], const unsigned block[3]) {
  enum { FEW = 8 /* blocks for each multiprocessor, below which the last ones are a considerable part of the time */ };
  uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  return (mw_launch_class){.block = {block[0], block[1], block[2]},
                           .columns = grid[0] % 2 ? 1 : 2,
                           .blocks = blocks == 1                                                   ? MW_BLOCKS_ONE
                                     : blocks < FEW * (uint64_t)device->properties.multiprocessors ? MW_BLOCKS_FEW
                                                                                                   : MW_BLOCKS_MANY};
}

static bool suits(const mw_special *special, const mw_launch_class *wanted) {
  const mw_launch_class *made = &special->launches;
  if (made->checked != wanted->checked || made->screened != wanted->screened) return false;
  if (memcmp(made->block, wanted->block, sizeof made->block) != 0) return false;
  if (made->columns != wanted->columns && !(special->takes & MW_ANY_WIDTH)) return false;
  if (made->blocks == wanted->blocks) return true;
  bool several = made->blocks != MW_BLOCKS_ONE && wanted->blocks != MW_BLOCKS_ONE;
  return several && special->takes & MW_ANY_COUNT;
}

/* Under the lock: the entry, or NULL. A kernel made for one class may suit others (`takes`). */
static mw_special *find(const mw_module *module, const void *handle, const mw_launch_class *wanted) {
  for (size_t i = 0; i < module->special_count; i++)
    if (module->specials[i]->handle == handle && suits(module->specials[i], wanted)) return module->specials[i];
  return NULL;
}

static mw_special *find_or_add(mw_module *module, const mw_kernel_info *info, void *handle,
                               const mw_launch_class *wanted) {
  mw_special *special = find(module, handle, wanted);
  if (special) return special;
  special = mw_alloc(sizeof *special);
  *special = (mw_special){.handle = handle, .linkage = info->linkage, .launches = *wanted};
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

void *mw_module_kernel_in(const mw_driver *driver, void *unit, const char *linkage) {
  const mw_kernel_info *info;
  void *handle;
  for (size_t i = 0; driver->unit_kernel(unit, i, &info, &handle); i++)
    if (strcmp(info->linkage, linkage) == 0) return handle;
  return NULL;
}

void *mw_module_unit_of(mw_module *module, const void *handle) {
  void *unit = NULL;
  mw_lock(&module->lock);
  for (size_t i = 0; i < module->kernel_count && !unit; i++)
    if (module->kernels[i].handle == handle) unit = module->kernels[i].unit;
  mw_unlock(&module->lock);
  return unit;
}

/* The unit whose code runs launches that do not suit the special kernel's. */
static void *general_unit(mw_module *module, const mw_special *special) {
  const mw_launch_class any = {.checked = special->launches.checked};
  if (!any.checked || !(special->launches.block[0] || special->launches.screened))
    return mw_module_unit_of(module, special->handle);
  mw_lock(&module->lock);
  const mw_special *general = find(module, special->handle, &any);
  mw_unlock(&module->lock);
  return general ? general->unit : NULL;
}

/* NULL if it cannot be compiled. */
static void *make(mw_module *module, mw_special *special, bool if_cached) {
  loading l = {.parent = general_unit(module, special)};
  if (!l.parent) return NULL;
  if (mw_module_with_file(module, &(mw_recipe){.special = special, .if_cached = if_cached}, load_special, &l) !=
      MW_SUCCESS)
    return NULL;
  mw_lock(&module->lock);
  module->units = mw_realloc(module->units, (module->unit_count + 1) * sizeof *module->units);
  module->units[module->unit_count++] = l.unit;
  special->unit = l.unit;
  mw_unlock(&module->lock);
  return mw_module_kernel_in(module->device->driver, l.unit, special->linkage);
}

/* Failures to specialise are not reported: the error slot is restored. `why`: a copy of the failure, unless NULL. */
static void *make_or_tell(mw_module *module, mw_special *special, bool if_cached, mw_error **why) {
  mw_error *before = mw_error_last() ? mw_error_copy(mw_error_last()) : NULL;
  mw_error_clear();
  void *made = make(module, special, if_cached);
  if (why && !made && mw_error_last()) *why = mw_error_copy(mw_error_last());
  if (before)
    mw_error_raise(before);
  else
    mw_error_clear();
  mw_error_free(before);
  return made;
}

void *mw_module_make_special(mw_module *module, mw_special *special) {
  return make_or_tell(module, special, false, NULL);
}

/* 0: it cannot be specialised; else the number of threads for which a launch counts. */
static uint64_t count_of(const mw_module *module, void *handle, uint64_t blocks, uint64_t threads) {
  const mw_driver *driver = module->device->driver;
  return module->source && driver->specialises ? driver->specialises(handle, blocks, threads) : 0;
}

static bool has_option(const mw_source *source, const char *name) {
  for (size_t i = 0; i < source->option_count; i++)
    if (source->options[i] && strcmp(source->options[i], name) == 0) return true;
  return false;
}

/* The kernel with checks, for a checked run: compiled when it is first launched in one. If that fails, the launch runs
   without checks, and the end of the checked run fails (check_report.c). */
static void *checked_kernel(mw_module *module, const mw_kernel_info *info, void *handle, unsigned kinds) {
  const mw_launch_class checked = {.checked = kinds};
  if (!module->source || has_option(module->source, "--checks")) return handle;
  mw_lock(&module->lock);
  mw_special *special = find_or_add(module, info, handle, &checked);
  mw_unlock(&module->lock);
  mw_lock(&module->making);
  if (!special->made) {
    mw_error *why = NULL;
    special->made = make_or_tell(module, special, false, &why);
    special->tried = true;
    mw_error_free(why ? atomic_exchange(&module->device->unchecked, why) : NULL);
  }
  void *made = special->made;
  mw_unlock(&module->making);
  return made ? made : handle;
}

/* The screened kernel, which runs first and makes `checked` unnecessary if it sees no sign of a mistake; `checked` itself
   if there is none. */
static void *screened_kernel(mw_module *module, const mw_kernel_info *info, void *handle, void *checked,
                             unsigned kinds) {
  const mw_launch_class screened = {.checked = kinds, .screened = true};
  mw_lock(&module->lock);
  mw_special *special = find_or_add(module, info, handle, &screened);
  mw_unlock(&module->lock);
  mw_lock(&module->making);
  if (!special->tried) special->made = make_or_tell(module, special, false, NULL);
  special->tried = true;
  void *made = special->made;
  mw_unlock(&module->making);
  return made ? made : checked;
}

/* ---- when it is due ---- */

/* Code for another class that suits this one as well: made since this one was queued. */
static void *find_other(mw_module *module, const mw_special *special) {
  void *made = NULL;
  mw_lock(&module->lock);
  for (size_t i = 0; i < module->special_count && !made; i++) {
    const mw_special *other = module->specials[i];
    if (other != special && other->handle == special->handle && suits(other, &special->launches)) made = other->made;
  }
  mw_unlock(&module->lock);
  return made;
}

/* Once: later results are dropped. */
static void settle(mw_module *module, mw_special *special, void *made, bool new) {
  mw_lock(&module->lock);
  bool first = !special->tried;
  if (first) {
    special->made = made;
    special->takes = made ? module->device->driver->takes(made) : MW_ANY_WIDTH | MW_ANY_COUNT;
    special->tried = true;
  }
  mw_unlock(&module->lock);
  if (first && made && new && !special->launches.checked) mw_candidates_begin(module, special);
}

typedef struct later {
  mw_module *module;
  mw_special *special;
} later;

/* Without code for the class: the general code remains. */
static void drop_later(void *context) {
  later *l = context;
  settle(l->module, l->special, NULL, false);
  mw_module_unuse(l->module);
  free(l);
}

/* In the background. Nothing launches a module whose handles are gone. */
static void make_later(void *context) {
  later *l = context;
  void *other = find_other(l->module, l->special);
  if (other)
    settle(l->module, l->special, other, false);
  else if (atomic_load(&l->module->refs) > 0)
    settle(l->module, l->special, mw_module_make_special(l->module, l->special), true);
  mw_module_unuse(l->module);
  free(l);
}

static void queue(mw_module *module, mw_special *special) {
  later *l = mw_alloc(sizeof *l);
  *l = (later){module, special};
  mw_module_use(module);
  mw_background_add(module->device, (mw_job){.run = make_later, .drop = drop_later, .context = l, .soon = true});
}

static bool launches_wait(double enough) {
  const char *text = getenv("MOONWARP_BACKGROUND");
  return enough == 0 || (text && strcmp(text, "off") == 0);
}

/* Code that is in the cache is loaded at once, which takes about a millisecond. */
static void specialise(mw_module *module, mw_special *special, bool waits) {
  mw_lock(&module->making);
  mw_lock(&module->lock);
  bool due = !special->tried && (waits || !special->queued);
  special->queued = true;
  mw_unlock(&module->lock);
  void *made = due ? make_or_tell(module, special, !waits, NULL) : NULL;
  if (made || (due && waits))
    settle(module, special, made, true);
  else if (due)
    queue(module, special);
  mw_unlock(&module->making);
}

/* The kernel for the class, or `general`. Launches of a class are counted, and if they are enough it is compiled. */
static void *class_kernel(mw_module *module, const mw_kernel_info *info, void *handle, void *general,
                          const mw_launch_class *wanted, uint64_t threads, bool *settled) {
  double enough = 0;
  mw_device *device = module->device;
  if (device->driver->limit_get(device->state, MW_LIMIT_SPECIALISE, &enough) != MW_SUCCESS) return general;
  mw_lock(&module->lock);
  mw_special *special = find_or_add(module, info, handle, wanted);
  special->threads += threads;
  bool ripe = !special->tried && (double)special->threads >= enough,
       waits = ripe && (wanted->checked || launches_wait(enough));
  bool due = ripe && (waits || !special->queued);
  mw_unlock(&module->lock);
  if (due) specialise(module, special, waits);
  mw_lock(&module->lock);
  *settled = special->tried;
  void *best = special->made ? special->made : general;
  mw_unlock(&module->lock);
  return best;
}

void *mw_module_special(mw_module *module, const mw_kernel_info *info, void *handle, const unsigned grid[3],
                        const unsigned block[3], uint64_t times, bool *settled) {
  const unsigned followed = MW_CHECK_RACES | MW_CHECK_BARRIERS; /* thread by thread, whatever the block */
  const unsigned screened = followed | MW_CHECK_INITIALISATION;
  mw_device *device = module->device;
  unsigned kinds = atomic_load_explicit(&device->checking, memory_order_relaxed);
  void *general = kinds ? checked_kernel(module, info, handle, kinds) : handle;
  uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2] * times;
  uint64_t threads = count_of(module, handle, blocks, blocks * block[0] * block[1] * block[2]);
  *settled = !kinds;
  if (kinds && general == handle) return general;
  void *checked = general;
  if (kinds & screened) general = screened_kernel(module, info, handle, checked, kinds);
  if (!threads || (kinds & followed && general == checked)) return general;
  mw_launch_class wanted = class_of(device, grid, block);
  wanted.checked = kinds;
  wanted.screened = general != checked;
  void *found = class_kernel(module, info, handle, general, &wanted, threads, settled);
  if (kinds) *settled = false;
  return found;
}

void mw_module_forget_specials(mw_module *module) {
  for (size_t i = 0; i < module->special_count; i++) {
    free(module->specials[i]->candidates);
    free(module->specials[i]);
  }
  free(module->specials);
}
