-- Two NVIDIA GPUs, on machines without one: copies between them, peer access, and whose context is the thread's.

local gpu = require "support.fake_gpu"

local function run(script, fail, cuda)
  return gpu { [[
    local first, second = mw.device "cuda:0", mw.device "cuda:1"
    local rt = require "moonwarp.runtime"
    local a = mw.with(first, mw.array, { 1, 2, 3 }, "int")
  ]] .. script, cuda = "devices=2 " .. (cuda or ""), fail = fail }
end

local function position(result, pattern, from)
  for i = from or 1, #result.calls do
    if result.calls[i]:match(pattern) then return i end
  end
end

describe("two GPUs", function()
  it("copy between them directly, behind what the one had and before what it gets", function()
    local result = run [[
      local b = a:to "cuda:1"
      print(b.device.name, b[1], b[3], a.device.name, mw.device().name)
      print(b:to(first)[2])
    ]]
    assert.equal("cuda:1\t1\t3\tcuda:0\tcuda:0\n2\n", result.output)
    assert.equal("cuMemcpyPeerAsync 12 from 0 to 1", gpu.call(result, "cuMemcpyPeerAsync"))
    assert.equal(2, gpu.count(result, "cuMemcpyPeerAsync"))
    local copy = position(result, "^cuMemcpyPeerAsync")
    local before, after = position(result, "^cuStreamWaitEvent"), position(result, "^cuStreamWaitEvent", copy)
    assert.is_true(before < copy and after ~= nil)
    assert.is_true(position(result, "^cuEventRecord") < before)
  end)

  it("copy through the host where the driver refuses to", function()
    local result = run([[local b = a:to "cuda:1" print(b[1], b[2], b[3])]], "cuMemcpyPeerAsync@*=801")
    assert.equal("1\t2\t3\n", result.output)
  end)

  it("keep what a copy between them uses until it is done, and the thread goes on with its device", function()
    local result = run([[
      local b = mw.with(second, mw.zeros, 3, "int")
      b:copy_from(a)
      a:free()
      print(mw.with(first, mw.memory).count)
      mw.synchronize(second)
      print(mw.with(first, mw.memory).count)
    ]], nil, "busy=1")
    assert.is_true(result.ok, result.output)
    assert.matches("0\n$", result.output)
    -- Memory goes back with its own device's context, and who was at work goes on with his.
    local free = position(result, "^cuMemFreeAsync")
    assert.equal("cuCtxSetCurrent 0", result.calls[free - 1])
  end)

  it("give peer access in the context and in the pool, and take it back", function()
    local result = run [[
      print(first:can_access_peer(second), first:can_access_peer(first))
      first:enable_peer_access(second)
      print(select(2, pcall(first.enable_peer_access, first, second)).code)
      first:disable_peer_access(second)
      print(select(2, pcall(first.disable_peer_access, first, second)).code)
    ]]
    assert.equal("true\tfalse\ncudaErrorPeerAccessAlreadyEnabled\ncudaErrorPeerAccessNotEnabled\n", result.output)
    assert.equal("cuCtxEnablePeerAccess 1 flags 0", gpu.call(result, "cuCtxEnablePeerAccess"))
    assert.equal("cuMemPoolSetAccess kind 1 device 0 access 3", gpu.call(result, "cuMemPoolSetAccess"))
    assert.equal(1, gpu.count(result, "cuCtxDisablePeerAccess"))
    local on = position(result, "^cuMemPoolSetAccess")
    assert.equal("cuMemPoolSetAccess kind 1 device 0 access 0",
      result.calls[position(result, "^cuMemPoolSetAccess", on + 1)])
  end)

  it("give no peer access where the driver gives none, and count what others gave", function()
    local none = run([[print(first:can_access_peer(second), pcall(first.enable_peer_access, first, second))]], nil,
      "peers=0")
    assert.matches("kernels of cuda:0 cannot reach the memory of cuda:1: copy", none.output, 1, true)
    local failed = run([[
      print(pcall(first.enable_peer_access, first, second))
      first:enable_peer_access(second)
    ]], "cuMemPoolSetAccess@1=801")
    assert.matches("giving peer access failed", failed.output, 1, true)
    assert.is_true(failed.ok, "what failed was not given: " .. failed.output)
    local before = run([[first:enable_peer_access(second) print "given"]], "cuCtxEnablePeerAccess@*=704")
    assert.equal("given\n", before.output)
  end)

  it("are CUDA's devices 0 and 1", function()
    local result = run [[
      print(rt.cudaDeviceCanAccessPeer(0, 1))
      print((rt.cudaSetDevice(1)), (rt.cudaDeviceEnablePeerAccess(0, 0)), (rt.cudaDeviceDisablePeerAccess(0)))
    ]]
    assert.equal("0\t1\n0\t0\t0\n", result.output)
    assert.equal("cuCtxEnablePeerAccess 0 flags 0", gpu.call(result, "cuCtxEnablePeerAccess"))
    assert.equal("cuMemPoolSetAccess kind 1 device 1 access 3", gpu.call(result, "cuMemPoolSetAccess"))
  end)
end)
