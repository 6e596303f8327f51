/* The NVIDIA driver's table, and the functions that concern a whole device. */
#include "cuda/compile/compiler.h"
#include "cuda/cuda.h"
#include "cuda/check/check.h"
#include "cuda/measure/measure.h"
#include "cuda/fourier/cufft.h"
#include "cuda/linear/cublas.h"
#include "cuda/linear/cusolver.h"
#include "cuda/nccl/nccl.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- enumeration ---- */

static int device_count(int *count) {
  *count = 0;
  if (cuda_load() == MW_SUCCESS) return cuda_check(cu.cuDeviceGetCount(count), "counting the GPUs");
  mw_error_clear(); /* without a driver there are none; mw.doctor() says why */
  return MW_SUCCESS;
}

static int attribute(const cuda_device *device, int which, int *out) {
  return cuda_check(cu.cuDeviceGetAttribute(out, which, device->id), "reading attribute %d of cuda:%d", which,
                    device->ordinal);
}

/* ---- opening ---- */

/* A GPU is usable if kernels can be compiled for it. */
static int check_capability(cuda_device *device) {
  int pools = 0, cooperative = 0;
  int code = attribute(device, CU_COMPUTE_MAJOR, &device->major);
  if (code == MW_SUCCESS) code = attribute(device, CU_COMPUTE_MINOR, &device->minor);
  if (code == MW_SUCCESS) code = attribute(device, CU_MULTIPROCESSORS, &device->multiprocessors);
  if (code == MW_SUCCESS) code = attribute(device, CU_MEMORY_POOLS, &pools);
  if (code == MW_SUCCESS) code = attribute(device, CU_COOPERATIVE_LAUNCH, &cooperative);
  device->pools = pools != 0;
  if (code != MW_SUCCESS || device->major >= 5) return code;
  return fail(MW_NOT_SUPPORTED, "cuda:%d has compute capability %d.%d, and moonwarp needs 5.0", device->ordinal,
              device->major, device->minor);
}

static void device_close(void *handle) {
  cuda_device *device = handle;
  if (!device) return;
  cuda_setter_close(device);
  cuda_check_forget(device);
  cuda_guard_close(device);
  if (device->context && cuda_enter_quietly(device)) {
    cuda_linear_close(device);
    cuda_solver_close(device);
    cuda_fourier_close(device);
    cuda_heap_drop_cached(device);
    cuda_staging_close(device->staging);
  } else {
    free(device->staging);
  }
  cuda_context_close(device);
  cuda_heap_close(device->heap);
  pthread_mutex_destroy(&device->linear_lock);
  pthread_mutex_destroy(&device->fourier_lock);
  free(device->plans);
  pthread_mutex_destroy(&device->lock);
  free(device->loss);
  free(device);
}

static void start_limits(cuda_device *device) {
  size_t value;
  device->limits[MW_LIMIT_COMPILE_TIME] = 0;
  if (cu.cuCtxGetLimit(&value, CU_LIMIT_STACK) == 0) device->limits[MW_LIMIT_STACK] = (double)value;
  if (cu.cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP) == 0) device->limits[MW_LIMIT_HEAP] = (double)value;
  if (cu.cuCtxGetLimit(&value, CU_LIMIT_PENDING_LAUNCHES) == 0) device->limits[MW_LIMIT_LAUNCHES] = (double)value;
}

static int device_open(int ordinal, void **out) {
  int code = cuda_load();
  if (code != MW_SUCCESS) return code;
  cuda_device *device = mw_alloc(sizeof *device);
  device->ordinal = ordinal;
  mw_lock_init(&device->lock);
  mw_lock_init(&device->linear_lock);
  mw_lock_init(&device->fourier_lock);
  device->heap = cuda_heap_open();
  device->staging = cuda_staging_open();
  cuda_guard_open(device);
  code = cuda_check(cu.cuDeviceGet(&device->id, ordinal), "opening cuda:%d", ordinal);
  if (code == MW_SUCCESS) code = check_capability(device);
  if (code == MW_SUCCESS) code = cuda_context_open(device);
  if (code != MW_SUCCESS) {
    device_close(device);
    return code;
  }
  start_limits(device);
  *out = device;
  return MW_SUCCESS;
}

/* ---- facts ---- */

