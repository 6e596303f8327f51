/* cuLaunchKernelEx and its kin: the runtime API's attributes under other names. */
#include "driver.h"

_Static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute), "one struct under two names");

static cudaLaunchConfig_t as_runtime(const CUlaunchConfig *c) {
  return (cudaLaunchConfig_t){.gridDim = {c->gridDimX, c->gridDimY, c->gridDimZ},
                              .blockDim = {c->blockDimX, c->blockDimY, c->blockDimZ},
                              .dynamicSmemBytes = c->sharedMemBytes,
                              .stream = c->hStream,
                              .attrs = (cudaLaunchAttribute *)(void *)c->attrs,
                              .numAttrs = c->numAttrs};
}

/* The function, and the configuration; MW_INVALID_VALUE. */
static int read(CUfunction handle, const CUlaunchConfig *config, host_function **f, cudaLaunchConfig_t *out) {
  int code = host_function_get(handle, f);
  if (code == MW_SUCCESS && !config) code = host_fail(MW_INVALID_VALUE, "a launch wants a configuration");
  if (code == MW_SUCCESS) *out = as_runtime(config);
  return code;
}

static int launch(host_context *context, const CUlaunchConfig *given, CUfunction handle, void **parameters,
                  void **extra) {
  host_function *f;
  host_attributes attributes;
  cudaLaunchConfig_t config;
  mw_launch *made;
  int code = read(handle, given, &f, &config);
  if (code == MW_SUCCESS) code = host_attributes_read(&config, &attributes);
  if (code == MW_SUCCESS) code = host_driver_launch(f, &attributes.geometry, parameters, extra, &made);
  return code ? code : host_attributes_run(context, &attributes, made);
}

static int largest(host_context *context, int *size, CUfunction handle, const CUlaunchConfig *given) {
  host_function *f;
  cudaLaunchConfig_t config;
  int code = read(handle, given, &f, &config);
  return code ? code : host_cluster_largest(context, f->kernel, &config, size);
}

static int count(host_context *context, int *clusters, CUfunction handle, const CUlaunchConfig *given) {
  host_function *f;
  cudaLaunchConfig_t config;
  int code = read(handle, given, &f, &config);
  return code ? code : host_cluster_count(context, f->kernel, &config, clusters);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  HOST_DRIVER(launch(context, config, function, parameters, extra));
}
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const CUlaunchConfig *config) {
  HOST_DRIVER(largest(context, size, function, config));
}
CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config) {
  HOST_DRIVER(count(context, clusters, function, config));
}
