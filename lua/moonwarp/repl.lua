-- The prompt: `moonwarp`, or require("moonwarp.repl")() in any Lua.
--
-- An input is an expression, whose values are shown, or statements. If it is incomplete (in the middle of a kernel in
-- [[ ]], for instance) the prompt reads more lines. Before the next prompt all work is waited for, so that kernels'
-- output and failures appear after the input that caused them. Ctrl-C stops a running kernel or Lua code, and nothing
-- else.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local chunks = require "moonwarp.repl.chunk"
local help = require "moonwarp.repl.help"
local input = require "moonwarp.repl.input"
local progress = require "moonwarp.repl.progress"
local results = require "moonwarp.repl.results"
local timing = require "moonwarp.repl.timing"
local trace = require "moonwarp.repl.trace"

local M = {}

local load_text = rawget(_G, "setfenv") and loadstring or load

-- ---- running ----

local INTERRUPTED = setmetatable({}, { __tostring = function() return "interrupted" end })

-- quit and exit: naming one leaves the prompt, as calling it does.
local LEAVE = setmetatable({}, { __call = function(self) error(self, 0) end })

-- A hook checks from time to time whether to stop Lua code; the library stops kernels.
local function watch()
  if raw.interrupted() then error(INTERRUPTED, 0) end
end

local function finish(ok, ...)
  debug.sethook()
  return ok, select("#", ...), { ... }
end

local tells = false -- whether progress of long work is shown

-- Run a chunk and wait for the work that it started.
local function run(chunk)
  local told = tells and progress.begin() or function() end
  raw.interrupted()
  debug.sethook(watch, "", 10000)
  local ok, count, values = finish(xpcall(chunk, trace.handler))
  local settled, err = pcall(raw.synchronize)
  told()
  raw.interrupted()
  io.stdout:flush()
  if not ok then return false, values[1] end
  if not settled then return false, err end
  return true, values, count
end

local function report(err)
  io.stderr:write(trace.text(err), "\n")
  io.stderr:flush()
end

local function show(values, count)
  for i = 1, count do
    local ok, text = pcall(results.text, values[i])
    io.write(ok and text or tostring(text), "\n")
  end
  io.stdout:flush()
end

-- ---- one input ----

local NOTABLE = 0.005 -- seconds of compiling from which they are reported, so that they are not taken for a kernel's

local function tell_compiling(seconds)
  if seconds < NOTABLE then return end
  local text = ("(compiled in %s; from the cache the next time)"):format(timing.duration(seconds))
  io.write(input.dim(text), "\n")
  io.stdout:flush()
end

-- Run one input; returns true if it is the last one.
local function evaluate(chunk)
  local compiled = raw.compile_seconds()
  local ok, values, count = run(chunk)
  if not ok and values == LEAVE or ok and count > 0 and values[1] == LEAVE then return true end
  if ok then show(values, count) else report(values) end
  if ok then tell_compiling(raw.compile_seconds() - compiled) end
  return false
end

-- time(f): a text that says how long f takes.
local TIME = setmetatable({}, {
  __call = function(_, f)
    if type(f) ~= "function" and raw.type(f) ~= "bound" then
      errors.usage("time wants a function; time(expression) is an input of its own, as %%time expression is")
    end
    return timing.tell(f)
  end,
  __tostring = function() return "time(expression): how long it takes, the first time and then; it runs often" end,
})

-- Time an expression, or the function that it returns.
local function time(chunk)
  local given
  local words = timing.tell(function()
    local value = chunk()
    if type(value) == "function" or raw.type(value) == "bound" then given = value end
  end)
  if given then words = timing.tell(given) end
  io.write(words, "\n")
  if require("moonwarp").check_memory() then
    io.write(input.dim "(kernels check their memory here, which takes longer: mw.check_memory(false))", "\n")
  end
end

-- Inputs that are not Lua: ?x for help(x), time(x) and %time x, which run x repeatedly, and :check x. Returns a chunk,
-- or nil and the error.
local function compile(text, number)
  local about = text:match "^%s*%?%s*(.-)%s*$"
  if about then return chunks.compile(("help(%s)"):format(about), number) end
  local checked = text:match "^%s*:check%s+(.*)$"
  if checked then
    local chunk, wrong = chunks.compile(checked, number)
    if not chunk then return nil, wrong end
    return function() io.write(tostring(require("moonwarp").check(chunk)), "\n") end
  end
  local timed = text:match "^%s*%%time%s+(.*)$"
  if not timed and rawget(_G, "time") == TIME then timed = text:match "^%s*time%s*(%b())%s*$" end
  if not timed then return chunks.compile(text, number) end
  local chunk, wrong = chunks.compile(timed, number)
  if not chunk then return nil, wrong end
  return function() time(chunk) end
end

-- ---- the loop ----

