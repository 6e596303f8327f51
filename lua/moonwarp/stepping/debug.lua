-- Stepping: mw.debug runs a launch on the CPU device in code that is compiled for it, records what the threads of some
-- blocks do line by line (src/cpu/watch/steps.c), and steps through the recording, forwards and backwards.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

---A recorded launch to step through (mw.debug). Lines are those of the script that has the kernel's text.
---@class moonwarp.debugged
---@field line integer where the current thread is
---@field thread integer[] its x, y and z in the block
---@field block integer[] the block's x, y and z
---@field lanes integer[] the lanes of its warp that are at the beginning of this line, if it is one of them
---@field ended boolean whether the recording's end was reached
---@field failure? table why the launch failed
local debugged = {}

local MOST_BYTES = 2 ^ 26 -- of an array that is kept as it was before the launch

-- ---- the launch ----

-- The bytes of arrays before the launch, for elements that no recorded block touches.
local function keep_arguments(...)
  local kept = {}
  for i = 1, select("#", ...) do
    local argument = select(i, ...)
    if raw.type(argument) == "array" then
      local ok, address, bytes = pcall(function() return argument.address, argument:bytes() end)
      if ok and bytes and #bytes <= MOST_BYTES then kept[#kept + 1] = { address = address, bytes = bytes } end
    end
  end
  return kept
end

local function lines_of(source)
  local lines, n = {}, source and source.line or 1
  local first = n
  for text in ((source and source.text or "") .. "\n"):gmatch "([^\n]*)\n" do
    lines[n] = text
    n = n + 1
  end
  return lines, first, n - 1
end

local function block_number(grid, block)
  local at = type(block) == "table" and block or { block }
  for i, axis in ipairs { "x", "y", "z" } do
    local value = at[i] or 0
    if type(value) ~= "number" or value % 1 ~= 0 or value < 0 or value >= grid[axis] then
      errors.usage("mw.debug: there is no block (%s, %s, %s) in a grid of (%d, %d, %d): blocks are numbered from 0",
        tostring(at[1] or 0), tostring(at[2] or 0), tostring(at[3] or 0), grid.x, grid.y, grid.z)
    end
  end
  return at[1] + grid.x * ((at[2] or 0) + grid.y * (at[3] or 0))
end

local MOST_BLOCKS = 64

