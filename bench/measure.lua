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

-- Of a launch with its synchronisation, warm.
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

return measure
