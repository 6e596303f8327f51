/* Launches: CUDA receives the parameter block unchanged; texture references are written into their variables before. */
#include "cuda/cuda.h"
#include "cuda/check/check.h"
#include "cuda/measure/measure.h"

#include <string.h>

enum { SHARED_WITHOUT_ASKING = 48 << 10, PARAMS_MOST = 1024, PARAM_BYTES_MOST = 4096 };

/* CUDA's keys of the entries of `extra`. */
#define PARAM_END     ((void *)0x00)
#define PARAM_POINTER ((void *)0x01)
#define PARAM_SIZE    ((void *)0x02)

static int allow_shared(cuda_kernel *kernel, size_t dynamic) {
  if (dynamic <= kernel->dynamic || dynamic + kernel->info.shared_bytes <= SHARED_WITHOUT_ASKING) return MW_SUCCESS;
  int code = cuda_outcome(kernel->unit->device,
                          cu.cuFuncSetAttribute(kernel->function, CU_FUNC_MAX_DYNAMIC_SHARED, (int)dynamic),
                          "raising the limit of dynamic shared memory");
  if (code == MW_SUCCESS) kernel->dynamic = dynamic;
  return code;
}

int cuda_launch_allow(cuda_kernel *kernel, const mw_launch_request *request) {
  return allow_shared(kernel, request->dynamic_shared);
}

/* Writes the handles of texture references that were bound anew since the last launch, in the stream's order. */
static int bind_references(cuda_stream *stream, cuda_kernel *kernel, const mw_launch_request *request) {
  cuda_unit *unit = kernel->unit;
  int code = MW_SUCCESS;
  mw_lock(&unit->lock);
  for (size_t i = 0; i < request->reference_count && code == MW_SUCCESS; i++) {
    cuda_symbol *symbol = &unit->symbols[kernel->reference_symbols[i]];
    if (symbol->bound == request->references[i]) continue;
    code = cuda_outcome(
        unit->device,
        cu.cuMemcpyHtoDAsync(symbol->info.address, &request->references[i], sizeof(uint64_t), stream->handle),
        "binding a texture reference");
    if (code == MW_SUCCESS) symbol->bound = request->references[i];
  }
  mw_unlock(&unit->lock);
  return code;
}

/* The unit of a template instance has copies of the module's variables: copies them there before the launch, and back
   after it. */
static int __attribute__((cold, noinline)) share(cuda_stream *stream, cuda_unit *unit, bool back) {
  for (size_t i = 0; i < unit->symbol_count; i++) {
    const mw_symbol_info *own = &unit->symbols[i].info;
    if (!unit->shared_with[i] || own->reference || (back && own->constant)) continue;
    const mw_symbol_info *shared = &unit->parent->symbols[unit->shared_with[i] - 1].info;
    uint64_t target = back ? shared->address : own->address, source = back ? own->address : shared->address;
    int code = cuda_outcome(unit->device, cu.cuMemcpyDtoDAsync(target, source, own->size, stream->handle),
                            "sharing a variable");
    if (code != MW_SUCCESS) return code;
  }
  return MW_SUCCESS;
}

/* A launch that has several possible causes of failure: CUDA's own sentence, and the figures. */
static int __attribute__((cold)) fail_launch(cuda_stream *stream, cuda_kernel *kernel, const mw_launch_request *r,
                                             CUresult result) {
  const char *text = NULL;
  if (cuda_is_fatal(result)) {
    cuda_stream_blames(stream, &kernel->info, r->site);
    return cuda_outcome(kernel->unit->device, result, "a launch");
  }
  cu.cuGetErrorString(result, &text);
  unsigned long long threads = (unsigned long long)r->block[0] * r->block[1] * r->block[2];
  int code =
      fail(cuda_code(result),
           "%s cannot be launched: %s. Grid (%u, %u, %u), block (%u, %u, %u) = %llu threads x %d registers = %llu; "
           "shared memory %zu + %zu bytes",
           kernel->info.name, text ? text : "CUDA does not say why", r->grid[0], r->grid[1], r->grid[2], r->block[0],
           r->block[1], r->block[2], threads, kernel->info.registers,
           threads * (unsigned long long)kernel->info.registers, kernel->info.shared_bytes, r->dynamic_shared);
  mw_error_kernel(kernel->info.name, NULL, NULL);
  return code;
}

