/* The runtime API's functions on linear memory, streams and launches: that they do what they are documented to. */
#include "check.h"

static const char source[] =
    "#include <cooperative_groups.h>\n"
    "__global__ void meet(int *p) { cooperative_groups::grid_group grid = cooperative_groups::this_grid();\n"
    "  atomicAdd(p, 1); grid.sync(); if (grid.thread_rank() == 0) atomicAdd(p, 100); }\n"
    "__device__ int counter;\n"
    "__constant__ float gain[4];\n"
    "__global__ void add(int *p, int n, int value) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) p[i] += value;\n"
    "}\n"
    "__global__ void scale(float *p) { p[threadIdx.x] *= gain[threadIdx.x]; }\n"
    "__global__ void count(int n) { atomicAdd(&counter, n); }\n"
    "struct pair { char a; double b; };\n"
    "__global__ void typed(char c, pair p, float *out) { out[0] = c; out[1] = p.a; out[2] = p.b; }\n"
    "__global__ void sum(int *out) {\n"
    "  extern __shared__ int cell[];\n"
    "  cell[threadIdx.x] = threadIdx.x;\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x == 0) { *out = 0; for (int i = 0; i < blockDim.x; i++) *out += cell[i]; }\n"
    "}\n"
    "template <typename T, int N> __global__ void fill(T *p) { p[threadIdx.x] = N; }\n";

static const dim3 one = {1, 1, 1};

static void launch_add(int *p, int n, int value, cudaStream_t stream) {
  void *arguments[] = {&p, &n, &value};
  OK(cudaLaunchKernel("add", make_dim3((unsigned)(n + 63) / 64, 1, 1), make_dim3(64, 1, 1), arguments, 0, stream));
}

