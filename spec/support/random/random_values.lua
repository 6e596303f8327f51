-- Compiles and runs spec/data/random/values.cu, whose kernel prints: a program, as what kernels print goes to output.
--   lua5.4 spec/support/random/random_values.lua

local mw = require "moonwarp"

mw.limit("compile_time", 600) -- one function of many calls, in a compiler with sanitizers too
local file = assert(io.open "spec/data/random/values.cu")
local m = mw.compile(file:read "*a")
file:close()
m.values(1, 1)()
mw.synchronize()
