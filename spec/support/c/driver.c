/* The driver API: contexts, modules, parameters and launches, memory, streams and events. */
#include "check.h"

static const char source[] =
    "__device__ int counter = 3;\n"
    "extern \"C\" __global__ void typed(char c, float *p, int n, float f, double d) {\n"
    "  p[0] = c; p[1] = n; p[2] = f; p[3] = d; p[4] = blockDim.x; p[5] = gridDim.y; }\n"
    "extern \"C\" __global__ void add(int *p, int value) { atomicAdd(p, value); }\n"
    "extern \"C\" __global__ void wild(int *p) { p[1 << 28] = 1; }\n"
    "extern \"C\" __global__ void sum(int *out) { extern __shared__ int cell[]; cell[threadIdx.x] = 1;\n"
    "  __syncthreads(); if (threadIdx.x == 0) { *out = 0; for (int i = 0; i < blockDim.x; i++) *out += cell[i]; } }\n";

static CUmodule module;

static void test_before_init(void) {
  int count;
  CUcontext context;
  CUdeviceptr p;
  CODE(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  CODE(CUDA_ERROR_NOT_INITIALIZED, cuCtxCreate(&context, 0, 0));
  CODE(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&p, 4));
  CODE(CUDA_ERROR_INVALID_VALUE, cuInit(1));
  OK(cuInit(0));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 4));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
}

static void test_devices(void) {
  CUdevice device;
  CUdevprop prop;
  int count, major, minor, value;
  char name[256], short_name[5];
  size_t bytes;
  const char *text;
  OK(cuDeviceGetCount(&count));
  EXPECT(count >= 1);
  OK(cuDeviceGet(&device, 0));
  CODE(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, count));
  OK(cuDeviceGetName(name, sizeof name, 0));
  OK(cuDeviceGetName(short_name, sizeof short_name, 0));
  EXPECT(strncmp(name, short_name, 4) == 0 && strlen(short_name) == 4);
  OK(cuDeviceTotalMem(&bytes, 0));
  OK(cuDeviceComputeCapability(&major, &minor, 0));
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  EXPECT(value == major && bytes > 0);
  CODE(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0));
  OK(cuDeviceGetProperties(&prop, 0));
  EXPECT(prop.SIMDWidth == 32 && prop.maxThreadsPerBlock >= 512);
  CODE(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetProperties(&prop, 99));
  OK(cuDriverGetVersion(&value));
  EXPECT(value == CUDA_VERSION);
  OK(cuGetErrorName(CUDA_ERROR_INVALID_HANDLE, &text));
  EXPECT(strcmp(text, "CUDA_ERROR_INVALID_HANDLE") == 0);
  OK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT(strcmp(text, "invalid argument") == 0);
  CODE(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
}

static void test_contexts(void) {
  CUcontext first, second, got, primary;
  CUdevice device;
  CUdeviceptr p, q;
  CUstream stream;
  unsigned flags;
  size_t bytes, old;
  int least, greatest;
  CODE(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(&first, 99, 0));
  CODE(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate(&first, 0, 99));
  OK(cuCtxCreate(&first, CU_CTX_SCHED_SPIN, 0));
  OK(cuMemAlloc(&p, 16));
  OK(cuCtxCreate(&second, 0, 0));
  OK(cuMemAlloc(&q, 16));
  OK(cuStreamCreate(&stream, 0));
  OK(cuCtxGetCurrent(&got));
  EXPECT(got == second);
  OK(cuCtxPopCurrent(&got));
  EXPECT(got == second);
  OK(cuCtxGetCurrent(&got));
  EXPECT(got == first);
  OK(cuCtxGetDevice(&device));
  EXPECT(device == 0);
  OK(cuCtxGetFlags(&flags));
  EXPECT(flags == CU_CTX_SCHED_SPIN);
  OK(cuCtxGetApiVersion(first, &flags));
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  OK(cuCtxGetLimit(&old, CU_LIMIT_STACK_SIZE));
  OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536));
  OK(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
  EXPECT(bytes == 65536);
  OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, old));
  CODE(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&bytes, (CUlimit)77));
  /* What was made in a context goes with it, and nothing else. */
  OK(cuCtxDestroy(second));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemFree(q));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(second));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(second));
  OK(cuMemsetD8(p, 1, 16));
  /* Attachments are counted. */
  OK(cuCtxAttach(&got, 0));
  EXPECT(got == first);
  CODE(CUDA_ERROR_INVALID_VALUE, cuCtxAttach(&got, 1));
  OK(cuCtxDetach(first));
  OK(cuMemsetD8(p, 2, 16));
  OK(cuCtxPushCurrent(first));
  OK(cuCtxPopCurrent(NULL));
  OK(cuCtxSetCurrent(first));
  OK(cuCtxDetach(first));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&got));
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuCtxSetCurrent(primary));
  OK(cuMemAlloc(&p, 16));
  OK(cuDevicePrimaryCtxReset(0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(primary));
  OK(cuCtxSetCurrent(NULL));
  OK(cuDevicePrimaryCtxRelease(0));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
}

