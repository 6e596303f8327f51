-- Solves one problem in a process of its own, for run.lua, and prints milliseconds, the digest of the result, the
-- kernel's tier, and its memory traffic and operations ("-" if they are not defined).

package.path = "./?.lua;" .. package.path
local measure = require "bench.measure"
local problems = require "bench.problems.problems"

local name = arg[1]
local problem = problems.open(name, problems.compile(name))
problem.run()
local sum = problem.digest()
local time = measure.milliseconds(problem.run)
local bytes, operations = problem.bytes or "-", problem.operations() or "-"
print(("%.17g %.17g %s %s %s"):format(time, sum, problem.kernel.tier, bytes, operations))
