-- Two NVIDIA GPUs, on machines without one: copies between them, peer access, and the thread's current context.

local gpu = require "support.fake.gpu"

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
  it("copy between them directly, after the source's earlier work and before its later work", function()
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

  it("keep the memory of a copy between them until it is done, and the thread keeps its device", function()
    local result = run([[
      a:free()
      local large = 20000000 -- which is not cached for the next allocation
      a = mw.with(first, mw.zeros, large, "int")
      local b = mw.with(second, mw.zeros, large, "int")
      b:copy_from(a)
      a:free()
      print(mw.with(first, mw.memory).count)
      mw.synchronize(second)
      print(mw.with(first, mw.memory).count)
    ]], nil, "busy=1")
    assert.is_true(result.ok, result.output)
    assert.matches("0\n$", result.output)
    -- Memory is freed in its own device's context, and the thread's current context is restored.
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

  it("have no peer access if the driver refuses it, and count access given by others", function()
    local none = run([[print(first:can_access_peer(second), pcall(first.enable_peer_access, first, second))]], nil,
      "peers=0")
    assert.matches("kernels of cuda:0 cannot access the memory of cuda:1: copy", none.output, 1, true)
    local failed = run([[
      print(pcall(first.enable_peer_access, first, second))
      first:enable_peer_access(second)
    ]], "cuMemPoolSetAccess@1=801")
    assert.matches("enabling peer access failed", failed.output, 1, true)
    assert.is_true(failed.ok, "what failed was not given: " .. failed.output)
    local before = run([[first:enable_peer_access(second) print "given"]], "cuCtxEnablePeerAccess@*=704")
    assert.equal("given\n", before.output)
  end)

  it("are copied between by address, rows and lines, in any direction's stream", function()
    local result = run [[
      local function ok(code, ...) assert(code == 0, code ~= 0 and rt.cudaGetErrorName(code)) return ... end
      local host = rt.malloc(24, "int")
      local p = ok(rt.cudaMalloc(12))
      host:set { 1, 2, 3 }
      ok(rt.cudaMemcpy(p, host, 12, rt.cudaMemcpyHostToDevice))
      ok(rt.cudaSetDevice(1))
      local q = ok(rt.cudaMalloc(24))
      local function show()
        ok(rt.cudaMemcpy(host, q, 24, rt.cudaMemcpyDeviceToHost))
        print(table.concat(host:totable(6), " "))
      end
      for device = 0, 1 do
        ok(rt.cudaSetDevice(device))
        ok(rt.cudaMemcpyPeer(q, 1, p, 0, 12))
        ok(rt.cudaMemcpy(q + 12, p, 12, rt.cudaMemcpyDefault))
        ok(rt.cudaSetDevice(1))
        show()
      end
      ok(rt.cudaMemcpy2D(q, 8, p, 4, 4, 3, rt.cudaMemcpyDeviceToDevice))
      show()
    ]]
    assert.equal("1 2 3 1 2 3\n1 2 3 1 2 3\n1 2 2 1 3 3\n", result.output)
    assert.equal(4, gpu.count(result, "cuMemcpyPeerAsync"))
    assert.equal("cuMemcpy3DPeerAsync 4 x 3 x 1 from 0 to 1", gpu.call(result, "cuMemcpy3DPeerAsync"))
  end)

  it("may both be lost by a fault of one, and the other names the cause", function()
    local result = run([==[
      local m = mw.with(second, mw.compile, [[extern "C" __global__ void wild() {}
/*PTX
.version 9.0
.target sm_90
.address_size 64
.visible .entry wild()
{ret;}
*/]])
      m.wild(1, 1)()
      print(select(2, pcall(mw.synchronize, second)).message)
      print(select(2, pcall(mw.with, first, mw.ones, 3)).message)
      print(select(2, pcall(mw.with, first, mw.ones, 3)).message)
    ]==], "cuMemAllocAsync@2=700", "fault=700")
    local story = "kernel wild read or wrote memory that no array holds; wild launched at "
    assert.matches("^" .. story .. "[^\n]*The device is lost%.", result.output)
    assert.matches("\ncuda:1 was lost before, and then CUDA gives up all devices of the process: " .. story,
      result.output)
    assert.matches("\ncuda:0 was lost in an earlier failure: cuda:1 was lost before", result.output, 1, true)
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
