-- Copies of CUDA arrays in streams: they do not block, are ordered with kernels, and are nodes of graphs.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local runtime = require "support.api.runtime"

local ok, code = runtime.ok, runtime.code

rt.register(mw.compile [[
__global__ void ramp(float *p, float first) { p[threadIdx.x] = first + threadIdx.x; }
__global__ void sum(cudaTextureObject_t t, int n, float *out) {
  *out = 0;
  for (int i = 0; i < n; i++) *out += tex2D<float>(t, i % 4 + 0.5f, i / 4 + 0.5f);
}
]])

local float = rt.cudaCreateChannelDesc "float"
local TO_DEVICE, TO_HOST, WITHIN = rt.cudaMemcpyHostToDevice, rt.cudaMemcpyDeviceToHost, rt.cudaMemcpyDeviceToDevice

local function pinned(count, values)
  local p = ok(rt.cudaMallocHost(4 * count)):cast "float"
  for i = 0, count - 1 do p[i] = values and values[i + 1] or 0 end
  return p
end

local function stream() return ok(rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)) end

local function texture_of(array)
  return ok(rt.cudaCreateTextureObject({ resType = rt.cudaResourceTypeArray, res = { array = { array = array } } }, {}))
end

-- Work that is not done before the host reads it: f must not wait for it when it queues more.
local function behind(s, f)
  local came = false
  ok(rt.cudaLaunchHostFunc(s, function() came = true end))
  f()
  assert.is_false(came)
  ok(rt.cudaStreamSynchronize(s))
  assert.is_true(came)
end

describe("copies of CUDA arrays in a stream", function()
  local s = stream()

  it("do not wait, in any form", function()
    local flat = ok(rt.cudaMallocArray(float, 4, 3))
    local h = pinned(12, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 })
    local back, part, box = pinned(12), pinned(5), pinned(4)
    behind(s, function()
      ok(rt.cudaMemcpy2DToArrayAsync(flat, 0, 0, h, 16, 16, 3, TO_DEVICE, s))
      ok(rt.cudaMemcpyToArrayAsync(flat, 8, 0, h + 9, 12, TO_DEVICE, s)) -- the rest of a row and more
      ok(rt.cudaMemcpy2DFromArrayAsync(back, 16, flat, 0, 0, 16, 3, TO_HOST, s))
      ok(rt.cudaMemcpyFromArrayAsync(part, flat, 12, 0, 20, TO_HOST, s))
      ok(rt.cudaMemcpy3DAsync({ srcArray = flat, srcPos = { x = 1, y = 1, z = 0 }, kind = TO_HOST,
        dstPtr = rt.make_cudaPitchedPtr(box, 8, 2, 2), extent = rt.make_cudaExtent(2, 2, 1) }, s))
    end)
    assert.same({ 1, 2, 10, 11, 12, 6, 7, 8, 9, 10, 11, 12 }, back:totable(12))
    assert.same({ 11, 12, 6, 7, 8 }, part:totable(5))
    assert.same({ 6, 7, 10, 11 }, box:totable(4))
  end)

  it("move slices of three dimensions, and from array to array", function()
    local extent = rt.make_cudaExtent(2, 2, 3)
    local volume, layers = ok(rt.cudaMalloc3DArray(float, extent)), ok(rt.cudaMalloc3DArray(float, extent, 1))
    local h, back = pinned(12, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }), pinned(8)
    behind(s, function()
      ok(rt.cudaMemcpy3DAsync({ srcPtr = rt.make_cudaPitchedPtr(h, 8, 2, 2), dstArray = volume, extent = extent,
        kind = TO_DEVICE }, s))
      ok(rt.cudaMemcpy3DAsync({ srcArray = volume, srcPos = { x = 0, y = 0, z = 1 }, dstArray = layers, kind = WITHIN,
        extent = rt.make_cudaExtent(2, 2, 2) }, s))
      ok(rt.cudaMemcpy3DAsync({ srcArray = layers, dstPtr = rt.make_cudaPitchedPtr(back, 8, 2, 2), kind = TO_HOST,
        extent = rt.make_cudaExtent(2, 2, 2) }, s))
    end)
    assert.same({ 5, 6, 7, 8, 9, 10, 11, 12 }, back:totable(8))
  end)

  it("run between the kernels before and after them", function()
    local array, p, out = ok(rt.cudaMallocArray(float, 4, 2)), ok(rt.cudaMalloc(32)), ok(rt.cudaMalloc(8))
    local texture, h = texture_of(array), pinned(2)
    for i, first in ipairs { 0, 100 } do
      ok(rt.cudaLaunchKernel("ramp", 1, 8, { p, first }, 0, s))
      ok(rt.cudaMemcpy2DToArrayAsync(array, 0, 0, p, 16, 16, 2, WITHIN, s))
      ok(rt.cudaLaunchKernel("sum", 1, 1, { texture, 8, out + 4 * (i - 1) }, 0, s))
    end
    ok(rt.cudaMemcpyAsync(h, out, 8, TO_HOST, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 28, 828 }, h:totable(2))
  end)

  it("keep their source alive if it is freed before they run", function()
    local array, h, back = ok(rt.cudaMallocArray(float, 4)), pinned(4, { 1, 2, 3, 4 }), pinned(4)
    behind(s, function()
      ok(rt.cudaMemcpyToArrayAsync(array, 0, 0, h, 16, TO_DEVICE, s))
      ok(rt.cudaMemcpyFromArrayAsync(back, array, 0, 0, 16, TO_HOST, s))
      ok(rt.cudaFreeArray(array))
    end)
    assert.same({ 1, 2, 3, 4 }, back:totable(4))
    code("cudaErrorInvalidValue", rt.cudaMemcpyToArrayAsync(array, 0, 0, h, 16, TO_DEVICE, s))
  end)

  it("are checked when they are given", function()
    local array, h = ok(rt.cudaMallocArray(float, 4, 3)), pinned(12)
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DToArrayAsync(array, 4, 0, h, 16, 16, 3, TO_DEVICE, s))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DToArrayAsync(array, 0, 1, h, 16, 16, 3, TO_DEVICE, s))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DToArrayAsync(array, 2, 0, h, 16, 8, 1, TO_DEVICE, s)) -- half a texel
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DToArrayAsync(array, 0, 0, rt.malloc(48), 16, 16, 3, WITHIN, s))
    code("cudaErrorInvalidValue", rt.cudaMemcpy2DToArrayAsync(array, 0, 0, h + 1, 16, 16, 3, TO_DEVICE, s))
  end)
