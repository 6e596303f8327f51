-- moonwarp.runtime: errors of functions whose working is tested elsewhere, and the functions that refuse.

local mw = require "moonwarp"
local suite = require "support.suite"
local rt = require "moonwarp.runtime"
local runtime = require "support.runtime"

local m = rt.register(mw.compile [[
texture<int, 1, cudaReadModeElementType> unbound;
__constant__ float factor[2];
__global__ void plain(int *x) { *x = 1; }
__global__ void wild(int *x) { x[1 << 28] = 1; }
__global__ void reads(int *x) { *x = tex1Dfetch(unbound, 0); }
]])

local ok, code = runtime.ok, runtime.code

local p, h = ok(rt.cudaMalloc(64)), rt.malloc(64)
local float = rt.cudaCreateChannelDesc "float"
local array = ok(rt.cudaMallocArray(float, 4, 2))
local TO_DEVICE, TO_HOST, MUCH = rt.cudaMemcpyHostToDevice, rt.cudaMemcpyDeviceToHost, 2 ^ 52

describe("errors of devices", function()
  it("are wrong numbers", function()
    code("cudaErrorInvalidDevice", rt.cudaDeviceGetAttribute(1, 99))
    code("cudaErrorInvalidDevice", rt.cudaDeviceGetPCIBusId(99))
    code("cudaErrorInvalidDevice", rt.cudaDeviceEnablePeerAccess(99))
    code("cudaErrorInvalidDevice", rt.cudaDeviceDisablePeerAccess(99))
    mw.devices { cpu = 2 }
    if ok(rt.cudaDeviceCanAccessPeer(0, 1)) == 1 then
      ok(rt.cudaDeviceEnablePeerAccess(1, 0))
      code("cudaErrorPeerAccessAlreadyEnabled", rt.cudaDeviceEnablePeerAccess(1, 0))
      ok(rt.cudaDeviceDisablePeerAccess(1))
    end
    mw.devices { cpu = 1 }
    code("cudaErrorInvalidDevice", rt.cudaDeviceGetDefaultMemPool(99))
    code("cudaErrorInvalidDevice", rt.cudaDeviceGetMemPool(99))
  end)

  suite.apart(it, "are failures of kernels before", function()
    ok(rt.cudaLaunchKernel(m.wild, 1, 1, { p }))
    code("cudaErrorIllegalAddress", rt.cudaDeviceSynchronize())
  end)
end)

