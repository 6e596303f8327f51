/* Kernels: finding one by the name that a user types, and listing or suggesting names if there is none. */
#include "module.h"
#include "cxx_name.h"
#include "core/texture/texture_reference.h"

#include <stdlib.h>
#include <string.h>

#define LISTED 24 /* names in a message */

/* ---- candidates ---- */

typedef struct candidates {
  size_t *kernels; /* indices into module->kernels */
  size_t count;
  int rank;
} candidates;

/* The best match wins: the linkage name, the whole path, the name without namespaces; then exact parameter types. */
static int rank_of(const mw_kernel_entry *kernel, const mw_name *wanted) {
  mw_name have;
  mw_name_parse(kernel->info->name, &have);
  int path = mw_name_match(wanted->path, have.path);
  mw_name_free(&have);
  if (!path && strcmp(wanted->path, kernel->info->linkage) == 0) path = 3;
  int params = !path || !wanted->params ? 2 : mw_name_match_params(wanted->params, kernel->info);
  return path && params ? path * 4 + params : 0;
}

static void add_candidate(candidates *found, size_t kernel, int rank) {
  if (rank == 0 || rank < found->rank) return;
  if (rank > found->rank) found->count = 0;
  found->rank = rank;
  found->kernels = mw_realloc(found->kernels, (found->count + 1) * sizeof *found->kernels);
  found->kernels[found->count++] = kernel;
}

/* The kernels that match `wanted` best. Under the lock. */
static candidates find_candidates(const mw_module *module, const mw_name *wanted) {
  candidates found = {0};
  const mw_instance *instance = mw_module_find_instance(module, wanted->path);
  if (instance && instance->kernel_count > 0) {
    for (size_t i = 0; i < instance->kernel_count; i++) {
      size_t kernel = instance->kernels[i];
      add_candidate(&found, kernel,
                    wanted->params ? mw_name_match_params(wanted->params, module->kernels[kernel].info) : 1);
    }
    return found;
  }
  for (size_t i = 0; i < module->kernel_count; i++) add_candidate(&found, i, rank_of(&module->kernels[i], wanted));
  if (found.count > 0 || !instance) return found;
  /* An instance that was compiled but added no kernels exists under another spelling: it is one of the template's. */
  char *base = mw_name_base(wanted->path);
  for (size_t i = 0; i < module->kernel_count; i++) {
    char *other = mw_name_base(module->kernels[i].info->name);
    if (strcmp(base, other) == 0 && mw_name_is_instance(module->kernels[i].info->name)) add_candidate(&found, i, 1);
    free(other);
  }
  free(base);
  return found;
}

/* ---- failures ---- */

static void list_name(mw_text *list, size_t i, const char *name) {
  if (i < LISTED) mw_text_addf(list, "%s%s", i ? ", " : "", name);
  if (i == LISTED) mw_text_addf(list, ", …");
}

static int fail_ambiguous(const mw_module *module, const char *name, const candidates *found) {
  mw_text list = {0};
  for (size_t i = 0; i < found->count; i++) list_name(&list, i, module->kernels[found->kernels[i]].name);
  int code = fail(MW_SYMBOL_NOT_FOUND, "'%s' is ambiguous; say which one is meant: %s", name, list.data);
  mw_text_free(&list);
  return code;
}

/* The kernel or variable with the name most similar to `wanted`, if any is similar. */
static const char *most_like(const mw_module *module, const char *wanted, bool *variable) {
  char *base = mw_name_base(wanted);
  const char *best = NULL;
  size_t least = mw_name_reach(base), count = module->kernel_count + module->symbol_count;
  for (size_t i = 0; i < count; i++) {
    bool kernel = i < module->kernel_count;
    const char *name = kernel ? module->kernels[i].info->name : module->symbols[i - module->kernel_count].name;
    char *other = mw_name_base(name);
    size_t distance = mw_name_distance(base, other);
    free(other);
    if (distance >= least) continue;
    least = distance;
    best = kernel ? module->kernels[i].name : name;
    *variable = !kernel;
  }
  free(base);
  return best;
}

static bool is_symbol(const mw_module *module, const char *path) {
  for (size_t i = 0; i < module->symbol_count; i++) {
    mw_name have;
    mw_name_parse(module->symbols[i].name, &have);
    bool same = mw_name_match(path, have.path) > 0;
    mw_name_free(&have);
    if (same) return true;
  }
  return false;
}

/* The advice for a template's name without arguments. */
static char *show_arguments(const char *name, const char *parameters) {
  char *example = mw_source_template_example(name, parameters);
  char *text = mw_format(": %s is a template, whose arguments <%s> are named as well, as in m[\"%s\"]", name,
                         parameters, example);
  free(example);
  return text;
}

