-- moonwarp.runtime: CUDA arrays, textures, surfaces and graphs under CUDA's names.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local runtime = require "support.api.runtime"

local m = mw.compile [[
texture<float, 2, cudaReadModeElementType> image;
texture<int, 1, cudaReadModeElementType> list;
__global__ void transform(float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D(image, x + 0.5f, y + 0.5f);
}
__global__ void at(float *out, float x, float y) { *out = tex2D(image, x, y); }
__global__ void look(int *out, int n) { for (int i = 0; i < n; i++) out[i] = tex1Dfetch(list, i); }
__global__ void object(cudaTextureObject_t t, float *out) { *out = tex2D<float>(t, 1.5f, 0.5f); }
__global__ void paint(cudaSurfaceObject_t s) { surf2Dwrite(7.5f, s, threadIdx.x * 4, 0); }
__global__ void add(int n, int d, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += d;
}
__device__ int plain;
]]

local ok, code, host = runtime.ok, runtime.code, runtime.host

-- How many pieces of memory there are if nothing is freed any more: neither by finalizers (what they release may have
-- its own) nor by streams, which free what they were using when it was released.
local function settled_count()
  for _ = 1, 3 do
    collectgarbage()
    mw.synchronize()
  end
  collectgarbage "stop"
  return mw.memory().count
end

local float = rt.cudaCreateChannelDesc(32, 0, 0, 0, 2)

local function count_to(n, first)
  local list = {}
  for i = 1, n do list[i] = (first or 0) + i end
  return list
end

local function contents(array, bytes)
  local h = rt.malloc(bytes, "float")
  ok(rt.cudaMemcpyFromArray(h, array, 0, 0, bytes, rt.cudaMemcpyDeviceToHost))
  return h:totable(bytes / 4)
end

