-- Times of launches.

local mw = require "moonwarp"

local measure = {}

local RUNS = 7

function measure.median(count, take)
  local times = {}
  for i = 1, count do times[i] = take(i) end
  table.sort(times)
  return times[math.ceil(count / 2)]
end

-- The time of a warm launch with its synchronisation.
function measure.milliseconds(run)
  run()
  mw.synchronize()
  return measure.median(RUNS, function()
    local start = mw.time()
    run()
    mw.synchronize()
    return (mw.time() - start) * 1000
  end)
end

-- Seconds: the least of several runs, to exclude the machine's other load.
function measure.best(rounds, run)
  run()
  local least = math.huge
  for _ = 1, rounds do
    mw.synchronize()
    local start = mw.time()
    run()
    mw.synchronize()
    least = math.min(least, mw.time() - start)
  end
  return least
end

-- The same for several functions in turn, so that all are measured in the same minute.
function measure.best_of_each(rounds, runs)
  local least = {}
  for i in ipairs(runs) do least[i] = math.huge end
  for _ = 1, rounds do
    for i, run in ipairs(runs) do least[i] = math.min(least[i], measure.best(1, run)) end
  end
  return (table.unpack or unpack)(least)
end

return measure
