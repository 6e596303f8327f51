/* Modules: from source text to loaded units, through the cache; loading and saving files.
 *
 * A unit is loaded from a file. The file was installed with the library, or is in the cache, or the driver compiles it
 * into a private folder, from which it is moved to the cache. A cached file that is invalid, or that vanishes during use (another process may evict it),
 * causes another compilation and never an error. */
#include "module.h"
#include "core/compile/run_mwcc.h"
#include "core/failure.h"
#include "cxx_name.h"
#include "core/texture/texture_reference.h"

#include <limits.h>
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

/* ---- compiled files ---- */

/* A compiled file: shipped, in the cache, or in a private folder that is removed with it. */
typedef struct compiled_file {
  mw_hash key; /* not of a shipped file, which is never removed */
  bool is_shipped;
  char path[PATH_MAX];
  char *folder; /* NULL if the file is in the cache */
} compiled_file;

static void drop_file(compiled_file *file) {
  if (file->folder) mw_directory_remove(file->folder);
  free(file->folder);
  file->folder = NULL;
}

static void add_special(mw_hash *key, const mw_special *special) {
  mw_hash_add_text(key, "special");
  mw_hash_add_text(key, special->linkage);
  mw_hash_add(key, special->launches.block, sizeof special->launches.block);
  mw_hash_add(key, &special->launches.columns, sizeof special->launches.columns);
  mw_hash_add(key, &special->launches.blocks, sizeof special->launches.blocks);
}

static int make_key(const mw_module *module, const mw_recipe *recipe, mw_hash *key) {
  mw_device *device = module->device;
  mw_text target = {0};
  int code = device->driver->target(device->state, &target);
  if (code == MW_SUCCESS) {
    *key = mw_hash_start();
    mw_hash_add_text(key, device->driver->name);
    mw_hash_add(key, target.data, target.length);
    mw_source_add_hash(module->source, key);
    for (size_t i = 0; i < recipe->instance_count; i++) mw_hash_add_text(key, recipe->instances[i]);
    if (recipe->special) add_special(key, recipe->special);
  }
  mw_text_free(&target);
  return code;
}

static _Atomic int64_t compiling; /* nanoseconds */

double mw_compile_seconds(void) { return (double)atomic_load(&compiling) * 1e-9; }

static int compile_file(mw_module *module, const mw_recipe *recipe, compiled_file *file) {
  mw_device *device = module->device;
  const mw_special *special = recipe->special;
  int code = mw_directory_temporary(&file->folder);
  if (code != MW_SUCCESS) return code;
  snprintf(file->path, sizeof file->path, "%s/module.mwo", file->folder);
  double start = mw_time();
  if (special)
    code = device->driver->specialise(special->handle, module->source, &special->launches, file->path);
  else
    code =
        device->driver->compile(device->state, module->source, recipe->instances, recipe->instance_count, file->path);
  atomic_fetch_add(&compiling, (int64_t)((mw_time() - start) * 1e9));
  return mw_source_translate_error(module->source, code);
}

/* Find the module that was installed with the library for a text without options. */
static bool find_shipped(const mw_module *module, const mw_recipe *recipe, compiled_file *file) {
  const mw_device *device = module->device;
  const mw_source *source = module->source;
  const char *level = device->driver->level ? device->driver->level(device->state) : NULL;
  char name[33];
  if (!level || recipe->special || recipe->instance_count || source->option_count || source->header_count) return false;
  mw_hash_shipped_name(source->text, source->length, name);
  return file->is_shipped = compiler_shipped(level, name, file->path, sizeof file->path);
}

/* Take the file from the shipped modules or from the cache if `use_cache`, else compile it. The caller calls drop_file
   in any case. */
static int get_file(mw_module *module, const mw_recipe *recipe, bool use_cache, compiled_file *file) {
  mw_device *device = module->device;
  if (use_cache && find_shipped(module, recipe, file)) return MW_SUCCESS;
  int code = make_key(module, recipe, &file->key);
  if (code != MW_SUCCESS) return code;
  if (use_cache && mw_cache_find(&file->key, file->path, sizeof file->path)) {
    if (device->driver->usable(device->state, file->path)) return MW_SUCCESS;
    mw_cache_remove(&file->key);
  }
  code = compile_file(module, recipe, file);
  if (code == MW_SUCCESS && use_cache) {
    char compiled[PATH_MAX];
    memcpy(compiled, file->path, sizeof compiled);
    mw_cache_store(&file->key, compiled, file->path, sizeof file->path);
  }
  return code;
}

/* Failures that are caused by the file, not by the machine. */
static bool blames_file(int code) {
  return code == MW_FILE_NOT_FOUND || code == MW_INVALID_KERNEL_IMAGE || code == MW_NO_KERNEL_IMAGE_FOR_DEVICE;
}

/* Get the file and call the function with it; if that fails because of the file, once more with a newly compiled,
   private file. */
int mw_module_with_file(mw_module *module, const mw_recipe *recipe, mw_file_action *action, void *context) {
  for (bool use_cache = true;; use_cache = false) {
    compiled_file file = {.folder = NULL};
    int code = get_file(module, recipe, use_cache, &file);
    if (code != MW_SUCCESS) {
      drop_file(&file);
      return code;
    }
    code = action(module, file.path, context);
    drop_file(&file);
    if (!use_cache || !blames_file(code)) return code;
    if (!file.is_shipped) mw_cache_remove(&file.key);
  }
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
  int code = mw_module_with_file(module, &(mw_recipe){&full_name, 1, NULL}, load_unit, &unit);
  if (code == MW_INVALID_SOURCE && (found = find_namespace(name))) {
    full_name = found;
    code = mw_module_with_file(module, &(mw_recipe){&full_name, 1, NULL}, load_unit, &unit);
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
    code = mw_module_with_file(module, &(mw_recipe){names, count, NULL}, read_image, &compiled);
    image = &compiled;
  }
  if (code == MW_SUCCESS) code = mw_file_write(path, image->data, image->length);
  mw_text_free(&compiled);
  free(names);
  return code;
}
