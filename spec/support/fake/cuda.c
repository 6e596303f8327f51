/* A libcuda without a GPU: memory is the host's, streams run work at once, kernels do nothing. It logs every call and fails
 * on request, so that the driver in src/cuda can be tested anywhere.
 *
 *   FAKE_CUDA_LOG   a file for the calls, one a line
 *   FAKE_CUDA_FAIL  "name@n=code …": the n-th call of that function fails (from 1 on; * for every one); "name@0" is a
 *                   function that the library does not have
 *   FAKE_CUDA       "devices=2 peers=0 version=12000 capability=90 memory=1000000000 busy=1 fault=700": the machine.
 *                   busy=1: streams have work until they are waited for. fault: the code with which the first kernel
 *                   fails. tells=2 kind=1 many=3: the second launch reports a failure of that kind (mw_guard_kind), and
 *                   those after it do, three in all. overwrites=1: a report overwrites the one 64 before it, and is
 *                   incomplete until it was polled twice. endless=1: that launch runs until the host stops it. finds=1
 *                   value=2 notes=1: what launches of a checked run find (mw_follow_kind). Last,
 *                   "log=words": the log of the driver's compiler. */
#include "cuda/entry_points.h"
#include "device/moonwarp/checked_run/layout.h"
#include "device/moonwarp/measured_run/layout.h"
#include "device/moonwarp/guard_layout.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- its configuration ---- */

static long setting(const char *name, long otherwise) {
  const char *text = getenv("FAKE_CUDA");
  size_t length = strlen(name);
  for (const char *at = text; at && (at = strstr(at, name)); at++)
    if (at[length] == '=' && (at == text || at[-1] == ' ')) return strtol(at + length + 1, NULL, 10);
  return otherwise;
}

typedef struct counter {
  const char *name;
  int calls;
} counter;

static counter counters[160];

static int count_call(const char *name) {
  size_t i = 0;
  while (counters[i].name && strcmp(counters[i].name, name) != 0) i++;
  counters[i].name = name;
  return ++counters[i].calls;
}

/* The code that this call of the function is to fail with, or 0. */
static int told_to_fail(const char *name, int call) {
  const char *text = getenv("FAKE_CUDA_FAIL");
  size_t length = strlen(name);
  for (const char *at = text; at && (at = strstr(at, name)); at++) {
    if (at[length] != '@' || (at > text && at[-1] != ' ')) continue;
    const char *which = at + length + 1, *equals = strchr(which, '=');
    if (equals && (*which == '*' ? call > 0 : atoi(which) == call)) return atoi(equals + 1);
  }
  return 0;
}

static FILE *log_file;

__attribute__((format(printf, 2, 3))) static CUresult record(const char *name, const char *format, ...) {
  const char *path = getenv("FAKE_CUDA_LOG");
  if (!log_file && path) log_file = fopen(path, "a");
  int result = told_to_fail(name, count_call(name));
  if (log_file) {
    va_list args;
    va_start(args, format);
    fprintf(log_file, "%s", name);
    if (*format) fputc(' ', log_file);
    vfprintf(log_file, format, args);
    fprintf(log_file, result ? " -> %d\n" : "\n", result);
    fflush(log_file);
    va_end(args);
  }
  return result;
}

/* What the first kernel ends with: the context is lost from then on. */
static int lost, launches;

#define CALL(name, ...)                                                                                                \
  int failed = record(#name, __VA_ARGS__);                                                                             \
  if (failed) return failed

/* ---- functions that do nothing but succeed ---- */

#define GENERIC(name, version, params)                                                                                 \
  static CUresult generic_##name params { return record(#name, "%s", ""); }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
MW_LIBCUDA(GENERIC)
MW_LIBCUDA_GRAPHICS(GENERIC)
MW_LIBCUDA_GRAPHS(GENERIC)
#pragma GCC diagnostic pop
#undef GENERIC

/* ---- devices and contexts ---- */

static char contexts[8], one_stream[64], one_event[64], one_module, one_function[16];
static int streams, events, busy[64];

static CUresult fake_cuDriverGetVersion(int *version) {
  CALL(cuDriverGetVersion, "%s", "");
  *version = (int)setting("version", 13000);
  return 0;
}

static CUresult fake_cuDeviceGetCount(int *count) {
  CALL(cuDeviceGetCount, "%s", "");
  *count = (int)setting("devices", 1);
  return 0;
}

static CUresult fake_cuDeviceGet(CUdevice *device, int ordinal) {
  CALL(cuDeviceGet, "%d", ordinal);
  *device = ordinal;
  return 0;
}

static CUresult fake_cuDeviceGetName(char *name, int size, CUdevice device) {
  CALL(cuDeviceGetName, "%d", device);
  snprintf(name, (size_t)size, "Fake GPU %d", device);
  return 0;
}

static CUresult fake_cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  CALL(cuDeviceTotalMem, "%d", device);
  *bytes = (size_t)setting("memory", 1000000000);
  return 0;
}

