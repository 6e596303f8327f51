/* Modules: their lists of kernels and symbols; compiling, loading and saving them (compiled_file.c has the files). */
#include "module.h"
#include "core/failure.h"
#include "cxx_name.h"
#include "core/texture/texture_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lifetime ---- */

void mw_module_use(mw_module *module) { mw_refs_take(&module->uses); }

static void destroy(mw_module *module) {
  /* Later units share the first unit's variables. */
  for (size_t i = module->unit_count; i-- > 0;) module->device->driver->unload(module->units[i]);
  for (size_t i = 0; i < module->kernel_count; i++) free(module->kernels[i].name);
  for (size_t i = 0; i < module->instance_count; i++) {
    free(module->instances[i].name);
    free(module->instances[i].full_name);
    free(module->instances[i].kernels);
  }
  mw_module_forget_specials(module);
  mw_reference_free(module);
  free(module->observed);
  free(module->units);
  free(module->kernels);
  free(module->symbols);
  free(module->instances);
  for (size_t i = 0; i < module->log_count; i++) free(module->logs[i]);
  free(module->logs);
  mw_text_free(&module->image);
  mw_source_free(module->source);
  pthread_mutex_destroy(&module->lock);
  pthread_mutex_destroy(&module->binding);
  pthread_mutex_destroy(&module->making);
  free(module);
}

void mw_module_unuse(mw_module *module) {
  if (mw_refs_drop(&module->uses)) destroy(module);
}

mw_module *mw_module_retain(mw_module *module) {
  mw_refs_take(&module->refs);
  return module;
}

void mw_module_release(mw_module *module) {
  if (!module || !mw_refs_drop(&module->refs)) return;
  mw_device *device = module->device;
  mw_reference_unbind_all(module);
  mw_module_unuse(module);
  mw_device_release(device);
}

/* The module takes over `source` (may be NULL). */
static mw_module *new_module(mw_device *device, mw_source *source) {
  mw_module *module = mw_alloc(sizeof *module);
  mw_refs_init(&module->refs);
  mw_refs_init(&module->uses);
  module->device = mw_device_retain(device);
  module->epoch = atomic_load(&device->epoch);
  module->owner = mw_owner_current();
  module->source = source;
  mw_lock_init(&module->lock);
  mw_lock_init(&module->binding);
  mw_lock_init(&module->making);
  return module;
}

/* ---- the lists ---- */

static bool has_kernel(const mw_module *module, const char *linkage) {
  for (size_t i = 0; i < module->kernel_count; i++)
    if (strcmp(module->kernels[i].info->linkage, linkage) == 0) return true;
  return false;
}

static bool has_symbol(const mw_module *module, const char *linkage) {
  for (size_t i = 0; i < module->symbol_count; i++)
    if (strcmp(module->symbols[i].linkage, linkage) == 0) return true;
  return false;
}

static bool is_overloaded(const mw_module *module, size_t index) {
  for (size_t i = 0; i < module->kernel_count; i++)
    if (i != index && strcmp(module->kernels[i].info->name, module->kernels[index].info->name) == 0) return true;
  return false;
}

/* "add", or "add(float *, int)" if "add" is overloaded. */
static char *name_kernel(const mw_module *module, size_t index) {
  const mw_kernel_info *info = module->kernels[index].info;
  if (!is_overloaded(module, index)) return mw_strdup(info->name);
  mw_text name = {0};
  mw_text_addf(&name, "%s(", info->name);
  for (size_t i = 0; i < info->param_count; i++) mw_text_addf(&name, "%s%s", i ? ", " : "", info->params[i].type->name);
  mw_text_add(&name, ")", 1);
  return name.data;
}

/* Enter the kernels and symbols of the unit that earlier units do not have. */
static void enter_unit(mw_module *module, void *unit) {
  const mw_driver *driver = module->device->driver;
  mw_lock(&module->lock);
  module->units = mw_realloc(module->units, (module->unit_count + 1) * sizeof *module->units);
  module->units[module->unit_count++] = unit;
  size_t known = module->kernel_count;
  mw_kernel_entry kernel = {.unit = unit};
  for (size_t i = 0; driver->unit_kernel(unit, i, &kernel.info, &kernel.handle); i++) {
    if (has_kernel(module, kernel.info->linkage)) continue;
    module->kernels = mw_realloc(module->kernels, (module->kernel_count + 1) * sizeof *module->kernels);
    module->kernels[module->kernel_count++] = kernel;
  }
  for (size_t i = known; i < module->kernel_count; i++) module->kernels[i].name = name_kernel(module, i);
  mw_symbol_info symbol;
  for (size_t i = 0; driver->unit_symbol(unit, i, &symbol); i++) {
    if (has_symbol(module, symbol.linkage)) continue;
    module->symbols = mw_realloc(module->symbols, (module->symbol_count + 1) * sizeof *module->symbols);
    module->symbols[module->symbol_count++] = symbol;
    mw_reference_enter(module, &symbol);
  }
  mw_unlock(&module->lock);
}

