-- Milliseconds of the kernels that are named behind how many times as many elements they are to have: a process of
-- scaling.lua.
--
-- As the multiply-adds beside them do (limits.c), a kernel shows what it can on a machine where others work, too: the
-- best of several batches, each of so many launches one behind the other that waiting for the last one counts little.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local problems = require "bench.problems"

local BATCHES, BATCH = 9, 8e-3

local function seconds(run, launches)
  local start = mw.time()
  for _ = 1, launches do run() end
  mw.synchronize()
  return mw.time() - start
end

local function best(run)
  seconds(run, 1)
  local least, launches = math.huge, math.max(1, math.ceil(BATCH / seconds(run, 1)))
  for _ = 1, BATCHES do least = math.min(least, seconds(run, launches) / launches) end
  return least
end

problems.times = tonumber(arg[1])
for i = 2, #arg do
  local name = arg[i]
  local problem = problems.open(name, problems.compile(name))
  print(name .. " " .. best(problem.run) * 1000)
  collectgarbage()
end
