-- Faults that a GPU's hardware finds in kernels without checks: the error's fields, and that the process and the CPU
-- device still work. (gpu_failing_kernels_spec has kernels with checks, fault_spec the CPU device's faults, cuda_spec
-- the driver's handling of CUDA's codes on any machine.)

local suite = require "support.suite"
local child = require "support.child"

local prelude = [[
local mw = require "moonwarp"
local m = mw.compile [==[
__global__ void address(int *p) { p[(size_t)1 << 40] = 1; }
__global__ void aligned(int *p) { *(int *)((char *)p + 1) = 3; }
__global__ void trap(int *p) { asm volatile("trap;"); }
__global__ void endless(volatile int *p) { while (p[0] == 0) ; }
__global__ void fine(int *p) { p[0] = 7; }
]==]
local x = mw.zeros(4, "int")
m.fine(1, 1)(x)
mw.synchronize()
]]

-- What is left: the CPU device, and the GPU for as long as the driver lets this process have it again.
local rest = [[
print(select(2, pcall(mw.zeros, 3)).message)
local back, why = pcall(function() mw.device():reset() end)
if back then
  local y = mw.zeros(4, "int")
  mw.compile("__global__ void f(int *p) { p[0] = 9; }").f(1, 1)(y)
  assert(y[1] == 9 and not pcall(x.sum, x))
else
  assert(why.message:find "Start the program again", why.message)
end
mw.use "cpu"
print(mw.ones(3):sum())
]]

describe("a kernel that fails on a GPU", function()
  if not suite.on_gpu then
    it("is for a machine with one", function() pending "GPU only: what it does to a real one" end)
    return
  end

  for kernel, told in pairs {
    address = { "cudaErrorIllegalAddress", "read or wrote memory that no array holds" },
    aligned = { "cudaErrorMisalignedAddress", "misaligned address" },
    trap = { "cudaErrorLaunchFailure", "a trap, or another fault" },
  } do
    it("is reported by its name and the launch's line, and the process lives: " .. kernel, function()
      local result = child(prelude .. ([[
        m.%s(1, 1)(x) -- the line that is named
        local ok, err = pcall(mw.synchronize)
        print(ok, err.kind, err.code, err.kernel)
        print(err.message)
      ]]):format(kernel) .. rest)
      assert.is_true(result.ok, result.output)
      assert.matches(("false\tkernel\t%s\t%s\n"):format(told[1], kernel), result.output, 1, true)
      assert.matches(told[2], result.output, 1, true)
      assert.matches(("; %s launched at %%S+:%%d+"):format(kernel), result.output)
      assert.matches("cuda:%d was lost in an earlier failure: kernel " .. kernel, result.output)
      assert.matches("\n3.0\n$", result.output)
    end)
  end

  it("and waits for the thread that failed is abandoned, with that thread's report", function()
    local result = child [==[
      local mw = require "moonwarp"
      local m = mw.compile [[
        __global__ void waiting(volatile int *p) {
          if (threadIdx.x == 5) { assert(p[1] == 77); p[0] = 1; }
          while (p[0] == 0) ;
        }]]
      m.waiting(1, 64)(mw.zeros(2, "int"))
      local err = select(2, pcall(mw.synchronize))
      print(err.code, err.message)
      print(select(2, pcall(mw.zeros, 3)).message)
      mw.use "cpu"
      print(mw.ones(3):sum())
    ]==]
    assert.is_true(result.ok, result.output)
    assert.matches("cudaErrorAssert\tkernel waiting failed the assertion 'p[1] == 77'; ", result.output, 1, true)
    assert.matches("\ncuda:%d was lost in an earlier failure: kernel waiting ran longer .*\n3.0\n$", result.output)
  end)

  it("by not ending is abandoned after the limit of time", function()
    local result = child(prelude .. [[
      mw.limit("time", 1)
      m.endless(1, 1)(mw.zeros(1, "int"))
      local ok, err = pcall(mw.synchronize)
      print(ok, err.code, err.kernel)
      mw.use "cpu"
      print(mw.ones(3):sum())
    ]])
    assert.matches("false\tcudaErrorLaunchTimeout\tendless\n3.0\n$", result.output)
    assert.is_true(result.ok, result.output)
  end)
end)