describe("errors of streams and events", function()
  it("are what is no stream and no event", function()
    code("cudaErrorInvalidValue", rt.cudaStreamCreateWithPriority(7, 0))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamGetPriority("s"))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamGetFlags("s"))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamGetId("s"))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamAddCallback("s", function() end, nil, 0))
    code("cudaErrorInvalidResourceHandle", rt.cudaLaunchHostFunc("s", function() end))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamSetAttribute("s", 1, {}))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamGetAttribute("s", 1))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamAttachMemAsync("s", p))
    code("cudaErrorInvalidResourceHandle", rt.cudaEventQuery(nil))
    code("cudaErrorInvalidResourceHandle", rt.cudaEventSynchronize(nil))
    code("cudaErrorInvalidResourceHandle", rt.cudaEventRecordWithFlags(nil, nil, 0))
  end)

  it("are events that are not done", function()
    local s, a, b = ok(rt.cudaStreamCreate()), ok(rt.cudaEventCreate()), ok(rt.cudaEventCreate())
    ok(rt.cudaEventRecord(a, s))
    ok(rt.cudaLaunchHostFunc(s, function() code("cudaErrorNotReady", rt.cudaEventElapsedTime(a, b)) end))
    ok(rt.cudaEventRecord(b, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.is_true(ok(rt.cudaEventElapsedTime(a, b)) >= 0)
  end)
end)

describe("errors of allocations", function()
  it("are sizes that cannot be", function()
    code("cudaErrorMemoryAllocation", rt.cudaMallocPitch(2 ^ 26, 2 ^ 26))
    code("cudaErrorInvalidValue", rt.cudaMallocPitch(-1, 4))
    code("cudaErrorMemoryAllocation", rt.cudaMalloc3D(rt.make_cudaExtent(2 ^ 20, 2 ^ 16, 2 ^ 16)))
    code("cudaErrorInvalidValue", rt.cudaMalloc3D(nil))
    code("cudaErrorInvalidValue", rt.cudaMallocHost(-1))
    code("cudaErrorMemoryAllocation", rt.cudaHostAlloc(MUCH, 0))
    code("cudaErrorMemoryAllocation", rt.cudaMallocManaged(MUCH))
    code("cudaErrorInvalidValue", rt.cudaMallocAsync(-1, 0))
  end)

  it("are pools that are none, and those that are full", function()
    local pool = ok(rt.cudaMemPoolCreate { maxSize = 100 })
    code("cudaErrorMemoryAllocation", rt.cudaMallocFromPoolAsync(101, pool, 0))
    ok(rt.cudaMemPoolDestroy(pool))
    code("cudaErrorInvalidValue", rt.cudaMallocFromPoolAsync(1, pool, 0))
    code("cudaErrorInvalidValue", rt.cudaMemPoolDestroy(pool))
    code("cudaErrorInvalidValue", rt.cudaDeviceSetMemPool(0, pool))
    code("cudaErrorInvalidDevice", rt.cudaDeviceSetMemPool(99, pool))
    code("cudaErrorInvalidValue", rt.cudaMemPoolCreate(nil))
    code("cudaErrorInvalidDevice", rt.cudaMemPoolCreate { location = { id = 99 } })
  end)

  it("are arrays beyond a limit of memory", function()
    local before = mw.limit("memory", 2 ^ 20) -- of all memory: whatever is collected meanwhile, it is not enough
    code("cudaErrorMemoryAllocation", rt.cudaMallocArray(float, 1024, 1024))
    code("cudaErrorMemoryAllocation", rt.cudaMalloc3DArray(float, rt.make_cudaExtent(128, 128, 128)))
    mw.limit("memory", before)
  end)
end)

describe("errors of copies", function()
  it("of bytes are directions, ends and streams", function()
    local s = ok(rt.cudaStreamCreate())
    code("cudaErrorInvalidValue", rt.cudaMemcpyAsync(p, h, 65, TO_DEVICE, s))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyAsync(p, h, 64, 7, s))
    code("cudaErrorInvalidResourceHandle", rt.cudaMemcpyAsync(p, h, 64, TO_DEVICE, "s"))
    code("cudaErrorInvalidValue", rt.cudaMemsetAsync(p, 0, 65, s))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyToSymbol("factor", "12345678", 8, 0, 9))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyFromSymbol(h, "factor", 8, 0, 9))
    code("cudaErrorInvalidSymbol", rt.cudaMemcpyFromSymbol(h, "nobody", 8))
    code("cudaErrorInvalidValue", rt.cudaMemcpyToSymbolAsync("factor", h, 9, 0, TO_DEVICE, s))
    code("cudaErrorInvalidSymbol", rt.cudaMemcpyToSymbolAsync("nobody", h, 8, 0, TO_DEVICE, s))
    code("cudaErrorInvalidValue", rt.cudaMemcpyFromSymbolAsync(h, "factor", 9, 0, TO_HOST, s))
    code("cudaErrorInvalidSymbol", rt.cudaMemcpyFromSymbolAsync(h, "nobody", 8, 0, TO_HOST, s))
    code("cudaErrorInvalidValue", rt.cudaMemcpyPeer(p, 0, p, 0, 65))
    code("cudaErrorInvalidDevice", rt.cudaMemcpyPeer(p, 99, p, 0, 4))
    code("cudaErrorInvalidValue", rt.cudaMemcpyPeerAsync(p, 0, p, 0, 65, s))
    code("cudaErrorInvalidDevice", rt.cudaMemcpyPeerAsync(p, 0, p, 99, 4, s))
  end)

  it("of rows and boxes are pitches too", function()
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpy2D(p, 8, h, 8, 8, 4, 7))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DAsync(p, 8, h, 8, 8, 9, TO_DEVICE, 0))
    code("cudaErrorInvalidPitchValue", rt.cudaMemcpy2DAsync(p, 7, h, 8, 8, 4, TO_DEVICE, 0))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpy2DAsync(p, 8, h, 8, 8, 4, 7, 0))
    code("cudaErrorInvalidValue", rt.cudaMemset2DAsync(p, 8, 0, 8, 9, 0))
    code("cudaErrorInvalidPitchValue", rt.cudaMemset2DAsync(p, 7, 0, 8, 4, 0))
    local box = rt.make_cudaPitchedPtr(p, 8, 8, 4)
    code("cudaErrorInvalidValue", rt.cudaMemset3DAsync(box, 0, rt.make_cudaExtent(8, 4, 3), 0))
    local params = { srcPtr = box, dstPtr = box, extent = rt.make_cudaExtent(9, 2, 1) }
    code("cudaErrorInvalidPitchValue", rt.cudaMemcpy3D(params))
    params.extent.width, params.kind = 8, 9
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpy3D(params))
    -- Between devices, from one place of this one to another.
    ok(rt.cudaMemset(p, 3, 8))
    local peers = {
      srcPtr = box, srcDevice = 0, dstPtr = rt.make_cudaPitchedPtr(p + 32, 8, 8, 4), dstDevice = 0,
      extent = rt.make_cudaExtent(8, 1, 1),
    }
    ok(rt.cudaMemcpy3DPeer(peers))
    peers.dstPos = rt.make_cudaPos(0, 1, 0)
    ok(rt.cudaMemcpy3DPeerAsync(peers, 0))
    ok(rt.cudaMemcpy(h, p + 32, 16, TO_HOST))
    assert.equal(("\3"):rep(16), h:tostring(16))
    peers.extent.height = 9
    code("cudaErrorInvalidValue", rt.cudaMemcpy3DPeer(peers))
    code("cudaErrorInvalidValue", rt.cudaMemcpy3DPeerAsync(peers, 0))
    peers.dstDevice = 99
    code("cudaErrorInvalidDevice", rt.cudaMemcpy3DPeer(peers))
    code("cudaErrorInvalidDevice", rt.cudaMemcpy3DPeerAsync(peers, 0))
  end)

  it("with arrays are the same", function()
    code("cudaErrorInvalidValue", rt.cudaMemcpyToArrayAsync(array, 0, 0, h, 36, TO_DEVICE, 0))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyToArrayAsync(array, 0, 0, h, 32, TO_HOST, 0))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DToArray(array, 0, 0, h, 16, 16, 3, TO_DEVICE))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DToArrayAsync(array, 0, 0, h, 16, 16, 3, TO_DEVICE, 0))
    code("cudaErrorInvalidPitchValue", rt.cudaMemcpy2DToArrayAsync(array, 0, 0, h, 12, 16, 2, TO_DEVICE, 0))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpy2DToArrayAsync(array, 0, 0, h, 16, 16, 2, TO_HOST, 0))
    code("cudaErrorInvalidValue", rt.cudaMemcpyFromArrayAsync(h, array, 0, 0, 36, TO_HOST, 0))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyFromArrayAsync(h, array, 0, 0, 32, TO_DEVICE, 0))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DFromArrayAsync(h, 16, array, 0, 0, 16, 3, TO_HOST, 0))
    code("cudaErrorInvalidPitchValue", rt.cudaMemcpy2DFromArrayAsync(h, 12, array, 0, 0, 16, 2, TO_HOST, 0))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpy2DFromArrayAsync(h, 16, array, 0, 0, 16, 2, TO_DEVICE, 0))
  end)