/* The blocks of a cooperative launch wait for each other, so all must be resident at once. */
static int check_cooperative(cuda_kernel *kernel, const mw_launch_request *r) {
  int each = 0;
  unsigned long long blocks = (unsigned long long)r->grid[0] * r->grid[1] * r->grid[2];
  int threads = (int)(r->block[0] * r->block[1] * r->block[2]);
  int code = cuda_outcome(
      kernel->unit->device,
      cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel->function, threads, r->dynamic_shared), "a launch");
  unsigned long long most = (unsigned long long)each * (unsigned)kernel->unit->device->multiprocessors;
  if (code != MW_SUCCESS || blocks <= most) return code;
  code = fail(MW_COOPERATIVE_LAUNCH_TOO_LARGE,
              "all blocks of a cooperative launch are resident at once, and the device holds %llu blocks of %d threads "
              "(%d on each of %d multiprocessors): %s is launched with %llu. Give each thread more work",
              most, threads, each, kernel->unit->device->multiprocessors, kernel->info.name, blocks);
  mw_error_kernel(kernel->info.name, NULL, NULL);
  return code;
}

/* Clusters of the launch's own; those of __cluster_dims__ are the kernel's. */
static bool sets_clusters(const cuda_kernel *kernel, const mw_launch_request *r) {
  return r->cluster[0] && !kernel->info.cluster[0];
}

/* Whether cuLaunchKernelEx launches it: because of attributes, or since it takes a pointer to each parameter. A
   kernel's block of parameters begins at a multiple of 16, and the driver copies one that it gets whole to there: a
   parameter with a larger alignment (a CUtensorMap, 64) is elsewhere then. */
static bool has_attributes(const cuda_kernel *kernel, const mw_launch_request *r) {
  return r->cooperative || r->dependent || sets_clusters(kernel, r) || kernel->is_aligned;
}

static CUresult __attribute__((cold, noinline)) launch_with_attributes(const cuda_stream *stream, cuda_kernel *kernel,
                                                                       const mw_launch_request *r,
                                                                       uint64_t *extra_params, size_t count) {
  void *params[PARAMS_MOST];
  for (size_t i = 0; i < count && kernel->info.param_count + i < PARAMS_MOST; i++)
    params[kernel->info.param_count + i] = &extra_params[i];
  for (size_t i = 0; i < kernel->info.param_count && i < PARAMS_MOST; i++)
    params[i] = (char *)r->params + kernel->info.params[i].offset;
  CUlaunchAttribute attributes[3] = {0};
  CUlaunchConfig config = {.grid = {r->grid[0], r->grid[1], r->grid[2]},
                           .block = {r->block[0], r->block[1], r->block[2]},
                           .shared = (unsigned)r->dynamic_shared,
                           .stream = stream->handle,
                           .attributes = attributes};
  if (r->cooperative) attributes[config.count++] = (CUlaunchAttribute){.id = CU_LAUNCH_COOPERATIVE, .value.flag = 1};
  if (r->dependent)
    attributes[config.count++] = (CUlaunchAttribute){.id = CU_LAUNCH_STREAM_SERIALIZATION, .value.flag = 1};
  if (sets_clusters(kernel, r)) {
    CUlaunchAttribute *clusters = &attributes[config.count++];
    clusters->id = CU_LAUNCH_CLUSTER_DIMENSION;
    memcpy(clusters->value.dimension, r->cluster, sizeof clusters->value.dimension);
  }
  return cu.cuLaunchKernelEx(&config, kernel->function, params, NULL);
}