/* Add the compiler's output for a unit, with positions translated, to the module's log. Earlier logs are kept, since
   callers may hold them. */
static void enter_log(mw_module *module, const void *unit, const mw_source *source) {
  char *said = mw_source_translate(source, module->device->driver->unit_log((void *)unit)), *log = said;
  pthread_mutex_lock(&module->lock);
  const char *before = module->log_count ? module->logs[module->log_count - 1] : NULL;
  if (before) {
    log = mw_source_join_logs(before, said);
    free(said);
  }
  if (before && strcmp(before, log) == 0) {
    free(log);
  } else {
    module->logs = mw_realloc(module->logs, (module->log_count + 1) * sizeof *module->logs);
    module->logs[module->log_count++] = log;
  }
  pthread_mutex_unlock(&module->lock);
}

/* ---- compiling ---- */

/* Load the unit into *(void **)out. */
static int load_unit(mw_module *module, const char *path, void *out) {
  const mw_driver *driver = module->device->driver;
  void *parent = module->unit_count > 0 ? module->units[0] : NULL;
  return driver->load(module->device->state, path, parent, module->source, out);
}

int mw_module_compile(mw_device *device, const mw_source *source, mw_module **out) {
  if (!source->text) return fail(MW_INVALID_VALUE, "there is no source text to compile");
  mw_source *copy = mw_source_copy(source);
  if (!copy) return MW_MEMORY_ALLOCATION;
  mw_module *module = new_module(device, copy);
  void *unit;
  int code = mw_module_with_file(module, &(mw_recipe){0}, load_unit, &unit);
  if (code != MW_SUCCESS) {
    mw_module_release(module);
    return code;
  }
  enter_unit(module, unit);
  enter_log(module, unit, module->source);
  *out = module;
  return MW_SUCCESS;
}

int mw_module_load(mw_device *device, const char *path, mw_module **out) {
  const mw_driver *driver = device->driver;
  mw_module *module = new_module(device, NULL);
  void *unit;
  const char *text, *options;
  int code =
      driver->load(device->state, path, NULL, NULL, &unit); /* first: the trailer shows whether the file is a module */
  if (code != MW_SUCCESS) goto fail;
  code = mw_file_read_regular(path, &module->image);
  if (code == MW_SUCCESS && driver->unit_source(unit, &text, &options) &&
      !(module->source = mw_source_parse(text, options)))
    code = MW_MEMORY_ALLOCATION;
  if (code != MW_SUCCESS) {
    driver->unload(unit);
    goto fail;
  }
  enter_unit(module, unit);
  enter_log(module, unit, &(mw_source){0});
  *out = module;
  return MW_SUCCESS;
fail:
  mw_module_release(module);
  return code;
}

const char *mw_module_log(const mw_module *module) {
  pthread_mutex_t *lock = &((mw_module *)module)->lock;
  pthread_mutex_lock(lock);
  const char *log = module->logs[module->log_count - 1];
  pthread_mutex_unlock(lock);
  return log;
}

/* ---- template instances ---- */

const mw_instance *mw_module_find_instance(const mw_module *module, const char *name) {
  for (size_t i = 0; i < module->instance_count; i++)
    if (strcmp(module->instances[i].name, name) == 0) return &module->instances[i];
  return NULL;
}

/* The unit was compiled for one instance: that instance's kernels are those that the first unit lacks. */
static void enter_instance(mw_module *module, const char *name, const char *full_name, void *unit) {
  const mw_driver *driver = module->device->driver;
  mw_instance instance = {.name = mw_strdup(name), .full_name = mw_strdup(full_name)};
  const mw_kernel_info *info;
  void *handle;
  mw_lock(&module->lock);
  for (size_t i = 0; driver->unit_kernel(unit, i, &info, &handle); i++) {
    const mw_kernel_info *first;
    bool old = false;
    for (size_t j = 0; !old && driver->unit_kernel(module->units[0], j, &first, &handle); j++)
      old = strcmp(first->linkage, info->linkage) == 0;
    for (size_t j = 0; !old && j < module->kernel_count; j++) {
      if (strcmp(module->kernels[j].info->linkage, info->linkage) != 0) continue;
      instance.kernels = mw_realloc(instance.kernels, (instance.kernel_count + 1) * sizeof *instance.kernels);
      instance.kernels[instance.kernel_count++] = j;
    }
  }
  module->instances = mw_realloc(module->instances, (module->instance_count + 1) * sizeof *module->instances);
  module->instances[module->instance_count++] = instance;
  mw_unlock(&module->lock);
}