describe("CUDA arrays", function()
  it("have their channels and sizes", function()
    local array = ok(rt.cudaMallocArray(rt.cudaCreateChannelDesc "uchar4", 8, 4))
    assert.same({ x = 8, y = 8, z = 8, w = 8, f = rt.cudaChannelFormatKindUnsigned }, ok(rt.cudaGetChannelDesc(array)))
    local desc, extent, flags = ok(rt.cudaArrayGetInfo(array))
    assert.equal(8, desc.x)
    assert.same({ width = 8, height = 4, depth = 0 }, extent)
    assert.equal(0, flags)
    local line = ok(rt.cudaMallocArray(float, 5))
    assert.same(float, ok(rt.cudaGetChannelDesc(line)))
    local box = ok(rt.cudaMalloc3DArray(float, rt.make_cudaExtent(4, 3, 2)))
    assert.same({ width = 4, height = 3, depth = 2 }, select(2, ok(rt.cudaArrayGetInfo(box))))
    local layers = ok(rt.cudaMalloc3DArray(float, rt.make_cudaExtent(4, 3, 5), rt.cudaArrayLayered))
    assert.equal("2dlayered", layers.kind)
    ok(rt.cudaFreeArray(array))
    ok(rt.cudaFreeArray(nil))
    code("cudaErrorInvalidValue", rt.cudaFreeArray(array))
    code("cudaErrorInvalidValue", rt.cudaGetChannelDesc(array))
    code("cudaErrorInvalidChannelDescriptor", rt.cudaMallocArray(rt.cudaCreateChannelDesc(8, 8, 8, 0, 1), 4, 4))
    code("cudaErrorInvalidChannelDescriptor", rt.cudaMallocArray(rt.cudaCreateChannelDesc(7, 0, 0, 0, 1), 4, 4))
    code("cudaErrorInvalidChannelDescriptor", rt.cudaMallocArray(nil, 4, 4))
  end)

  it("are copied to and from, linearly, from the middle of rows on", function()
    local array = ok(rt.cudaMallocArray(float, 4, 3))
    ok(rt.cudaMemcpyToArray(array, 0, 0, host("float", count_to(12)), 48, rt.cudaMemcpyHostToDevice))
    ok(rt.cudaMemcpyToArray(array, 8, 0, host("float", { 100, 101, 102, 103, 104, 105, 106 }), 28,
      rt.cudaMemcpyHostToDevice))
    assert.same({ 1, 2, 100, 101, 102, 103, 104, 105, 106, 10, 11, 12 }, contents(array, 48))
    local other = ok(rt.cudaMallocArray(float, 6, 2))
    ok(rt.cudaMemcpyArrayToArray(other, 0, 0, array, 4, 0, 40))
    assert.same({ 2, 100, 101, 102, 103, 104, 105, 106, 10, 11 }, contents(other, 40))
    local d = ok(rt.cudaMalloc(16))
    ok(rt.cudaMemcpyFromArrayAsync(d, array, 0, 2, 16, rt.cudaMemcpyDeviceToDevice, 0))
    ok(rt.cudaMemcpyToArrayAsync(array, 0, 0, d, 16, rt.cudaMemcpyDeviceToDevice, 0))
    local now = contents(array, 48)
    assert.same({ 106, 10, 11, 12, 102 }, { now[1], now[2], now[3], now[4], now[5] })
    code("cudaErrorInvalidValue", rt.cudaMemcpyToArray(array, 4, 0, d, 48, rt.cudaMemcpyDeviceToDevice))
    code("cudaErrorInvalidValue", rt.cudaMemcpyToArray(array, 2, 0, d, 4, rt.cudaMemcpyDeviceToDevice))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyToArray(array, 0, 0, d, 4, 9))
    code("cudaErrorInvalidValue", rt.cudaMemcpyToArray(nil, 0, 0, d, 4, 3))
  end)

  it("are copied to and from by rows", function()
    local array = ok(rt.cudaMallocArray(float, 4, 3))
    ok(rt.cudaMemcpyToArray(array, 0, 0, host("float", count_to(12)), 48, rt.cudaMemcpyHostToDevice))
    ok(rt.cudaMemcpy2DToArray(array, 4, 1, host("float", { 50, 51, 0, 52, 53, 0 }), 12, 8, 2,
      rt.cudaMemcpyHostToDevice))
    assert.same({ 1, 2, 3, 4, 5, 50, 51, 8, 9, 52, 53, 12 }, contents(array, 48))
    local h = rt.malloc(24, "float")
    ok(rt.cudaMemcpy2DFromArray(h, 12, array, 8, 0, 8, 2, rt.cudaMemcpyDeviceToHost))
    assert.same({ 3, 4, 0, 51, 8, 0 }, h:totable(6))
    local other = ok(rt.cudaMallocArray(float, 2, 2))
    ok(rt.cudaMemcpy2DArrayToArray(other, 0, 0, array, 4, 1, 8, 2))
    assert.same({ 50, 51, 52, 53 }, contents(other, 16))
    ok(rt.cudaMemcpy2DToArrayAsync(other, 0, 0, h, 12, 8, 2, rt.cudaMemcpyHostToDevice, 0))
    ok(rt.cudaMemcpy2DFromArrayAsync(h, 12, other, 0, 0, 8, 2, rt.cudaMemcpyDeviceToHost, 0))
    assert.same({ 3, 4, 51, 8 }, contents(other, 16))
    code("cudaErrorInvalidPitchValue", rt.cudaMemcpy2DToArray(array, 0, 0, h, 4, 8, 2, rt.cudaMemcpyHostToDevice))
    code("cudaErrorInvalidPitchValue", rt.cudaMemcpy2DFromArray(h, 4, array, 0, 0, 8, 2, rt.cudaMemcpyDeviceToHost))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DFromArray(h, 12, array, 12, 0, 8, 2, rt.cudaMemcpyDeviceToHost))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 16, 3))
  end)
end)

