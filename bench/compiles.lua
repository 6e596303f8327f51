-- The time to compile each of the benchmark's kernels, including the front end: in a new process without the cache, in
-- another one with it, and the time of specialisation for another launch class, which uses the front end's earlier
-- output.

local mw = require "moonwarp"
local measure = require "bench.measure"
local peers = require "bench.peers"
local problems = require "bench.problems.problems"
local sheet = require "bench.sheet"

local compiles = { COLD_LIMIT = 100, CLASS_LIMIT = 60, WARM_LIMIT = 2 }

local ROUNDS = 5

-- Milliseconds, in a process of its own; `salt` makes the source unique.
function compiles.time(name, salt)
  return peers.fresh(([[
    local mw = require "moonwarp"
    local file = io.open "%s"
    local source = file:read "*a" .. "// %s"
    local start = mw.time()
    mw.compile(source)
    print((mw.time() - start) * 1000)]]):format(problems.path(name), salt))
end

-- The milliseconds by which the first launch of a new class takes longer than the next one; -1 if there is no
-- specialised code, as in the loop tier.
function compiles.time_class(name, salt)
  return peers.fresh(([[
    package.path = "./?.lua;" .. package.path
    local mw = require "moonwarp"
    local problems = require "bench.problems.problems"
    local file = io.open(problems.path(%q))
    local problem = problems.open(%q, mw.compile(file:read "*a" .. "// %s"))
    mw.synchronize()
    mw.limit("specialise", 0)
    local misses, times = mw.cache.misses, {}
    for i = 1, 2 do
      local start = mw.time()
      problem.run()
      mw.synchronize()
      times[i] = mw.time() - start
    end
    print(mw.cache.misses > misses and (times[1] - times[2]) * 1000 or -1)]]):format(name, name, salt))
end

-- All kernels in turn, several times, so that a slow minute of the machine does not affect all times of one kernel.
local function take_times(names)
  local times, salt = {}, tostring(mw.time()) .. tostring({})
  for _, name in ipairs(names) do times[name] = { cold = {}, warm = {}, class = {} } end
  for round = 1, ROUNDS do
    for _, name in ipairs(names) do
      local kernel = times[name]
      kernel.cold[round] = compiles.time(name, salt .. round)
      kernel.warm[round] = compiles.time(name, salt .. round)
      kernel.class[round] = compiles.time_class(name, salt .. "class" .. round)
    end
  end
  return times
end

function compiles.print()
  local report = sheet.new("kernel", "cold ms", "< " .. compiles.COLD_LIMIT, "new class ms",
    "< " .. compiles.CLASS_LIMIT, "cached ms", "< " .. compiles.WARM_LIMIT)
  local names = {}
  for _, list in ipairs { problems.classics, problems.functions, problems.fields } do
    table.move(list, 1, #list, #names + 1, names)
  end
  local times = take_times(names)
  local function median(list) return measure.median(ROUNDS, function(round) return list[round] end) end
  local function verdict(time, limit) return time < limit and "met" or "NOT MET" end
  for _, name in ipairs(names) do
    local cold, warm, class = median(times[name].cold), median(times[name].warm), median(times[name].class)
    local has_class = class > 0
    report:add(name, ("%.0f"):format(cold), verdict(cold, compiles.COLD_LIMIT),
      has_class and ("%.0f"):format(class) or "-", has_class and verdict(class, compiles.CLASS_LIMIT) or "-",
      ("%.2f"):format(warm), verdict(warm, compiles.WARM_LIMIT))
  end
  report:print()
end

return compiles