local function watcher(grid, options)
  local words = {}
  for _, block in ipairs(options.blocks or { 0 }) do words[#words + 1] = ("%d"):format(block_number(grid, block)) end
  if #words > MOST_BLOCKS then errors.usage("mw.debug records up to %d blocks, not %d", MOST_BLOCKS, #words) end
  if options.most then words[#words + 1] = ("most=%d"):format(options.most) end
  return "steps:" .. table.concat(words, " ")
end

local function run(launch, options, ...)
  local arguments = keep_arguments(...)
  raw.watch_begin(watcher(launch.grid, options))
  local ok, err = pcall(launch, ...)
  raw.watch_end()
  local ran = ok
  if ok then ok, err = pcall(raw.synchronize) end
  local read, text = pcall(raw.watch_result)
  if not ran then error(err, 0) end
  if not read then error(text, 0) end
  local recording = raw.part("stepping.recording").read(text)
  if #recording.events == 0 then
    if not ok then error(err, 0) end
    errors.usage "mw.debug: the launch has recorded nothing"
  end
  local kernel = launch.kernel
  local source = raw.module_sources[kernel.module]
  local lines, first, last = lines_of(source)
  return raw.part("stepping.session").new {
    recording = recording, kernel = kernel.name, file = kernel.file, sizes = launch.block, grid = launch.grid,
    arguments = arguments, source = lines, first_line = first, last_line = last, failure = not ok and err or nil,
  }
end

-- ---- methods ----

local FIELDS = {
  line = function(s)
    local _, site = s:line_of(s.thread)
    return site and site.line
  end,
  file = function(s)
    local _, site = s:line_of(s.thread)
    return site and site.file
  end,
  thread = function(s) return s.thread and s:coordinates(s.sizes, s.thread.number) end,
  block = function(s) return s:coordinates(s.grid, s:block().number) end,
  lanes = function(s) return s.thread and s:state_of(s.thread) == "active" and s:event().lanes or {} end,
  ended = function(s) return s.at == #s.recording.events end,
  failure = function(s) return s.failure end,
}

local sessions = setmetatable({}, { __mode = "k" })

function debugged.__index(d, name)
  if FIELDS[name] then return FIELDS[name](sessions[d]) end
  return debugged[name]
end

-- A session's function as a method: what is wrong is a usage error.
local function guarded(d, f, ...)
  local function finish(ok, ...)
    if ok then return ... end
    local err = ...
    if type(err) == "table" and err.expression then errors.usage("%s", (err.expression:gsub("%%", "%%%%"))) end
    error(err, 0)
  end
  return finish(pcall(f, sessions[d], ...))
end

-- A stop, for scripts.
local function told(d, stop)
  local s = sessions[d]
  local out = { reason = stop.reason, number = stop.point and stop.point.number, line = d.line, file = d.file,
    thread = d.thread, block = d.block }
  for i, change in ipairs(stop.changes or {}) do
    local layout = raw.part "stepping.layout"
    out.changes = out.changes or {}
    out.changes[i] = { name = change.name, thread = s:coordinates(s.sizes, change.thread.number),
      line = change.site and change.site.line, old = layout.text(change.type, change.before),
      new = layout.text(change.type, change.after) }
  end
  return out
end

---Stop where threads reach a line ("12", "header.h:12") or a function, all of them or those for which a condition in C
---is true ("threadIdx.x == 3 && acc > 2").
---@param location integer|string
---@param condition? string
---@return integer number of the breakpoint
function debugged:breakpoint(location, condition)
  return guarded(self, function(s) return s:add_breakpoint(location, condition).number end)
end

---Stop where a variable of the current thread, an element or a whole array is written.
---@param expression string
---@return integer number of the watchpoint
function debugged:watch(expression)
  return guarded(self, function(s) return s:add_watchpoint(expression).number end)
end

---Delete a breakpoint or watchpoint.
---@param number integer
function debugged:delete(number)
  guarded(self, function(s) s:delete_point(number) end)
end

---Continue to the next breakpoint or watched write.
---@return table stop { reason = "breakpoint", "watch" or "end", number =, line =, thread =, block =, changes = }
function debugged:continue() return told(self, guarded(self, function(s) return s:continue_to_stop(false) end)) end

---Continue backwards to the latest breakpoint or watched write.
---@return table stop as debugged:continue's; reason is "start" at the recording's beginning
function debugged:reverse_continue()
  return told(self, guarded(self, function(s) return s:continue_to_stop(true) end))
end

---The thread's next line, into functions.
---@param count? integer
---@return table stop reason is "step", or "left" where the thread has left the kernel
function debugged:step(count) return told(self, guarded(self, function(s) return s:step_thread(count) end)) end

---The thread's next line, over functions.
---@param count? integer
---@return table stop
function debugged:next(count) return told(self, guarded(self, function(s) return s:next_line(count) end)) end

---The next line of any lane of the thread's warp.
---@param count? integer
---@return table stop
function debugged:step_warp(count) return told(self, guarded(self, function(s) return s:step_warp(count) end)) end

---Continue until the function that the thread is in returns.
---@return table stop
function debugged:finish() return told(self, guarded(self, function(s) return s:finish_function() end)) end

---The thread's line before.
---@param count? integer
---@return table stop
function debugged:back(count) return told(self, guarded(self, function(s) return s:step_thread(count, true) end)) end

---Look at another thread of the block, and at another block that was recorded.
---@param where { thread?: integer[], block?: integer[] } coordinates from 0
function debugged:focus(where)
  if type(where) ~= "table" then errors.usage "focus wants { thread = {x, y, z} } or { block = {x, y, z} }" end
  guarded(self, function(s)
    if where.block then s:go_to_block(where.block) end
    if where.thread then s:go_to_thread(where.thread) end
  end)
end

local function lua_value(value)
  local layout = raw.part "stepping.layout"
  local function convert(type, bytes)
    if type.kind == "array" then
      local out = {}
      for i = 1, type.count do
        out[i] = convert(type.element, bytes:sub((i - 1) * type.element.bytes + 1, i * type.element.bytes))
      end
      return out
    elseif type.kind == "struct" then
      local out = {}
      for _, field in ipairs(type.fields) do
        out[field.name] = convert(field.type, bytes:sub(field.offset + 1, field.offset + field.type.bytes))
      end
      return out
    end
    return layout.number(type, bytes)
  end
  if value.number ~= nil then return value.number end
  return value.bytes and convert(value.type, value.bytes) or {}
end

---The value of a C expression without assignments ("acc", "tile[threadIdx.x + 1]", "p.pos.x", "x[0]@8") for the
---current thread: a number, a boolean, or a table of members by name or of elements from 1 on.
---@param expression string
---@return number|boolean|table
function debugged:value(expression)
  return guarded(self, function(s) return lua_value(s:evaluate(expression)) end)
end

---Run a command of the prompt, such as "print acc" or "info lanes".
---@param command string
---@return string what the prompt would print
function debugged:command(command)
  return guarded(self, function(s) return raw.part("stepping.commands").run(s, command) end)
end

---A prompt for commands, until quit or the input's end; mw.debug opens it itself at moonwarp's prompt.
function debugged:interact() raw.part("stepping.prompt").run(sessions[self]) end

function debugged:__tostring()
  local s = sessions[self]
  local blocks = #s.recording.order
  local place = raw.part("stepping.commands").place_text(s, ""):gsub("\n", ": ")
  return ("recorded launch of %s: %d lines of warps in %d %s; %s"):format(s.kernel, #s.recording.events - blocks,
    blocks, blocks == 1 and "block" or "blocks", place)
end

---Run a launch on the CPU device and step through it: mw.debug(kernel, grid, block[, shared[, options]])(arguments …)
---records what the threads of some blocks do, line by line. The object that it returns moves to breakpoints and lines,
---also backwards, and has the variables of any thread. At moonwarp's prompt a prompt for commands opens:
---help lists them.
---@param kernel moonwarp.kernel
---@param grid integer|integer[]
---@param block integer|integer[]
---@param shared? integer bytes of dynamic shared memory
---@param options? { blocks?: table, most?: integer } the blocks to record, as {x, y, z} or x from 0, up to 64 (default:
---the first one); the number of entries that the recording may have (default 400000)
---@return fun(...): moonwarp.debugged
function M.debug(kernel, grid, block, shared, options)
  options = options or {}
  if type(options) ~= "table" then errors.usage("mw.debug: options are a table, got %s", type(options)) end
  local launch = shared and kernel(grid, block, shared) or kernel(grid, block)
  watcher(launch.grid, options)
  return function(...)
    local d = setmetatable({}, debugged)
    sessions[d] = run(launch, options, ...)
    if raw.prompt then d:interact() end
    return d
  end
end

M.public = { debug = M.debug }
return M
