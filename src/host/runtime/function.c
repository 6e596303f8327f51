/* Attributes of kernels: cudaFuncGetAttributes, cudaFuncSetAttribute. */
#include "host/host.h"

#include <pthread.h>

/* The settings of a kernel. */
typedef struct setting {
  struct setting *next;
  char *kernel; /* linkage name */
  const mw_module *module;
  int shared, carveout;
} setting;

static struct {
  pthread_mutex_t lock;
  setting *first;
} settings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock; NULL if there is none and `make` is false. */
static setting *setting_of(mw_kernel *kernel, bool make) {
  const char *linkage = mw_kernel_describe(kernel)->linkage;
  const mw_module *module = mw_kernel_module(kernel);
  setting *found = settings.first;
  while (found && (found->module != module || strcmp(found->kernel, linkage) != 0)) found = found->next;
  if (found || !make) return found;
  found = calloc(1, sizeof *found);
  char *copy = strdup(linkage);
  if (!found || !copy) abort();
  *found = (setting){settings.first, copy, module, -1, -1};
  return settings.first = found;
}

int host_function_attributes(host_context *context, mw_kernel *kernel, struct cudaFuncAttributes *out) {
  const mw_kernel_info *info = mw_kernel_describe(kernel);
  mw_properties facts;
  int code = mw_device_properties(context->device, &facts);
  if (code != MW_SUCCESS) return code;
  int version = facts.major * 10 + facts.minor;
  *out = (struct cudaFuncAttributes){.sharedSizeBytes = info->shared_bytes,
                                     .localSizeBytes = info->local_bytes,
                                     .maxThreadsPerBlock = info->max_threads,
                                     .numRegs = info->registers,
                                     .ptxVersion = version,
                                     .binaryVersion = version,
                                     .maxDynamicSharedSizeBytes = (int)(facts.shared_per_block - info->shared_bytes),
                                     .preferredShmemCarveout = -1};
  pthread_mutex_lock(&settings.lock);
  const setting *set = setting_of(kernel, false);
  if (set && set->shared >= 0) out->maxDynamicSharedSizeBytes = set->shared;
  if (set) out->preferredShmemCarveout = set->carveout;
  pthread_mutex_unlock(&settings.lock);
  return MW_SUCCESS;
}

int host_function_set_attribute(host_context *context, mw_kernel *kernel, int attribute, int value) {
  const mw_kernel_info *info = mw_kernel_describe(kernel);
  mw_properties facts;
  int code = mw_device_properties(context->device, &facts);
  if (code != MW_SUCCESS) return code;
  int most = (int)(facts.shared_per_block_optin - info->shared_bytes);
  bool shared = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize;
  if (!shared && attribute != cudaFuncAttributePreferredSharedMemoryCarveout)
    return host_fail(MW_INVALID_VALUE, "a kernel has no attribute %d that can be set", attribute);
  if (shared && (value < 0 || value > most))
    return host_fail(MW_INVALID_VALUE, "a block of %s can have 0 to %d bytes of dynamic shared memory", info->name,
                     most);
  if (!shared && (value < -1 || value > 100)) return host_fail(MW_INVALID_VALUE, "a carveout is -1 to 100 percent");
  pthread_mutex_lock(&settings.lock);
  setting *set = setting_of(kernel, true);
  *(shared ? &set->shared : &set->carveout) = value;
  pthread_mutex_unlock(&settings.lock);
  return MW_SUCCESS;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *func) {
  host_context *context;
  mw_kernel *kernel;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = host_kernel(context, func, &kernel);
  if (code == MW_SUCCESS) code = host_function_attributes(context, kernel, attributes);
  return host_end(code);
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attribute, int value) {
  host_context *context;
  mw_kernel *kernel;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = host_kernel(context, func, &kernel);
  if (code == MW_SUCCESS) code = host_function_set_attribute(context, kernel, (int)attribute, value);
  return host_end(code);
}