static void test_devices(void) {
  struct cudaDeviceProp prop, wanted = {.major = 1};
  int count, device = -1, value, least, greatest, other = -1;
  unsigned flags;
  size_t bytes, old;
  char id[16];
  enum cudaFuncCache cache;
  enum cudaSharedMemConfig config;
  OK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);
  OK(cudaSetDevice(0));
  OK(cudaGetDevice(&device));
  EXPECT(device == 0);
  OK(cudaSetValidDevices(&device, 1));
  OK(cudaGetDeviceProperties(&prop, 0));
  EXPECT(prop.warpSize == 32 && prop.maxThreadsPerBlock >= 512 && prop.maxThreadsDim[2] >= 64 && *prop.name);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
  EXPECT(value == prop.maxThreadsPerBlock);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, 0));
  EXPECT(value == prop.maxGridSize[1]);
  OK(cudaChooseDevice(&device, &wanted));
  EXPECT(device >= 0 && device < count);
  OK(cudaSetDeviceFlags(cudaDeviceMapHost));
  OK(cudaGetDeviceFlags(&flags));
  EXPECT(flags == cudaDeviceMapHost);
  OK(cudaDeviceGetLimit(&old, cudaLimitStackSize));
  OK(cudaDeviceSetLimit(cudaLimitStackSize, 131072));
  OK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  EXPECT(bytes == 131072);
  OK(cudaDeviceSetLimit(cudaLimitStackSize, old));
  OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4096));
  OK(cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize));
  EXPECT(bytes == 4096);
  OK(cudaDeviceGetCacheConfig(&cache));
  OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  OK(cudaThreadSetLimit(cudaLimitPrintfFifoSize, 8192));
  OK(cudaThreadGetLimit(&bytes, cudaLimitPrintfFifoSize));
  EXPECT(bytes == 8192);
  CODE(cudaErrorInvalidValue, cudaThreadSetCacheConfig((enum cudaFuncCache)9));
  OK(cudaThreadSetCacheConfig(cudaFuncCachePreferL1));
  OK(cudaThreadGetCacheConfig(&cache));
  OK(cudaCtxResetPersistingL2Cache());
  OK(cudaDeviceGetSharedMemConfig(&config));
  OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeDefault));
  OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  OK(cudaDeviceGetByPCIBusId(&other, id));
  EXPECT(other == 0);
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  OK(cudaDeviceCanAccessPeer(&value, 0, 0));
  OK(cudaDriverGetVersion(&value));
  EXPECT(value >= 11020);
  OK(cudaRuntimeGetVersion(&value));
  EXPECT(strcmp(cudaGetErrorName(cudaErrorInvalidPitchValue), "cudaErrorInvalidPitchValue") == 0);
  EXPECT(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
  EXPECT(strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code") == 0);
}

static void test_errors(void) {
  cudaGetLastError();
  CODE(cudaSuccess, cudaPeekAtLastError());
  CODE(cudaErrorInvalidValue, cudaFree((void *)12345));
  EXPECT(strstr(mwCudaErrorMessage(), "nothing was allocated"));
  CODE(cudaErrorInvalidValue, cudaPeekAtLastError());
  OK(cudaDeviceSynchronize());
  CODE(cudaErrorInvalidValue, cudaGetLastError());
  CODE(cudaSuccess, cudaGetLastError());
  CODE(cudaErrorInvalidSource, mwCudaSource("__global__ void f() { nothing; }", NULL));
  EXPECT(strstr(mwCudaErrorMessage(), "nothing"));
  CODE(cudaErrorFileNotFound, mwCudaFile("/nowhere/kernel.cu", NULL));
  CODE(cudaErrorInvalidValue, mwCudaRegister(NULL, "x"));
  cudaGetLastError();
}

static void test_memory(void) {
  int values[256], back[256] = {0}, *p, *q, *host, *mapped;
  size_t pitch, unused, total;
  unsigned flags;
  struct cudaPointerAttributes attributes;
  for (int i = 0; i < 256; i++) values[i] = i;
  OK(cudaMalloc((void **)&p, sizeof values));
  OK(cudaMalloc((void **)&q, sizeof values));
  OK(cudaMemcpy(p, values, sizeof values, cudaMemcpyHostToDevice));
  launch_add(p, 256, 5, NULL);
  OK(cudaMemcpy(q, p, sizeof values, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpyPeer(p, 0, q, 0, sizeof values));
  OK(cudaMemcpyPeerAsync(q, 0, p, 0, sizeof values, NULL));
  OK(cudaMemcpy(back, q, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 5 && back[255] == 260);
  OK(cudaMemset(p, 1, 8));
  OK(cudaMemsetAsync(p + 2, 2, 4, NULL));
  OK(cudaMemcpy(back, p, 16, cudaMemcpyDefault));
  EXPECT(back[0] == 0x01010101 && back[1] == 0x01010101 && back[2] == 0x02020202 && back[3] == 8);
  OK(cudaMemGetInfo(&unused, &total));
  EXPECT(unused > 0 && unused <= total);
  OK(cudaPointerGetAttributes(&attributes, p + 3));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == p + 3 && !attributes.hostPointer);
  OK(cudaPointerGetAttributes(&attributes, values));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  OK(cudaFree(p));
  OK(cudaFree(q));

  OK(cudaMallocHost((void **)&host, 1024));
  OK(cudaFreeHost(host));
  OK(cudaHostAlloc((void **)&host, 1024, cudaHostAllocMapped | cudaHostAllocWriteCombined));
  OK(cudaHostGetFlags(&flags, host));
  EXPECT(flags == (cudaHostAllocMapped | cudaHostAllocWriteCombined));
  OK(cudaHostGetDevicePointer((void **)&mapped, host, 0));
  for (int i = 0; i < 256; i++) host[i] = i;
  launch_add(mapped, 256, 1, NULL);
  OK(cudaDeviceSynchronize());
  EXPECT(host[0] == 1 && host[255] == 256);
  OK(cudaFreeHost(host));
  OK(cudaMallocManaged((void **)&p, 1024, cudaMemAttachGlobal));
  p[7] = 1;
  OK(cudaMemAdvise(p, 1024, cudaMemAdviseSetReadMostly, 0));
  OK(cudaMemPrefetchAsync(p, 1024, cudaCpuDeviceId, NULL));
  OK(cudaStreamAttachMemAsync(NULL, p, 0, cudaMemAttachGlobal));
  launch_add(p, 256, 2, NULL);
  OK(cudaDeviceSynchronize());
  EXPECT(p[7] == 3);
  OK(cudaFree(p));
  OK(cudaHostRegister(values, sizeof values, cudaHostRegisterPortable));
  OK(cudaPointerGetAttributes(&attributes, values));
  EXPECT(attributes.type == cudaMemoryTypeHost);
  OK(cudaHostUnregister(values));

  char rows[4][32], *d;
  OK(cudaMallocPitch((void **)&d, &pitch, 20, 4));
  EXPECT(pitch >= 20 && pitch % 32 == 0);
  for (int i = 0; i < 4; i++) memset(rows[i], 'a' + i, sizeof rows[i]);
  OK(cudaMemset2D(d, pitch, '.', 20, 4));
  OK(cudaMemset2DAsync(d, pitch, '-', 20, 1, NULL));
  OK(cudaMemcpy2D(d + pitch + 2, pitch, rows[1], 32, 3, 2, cudaMemcpyHostToDevice));
  memset(rows, 0, sizeof rows);
  OK(cudaMemcpy2DAsync(rows, 32, d, pitch, 20, 4, cudaMemcpyDeviceToHost, NULL));
  OK(cudaDeviceSynchronize());
  EXPECT(strcmp(rows[0], "--------------------") == 0);
  EXPECT(strcmp(rows[1], "..bbb...............") == 0);
  EXPECT(strcmp(rows[2], "..ccc...............") == 0);
  EXPECT(strcmp(rows[3], "....................") == 0);
  OK(cudaFree(d));

  struct cudaPitchedPtr box;
  char cube[3][4][8], small[2][2][2] = {{"a", "b"}, {"c", "d"}};
  OK(cudaMalloc3D(&box, make_cudaExtent(8, 4, 3)));
  OK(cudaMemset3D(box, 'x', make_cudaExtent(8, 4, 3)));
  OK(cudaMemset3DAsync(box, 'y', make_cudaExtent(8, 4, 1), NULL));
  struct cudaMemcpy3DParms in = {.srcPtr = make_cudaPitchedPtr(small, 2, 2, 2),
                                 .dstPtr = box,
                                 .dstPos = make_cudaPos(5, 1, 1),
                                 .extent = make_cudaExtent(1, 2, 2),
                                 .kind = cudaMemcpyHostToDevice};
  OK(cudaMemcpy3D(&in));
  struct cudaMemcpy3DParms out = {.srcPtr = box,
                                  .dstPtr = make_cudaPitchedPtr(cube, 8, 8, 4),
                                  .extent = make_cudaExtent(8, 4, 3),
                                  .kind = cudaMemcpyDeviceToHost};
  OK(cudaMemcpy3DAsync(&out, NULL));
  OK(cudaDeviceSynchronize());
  EXPECT(cube[0][3][7] == 'y' && cube[1][0][5] == 'x' && cube[1][1][5] == 'a' && cube[1][2][5] == 'b');
  EXPECT(cube[2][1][5] == 'c' && cube[2][2][5] == 'd' && cube[2][2][6] == 'x');
  memset(cube, 0, sizeof cube);
  struct cudaMemcpy3DPeerParms peer = {
      .srcPtr = box, .dstPtr = make_cudaPitchedPtr(cube, 8, 8, 4), .extent = make_cudaExtent(8, 4, 3)};
  OK(cudaMemcpy3DPeer(&peer));
  EXPECT(cube[2][2][5] == 'd');
  OK(cudaMemcpy3DPeerAsync(&peer, NULL));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(box.ptr));
}

static void test_pool(void) {
  cudaMemPool_t pool, same;
  unsigned long long before, used, threshold = 65536, got = 0;
  cudaStream_t stream;
  int *p;
  OK(cudaStreamCreate(&stream));
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaDeviceGetMemPool(&same, 0));
  EXPECT(pool == same);
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &before));
  OK(cudaMallocAsync((void **)&p, 4096, stream));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used == before + 4096);
  OK(cudaMemsetAsync(p, 0, 4096, stream));
  launch_add(p, 1024, 4, stream);
  int value = 0;
  OK(cudaMemcpyAsync(&value, p + 1023, 4, cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(p, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(value == 4);
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used == before);
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
  EXPECT(used >= before + 4096);
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
  EXPECT(got == threshold);
  OK(cudaMemPoolTrimTo(pool, 0));
  CODE(cudaErrorInvalidValue, cudaMemPoolTrimTo((cudaMemPool_t)(void *)&pool, 0));
  OK(cudaStreamDestroy(stream));
}

static int calls;

static void note(void *data) { calls += *(int *)data; }

static void note_status(cudaStream_t stream, cudaError_t status, void *data) {
  if (stream && status == cudaSuccess) calls += *(int *)data;
}

static void test_streams(void) {
  cudaStream_t stream, urgent, plain;
  cudaEvent_t first, last, quiet;
  int *p, value = 0, priority = 9, least, greatest, ten = 10;
  unsigned flags = 9;
  unsigned long long id, other;
  float ms = -1;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreateWithFlags(&plain, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithPriority(&urgent, cudaStreamDefault, greatest));
  OK(cudaStreamGetPriority(urgent, &priority));
  EXPECT(priority == greatest);
  OK(cudaStreamGetFlags(plain, &flags));
  EXPECT(flags == cudaStreamNonBlocking);
  OK(cudaStreamGetId(stream, &id));
  OK(cudaStreamGetId(urgent, &other));
  EXPECT(id != other);
  OK(cudaEventCreate(&first));
  OK(cudaEventCreate(&last));
  OK(cudaEventCreateWithFlags(&quiet, cudaEventDisableTiming));
  OK(cudaMalloc((void **)&p, 4));
  OK(cudaMemset(p, 0, 4));
  OK(cudaEventRecord(first, stream));
  for (int i = 0; i < 20; i++) {
    cudaStream_t one_of = i % 2 ? stream : urgent;
    launch_add(p, 1, 1, one_of);
    OK(cudaEventRecordWithFlags(quiet, one_of, 0));
    OK(cudaStreamWaitEvent(i % 2 ? urgent : stream, quiet));
  }
  OK(cudaStreamAddCallback(stream, note_status, &ten, 0));
  OK(cudaLaunchHostFunc(stream, note, &ten));
  OK(cudaEventRecord(last, stream));
  OK(cudaEventSynchronize(last));
  EXPECT(calls == 20);
  OK(cudaEventQuery(last));
  OK(cudaEventElapsedTime(&ms, first, last));
  EXPECT(ms >= 0);
  OK(cudaStreamSynchronize(stream));
  OK(cudaStreamSynchronize(urgent));
  OK(cudaStreamQuery(stream));
  OK(cudaStreamSynchronize(cudaStreamPerThread));
  launch_add(p, 1, 100, cudaStreamPerThread);
  OK(cudaStreamSynchronize(cudaStreamPerThread));
  OK(cudaThreadSynchronize());
  OK(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 120);
  cudaStreamAttrValue window = {.accessPolicyWindow = {p, 4, 0.5f, cudaAccessPropertyPersisting, 0}}, got;
  OK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window));
  OK(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &got));
  EXPECT(got.accessPolicyWindow.base_ptr == p && got.accessPolicyWindow.num_bytes == 4);
  OK(cudaEventDestroy(first));
  OK(cudaEventDestroy(last));
  OK(cudaEventDestroy(quiet));
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(plain));
  OK(cudaStreamDestroy(urgent));
  OK(cudaFree(p));
}

