std = "max" -- every Lua: library code has to run on 5.4 and on LuaJIT
max_line_length = 120
files["spec"] = { std = "max+busted" }