end)

describe("boxes of one CUDA array that overlap", function()
  local array = ok(rt.cudaMallocArray(float, 6))
  local h, back = pinned(6, { 1, 2, 3, 4, 5, 6 }), pinned(6)
  local shift = { srcArray = array, dstArray = array, dstPos = { x = 1, y = 0, z = 0 }, kind = WITHIN,
    extent = rt.make_cudaExtent(5, 1, 1) }

  it("are copied as if they did not", function()
    ok(rt.cudaMemcpyToArray(array, 0, 0, h, 24, TO_DEVICE))
    ok(rt.cudaMemcpy3D(shift))
    ok(rt.cudaMemcpyFromArray(back, array, 0, 0, 24, TO_HOST))
    assert.same({ 1, 1, 2, 3, 4, 5 }, back:totable(6))
    ok(rt.cudaMemcpyArrayToArray(array, 0, 0, array, 4, 0, 20, WITHIN))
    ok(rt.cudaMemcpyFromArray(back, array, 0, 0, 24, TO_HOST))
    assert.same({ 1, 2, 3, 4, 5, 5 }, back:totable(6))
  end)

  it("are no node of a graph", function()
    local graph = ok(rt.cudaGraphCreate(0))
    code("cudaErrorInvalidValue", rt.cudaGraphAddMemcpyNode(graph, {}, shift))
    assert.matches("overlap", rt.story())
  end)
end)

