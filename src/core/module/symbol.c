/* Symbols: a module's __device__ and __constant__ variables, by name. */
#include "core/graph/capture.h"
#include "module.h"
#include "cxx_name.h"

#include <stdlib.h>
#include <string.h>

#define LISTED 24 /* names in a message */

/* ---- finding ---- */

/* Under the lock. */
static int fail_not_found(const mw_module *module, const char *name) {
  mw_text list = {0};
  const char *like = NULL;
  size_t least = mw_name_reach(name);
  for (size_t i = 0; i < module->symbol_count; i++) {
    const char *have = module->symbols[i].name;
    size_t distance = mw_name_distance(name, have);
    if (distance < least) {
      least = distance;
      like = have;
    }
    if (i < LISTED) mw_text_addf(&list, "%s%s", i ? ", " : "", have);
    if (i == LISTED) mw_text_addf(&list, ", …");
  }
  int code = fail(MW_SYMBOL_NOT_FOUND, "this module has no variable '%s'%s%s%s %s%s", name,
                  like ? "; did you mean '" : "", like ? like : "", like ? "'?" : ";",
                  list.length ? "its variables are "
                              : "it has none: they are declared __device__ or __constant__ outside of functions",
                  list.length ? list.data : "");
  mw_text_free(&list);
  return code;
}

static int fail_ambiguous(const char *name, const char *one, const char *other) {
  return fail(MW_SYMBOL_NOT_FOUND, "'%s' is ambiguous; say which one is meant: %s, %s", name, one, other);
}

/* Under the lock. */
static int find_symbol(mw_module *module, const char *name, const mw_symbol_info **out) {
  mw_name wanted;
  mw_name_parse(name, &wanted);
  const mw_symbol_info *best = NULL, *second = NULL;
  int rank = 0;
  for (size_t i = 0; i < module->symbol_count; i++) {
    const mw_symbol_info *symbol = &module->symbols[i];
    mw_name have;
    mw_name_parse(symbol->name, &have);
    int match = strcmp(name, symbol->linkage) == 0 ? 3 : mw_name_match(wanted.path, have.path);
    mw_name_free(&have);
    if (match == 0 || match < rank) continue;
    second = match == rank ? best : NULL;
    best = symbol;
    rank = match;
  }
  mw_name_free(&wanted);
  if (!best) return fail_not_found(module, name);
  if (second) return fail_ambiguous(name, second->name, best->name);
  *out = best;
  return MW_SUCCESS;
}

int mw_module_symbol(mw_module *module, const char *name, mw_symbol **out) {
  const mw_symbol_info *info = NULL;
  mw_lock(&module->lock);
  int code = find_symbol(module, name, &info);
  if (code == MW_SUCCESS) {
    mw_symbol *symbol = mw_alloc(sizeof *symbol);
    mw_refs_init(&symbol->refs);
    symbol->module = mw_module_retain(module);
    symbol->info = *info;
    *out = symbol;
  }
  mw_unlock(&module->lock);
  return code;
}

const char *mw_module_symbol_name(const mw_module *module, size_t i) {
  mw_module *shared = (mw_module *)module; /* the list may be growing */
  mw_lock(&shared->lock);
  const char *name = i < module->symbol_count ? module->symbols[i].name : NULL;
  mw_unlock(&shared->lock);
  return name;
}

/* ---- handles ---- */

mw_symbol *mw_symbol_retain(mw_symbol *symbol) {
  mw_refs_take(&symbol->refs);
  return symbol;
}

void mw_symbol_release(mw_symbol *symbol) {
  if (!symbol || !mw_refs_drop(&symbol->refs)) return;
  mw_module_release(symbol->module);
  free(symbol);
}

const char *mw_symbol_name(const mw_symbol *symbol) { return symbol->info.name; }
const mw_type *mw_symbol_type(const mw_symbol *symbol) { return symbol->info.type; }
uint64_t mw_symbol_address(const mw_symbol *symbol) { return symbol->info.address; }
size_t mw_symbol_size(const mw_symbol *symbol) { return symbol->info.size; }

/* ---- values ---- */

static int check_range(const mw_symbol *symbol, size_t offset, size_t bytes, const char *what) {
  size_t size = symbol->info.size;
  if (offset <= size && bytes <= size - offset) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE,
              "%s of %zu bytes at byte %zu goes past the end of the variable '%s', which is %s of %zu bytes", what,
              bytes, offset, symbol->info.name, symbol->info.type->name, size);
}

/* A module that was lost in a reset has no variables. */
static int check_epoch(const mw_symbol *symbol) {
  const mw_device *device = symbol->module->device;
  if (symbol->module->epoch == atomic_load(&device->epoch)) return MW_SUCCESS;
  return fail(MW_INVALID_RESOURCE_HANDLE, "the module of '%s' was lost when %s was reset: compile it again",
              symbol->info.name, device->name);
}

int mw_symbol_read(mw_symbol *symbol, size_t offset, void *target, size_t bytes) {
  mw_device *device = symbol->module->device;
  int code = check_range(symbol, offset, bytes, "a read");
  if (code == MW_SUCCESS) code = check_epoch(symbol);
  if (code == MW_SUCCESS) code = mw_device_synchronize(device);
  if (code != MW_SUCCESS || bytes == 0) return code;
  return device->driver->read(device->stream, symbol->info.address + offset, target, bytes);
}

int mw_symbol_write(mw_symbol *symbol, size_t offset, const void *source, size_t bytes) {
  mw_device *device = symbol->module->device;
  int code = check_range(symbol, offset, bytes, "a write");
  if (code == MW_SUCCESS) code = check_epoch(symbol);
  if (code != MW_SUCCESS || bytes == 0) return code;
  code = mw_capture_refuse_wait(device);
  if (code != MW_SUCCESS) return code;
  return device->driver->write(device->stream, symbol->info.address + offset, source, bytes);
}
