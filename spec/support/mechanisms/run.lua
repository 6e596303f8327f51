-- Random kernels of a mechanism, started by hand: see fuzz.lua.
--   MOONWARP_BACKGROUND=off lua5.4 spec/support/mechanisms/run.lua NAME FIRST LAST [--ways=own,--width=8] [--print]
package.path = "./spec/?.lua;" .. package.path
local mw = require "moonwarp"
local fuzz = require "support.mechanisms.fuzz"
mw.limit("time", 20)
-- Otherwise the launches would run general code, and code for their block sizes would not be tested.
assert(os.getenv "MOONWARP_BACKGROUND" == "off", "start this with MOONWARP_BACKGROUND=off")

local name, first, last = arg[1], math.tointeger(arg[2]), math.tointeger(arg[3])
local ways, print_all
for i = 4, #arg do
  if arg[i] == "--print" then print_all = true end
  local list = arg[i]:match "^%-%-ways=(.*)"
  if list then
    ways = {}
    for way in list:gmatch "[^,]+" do ways[#ways + 1] = way end
  end
end

local generate = require("support.mechanisms." .. name)
if print_all then
  for seed = first, last do print(fuzz.make(generate, seed).source) end
  os.exit(0)
end

local count = 0
fuzz.each_difference(generate, first, last, ways, function(seed, way, what, case)
  count = count + 1
  print(("seed %d, %s: %s\n%s"):format(seed, way, what, case.source))
  io.stdout:flush()
end)
print(("%s: seeds %d to %d, %d differences"):format(name, first, last, count))
os.exit(count == 0)