describe("a graph", function()
  local function replay(graph, s)
    ok(rt.cudaGraphLaunch(graph, s))
    ok(rt.cudaStreamSynchronize(s))
  end

  it("has captured copies of CUDA arrays as nodes, which copy the contents at the time of the run", function()
    local s, h, back = stream(), pinned(8), pinned(9)
    local array, out = ok(rt.cudaMallocArray(float, 4, 2)), ok(rt.cudaMalloc(4))
    local texture = texture_of(array)
    ok(rt.cudaStreamBeginCapture(s, rt.cudaStreamCaptureModeGlobal))
    ok(rt.cudaMemcpy2DToArrayAsync(array, 0, 0, h, 16, 16, 2, TO_DEVICE, s))
    ok(rt.cudaLaunchKernel("sum", 1, 1, { texture, 8, out }, 0, s))
    ok(rt.cudaMemcpyAsync(back + 8, out, 4, TO_HOST, s))
    ok(rt.cudaMemcpyFromArrayAsync(back, array, 4, 0, 20, TO_HOST, s))
    local graph = ok(rt.cudaStreamEndCapture(s))
    local kinds = {}
    for i, node in ipairs(ok(rt.cudaGraphGetNodes(graph))) do kinds[i] = ok(rt.cudaGraphNodeGetType(graph, node)) end
    assert.same({ 1, 0, 1, 1, 1 }, kinds) -- the line out of the array is the rest of a row, and another row's beginning
    local exec = ok(rt.cudaGraphInstantiate(graph))
    for round = 1, 3 do
      for i = 0, 7 do h[i] = round * 10 + i end
      replay(exec, s)
      local first = round * 10
      assert.same({ first + 1, first + 2, first + 3, first + 4, first + 5 }, back:totable(5))
      assert.equal(80 * round + 28, back[8])
    end
    ok(rt.cudaFreeArray(array))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphLaunch(exec, s))
    rt.cudaGetLastError()
  end)

  it("keeps the arrays of its nodes", function()
    local s, back = stream(), pinned(4)
    local function make()
      local array, graph = ok(rt.cudaMallocArray(float, 4)), ok(rt.cudaGraphCreate(0))
      ok(rt.cudaMemcpyToArray(array, 0, 0, pinned(4, { 4, 5, 6, 7 }), 16, TO_DEVICE))
      ok(rt.cudaGraphAddMemcpyNode(graph, {}, { srcArray = array, kind = TO_HOST,
        dstPtr = rt.make_cudaPitchedPtr(back, 16, 4, 1), extent = rt.make_cudaExtent(4, 1, 1) }))
      return ok(rt.cudaGraphInstantiate(graph))
    end
    local exec = make()
    collectgarbage()
    collectgarbage()
    replay(exec, s)
    assert.same({ 4, 5, 6, 7 }, back:totable(4))
  end)
end)

describe("the driver's copies of CUDA arrays", function()
  local cu = require "moonwarp.driver"
  local driver = require "support.api.driver"
  local good = driver.ok

  local context
  setup(function() context = driver.context() end)
  teardown(function() good(cu.cuCtxDestroy(context)) end)

  it("do not wait, and are nodes of graphs", function()
    local s = good(cu.cuStreamCreate(cu.CU_STREAM_NON_BLOCKING))
    local array = good(cu.cuArrayCreate { Width = 4, Height = 2, Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1 })
    local h, back = good(cu.cuMemAllocHost(32)):cast "float", good(cu.cuMemAllocHost(32)):cast "float"
    for i = 0, 7 do h[i], back[i] = i, -1 end
    local up = { srcMemoryType = cu.CU_MEMORYTYPE_HOST, srcHost = h, srcPitch = 16, dstArray = array,
      dstMemoryType = cu.CU_MEMORYTYPE_ARRAY, WidthInBytes = 16, Height = 2 }
    local down = { srcMemoryType = cu.CU_MEMORYTYPE_ARRAY, srcArray = array, srcXInBytes = 4, dstHost = back,
      dstMemoryType = cu.CU_MEMORYTYPE_HOST, dstPitch = 8, WidthInBytes = 8, Height = 2, Depth = 1 }
    local came = false
    good(cu.cuLaunchHostFunc(s, function() came = true end))
    good(cu.cuMemcpy2DAsync(up, s))
    good(cu.cuMemcpyHtoAAsync(array, 8, h + 5, 12, s))
    good(cu.cuMemcpyAtoHAsync(back + 4, array, 12, 8, s))
    good(cu.cuMemcpy3DAsync(down, s))
    assert.is_false(came)
    good(cu.cuStreamSynchronize(s))
    assert.same({ 1, 5, 5, 6, 6, 7 }, back:totable(6))
    local graph = good(cu.cuGraphCreate(0))
    local first = good(cu.cuGraphAddMemcpyNode(graph, {}, up))
    good(cu.cuGraphAddMemcpyNode(graph, { first }, down))
    for i = 0, 7 do h[i] = 10 + i end
    good(cu.cuGraphLaunch(good(cu.cuGraphInstantiate(graph)), s))
    good(cu.cuStreamSynchronize(s))
    assert.same({ 11, 12, 15, 16 }, back:totable(4))
  end)
end)
