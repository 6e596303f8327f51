/* Units compiled for watchers: a module's unit once more, with calls of the runtime before each access and so on. They
 * share the module's variables, so that a watched launch does what an unwatched one would. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

typedef struct loading {
  void *parent, *unit;
} loading;

static int load_watched(mw_module *module, const char *path, void *context) {
  loading *l = context;
  return module->device->driver->load(module->device->state, path, l->parent, module->source, &l->unit);
}

static void *find(const mw_module *module, const void *parent, unsigned observes) {
  for (size_t i = 0; i < module->observed_count; i++)
    if (module->observed[i].parent == parent && module->observed[i].observes == observes)
      return module->observed[i].unit;
  return NULL;
}

/* Under the lock `making`. */
static int make(mw_module *module, void *parent, unsigned observes, void **out) {
  loading l = {.parent = parent};
  const mw_recipe recipe = {.observed = parent, .observes = observes};
  int code = mw_module_with_file(module, &recipe, load_watched, &l);
  if (code != MW_SUCCESS) return code;
  mw_lock(&module->lock);
  module->units = mw_realloc(module->units, (module->unit_count + 1) * sizeof *module->units);
  module->units[module->unit_count++] = l.unit;
  module->observed = mw_realloc(module->observed, (module->observed_count + 1) * sizeof *module->observed);
  module->observed[module->observed_count++] = (mw_observed_unit){parent, l.unit, observes};
  mw_unlock(&module->lock);
  *out = l.unit;
  return MW_SUCCESS;
}

int mw_module_observed(mw_module *module, const mw_kernel_info *info, void *handle, unsigned observes, void **out) {
  const mw_driver *driver = module->device->driver;
  void *parent = mw_module_unit_of(module, handle);
  if (!parent || !module->source)
    return fail(MW_INVALID_SOURCE,
                "kernel %s cannot be watched: its module was loaded from a file without its source text", info->name);
  mw_lock(&module->making);
  mw_lock(&module->lock);
  void *unit = find(module, parent, observes);
  mw_unlock(&module->lock);
  int code = unit ? MW_SUCCESS : make(module, parent, observes, &unit);
  mw_unlock(&module->making);
  if (code != MW_SUCCESS) return code;
  *out = mw_module_kernel_in(driver, unit, info->linkage);
  return *out ? MW_SUCCESS : fail(MW_UNKNOWN, "kernel %s is missing where it was compiled to be watched", info->name);
}
