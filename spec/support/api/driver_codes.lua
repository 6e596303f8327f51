-- The calls of spec/support/c/driver_codes.c by moonwarp.driver: a table of result codes by the same names. Cases
-- are in the same order, because some depend on earlier ones.

local cu = require "moonwarp.driver"

local codes = {}

local function case(name, code) codes[name] = code end

local function second(_, value) return value end

local source = [[extern "C" __global__ void set(int *p, int value) { *p = value; }]]
local context, set, memory

local function objects()
  local array = second(cu.cuArrayCreate { Width = 4, Height = 2, Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1 })
  local how = { addressMode = { 1, 0, 0 } }
  case("texture of no resource", cu.cuTexObjectCreate(nil, how))
  case("texture of type 9", cu.cuTexObjectCreate({ resType = 9, res = {} }, how))
  case("texture of a mipmap", cu.cuTexObjectCreate({ resType = cu.CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, res = {} }, how))
  local none = { resType = cu.CU_RESOURCE_TYPE_ARRAY, res = { array = {} } }
  case("texture of no array", cu.cuTexObjectCreate(none, how))
  case("surface of no array", cu.cuSurfObjectCreate(none))
  case("surface of nothing", cu.cuSurfObjectCreate(nil))
  local function linear(p, format, channels)
    return {
      resType = cu.CU_RESOURCE_TYPE_LINEAR,
      res = { linear = { devPtr = p, format = format, numChannels = channels, sizeInBytes = 64 } },
    }
  end
  case("texture of three channels", cu.cuTexObjectCreate(linear(memory, cu.CU_AD_FORMAT_FLOAT, 3), how))
  case("texture of format 99", cu.cuTexObjectCreate(linear(memory, 99, 1), how))
  case("surface of memory", cu.cuSurfObjectCreate(linear(memory, cu.CU_AD_FORMAT_FLOAT, 1)))
  case("texture of no memory", cu.cuTexObjectCreate(linear(12345, cu.CU_AD_FORMAT_FLOAT, 1), how))
  case("texture of a narrow pitch", cu.cuTexObjectCreate({
    resType = cu.CU_RESOURCE_TYPE_PITCH2D,
    res = { pitch2D = {
      devPtr = memory, format = cu.CU_AD_FORMAT_FLOAT, numChannels = 1, width = 8, height = 2, pitchInBytes = 16,
    } },
  }, how))
  local resource = { resType = cu.CU_RESOURCE_TYPE_ARRAY, res = { array = { hArray = array } } }
  case("texture without a descriptor", cu.cuTexObjectCreate(resource, nil))
  case("texture with a view", cu.cuTexObjectCreate(resource, how, {}))
  local texture, surface
  codes["texture"], texture = cu.cuTexObjectCreate(resource, how)
  codes["surface"], surface = cu.cuSurfObjectCreate(resource)
  case("destroy a texture as a surface", cu.cuSurfObjectDestroy(texture))
  case("resource of a texture as a surface's", cu.cuSurfObjectGetResourceDesc(texture))
  case("destroy a texture", cu.cuTexObjectDestroy(texture))
  case("destroy a texture twice", cu.cuTexObjectDestroy(texture))
  case("resource of a destroyed texture", cu.cuTexObjectGetResourceDesc(texture))
  case("reading of a destroyed texture", cu.cuTexObjectGetTextureDesc(texture))
  case("destroy a surface", cu.cuSurfObjectDestroy(surface))
  case("destroy a surface twice", cu.cuSurfObjectDestroy(surface))
  case("resource of a destroyed surface", cu.cuSurfObjectGetResourceDesc(surface))
end

-- A copy within device memory; `changes` replace its fields.
local function box(changes)
  local p = {
    srcMemoryType = cu.CU_MEMORYTYPE_DEVICE, srcDevice = memory, srcContext = context,
    dstMemoryType = cu.CU_MEMORYTYPE_DEVICE, dstDevice = memory + 32, dstContext = context,
    WidthInBytes = 4, Height = 2, Depth = 2,
  }
  for name, value in pairs(changes or {}) do p[name] = value ~= false and value or nil end
  return p
