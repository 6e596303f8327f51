/* The result codes of CUDA's runtime API, case by case: "name=code". spec/runtime_api/host_c_spec.lua makes the same calls by
 * moonwarp.runtime and compares. */
#include "check.h"

static const char source[] = "texture<float, 1, cudaReadModeElementType> ref;\n"
                             "texture<float, 2, cudaReadModeElementType> plane;\n"
                             "__device__ int counter;\n"
                             "__global__ void set(int *p, int value) { *p = value; }\n"
                             "__global__ void wild(int *p) { p[1 << 28] = 1; }\n"
                             "__global__ void fetch(float *p) { *p = tex1Dfetch(ref, 0); }\n";

#define CASE(name, call) printf("%s=%d\n", name, (int)(call))

static void *device_memory(size_t bytes) {
  void *p = NULL;
  cudaMalloc(&p, bytes);
  return p;
}

static void devices(void) {
  struct cudaDeviceProp prop;
  int value;
  size_t limit;
  CASE("set device 99", cudaSetDevice(99));
  CASE("set device -1", cudaSetDevice(-1));
  CASE("properties of 99", cudaGetDeviceProperties(&prop, 99));
  CASE("attribute 9999", cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
  CASE("attribute of 99", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
  CASE("choose nothing", cudaChooseDevice(&value, NULL));
  CASE("valid devices 99", cudaSetValidDevices((int[]){99}, 1));
  CASE("bus id of 99", cudaDeviceGetByPCIBusId(&value, "0000:00:63.0"));
  CASE("get limit 77", cudaDeviceGetLimit(&limit, (enum cudaLimit)77));
  CASE("set limit 77", cudaDeviceSetLimit((enum cudaLimit)77, 1));
  CASE("flags 99", cudaSetDeviceFlags(99));
  CASE("cache config 9", cudaDeviceSetCacheConfig((enum cudaFuncCache)9));
  CASE("shared config 9", cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)9));
  CASE("can access peer 99", cudaDeviceCanAccessPeer(&value, 0, 99));
  CASE("enable peer 0", cudaDeviceEnablePeerAccess(0, 0));
  CASE("disable peer 0", cudaDeviceDisablePeerAccess(0));
}

static void streams(void) {
  cudaStream_t stream, gone;
  cudaEvent_t event, second, plain, lost;
  float ms;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&gone);
  cudaStreamDestroy(gone);
  CASE("stream flags 7", cudaStreamCreateWithFlags(&gone, 7));
  cudaStreamCreate(&gone);
  cudaStreamDestroy(gone);
  CASE("destroy twice", cudaStreamDestroy(gone));
  CASE("destroy default", cudaStreamDestroy(NULL));
  CASE("query destroyed", cudaStreamQuery(gone));
  CASE("synchronize destroyed", cudaStreamSynchronize(gone));
  CASE("priority of destroyed", cudaStreamGetPriority(gone, &(int){0}));
  cudaEventCreate(&event);
  cudaEventCreate(&second);
  cudaEventCreate(&lost);
  cudaEventDestroy(lost);
  cudaEventCreateWithFlags(&plain, cudaEventDisableTiming);
  CASE("event flags 99", cudaEventCreateWithFlags(&lost, 99));
  cudaEventCreate(&lost);
  cudaEventDestroy(lost);
  CASE("wait flags 1", cudaStreamWaitEvent(stream, event, 1));
  CASE("wait for destroyed", cudaStreamWaitEvent(stream, lost, 0));
  CASE("query unrecorded", cudaEventQuery(event));
  CASE("synchronize unrecorded", cudaEventSynchronize(event));
  CASE("elapsed unrecorded", cudaEventElapsedTime(&ms, event, second));
  cudaEventRecord(event, stream);
  cudaEventRecord(plain, stream);
  cudaEventSynchronize(plain);
  CASE("elapsed without timing", cudaEventElapsedTime(&ms, event, plain));
  CASE("record destroyed", cudaEventRecord(lost, stream));
  CASE("record with flags 5", cudaEventRecordWithFlags(event, stream, 5));
  CASE("destroy event twice", cudaEventDestroy(lost));
  CASE("callback flags 1", cudaStreamAddCallback(stream, (cudaStreamCallback_t)(void (*)(void))finish, NULL, 1));
  CASE("no function", cudaLaunchHostFunc(stream, NULL, NULL));
  cudaStreamAttrValue window = {.accessPolicyWindow = {.hitRatio = 3}};
  CASE("hit ratio 3", cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window));
  CASE("stream attribute 99", cudaStreamSetAttribute(stream, (cudaStreamAttrID)99, &window));
}