static void test_modules(void) {
  CUmodule other;
  CUfunction function, same;
  CUdeviceptr counter;
  size_t bytes;
  int value = 0;
  CODE(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&other, "/nowhere.mwo"));
  CODE(CUDA_ERROR_INVALID_SOURCE, cuModuleLoadData(&other, "__global__ void f() { nothing; }"));
  CODE(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&other, "\177ELF and nothing that an object has behind it, "
                                                          "which is long enough to be looked at: ................"));
  OK(cuModuleLoadDataEx(&other, source, 0, NULL, NULL));
  OK(cuModuleGetFunction(&function, other, "add"));
  OK(cuModuleGetFunction(&same, other, "add"));
  EXPECT(function == same);
  CODE(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, other, "ad"));
  CODE(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&function, other, NULL));
  CODE(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&counter, &bytes, other, "nothing"));
  OK(cuModuleGetGlobal(&counter, &bytes, other, "counter"));
  OK(cuMemcpyDtoH(&value, counter, sizeof value));
  EXPECT(bytes == 4 && value == 3);
  OK(cuModuleUnload(other));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(other));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuFuncSetSharedSize(same, 0));
  OK(cuModuleLoadFatBinary(&module, source));
}

static void test_parameters(void) {
  CUfunction typed = function_of(module, "typed");
  CUdeviceptr p;
  float got[6];
  double d = 0.25;
  char c = -7;
  OK(cuMemAlloc(&p, sizeof got));
  OK(cuFuncSetBlockShape(typed, 1, 1, 1));
  CODE(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(typed, 0, 1, 1));
  OK(cuParamSetv(typed, 0, &c, 1));
  OK(cuParamSetv(typed, 8, &p, sizeof p));
  OK(cuParamSeti(typed, 16, 42));
  OK(cuParamSetSize(typed, 32));
  CODE(CUDA_ERROR_INVALID_VALUE, cuLaunch(typed));
  EXPECT(strstr(mwCudaErrorMessage(), "'f'"));
  OK(cuParamSetf(typed, 20, 1.5f));
  OK(cuParamSetv(typed, 24, &d, sizeof d));
  OK(cuLaunchGrid(typed, 1, 2));
  OK(cuMemcpyDtoH(got, p, sizeof got));
  EXPECT(got[0] == -7 && got[1] == 42 && got[2] == 1.5f && got[3] == 0.25f && got[4] == 1 && got[5] == 2);
  OK(cuParamSetSize(typed, 20));
  CODE(CUDA_ERROR_INVALID_VALUE, cuLaunch(typed));
  CODE(CUDA_ERROR_INVALID_VALUE, cuParamSeti(typed, 4094, 1));
  CODE(CUDA_ERROR_INVALID_VALUE, cuParamSetSize(typed, 5000));
  CODE(CUDA_ERROR_INVALID_VALUE, cuParamSetTexRef(typed, 3, NULL));
  CODE(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(typed, 0, 1));
  OK(cuMemFree(p));
}

