-- Of the kernels that are named behind how many times as many elements they are to have: milliseconds, and how many
-- times as long as so many multiply-adds they take. A process of scaling.lua.
--
-- Where others work on the machine, it is another one from one hundredth of a second to the next. So a kernel
-- Where others work on the machine, it is another one from one hundredth of a second to the next. So a kernel
-- behind a batch of launches is what it might have had. A batch is so many launches one behind the other that waiting
-- for the last one counts little. Milliseconds are those of the best batch, the ratio is the median.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local measure = require "bench.measure"
local problems = require "bench.problems"

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
  return function() return seconds(run, launches) / launches / blocks end -- of a block
end

local function measure_beside(run, beside)
  local launches, least, before = launches_for(run, BATCH), math.huge, beside()
  local ratio = measure.median(BATCHES, function()
    local time = seconds(run, launches) / launches
    local behind = beside()
    local between = (before + behind) / 2
    least, before = math.min(least, time), behind
    return time / between
  end)
  return least, ratio
end

problems.times = tonumber(arg[1])
local beside = multiply_adds()
for i = 2, #arg do
  local name = arg[i]
  local problem = problems.open(name, problems.compile(name))
  local least, ratio = measure_beside(problem.run, beside)
  print(name .. " " .. least * 1000 .. " " .. ratio)
  collectgarbage()
end