static void memory(void) {
  char *p = device_memory(1024), *host = NULL, *freed = device_memory(64), *plain = malloc(1024);
  void *q;
  cudaMallocHost((void **)&host, 1024);
  cudaFree(freed);
  CASE("free wild", cudaFree((void *)12345));
  CASE("free null", cudaFree(NULL));
  CASE("free twice", cudaFree(freed));
  CASE("free middle", cudaFree(p + 16));
  CASE("free pinned", cudaFree(host));
  CASE("free host of device", cudaFreeHost(p));
  CASE("free host null", cudaFreeHost(NULL));
  CASE("malloc too much", cudaMalloc(&q, (size_t)1 << 50));
  CASE("malloc 0", cudaMalloc(&q, 0));
  CASE("managed 0", cudaMallocManaged(&q, 0, cudaMemAttachGlobal));
  CASE("managed flags 9", cudaMallocManaged(&q, 16, 9));
  CASE("host alloc flags 64", cudaHostAlloc(&q, 16, 64));
  CASE("register null", cudaHostRegister(NULL, 16, 0));
  CASE("register", cudaHostRegister(plain, 1024, 0));
  CASE("register again", cudaHostRegister(plain, 1024, 0));
  CASE("pointer of registered", cudaHostGetDevicePointer(&q, plain, 0));
  CASE("unregister", cudaHostUnregister(plain));
  CASE("unregister again", cudaHostUnregister(plain));
  CASE("pointer of pinned", cudaHostGetDevicePointer(&q, host, 0));
  CASE("pointer flags 1", cudaHostGetDevicePointer(&q, host, 1));
  CASE("pointer of device", cudaHostGetDevicePointer(&q, p, 0));
  CASE("flags of device", cudaHostGetFlags(&(unsigned){0}, p));
  CASE("memcpy kind 9", cudaMemcpy(p, host, 16, (enum cudaMemcpyKind)9));
  CASE("memcpy past the end", cudaMemcpy(p, host, 1025, cudaMemcpyHostToDevice));
  CASE("memcpy from null", cudaMemcpy(p, NULL, 16, cudaMemcpyHostToDevice));
  CASE("memcpy to null", cudaMemcpy(NULL, host, 16, cudaMemcpyDefault));
  CASE("memcpy 0", cudaMemcpy(p, host, 0, cudaMemcpyHostToDevice));
  CASE("memcpy wrong way", cudaMemcpy(p, plain, 16, cudaMemcpyDeviceToHost));
  CASE("memcpy host to host of device", cudaMemcpy(p, plain, 16, cudaMemcpyHostToHost));
  CASE("memcpy pinned any way", cudaMemcpy(host, p, 16, cudaMemcpyDeviceToDevice));
  CASE("memcpy from freed", cudaMemcpy(plain, freed, 16, cudaMemcpyDeviceToHost));
  CASE("memcpy2d narrow pitch", cudaMemcpy2D(p, 8, host, 16, 16, 2, cudaMemcpyHostToDevice));
  CASE("memcpy2d past the end", cudaMemcpy2D(p, 512, host, 16, 16, 3, cudaMemcpyHostToDevice));
  CASE("memset past the end", cudaMemset(p, 0, 1025));
  CASE("memset null", cudaMemset(NULL, 0, 16));
  CASE("memset freed", cudaMemset(freed, 0, 16));
  CASE("memset2d narrow pitch", cudaMemset2D(p, 8, 0, 16, 2));
  CASE("memset2d past the end", cudaMemset2D(p, 512, 0, 16, 3));
  CASE("advise device", cudaMemAdvise(p, 16, cudaMemAdviseSetReadMostly, 0));
  CASE("prefetch device", cudaMemPrefetchAsync(p, 16, 0, 0));
  CASE("attach device", cudaStreamAttachMemAsync(NULL, p, 0, 1));
  CASE("free async wild", cudaFreeAsync((void *)12345, NULL));
  CASE("symbol nowhere", cudaMemcpyToSymbol("nowhere", plain, 4));
  CASE("symbol too long", cudaMemcpyToSymbol("counter", plain, 8));
  CASE("symbol offset", cudaMemcpyToSymbol("counter", plain, 4, 1));
  CASE("from symbol too long", cudaMemcpyFromSymbol(plain, "counter", 5));
  CASE("address of nowhere", cudaGetSymbolAddress(&q, "nowhere"));
  CASE("size of nowhere", cudaGetSymbolSize(&(size_t){0}, "nowhere"));
  cudaFree(p);
  cudaFreeHost(host);
  free(plain);
}