static void saxpy(void) {}
static float host_gain[4];

static void test_program(void) {
  float gain[4] = {1, 2, 3, 4}, got[4] = {0}, *p;
  size_t size;
  int value = 0, *n, blocks, grid, block;
  OK(cudaMemcpyToSymbol("gain", gain, sizeof gain));
  OK(cudaMemcpyToSymbolAsync("gain", gain + 3, 4, 4, cudaMemcpyHostToDevice, NULL));
  OK(cudaMemcpyFromSymbol(got, "gain", 8, 4));
  EXPECT(got[0] == 4 && got[1] == 3);
  OK(cudaMemcpyFromSymbolAsync(got, "gain", 16, 0, cudaMemcpyDeviceToHost, NULL));
  OK(cudaDeviceSynchronize());
  EXPECT(got[0] == 1 && got[1] == 4 && got[3] == 4);
  OK(cudaGetSymbolSize(&size, "gain"));
  EXPECT(size == 16);
  OK(mwCudaRegister(host_gain, "gain"));
  OK(cudaMemcpyToSymbol(host_gain, gain, sizeof gain));
  OK(cudaGetSymbolAddress((void **)&p, host_gain));
  OK(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(memcmp(got, gain, sizeof got) == 0);
  OK(cudaMalloc((void **)&p, 16));
  OK(cudaMemcpy(p, gain, 16, cudaMemcpyHostToDevice));
  OK(cudaConfigureCall(one, make_dim3(4, 1, 1), 0, NULL));
  OK(cudaSetupArgument(&p, sizeof p, 0));
  OK(cudaLaunch("scale"));
  OK(cudaMemcpy(got, p, 16, cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 1 && got[1] == 4 && got[2] == 9 && got[3] == 16);
  struct {
    char a;
    double b;
  } pair = {7, 2.5};
  char c = -3;
  void *typed[] = {&c, &pair, &p};
  OK(cudaLaunchKernel("typed", one, one, typed, 0, NULL));
  OK(cudaMemcpy(got, p, 16, cudaMemcpyDeviceToHost));
  EXPECT(got[0] == -3 && got[1] == 7 && got[2] == 2.5f);
  n = (int *)p;
  OK(cudaLaunchKernel("sum", one, make_dim3(100, 1, 1), (void *[]){&n}, 400, NULL));
  OK(cudaMemcpy(&value, n, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 4950);
  OK(cudaLaunchKernel("fill<int,42>", one, one, (void *[]){&n}, 0, NULL));
  OK(cudaMemcpy(&value, n, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 42);
  OK(cudaMemset(n, 0, 4));
  OK(cudaLaunchCooperativeKernel("meet", make_dim3(4, 1, 1), make_dim3(8, 1, 1), (void *[]){&n}, 0, NULL));
  OK(cudaMemcpy(&value, n, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 100 + 32);
  CODE(cudaErrorCooperativeLaunchTooLarge,
       cudaLaunchCooperativeKernel("meet", make_dim3(1u << 20, 1, 1), make_dim3(1024, 1, 1), (void *[]){&n}, 0, NULL));

  struct cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, "sum"));
  EXPECT(attributes.maxThreadsPerBlock >= 512 && attributes.sharedSizeBytes == 0);
  OK(cudaFuncSetAttribute("sum", cudaFuncAttributeMaxDynamicSharedMemorySize, 2048));
  OK(cudaFuncGetAttributes(&attributes, "sum"));
  EXPECT(attributes.maxDynamicSharedSizeBytes == 2048);
  OK(cudaFuncSetCacheConfig("sum", cudaFuncCachePreferL1));
  OK(cudaFuncSetSharedMemConfig("sum", cudaSharedMemBankSizeFourByte));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, "sum", 64, 0));
  EXPECT(blocks >= 1);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, "sum", 64, 0, 0));
  EXPECT(value == blocks);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, "sum", 0, 256));
  EXPECT(grid >= 1 && block >= 32 && block <= 256);

  /* A later text hides names of an earlier one; other names stay. */
  OK(mwCudaSource("__global__ void scale(float *p) { p[threadIdx.x] = N; }", "-DN=17"));
  OK(mwCudaRegister((const void *)saxpy, "scale"));
  OK(cudaLaunchKernel((const void *)saxpy, one, one, (void *[]){&p}, 0, NULL));
  OK(cudaMemcpy(got, p, 4, cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 17);
  value = 5;
  OK(cudaLaunchKernel("count", one, make_dim3(10, 1, 1), (void *[]){&value}, 0, NULL));
  OK(cudaMemcpyFromSymbol(&value, "counter", 4));
  EXPECT(value == 50);
  OK(cudaFree(p));
  saxpy();
}

