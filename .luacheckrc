std = "max" -- every Lua: library code has to run on 5.4 and on LuaJIT
max_line_length = 120
files["spec"] = { std = "max+busted" }
-- They make LuaJIT's libraries what Lua 5.4's are, and LuaJIT's arguments busted's.
files["spec/support/luajit.lua"] = { ignore = { "122", "131" } }
files["spec/lua/repl_spec.lua"] = { ignore = { "613" } } -- prompts end in a space
files["spec/support/run.lua"] = { ignore = { "122" } }
files["lua/moonwarp/random/joe_kuo.lua"] = { max_line_length = false }
files["spec/data"] = { max_line_length = false } -- tables that scripts write