describe("texture references", function()
  rt.register(m)

  it("are bound to arrays, with the attributes that their fields say", function()
    local array = ok(rt.cudaMallocArray(float, 3, 2))
    ok(rt.cudaMemcpyToArray(array, 0, 0, host("float", { 1, 2, 3, 4, 5, 6 }), 24, rt.cudaMemcpyHostToDevice))
    local reference = ok(rt.cudaGetTextureReference("image"))
    code("cudaErrorInvalidTextureBinding", rt.cudaGetTextureAlignmentOffset(reference))
    ok(rt.cudaBindTextureToArray(reference, array, float))
    local out = ok(rt.cudaMalloc(24))
    ok(rt.cudaLaunchKernel(m.transform, 1, { 4, 4 }, { out, 3, 2 }))
    local h = rt.malloc(24, "float")
    ok(rt.cudaMemcpy(h, out, 24, rt.cudaMemcpyDeviceToHost))
    assert.same({ 1, 2, 3, 4, 5, 6 }, h:totable(6))
    reference.filterMode = rt.cudaFilterModeLinear
    reference.addressMode[0], reference.addressMode[1] = rt.cudaAddressModeClamp, rt.cudaAddressModeClamp
    ok(rt.cudaBindTextureToArray(reference, array, float))
    ok(rt.cudaLaunchKernel(m.at, 1, 1, { out, 1, 0.5 }))
    ok(rt.cudaMemcpy(h, out, 4, rt.cudaMemcpyDeviceToHost))
    assert.equal(1.5, h[0])
    reference.normalized = true
    ok(rt.cudaBindTextureToArray(reference, array))
    ok(rt.cudaLaunchKernel(m.at, 1, 1, { out, 1, 1 }))
    ok(rt.cudaMemcpy(h, out, 4, rt.cudaMemcpyDeviceToHost))
    assert.equal(6, h[0])
    ok(rt.cudaUnbindTexture(reference))
    code("cudaErrorInvalidTextureBinding", rt.cudaGetTextureAlignmentOffset(reference))
    code("cudaErrorInvalidTexture", rt.cudaGetTextureReference("plain"))
    code("cudaErrorInvalidSymbol", rt.cudaGetTextureReference("nobody"))
    code("cudaErrorInvalidTexture", rt.cudaBindTextureToArray(nil, array))
    code("cudaErrorInvalidValue", rt.cudaBindTextureToArray(reference, nil))
  end)

  it("are bound to linear memory, with the offset that its address needs", function()
    local d = ok(rt.cudaMalloc(4096))
    ok(rt.cudaMemcpy(d, host("int", count_to(1024, 10)), 4096, rt.cudaMemcpyHostToDevice))
    local reference = ok(rt.cudaGetTextureReference(m:symbol "list"))
    local int = rt.cudaCreateChannelDesc "int"
    assert.equal(0, ok(rt.cudaBindTexture(reference, d, int, 4096)))
    local out = ok(rt.cudaMalloc(12))
    ok(rt.cudaLaunchKernel(m.look, 1, 1, { out, 3 }))
    local h = rt.malloc(12, "int")
    ok(rt.cudaMemcpy(h, out, 12, rt.cudaMemcpyDeviceToHost))
    assert.same({ 11, 12, 13 }, h:totable(3))
    local offset = ok(rt.cudaBindTexture(reference, d + 8, int, 64))
    assert.equal(8, offset)
    assert.equal(offset, ok(rt.cudaGetTextureAlignmentOffset(reference)))
    code("cudaErrorInvalidValue", rt.cudaBindTexture(reference, rt.malloc(4), int, 4))
    code("cudaErrorInvalidChannelDescriptor", rt.cudaBindTexture(reference, d, {}, 4))
    ok(rt.cudaUnbindTexture(reference))
  end)
end)

describe("texture and surface objects", function()
  it("are made, passed to kernels and destroyed", function()
    local array = ok(rt.cudaMallocArray(float, 2, 1, rt.cudaArraySurfaceLoadStore))
    local resource = { resType = rt.cudaResourceTypeArray, res = { array = array } }
    local surface = ok(rt.cudaCreateSurfaceObject(resource))
    ok(rt.cudaLaunchKernel(m.paint, 1, 2, { surface }))
    local texture = ok(rt.cudaCreateTextureObject(resource, {
      addressMode = { rt.cudaAddressModeClamp }, filterMode = rt.cudaFilterModePoint,
      readMode = rt.cudaReadModeElementType,
    }))
    local out = ok(rt.cudaMalloc(4))
    ok(rt.cudaLaunchKernel(m.object, 1, 1, { texture, out }))
    local h = rt.malloc(4, "float")
    ok(rt.cudaMemcpy(h, out, 4, rt.cudaMemcpyDeviceToHost))
    assert.equal(7.5, h[0])
    ok(rt.cudaDestroyTextureObject(texture))
    code("cudaErrorInvalidValue", rt.cudaDestroyTextureObject(texture))
    ok(rt.cudaDestroySurfaceObject(surface))
    code("cudaErrorInvalidValue", rt.cudaDestroySurfaceObject(surface))
    code("cudaErrorInvalidValue", rt.cudaCreateTextureObject({ resType = 9 }, {}))
    code("cudaErrorInvalidValue", rt.cudaCreateSurfaceObject(nil))
  end)
end)

