-- The kernels that are named, each with its time: a process of scaling.lua.

package.path = "./?.lua;" .. package.path
local measure = require "bench.measure"
local problems = require "bench.problems"

for _, name in ipairs(arg) do
  local problem = problems.open(name, problems.compile(name))
  print(name .. " " .. measure.milliseconds(problem.run))
  collectgarbage()
end
