/* Launching under the driver API's names: cuFuncSet*, cuParamSet*, cuLaunchGrid, and cuLaunchKernel. */
#include "driver.h"

/* ---- settings of a function ---- */

static int set_shape(CUfunction handle, int x, int y, int z) {
  host_function *f;
  int code = host_function_get(handle, &f);
  if (code != MW_SUCCESS) return code;
  if (x < 1 || y < 1 || z < 1) return host_fail(MW_INVALID_VALUE, "a block of (%d, %d, %d) threads", x, y, z);
  f->shape[0] = (unsigned)x;
  f->shape[1] = (unsigned)y;
  f->shape[2] = (unsigned)z;
  return MW_SUCCESS;
}

static int set_shared(CUfunction handle, unsigned bytes) {
  host_function *f;
  int code = host_function_get(handle, &f);
  if (code == MW_SUCCESS) f->shared = bytes;
  return code;
}

static int set_size(CUfunction handle, unsigned bytes) {
  host_function *f;
  int code = host_function_get(handle, &f);
  if (code != MW_SUCCESS) return code;
  if (bytes > HOST_BLOCK) return host_fail(MW_INVALID_VALUE, "a kernel has %d bytes of parameters at most", HOST_BLOCK);
  f->size = bytes;
  return MW_SUCCESS;
}

static int set_bytes(CUfunction handle, int offset, const void *value, size_t bytes) {
  host_function *f;
  int code = host_function_get(handle, &f);
  if (code != MW_SUCCESS) return code;
  if (!value || offset < 0 || bytes > HOST_BLOCK || (size_t)offset > HOST_BLOCK - bytes)
    return host_fail(MW_INVALID_VALUE,
                     "%zu bytes at offset %d cannot be a parameter: a kernel has at most %d bytes of parameters", bytes,
                     offset, HOST_BLOCK);
  memcpy(f->bytes + offset, value, bytes);
  memset(f->set + offset, 1, bytes);
  return MW_SUCCESS;
}

/* A texture reference is a variable of the module: launches read its binding, so nothing need be set. */
static int set_texref(CUfunction handle, int unit, CUtexref reference) {
  host_function *f;
  int code = host_function_get(handle, &f);
  if (code != MW_SUCCESS) return code;
  if (unit != CU_PARAM_TR_DEFAULT) return host_fail(MW_INVALID_VALUE, "the unit is CU_PARAM_TR_DEFAULT");
  return host_handle_find(HOST_TEXREF, reference)
             ? MW_SUCCESS
             : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a texture reference, or its module was unloaded");
}

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) { HOST_DRIVER(set_shape(function, x, y, z)); }
CUresult cuFuncSetSharedSize(CUfunction function, unsigned bytes) { HOST_DRIVER(set_shared(function, bytes)); }
CUresult cuParamSetSize(CUfunction function, unsigned bytes) { HOST_DRIVER(set_size(function, bytes)); }
CUresult cuParamSeti(CUfunction function, int offset, unsigned value) {
  HOST_DRIVER(set_bytes(function, offset, &value, sizeof value));
}
CUresult cuParamSetf(CUfunction function, int offset, float value) {
  HOST_DRIVER(set_bytes(function, offset, &value, sizeof value));
}
CUresult cuParamSetv(CUfunction function, int offset, void *value, unsigned bytes) {
  HOST_DRIVER(set_bytes(function, offset, value, bytes));
}
CUresult cuParamSetTexRef(CUfunction function, int unit, CUtexref reference) {
  HOST_DRIVER(set_texref(function, unit, reference));
}

/* ---- launching ---- */

static int launch_grid(host_context *context, CUfunction handle, int width, int height, CUstream stream) {
  host_function *f;
  mw_launch *launch;
  int code = host_function_get(handle, &f);
  if (code != MW_SUCCESS) return code;
  if (width < 1 || height < 1) return host_fail(MW_INVALID_VALUE, "a grid of (%d, %d) blocks", width, height);
  const host_geometry geometry = {
      {(unsigned)width, (unsigned)height, 1}, {f->shape[0], f->shape[1], f->shape[2]}, f->shared, false, false, {0}};
  code = host_launch_block(f->kernel, &geometry, f->bytes, f->set, f->size, &launch);
  return code ? code : host_launch_run(context, launch, stream);
}

CUresult cuLaunch(CUfunction function) { HOST_DRIVER(launch_grid(context, function, 1, 1, NULL)); }
CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  HOST_DRIVER(launch_grid(context, function, width, height, NULL));
}
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  HOST_DRIVER(launch_grid(context, function, width, height, stream));
}