end)

describe("errors of textures", function()
  it("are references that are none, and settings that do not go together", function()
    code("cudaErrorInvalidTexture", rt.cudaBindTexture(nil, p, float, 4))
    local linear = { resType = rt.cudaResourceTypeLinear, res = { devPtr = p, desc = {}, sizeInBytes = 4 } }
    code("cudaErrorInvalidChannelDescriptor", rt.cudaCreateTextureObject(linear, {}))
    local ints = ok(rt.cudaMallocArray(rt.cudaCreateChannelDesc "int", 2, 2))
    local resource = { resType = rt.cudaResourceTypeArray, res = { array = ints } }
    code("cudaErrorInvalidFilterSetting", rt.cudaCreateTextureObject(resource, { filterMode = 1 }))
    code("cudaErrorInvalidNormSetting", rt.cudaCreateTextureObject(resource, { readMode = 1 }))
  end)
end)

describe("errors of launches", function()
  it("by the triple are told by cudaLaunch", function()
    ok(rt.cudaConfigureCall(1, 1))
    code("cudaErrorInvalidValue", rt.cudaSetupArgument(p, 8, -1))
    ok(rt.cudaSetupArgument(p, 8, 0))
    code("cudaErrorInvalidTextureBinding", rt.cudaLaunch(m.reads))
    ok(rt.cudaConfigureCall(1, 4096))
    ok(rt.cudaSetupArgument(p, 8, 0))
    code("cudaErrorInvalidConfiguration", rt.cudaLaunch(m.plain))
    ok(rt.cudaConfigureCall(1, 1))
    code("cudaErrorInvalidDeviceFunction", rt.cudaLaunch("nobody"))
  end)

  it("are kernels that are none, and block sizes", function()
    code("cudaErrorInvalidDeviceFunction", rt.cudaFuncSetAttribute("nobody", 8, 0))
    code("cudaErrorInvalidDeviceFunction", rt.cudaFuncSetCacheConfig("nobody", 0))
    code("cudaErrorInvalidDeviceFunction", rt.cudaFuncSetSharedMemConfig("nobody", 0))
    code("cudaErrorInvalidDeviceFunction", rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor("nobody", 32, 0))
    code("cudaErrorInvalidValue", rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(m.plain, 0, 0))
    code("cudaErrorInvalidDeviceFunction",
      rt.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags("nobody", 32, 0, 0))
    code("cudaErrorInvalidValue", rt.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(m.plain, 0.5, 0, 0))
    code("cudaErrorInvalidDeviceFunction", rt.cudaOccupancyMaxPotentialBlockSize("nobody"))
  end)
end)