static CUresult fake_cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  CALL(cuDeviceGetAttribute, "%d of %d", attribute, device);
  long capability = setting("capability", 90);
  switch (attribute) {
  case CU_COMPUTE_MAJOR: *value = (int)capability / 10; break;
  case CU_COMPUTE_MINOR: *value = (int)capability % 10; break;
  case CU_MAX_THREADS_PER_BLOCK:
  case CU_MAX_BLOCK_X:
  case CU_MAX_BLOCK_X + 1: *value = 1024; break;
  case CU_MAX_BLOCK_X + 2: *value = 64; break;
  case CU_MAX_GRID_X: *value = 2147483647; break;
  case CU_MAX_GRID_X + 1:
  case CU_MAX_GRID_X + 2: *value = 65535; break;
  case CU_SHARED_PER_BLOCK: *value = 48 << 10; break;
  case CU_SHARED_PER_BLOCK_OPTIN: *value = 227 << 10; break;
  case CU_WARP_SIZE: *value = 32; break;
  case CU_L2_CACHE_SIZE: *value = 4 << 20; break;
  case CU_MAX_PITCH: *value = 2147483647; break;
  case CU_TEXTURE_ALIGNMENT: *value = 512; break;
  case CU_TEXTURE_PITCH_ALIGNMENT: *value = 32; break;
  case CU_MULTIPROCESSORS: *value = 4; break;
  case CU_MEMORY_POOLS: *value = (int)setting("pools", 1); break;
  default: *value = 1;
  }
  return 0;
}

static CUresult fake_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  CALL(cuDevicePrimaryCtxRetain, "%d", device);
  *context = (CUcontext)&contexts[device];
  return 0;
}

static CUresult fake_cuDevicePrimaryCtxReset(CUdevice device) {
  CALL(cuDevicePrimaryCtxReset, "%d", device);
  lost = 0;
  return 0;
}

static CUresult fake_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  CALL(cuDeviceCanAccessPeer, "%d %d", device, peer);
  *can = (int)setting("peers", 1);
  return 0;
}

static CUresult fake_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  CALL(cuCtxEnablePeerAccess, "%d flags %u", (int)((char *)peer - contexts), flags);
  return 0;
}

static CUresult fake_cuMemPoolSetAccess(CUmemoryPool pool, const CUDA_MEM_ACCESS *access, size_t count) {
  (void)pool, (void)count;
  CALL(cuMemPoolSetAccess, "kind %d device %d access %d", access->kind, access->device, access->access);
  return 0;
}

static CUcontext current;

static CUresult fake_cuCtxSetCurrent(CUcontext context) {
  CALL(cuCtxSetCurrent, "%d", context ? (int)((char *)context - contexts) : -1);
  current = context;
  return 0;
}

static CUresult fake_cuCtxGetCurrent(CUcontext *context) {
  *context = current;
  return 0;
}

static CUresult fake_cuCtxGetLimit(size_t *value, int limit) {
  CALL(cuCtxGetLimit, "%d", limit);
  *value = limit == CU_LIMIT_STACK ? 1024 : 8 << 20;
  return 0;
}

static CUresult fake_cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CALL(cuCtxGetStreamPriorityRange, "%s", "");
  *least = 0;
  *greatest = -5;
  return 0;
}

static CUresult fake_cuGetErrorString(CUresult code, const char **text) {
  *text = code == 1 ? "invalid argument" : code == 2 ? "out of memory" : "a failure that was ordered";
  return 0;
}

static CUresult fake_cuGetErrorName(CUresult code, const char **name) {
  *name = code == 1 ? "CUDA_ERROR_INVALID_VALUE" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_ORDERED";
  return 0;
}

#include "memory.h"

/* ---- streams and events ---- */

static size_t number_of(CUstream stream) {
  return stream == CU_STREAM_LEGACY ? 0 : (size_t)((char *)stream - one_stream) + 1;
}

static CUresult fake_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  CALL(cuStreamCreateWithPriority, "flags %u priority %d", flags, priority);
  *stream = (CUstream)&one_stream[streams++ % 63];
  return 0;
}

static CUresult fake_cuEventCreate(CUevent *event, unsigned flags) {
  CALL(cuEventCreate, "flags %u", flags);
  *event = (CUevent)&one_event[events++ % 64];
  return 0;
}

