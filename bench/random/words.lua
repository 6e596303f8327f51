-- A generator's words without end, as bytes on standard output, for test programs that read a stream:
--   luajit bench/random/words.lua KIND [SEED] | dieharder -g 200 -a

local mw = require "moonwarp"

local g = mw.random(tonumber(arg[2]) or 1, arg[1])
local words = mw.zeros(2 ^ 20, "uint")
while io.stdout:write(g:bits(nil, { out = words }):bytes()) do end
