-- Checked runs (mw.check): the suite of planted bugs and their clean twins in support/check_suite, and reports.
-- CPU device only: gpu_check_spec has planted bugs for GPUs.

local mw = require "moonwarp"
mw.limit("time", 60)
local child = require "support.child"
local failure = require "support.failure"

local suite = require "support.check_suite.suite"
local variant, report_of, count_found = suite.variant, suite.report_of, suite.count_found

-- The checks that find a kind without following each thread: the code is vectorised then.
local alone = { out_of_bounds = "memory", misaligned = "memory", use_after_free = "memory", invalid_free = "memory",
  leak = "memory", uninitialised = "initialisation" }

for _, theme in ipairs(suite.themes) do
  describe("a checked run of " .. theme, function()
    for _, case in ipairs(require("support.check_suite." .. theme)) do
      local try = case.has_bug == false and function() end or it
      try("finds " .. case[1], function()
        local text, report = variant(case, true), report_of(case, true)
        assert.is_true(count_found(case, report) > 0, ("%s\n%s"):format(tostring(report), text))
        for _, f in ipairs(report) do
          if not case.more then assert.equal(case.kind, f.kind, tostring(report)) end
        end
      end)
      it("finds nothing in the repaired " .. case[1], function()
        local report = report_of(case, false)
        assert.equal(0, #report, tostring(report))
      end)
      local checks = alone[case.kind]
      if checks then
        it(("finds %s by the check of %s alone"):format(case[1], checks), function()
          local clean = report_of(case, false, checks)
          assert.equal(0, #clean, tostring(clean))
          if case.has_bug == false then return end
          local report = report_of(case, true, checks)
          assert.is_true(count_found(case, report) > 0, tostring(report) .. "\n" .. variant(case, true))
        end)
      end
    end
  end)
end

describe("reports", function()
  it("fail where a kernel could not be compiled with checks", function()
    -- another text in each run, which no cache has
    local m = mw.compile(("__global__ void add(float *x) { x[threadIdx.x] += 1; } // %.17g"):format(mw.time()))
    local x, most = mw.zeros(32), mw.limit "compile_time"
    mw.limit("compile_time", 0.001)
    local ok, message = pcall(mw.check, function() m.add(1, 32)(x) end)
    mw.limit("compile_time", most)
    assert.is_false(ok)
    assert.matches("ran without checks, as it could not be compiled with them: the compiler was stopped",
      tostring(message))
    assert.equal(0, #mw.check(function() m.add(1, 32)(x) end))
    assert.equal(1, #mw.check(function() m.add(1, 64)(x) end))
  end)

  local m = mw.compile { name = "racy.cu", source = [[
__global__ void k(float *y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = tile[(threadIdx.x + 32) % 64];
}]] }

  it("name both ends of a race, its array and its scope", function()
    local report = mw.check(function() m.k(1, 64)(mw.zeros(64)) end)
    assert.equal(1, #report)
    local f = report[1]
    assert.same({ "race", "k", "racy.cu", 3, "write", "tile", "block" },
      { f.kind, f.kernel, f.file, f.line, f.access, f.array, f.scope })
    assert.same({ 4, "read", 64 }, { f.other.line, f.other.access, f.count })
    assert.equal((f.thread[1] + 32) % 64, f.other.thread[1])
    assert.equal(f.thread[1], f.index)
    assert.matches("^race on tile%[%d+%]: thread %d+ writes it at line 3, thread %d+ reads it at line 4, and "
      .. "no __syncthreads%(%) is between them; 64 pairs$", tostring(report))
  end)

  it("have compute-sanitizer's form", function()
    local report = m.k:checked(1, 64)(mw.zeros(64))
    assert.matches("Race reported between Write access at k in racy.cu:3", report:text "compute-sanitizer")
    assert.equal(tostring(report), report:text())
    assert.matches('report:text wants "plain" or', failure(report.text, report, "xml").message)
  end)

  it("leave out races that are meant", function()
    mw.allow_race("tile")
    assert.equal("no findings", tostring(m.k:checked(1, 64)(mw.zeros(64))))
    mw.allow_race()
    assert.equal(1, #m.k:checked(1, 64)(mw.zeros(64)))
  end)

  -- Whether memory is used again is up to the allocator; reads of freed memory show under sanitizers.
  it("tell a stream and an event from those that were freed before, whose memory they may have", function()
    local y, write = mw.zeros(64), mw.compile "__global__ void write(float *y) { y[threadIdx.x] = 1; }".write
    local report = mw.check(function()
      for _ = 1, 8 do
        local stream = mw.stream { nonblocking = true }
        write(1, 64, 0, stream)(y)
        stream:free()
      end
    end)
    assert.equal("race", report[1] and report[1].kind, tostring(report))
    report = mw.check(function() -- the streams are idle when they are freed, which the program has not asked
      for _ = 1, 4 do
        local stream = mw.stream { nonblocking = true }
        write(1, 64, 0, stream)(y)
        for _ = 1, 200000 do mw.time() end
        stream:free()
      end
    end)
    assert.equal("race", report[1] and report[1].kind, tostring(report))
    report = mw.check(function()
      local stream = mw.stream { nonblocking = true }
      write(1, 64, 0, stream)(y)
      while not stream:query() do mw.time() end
      write(1, 64)(y)
    end)
    assert.equal("no findings", tostring(report))
    report = mw.check(function()
      local first, second = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
      write(1, 64, 0, first)(y)
      for _ = 1, 8 do
        local event = mw.event()
        event:record(first)
        event:free()
        event = mw.event()
        second:wait(event) -- not recorded
        event:free()
      end
      write(1, 64, 0, second)(y)
      mw.synchronize()
    end)
    assert.equal("race", report[1] and report[1].kind, tostring(report))
  end)

  it("include kernels that kernels launch where no threads are followed, and say so where they are not", function()
    local nested = mw.compile { name = "child.cu", source = [[
__global__ void child(int *y, int n) { y[threadIdx.x + n] = 1; }
__global__ void k(int *y, int n) { child<<<1, 32>>>(y, n); }]] }
    local y = mw.zeros(32, "int")
    local function launched(n, checks) return mw.check(function() nested.k(1, 1)(y, n) end, { checks = checks }) end
    for _, checks in ipairs { "memory", "initialisation" } do
      assert.equal("no findings", tostring(launched(0, checks)))
      local report = launched(1, checks)
      assert.equal(1, #report, tostring(report))
      assert.equal("child", report[1].kernel)
      assert.equal(1, report[1].line)
    end
    local report = launched(0, "all")
    assert.equal(0, #report)
    assert.matches("^kernel child, which kernel k launched", report.unchecked[1])
    assert.equal(1, #report.unchecked)
    assert.equal(32, y:sum())
  end)

  it("have the kinds that were asked for", function()
    local y = mw.zeros(64)
    assert.equal(0, #mw.check(function() m.k(1, 64)(y) end, { checks = "memory" }))
    assert.equal(1, #mw.check(function() m.k(1, 64)(y) end, { checks = { "races" } }))
    assert.matches('checks wants "all"', failure(mw.check, function() end, { checks = "speed" }).message)
  end)

  it("take no more of a thread's stack where a kernel has many accesses", function()
    local line = "q[threadIdx.x] += p[q[threadIdx.x] * %d] * %d;\n"
    local lines = {}
    for i = 1, 64 do lines[i] = line:format(i, i) end
    local many = mw.compile("__global__ void k(const int *p, int *q) {\n" .. table.concat(lines) .. "}")
    local before, q = mw.limit "stack", mw.zeros(32, "int")
    mw.limit("stack", 4096)
    local ok, report = pcall(mw.check, function() many.k(1, 32)(mw.zeros(64, "int"), q) end)
    mw.limit("stack", before)
    assert.is_true(ok, tostring(report))
    assert.equal("no findings", tostring(report))
    assert.equal(0, q[1])
  end)

  it("name the element that nothing has written, where it is read from", function()
    local some = mw.compile [[
      __global__ void shared(float *y) {
        __shared__ float tile[64];
        if (threadIdx.x < 20) tile[threadIdx.x] = 1;
        __syncthreads();
        y[threadIdx.x] = tile[threadIdx.x] * 2;
      }
      __global__ void global(const int *given, int *y) {
        int v = given[threadIdx.x + 3];
        y[threadIdx.x] = v + 1;
      }
      __global__ void local(float *y) {
        float a[8];
        a[0] = 1;
        y[threadIdx.x] = a[(threadIdx.x + 5) % 8] + 1;
      }
    ]]
    local function first(run)
      local report = mw.check(run)
      assert.equal(1, #report)
      return { report[1].kind, report[1].array, report[1].index - report[1].thread[1] }, tostring(report)
    end
    local found, text = first(function() some.shared(1, 32)(mw.zeros(64)) end)
    assert.same({ "uninitialised", "tile", 0 }, found)
    assert.matches("used tile%[%d+%], which nothing has written, at line %d+", text)
    found = first(function() some.global(1, 32)(mw.empty(40, "int"), mw.zeros(64, "int")) end)
    assert.same({ "uninitialised", "given", 3 }, found)
    found, text = first(function() some["local"](1, 32)(mw.zeros(64)) end)
    assert.same({ "uninitialised", "a local array", 5 }, { found[1], found[2], found[3] % 8 })
    assert.matches("used element %d of a local array, which nothing has written, at line", text)
  end)

  it("leave kernels with large structs among their parameters alone", function()
    local large = mw.compile [[
      struct walk { long long rows, step[15]; };
      __global__ void k(walk w, int *p) {
        long long row = threadIdx.y;
        if (row < w.rows) *(int *)((char *)p + row * w.step[0] + threadIdx.x * w.step[14]) = row + 1;
      }
    ]]
    local p, step = mw.zeros({ 8, 4 }, "int"), {}
    for i = 1, 15 do step[i] = 0 end
    step[1], step[15] = 16, 4
    local report = mw.check(function() large.k(1, { 4, 10 })({ rows = 8, step = step }, p) end)
    assert.equal("no findings", tostring(report))
    assert.equal(4 * 36, p:sum())
  end)

  it("end with the function, also when it fails; checked runs do not nest", function()
    assert.equal("stop", select(2, pcall(mw.check, function() error("stop", 0) end)))
    assert.matches("do not nest", failure(mw.check, function() mw.check(function() end) end).message)
    assert.equal(0, #mw.check(function() end))
  end)

  it("end on the device on which they began, and say what they left out of the others", function()
    local result = child [==[
      local mw = require "moonwarp"
      mw.devices { cpu = 2 }
      mw.use "cpu:0"
      local function race()
        mw.compile("__global__ void k(int *y) { *y = threadIdx.x; }").k(1, 32)(mw.zeros(1, "int"))
      end
      local report = mw.check(function() race() mw.use "cpu:1" race() race() end)
      print(#report, report[1].kind, mw.device().name, #report.unchecked)
      print(report.unchecked[1])
      report = mw.check(race)
      print(#report, #report.unchecked)
      print(pcall(mw.check, function() mw.use "cpu:0" error("stop", 0) end))
      print(mw.device().name, #mw.check(race))
    ]==]
    assert.equal("1\trace\tcpu:1\t1\n" ..
      "launches on cpu:1: the checked run is of cpu:0, which was in use when it began\n1\t0\n" ..
      "false\tstop\ncpu:0\t1\n", result.output)
  end)

  it("do not change what kernels compute, before and after", function()
    local y = mw.zeros(64)
    local double = mw.compile [[__global__ void k(float *y) {
      __shared__ float tile[64];
      tile[threadIdx.x] = y[threadIdx.x] + threadIdx.x;
      __syncthreads();
      y[threadIdx.x] = tile[63 - threadIdx.x];
    }]]
    for _ = 1, 2 do
      double.k(1, 64)(y)
      mw.check(function() double.k(1, 64)(y) end)
    end
    assert.equal(126, y[2])
    assert.equal(126, y[64])
  end)

  it("take what the library's operations write to be written", function()
    local y = mw.zeros(64)
    local double = mw.compile "__global__ void k(const float *x, float *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }"
    local report = mw.check(function()
      double.k(1, 64)(mw.arange(64), y)
      double.k(1, 64)(mw.linspace(0, 1, 64) + 1, y)
    end)
    assert.equal("no findings", tostring(report))
  end)

  it("are a script's and an input's as well", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write "mw = require 'moonwarp'\n"
    file:write "mw.compile('__global__ void k(int *y) { *y = threadIdx.x; }').k(1, 32)(mw.zeros(1, 'int'))"
    file:close()
    local lua = arg and arg[-1] or "lua5.4"
    local run = assert(io.popen(("%s bin/moonwarp --check %s 2>&1; echo status $?"):format(lua, path)))
    local said = run:read "*a"
    run:close()
    os.remove(path)
    assert.matches("race on y%[0%]: thread 1 writes it at line 2.*status 1", said)
  end)
end)