static int properties(void *handle, mw_properties *out) {
  cuda_device *device = handle;
  int pitch = 0, alignment = 0, pitch_alignment = 0, shared = 0, optin = 0, constant = 0, cache = 0, grid[3];
  *out = (mw_properties){.driver = "cuda", .major = device->major, .minor = device->minor};
  out->multiprocessors = device->multiprocessors;
  int code = cuda_check(cu.cuDeviceGetName(out->name, sizeof out->name, device->id), "reading a GPU's name");
  if (code == MW_SUCCESS)
    code = cuda_check(cu.cuDeviceTotalMem(&out->total_memory, device->id), "reading a GPU's memory size");
  struct {
    int which, *where;
  } const facts[] = {{CU_WARP_SIZE, &out->warp_size},
                     {CU_MAX_THREADS_PER_BLOCK, &out->max_threads_per_block},
                     {CU_MAX_BLOCK_X, &out->max_block[0]},
                     {CU_MAX_BLOCK_X + 1, &out->max_block[1]},
                     {CU_MAX_BLOCK_X + 2, &out->max_block[2]},
                     {CU_MAX_GRID_X, &grid[0]},
                     {CU_MAX_GRID_X + 1, &grid[1]},
                     {CU_MAX_GRID_X + 2, &grid[2]},
                     {CU_SHARED_PER_BLOCK, &shared},
                     {CU_SHARED_PER_BLOCK_OPTIN, &optin},
                     {CU_TOTAL_CONSTANT, &constant},
                     {CU_L2_CACHE_SIZE, &cache},
                     {CU_REGISTERS_PER_BLOCK, &out->registers_per_block},
                     {CU_CLOCK_RATE, &out->clock_khz},
                     {CU_MAX_PITCH, &pitch},
                     {CU_TEXTURE_ALIGNMENT, &alignment},
                     {CU_TEXTURE_PITCH_ALIGNMENT, &pitch_alignment}};
  for (size_t i = 0; i < MW_COUNT(facts) && code == MW_SUCCESS; i++)
    code = attribute(device, facts[i].which, facts[i].where);
  if (code != MW_SUCCESS) return code;
  for (int i = 0; i < 3; i++) out->max_grid[i] = grid[i];
  out->shared_per_block = (size_t)shared;
  out->shared_per_block_optin = (size_t)(optin > shared ? optin : shared);
  out->total_constant = (size_t)constant;
  out->l2_cache = (size_t)cache;
  out->max_cluster = device->major >= 9 ? 16 : 0; /* more than 8 is a function attribute: launch.c */
  out->memory_pitch = (size_t)pitch;
  out->texture_alignment = (size_t)alignment;
  out->texture_pitch_alignment = (size_t)pitch_alignment;
  return MW_SUCCESS;
}

static void priorities(void *handle, int *least, int *greatest) {
  *least = *greatest = 0;
  if (cuda_enter_quietly(handle)) cu.cuCtxGetStreamPriorityRange(least, greatest);
}

static void take_failures(void *device) { cuda_guard_take(device); }

/* ---- limits ---- */

static int limit_get(void *handle, mw_limit limit, double *value) {
  *value = ((cuda_device *)handle)->limits[limit];
  return MW_SUCCESS;
}

static int set_context_limit(cuda_device *device, mw_limit limit, double value) {
  int which = cuda_context_limit(limit);
  size_t now;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  CUresult result;
  do result = cu.cuCtxSetLimit(which, value < 1e15 ? (size_t)value : SIZE_MAX);
  while (cuda_heap_make_room(device, result));
  if (result == 1)
    return fail(MW_INVALID_VALUE,
                limit == MW_LIMIT_STACK ? "the driver refuses a stack of %.0f bytes for each thread"
                : limit == MW_LIMIT_LAUNCHES
                    ? "the driver refuses room for %.0f launches from kernels"
                    : "the driver refuses a heap of %.0f bytes: it can be set until a kernel that uses it has run",
                value);
  code = cuda_outcome(device, result, "setting a limit");
  if (code == MW_SUCCESS) code = cuda_outcome(device, cu.cuCtxGetLimit(&now, which), "setting a limit");
  if (code == MW_SUCCESS) device->limits[limit] = (double)now;
  return code;
}

static int limit_set(void *handle, mw_limit limit, double value) {
  cuda_device *device = handle;
  switch (limit) {
  case MW_LIMIT_STACK:
  case MW_LIMIT_LAUNCHES:
  case MW_LIMIT_HEAP: return set_context_limit(device, limit, value);
  case MW_LIMIT_COMPILE_TIME:
  case MW_LIMIT_COMPILE_MEMORY:
    if (value > 0 && !cuda_by_mwcc())
      return fail(MW_UNSUPPORTED_LIMIT, "for cuda:%d kernels are compiled in this process, where no limit holds",
                  device->ordinal);
    break;
  default: break;
  }
  device->limits[limit] = value;
  return limit == MW_LIMIT_TIME && value > 0 ? cuda_monitor_start(device) : MW_SUCCESS;
}

