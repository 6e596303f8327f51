-- Runs scripts in a process of their own: for failures that must not end the specs' process, and for effects that are
-- only visible from outside.
--   local run = require "support.child"
--   local result = run(text, "argument", …)
--   result: { output = standard output and error, ok = exit status 0, how = "exit" or "signal", code = number }
--   run { text, "argument", …, environment = { NAME = "value" }, seconds = n, launcher = "mpirun -n 2" }
--   seconds: ended after so many; launcher: the command that starts the interpreter

-- The folder of specs, for child processes to require what the specs require.
local folder = assert(debug.getinfo(1, "S").source:match("^@(.*)support/child%.lua$"))

-- The same interpreter as the suite's; LuaJIT reads the script as it reads the specs.
local interpreter = arg[-1]
local prelude = ("package.path = %q .. package.path "):format(folder .. "?.lua;")
if rawget(_G, "jit") then prelude = prelude .. 'require("support.luajit").install()' end

local function translated(text)
  if not rawget(_G, "jit") then return text end
  return require("support.luajit").translate(text)
end

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

return function(spec, ...)
  if type(spec) == "string" then spec = { spec, ... } end
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(prelude, "\n", translated(spec[1]))
  file:close()
  local words = {}
  for name, value in pairs(spec.environment or {}) do words[#words + 1] = name .. "=" .. quote(tostring(value)) end
  local limit = spec.seconds and "timeout " .. spec.seconds .. " " or ""
  if spec.launcher then limit = limit .. spec.launcher .. " " end
  words[#words + 1] = "exec " .. limit .. interpreter .. " " .. path -- exec: a signal that ends it is seen as one
  for i = 2, #spec do words[#words + 1] = quote(tostring(spec[i])) end
  local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1"))
  local output = pipe:read("*a")
  local ok, how, code = pipe:close()
  os.remove(path)
  return { output = output, ok = ok == true, how = how, code = code }
end