describe("errors of graphs", function()
  local kernel = { func = m.plain, gridDim = 1, blockDim = 1, kernelParams = { p } }

  it("are what is no graph, no node, no stream", function()
    local g, s = ok(rt.cudaGraphCreate(0)), ok(rt.cudaStreamCreate())
    local exec = ok(rt.cudaGraphInstantiate(g))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamBeginCapture("s"))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamIsCapturing("s"))
    code("cudaErrorInvalidValue", rt.cudaGraphDestroy(nil))
    code("cudaErrorInvalidDeviceFunction", rt.cudaGraphAddKernelNode(g, {}, { func = "nobody" }))
    code("cudaErrorInvalidConfiguration", rt.cudaGraphAddKernelNode(g, {}, {
      func = m.plain, gridDim = 1, blockDim = 4096, kernelParams = { p },
    }))
    code("cudaErrorInvalidValue", rt.cudaGraphAddMemcpyNode(g, {}, {}))
    code("cudaErrorInvalidValue", rt.cudaGraphAddMemcpyNode1D(g, {}, p, p, 65, 3))
    code("cudaErrorInvalidValue", rt.cudaGraphAddMemsetNode(g, {}, { dst = p, value = 0, width = 65 }))
    code("cudaErrorInvalidValue", rt.cudaGraphAddHostNode(nil, {}, {}))
    code("cudaErrorInvalidValue", rt.cudaGraphAddDependencies(g, { 98 }, { 99 }))
    code("cudaErrorInvalidValue", rt.cudaGraphGetNodes(nil))
    code("cudaErrorInvalidValue", rt.cudaGraphNodeGetDependencies(g, 99))
    code("cudaErrorInvalidValue", rt.cudaGraphDebugDotPrint(nil, "/dev/null"))
    code("cudaErrorOperatingSystem", rt.cudaGraphDebugDotPrint(g, "/no/such/folder/graph.dot"))
    code("cudaErrorInvalidValue", rt.cudaGraphInstantiate(nil))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphLaunch(exec, "s"))
    code("cudaErrorInvalidValue", rt.cudaGraphExecDestroy(nil))
    code("cudaErrorInvalidValue", rt.cudaGraphExecUpdate(nil, g))
    code("cudaErrorInvalidValue", rt.cudaGraphExecKernelNodeSetParams(nil, 1, kernel))
    ok(rt.cudaStreamSynchronize(s))
  end)

  it("are streams that take part and are not waited for", function()
    local a, b, e = ok(rt.cudaStreamCreate()), ok(rt.cudaStreamCreate()), ok(rt.cudaEventCreate())
    ok(rt.cudaStreamBeginCapture(a))
    ok(rt.cudaLaunchKernel(m.plain, 1, 1, { p }, 0, a))
    ok(rt.cudaEventRecord(e, a))
    ok(rt.cudaStreamWaitEvent(b, e, 0))
    ok(rt.cudaLaunchKernel(m.plain, 1, 1, { p }, 0, b))
    code("cudaErrorStreamCaptureUnjoined", rt.cudaStreamEndCapture(a))
  end)

  it("are none where a copy of a box is a node", function()
    local g, d = ok(rt.cudaGraphCreate(0)), ok(rt.cudaMallocHost(8))
    ok(rt.cudaMemset(p, 9, 8))
    ok(rt.cudaGraphAddMemcpyNode(g, {}, {
      srcPtr = rt.make_cudaPitchedPtr(p, 8, 8, 1), dstPtr = rt.make_cudaPitchedPtr(d, 8, 8, 1),
      extent = rt.make_cudaExtent(4, 1, 1), kind = TO_HOST,
    }))
    ok(rt.cudaGraphLaunch(ok(rt.cudaGraphInstantiate(g)), 0))
    ok(rt.cudaDeviceSynchronize())
    assert.equal("\9\9\9\9", d:tostring(4))
  end)