/* A message about the template arguments in an instance's name. Yours: free. */
static char *explain_arguments(const mw_module *module, const char *name, const char *message) {
  char *base = mw_name_base(name), *parameters = mw_source_template(module->source, base), *text;
  if (parameters) {
    char *example = mw_source_template_example(base, parameters);
    bool ours = strstr(message, "__mw_instance"); /* the variable that takes the address: its error is noise */
    text = mw_format("%s%sthe template takes <%s>, as in '%s'", ours ? "" : message, ours ? "" : "; ", parameters,
                     example);
    free(example);
  } else {
    text = mw_strdup(message);
  }
  free(parameters);
  free(base);
  return text;
}

/* Prefix the error with the name of the instance. */
static int blame_instance(const mw_module *module, const char *name, int code) {
  if (code != MW_INVALID_SOURCE) return code;
  mw_error *error = mw_error_copy(mw_error_last());
  /* A position in the instance's name is not in any file: remove it. */
  bool in_name = error->file && strstr(error->file, name);
  char *message = in_name ? explain_arguments(module, name, error->message) : mw_strdup(error->message);
  fail(code, "'%s' cannot be compiled: %s", name, message);
  if (error->file && !in_name) {
    mw_error_place(error->file, error->line, error->column);
    if (error->log) mw_error_log(error->log);
  }
  free(message);
  mw_error_free(error);
  return code;
}

/* "ns::fill<float>" for "fill<float>", if the compiler's error suggests ns::fill. Yours. */
static char *find_namespace(const char *name) {
  static const char hint[] = "did you mean '";
  const mw_error *error = mw_error_last();
  size_t length = strcspn(name, "<");
  char *found = NULL;
  for (const char *at = error->log; at && !found && (at = strstr(at, hint));) {
    at += sizeof hint - 1;
    char *other = mw_format("%.*s", (int)strcspn(at, "'"), at);
    size_t whole = strlen(other);
    if (whole > length + 2 && strncmp(other + whole - length, name, length) == 0 &&
        memcmp(other + whole - length - 2, "::", 2) == 0)
      found = mw_format("%s%s", other, name + length);
    free(other);
  }
  return found;
}

static int make_instance(mw_module *module, const char *name) {
  void *unit;
  if (!module->source)
    return fail(
        MW_SYMBOL_NOT_FOUND,
        "'%s' cannot be made: this module was loaded from a file that contains no source, only compiled kernels", name);
  const char *full_name = name;
  char *found = NULL;
  int code = mw_module_with_file(module, &(mw_recipe){.instances = &full_name, .instance_count = 1}, load_unit, &unit);
  if (code == MW_INVALID_SOURCE && (found = find_namespace(name))) {
    full_name = found;
    code = mw_module_with_file(module, &(mw_recipe){.instances = &full_name, .instance_count = 1}, load_unit, &unit);
  }
  if (code == MW_SUCCESS) {
    enter_unit(module, unit);
    enter_log(module, unit, module->source);
    enter_instance(module, name, full_name, unit);
  }
  code = blame_instance(module, full_name, code);
  free(found);
  return code;
}

int mw_module_instantiate(mw_module *module, const char *name) {
  mw_lock(&module->making);
  mw_lock(&module->lock);
  bool made = mw_module_find_instance(module, name) != NULL;
  mw_unlock(&module->lock);
  int code = made ? MW_SUCCESS : make_instance(module, name);
  mw_unlock(&module->making);
  return code;
}

/* ---- saving ---- */

static int read_image(mw_module *module, const char *path, void *image) {
  (void)module;
  return mw_file_read(path, image);
}

int mw_module_save(mw_module *module, const char *path) {
  mw_lock(&module->lock);
  size_t count = module->instance_count;
  const char **names = mw_alloc((count + 1) * sizeof *names);
  for (size_t i = 0; i < count; i++) names[i] = module->instances[i].full_name;
  mw_unlock(&module->lock);
  mw_text compiled = {0};
  const mw_text *image = &module->image;
  int code = MW_SUCCESS;
  if (count > 0 || !image->data) {
    code =
        mw_module_with_file(module, &(mw_recipe){.instances = names, .instance_count = count}, read_image, &compiled);
    image = &compiled;
  }
  if (code == MW_SUCCESS) code = mw_file_write(path, image->data, image->length);
  mw_text_free(&compiled);
  free(names);
  return code;
}