/* A suggestion for a name that no kernel has: the end of a sentence; yours to free. */
static char *guess(const mw_module *module, const mw_name *wanted) {
  char *base = mw_name_base(wanted->path);
  bool variable = false, bare = !mw_name_is_instance(wanted->path);
  const char *like = most_like(module, wanted->path, &variable);
  char *text, *parameters = bare && module->source ? mw_source_template(module->source, base) : NULL;
  bool overloaded = false;
  for (size_t i = 0; i < module->kernel_count; i++) {
    char *other = mw_name_base(module->kernels[i].info->name);
    overloaded |= strcmp(other, base) == 0;
    free(other);
  }
  if (is_symbol(module, wanted->path))
    text = mw_format("; it is a variable");
  else if (overloaded && wanted->params)
    text = mw_format(" with these parameter types");
  else if (parameters)
    text = show_arguments(base, parameters);
  else if (!overloaded && bare && module->source && mw_source_has_word(module->source, base))
    text = mw_format("; the source has the word, but not as a __global__ function");
  else
    text = like ? mw_format("; did you mean %s'%s'?", variable ? "the variable " : "", like) : mw_strdup("");
  free(parameters);
  free(base);
  return text;
}

/* Under the lock. */
static int fail_not_found(const mw_module *module, const char *name, const mw_name *wanted) {
  char *meant = guess(module, wanted);
  mw_text list = {0};
  for (size_t i = 0; i < module->kernel_count; i++) list_name(&list, i, module->kernels[i].name);
  int code = fail(MW_SYMBOL_NOT_FOUND, "this module has no kernel '%s'%s%s %s%s", name, meant,
                  *meant && meant[strlen(meant) - 1] == '?' ? "" : ";",
                  list.length ? "its kernels are " : "it has no kernels at all: they are functions declared __global__",
                  list.length ? list.data : "");
  mw_text_free(&list);
  free(meant);
  return code;
}

/* ---- finding ---- */

/* Under the lock. */
static mw_kernel *new_kernel(mw_module *module, const mw_kernel_entry *entry) {
  mw_kernel *kernel = mw_alloc(sizeof *kernel);
  mw_refs_init(&kernel->refs);
  kernel->module = mw_module_retain(module);
  kernel->info = entry->info;
  kernel->handle = entry->handle;
  kernel->bindings = mw_reference_list(module, entry->info);
  return kernel;
}

/* *found is false if there is no such kernel, which is not a failure yet: it may be an instance to compile. */
static int find_kernel(mw_module *module, const char *name, const mw_name *wanted, bool *found, mw_kernel **out) {
  int code = MW_SUCCESS;
  mw_lock(&module->lock);
  candidates names = find_candidates(module, wanted);
  *found = names.count > 0;
  if (names.count == 1)
    *out = new_kernel(module, &module->kernels[names.kernels[0]]);
  else if (names.count > 1)
    code = fail_ambiguous(module, name, &names);
  free(names.kernels);
  mw_unlock(&module->lock);
  return code;
}

/* A template can only be instantiated if its name occurs in the text, in a header, or in an included file. */
static bool may_be_template(const mw_module *module, const mw_name *wanted) {
  if (!mw_name_is_instance(wanted->path)) return false;
  if (!module->source) return true; /* mw_module_instantiate reports that */
  char *base = mw_name_base(wanted->path);
  bool may = mw_source_has_word(module->source, base) || mw_source_has_word(module->source, "include") ||
             mw_source_has_word(module->source, "define");
  free(base);
  return may;
}

int mw_module_kernel(mw_module *module, const char *name, mw_kernel **out) {
  mw_name wanted;
  mw_name_parse(name, &wanted);
  bool found;
  int code = find_kernel(module, name, &wanted, &found, out);
  if (code == MW_SUCCESS && !found && may_be_template(module, &wanted)) {
    code = mw_module_instantiate(module, wanted.path);
    if (code == MW_SUCCESS) code = find_kernel(module, name, &wanted, &found, out);
  }
  if (code == MW_SUCCESS && !found) {
    mw_lock(&module->lock);
    code = fail_not_found(module, name, &wanted);
    mw_unlock(&module->lock);
  }
  mw_name_free(&wanted);
  return code;
}

const char *mw_module_kernel_name(const mw_module *module, size_t i) {
  mw_module *shared = (mw_module *)module; /* the list may be growing */
  mw_lock(&shared->lock);
  const char *name = i < module->kernel_count ? module->kernels[i].name : NULL;
  mw_unlock(&shared->lock);
  return name;
}

/* ---- handles ---- */

mw_kernel *mw_kernel_retain(mw_kernel *kernel) {
  mw_refs_take(&kernel->refs);
  return kernel;
}

void mw_kernel_release(mw_kernel *kernel) {
  if (!kernel || !mw_refs_drop(&kernel->refs)) return;
  mw_module_release(kernel->module);
  free(kernel->bindings);
  free(kernel);
}

const mw_kernel_info *mw_kernel_describe(const mw_kernel *kernel) { return kernel->info; }
mw_module *mw_kernel_module(const mw_kernel *kernel) { return kernel->module; }