/* A GPU takes more than 8 blocks where the kernel says so. */
static int allow_clusters(cuda_kernel *kernel, const mw_launch_request *r) {
  enum { PORTABLE = 8 };
  if (r->cluster[0] * r->cluster[1] * r->cluster[2] <= PORTABLE) return MW_SUCCESS;
  return cuda_outcome(kernel->unit->device, cu.cuFuncSetAttribute(kernel->function, CU_FUNC_LARGE_CLUSTERS, 1),
                      "allowing clusters of more than 8 blocks");
}

int cuda_clusters(const mw_launch_request *r, int *count) {
  cuda_kernel *kernel = r->kernel;
  CUlaunchAttribute attributes[1] = {{.id = CU_LAUNCH_CLUSTER_DIMENSION}};
  const CUlaunchConfig config = {.grid = {r->grid[0], r->grid[1], r->grid[2]},
                                 .block = {r->block[0], r->block[1], r->block[2]},
                                 .shared = (unsigned)r->dynamic_shared,
                                 .attributes = attributes,
                                 .count = sets_clusters(kernel, r) ? 1 : 0};
  memcpy(attributes[0].value.dimension, r->cluster, sizeof attributes[0].value.dimension);
  int code = cuda_enter(kernel->unit->device);
  if (code == MW_SUCCESS) code = allow_shared(kernel, r->dynamic_shared);
  if (code == MW_SUCCESS) code = allow_clusters(kernel, r);
  if (code != MW_SUCCESS) return code;
  return cuda_outcome(kernel->unit->device, cu.cuOccupancyMaxActiveClusters(count, kernel->function, &config),
                      "the occupancy of clusters");
}

static inline CUresult launch(const cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *r) {
  size_t bytes = r->param_bytes;
  void *extra[] = {PARAM_POINTER, (void *)r->params, PARAM_SIZE, &bytes, PARAM_END};
  return cu.cuLaunchKernel(kernel->function, r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1], r->block[2],
                           (unsigned)r->dynamic_shared, stream->handle, NULL, bytes ? extra : NULL);
}

/* Whether a launch needs no preparation. */
static bool is_ready(const cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *r) {
  const cuda_device *device = stream->device;
  const cuda_unit *unit = kernel->unit;
  return !unit->shares && !unit->guarded && !device->check && !r->cooperative && !r->dependent && !r->cluster[0] &&
         r->reference_count == 0 && r->dynamic_shared <= kernel->dynamic && stream->epoch == device->epoch &&
         unit->epoch == device->epoch && atomic_load_explicit(&device->live_holds, memory_order_relaxed) == 0 &&
         cuda_is_entered(device);
}

/* Appends to a kernel's parameters: the launch number, the extents of the arrays that pointers refer to
   (failure_reports.c), and in a checked or measured run an address (check/, measure/). */
static int __attribute__((cold)) append_extra(cuda_stream *stream, const cuda_kernel *kernel,
                                              const mw_launch_request *request, unsigned *number,
                                              uint64_t *extra_params) {
  int code = cuda_guard_number(stream->device, kernel->unit, number);
  *extra_params++ = *number;
  for (size_t i = 0; i < kernel->found_count; i++) {
    uint64_t address;
    memcpy(&address, (const char *)request->params + kernel->info.params[kernel->found[i]].offset, sizeof address);
    cuda_extent extent = cuda_heaps_find(address);
    *extra_params++ = extent.address;
    *extra_params++ = extent.bytes;
  }
  if (code == MW_SUCCESS && kernel->unit->followed) code = cuda_check_launch(stream, kernel, request, extra_params);
  if (code == MW_SUCCESS && kernel->unit->measured) code = cuda_measure_launch(kernel, request, extra_params);
  return code;
}