local function loop(lines)
  local text
  local number = 1

  -- Add a line; true if it was the last one.
  local function take(line)
    text = text and text .. "\n" .. line or line
    if not text:find "%S" then
      text = nil
      return false
    end
    local chunk, wrong = compile(text, number)
    if not chunk and not wrong then return false end
    lines.remember(text)
    text, number = nil, number + 1
    if chunk then return evaluate(chunk) end
    report(wrong)
    return false
  end

  while true do
    local prompt = ("[%d]> "):format(number)
    local line, why = lines.read(text and (" "):rep(#prompt - 3) .. ">> " or prompt)
    if line then
      -- Pasted text may arrive as one line with line breaks in it.
      for part in (line .. "\n"):gmatch "(.-)\n" do
        if take(part) then return end
      end
    elseif why == "interrupted" then
      text = nil -- Ctrl-C while typing discards the input
      io.write "\n"
    elseif text then -- the end of the input in the middle of a chunk
      local _, _, missing = chunks.compile(text, number)
      text = nil
      io.write "\n"
      report(missing)
      if not lines.terminal then return end
    else
      io.write "\n"
      return
    end
  end
end

-- ---- the prompt ----

local function banner(lines)
  local mw = require "moonwarp"
  local ok, name = pcall(function() return mw.device().name .. " (" .. mw.properties().name .. ")" end)
  io.write(("moonwarp %s on %s, %s%s\n"):format(mw.version, rawget(_G, "jit") and jit.version or _VERSION,
    ok and name or "no device: " .. tostring(name), lines.editing and "" or "; no line editing: see lua-readline"))
  io.write "mw is moonwarp; kernels check their memory (mw.check_memory); help says more, quit or Ctrl-D leaves\n"
end

-- If a script defines a variable of the same name, the script's is used.
local function define(names)
  local defined = {}
  for name, value in pairs(names) do
    if rawget(_G, name) == nil then
      rawset(_G, name, value)
      defined[name] = value
    end
  end
  return function()
    for name, value in pairs(defined) do
      if rawget(_G, name) == value then rawset(_G, name, nil) end
    end
  end
end

---Run a prompt until the end of the input.
---@param options? { quiet?: boolean }
function M.run(options)
  if rawget(_G, "mw") == nil then rawset(_G, "mw", require "moonwarp") end
  local mw = require "moonwarp"
  local lines = input.open(results.complete)
  tells = input.replaces_lines()
  raw.prompt = lines -- mw.debug asks for commands there
  local forget = define { help = help, time = TIME, quit = LEAVE, exit = LEAVE }
  if not (options and options.quiet) then banner(lines) end
  local checked = mw.check_memory(true)
  raw.interrupt_watch(true)
  local ok, err = pcall(loop, lines)
  raw.interrupt_watch(false)
  raw.prompt = nil
  mw.check_memory(checked)
  forget()
  lines.close()
  if not ok then error(err, 0) end
end

-- ---- the program ----

local usage = [=[
usage: moonwarp [options] [script [arguments]]
       moonwarp learn           lessons in writing kernels; moonwarp learn --help tells more
       moonwarp run -n 4 script.lua   a script in several processes, by MPI
  -e code     run code; mw is moonwarp
  --check     check every launch of the script (mw.check), and report at its end what is wrong
  -i          a prompt after code or script
  -q          a prompt without a greeting
  -v, --version
  -h, --help
Without script and code: a prompt. The compiler is a command of its own: mwcc --help.]=]

local function run_code(text, name, ...)
  local chunk, why = load_text(text, name)
  if not chunk then
    report(raw.part("diagnostics.syntax").explain(text, why))
    return false
  end
  local arguments, count = { ... }, select("#", ...)
  local unpack = table.unpack or unpack -- luacheck: ignore 143
  local ok, err = xpcall(function() return chunk(unpack(arguments, 1, count)) end, trace.handler)
  if ok then ok, err = pcall(raw.synchronize) end
  if not ok then report(err) end
  return ok
end

-- Run a script as a checked run; what it found is written to stderr, and counts as a failure.
local function run_checked(...)
  local good
  local arguments, count = { ... }, select("#", ...)
  local unpack = table.unpack or unpack -- luacheck: ignore 143
  local found = require("moonwarp").check(function() good = run_code(unpack(arguments, 1, count)) end)
  io.stdout:flush()
  io.stderr:write(tostring(found), "\n")
  return good and #found == 0
end

local function read_script(path)
  local file, why = io.open(path, "rb")
  if not file then return nil, why end
  local text = file:read "*a"
  file:close()
  return (text:gsub("^#[^\n]*", ""))
end

---Run the program `moonwarp`; returns its exit status.
---@param arguments string[]
---@return integer
function M.main(arguments)
  if arguments[1] == "learn" then
    local unpack = table.unpack or unpack -- luacheck: ignore 143
    return require "moonwarp.learn".main { unpack(arguments, 2) }
  end
  if arguments[1] == "run" then
    local unpack = table.unpack or unpack -- luacheck: ignore 143
    return require "moonwarp.mpi.run".main { unpack(arguments, 2) }
  end
  local i, prompt, quiet, good, did, run_script = 1, false, false, true, false, run_code
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
    elseif option == "--check" then
      run_script = run_checked
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
    good = run_script(text, "@" .. arguments[i], unpack(arguments, i + 1))
  end
  if prompt or not did then M.run { quiet = quiet } end
  return good and 0 or 1
end

return setmetatable(M, { __call = function(_, options) return M.run(options) end })