end)

describe("Direct3D", function()
  it("is refused, each function with its name", function()
    code("cudaErrorNotSupported", rt.cudaD3D9Begin())
    assert.matches("cudaD3D9Begin: .*Direct3D", rt.story().message)
    code("cudaErrorNotSupported", rt.cudaD3D9End())
    code("cudaErrorNotSupported", rt.cudaD3D9RegisterVertexBuffer())
    code("cudaErrorNotSupported", rt.cudaD3D9MapVertexBuffer())
    code("cudaErrorNotSupported", rt.cudaD3D9UnmapVertexBuffer())
    code("cudaErrorNotSupported", rt.cudaD3D9UnregisterVertexBuffer())
    code("cudaErrorNotSupported", rt.cudaD3D9GetDevice("display"))
    code("cudaErrorNotSupported", rt.cudaD3D9GetDirect3DDevice())
    code("cudaErrorNotSupported", rt.cudaD3D9RegisterResource())
    code("cudaErrorNotSupported", rt.cudaD3D9UnregisterResource())
    code("cudaErrorNotSupported", rt.cudaD3D9MapResources())
    code("cudaErrorNotSupported", rt.cudaD3D9UnmapResources())
    code("cudaErrorNotSupported", rt.cudaD3D9ResourceGetMappedPointer())
    code("cudaErrorNotSupported", rt.cudaD3D9ResourceGetMappedPitch())
    code("cudaErrorNotSupported", rt.cudaD3D9ResourceGetMappedSize())
    code("cudaErrorNotSupported", rt.cudaD3D9ResourceGetSurfaceDimensions())
    code("cudaErrorNotSupported", rt.cudaD3D9ResourceSetMapFlags())
  end)
end)
