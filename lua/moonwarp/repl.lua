-- The prompt: `moonwarp`, or require("moonwarp.repl")() in any Lua.
--
-- A line is an expression, whose values are shown, or statements; where it ends in the middle (of a kernel in [[ ]],
-- say) the prompt asks for more. Before the next prompt all work is waited for, so kernels' printf and failures come
-- in their place. Ctrl-C stops a running kernel, or Lua code, and everything else stays as it is.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.error"
local input = require "moonwarp.repl.input"
local results = require "moonwarp.repl.results"

local M = {}

local load_text = rawget(_G, "setfenv") and loadstring or load

-- ---- one input ----

-- A chunk, or nil and what is wrong; nil, nil where there is more to come.
local function compile(text)
  local chunk = load_text("return " .. text, "=stdin") or load_text("return " .. text:gsub("^%s*=", ""), "=stdin")
  if chunk then return chunk end
  local why
  chunk, why = load_text(text, "=stdin")
  if chunk then return chunk end
  if why:find "<eof>" or why:find "near '?<?eof" or why:find "unfinished long" then return nil, nil end
  return nil, raw.part("syntax").explain(text, why)
end

local INTERRUPTED = setmetatable({}, { __tostring = function() return "interrupted" end })

-- Lua code is asked from time to time whether it should stop; kernels are stopped by the library.
local function watch()
  if raw.interrupted() then error(INTERRUPTED, 0) end
end

local function handler(err)
  if type(err) == "string" then return (debug.traceback(err, 2):gsub("\n%s*%[C%]: in function 'xpcall'.*$", "")) end
  return err
end

local function finish(ok, ...)
  debug.sethook()
  return ok, select("#", ...), { ... }
end

-- Run a chunk and wait for what it started.
local function run(chunk)
  raw.interrupted()
  -- LuaJIT's machine code asks nobody: what was typed is interpreted, the functions that it calls are compiled.
  if rawget(_G, "jit") then jit.off(chunk) end
  debug.sethook(watch, "", 10000)
  local ok, count, values = finish(xpcall(chunk, handler))
  local settled, err = pcall(raw.synchronize)
  raw.interrupted()
  io.stdout:flush()
  if not ok then return false, values[1] end
  if not settled then return false, err end
  return true, values, count
end

local function report(err)
  local text = tostring(err)
  if errors.is(err) then text = text:gsub("\nstack traceback:.*$", ""):gsub("\n  %(noticed at [^\n]*%)$", "") end
  io.stderr:write(text, "\n")
  io.stderr:flush()
end

local function show(values, count)
  for i = 1, count do
    local ok, text = pcall(results.text, values[i])
    io.write(ok and text or tostring(text), "\n")
  end
  io.stdout:flush()
end

-- ---- the loop ----

local function evaluate(chunk)
  local ok, values, count = run(chunk)
  if ok then return show(values, count) end
  report(values)
end

local function loop(lines)
  local text
  while true do
    local line, why = lines.read(text and ">> " or "> ")
    if not line then
      if why ~= "interrupted" then return end
      text = nil -- Ctrl-C while typing: what was typed is forgotten
      io.write "\n"
    else
      text = text and text .. "\n" .. line or line
      if not text:find "%S" then
        text = nil
      else
        local chunk, wrong = compile(text)
        if chunk or wrong then
          lines.remember(text)
          text = nil
        end
        if chunk then evaluate(chunk) elseif wrong then report(wrong) end
      end
    end
  end
end

local function banner(lines)
  local mw = require "moonwarp"
  local ok, name = pcall(function() return mw.device().name .. " (" .. mw.properties().name .. ")" end)
  io.write(("moonwarp %s on %s, %s%s\n"):format(mw.version, rawget(_G, "jit") and jit.version or _VERSION,
    ok and name or "no device: " .. tostring(name), lines.editing and "" or "; no line editing: see lua-readline"))
  io.write "mw is moonwarp; kernels check their memory (mw.check_memory); Ctrl-D leaves\n"
end

---A prompt, until the end of the input.
---@param options? { quiet?: boolean }
function M.run(options)
  if rawget(_G, "mw") == nil then rawset(_G, "mw", require "moonwarp") end
  local lines = input.open(results.complete)
  if not (options and options.quiet) then banner(lines) end
  local mw = require "moonwarp"
  local checked = mw.check_memory(true)
  raw.interrupt_watch(true)
  local ok, err = pcall(loop, lines)
  raw.interrupt_watch(false)
  mw.check_memory(checked)
  lines.close()
  if not ok then error(err, 0) end
  io.write "\n"
end

-- ---- the program ----

local usage = [=[
usage: moonwarp [options] [script [arguments]]
  -e code     run code; mw is moonwarp
  -i          a prompt after code or script
  -q          a prompt without a greeting
  -v, --version
  -h, --help
Without script and code: a prompt. The compiler is a command of its own: mwcc --help.]=]

local function run_code(text, name, ...)
  local chunk, why = load_text(text, name)
  if not chunk then
    report(raw.part("syntax").explain(text, why))
    return false
  end
  local arguments, count = { ... }, select("#", ...)
  local unpack = table.unpack or unpack -- luacheck: ignore 143
  local ok, err = xpcall(function() return chunk(unpack(arguments, 1, count)) end, handler)
  if ok then ok, err = pcall(raw.synchronize) end
  if not ok then report(err) end
  return ok
end

local function read_script(path)
  local file, why = io.open(path, "rb")
  if not file then return nil, why end
  local text = file:read "*a"
  file:close()
  return (text:gsub("^#[^\n]*", ""))
end

---The program `moonwarp`; returns its exit status.
---@param arguments string[]
---@return integer
function M.main(arguments)
  local i, prompt, quiet, good, did = 1, false, false, true, false
  while arguments[i] and arguments[i]:find "^%-." do
    local option = arguments[i]
    if option == "-e" then
      i, did = i + 1, true
      rawset(_G, "mw", require "moonwarp")
      good = good and run_code(arguments[i] or "", "=(command line)")
    elseif option == "-i" then
      prompt = true
    elseif option == "-q" then
      quiet = true
    elseif option == "-v" or option == "--version" then
      print("moonwarp " .. raw.version)
      return 0
    else
      local asked = option == "-h" or option == "--help"
      io[asked and "stdout" or "stderr"]:write(usage, "\n")
      return asked and 0 or 1
    end
    i = i + 1
  end
  if arguments[i] then
    did = true
    local text, why = read_script(arguments[i])
    if not text then
      report(why)
      return 1
    end
    local unpack = table.unpack or unpack -- luacheck: ignore 143
    rawset(_G, "arg", { [0] = arguments[i], unpack(arguments, i + 1) })
    good = run_code(text, "@" .. arguments[i], unpack(arguments, i + 1))
  end
  if prompt or not did then M.run { quiet = quiet } end
  return good and 0 or 1
end

return setmetatable(M, { __call = function(_, options) return M.run(options) end })