end

local function peers()
  local stream = second(cu.cuStreamCreate(0))
  case("peers", cu.cuMemcpy3DPeer(box()))
  case("peers in a stream", cu.cuMemcpy3DPeerAsync(box(), stream))
  case("peers of nothing", cu.cuMemcpy3DPeer(nil))
  case("peers of nothing in a stream", cu.cuMemcpy3DPeerAsync(nil, stream))
  case("peers without a source's context", cu.cuMemcpy3DPeer(box { srcContext = false }))
  case("peers without a source's context in a stream", cu.cuMemcpy3DPeerAsync(box { srcContext = false }, stream))
  case("peers without a target's context", cu.cuMemcpy3DPeer(box { dstContext = false }))
  case("peers with a narrow pitch", cu.cuMemcpy3DPeer(box { srcPitch = 2 }))
  case("peers with a low slice", cu.cuMemcpy3DPeer(box { srcHeight = 1 }))
  case("peers of type 9", cu.cuMemcpy3DPeer(box { dstMemoryType = 9 }))
  case("peers past the end", cu.cuMemcpy3DPeer(box { WidthInBytes = 64 }))
  case("peers past the end in a stream", cu.cuMemcpy3DPeerAsync(box { WidthInBytes = 64 }, stream))
  cu.cuStreamDestroy(stream)
  case("peers in a destroyed stream", cu.cuMemcpy3DPeerAsync(box(), stream))
end

local function graphs()
  local graph = second(cu.cuGraphCreate(0))
  local kernel = second(cu.cuGraphAddKernelNode(graph, {}, {
    func = set, gridDimX = 1, blockDimX = 1, kernelParams = { memory, 3 },
  }))
  local empty = second(cu.cuGraphAddEmptyNode(graph, {}))
  local function copy(changes)
    local p = box { WidthInBytes = 16, Height = 1, Depth = 1 }
    for name, value in pairs(changes or {}) do p[name] = value end
    return p
  end
  case("copy node", (cu.cuGraphAddMemcpyNode(graph, {}, copy())))
  case("copy node of nothing", cu.cuGraphAddMemcpyNode(graph, {}, nil))
  case("copy node of no graph", cu.cuGraphAddMemcpyNode(nil, {}, copy()))
  case("copy node of type 9", cu.cuGraphAddMemcpyNode(graph, {}, copy { srcMemoryType = 9 }))
  case("copy node of an array", cu.cuGraphAddMemcpyNode(graph, {}, copy { srcMemoryType = cu.CU_MEMORYTYPE_ARRAY }))
  case("copy node past the end", cu.cuGraphAddMemcpyNode(graph, {}, copy { WidthInBytes = 65 }))
  local id, window = cu.CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, { accessPolicyWindow = { hitRatio = 0.5 } }
  case("window of a node", cu.cuGraphKernelNodeSetAttribute(graph, kernel, id, window))
  case("window of an empty node", cu.cuGraphKernelNodeSetAttribute(graph, empty, id, window))
  case("attribute 9 of a node", cu.cuGraphKernelNodeSetAttribute(graph, kernel, 9, window))
  case("ask attribute 9 of a node", cu.cuGraphKernelNodeGetAttribute(graph, kernel, 9))
  case("ask an empty node", cu.cuGraphKernelNodeGetAttribute(graph, empty, id))
  local much = { accessPolicyWindow = { hitRatio = 2 } }
  case("hit ratio 2 of a node", cu.cuGraphKernelNodeSetAttribute(graph, kernel, id, much))
  case("attributes of an empty node", cu.cuGraphKernelNodeCopyAttributes(graph, empty, kernel))
  case("attributes for an empty node", cu.cuGraphKernelNodeCopyAttributes(graph, kernel, empty))
  case("attributes of a node", cu.cuGraphKernelNodeCopyAttributes(graph, kernel, kernel))
end