static CUresult fake_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  (void)start, (void)end;
  CALL(cuEventElapsedTime, "%s", "");
  *milliseconds = 1.5f;
  return 0;
}

/* ---- parts of their own: they use what is above ---- */

#include "failing_kernels.h"
#include "graphs.h"
#include "images.h"

/* ---- modules ---- */

static char *globals[32];
static int global_count, function_count;
static _Alignas(16) char global_memory[32][4096];

static CUresult fake_cuModuleLoadData(CUmodule *module, const void *image) {
  CALL(cuModuleLoadData, "%.9s", memcmp(image, "\177ELF", 4) == 0 ? "ELF" : (const char *)image);
  *module = (CUmodule)&one_module;
  return 0;
}

/* What the driver's compiler writes: FAKE_CUDA's "log=words". */
static CUresult fake_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options,
                                        void **values) {
  (void)image;
  CALL(cuModuleLoadDataEx, "%u options", count);
  const char *log = strstr(getenv("FAKE_CUDA") ? getenv("FAKE_CUDA") : "", "log=");
  for (unsigned i = 0; i < count && log; i++)
    if (options[i] == CU_JIT_ERROR_LOG) snprintf(values[i], 100, "%s", log + 4);
  *module = NULL;
  return log ? 218 : 0;
}

/* Linking: the module is what cuModuleLoadData notes as "//linked". */
static CUresult fake_cuLinkCreate(unsigned count, int *options, void **values, CUlinkState *linker) {
  (void)options, (void)values;
  CALL(cuLinkCreate, "%u options", count);
  *linker = (CUlinkState)&one_module;
  return 0;
}

static CUresult fake_cuLinkAddFile(CUlinkState linker, int kind, const char *path, unsigned count, int *options,
                                   void **values) {
  (void)linker, (void)count, (void)options, (void)values;
  CALL(cuLinkAddFile, "%d %s", kind, path);
  return 0;
}

static CUresult fake_cuLinkComplete(CUlinkState linker, void **cubin, size_t *bytes) {
  static char linked[] = "//linked";
  (void)linker;
  CALL(cuLinkComplete, "%s", "");
  *cubin = linked, *bytes = sizeof linked;
  return 0;
}

static CUresult fake_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  (void)module;
  CALL(cuModuleGetFunction, "%s", name);
  *function = (CUfunction)&one_function[function_count++ % 16];
  return 0;
}

static CUresult fake_cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
  (void)module;
  CALL(cuModuleGetGlobal, "%s", name);
  globals[global_count % 32] = strdup(name);
  *address = (CUdeviceptr)(uintptr_t)global_memory[global_count++ % 32];
  if (strcmp(name, "__mw_guard") == 0) {
    guard = (mw_guard *)(uintptr_t)*address;
    *bytes = sizeof *guard;
    return 0;
  }
  const char *size = strstr(name, "_bytes_");
  *bytes = size ? (size_t)atoi(size + 7) : 8;
  return 0;
}

static CUresult fake_cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
  (void)function;
  CALL(cuFuncGetAttribute, "%d", attribute);
  *value = attribute == CU_FUNC_REGISTERS ? 32 : attribute == CU_FUNC_MAX_THREADS ? 1024 : 0;
  return 0;
}

static CUresult fake_cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  (void)function;
  CALL(cuFuncSetAttribute, "%d %d", attribute, value);
  return 0;
}

static CUresult fake_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                    unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                                    void **extra) {
  (void)function, (void)params;
  char bytes[3 * 64 + 1] = "";
  size_t size = extra ? *(size_t *)extra[3] : 0;
  for (size_t i = 0; i < size && i < 64; i++) sprintf(bytes + 2 * i, "%02x", ((unsigned char *)extra[1])[i]);
  CALL(cuLaunchKernel, "(%u,%u,%u) (%u,%u,%u) shared %u stream %zu params %s", gx, gy, gz, bx, by, bz, shared,
       number_of(stream), bytes);
  busy[number_of(stream)] = (int)setting("busy", 0);
  run_guarded(number_of(stream), extra ? extra[1] : NULL, size);
  run_followed(extra ? extra[1] : NULL, size);
  run_measured(extra ? extra[1] : NULL, size);
  if (launches++ == 0) lost = (int)setting("fault", 0);
  return 0;
}

static CUresult fake_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                                 size_t shared) {
  (void)function;
  CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, "%d %zu", threads, shared);
  *blocks = 2048 / threads;
  return 0;
}

/* ---- looking functions up ---- */

typedef void function(void);
typedef struct entry {
  const char *name;
  function *address;
} entry;

