/* The result codes of CUDA's driver API, case by case: "name=code". spec/runtime_api/host_c_spec.lua makes the same calls by
 * moonwarp.driver and compares. */
#include "check.h"

static const char source[] = "extern \"C\" __global__ void set(int *p, int value) { *p = value; }\n";

#define CASE(name, call) printf("%s=%d\n", name, (int)(call))

static CUcontext context;
static CUmodule module;
static CUfunction set;
static CUdeviceptr memory;

static void objects(void) {
  const CUDA_ARRAY_DESCRIPTOR flat = {4, 2, CU_AD_FORMAT_FLOAT, 1};
  const CUDA_TEXTURE_DESC how = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP}};
  CUDA_RESOURCE_DESC resource = {.resType = (CUresourcetype)9};
  CUDA_TEXTURE_DESC reading;
  CUarray array;
  CUtexObject texture;
  CUsurfObject surface;
  cuArrayCreate(&array, &flat);
  CASE("texture of no resource", cuTexObjectCreate(&texture, NULL, &how, NULL));
  CASE("texture of type 9", cuTexObjectCreate(&texture, &resource, &how, NULL));
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  CASE("texture of a mipmap", cuTexObjectCreate(&texture, &resource, &how, NULL));
  resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY};
  CASE("texture of no array", cuTexObjectCreate(&texture, &resource, &how, NULL));
  CASE("surface of no array", cuSurfObjectCreate(&surface, &resource));
  CASE("surface of nothing", cuSurfObjectCreate(&surface, NULL));
  resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR};
  resource.res.linear.devPtr = memory;
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 3;
  resource.res.linear.sizeInBytes = 64;
  CASE("texture of three channels", cuTexObjectCreate(&texture, &resource, &how, NULL));
  resource.res.linear.numChannels = 1;
  resource.res.linear.format = (CUarray_format)99;
  CASE("texture of format 99", cuTexObjectCreate(&texture, &resource, &how, NULL));
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  CASE("surface of memory", cuSurfObjectCreate(&surface, &resource));
  resource.res.linear.devPtr = 12345;
  CASE("texture of no memory", cuTexObjectCreate(&texture, &resource, &how, NULL));
  resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D};
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
  resource.res.pitch2D.numChannels = 1;
  resource.res.pitch2D.width = 8;
  resource.res.pitch2D.height = 2;
  resource.res.pitch2D.pitchInBytes = 16;
  CASE("texture of a narrow pitch", cuTexObjectCreate(&texture, &resource, &how, NULL));
  resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
  CASE("texture without a descriptor", cuTexObjectCreate(&texture, &resource, NULL, NULL));
  CASE("texture with a view", cuTexObjectCreate(&texture, &resource, &how, (const CUDA_RESOURCE_VIEW_DESC *)&how));
  CASE("texture", cuTexObjectCreate(&texture, &resource, &how, NULL));
  CASE("surface", cuSurfObjectCreate(&surface, &resource));
  CASE("destroy a texture as a surface", cuSurfObjectDestroy(texture));
  CASE("resource of a texture as a surface's", cuSurfObjectGetResourceDesc(&resource, texture));
  CASE("destroy a texture", cuTexObjectDestroy(texture));
  CASE("destroy a texture twice", cuTexObjectDestroy(texture));
  CASE("resource of a destroyed texture", cuTexObjectGetResourceDesc(&resource, texture));
  CASE("reading of a destroyed texture", cuTexObjectGetTextureDesc(&reading, texture));
  CASE("destroy a surface", cuSurfObjectDestroy(surface));
  CASE("destroy a surface twice", cuSurfObjectDestroy(surface));
  CASE("resource of a destroyed surface", cuSurfObjectGetResourceDesc(&resource, surface));
}