/* ---- peers ---- */

static bool can_reach(void *handle, void *other) {
  const cuda_device *device = handle, *peer = other;
  int can = 0;
  return cu.cuDeviceCanAccessPeer(&can, device->id, peer->id) == 0 && can;
}

/* Context access covers memory that was allocated directly; a pool has its own access list. Another part of the
   program may have enabled or disabled the access before. */
static int reach(void *handle, void *other, bool on) {
  cuda_device *device = handle, *peer = other;
  CUmemoryPool pool;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  CUresult result = on ? cu.cuCtxEnablePeerAccess(peer->context, 0) : cu.cuCtxDisablePeerAccess(peer->context);
  if (result == CUDA_PEER_ACCESS_ENABLED || result == CUDA_PEER_ACCESS_NOT_ENABLED) result = 0;
  if (result == 0 && peer->pools) {
    const CUDA_MEM_ACCESS access = {CU_LOCATION_DEVICE, device->id, on ? CU_ACCESS_READ_WRITE : CU_ACCESS_NONE};
    result = cu.cuDeviceGetDefaultMemPool(&pool, peer->id);
    if (result == 0) result = cu.cuMemPoolSetAccess(pool, &access, 1);
  }
  return cuda_outcome(device, result, on ? "enabling peer access" : "disabling peer access");
}

static void report(mw_text *out) {
  cuda_library_report(out);
  if (cuda_load() == MW_SUCCESS) {
    cuda_linear_report(out);
    cuda_solver_report(out);
    cuda_fourier_report(out);
    cuda_collective_report(out);
  }
  mw_error_clear();
}

const mw_driver mw_cuda_driver = {
    .name = "cuda",
    .far = true,
    .lingering = (size_t)2 << 30, /* a GPU works fast, and waits expensively */
    .report = report,
    .count = device_count,
    .open = device_open,
    .can_reach = can_reach,
    .reach = reach,
    .close = device_close,
    .reset = cuda_reset,
    .grows_stack = true,
    .properties = properties,
    .memory = cuda_memory,
    .limit_get = limit_get,
    .limit_set = limit_set,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .find = cuda_find,
    .reserves = cuda_reserves,
    .host = cuda_host,
    .linear = &cuda_linear,
    .fourier = &cuda_fourier,
    .collective = &cuda_collective,
    .array_new = cuda_array_make,
    .array_free = cuda_array_end,
    .array_copy = cuda_array_copy,
    .surface_new = cuda_surface_make,
    .texture_new = cuda_texture_make,
    .texture_free = cuda_texture_end,
    .surface_free = cuda_surface_end,
    .graphics = &cuda_graphics,
    .stream_new = cuda_stream_new,
    .priorities = priorities,
    .stream_free = cuda_stream_free,
    .stream_synchronize = cuda_stream_synchronize,
    .stream_query = cuda_stream_query,
    .stream_wait = cuda_stream_wait,
    .stream_call = cuda_stream_call,
    .hold_new = cuda_hold_new,
    .hold_reached = cuda_hold_reached,
    .hold_free = cuda_hold_free,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_query = cuda_event_query,
    .event_synchronize = cuda_event_synchronize,
    .event_elapsed = cuda_event_elapsed,
    .take_failures = take_failures,
    .interrupt = cuda_interrupt,
    .launch = cuda_launch,
    .clusters = cuda_clusters,
    .conditional_lists = true,
    .list_new = cuda_list_new,
    .list_is_good = cuda_list_is_good,
    .list_run = cuda_list_run,
    .list_free = cuda_list_end,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .copy_box = cuda_copy_box,
    .copy_between = cuda_copy_between,
    .fill_box = cuda_fill_box,
    .write = cuda_write,
    .read = cuda_read,
    .target = cuda_target,
    .compile = cuda_compile,
    .usable = cuda_usable,
    .load = cuda_load_unit,
    .unload = cuda_unload,
    .unit_kernel = cuda_unit_kernel,
    .unit_symbol = cuda_unit_symbol,
    .specialise = cuda_check_compile,
    .observe = cuda_measure_compile,
    .watch_new = cuda_measure_new,
    .watch_result = cuda_measure_result,
    .watch_free = cuda_measure_free,
    .check_begin = cuda_check_begin,
    .check_end = cuda_check_end,
    .tensor_map = cuda_tensor_map,
    .unit_log = cuda_unit_log,
    .unit_source = cuda_unit_source,
};
