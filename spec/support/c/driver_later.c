/* The driver API's later functions: attributes, contexts of streams, pools, peers, copies in graphs, occupancy. */
#include "check.h"

static const char source[] = "extern \"C\" __global__ void add(int *p, int n, int value) {\n"
                             "  int i = threadIdx.x; if (i < n) p[i] += value; }\n";

static void test_functions(CUmodule module) {
  CUfunction add = function_of(module, "add");
  CUmodule got = NULL;
  int blocks = 0, same = 0;
  OK(cuFuncGetModule(&got, add));
  EXPECT(got == module);
  OK(cuFuncSetSharedMemConfig(add, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  CODE(CUDA_ERROR_INVALID_VALUE, cuFuncSetSharedMemConfig(add, (CUsharedconfig)3));
  EXPECT(strstr(mwCudaErrorMessage(), "0 to 2"));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&same, add, 256, 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
  EXPECT(blocks >= 1 && same == blocks);
}

static int largest;

static size_t by_size(int threads) {
  if (threads > largest) largest = threads;
  return (size_t)threads * 1024; /* so that no two blocks of much more than a warp fit */
}

static void test_block_size(CUmodule module) {
  CUfunction add = function_of(module, "add");
  int grid = 0, block = 0, limited = 0, few = 0, processors = 0, blocks = 0;
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0));
  OK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, block, 0));
  EXPECT(block >= 32 && grid == blocks * processors);
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &limited, add, NULL, 0, 100));
  EXPECT(limited >= 32 && limited <= 100);
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &few, add, by_size, 0, 0));
  EXPECT(largest >= block && few < block);
}

static void test_streams(CUcontext context) {
  CUcontext other, got = NULL;
  CUstream stream, of_other;
  CUstreamAttrValue value = {.accessPolicyWindow = {.num_bytes = 64, .hitRatio = 0.5f}}, found;
  OK(cuStreamCreate(&stream, 0));
  OK(cuCtxCreate(&other, 0, 0));
  OK(cuStreamCreate(&of_other, 0));
  OK(cuStreamGetCtx(stream, &got));
  EXPECT(got == context);
  OK(cuStreamGetCtx(of_other, &got));
  EXPECT(got == other);
  OK(cuStreamGetCtx(NULL, &got));
  EXPECT(got == other);
  OK(cuCtxDestroy(other));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuStreamGetCtx(of_other, &got));
  OK(cuStreamGetCtx(CU_STREAM_PER_THREAD, &got));
  EXPECT(got == context);

  OK(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  OK(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  OK(cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &found));
  EXPECT(found.accessPolicyWindow.num_bytes == 64 && found.accessPolicyWindow.hitRatio == 0.5f);
  OK(cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &found));
  EXPECT(found.syncPolicy == CU_SYNC_POLICY_YIELD);
  OK(cuStreamDestroy(stream));
}

static void test_pools(void) {
  CUmemPoolProps props = {CU_MEM_ALLOCATION_TYPE_PINNED, 0, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, NULL, 1000};
  CUmemoryPool pool;
  CUdeviceptr p, q;
  OK(cuMemPoolCreate(&pool, &props));
  OK(cuMemAllocFromPoolAsync(&p, 600, pool, NULL));
  CODE(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&q, 600, pool, NULL));
  OK(cuMemFreeAsync(p, NULL));
  OK(cuMemPoolDestroy(pool));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
}

/* Two rows in each of two slices, out of the middle of a box of 4 x 3 x 2 numbers. */
static CUDA_MEMCPY3D_PEER middle(CUdeviceptr target, CUcontext to, CUdeviceptr from, CUcontext of) {
  return (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = from,
                              .srcContext = of,
                              .srcXInBytes = 4,
                              .srcY = 1,
                              .srcPitch = 16,
                              .srcHeight = 3,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = target,
                              .dstContext = to,
                              .WidthInBytes = 8,
                              .Height = 2,
                              .Depth = 2};
}

static const int wanted[] = {5, 6, 9, 10, 17, 18, 21, 22};

