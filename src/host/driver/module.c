/* Modules of the driver API, and lookup in them. A module's functions and references are released with it. */
#include "driver.h"

int host_module_get(CUmodule handle, host_module **out) {
  *out = host_handle_find(HOST_MODULE, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a module, or one that was unloaded");
}

int host_function_get(CUfunction handle, host_function **out) {
  *out = host_handle_find(HOST_FUNCTION, handle);
  return *out ? MW_SUCCESS
              : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a function, or its module was unloaded");
}

void host_module_release(void *object) {
  host_module *m = object;
  for (size_t i = 0; i < m->function_count; i++) {
    host_handle_take(HOST_FUNCTION, m->functions[i]->handle);
    mw_kernel_release(m->functions[i]->kernel);
    free(m->functions[i]);
  }
  for (size_t i = 0; i < m->reference_count; i++) {
    host_handle_take(HOST_TEXREF, m->references[i]->handle);
    host_texref_release(m->references[i]);
  }
  free(m->functions);
  free(m->references);
  mw_module_release(m->module);
  free(m);
}

/* ---- loading ---- */

static int enter(host_context *context, int code, mw_module *made, CUmodule *out) {
  if (code != MW_SUCCESS) return code;
  host_module *m = calloc(1, sizeof *m);
  if (!m) abort();
  m->module = made;
  *out = host_handle_new(HOST_MODULE, context->id, m);
  return MW_SUCCESS;
}

static int load(host_context *context, CUmodule *out, const char *path) {
  mw_module *made = NULL;
  int code = host_module_from_file(context, path, NULL, &made);
  return enter(context, code, made, out);
}

static int load_data(host_context *context, CUmodule *out, const void *image) {
  mw_module *made = NULL;
  int code = host_module_from_memory(context, image, &made);
  return enter(context, code, made, out);
}

CUresult cuModuleLoad(CUmodule *module, const char *path) { HOST_DRIVER(load(context, module, path)); }
CUresult cuModuleLoadData(CUmodule *module, const void *image) { HOST_DRIVER(load_data(context, module, image)); }
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  (void)count, (void)options, (void)values;
  return cuModuleLoadData(module, image);
}
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return cuModuleLoadData(module, image); }

CUresult cuModuleUnload(CUmodule handle) {
  host_context *context;
  int code = host_context_driver(&context);
  if (code != MW_SUCCESS) return host_end_driver(code);
  host_module *m = host_handle_take(HOST_MODULE, handle);
  if (m) host_module_release(m);
  return host_end_driver(m ? MW_SUCCESS
                           : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a module, or one that was unloaded"));
}

/* ---- finding ---- */

static int check_name(const char *name) {
  return name ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "there is no name: NULL was given");
}

static int get_function(host_context *context, CUfunction *out, CUmodule handle, const char *name) {
  host_module *m;
  mw_kernel *kernel;
  int code = host_module_get(handle, &m);
  if (code == MW_SUCCESS) code = check_name(name);
  if (code == MW_SUCCESS) code = mw_module_kernel(m->module, name, &kernel);
  if (code != MW_SUCCESS) return code;
  const char *linkage = mw_kernel_describe(kernel)->linkage;
  for (size_t i = 0; i < m->function_count; i++) {
    if (strcmp(mw_kernel_describe(m->functions[i]->kernel)->linkage, linkage) != 0) continue;
    mw_kernel_release(kernel);
    *out = m->functions[i]->handle;
    return MW_SUCCESS;
  }
  host_function *f = calloc(1, sizeof *f);
  m->functions = realloc(m->functions, (m->function_count + 1) * sizeof *m->functions);
  if (!f || !m->functions) abort();
  f->kernel = kernel;
  f->module = handle;
  f->shape[0] = f->shape[1] = f->shape[2] = 1;
  f->handle = host_handle_new(HOST_FUNCTION, context->id, f);
  m->functions[m->function_count++] = f;
  *out = f->handle;
  return MW_SUCCESS;
}

static int module_of(CUmodule *out, CUfunction handle) {
  host_function *f;
  int code = host_function_get(handle, &f);
  if (code == MW_SUCCESS) *out = f->module;
  return code;
}

static int get_global(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
  host_module *m;
  mw_symbol *symbol;
  int code = host_module_get(handle, &m);
  if (code == MW_SUCCESS) code = check_name(name);
  if (code == MW_SUCCESS) code = mw_module_symbol(m->module, name, &symbol);
  if (code != MW_SUCCESS) return code;
  if (address) *address = mw_symbol_address(symbol);
  if (bytes) *bytes = mw_symbol_size(symbol);
  mw_symbol_release(symbol);
  return MW_SUCCESS;
}

static int get_reference(host_context *context, void **out, CUmodule handle, const char *name, mw_reference_kind kind) {
  host_module *m;
  host_texref *r;
  int code = host_module_get(handle, &m);
  if (code == MW_SUCCESS) code = check_name(name);
  if (code == MW_SUCCESS) code = host_texref_new(context, m, name, kind, &r);
  if (code == MW_SUCCESS) *out = r->handle;
  return code;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  HOST_DRIVER(get_function(context, function, module, name));
}
CUresult cuFuncGetModule(CUmodule *module, CUfunction function) { HOST_DRIVER(module_of(module, function)); }
CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
  HOST_DRIVER(get_global(address, bytes, module, name));
}
CUresult cuModuleGetTexRef(CUtexref *reference, CUmodule module, const char *name) {
  HOST_DRIVER(get_reference(context, (void **)reference, module, name, MW_REFERENCE_TEXTURE));
}
CUresult cuModuleGetSurfRef(CUsurfref *reference, CUmodule module, const char *name) {
  HOST_DRIVER(get_reference(context, (void **)reference, module, name, MW_REFERENCE_SURFACE));
}
