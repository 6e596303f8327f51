-- moonwarp.runtime: streams, events and stream-ordered work under CUDA's names.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local runtime = require "support.api.runtime"

local ok, code, device, fetch = runtime.ok, runtime.code, runtime.device, runtime.fetch

local m = mw.compile [[
__global__ void increment(int n, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i]++;
}
]]

describe("streams and events", function()
  it("order work, and can be queried", function()
    local s = ok(rt.cudaStreamCreate())
    local h = ok(rt.cudaMallocHost(4)):cast("int")
    h[0] = 41
    local d = ok(rt.cudaMalloc(4))
    local start, stop = ok(rt.cudaEventCreate()), ok(rt.cudaEventCreate())
    ok(rt.cudaEventRecord(start, s))
    ok(rt.cudaMemcpyAsync(d, h, 4, rt.cudaMemcpyHostToDevice, s))
    ok(rt.cudaLaunchKernel(m.increment, 1, 1, { 1, d }, 0, s))
    ok(rt.cudaMemcpyAsync(h, d, 4, rt.cudaMemcpyDeviceToHost, s))
    ok(rt.cudaEventRecord(stop, s))
    ok(rt.cudaEventSynchronize(stop))
    ok(rt.cudaEventQuery(stop))
    ok(rt.cudaStreamQuery(s))
    assert.equal(42, h[0])
    assert.is_true(ok(rt.cudaEventElapsedTime(start, stop)) >= 0)
    ok(rt.cudaEventDestroy(start))
    ok(rt.cudaStreamDestroy(s))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamDestroy(s))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamSynchronize(s))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamQuery("s"))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamDestroy(0))
    code("cudaErrorInvalidResourceHandle", rt.cudaEventDestroy(start))
    code("cudaErrorInvalidResourceHandle", rt.cudaEventRecord(start))
    code("cudaErrorInvalidResourceHandle", rt.cudaEventElapsedTime(start, stop))
    code("cudaErrorInvalidResourceHandle", rt.cudaLaunchKernel(m.increment, 1, 1, { 1, d }, 0, s))
  end)

  it("are not ready while work is held up", function()
    local s, e, order = ok(rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)), ok(rt.cudaEventCreate()), {}
    rt.cudaGetLastError()
    ok(rt.cudaStreamAddCallback(s, function(stream, status, data)
      order[#order + 1] = data
      assert.equal(s, stream)
      assert.equal(0, status)
      -- Asking does not call what is being called.
      code("cudaErrorNotReady", rt.cudaEventQuery(e))
      code("cudaErrorNotReady", rt.cudaStreamQuery(s))
    end, "data", 0))
    ok(rt.cudaEventRecord(e, s))
    ok(rt.cudaLaunchHostFunc(s, function(data) order[#order + 1] = data end, 2))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ "data", 2 }, order)
    assert.equal(0, rt.cudaGetLastError()) -- not ready is not an error
    code("cudaErrorInvalidValue", rt.cudaStreamAddCallback(s, function() end, nil, 1))
    code("cudaErrorInvalidValue", rt.cudaStreamAddCallback(s, nil))
    code("cudaErrorInvalidValue", rt.cudaLaunchHostFunc(s, nil))
  end)

  it("wait for each other", function()
    local a, b, x = ok(rt.cudaStreamCreate()), ok(rt.cudaStreamCreate()), device("int", { 0 })
    local e = ok(rt.cudaEventCreateWithFlags(rt.cudaEventDisableTiming))
    ok(rt.cudaLaunchKernel(m.increment, 1, 1, { 1, x }, 0, a))
    ok(rt.cudaEventRecordWithFlags(e, a, 0))
    ok(rt.cudaStreamWaitEvent(b, e, 0))
    ok(rt.cudaLaunchKernel(m.increment, 1, 1, { 1, x }, 0, b))
    ok(rt.cudaStreamSynchronize(b))
    assert.same({ 2 }, fetch(x, "int", 1))
    code("cudaErrorInvalidValue", rt.cudaStreamWaitEvent(b, e, 5))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamWaitEvent(b, nil, 0))
    code("cudaErrorInvalidResourceHandle", rt.cudaEventElapsedTime(e, e))
    code("cudaErrorInvalidValue", rt.cudaEventRecordWithFlags(e, a, 9))
    code("cudaErrorInvalidValue", rt.cudaEventCreateWithFlags(64))
  end)

  it("have priorities, flags, numbers and attributes", function()
    local least, greatest = ok(rt.cudaDeviceGetStreamPriorityRange())
    local s = ok(rt.cudaStreamCreateWithPriority(rt.cudaStreamNonBlocking, greatest))
    assert.equal(greatest, ok(rt.cudaStreamGetPriority(s)))
    assert.is_true(greatest < least)
    assert.equal(rt.cudaStreamNonBlocking, ok(rt.cudaStreamGetFlags(s)))
    assert.equal(rt.cudaStreamDefault, ok(rt.cudaStreamGetFlags(rt.cudaStreamPerThread)))
    assert.equal(ok(rt.cudaStreamGetId(rt.cudaStreamPerThread)), ok(rt.cudaStreamGetId(rt.cudaStreamPerThread)))
    assert.not_equal(ok(rt.cudaStreamGetId(0)), ok(rt.cudaStreamGetId(rt.cudaStreamPerThread)))
    assert.equal(ok(rt.cudaStreamGetId(0)), ok(rt.cudaStreamGetId(rt.cudaStreamLegacy)))
    local window = { accessPolicyWindow = { base_ptr = nil, num_bytes = 0, hitRatio = 0.6 } }
    ok(rt.cudaStreamSetAttribute(s, rt.cudaStreamAttributeAccessPolicyWindow, window))
    assert.equal(window, ok(rt.cudaStreamGetAttribute(s, rt.cudaStreamAttributeAccessPolicyWindow)))
    code("cudaErrorInvalidValue", rt.cudaStreamSetAttribute(s, 99, {}))
    code("cudaErrorInvalidValue",
      rt.cudaStreamSetAttribute(s, 1, { accessPolicyWindow = { hitRatio = 2 } }))
    code("cudaErrorInvalidValue", rt.cudaStreamCreateWithFlags(7))
  end)

  it("carry every asynchronous form of copying and setting", function()
    local s = ok(rt.cudaStreamCreate())
    local p, pitch = ok(rt.cudaMallocPitch(4, 3))
    local h = ok(rt.cudaMallocHost(12)):cast("uchar")
    ok(rt.cudaMemsetAsync(p, 1, 4, s))
    ok(rt.cudaMemset2DAsync(p + pitch, pitch, 2, 4, 2, s))
    ok(rt.cudaMemcpy2DAsync(h, 4, p, pitch, 4, 3, rt.cudaMemcpyDeviceToHost, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2 }, h:totable(12))
    local box = rt.make_cudaPitchedPtr(p, pitch, 4, 3)
    ok(rt.cudaMemset3DAsync(box, 3, rt.make_cudaExtent(2, 3, 1), s))
    ok(rt.cudaMemcpy3DAsync({
      srcPtr = box, dstPtr = rt.make_cudaPitchedPtr(h, 4, 4, 3), extent = rt.make_cudaExtent(4, 3, 1),
      kind = rt.cudaMemcpyDeviceToHost,
    }, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 3, 3, 1, 1, 3, 3, 2, 2, 3, 3, 2, 2 }, h:totable(12))
    local q = ok(rt.cudaMalloc(12))
    ok(rt.cudaMemcpyPeerAsync(q, 0, h, 0, 12, s))
    ok(rt.cudaMemcpyPeer(q + 4, 0, p, 0, 4))
    assert.same({ 3, 3, 1, 1, 3, 3, 1, 1, 3, 3, 2, 2 }, fetch(q, "uchar", 12))
  end)

  it("give memory out and take it back in order", function()
    local s = ok(rt.cudaStreamCreate())
    local pool = ok(rt.cudaDeviceGetDefaultMemPool(0))
    assert.equal(pool, ok(rt.cudaDeviceGetMemPool(0)))
    local before = ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemCurrent))
    local p = ok(rt.cudaMallocAsync(4000, s))
    assert.equal(4000, ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemCurrent)) - before)
    ok(rt.cudaMemsetAsync(p, 0, 4000, s))
    ok(rt.cudaLaunchKernel(m.increment, 4, 256, { 1000, p }, 0, s))
    local h = ok(rt.cudaMallocHost(4000)):cast("int")
    ok(rt.cudaMemcpyAsync(h, p, 4000, rt.cudaMemcpyDeviceToHost, s))
    ok(rt.cudaFreeAsync(p, s))
    code("cudaErrorInvalidValue", rt.cudaFreeAsync(p, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.equal(1, h[999])
    assert.equal(before, ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemCurrent)))
    assert.is_true(ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemHigh)) >= 4000)
    ok(rt.cudaMemPoolSetAttribute(pool, rt.cudaMemPoolAttrUsedMemHigh, 0))
    assert.equal(before, ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemHigh)))
    ok(rt.cudaMemPoolSetAttribute(pool, rt.cudaMemPoolAttrReleaseThreshold, 2 ^ 20))
    assert.equal(2 ^ 20, ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrReleaseThreshold)))
    ok(rt.cudaMemPoolTrimTo(pool, 0))
    code("cudaErrorInvalidValue", rt.cudaMemPoolTrimTo(nil, 0))
    code("cudaErrorInvalidValue", rt.cudaMemPoolGetAttribute(pool, 99))
    code("cudaErrorInvalidValue", rt.cudaMemPoolSetAttribute(pool, 99, 0))
    code("cudaErrorMemoryAllocation", rt.cudaMallocAsync(2 ^ 52, s))
  end)
end)