/* The parameter block in `extra`: pairs of a key and a value, up to CU_LAUNCH_PARAM_END. */
static int read_extra(void **extra, const void **block, size_t *size) {
  *block = NULL;
  *size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      *block = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      *size = *(const size_t *)extra[1];
    else
      return host_fail(MW_INVALID_VALUE, "'extra' has an entry that is not a CU_LAUNCH_PARAM key");
  }
  return *block || *size == 0 ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "'extra' has a size and no buffer");
}

int host_driver_launch(host_function *f, const host_geometry *geometry, void **parameters, void **extra,
                       mw_launch **out) {
  const void *block;
  size_t size;
  if (parameters && extra)
    return host_fail(MW_INVALID_VALUE, "parameters are given by kernelParams or by extra, not by both");
  if (!extra) return host_launch_pointers(f->kernel, geometry, parameters, out);
  int code = read_extra(extra, &block, &size);
  return code ? code : host_launch_block(f->kernel, geometry, block, NULL, size, out);
}

static int launch_kernel(host_context *context, CUfunction handle, const host_geometry *geometry, CUstream stream,
                         void **parameters, void **extra) {
  host_function *f;
  mw_launch *launch;
  int code = host_function_get(handle, &f);
  if (code == MW_SUCCESS) code = host_driver_launch(f, geometry, parameters, extra, &launch);
  return code ? code : host_launch_run(context, launch, stream);
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream, void **parameters,
                        void **extra) {
  const host_geometry geometry = {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared, false, false, {0}};
  HOST_DRIVER(launch_kernel(context, function, &geometry, stream, parameters, extra));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                   unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream,
                                   void **parameters) {
  const host_geometry geometry = {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared, true, false, {0}};
  HOST_DRIVER(launch_kernel(context, function, &geometry, stream, parameters, NULL));
}

/* ---- attributes ---- */

static int get_attribute(host_context *context, int *value, int attribute, CUfunction handle) {
  host_function *f;
  struct cudaFuncAttributes a;
  int code = host_function_get(handle, &f);
  if (code == MW_SUCCESS) code = host_function_attributes(context, f->kernel, &a);
  if (code != MW_SUCCESS) return code;
  const int values[] = {a.maxThreadsPerBlock,
                        (int)a.sharedSizeBytes,
                        (int)a.constSizeBytes,
                        (int)a.localSizeBytes,
                        a.numRegs,
                        a.ptxVersion,
                        a.binaryVersion,
                        a.cacheModeCA,
                        a.maxDynamicSharedSizeBytes,
                        a.preferredShmemCarveout,
                        a.clusterDimMustBeSet,
                        a.requiredClusterWidth,
                        a.requiredClusterHeight,
                        a.requiredClusterDepth,
                        a.nonPortableClusterSizeAllowed,
                        a.clusterSchedulingPolicyPreference};
  if (attribute < 0 || (size_t)attribute >= sizeof values / sizeof *values)
    return host_fail(MW_INVALID_VALUE, "a function has no attribute %d", attribute);
  *value = values[attribute];
  return MW_SUCCESS;
}

static int set_attribute(host_context *context, CUfunction handle, int attribute, int value) {
  host_function *f;
  int code = host_function_get(handle, &f);
  return code ? code : host_function_set_attribute(context, f->kernel, attribute, value);
}

/* A preference for the cache or for the banks of shared memory, 0 to `most`: accepted without effect. */
static int set_preference(CUfunction handle, unsigned config, unsigned most, const char *what) {
  host_function *f;
  int code = host_function_get(handle, &f);
  if (code != MW_SUCCESS) return code;
  return config <= most ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "a configuration of %s is 0 to %u", what, most);
}

static int get_occupancy(host_context *context, int *blocks, CUfunction handle, int threads, size_t shared) {
  host_function *f;
  int code = host_function_get(handle, &f);
  return code ? code : host_occupancy(context, f->kernel, threads, shared, blocks);
}

static int get_best(host_context *context, int *grid, int *block, CUfunction handle, CUoccupancyB2DSize by_size,
                    size_t shared, int limit) {
  host_function *f;
  int code = host_function_get(handle, &f);
  return code ? code : host_occupancy_best(context, f->kernel, by_size, shared, limit, grid, block);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  HOST_DRIVER(get_attribute(context, value, (int)attribute, function));
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  HOST_DRIVER(set_attribute(context, function, (int)attribute, value));
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  HOST_DRIVER(set_preference(function, (unsigned)config, CU_FUNC_CACHE_PREFER_EQUAL, "the cache"));
}
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
  HOST_DRIVER(set_preference(function, (unsigned)config, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE, "shared memory"));
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t shared) {
  HOST_DRIVER(get_occupancy(context, blocks, function, threads, shared));
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int threads,
                                                              size_t shared, unsigned flags) {
  (void)flags;
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize bySize,
                                          size_t shared, int limit) {
  HOST_DRIVER(get_best(context, grid, block, function, bySize, shared, limit));
}