#define ENTRY(name) {#name, (function *)fake_##name},
static const entry special[] = {
    ENTRY(cuDriverGetVersion) ENTRY(cuDeviceGetCount) ENTRY(cuDeviceGet) ENTRY(cuDeviceGetName) ENTRY(cuDeviceTotalMem)
        ENTRY(cuDeviceGetAttribute) ENTRY(cuDevicePrimaryCtxRetain) ENTRY(cuDevicePrimaryCtxReset) ENTRY(
            cuDeviceCanAccessPeer) ENTRY(cuCtxEnablePeerAccess) ENTRY(cuMemPoolSetAccess) ENTRY(cuMemcpyPeerAsync)
            ENTRY(cuMemcpy3DPeerAsync) ENTRY(cuCtxSetCurrent) ENTRY(cuCtxGetCurrent) ENTRY(cuCtxGetLimit) ENTRY(
                cuCtxGetStreamPriorityRange) ENTRY(cuGetErrorString) ENTRY(cuGetErrorName) ENTRY(cuMemGetInfo)
                ENTRY(cuMemAlloc) ENTRY(cuMemAllocAsync) ENTRY(cuMemAllocManaged) ENTRY(cuMemHostAlloc) ENTRY(
                    cuMemFree) ENTRY(cuMemFreeAsync) ENTRY(cuMemFreeHost) ENTRY(cuMemcpyHtoDAsync)
                    ENTRY(cuMemcpyDtoHAsync) ENTRY(cuMemcpyDtoDAsync) ENTRY(cuMemcpyAsync) ENTRY(cuMemsetD8Async) ENTRY(
                        cuMemsetD16Async) ENTRY(cuMemsetD32Async) ENTRY(cuMemsetD2D8Async) ENTRY(cuMemsetD2D16Async)
                        ENTRY(cuMemsetD2D32Async) ENTRY(cuMemcpy3DAsync) ENTRY(cuStreamCreateWithPriority) ENTRY(
                            cuStreamSynchronize) ENTRY(cuStreamQuery) ENTRY(cuLaunchHostFunc) ENTRY(cuEventCreate)
                            ENTRY(cuEventElapsedTime) ENTRY(cuModuleLoadData) ENTRY(cuModuleLoadDataEx) ENTRY(
                                cuLinkCreate) ENTRY(cuLinkAddFile)
                                ENTRY(cuLinkComplete) ENTRY(cuModuleGetFunction) ENTRY(cuModuleGetGlobal) ENTRY(
                                    cuFuncGetAttribute) ENTRY(cuFuncSetAttribute) ENTRY(cuLaunchKernel)
                                    ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor) ENTRY(cuArray3DCreate) ENTRY(
                                        cuMipmappedArrayCreate) ENTRY(cuMipmappedArrayGetLevel) ENTRY(cuTexObjectCreate)
                                        ENTRY(cuSurfObjectCreate) ENTRY(cuGraphicsGLRegisterBuffer)
                                            ENTRY(cuGraphicsGLRegisterImage) ENTRY(cuGraphicsResourceGetMappedPointer)
                                                ENTRY(cuGraphicsSubResourceGetMappedArray) ENTRY(
                                                    cuGraphicsResourceGetMappedMipmappedArray) ENTRY(cuGLGetDevices)
                                                    ENTRY(cuGraphCreate) ENTRY(cuGraphAddKernelNode)
                                                        ENTRY(cuGraphAddMemcpyNode) ENTRY(cuGraphAddMemsetNode)
                                                            ENTRY(cuGraphConditionalHandleCreate) ENTRY(cuGraphAddNode)
                                                                ENTRY(cuGraphInstantiateWithFlags)
                                                                    ENTRY(cuGraphLaunch)};
#undef ENTRY

#define ENTRY(name, version, params) {#name, (function *)generic_##name},
static const entry generic[] = {MW_LIBCUDA(ENTRY) MW_LIBCUDA_GRAPHICS(ENTRY) MW_LIBCUDA_GRAPHS(ENTRY)};

CUresult cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *status);
CUresult cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *status) {
  (void)version, (void)flags, (void)status;
  *address = NULL;
  if (told_to_fail(name, 0)) return CUDA_NOT_FOUND;
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (strcmp(special[i].name, name) == 0) return memcpy(address, &special[i].address, sizeof(void *)), 0;
  for (size_t i = 0; i < sizeof generic / sizeof *generic; i++)
    if (strcmp(generic[i].name, name) == 0) return memcpy(address, &generic[i].address, sizeof(void *)), 0;
  return CUDA_NOT_FOUND;
}
