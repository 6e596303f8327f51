-- Several CPU devices at once: each with memory, modules and streams of its own, copies between them, and peer access.
-- CPU device only: about CPU devices with other properties

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local child = require "support.child"
local lifetime = require "support.lifetime"

local usual = mw.device().name

local source = [[
__device__ int count;
__global__ void add(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
  if (i == 0) count++;
}
// The address is loaded from memory: such stores are tested at run time.
__global__ void scatter(int **where, int value) { *where[threadIdx.x] = value + threadIdx.x; }
]]

local function ok(code, ...)
  assert.equal(0, code, code ~= 0 and rt.cudaGetErrorName(code) or nil)
  return ...
end

describe("several CPU devices", function()
  local first, second, here, there

  setup(function()
    mw.devices { cpu = 2 }
    first, second = mw.device "cpu:0", mw.device "cpu:1"
    here, there = mw.with(first, mw.compile, source), mw.with(second, mw.compile, source)
  end)

  after_each(function()
    pcall(first.disable_peer_access, first, second)
    mw.use(usual)
    mw.devices { cpu = 2 }
  end)

  teardown(function()
    here, there = nil, nil
    mw.devices { cpu = 1 }
  end)

  local function arrays()
    local x0 = mw.with(first, mw.array, { 1, 2, 3, 4 }, "int")
    local x1 = mw.with(second, mw.array, { 10, 20, 30, 40 }, "int")
    return x0, x1
  end

  it("are as many as requested", function()
    assert.same({ "cpu:0", "cpu:1" }, { (table.unpack or unpack)(mw.devices(), 1, 2) })
    assert.equal("cpu:1", second.name)
    assert.equal(second, mw.device "cpu:1")
    assert.not_equal(first, second)
    local nothing, err = mw.try_use "cpu:2"
    assert.is_nil(nothing)
    assert.equal("cudaErrorInvalidDevice", err.code)
    assert.matches("there is no device 'cpu:2'; this machine has 'cpu:0', 'cpu:1'", err.message)
    mw.devices { cpu = { "1.1", "2.0", "9.0" } } -- the first two are open, and stay as they are
    assert.equal("9.0", mw.device("cpu:2").capability)
    assert.equal(0, ok(rt.cudaChooseDevice { major = 1, minor = 0 }))
    assert.equal(2, ok(rt.cudaChooseDevice { major = 9, minor = 0 }))
  end)

  it("are a number, or a list of capabilities", function()
    for _, wrong in ipairs { 0, 17, -1, "x", "1.4,2.0", "" } do
      local fine, err = pcall(mw.devices, { cpu = wrong })
      assert.is_false(fine, tostring(wrong))
      assert.equal("cudaErrorInvalidValue", err.code)
    end
    assert.has_error(function() mw.devices { nothing = 1 } end)
    assert.has_error(function() mw.devices(2) end)
    assert.has_error(function() mw.devices { cpu = 1.5 } end)
  end)

  it("can be requested by the environment", function()
    local script = "local mw = require 'moonwarp' print(#mw.devices() .. mw.device().name .. mw.device().capability)"
    local function run(devices, device)
      return child({ script, environment = { MOONWARP_CPU_DEVICES = devices, MOONWARP_DEVICE = device } }).output
    end
    assert.matches("^3cpu:0", run("3", "cpu"))
    assert.matches("^2cpu:1%s*2%.0", run("1.3,2.0", "cpu:1"))
    assert.matches("^1cpu:0@1%.1%s*1%.1", run("1", "cpu@1.1"))
    assert.matches("MOONWARP_CPU_DEVICES is 'many': it should be a number of devices", run("many", "cpu"))
  end)

  it("have modules, variables and streams of their own", function()
    local x0, x1 = arrays()
    here.count, there.count = 0, 0
    here.add(1, 4)(x0, x0, 4)
    there.add(1, 4)(x1, x1, 4)
    there.add(1, 4)(x1, x1, 4)
    assert.same({ 2, 4, 6, 8 }, x0:totable())
    assert.same({ 40, 80, 120, 160 }, x1:totable())
    assert.equal(1, here.count)
    assert.equal(2, there.count)
    local fine, err = pcall(function() here.add(1, 4, 0, mw.with(second, mw.stream))(x0, x0, 4) end)
    assert.is_false(fine)
    assert.matches("compiled for cpu:0, and the stream is cpu:1's", err.message)
  end)

  it("have memory of their own", function()
    lifetime.collect() -- otherwise garbage of earlier tests is freed while this one counts
    local before, other = first:memory().bytes, second:memory().bytes
    local a = mw.with(second, mw.zeros, 2 ^ 16, "int")
    assert.equal(before, first:memory().bytes)
    assert.equal(other + 2 ^ 18, second:memory().bytes)
    a:free()
    local limit = second:limit("memory")
    second:limit("memory", other + 4096)
    assert.has_error(function() mw.with(second, mw.zeros, 2 ^ 16, "int") end)
    assert.truthy(mw.with(first, mw.zeros, 2 ^ 16, "int"))
    second:limit("memory", limit)
  end)

  it("are in use inside of mw.with, and not after it, even after an error", function()
    assert.equal("cpu:1", mw.with(second, function() return mw.device().name end))
    assert.has_error(function() mw.with(second, error, "no") end)
    assert.equal(usual, mw.device().name)
    assert.equal("cpu:1", mw.with(second, mw.ones, 3).device.name)
  end)

  it("take arrays of the other only with peer access, and say so", function()
    local x0, x1 = arrays()
    local y0 = mw.with(first, mw.array, { 0, 0, 0, 0 }, "int")
    local fine, err = pcall(function() here.add(1, 4)(x1, y0, 4) end)
    assert.is_false(fine)
    assert.equal("cudaErrorInvalidDevicePointer", err.code)
    assert.matches("parameter 1 'x' of add is an array on cpu:1, and the kernel runs on cpu:0: copy it", err.message)
    assert.matches("enable_peer_access", err.message)
    if not first:can_access_peer(second) then return pending "this system grants no address space side by side" end
    first:enable_peer_access(second)
    here.add(1, 4)(x1, y0, 4)
    here.add(1, 4)(x0, x1, 4)
    mw.synchronize(first)
    assert.same({ 10, 20, 30, 40 }, y0:totable())
    assert.same({ 11, 22, 33, 44 }, x1:totable())
    fine, err = pcall(first.enable_peer_access, first, second)
    assert.is_false(fine)
    assert.equal("cudaErrorPeerAccessAlreadyEnabled", err.code)
    first:disable_peer_access(second)
    assert.has_error(function() here.add(1, 4)(x1, y0, 4) end)
    fine, err = pcall(first.disable_peer_access, first, second)
    assert.is_false(fine)
    assert.equal("cudaErrorPeerAccessNotEnabled", err.code)
  end)

  it("let stores through pointers in memory reach the other with peer access, and not without", function()
    local _, x1 = arrays()
    local where = mw.with(first, mw.array, { x1.address, x1.address + 8 }, "ulonglong")
    here.scatter(1, 2)(where, 100)
    local fine, err = pcall(mw.synchronize, first)
    assert.is_false(fine)
    assert.equal("cudaErrorIllegalAddress", err.code)
    assert.same({ 10, 20, 30, 40 }, x1:totable())
    if not first:can_access_peer(second) then return pending "this system grants no address space side by side" end
    first:enable_peer_access(second)
    here.scatter(1, 2)(where, 100)
    mw.synchronize(first)
    assert.same({ 100, 20, 101, 40 }, x1:totable())
  end)

  it("are not peers of themselves or of devices with other memory", function()
    assert.is_false(first:can_access_peer(first))
    local fine, err = pcall(first.enable_peer_access, first, first)
    assert.is_false(fine)
    assert.equal("cudaErrorInvalidDevice", err.code)
    assert.has_error(function() first:can_access_peer("cpu:1") end)
  end)

  it("copy from one to the other", function()
    local x0, x1 = arrays()
    x1:copy_from(x0)
    assert.same({ 1, 2, 3, 4 }, x1:totable())
  end)

  it("receive copies by a:to(device), which does not change the device in use", function()
    local before = mw.device()
    local x = mw.with(first, mw.array, { { 1, 2 }, { 3, 4 } }, "int")
    for _, y in ipairs { x:to(second), x:to "cpu:1" } do
      assert.equal(second, y.device)
      assert.equal("int", y.dtype)
      assert.same({ { 1, 2 }, { 3, 4 } }, y:totable())
      assert.equal(first, y:to "cpu".device)
    end
    assert.equal(before, mw.device())
    assert.has_error(function() x:to "cpu:77" end)
  end)

  it("are CUDA's devices by number", function()
    assert.equal(2, ok(rt.cudaGetDeviceCount()) - (#mw.devices() - 2))
    ok(rt.cudaSetDevice(1))
    assert.equal(1, ok(rt.cudaGetDevice()))
    local q = ok(rt.cudaMalloc(16))
    local host = mw.with(first, mw.array, { 5, 6, 7, 8 }, "int")
    ok(rt.cudaSetDevice(0))
    local p = ok(rt.cudaMalloc(16))
    assert.equal(1, ok(rt.cudaPointerGetAttributes(q)).device)
    assert.equal(0, ok(rt.cudaPointerGetAttributes(p)).device)
    ok(rt.cudaMemcpyPeer(p, 0, host.address, 0, 16))
    ok(rt.cudaMemcpyPeer(q, 1, p, 0, 16))
    local back = mw.with(first, mw.zeros, 4, "int")
    ok(rt.cudaMemcpyPeer(back.address, 0, q, 1, 16))
    assert.same({ 5, 6, 7, 8 }, back:totable())
    if ok(rt.cudaDeviceCanAccessPeer(0, 1)) == 1 then
      ok(rt.cudaDeviceEnablePeerAccess(1, 0))
      assert.equal(rt.cudaErrorPeerAccessAlreadyEnabled, (rt.cudaDeviceEnablePeerAccess(1, 0)))
      ok(rt.cudaDeviceDisablePeerAccess(1))
    end
    assert.equal(rt.cudaErrorPeerAccessNotEnabled, (rt.cudaDeviceDisablePeerAccess(1)))
    assert.equal(rt.cudaErrorInvalidDevice, (rt.cudaDeviceEnablePeerAccess(99, 0)))
    ok(rt.cudaFree(p))
    ok(rt.cudaFree(q))
    rt.cudaGetLastError()
  end)

  it("are reset one by one", function()
    ok(rt.cudaSetDevice(1))
    local stack, noted = ok(rt.cudaDeviceGetLimit(0)), ok(rt.cudaDeviceGetLimit(1))
    local q = ok(rt.cudaMalloc(16))
    ok(rt.cudaDeviceSetLimit(0, stack * 2))
    ok(rt.cudaDeviceSetLimit(1, noted * 2))
    ok(rt.cudaSetDeviceFlags(8))
    ok(rt.cudaSetDevice(0))
    local p = ok(rt.cudaMalloc(16))
    assert.equal(noted, ok(rt.cudaDeviceGetLimit(1)))
    assert.equal(0, ok(rt.cudaGetDeviceFlags()))
    ok(rt.cudaSetDevice(1))
    ok(rt.cudaDeviceReset())
    assert.equal(stack, ok(rt.cudaDeviceGetLimit(0)))
    assert.equal(noted, ok(rt.cudaDeviceGetLimit(1)))
    assert.equal(0, ok(rt.cudaGetDeviceFlags()))
    assert.equal(rt.cudaErrorInvalidValue, (rt.cudaFree(q)))
    ok(rt.cudaFree(p))
    rt.cudaGetLastError()
  end)

  it("close in any order, with work of peers in flight", function()
    local script = [[
      local mw = require "moonwarp"
      mw.devices { cpu = 3 }
      local source = "__global__ void f(int *p) { for (int i = 0; i < 1000; i++) atomicAdd(p, 1); }"
      for round = 1, 3 do
        local devices, modules, arrays = {}, {}, {}
        for i = 1, 3 do
          devices[i] = mw.device("cpu:" .. i - 1)
          modules[i] = mw.with(devices[i], mw.compile, source)
          arrays[i] = mw.with(devices[i], mw.array, { 0 }, "int")
        end
        for i = 1, 3 do
          local peer = i % 3 + 1
          if round == 1 and devices[i]:can_access_peer(devices[peer]) then
            devices[i]:enable_peer_access(devices[peer])
          end
          if devices[i]:can_access_peer(devices[peer]) then modules[i].f(8, 32)(arrays[peer]) end
        end
        arrays, modules = nil, nil
        collectgarbage()
      end
      print "fine"
    ]]
    assert.equal("fine\n", child({ script }).output)
  end)
end)

describe("a module that was compiled for one device", function()
  -- AddressSanitizer leaves address space for a few devices of full size.
  it("is taken by all others, however many are open", function()
    local count = os.getenv "MOONWARP_CONFIG" == "sanitize" and 4 or 16
    local result = child { [[
      local mw = require "moonwarp"
      local path, devices = os.tmpname(), {}
      local count = tonumber(arg[1])
      mw.devices { cpu = count }
      mw.use "cpu:0"
      mw.compile("__global__ void set(int *p, int i) { p[i] = 42; }"):save(path)
      for i = 0, count - 1 do
        devices[i] = mw.use("cpu:" .. i)
        local p = mw.zeros(8, "int")
        mw.load(path).set(1, 1)(p, 5)
        assert(p[6] == 42)
      end
      os.remove(path)
      print "done"
    ]], count }
    assert.equal("done\n", result.output)
  end)
end)
