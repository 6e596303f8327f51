/* What cuRAND's functions share: a generator's modules, memory and copies in its stream, and codes. */
#include "random.h"

#include <stdarg.h>

/* ---- codes ---- */

curandStatus_t random_end(int code) {
  switch (code) {
  case MW_SUCCESS: return CURAND_STATUS_SUCCESS;
  case MW_MEMORY_ALLOCATION: host_end_driver(code); return CURAND_STATUS_ALLOCATION_FAILED;
  case MW_INVALID_SOURCE:
  case MW_JIT_COMPILER_NOT_FOUND:
  case MW_NO_DEVICE:
  case MW_INVALID_DEVICE: host_end_driver(code); return CURAND_STATUS_INITIALIZATION_FAILED;
  case MW_INVALID_RESOURCE_HANDLE: host_end_driver(code); return CURAND_STATUS_PREEXISTING_FAILURE;
  default: host_end_driver(code); return CURAND_STATUS_LAUNCH_FAILURE;
  }
}

curandStatus_t random_fail(curandStatus_t status, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  host_end_driver(host_fail(MW_INVALID_VALUE, "%s", text));
  return status;
}

/* ---- kernels ---- */

static int module_of(random_generator *g, const char *text, mw_module **out) {
  for (random_module *m = g->modules; m; m = m->next) {
    if (strcmp(m->text, text) == 0) {
      *out = m->module;
      return MW_SUCCESS;
    }
  }
  random_module *new = malloc(sizeof *new);
  if (!new || !(new->text = strdup(text))) abort();
  int code = host_module_from_text(g->context, text, NULL, NULL, &new->module);
  if (code != MW_SUCCESS) {
    free(new->text);
    free(new);
    return code;
  }
  new->next = g->modules;
  g->modules = new;
  *out = new->module;
  return MW_SUCCESS;
}

void random_modules_release(random_generator *g) {
  for (random_module *m = g->modules, *next; m; m = next) {
    next = m->next;
    mw_module_release(m->module);
    free(m->text);
    free(m);
  }
  g->modules = NULL;
}

int random_launch_in(random_generator *g, const char *text, const char *name, const host_geometry *geometry,
                     void *const *arguments) {
  mw_module *module;
  mw_kernel *kernel = NULL;
  mw_launch *launch;
  int code = module_of(g, text, &module);
  if (code == MW_SUCCESS) code = mw_module_kernel(module, name, &kernel);
  if (code == MW_SUCCESS) code = host_launch_pointers(kernel, geometry, arguments, &launch);
  if (code == MW_SUCCESS) code = host_launch_run(g->context, launch, g->stream);
  mw_kernel_release(kernel);
  return code;
}

int random_launch(random_generator *g, const char *text, const char *name, size_t blocks, unsigned rows, unsigned block,
                  void *const *arguments) {
  const host_geometry geometry = {.grid = {(unsigned)blocks, rows, 1}, .block = {block, 1, 1}};
  return random_launch_in(g, text, name, &geometry, arguments);
}

bool random_on_gpu(const random_generator *g) {
  mw_properties facts;
  return mw_device_properties(g->context->device, &facts) == MW_SUCCESS && strcmp(facts.driver, "cpu") != 0;
}

/* ---- memory ---- */

int random_memory_new(random_generator *g, size_t bytes, uint64_t *address) {
  return host_memory_new(g->context, MW_MEMORY_DEVICE, 0, bytes, address);
}

void random_memory_free(random_generator *g, uint64_t address) {
  mw_stream *stream;
  if (address == 0 || host_stream(g->context, g->stream, &stream) != MW_SUCCESS) return;
  (void)mw_memory_free_in(stream, address);
  mw_stream_release(stream);
}

int random_copy(random_generator *g, uint64_t target, uint64_t source, size_t bytes) {
  mw_stream *stream;
  int code = host_stream(g->context, g->stream, &stream);
  if (code != MW_SUCCESS) return code;
  code = host_copy_line(g->context, stream, target, source, bytes, cudaMemcpyDefault);
  mw_stream_release(stream);
  return code;
}
