-- The cost of checked and measured runs: each kernel of the first table without checks, with each check, with all of
-- them, and measured, in turn in one process; ratios to the time without.
--
--   lua bench/checks/cost.lua [kernel …] [--only=memory,initialisation,races,barriers,all,measured] [--rounds=N]
--       [--device=cpu]
--
-- On a GPU nothing is measured. compute-sanitizer --tool … lua bench/checks/cost.lua --device=cuda --only= prints times
-- under that.
--     [--launches=N]
--
-- --launches: how often the launch without checks is repeated in each round (1); after ten it is specialised.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local problems = require "bench.problems.problems"
local sheet = require "bench.sheet"

local launches = 1
local kinds, names = { "memory", "initialisation", "races", "barriers", "all", "measured" }, {}
local rounds, device = 3, "cpu"
for _, word in ipairs(arg) do
  local only, count = word:match "^%-%-only=(.*)", word:match "^%-%-rounds=(%d+)"
  launches = tonumber(word:match "^%-%-launches=(%d+)") or launches
  if only then
    kinds = {}
    for kind in only:gmatch "[^,]+" do kinds[#kinds + 1] = kind end
  elseif count then
    rounds = tonumber(count)
  elseif word:match "^%-%-device=" then
    device = word:match "=(.*)"
    if device ~= "cpu" and kinds[#kinds] == "measured" then kinds[#kinds] = nil end
  elseif not word:match "^%-%-" then
    names[#names + 1] = word
  end
end
if #names == 0 then names = problems.classics end
mw.use(device)

local function seconds(run)
  mw.synchronize()
  local start = mw.time()
  run()
  mw.synchronize()
  return mw.time() - start
end

-- How to run the problem once with a check, and return the time of its launch.
local function timed(problem, kind)
  local time
  if not kind then
    for _ = 1, launches do time = math.min(time or math.huge, seconds(problem.run)) end
    return time
  end
  if kind == "measured" then
    local launch = mw.measure(problem.kernel, problem.grid, problem.block)
    return seconds(function() launch((table.unpack or unpack)(problem.arguments)) end)
  end
  local report = mw.check(function() time = seconds(problem.run) end, { checks = kind })
  assert(#report == 0, tostring(report))
  return time
end

-- The least time of each kind, in turn; the first round compiles.
local function solve(problem)
  local least = {}
  for round = 0, rounds do
    for i = 0, #kinds do
      local time = timed(problem, kinds[i])
      if round > 0 then least[i] = math.min(least[i] or math.huge, time) end
    end
  end
  return least
end

local report = sheet.new("kernel", "ms", (table.unpack or unpack)(kinds))
local logs = {}
for _, name in ipairs(names) do
  local problem = problems.open(name, problems.compile(name))
  local least, row = solve(problem), {}
  for i in ipairs(kinds) do
    local ratio = least[i] / least[0]
    logs[i] = (logs[i] or 0) + math.log(ratio)
    row[i] = ("%.1fx"):format(ratio)
  end
  report:add(name, ("%.2f"):format(1000 * least[0]), (table.unpack or unpack)(row))
end
local means = {}
for i in ipairs(kinds) do means[i] = ("%.1fx"):format(math.exp(logs[i] / #names)) end
report:add("geometric mean", "", (table.unpack or unpack)(means))
report:print()