static void test_launches(void) {
  CUfunction add = function_of(module, "add"), sum = function_of(module, "sum"), wild = function_of(module, "wild");
  CUdeviceptr p;
  CUstream stream;
  int value = 5, total = 0, blocks;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuMemAlloc(&p, 4));
  OK(cuMemsetD32(p, 0, 1));
  void *parameters[] = {&p, &value};
  OK(cuLaunchKernel(add, 2, 1, 1, 10, 1, 1, 0, stream, parameters, NULL));
  struct {
    CUdeviceptr p;
    int value;
  } block = {p, 100};
  size_t size = 12;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
  CODE(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra));
  CODE(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 5000, 1, 1, 0, stream, parameters, NULL));
  OK(cuFuncSetBlockShape(add, 3, 1, 1));
  OK(cuParamSetv(add, 0, &p, 8));
  OK(cuParamSeti(add, 8, 1000));
  OK(cuParamSetSize(add, 12));
  OK(cuLaunchGridAsync(add, 1, 1, stream));
  value = 10000;
  OK(cuLaunchCooperativeKernel(add, 2, 1, 1, 2, 1, 1, 0, stream, parameters));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&total, p, 4));
  EXPECT(total == 100 + 100 + 3000 + 40000);
  OK(cuFuncSetBlockShape(sum, 64, 1, 1));
  OK(cuFuncSetSharedSize(sum, 256));
  OK(cuParamSetv(sum, 0, &p, 8));
  OK(cuParamSetSize(sum, 8));
  OK(cuLaunch(sum));
  OK(cuMemcpyDtoH(&total, p, 4));
  EXPECT(total == 64);
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, sum));
  EXPECT(value >= 512);
  OK(cuFuncSetAttribute(sum, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 512));
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, sum));
  EXPECT(value == 512);
  CODE(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(&value, (CUfunction_attribute)99, sum));
  OK(cuFuncSetCacheConfig(sum, CU_FUNC_CACHE_PREFER_SHARED));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, 64, 256));
  EXPECT(blocks >= 1);
  if (!on_gpu()) { /* which would be lost */
    OK(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CODE(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    EXPECT(strstr(mwCudaErrorMessage(), "wild"));
    OK(cuCtxSynchronize());
  }
  OK(cuMemFree(p));
  OK(cuStreamDestroy(stream));
}

static int calls;

static void note(void *data) { calls += *(int *)data; }

static void note_status(CUstream stream, CUresult status, void *data) {
  if (stream && status == CUDA_SUCCESS) calls += *(int *)data;
}

static void test_streams(void) {
  CUstream stream, urgent;
  CUevent first, last;
  float ms = -1;
  int priority, three = 3, least, greatest;
  unsigned flags;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  OK(cuStreamCreate(&stream, 0));
  OK(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, greatest));
  OK(cuStreamGetPriority(urgent, &priority));
  EXPECT(priority == greatest);
  OK(cuStreamGetFlags(urgent, &flags));
  EXPECT(flags == CU_STREAM_NON_BLOCKING);
  OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
  OK(cuEventCreate(&last, CU_EVENT_DEFAULT));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, first, last));
  OK(cuEventRecord(first, stream));
  OK(cuStreamAddCallback(stream, note_status, &three, 0));
  OK(cuLaunchHostFunc(stream, note, &three));
  OK(cuEventRecord(last, stream));
  OK(cuStreamWaitEvent(urgent, last, 0));
  OK(cuStreamSynchronize(urgent));
  EXPECT(calls == 6);
  OK(cuEventSynchronize(last));
  OK(cuEventQuery(last));
  OK(cuEventElapsedTime(&ms, first, last));
  EXPECT(ms >= 0);
  OK(cuStreamQuery(stream));
  OK(cuEventDestroy(first));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(first));
  OK(cuEventDestroy(last));
  OK(cuStreamDestroy(stream));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
  OK(cuStreamDestroy(urgent));
}

