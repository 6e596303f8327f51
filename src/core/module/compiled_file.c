/* The compiled file of a unit.
 *
 * A unit is loaded from a file. The file was installed with the library, or is in the cache, or the driver compiles it
 * into a private folder, from which it is moved to the cache. A cached file that is invalid, or that vanishes during use
 * (another process may evict it), causes another compilation and never an error. */
#include "module.h"
#include "core/compile/run_mwcc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  mw_hash_add(key, &special->launches.checked, sizeof special->launches.checked);
  mw_hash_add(key, &special->launches.screened, sizeof special->launches.screened);
  mw_hash_add(key, &special->launches.gang, sizeof special->launches.gang);
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
    if (recipe->observed) mw_hash_add_text(key, "observed");
    if (recipe->observed) mw_hash_add(key, &recipe->observes, sizeof recipe->observes);
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
  if (recipe->observed)
    code = device->driver->observe(recipe->observed, module->source, recipe->observes, file->path);
  else if (special)
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
  if (!level || recipe->special || recipe->observed || recipe->instance_count || source->option_count ||
      source->header_count)
    return false;
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
  if (recipe->if_cached && !mw_cache_has(&file->key)) return MW_FILE_NOT_FOUND;
  if (use_cache && mw_cache_find(&file->key, file->path, sizeof file->path)) {
    if (device->driver->usable(device->state, file->path)) return MW_SUCCESS;
    mw_cache_remove(&file->key);
  }
  if (recipe->if_cached) return MW_FILE_NOT_FOUND;
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
    if (!use_cache || !blames_file(code) || recipe->if_cached) return code;
    if (!file.is_shipped) mw_cache_remove(&file.key);
  }
}

/* ---- the best code for a launch class, remembered in the cache ---- An entry with a gang, as text. */

static int make_choice_key(const mw_module *module, const mw_special *special, mw_hash *key) {
  int code = make_key(module, &(mw_recipe){.special = special}, key);
  mw_hash_add_text(key, "choice");
  return code;
}

bool mw_module_recall_choice(const mw_module *module, const mw_special *special, uint32_t *gang) {
  mw_hash key;
  char path[PATH_MAX];
  mw_text text = {0};
  bool known = make_choice_key(module, special, &key) == MW_SUCCESS && mw_cache_find(&key, path, sizeof path) &&
               mw_file_read(path, &text) == MW_SUCCESS && text.length > MW_CACHE_KEY_SIZE &&
               sscanf(text.data, "gang %u\n", gang) == 1;
  mw_text_free(&text);
  return known;
}

void mw_module_remember_choice(const mw_module *module, const mw_special *special, uint32_t gang) {
  static const char no_key[MW_CACHE_KEY_SIZE];
  mw_hash key;
  compiled_file file = {.folder = NULL};
  mw_text text = {0};
  char written[PATH_MAX];
  mw_text_addf(&text, "gang %u\n", gang);
  mw_text_add(&text, no_key, sizeof no_key);
  if (make_choice_key(module, special, &key) == MW_SUCCESS && mw_directory_temporary(&file.folder) == MW_SUCCESS) {
    snprintf(written, sizeof written, "%s/choice", file.folder);
    if (mw_file_write(written, text.data, text.length) == MW_SUCCESS)
      mw_cache_store(&key, written, file.path, sizeof file.path);
  }
  drop_file(&file);
  mw_text_free(&text);
}