static void arrays(void) {
  struct cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  struct cudaChannelFormatDesc three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
  struct cudaChannelFormatDesc odd = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
  struct cudaChannelFormatDesc ints = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
  const struct textureReference *ref, *plane;
  struct textureReference mine = {0};
  cudaArray_t array, gone, other;
  float data[64] = {0};
  size_t offset;
  float *p = device_memory(256);
  CASE("array of three channels", cudaMallocArray(&other, &three, 8, 8));
  CASE("array of odd channels", cudaMallocArray(&other, &odd, 8, 8));
  CASE("array of width 0", cudaMallocArray(&other, &floats, 0, 8));
  cudaMallocArray(&array, &floats, 8, 4);
  cudaMallocArray(&gone, &floats, 8, 4);
  cudaFreeArray(gone);
  CASE("array flags layered", cudaMallocArray(&other, &floats, 8, 8, cudaArrayLayered));
  CASE("free array twice", cudaFreeArray(gone));
  CASE("free array null", cudaFreeArray(NULL));
  CASE("channel of freed", cudaGetChannelDesc(&three, gone));
  CASE("to array kind 9", cudaMemcpyToArray(array, 0, 0, data, 16, (enum cudaMemcpyKind)9));
  CASE("to array wrong way", cudaMemcpyToArray(array, 0, 0, data, 16, cudaMemcpyDeviceToHost));
  CASE("to array too long", cudaMemcpyToArray(array, 0, 0, data, 129, cudaMemcpyHostToDevice));
  CASE("to array half a texel", cudaMemcpyToArray(array, 2, 0, data, 16, cudaMemcpyHostToDevice));
  CASE("to freed array", cudaMemcpyToArray(gone, 0, 0, data, 16, cudaMemcpyHostToDevice));
  CASE("from array too far", cudaMemcpyFromArray(data, array, 0, 4, 4, cudaMemcpyDeviceToHost));
  CASE("2d to array narrow pitch", cudaMemcpy2DToArray(array, 0, 0, data, 8, 32, 2, cudaMemcpyHostToDevice));
  CASE("2d to array too high", cudaMemcpy2DToArray(array, 0, 0, data, 32, 32, 5, cudaMemcpyHostToDevice));
  CASE("2d from array too wide", cudaMemcpy2DFromArray(data, 64, array, 4, 0, 32, 1, cudaMemcpyDeviceToHost));
  CASE("reference nowhere", cudaGetTextureReference(&ref, "nowhere"));
  CASE("reference of counter", cudaGetTextureReference(&ref, "counter"));
  cudaGetTextureReference(&ref, "ref");
  cudaGetTextureReference(&plane, "plane");
  CASE("offset of unbound", cudaGetTextureAlignmentOffset(&offset, ref));
  CASE("bind no reference", cudaBindTexture(&offset, &mine, p, &floats, 256));
  CASE("bind host memory", cudaBindTexture(&offset, ref, data, &floats, 256));
  CASE("bind three channels", cudaBindTexture(&offset, ref, p, &odd, 256));
  CASE("launch unbound", cudaLaunchKernel("fetch", make_dim3(1, 1, 1), make_dim3(1, 1, 1), (void *[]){&p}, 0, 0));
  CASE("bind", cudaBindTexture(&offset, ref, p, &floats, 256));
  CASE("bind narrow pitch", cudaBindTexture2D(&offset, plane, p, &floats, 8, 2, 16));
  CASE("bind freed array", cudaBindTextureToArray(plane, gone, &floats));
  CASE("bind array", cudaBindTextureToArray(plane, array, &floats));
  CASE("bind array of other texels", cudaBindTextureToArray(plane, array, &ints));
  CASE("unbind", cudaUnbindTexture(ref));
  cudaTextureObject_t object;
  struct cudaResourceDesc resource = {.resType = cudaResourceTypeMipmappedArray};
  CASE("object of mipmap", cudaCreateTextureObject(&object, &resource, NULL, NULL));
  CASE("destroy no object", cudaDestroyTextureObject(12345));
  CASE("surface of linear",
       cudaCreateSurfaceObject(&object, &(struct cudaResourceDesc){.resType = cudaResourceTypeLinear}));
  cudaFreeArray(array);
  cudaFree(p);
}

