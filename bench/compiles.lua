-- What compiling each of the benchmark's kernels costs, the front end included: in a fresh process where nothing is
-- cached, and in another where it is.

local mw = require "moonwarp"
local measure = require "bench.measure"
local peers = require "bench.peers"
local problems = require "bench.problems"
local sheet = require "bench.sheet"

local compiles = { COLD_LIMIT = 100, WARM_LIMIT = 2 }

local RUNS = 3

-- Milliseconds, in a process of its own; `salt` makes it another source.
function compiles.time(name, salt)
  return peers.fresh(([[
    local mw = require "moonwarp"
    local file = io.open "bench/kernels/%s.cu"
    local source = file:read "*a" .. "// %s"
    local start = mw.time()
    mw.compile(source)
    print((mw.time() - start) * 1000)]]):format(name, salt))
end

function compiles.print()
  local report = sheet.new("kernel", "cold ms", "< " .. compiles.COLD_LIMIT, "cached ms", "< " .. compiles.WARM_LIMIT)
  local salt = tostring(mw.time()) .. tostring({})
  local function verdict(time, limit) return time < limit and "met" or "NOT MET" end
  for _, list in ipairs { problems.classics, problems.functions, problems.fields } do
    for _, name in ipairs(list) do
      local cold = measure.median(RUNS, function(i) return compiles.time(name, salt .. i) end)
      local warm = measure.median(RUNS, function() return compiles.time(name, salt .. 1) end)
      report:add(name, ("%.0f"):format(cold), verdict(cold, compiles.COLD_LIMIT), ("%.2f"):format(warm),
        verdict(warm, compiles.WARM_LIMIT))
    end
  end
  report:print()
end

return compiles