static void peers(void) {
  CUDA_MEMCPY3D_PEER box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = memory,
                            .srcContext = context,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = memory + 32,
                            .dstContext = context,
                            .WidthInBytes = 4,
                            .Height = 2,
                            .Depth = 2};
  CUstream stream;
  cuStreamCreate(&stream, 0);
  CASE("peers", cuMemcpy3DPeer(&box));
  CASE("peers in a stream", cuMemcpy3DPeerAsync(&box, stream));
  CASE("peers of nothing", cuMemcpy3DPeer(NULL));
  CASE("peers of nothing in a stream", cuMemcpy3DPeerAsync(NULL, stream));
  box.srcContext = NULL;
  CASE("peers without a source's context", cuMemcpy3DPeer(&box));
  CASE("peers without a source's context in a stream", cuMemcpy3DPeerAsync(&box, stream));
  box.srcContext = context;
  box.dstContext = NULL;
  CASE("peers without a target's context", cuMemcpy3DPeer(&box));
  box.dstContext = context;
  box.srcPitch = 2;
  CASE("peers with a narrow pitch", cuMemcpy3DPeer(&box));
  box.srcPitch = 0;
  box.srcHeight = 1;
  CASE("peers with a low slice", cuMemcpy3DPeer(&box));
  box.srcHeight = 0;
  box.dstMemoryType = (CUmemorytype)9;
  CASE("peers of type 9", cuMemcpy3DPeer(&box));
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.WidthInBytes = 64;
  CASE("peers past the end", cuMemcpy3DPeer(&box));
  CASE("peers past the end in a stream", cuMemcpy3DPeerAsync(&box, stream));
  box.WidthInBytes = 4;
  cuStreamDestroy(stream);
  CASE("peers in a destroyed stream", cuMemcpy3DPeerAsync(&box, stream));
}