local function pools()
  local pinned, device = 1, 1
  case("pool", (cu.cuMemPoolCreate { allocType = pinned, location = { type = device, id = 0 } }))
  case("pool of nothing", cu.cuMemPoolCreate(nil))
  case("pool of type 9", cu.cuMemPoolCreate { allocType = 9, location = { type = device, id = 0 } })
  case("pool nowhere", cu.cuMemPoolCreate { allocType = pinned, location = { type = 0, id = 0 } })
  case("pool of device 99", cu.cuMemPoolCreate { allocType = pinned, location = { type = device, id = 99 } })
end

local function streams()
  local id, window = cu.CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, { accessPolicyWindow = { hitRatio = 0.5 } }
  local stream = second(cu.cuStreamCreate(0))
  case("context of a stream", (cu.cuStreamGetCtx(stream)))
  case("context of the default stream", (cu.cuStreamGetCtx(nil)))
  case("window", cu.cuStreamSetAttribute(stream, id, window))
  case("ask for the window", (cu.cuStreamGetAttribute(stream, id)))
  case("attribute 99", cu.cuStreamSetAttribute(stream, 99, window))
  case("hit ratio 3", cu.cuStreamSetAttribute(stream, id, { accessPolicyWindow = { hitRatio = 3 } }))
  cu.cuStreamDestroy(stream)
  case("context of a destroyed stream", cu.cuStreamGetCtx(stream))
  case("window of a destroyed stream", cu.cuStreamSetAttribute(stream, id, window))
  case("ask a destroyed stream", cu.cuStreamGetAttribute(stream, id))
end

local function functions()
  case("banks", cu.cuFuncSetSharedMemConfig(set, 1))
  case("banks 9", cu.cuFuncSetSharedMemConfig(set, 9))
  case("banks of no function", cu.cuFuncSetSharedMemConfig(nil, 1))
  case("module of a function", (cu.cuFuncGetModule(set)))
  case("module of no function", cu.cuFuncGetModule(nil))
  case("occupancy", (cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(set, 64, 0, 0)))
  case("occupancy of -1 threads", cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(set, -1, 0, 0))
  case("occupancy of no function", cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(nil, 64, 0, 0))
  case("block size", (cu.cuOccupancyMaxPotentialBlockSize(set, nil, 0, 0)))
  case("block size of no function", cu.cuOccupancyMaxPotentialBlockSize(nil, nil, 0, 0))
  local other = second(cu.cuModuleLoadData(source))
  local gone = second(cu.cuModuleGetFunction(other, "set"))
  cu.cuModuleUnload(other)
  case("module of an unloaded function", cu.cuFuncGetModule(gone))
end

local function without_context()
  local none = { resType = cu.CU_RESOURCE_TYPE_ARRAY, res = { array = {} } }
  cu.cuCtxPopCurrent()
  case("texture without a context", cu.cuTexObjectCreate(none, {}))
  case("surface without a context", cu.cuSurfObjectCreate(none))
  case("peers without a current context", cu.cuMemcpy3DPeer(box()))
  case("pool without a context", cu.cuMemPoolCreate { allocType = 1, location = { type = 1, id = 0 } })
  case("context of a stream without a context", cu.cuStreamGetCtx(nil))
  case("module without a context", cu.cuFuncGetModule(set))
  case("copy attributes without a context", cu.cuGraphKernelNodeCopyAttributes(nil, nil, nil))
  cu.cuCtxPushCurrent(context)
end

---@return table<string, integer>
return function()
  assert(cu.cuInit(0) == cu.CUDA_SUCCESS)
  context = second(cu.cuCtxCreate(0, 0))
  set = second(cu.cuModuleGetFunction(second(cu.cuModuleLoadData(source)), "set"))
  memory = second(cu.cuMemAlloc(64))
  objects()
  peers()
  graphs()
  pools()
  streams()
  functions()
  without_context()
  assert(cu.cuCtxDestroy(context) == cu.CUDA_SUCCESS)
  return codes
end