static CUdeviceptr make_box(void) {
  int box[24];
  CUdeviceptr p = 0;
  for (int i = 0; i < 24; i++) box[i] = i;
  OK(cuMemAlloc(&p, sizeof box));
  OK(cuMemcpyHtoD(p, box, sizeof box));
  return p;
}

static void test_peers(CUcontext context) {
  CUdeviceptr p = make_box(), q;
  CUcontext other;
  CUstream stream;
  int got[8] = {0};
  OK(cuCtxCreate(&other, 0, 0));
  OK(cuMemAlloc(&q, sizeof got));
  OK(cuStreamCreate(&stream, 0));
  CUDA_MEMCPY3D_PEER copy = middle(q, other, p, context);
  OK(cuMemcpy3DPeer(&copy));
  OK(cuMemcpyDtoH(got, q, sizeof got));
  EXPECT(memcmp(got, wanted, sizeof got) == 0);
  OK(cuMemsetD32(q, 0, 8));
  OK(cuMemcpy3DPeerAsync(&copy, stream));
  OK(cuMemcpyDtoHAsync(got, q, sizeof got, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT(memcmp(got, wanted, sizeof got) == 0);
  OK(cuCtxDestroy(other));
  copy.dstDevice = p;
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuMemcpy3DPeer(&copy));
  OK(cuMemFree(p));
}

static void test_graph(CUmodule module, CUcontext context) {
  CUdeviceptr p = make_box(), q;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode copy, kernel, other, back;
  CUgraphNodeType type;
  CUkernelNodeAttrValue value = {.accessPolicyWindow = {.num_bytes = 64, .hitRatio = 0.5f}}, found;
  int n = 8, thousand = 1000, got[8] = {0};
  OK(cuMemAlloc(&q, sizeof got));
  void *arguments[] = {&q, &n, &thousand};
  CUDA_KERNEL_NODE_PARAMS params = {function_of(module, "add"), 1, 1, 1, 8, 1, 1, 0, arguments, NULL};
  CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                       .srcDevice = p,
                       .srcXInBytes = 4,
                       .srcY = 1,
                       .srcPitch = 16,
                       .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                       .dstDevice = q,
                       .WidthInBytes = 8,
                       .Height = 2,
                       .Depth = 2};
  CUDA_MEMCPY3D all = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                       .srcDevice = q,
                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = got,
                       .WidthInBytes = sizeof got,
                       .Height = 1,
                       .Depth = 1};
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &box, context));
  OK(cuGraphAddKernelNode(&kernel, graph, &copy, 1, &params));
  OK(cuGraphAddKernelNode(&other, graph, &kernel, 1, &params));
  OK(cuGraphAddMemcpyNode(&back, graph, &other, 1, &all, context));
  OK(cuGraphNodeGetType(copy, &type));
  EXPECT(type == cudaGraphNodeTypeMemcpy);
  OK(cuGraphInstantiate(&exec, graph, NULL, NULL, 0));
  OK(cuGraphLaunch(exec, NULL));
  OK(cuCtxSynchronize());
  /* A height of 0 is what of the slice is reached: three rows. */
  for (int i = 0; i < 8; i++) EXPECT(got[i] == wanted[i] + 2000);
  OK(cuGraphExecDestroy(exec));

  OK(cuGraphKernelNodeSetAttribute(kernel, CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
  OK(cuGraphKernelNodeCopyAttributes(kernel, other));
  OK(cuGraphKernelNodeGetAttribute(other, CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, &found));
  EXPECT(found.accessPolicyWindow.num_bytes == 64 && found.accessPolicyWindow.hitRatio == 0.5f);
  OK(cuGraphKernelNodeGetAttribute(other, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &found));
  EXPECT(found.cooperative == 0);
  OK(cuGraphDestroy(graph));
  OK(cuMemFree(p));
  OK(cuMemFree(q));
}

int main(void) {
  CUmodule module;
  CUcontext context = open_module(&module, source);
  test_functions(module);
  test_block_size(module);
  test_streams(context);
  test_pools();
  test_peers(context);
  test_graph(module, context);
  OK(cuCtxDestroy(context));
  return finish();
}