describe("graphs by CUDA's names", function()
  it("are captured, launched and updated", function()
    local s, d = ok(rt.cudaStreamCreate()), ok(rt.cudaMalloc(16))
    local h, out = ok(rt.cudaMallocHost(16)):cast("int"), ok(rt.cudaMallocHost(16)):cast("int")
    h:set { 1, 2, 3, 4 }
    assert.equal(rt.cudaStreamCaptureStatusNone, ok(rt.cudaStreamIsCapturing(s)))
    ok(rt.cudaStreamBeginCapture(s, rt.cudaStreamCaptureModeGlobal))
    assert.equal(rt.cudaStreamCaptureStatusActive, ok(rt.cudaStreamIsCapturing(s)))
    ok(rt.cudaMemcpyAsync(d, h, 16, rt.cudaMemcpyHostToDevice, s))
    ok(rt.cudaLaunchKernel(m.add, 1, 32, { 4, 10, d }, 0, s))
    ok(rt.cudaMemcpyAsync(out, d, 16, rt.cudaMemcpyDeviceToHost, s))
    local graph = ok(rt.cudaStreamEndCapture(s))
    assert.same({ 1, 2, 3 }, ok(rt.cudaGraphGetNodes(graph)))
    assert.equal(rt.cudaGraphNodeTypeKernel, ok(rt.cudaGraphNodeGetType(graph, 2)))
    assert.same({ 1 }, ok(rt.cudaGraphNodeGetDependencies(graph, 2)))
    local exec = ok(rt.cudaGraphInstantiate(graph))
    ok(rt.cudaGraphLaunch(exec, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 11, 12, 13, 14 }, out:totable(4))
    ok(rt.cudaGraphExecKernelNodeSetParams(exec, 2, {
      func = m.add, gridDim = 1, blockDim = 32, kernelParams = { 2, 100, d },
    }))
    ok(rt.cudaGraphLaunch(exec, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 101, 102, 3, 4 }, out:totable(4))
    ok(rt.cudaGraphExecMemcpyNodeSetParams1D(exec, 3, out, d, 4, rt.cudaMemcpyDeviceToHost))
    ok(rt.cudaGraphExecKernelNodeSetParams(exec, 2, {
      func = m.add, gridDim = 1, blockDim = 32, kernelParams = { 4, 7, d },
    }))
    ok(rt.cudaGraphLaunch(exec, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 8, 102, 3, 4 }, out:totable(4))
    code("cudaErrorGraphExecUpdateFailure",
      rt.cudaGraphExecMemcpyNodeSetParams1D(exec, 2, out, d, 4, rt.cudaMemcpyDeviceToHost))
    code("cudaErrorInvalidValue",
      rt.cudaGraphExecMemcpyNodeSetParams1D(exec, 9, out, d, 4, rt.cudaMemcpyDeviceToHost))
    ok(rt.cudaGraphExecUpdate(exec, graph))
    ok(rt.cudaGraphLaunch(exec, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 11, 12, 13, 14 }, out:totable(4))
    ok(rt.cudaGraphExecDestroy(exec))
    ok(rt.cudaGraphDestroy(graph))
    code("cudaErrorInvalidValue", rt.cudaGraphLaunch(graph, s))
  end)

  it("are made node by node", function()
    local graph = ok(rt.cudaGraphCreate(0))
    local d, h, seen = ok(rt.cudaMalloc(16)), ok(rt.cudaMallocHost(16)):cast("int"), nil
    local start = ok(rt.cudaGraphAddEmptyNode(graph))
    local set = ok(rt.cudaGraphAddMemsetNode(graph, { start }, { dst = d, value = 5, elementSize = 4, width = 4 }))
    local kernel = ok(rt.cudaGraphAddKernelNode(graph, { set }, {
      func = m.add, gridDim = 1, blockDim = 32, kernelParams = { 4, 1, d },
    }))
    local copy = ok(rt.cudaGraphAddMemcpyNode1D(graph, { kernel }, h, d, 16, rt.cudaMemcpyDeviceToHost))
    local call = ok(rt.cudaGraphAddHostNode(graph, {}, { fn = function(data) seen = data + h[3] end, userData = 100 }))
    ok(rt.cudaGraphAddDependencies(graph, { copy }, { call }))
    assert.equal(rt.cudaGraphNodeTypeHost, ok(rt.cudaGraphNodeGetType(graph, call)))
    assert.equal(rt.cudaGraphNodeTypeMemset, ok(rt.cudaGraphNodeGetType(graph, set)))
    local exec = ok(rt.cudaGraphInstantiate(graph))
    ok(rt.cudaGraphLaunch(exec, 0))
    ok(rt.cudaDeviceSynchronize())
    assert.equal(106, seen)
    local other = { dst = d, value = 20, elementSize = 4, width = 4 }
    ok(rt.cudaGraphExecMemsetNodeSetParams(exec, set, other))
    ok(rt.cudaGraphExecHostNodeSetParams(exec, call, { fn = function(data) seen = data - h[0] end, userData = 1 }))
    ok(rt.cudaGraphLaunch(exec, 0))
    ok(rt.cudaDeviceSynchronize())
    assert.equal(-20, seen)
    code("cudaErrorGraphExecUpdateFailure", rt.cudaGraphExecMemsetNodeSetParams(exec, kernel, other))
    code("cudaErrorGraphExecUpdateFailure", rt.cudaGraphExecHostNodeSetParams(exec, set, { fn = print }))
    code("cudaErrorInvalidValue", rt.cudaGraphExecMemsetNodeSetParams(graph, set, other))
    code("cudaErrorInvalidValue", rt.cudaGraphExecHostNodeSetParams(nil, call, { fn = print }))
    local box = { srcPtr = rt.make_cudaPitchedPtr(d, 8, 8, 1), dstPtr = rt.make_cudaPitchedPtr(h, 8, 8, 1),
      extent = rt.make_cudaExtent(8, 1, 1), kind = rt.cudaMemcpyDeviceToHost }
    h:set { 0, 0, 0, 0 }
    ok(rt.cudaGraphExecMemcpyNodeSetParams(exec, copy, box))
    ok(rt.cudaGraphLaunch(exec, 0))
    ok(rt.cudaDeviceSynchronize())
    assert.same({ 21, 21, 0, 0 }, h:totable(4))
    code("cudaErrorGraphExecUpdateFailure", rt.cudaGraphExecMemcpyNodeSetParams(exec, set, box))
    code("cudaErrorInvalidValue", rt.cudaGraphExecMemcpyNodeSetParams(exec, 99, box))
    local path = os.tmpname()
    ok(rt.cudaGraphDebugDotPrint(graph, path))
    local file = io.open(path)
    assert.matches("^digraph", file:read("*a"))
    file:close()
    os.remove(path)
    code("cudaErrorInvalidValue", rt.cudaGraphAddEmptyNode(graph, { 99 }))
    code("cudaErrorInvalidValue", rt.cudaGraphNodeGetType(graph, 99))
    code("cudaErrorInvalidValue", rt.cudaGraphAddKernelNode(graph, {}, nil))
    code("cudaErrorInvalidValue", rt.cudaGraphCreate(1))
  end)

  it("are captured by the mode", function()
    local s, p = ok(rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)), ok(rt.cudaMalloc(16))
    ok(rt.cudaStreamBeginCapture(s, rt.cudaStreamCaptureModeRelaxed))
    ok(rt.cudaMemsetAsync(p, 1, 16, s))
    ok(rt.cudaMemset(p, 2, 16)) -- the default stream does not wait for this one
    ok(rt.cudaDeviceSynchronize())
    ok(rt.cudaGraphAddEmptyNode(ok(rt.cudaGraphCreate(0)), {}))
    local graph = ok(rt.cudaStreamEndCapture(s))
    assert.same({ 2 }, runtime.fetch(p, "uchar", 1))
    ok(rt.cudaGraphLaunch(ok(rt.cudaGraphInstantiate(graph)), s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 1 }, runtime.fetch(p, "uchar", 1))
    for _, mode in ipairs { "Global", "ThreadLocal" } do
      ok(rt.cudaStreamBeginCapture(s, rt["cudaStreamCaptureMode" .. mode]))
      code("cudaErrorStreamCaptureUnsupported", rt.cudaDeviceSynchronize())
      code("cudaErrorStreamCaptureInvalidated", rt.cudaStreamEndCapture(s))
    end
    ok(rt.cudaDeviceSynchronize())
    ok(rt.cudaFree(p))
    ok(rt.cudaStreamDestroy(s))
  end)

  it("are captured with the memory that arrays' functions use", function()
    local s, x, list = mw.stream(), mw.array({ 3, 1, 2 }, "int"), {}
    for i = 1, 20000 do list[i] = i * 7 % 11 end
    local long, sorted, sums, few = mw.array(list, "int"), nil, nil, nil
    ok(rt.cudaStreamBeginCapture(s))
    mw.with(s, function() sorted, sums, few = long:sort(), long:cumsum(), x:sort() end)
    local graph = ok(rt.cudaGraphInstantiate(ok(rt.cudaStreamEndCapture(s))))
    local others = mw.zeros(20000, "int") -- would be given what was freed
    ok(rt.cudaGraphLaunch(graph, s))
    ok(rt.cudaStreamSynchronize(s))
    table.sort(list)
    for i = 1, 20000, 999 do assert.equal(list[i], sorted[i]) end
    assert.equal(long:sum(), sums[20000])
    assert.same({ 1, 2, 3 }, few:totable())
    assert.equal(0, others:sum())
  end)

  it("keep the memory of results that were read while they were captured", function()
    local s, x = mw.stream(), mw.zeros(20000, "double")
    x:sum()
    ok(rt.cudaStreamBeginCapture(s, rt.cudaStreamCaptureModeRelaxed))
    mw.with(s, function() x:sum() end) -- has not run, which this mode does not refuse
    local graph = ok(rt.cudaGraphInstantiate(ok(rt.cudaStreamEndCapture(s))))
    local before = settled_count()
    x:sum()
    local after = mw.memory().count
    assert.is_true(after > before) -- not what the graph writes
    x:sum()
    assert.equal(after, mw.memory().count)
    collectgarbage "restart"
    ok(rt.cudaGraphLaunch(graph, s))
    ok(rt.cudaStreamSynchronize(s))
  end)

  it("whose stream is destroyed keep no memory afterwards", function()
    local s, x = ok(rt.cudaStreamCreate()), mw.array({ 3, 1, 2 }, "int")
    ok(rt.cudaStreamBeginCapture(s))
    ok(rt.cudaStreamDestroy(s))
    x:sort()
    local before = settled_count()
    local sorted = x:sort()
    mw.synchronize()
    local after = mw.memory().count
    collectgarbage "restart"
    assert.equal(before + 1, after)
    sorted:free()
  end)

  it("refuse the same operations as CUDA", function()
    local s, x = ok(rt.cudaStreamCreate()), mw.zeros(4, "int")
    code("cudaErrorStreamCaptureUnsupported", rt.cudaStreamBeginCapture(0))
    code("cudaErrorInvalidValue", rt.cudaStreamEndCapture(s))
    code("cudaErrorInvalidValue", rt.cudaStreamBeginCapture(s, 7))
    ok(rt.cudaStreamBeginCapture(s))
    code("cudaErrorStreamCaptureUnsupported", rt.cudaStreamSynchronize(s))
    assert.equal(rt.cudaStreamCaptureStatusInvalidated, ok(rt.cudaStreamIsCapturing(s)))
    code("cudaErrorStreamCaptureInvalidated", rt.cudaStreamEndCapture(s))
    ok(rt.cudaStreamBeginCapture(s))
    code("cudaErrorStreamCaptureImplicit", rt.cudaLaunchKernel(m.add, 1, 1, { 1, 1, x }))
    code("cudaErrorStreamCaptureInvalidated", rt.cudaStreamEndCapture(s))
    ok(rt.cudaStreamSynchronize(s))
    assert.equal(0, x:sum())
    code("cudaErrorGraphExecUpdateFailure", rt.cudaGraphExecUpdate(
      ok(rt.cudaGraphInstantiate(ok(rt.cudaGraphCreate()))), mw.capture(function() x:fill(1) end)))
  end)
end)
