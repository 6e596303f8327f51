-- Runs busted on the interpreter that runs this file: /usr/bin/busted would pick one of its own.
--   lua5.4 spec/support/run.lua [busted's options] [files or folders]
--
-- Specs are written in Lua 5.4 and run on LuaJIT as well (support/luajit.lua). One that tells nothing about the
-- binding, being about the compiler or device headers, has a line that begins with "-- Lua 5.4 only:"; LuaJIT leaves
-- it out. In the same way "-- CPU device only:" and the reason leave a spec out with MOONWARP_DEVICE=cuda.

local jit = rawget(_G, "jit")
local on_gpu = (os.getenv "MOONWARP_DEVICE" or ""):match "^cuda" ~= nil

if not jit and not on_gpu then
  require "busted.runner"({ standalone = false })
  return
end

package.path = "./spec/?.lua;" .. package.path
if jit then require("support.luajit").install() end

local function is_left_out(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return jit and text:find("\n%-%- Lua 5%.4 only: ") ~= nil or on_gpu and text:find("\n%-%- CPU device only: ") ~= nil
end

-- Folders among the arguments become the specs in them that are for LuaJIT.
local arguments, left_out, left = {}, 0, 0
for i = 1, #arg do
  local found = false
  if not arg[i]:find("%.lua$") and not arg[i]:find("^%-") and arg[i - 1] ~= "--filter" then
    for path in io.popen(("ls '%s'/*_spec.lua 2>/dev/null"):format(arg[i])):lines() do
      found = true
      if is_left_out(path) then left_out = left_out + 1 else arguments[#arguments + 1], left = path, left + 1 end
    end
  elseif arg[i]:find("_spec%.lua$") and is_left_out(arg[i]) then
    found, left_out = true, left_out + 1
  elseif arg[i]:find("_spec%.lua$") then
    left = left + 1
  end
  if not found then arguments[#arguments + 1] = arg[i] end
end
if left_out > 0 and left == 0 then
  print("nothing here for " .. (jit and "LuaJIT" or "a GPU"))
  os.exit(0)
end
for i = #arg, 1, -1 do arg[i] = nil end
for i, word in ipairs(arguments) do arg[i] = word end

require "busted.runner"({ standalone = false })