static int __attribute__((cold, noinline)) launch_numbered(cuda_stream *stream, cuda_kernel *kernel,
                                                           const mw_launch_request *request) {
  cuda_unit *unit = kernel->unit;
  unsigned number;
  _Alignas(16) unsigned char params[PARAM_BYTES_MOST];
  size_t place = (kernel->info.param_bytes + 7) & ~(size_t)7,
         count = 1 + 2 * kernel->found_count + unit->followed + unit->measured;
  uint64_t *extra_params = (uint64_t *)(void *)(params + place);
  mw_launch_request with = *request;
  if (place + count * sizeof *extra_params > PARAM_BYTES_MOST)
    return fail(MW_INVALID_VALUE, "%s takes %zu bytes of parameters: too many for a kernel with checks, which adds %zu",
                kernel->info.name, kernel->info.param_bytes, count * sizeof *extra_params);
  int code = append_extra(stream, kernel, request, &number, extra_params);
  if (code != MW_SUCCESS) return code;
  if (request->param_bytes) memcpy(params, request->params, request->param_bytes);
  with.params = params;
  with.param_bytes = place + count * sizeof *extra_params;
  bool first = atomic_fetch_add(&stream->device->guarded, 1) == 0;
  CUresult result;
  do
    result = has_attributes(kernel, request) ? launch_with_attributes(stream, kernel, &with, extra_params, count)
                                             : launch(stream, kernel, &with);
  while (cuda_heap_make_room(stream->device, result));
  if (result != 0) {
    atomic_fetch_sub(&stream->device->guarded, 1);
    return fail_launch(stream, kernel, request, result);
  }
  code = unit->shares ? share(stream, unit, true) : MW_SUCCESS;
  cuda_stream_launched_numbered(stream, kernel, request, number);
  if (first) cuda_monitor_wake(stream->device);
  return code;
}

static int __attribute__((cold, noinline)) prepare(cuda_stream *stream, cuda_kernel *kernel,
                                                   const mw_launch_request *request) {
  cuda_unit *unit = kernel->unit;
  int code = cuda_stream_enter(stream);
  if (code == MW_SUCCESS && unit->epoch != unit->device->epoch)
    code = fail(MW_INVALID_RESOURCE_HANDLE, "the module of %s was lost when the device was reset: compile it again",
                kernel->info.name);
  if (code == MW_SUCCESS) code = allow_shared(kernel, request->dynamic_shared);
  if (code == MW_SUCCESS && request->reference_count) code = bind_references(stream, kernel, request);
  if (code == MW_SUCCESS && unit->shares) code = share(stream, unit, false);
  if (code == MW_SUCCESS && request->cooperative) code = check_cooperative(kernel, request);
  if (code == MW_SUCCESS && request->cluster[0]) code = allow_clusters(kernel, request);
  if (code == MW_SUCCESS) cuda_stream_inherit_holds(stream);
  return code;
}

int cuda_launch(void *handle, const mw_launch_request *request) {
  cuda_stream *stream = handle;
  cuda_kernel *kernel = request->kernel;
  if (!mw_likely(is_ready(stream, kernel, request))) {
    int code = prepare(stream, kernel, request);
    if (code != MW_SUCCESS) return code;
    if (kernel->unit->numbered) return launch_numbered(stream, kernel, request);
    cuda_check_unfollowed(stream);
  }
  CUresult result;
  do
    result = mw_likely(!has_attributes(kernel, request)) ? launch(stream, kernel, request)
                                                         : launch_with_attributes(stream, kernel, request, NULL, 0);
  while (!mw_likely(result == 0) && cuda_heap_make_room(stream->device, result));
  if (result != 0) return fail_launch(stream, kernel, request, result);
  if (!mw_likely(!kernel->unit->guarded)) atomic_fetch_add(&stream->device->guarded, 1);
  if (!mw_likely(!kernel->unit->shares)) {
    int code = share(stream, kernel->unit, true);
    if (code != MW_SUCCESS) return code;
  }
  cuda_stream_launched(stream, kernel, request);
  return MW_SUCCESS;
}