static void test_memory(void) {
  CUdeviceptr p, q, base, mapped;
  CUcontext context;
  unsigned char bytes[64], *host;
  unsigned short *halves;
  size_t pitch, size, unused, total;
  unsigned flags;
  for (int i = 0; i < 64; i++) bytes[i] = (unsigned char)i;
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&p, 0));
  CODE(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, (size_t)1 << 50));
  OK(cuMemAlloc(&p, 64));
  OK(cuMemAlloc(&q, 64));
  OK(cuMemcpyHtoD(p, bytes, 64));
  OK(cuMemcpyDtoD(q, p, 64));
  OK(cuMemcpy(p, q, 64));
  OK(cuMemcpyAsync(q, p, 64, NULL));
  OK(cuMemcpyDtoDAsync(p, q, 64, NULL));
  OK(cuCtxGetCurrent(&context));
  OK(cuMemcpyPeer(q, context, p, context, 64));
  memset(bytes, 0, sizeof bytes);
  OK(cuMemcpyDtoH(bytes, q, 64));
  EXPECT(bytes[1] == 1 && bytes[63] == 63);
  OK(cuMemcpyHtoDAsync(p, bytes, 64, NULL));
  OK(cuMemcpyDtoHAsync(bytes, p, 64, NULL));
  OK(cuCtxSynchronize());
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p, bytes, 65));
  OK(cuMemGetAddressRange(&base, &size, p + 10));
  EXPECT(base == p && size == 64);
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemGetAddressRange(&base, &size, 12345));
  OK(cuMemGetInfo(&unused, &total));
  EXPECT(unused <= total);
  OK(cuMemsetD8(p, 7, 3));
  OK(cuMemsetD16(p + 4, 0x0102, 2));
  OK(cuMemsetD32(p + 8, 0x01020304, 1));
  OK(cuMemsetD8Async(p + 12, 9, 1, NULL));
  OK(cuMemsetD16Async(p + 14, 0x0506, 1, NULL));
  OK(cuMemsetD32Async(p + 16, 0x0708090a, 1, NULL));
  OK(cuMemcpyDtoH(bytes, p, 64));
  EXPECT(bytes[0] == 7 && bytes[2] == 7 && bytes[3] == 3 && bytes[4] == 2 && bytes[7] == 1 && bytes[8] == 4);
  EXPECT(bytes[12] == 9 && bytes[14] == 6 && bytes[16] == 10 && bytes[19] == 7);
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(p + 2, 0, 1));
  OK(cuMemFree(q));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemFree(q));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemFree(0));
  OK(cuMemAllocPitch(&q, &pitch, 20, 3, 4));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&base, &size, 20, 3, 3));
  OK(cuMemsetD2D8(q, pitch, 1, 20, 3));
  OK(cuMemsetD2D16(q, pitch, 0x0202, 2, 2));
  OK(cuMemsetD2D32(q + 8, pitch, 0x03030303, 1, 1));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32(q, 8, 0, 20, 2));
  CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = q,
                        .srcPitch = pitch,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = bytes,
                        .dstPitch = 20,
                        .WidthInBytes = 20,
                        .Height = 3};
  OK(cuMemcpy2D(&copy));
  EXPECT(bytes[0] == 2 && bytes[4] == 1 && bytes[8] == 3 && bytes[20] == 2 && bytes[28] == 1 && bytes[40] == 1);
  OK(cuMemFree(q));
  OK(cuMemFree(p));
  OK(cuMemAllocHost((void **)&host, 64));
  OK(cuMemFreeHost(host));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(host));
  OK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  OK(cuMemHostGetFlags(&flags, host));
  EXPECT(flags == CU_MEMHOSTALLOC_DEVICEMAP);
  OK(cuMemHostGetDevicePointer(&mapped, host, 0));
  OK(cuMemsetD8(mapped, 5, 64));
  OK(cuCtxSynchronize());
  EXPECT(host[63] == 5);
  OK(cuMemFreeHost(host));
  OK(cuMemHostRegister(bytes, sizeof bytes, 0));
  CODE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(bytes, sizeof bytes, 0));
  OK(cuMemHostUnregister(bytes));
  CODE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(bytes));
  OK(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
  halves = (unsigned short *)(uintptr_t)p;
  OK(cuMemsetD16(p, 77, 32));
  OK(cuCtxSynchronize());
  EXPECT(halves[31] == 77);
  OK(cuMemFree(p));
}

/* Both APIs work on the same things. */
static void test_runtime(void) {
  CUdeviceptr p;
  cudaStream_t stream;
  int value = 9, got = 0;
  OK(cuMemAlloc(&p, 4));
  OK(cudaMemcpy((void *)(uintptr_t)p, &value, 4, cudaMemcpyHostToDevice));
  OK(cudaStreamCreate(&stream));
  OK(cuMemcpyDtoHAsync(&got, p, 4, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT(got == 9);
  OK(cudaFree((void *)(uintptr_t)p));
  OK(cuStreamDestroy(stream));
}

int main(void) {
  CUcontext context;
  test_before_init();
  test_devices();
  test_contexts();
  OK(cuCtxCreate(&context, 0, 0));
  test_modules();
  test_parameters();
  test_launches();
  test_streams();
  test_memory();
  test_runtime();
  OK(cuModuleUnload(module));
  OK(cuCtxDestroy(context));
  return finish();
}
