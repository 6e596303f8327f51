-- Checked runs on a GPU: the report that the driver makes of what kernels find, with a fake libcuda whose kernels say
-- that they found something (support/fake/failing_kernels.h). checked_run_device_spec.lua has what the kernels do.

local gpu = require "support.fake.gpu"

local source = [==[
local m = mw.compile { name = "k.cu", source = [[
__global__ void k(float *x, float *y) {
  x[threadIdx.x] = 1;
  y[0] = x[1];
}
]] }
local x = mw.ones(64)
local function report() return mw.check(function() m.k(2, 64)(x, x) end) end
]==]

-- The kernels are the same in most cases, and compiled once.
local folder = os.tmpname()
os.remove(folder)
teardown(function() os.execute("rm -rf " .. folder) end)

local function run(script, cuda, environment)
  environment = environment or {}
  environment.MOONWARP_NVRTC, environment.MOONWARP_CACHE = "off", folder
  local result = gpu { source .. script, cuda = cuda, environment = environment }
  return result.output, result
end

describe("a checked run on a GPU", function()
  it("compiles its kernels with checks and passes them its address, and other launches run as before", function()
    local output, result = run [[
      m.k(2, 64)(x, x)
      local r = report()
      m.k(2, 64)(x, x)
      print(#r, tostring(r), #r.unchecked)
    ]]
    assert.equal("0\tno findings\t0\n", output)
    local sizes = {}
    for _, line in ipairs(result.calls) do
      local params = line:match "^cuLaunchKernel .* params (%x+)"
      if params then sizes[#sizes + 1] = #params / 2 end
    end
    assert.same({ 16, 64, 16 }, sizes) -- with a number, two extents and an address
  end)

  it("says what the CPU device says of a race", function()
    local output = run([[
      local r = report()
      local f = r[1]
      print(#r, f.kind, f.kernel, f.file, f.line, f.access, f.array, f.index, f.scope, f.count)
      print(f.thread[1], f.block[1], f.other.thread[1], f.other.line, f.other.access)
      print(r)
    ]], "finds=1")
    assert.equal("1\trace\tk\tk.cu\t2\twrite\tx\t10\tblock\t3\n35\t0\t3\t3\tread\n" ..
      "race on x[10]: thread 35 writes it at line 2, thread 3 reads it at line 3, and no __syncthreads() is between " ..
      "them; 3 pairs\n", output)
  end)

  for kind, words in pairs {
    [2] = "uninitialised: kernel k, thread 3 of block 0 used x[10], which nothing has written, at line 3; 3 times",
    [3] = "barrier divergence: kernel k, thread 3 of block 0 waits at one barrier, and other threads of its block " ..
      "wait at another at line 3 (thread 35 of block 0 at line 2); all threads of a block have to reach the same " ..
      "__syncthreads(); 3 times",
    [4] = "barrier divergence: kernel k, thread 3 of block 0 waits at a barrier that thread (5,0,0) never reaches: " ..
      "it has returned at line 3; let threads without work skip the work, not the barrier; 3 times",
    [5] = "warp mask: kernel k, thread 3 of block 0 calls a warp function with the mask 0x00000005, which does not " ..
      "name its own lane, 3 at line 3; the mask names the lanes that call: __activemask() is no substitute for it; " ..
      "3 times",
    [13] = "barrier divergence: kernel k, thread 3 of block 0 waits for arrivals at a barrier, and all other " ..
      "threads of its block wait too or have returned at line 3; let as many threads arrive as the barrier " ..
      "expects; 3 times",
    [14] = "barrier divergence: kernel k, thread 3 of block 0 waits for the whole grid, and some blocks have ended " ..
      "without waiting at line 3; all threads of the grid have to call grid.sync(); 3 times",
    [9] = "invalid free: kernel k, thread 3 of block 0 freed memory that was freed before at line 3; 3 times",
  } do
    it("says what the CPU device says of a finding of kind " .. kind, function()
      assert.equal(words .. "\n", (run("print(report())", "value=5 finds=" .. kind)))
    end)
  end

  it("decides by the log which accesses fences and atomics order", function()
    assert.matches("^race on x: thread 7 of block 1 writes it at line 2, thread 3 of block 0 reads it at line 3, and b",
      (run("print(report())", "finds=100")))
    assert.equal("no findings\n", (run("print(report())", "finds=101")))
    assert.equal("no findings\n", (run("print(report())", "finds=103")))
    assert.matches("^race on x: thread 7 of block 1 updates it", (run("print(report())", "finds=104")))
  end)

  it("finds races of copies and fills with kernels in other streams", function()
    local output = run([[
      local function try(command, orders)
        local y, s, t = mw.zeros(64), mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
        local r = mw.check(function()
          mw.with(s, function() m.k(2, 64)(x, x) end)
          if orders then s:synchronize() end
          mw.with(t, function() command(x, y) end)
        end)
        local f = r[1]
        print(#r, f and f.kind, f and f.scope, f and f.line or f and f.other.line, f and f.array)
      end
      local function fill(x) x:fill(3) end
      local function copy(x, y) y:copy_from(x) end
      local function replace(x, y) x:copy_from(y) end
      local function other(x, y) y:fill(3) end
      for _, command in ipairs { fill, copy, replace } do try(command) try(command, true) end
      try(other)
      try(function(x) x[{ {2, 64} }]:fill(1) end)
    ]], "finds=102")
    local race, none = "1\trace\tlaunches\t2\tx\n", "0\tnil\tnil\tnil\tnil\n"
    assert.equal((race .. none):rep(3) .. none .. none, output)
  end)

  it("tells a kernel which arrays are all written, and to which nothing writes", function()
    local output, result = run([[
      local m = mw.compile "__global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1; }"
      print(mw.check(function()
        local e = mw.empty(64)
        m.k(1, 64)(x, e)
        m.k(1, 64)(e, x)
        m.k(1, 64)(x, x)
        e:fill(1)
        m.k(1, 64)(x, e)
        local s = mw.stream { nonblocking = true }
        m.k(1, 64)(x, e)
        mw.with(s, function() m.k(1, 64)(e, e) end)
      end))
    ]], "finds=105")
    assert.equal("no findings\nnot checked: races of kernels' reads with work in streams that were made after them\n",
      output)
    local told = {}
    for _, line in ipairs(result.calls) do told[#told + 1] = line:match "^followed (.*)" end
    assert.same({ "whole 1 read only 1", "whole 2 read only 1", "whole 3 read only 0", "whole 3 read only 1",
      "whole 3 read only 0", "whole 3 read only 0" }, told)
  end)

  it("names what it cannot check", function()
    local output = run("local r = report() print(#r.unchecked, r)", "finds=2 notes=3")
    assert.matches("^2\tuninitialised: .-\nnot checked: races in shared memory of blocks with PTX barriers of a " ..
      "form that is not known\nnot checked: races in shared memory of clusters\n$", output)
  end)

  it("keeps an access out of bounds as a finding, and the launch does not fail", function()
    local output = run([[
      local r = report()
      mw.synchronize()
      print(#r, r[1].kind, r[1].array, r[1].index, r[1].access, r[1].line, r[1].text)
    ]], "tells=1 kind=4")
    assert.equal("1\tout_of_bounds\tx\t10\twrite\t1\twrote to x[10], and x ends with [9]: it has 10 elements of 4 " ..
      "bytes\n", output)
  end)

  it("is refused on old GPUs, with a random schedule, and within another", function()
    local output = run([[
      print(select(2, pcall(mw.check, function() end, { schedule = "random" })))
      print(select(2, pcall(mw.check, function() mw.check(function() end) end)))
      print(#report())
    ]])
    assert.matches("on a GPU the hardware schedules the threads", output)
    assert.matches("checked runs do not nest", output)
    assert.matches("\n0\n$", output)
    assert.matches("checked runs want a GPU of compute capability 7.0", (run("print(select(2, pcall(report)))",
      "capability=61")))
  end)

  describe("in which the GPU is reset", function()
    local reset = [[
      local m2
      local report = mw.check(function()
        m.k(2, 64)(x, x)
        mw.device():reset()
        m2 = mw.compile { name = "two.cu", source = "__global__ void two(float *x, float *y) {\nx[0] = y[1]; }" }
        local y = mw.ones(64)
        m2.two(2, 64)(y, y)
      end)
      print(#report, #report.unchecked, report.unchecked[1])
      for i = 1, #report do print(report[i].kind, report[i].kernel, report[i].file) end
      print(#mw.check(function() end))
    ]]

    it("keeps what was found before, and goes on", function()
      assert.equal("2\t0\tnil\nrace\tk\tk.cu\nrace\ttwo\ttwo.cu\n0\n", (run(reset, "finds=1")))
    end)

    it("says so where there is no memory to go on", function()
      local before = 0 -- allocations, the next of which is the new session's first
      for _, line in ipairs(select(2, run(reset, "finds=1")).calls) do
        if line:find "^cuDevicePrimaryCtxReset" then break end
        before = before + (line:find "^cuMemAlloc " and 1 or 0)
      end
      local output = run(reset, "finds=1", { FAKE_CUDA_FAIL = ("cuMemAlloc@%d=2"):format(before + 1) })
      assert.equal("1\t1\tlaunches after cuda:0 was reset, for lack of memory\nrace\tk\tk.cu\n0\n", output)
    end)

    it("says what a failure before it took away", function()
      assert.equal("no findings\nnot checked: what kernels did before the failure after which cuda:0 was " ..
        "reset\nno findings\n", (run([[
        print(mw.check(function()
          m.k(2, 64)(x, x)
          assert(not pcall(mw.zeros, 8))
          mw.device():reset()
        end))
        print(mw.check(function() end))
      ]], "finds=1 fault=700")))
    end)
  end)

  it("gives back all its memory", function()
    local function left(script)
      local output, result = run(script)
      assert.is_true(result.ok, output)
      return gpu.count(result, "cuMemAlloc") - gpu.count(result, "cuMemFree")
    end
    assert.equal(left "report()", left "report() report() report()")
  end)
end)