static void test_file(const char *folder) {
  char path[512];
  int *p, value;
  snprintf(path, sizeof path, "%s/from_file.cu", folder);
  FILE *file = fopen(path, "w");
  EXPECT(file);
  if (!file) return;
  fputs("__global__ void from_file(int *p) { *p = VALUE; }\n", file);
  fclose(file);
  OK(mwCudaFile(path, "-DVALUE=77"));
  OK(cudaMalloc((void **)&p, 4));
  OK(cudaLaunchKernel("from_file", one, one, (void *[]){&p}, 0, NULL));
  OK(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 77);
  OK(cudaFree(p));
}

/* All that was made in the device's context goes; the program's variables are as at first. */
static void test_reset(void) {
  int *p, value = 1;
  cudaStream_t stream;
  OK(cudaMalloc((void **)&p, 4));
  OK(cudaStreamCreate(&stream));
  OK(cudaDeviceReset());
  CODE(cudaErrorInvalidValue, cudaFree(p));
  CODE(cudaErrorInvalidResourceHandle, cudaStreamQuery(stream));
  OK(cudaMemcpyFromSymbol(&value, "counter", 4));
  EXPECT(value == 0);
  OK(cudaMalloc((void **)&p, 4));
  OK(cudaThreadExit());
  CODE(cudaErrorInvalidValue, cudaMemset(p, 0, 4));
}

int main(int count, char **arguments) {
  const char *folder = count > 1 ? arguments[1] : "/tmp";
  CODE(cudaErrorInvalidDeviceFunction, cudaLaunchKernel("add", one, one, NULL, 0, NULL));
  EXPECT(strstr(mwCudaErrorMessage(), "mwCudaSource"));
  OK(mwCudaSource(source, NULL));
  test_devices();
  test_errors();
  test_memory();
  test_pool();
  test_streams();
  test_program();
  test_file(folder);
  test_reset();
  return finish();
}