static void execution(void) {
  int *p = device_memory(4), value = 3;
  dim3 one = {1, 1, 1}, many = {64, 64, 1}, none = {0, 1, 1};
  void *arguments[] = {&p, &value};
  struct cudaFuncAttributes attributes;
  CASE("launch nowhere", cudaLaunchKernel("nowhere", one, one, arguments, 0, 0));
  CASE("block too large", cudaLaunchKernel("set", one, many, arguments, 0, 0));
  CASE("block of 0", cudaLaunchKernel("set", one, none, arguments, 0, 0));
  CASE("shared too large", cudaLaunchKernel("set", one, one, arguments, (size_t)1 << 30, 0));
  CASE("launch", cudaLaunchKernel("set", one, one, arguments, 0, 0));
  CASE("launch unconfigured", cudaLaunch("set"));
  CASE("argument unconfigured", cudaSetupArgument(&value, 4, 0));
  cudaConfigureCall(one, one, 0, 0);
  cudaSetupArgument(&p, 8, 0);
  CASE("argument missing", cudaLaunch("set"));
  cudaConfigureCall(one, one, 0, 0);
  cudaSetupArgument(&p, 8, 0);
  cudaSetupArgument(&value, 2, 8);
  CASE("argument too short", cudaLaunch("set"));
  cudaConfigureCall(one, one, 0, 0);
  cudaSetupArgument(&p, 8, 0);
  cudaSetupArgument(&value, 4, 8);
  cudaSetupArgument(&value, 4, 12);
  CASE("argument too many", cudaLaunch("set"));
  cudaConfigureCall(one, one, 0, 0);
  cudaSetupArgument(&p, 8, 0);
  cudaSetupArgument(&value, 4, 8);
  CASE("triple", cudaLaunch("set"));
  CASE("attributes of nowhere", cudaFuncGetAttributes(&attributes, "nowhere"));
  CASE("attribute 77", cudaFuncSetAttribute("set", (enum cudaFuncAttribute)77, 1));
  CASE("shared attribute -1", cudaFuncSetAttribute("set", cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  CASE("carveout 101", cudaFuncSetAttribute("set", cudaFuncAttributePreferredSharedMemoryCarveout, 101));
  CASE("function cache 9", cudaFuncSetCacheConfig("set", (enum cudaFuncCache)9));
  if (!on_gpu()) { /* which would be lost */
    CASE("wild", cudaLaunchKernel("wild", one, one, arguments, 0, 0));
    CASE("synchronize after wild", cudaThreadSynchronize());
  }
  CASE("last error", cudaGetLastError());
  CASE("last error again", cudaGetLastError());
  CASE("synchronize again", cudaDeviceSynchronize());
  cudaFree(p);
}

static void graphs(void) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaStreamCreate(&stream);
  CASE("capture default", cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal));
  CASE("capture mode 9", cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)9));
  CASE("end no capture", cudaStreamEndCapture(stream, &graph));
  CASE("begin capture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CASE("begin again", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CASE("wait in capture", cudaStreamSynchronize(stream));
  CASE("end spoilt", cudaStreamEndCapture(stream, &graph));
  CASE("graph flags 1", cudaGraphCreate(&graph, 1));
  cudaStreamDestroy(stream);
}

int main(void) {
  if (mwCudaSource(source, NULL) != cudaSuccess) return puts(mwCudaErrorMessage()), 1;
  devices();
  streams();
  memory();
  arrays();
  execution();
  graphs();
  return 0;
}