static void graphs(void) {
  CUgraph graph;
  CUgraphNode node, kernel, empty;
  CUkernelNodeAttrValue window = {.accessPolicyWindow = {.hitRatio = 0.5f}};
  int value = 3;
  void *arguments[] = {&memory, &value};
  const CUDA_KERNEL_NODE_PARAMS params = {set, 1, 1, 1, 1, 1, 1, 0, arguments, NULL};
  CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = memory,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = memory + 32,
                        .WidthInBytes = 16,
                        .Height = 1,
                        .Depth = 1};
  cuGraphCreate(&graph, 0);
  cuGraphAddKernelNode(&kernel, graph, NULL, 0, &params);
  cuGraphAddEmptyNode(&empty, graph, NULL, 0);
  CASE("copy node", cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
  CASE("copy node of nothing", cuGraphAddMemcpyNode(&node, graph, NULL, 0, NULL, context));
  CASE("copy node of no graph", cuGraphAddMemcpyNode(&node, NULL, NULL, 0, &copy, context));
  copy.srcMemoryType = (CUmemorytype)9;
  CASE("copy node of type 9", cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  CASE("copy node of an array", cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.WidthInBytes = 65;
  CASE("copy node past the end", cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
  CASE("window of a node",
       cuGraphKernelNodeSetAttribute(kernel, CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  CASE("window of an empty node",
       cuGraphKernelNodeSetAttribute(empty, CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  CASE("attribute 9 of a node", cuGraphKernelNodeSetAttribute(kernel, (CUkernelNodeAttrID)9, &window));
  CASE("ask attribute 9 of a node", cuGraphKernelNodeGetAttribute(kernel, (CUkernelNodeAttrID)9, &window));
  CASE("ask an empty node",
       cuGraphKernelNodeGetAttribute(empty, CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  window.accessPolicyWindow.hitRatio = 2;
  CASE("hit ratio 2 of a node",
       cuGraphKernelNodeSetAttribute(kernel, CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  CASE("attributes of an empty node", cuGraphKernelNodeCopyAttributes(empty, kernel));
  CASE("attributes for an empty node", cuGraphKernelNodeCopyAttributes(kernel, empty));
  CASE("attributes of a node", cuGraphKernelNodeCopyAttributes(kernel, kernel));
}

static void pools(void) {
  const CUmemPoolProps props = {CU_MEM_ALLOCATION_TYPE_PINNED, 0, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, NULL, 0};
  CUmemPoolProps other = props;
  CUmemoryPool pool;
  CASE("pool", cuMemPoolCreate(&pool, &props));
  CASE("pool of nothing", cuMemPoolCreate(&pool, NULL));
  other.allocType = (CUmemAllocationType)9;
  CASE("pool of type 9", cuMemPoolCreate(&pool, &other));
  other = props;
  other.location.type = CU_MEM_LOCATION_TYPE_INVALID;
  CASE("pool nowhere", cuMemPoolCreate(&pool, &other));
  other = props;
  other.location.id = 99;
  CASE("pool of device 99", cuMemPoolCreate(&pool, &other));
}

static void streams(void) {
  CUstreamAttrValue window = {.accessPolicyWindow = {.hitRatio = 0.5f}};
  CUstream stream;
  CUcontext found;
  cuStreamCreate(&stream, 0);
  CASE("context of a stream", cuStreamGetCtx(stream, &found));
  CASE("context of the default stream", cuStreamGetCtx(NULL, &found));
  CASE("window", cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  CASE("ask for the window", cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  CASE("attribute 99", cuStreamSetAttribute(stream, (CUstreamAttrID)99, &window));
  window.accessPolicyWindow.hitRatio = 3;
  CASE("hit ratio 3", cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  window.accessPolicyWindow.hitRatio = 1;
  cuStreamDestroy(stream);
  CASE("context of a destroyed stream", cuStreamGetCtx(stream, &found));
  CASE("window of a destroyed stream", cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
  CASE("ask a destroyed stream", cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &window));
}

static void functions(void) {
  CUmodule found, other;
  int blocks, grid, block;
  CASE("banks", cuFuncSetSharedMemConfig(set, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE));
  CASE("banks 9", cuFuncSetSharedMemConfig(set, (CUsharedconfig)9));
  CASE("banks of no function", cuFuncSetSharedMemConfig(NULL, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE));
  CASE("module of a function", cuFuncGetModule(&found, set));
  CASE("module of no function", cuFuncGetModule(&found, NULL));
  CASE("occupancy", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, set, 64, 0, 0));
  CASE("occupancy of -1 threads", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, set, -1, 0, 0));
  CASE("occupancy of no function", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, NULL, 64, 0, 0));
  CASE("block size", cuOccupancyMaxPotentialBlockSize(&grid, &block, set, NULL, 0, 0));
  CASE("block size of no function", cuOccupancyMaxPotentialBlockSize(&grid, &block, NULL, NULL, 0, 0));
  cuModuleLoadData(&other, source);
  CUfunction gone = function_of(other, "set");
  cuModuleUnload(other);
  CASE("module of an unloaded function", cuFuncGetModule(&found, gone));
}

static void without_context(void) {
  const CUDA_MEMCPY3D_PEER box = {.srcContext = context, .dstContext = context};
  const CUDA_TEXTURE_DESC how = {.flags = 0};
  const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
  const CUmemPoolProps props = {CU_MEM_ALLOCATION_TYPE_PINNED, 0, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, NULL, 0};
  CUtexObject object;
  CUmemoryPool pool;
  CUcontext found;
  CUmodule of;
  cuCtxPopCurrent(&found);
  CASE("texture without a context", cuTexObjectCreate(&object, &resource, &how, NULL));
  CASE("surface without a context", cuSurfObjectCreate(&object, &resource));
  CASE("peers without a current context", cuMemcpy3DPeer(&box));
  CASE("pool without a context", cuMemPoolCreate(&pool, &props));
  CASE("context of a stream without a context", cuStreamGetCtx(NULL, &found));
  CASE("module without a context", cuFuncGetModule(&of, set));
  CASE("copy attributes without a context", cuGraphKernelNodeCopyAttributes(NULL, NULL));
  cuCtxPushCurrent(context);
}

int main(void) {
  context = open_module(&module, source);
  set = function_of(module, "set");
  OK(cuMemAlloc(&memory, 64));
  objects();
  peers();
  graphs();
  pools();
  streams();
  functions();
  without_context();
  return failures || cuCtxDestroy(context) != CUDA_SUCCESS;
}
