-- Kernels on a GPU that fail without losing it: the errors that the driver makes from their reports, with fake
-- libraries in place of libcuda and NVRTC (support/fake/cuda.c). Reports of real GPUs are in
-- gpu_failing_kernels_spec.lua.

local gpu = require "support.fake.gpu"

local function off(script, spec)
  spec = spec or {}
  spec[1] = script
  spec.environment = { MOONWARP_NVRTC = "off" }
  return gpu(spec)
end

-- The kernel is on line 4 of the script, whose first line is support.fake_gpu's.
local source = [==[
local m = mw.compile { options = OPTIONS, source = [[
__global__ void scale(float *x, int n) { assert(x[0] > 0); for (int i = 0; i < n; i++) x[i] *= 2; }
]] }
local x = mw.ones(10)
local function try(f, ...) return select(2, pcall(f, ...)) end
]==]

local plain, checked = source:gsub("OPTIONS", "{}"), source:gsub("OPTIONS", '{ "--check-memory" }')

-- The numbers that launches gave, from the parameters.
local function numbers(result)
  local list = {}
  for _, line in ipairs(result.calls) do
    local params = line:match "^cuLaunchKernel .* params (%x+)"
    if params then list[#list + 1] = #params >= 48 and tonumber(params:sub(33, 34), 16) or 0 end
  end
  return list
end

describe("a kernel that reports a failure", function()
  it("fails its launch as on the CPU device: once, with its position, and the device stays usable", function()
    local result = off(plain .. [[
      m.scale(1, 1)(x, 1)
      m.scale(2, 1)(x, 1)
      local err = try(mw.synchronize)
      print(err.kind, err.code, err.kernel, err.block[1], err.thread[3], err.line)
      print(err.message)
      mw.synchronize()
      m.scale(3, 1)(x, 1)
      mw.synchronize()
      print(x:sum() == 10, try(mw.ones, 3):sum() == 3)
    ]], { cuda = "tells=2" })
    assert.is_true(result.ok, result.output)
    assert.matches("kernel\tcudaErrorAssert\tscale\t1\t6\t4\n", result.output, 1, true)
    assert.matches("kernel scale failed the assertion 'x > 0'; %S+:4, block %(1,2,3%), thread %(4,5,6%); " ..
      "launched at %S+:8 or %S+:9\n", result.output)
    assert.matches("%S+:4: void scale%(%): block: %[1,2,3%], thread: %[4,5,6%] Assertion `x > 0` failed%.\n",
      result.output)
    assert.matches("\ntrue\ttrue\n$", result.output)
    assert.same({ 0, 0, 0 }, numbers(result))
  end)

  it("is reported alone if it is the first of several, of any kind", function()
    local result = off(plain .. [[
      for _ = 1, 5 do m.scale(1, 1)(x, 1) end
      print(try(mw.synchronize).message)
      mw.synchronize()
    ]], { cuda = "tells=2 kind=2 many=3" })
    assert.matches("^kernel scale called __trap%(%); %S+:4, block %(1,2,3%), thread %(4,5,6%); launched at %S+:8\n$",
      result.output)
  end)

  it("is reported completely if its report overwrites others that were not read", function()
    local result = off(plain .. [[
      m.scale(1, 1)(x, 1)
      print(try(mw.synchronize).message)
      mw.synchronize()
    ]], { cuda = "tells=1 overwrites=1" })
    assert.matches("\nkernel scale failed the assertion 'all of'; %S+:4, block", result.output)
  end)

  it("does not keep a reset from working, and its module is gone with that", function()
    local result = off(plain .. [[
      m.scale(1, 1)(x, 1)
      mw.device():reset()
      print(mw.ones(3):sum() == 3)
      print(try(m.scale(1, 1), x, 1).message)
      mw.synchronize()
      local again = mw.compile "__global__ void f(float *x) { assert(x[0] > 3); }"
      again.f(1, 1)(mw.ones(1))
      print(try(mw.synchronize).code)
    ]], { cuda = "tells=1 many=9" })
    assert.is_true(result.ok, result.output)
    assert.matches("^.*true\n.*\n.*cudaErrorAssert\n$", result.output)
  end)
end)

describe("a kernel with memory checks on a GPU", function()
  it("has a number, which says where it was launched", function()
    local result = off(checked .. [[
      m.scale(1, 1)(x, 1)
      m.scale(2, 1)(x, 1)
      m.scale(3, 1)(x, 1)
      print(try(mw.synchronize).message)
      mw.synchronize()
    ]], { cuda = "tells=2 kind=4" })
    assert.matches("^kernel scale wrote to x%[10%], and x ends with %[9%]: it has 10 elements of 4 bytes; %S+:4, " ..
      "block %(1,2,3%), thread %(4,5,6%); launched at %S+:9\n$", result.output)
    assert.same({ 1, 2, 3 }, numbers(result))
  end)

  it("reports bytes if an access is not an element, and the nearest array if there is none", function()
    local script = checked .. "m.scale(1, 1)(x, 1) print(try(mw.synchronize).message)"
    assert.matches("^kernel scale wrote to bytes 42 to 45 of x, and there it has 40, from 0 on; ",
      off(script, { cuda = "tells=1 kind=4 at=42" }).output)
    assert.matches("^kernel scale wrote 4 bytes at address 0x1028, which no array holds %(a null pointer%?%); " ..
      "it was made from x; ", off(script, { cuda = "tells=1 kind=5" }).output)
    local aligned = off(script .. " print(try(mw.synchronize))", { cuda = "tells=1 kind=6" }).output
    assert.matches("^kernel scale used a misaligned address %(0x1028, for 4 bytes%);",
      aligned)
  end)

  it("receives the arrays that its pointers point to", function()
    local result = off(checked .. [[
      m.scale(1, 1)(x, 1)
      m.scale(1, 1)(mw.null, 1)
    ]])
    local told = {}
    for _, line in ipairs(result.calls) do
      local params = line:match "^cuLaunchKernel .* params (%x+)"
      if params then
        assert.equal(80, #params)
        local pointer, base, bytes = params:sub(1, 16), params:sub(49, 64), params:sub(65, 80)
        told[#told + 1] = (pointer == base and "itself " or base .. " ") .. bytes
      end
    end
    assert.same({ "itself 2800000000000000", "itself 0000000000000000" }, told)
  end)

  it("receives a table of arrays, and a new one when they change", function()
    local result = off(checked .. [[
      local function launch() m.scale(1, 1)(x, 1) mw.synchronize() end
      launch() launch()
      local y = mw.ones(5)
      launch() launch()
      y:free()
      launch()
    ]])
    assert.is_true(result.ok, result.output)
    local tables = 0 -- the count and two numbers for each array
    for _, line in ipairs(result.calls) do
      if line:match "^cuMemAlloc %d+$" and tonumber(line:match "%d+") < 100 then tables = tables + 1 end
    end
    assert.equal(3, tables)
  end)

  it("is compiled by mwcc even with NVRTC; without mwcc the error says why", function()
    local script = checked .. "m.scale(1, 1)(x, 1)"
    local result = gpu { script }
    assert.is_true(result.ok, result.output)
    assert.same({ 1 }, numbers(result))
    local without = gpu { script, environment = { MOONWARP_HOME = "/nowhere" } }
    assert.matches("mwcc was not found", without.output)
    local on = gpu { "print(mw.check_memory(true)) " .. plain .. "m.scale(1, 1)(x, 1)" }
    assert.same({ 1 }, numbers(on), on.output)
  end)
end)

describe("the limit of time on a GPU", function()
  it("stops a kernel that was compiled under it; later work runs", function()
    local result = off([[mw.limit("time", 0.05) ]] .. plain .. [[
      m.scale(1, 1)(x, 1)
      m.scale(1, 1)(x, 1)
      local err = try(mw.synchronize)
      print(err.code, err.kernel, err.message)
      m.scale(1, 1)(x, 1)
      mw.synchronize()
      print(x:sum() == 10)
    ]], { cuda = "endless=2" })
    assert.is_true(result.ok, result.output)
    assert.matches("^cudaErrorLaunchTimeout\tscale\tkernel scale was stopped: it ran longer than 0.05 s %(the limit " ..
      '"time"%); somewhere in the kernel at %S+:4; launched at %S+:9\ntrue\n$', result.output)
    assert.same({ 1, 2, 3 }, numbers(result))
  end)

  it("does not change kernels that are compiled without one", function()
    assert.same({ 0 }, numbers(off(plain .. "m.scale(1, 1)(x, 1)")))
  end)

  it("stops a kernel that a copy waits for", function()
    local result = off([[mw.limit("time", 0.05) ]] .. plain .. [[
      m.scale(1, 1)(x, 1)
      print(try(function() return x[1] end).code)
      print(x[1] == 1)
    ]], { cuda = "endless=1" })
    assert.equal("cudaErrorLaunchTimeout\ntrue\n", result.output)
  end)
end)
