-- A process of scaling.lua. Arguments: a factor for the number of elements, and names of kernels. Prints for each
-- kernel its milliseconds, and the ratio of its time to that of a fixed number of multiply-adds.
--
-- On a machine with other load, the speed changes within hundredths of a second. So batches of a kernel's launches
-- alternate with batches of multiply-adds, and each ratio is of neighbouring batches. A batch has so many launches that
-- waiting for the last one is negligible. The milliseconds are those of the best batch, the ratio is the median.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local measure = require "bench.measure"
local problems = require "bench.problems.problems"

local BATCHES, BATCH, TURN = 15, 6e-3, 2e-3

local function seconds(run, launches)
  local start = mw.time()
  for _ = 1, launches do run() end
  mw.synchronize()
  return mw.time() - start
end

local function launches_for(run, time)
  for _ = 1, 3 do seconds(run, 1) end
  return math.max(1, math.ceil(time / seconds(run, 1)))
end

local function multiply_adds()
  local blocks = 64 * mw.properties().multiprocessors
  local run = problems.compile("multiply_adds").multiply_adds(blocks, 256):bind(1000, 0.5, 1, mw.zeros(blocks * 256))
  local launches = launches_for(run, TURN)
  return function() return seconds(run, launches) / launches / blocks end -- for one block
end

local function measure_against(run, reference)
  local launches, least, before = launches_for(run, BATCH), math.huge, reference()
  local ratio = measure.median(BATCHES, function()
    local time = seconds(run, launches) / launches
    local after = reference()
    local between = (before + after) / 2
    least, before = math.min(least, time), after
    return time / between
  end)
  return least, ratio
end

problems.times = tonumber(arg[1])
local reference = multiply_adds()
for i = 2, #arg do
  local name = arg[i]
  local problem = problems.open(name, problems.compile(name))
  local least, ratio = measure_against(problem.run, reference)
  print(name .. " " .. least * 1000 .. " " .. ratio)
  collectgarbage()
end
