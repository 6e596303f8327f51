-- The overhead of bindings: a prepared launch from each Lua, compared with the same loop in C (examples/embed.c),
-- access to elements of arrays, and require. Part of make bench. Each figure is the best of several runs, to reduce
-- the influence of other load.
--   lua5.4 bench/bindings.lua            the table
--   lua5.4 bench/bindings.lua --measure  one line of figures, for the interpreter that runs it

-- Microseconds for each of `count` calls, including their completion.
local function best_of(rounds, count, run)
  local mw = require "moonwarp"
  local best = math.huge
  for _ = 1, rounds do
    mw.synchronize()
    local start = mw.time()
    run(count)
    mw.synchronize()
    best = math.min(best, (mw.time() - start) / count)
  end
  return best * 1e6
end

local function measure()
  local before = os.clock()
  local mw = require "moonwarp"
  local loading = (os.clock() - before) * 1e3
  -- As embed.c: an empty kernel of one thread, launched 100000 times and waited for, or 10000 times and each waited
  -- for.
  local m = mw.compile "__global__ void nothing() {}"
  local run = m.nothing(1, 1):bind()
  local launch = best_of(3, 100000, function(count) for _ = 1, count do run() end end)
  local plain = best_of(3, 20000, function(count) for _ = 1, count do m.nothing(1, 1)() end end)
  local both = best_of(3, 10000, function(count)
    for _ = 1, count do
      run()
      mw.synchronize()
    end
  end)
  local a, sum = mw.ones(1000), 0
  local element = best_of(30, 1000, function(count) for i = 1, count do sum = sum + a[i] end end)
  local host = a:host()
  local direct = best_of(30, 1000, function(count) for i = 1, count do sum = sum + host[i] end end)
  print(("%.3f %.3f %.3f %.4f %.4f %.3f"):format(launch, plain, both, element, direct, loading))
end

if arg[1] == "--measure" then
  measure()
  return
end

local function figures(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local list = {}
  for number in pipe:read("*a"):gmatch "[%d%.]+" do list[#list + 1] = tonumber(number) end
  pipe:close()
  return list
end

-- The best of several runs of the C host, which prints the time of a launch, and of one with its synchronisation.
local function c_host()
  local launch, both = math.huge, math.huge
  for _ = 1, 3 do
    local pipe = io.popen(os.getenv "MOONWARP_HOME" .. "/bin/embed 2>/dev/null")
    local text = pipe:read "*a"
    pipe:close()
    launch = math.min(launch, tonumber(text:match "prepared launch: ([%d%.]+) us") or math.huge)
    both = math.min(both, tonumber(text:match "synchronisation: ([%d%.]+) us") or math.huge)
  end
  return launch, both
end

local launch, both = c_host()
print "us                 prepared  above C   plain  with sync    a[i]    host[i]   require ms"
print(("%-18s %8.2f %8s %8s %9.2f"):format("C", launch, "", "", both))
for _, name in ipairs { "lua5.4", "luajit+ffi", "luajit+c" } do
  local interpreter, binding = name:match "^([^+]+)%+?(.*)$"
  local all = {}
  for _ = 1, 3 do
    local command = ("MOONWARP_BINDING=%s %s bench/bindings.lua --measure"):format(binding, interpreter)
    for i, number in ipairs(figures(command)) do
      all[i] = math.min(all[i] or math.huge, number)
    end
  end
  if #all == 6 then
    print(("%-18s %8.2f %+8.2f %8.2f %9.2f %8.3f %9.3f %10.2f"):format(name, all[1], all[1] - launch, all[2], all[3],
      all[4], all[5], all[6]))
  end
end
