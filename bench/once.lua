-- Costs per process and per launch: the limits that moonwarp sets itself, and the measured times.

local mw = require "moonwarp"
local compiles = require "bench.compiles"
local measure = require "bench.measure"
local peers = require "bench.peers"
local problems = require "bench.problems.problems"
local sheet = require "bench.sheet"

local median = measure.median

local RUNS = 9

local report = sheet.new("", "moonwarp", "unit", "limit", "", "PoCL")

local function row(what, unit, value, limit, pocl)
  local below, verdict = "", ""
  if limit then below, verdict = "< " .. limit, value < limit and "met" or "NOT MET" end
  report:add(what, ("%.3f"):format(value), unit, below, verdict, pocl and pocl > 0 and ("%.3f"):format(pocl) or "")
end

local function compile_rows()
  local salt = tostring(mw.time()) .. tostring({})
  local pocl_cache = os.tmpname()
  os.remove(pocl_cache)
  local pocl_cold = median(3, function(i) return peers.pocl_build("blackscholes", pocl_cache .. i) or 0 end)
  local pocl_warm = median(RUNS, function() return peers.pocl_build("blackscholes", pocl_cache .. 1) or 0 end)
  for i = 1, 3 do os.execute("rm -rf " .. peers.quote(pocl_cache .. i)) end
  local function compile(i) return compiles.time("blackscholes", salt .. i) end
  row("compile a 20-line kernel", "ms", median(RUNS, compile), compiles.COLD_LIMIT, pocl_cold)
  row("the same from the cache", "ms", median(RUNS, function() return compile(1) end), compiles.WARM_LIMIT, pocl_warm)
end

local function require_row()
  local code = "local start = os.clock() require 'moonwarp' print((os.clock() - start) * 1000)"
  row("require (processor time)", "ms", median(RUNS, function() return peers.fresh(code) end), 5)
end

local function launch_rows()
  local empty = problems.compile("empty").empty(1, 32):bind()
  local function timed(count, step)
    return median(RUNS, function()
      mw.synchronize()
      local start = mw.time()
      for _ = 1, count do step() end
      mw.synchronize()
      return (mw.time() - start) / count * 1e6
    end)
  end
  timed(1000, empty)
  local pocl = peers.solve("pocl", "empty")
  local both = timed(1000, function() empty() mw.synchronize() end)
  row("empty launch and synchronise", "us", both, 5, pocl and pocl * 1e3)
  row("empty launch, queued", "us", timed(20000, empty))
  row("array of 1024 floats, made and freed", "us", timed(20000, function() mw.zeros(1024):free() end))
end

-- One block, so one processor. The gangs of the block wait in each iteration, and each has a value to save. If halves
-- of a block wait for each other, the threads are fibers.
local function barrier_rows()
  local THREADS = 1024
  local function per_thread(kernel, rounds) -- nanoseconds
    return measure.milliseconds(kernel(1, THREADS):bind(rounds, mw.zeros(THREADS))) * 1e6 / rounds / THREADS
  end
  local kernel, own = problems.compile("barriers").barriers, problems.compile "block_barriers"
  local lanes = tonumber(kernel.tier_reason:match("^(%d+) threads")) or 1
  local block = per_thread(kernel, 20000)
  row(("barrier, a gang of %d threads"):format(lanes), "ns", block * lanes, 5)
  row("cuda::barrier of a block, in __syncthreads()", "times", per_thread(own.whole, 20000) / block, 4)
  row("cuda::barrier of half a block, a thread", "ns", per_thread(own.halves, 200), 100)
end

return function()
  require_row()
  compile_rows()
  launch_rows()
  barrier_rows()
  report:print()
end
