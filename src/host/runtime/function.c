/* Attributes of kernels: cudaFuncGetAttributes, cudaFuncSetAttribute. */
#include "host/host.h"

#include <pthread.h>

enum { CLUSTER_MOST = 16 };

/* The settings of a kernel. */
typedef struct setting {
  struct setting *next;
  char *kernel; /* linkage name */
  const mw_module *module;
  int shared, carveout;
  int cluster[3], larger, policy; /* 0: not set */
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
  *found = (setting){.next = settings.first, .kernel = copy, .module = module, .shared = -1, .carveout = -1};
  return settings.first = found;
}

void host_function_cluster(mw_kernel *kernel, unsigned cluster[3], bool *larger) {
  memcpy(cluster, mw_kernel_describe(kernel)->cluster, 3 * sizeof *cluster);
  pthread_mutex_lock(&settings.lock);
  const setting *set = setting_of(kernel, false);
  *larger = set && set->larger;
  /* All three are to be set; those of __cluster_dims__ are the kernel's for good. */
  for (int i = 0; i < 3 && set && !mw_kernel_describe(kernel)->cluster[0]; i++)
    cluster[i] = set->cluster[0] && set->cluster[1] && set->cluster[2] ? (unsigned)set->cluster[i] : 0;
  pthread_mutex_unlock(&settings.lock);
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
  int *required[] = {&out->requiredClusterWidth, &out->requiredClusterHeight, &out->requiredClusterDepth};
  for (int i = 0; i < 3; i++) *required[i] = info->cluster[0] ? (int)info->cluster[i] : set ? set->cluster[i] : 0;
  out->clusterDimMustBeSet = info->cluster[0] != 0;
  if (set) out->nonPortableClusterSizeAllowed = set->larger, out->clusterSchedulingPolicyPreference = set->policy;
  pthread_mutex_unlock(&settings.lock);
  return MW_SUCCESS;
}

/* The attributes of clusters. False: it is none. */
static bool set_cluster_attribute(mw_kernel *kernel, int attribute, int value, int *code) {
  const mw_kernel_info *info = mw_kernel_describe(kernel);
  int axis = attribute - cudaFuncAttributeRequiredClusterWidth;
  *code = MW_SUCCESS;
  if (axis >= 0 && axis < 3 && info->cluster[0])
    *code = host_fail(MW_INVALID_VALUE, "%s has its clusters from __cluster_dims__", info->name);
  else if (axis >= 0 && axis < 3 && (value < 0 || value > CLUSTER_MOST))
    *code = host_fail(MW_INVALID_VALUE, "a cluster has 1 to %d blocks along each axis, not %d", CLUSTER_MOST, value);
  else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed && value != 0 && value != 1)
    *code = host_fail(MW_INVALID_VALUE, "whether clusters may be larger than is portable is 0 or 1");
  else if (attribute == cudaFuncAttributeClusterSchedulingPolicyPreference && (value < 0 || value > 2))
    *code = host_fail(MW_INVALID_VALUE, "a policy of scheduling clusters is 0 to 2");
  else if (attribute < cudaFuncAttributeRequiredClusterWidth ||
           attribute > cudaFuncAttributeClusterSchedulingPolicyPreference)
    return false;
  if (*code != MW_SUCCESS) return true;
  pthread_mutex_lock(&settings.lock);
  setting *set = setting_of(kernel, true);
  if (axis < 3)
    set->cluster[axis] = value;
  else
    *(attribute == cudaFuncAttributeNonPortableClusterSizeAllowed ? &set->larger : &set->policy) = value;
  pthread_mutex_unlock(&settings.lock);
  return true;
}

int host_function_set_attribute(host_context *context, mw_kernel *kernel, int attribute, int value) {
  const mw_kernel_info *info = mw_kernel_describe(kernel);
  mw_properties facts;
  int code = mw_device_properties(context->device, &facts);
  if (code != MW_SUCCESS) return code;
  int most = (int)(facts.shared_per_block_optin - info->shared_bytes);
  if (set_cluster_attribute(kernel, attribute, value, &code)) return code;
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
