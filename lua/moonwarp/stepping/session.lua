-- A session of stepping: where it is in a recording, which thread it looks at, and how it moves, in both directions.
-- What is wrong with an argument is raised as { expression = sentence } (expression.lua); mw.debug's methods make usage
-- errors of that, and its prompt text.

local expression = require "moonwarp.stepping.expression"
local layout = require "moonwarp.stepping.layout"
local points = require "moonwarp.stepping.breakpoints"

local M = {}
local session = {}
session.__index = session
M.class = session

local wrong = expression.wrong

for name, f in pairs(points) do session[name] = f end

-- ---- threads, by coordinates ----

function session.linear(_, sizes, x, y, z) return x + sizes.x * (y + sizes.y * z) end

function session.coordinates(_, sizes, number)
  return { number % sizes.x, math.floor(number / sizes.x) % sizes.y, math.floor(number / (sizes.x * sizes.y)) }
end

function session:thread_count() return self.sizes.x * self.sizes.y * self.sizes.z end

-- The numbers x, y, z within sizes as one.
function session:number_in(what, sizes, at)
  local names = { "x", "y", "z" }
  if type(at) ~= "table" then wrong("a %s is {x, y, z}, with numbers from 0, not %s", what, tostring(at)) end
  for i, name in ipairs(names) do
    local value = at[i] or 0
    if type(value) ~= "number" or value < 0 or value >= sizes[name] or value % 1 ~= 0 then
      wrong("there is no %s (%s,%s,%s): %s goes from 0 to %d", what, tostring(at[1] or 0), tostring(at[2] or 0),
        tostring(at[3] or 0), name, sizes[name] - 1)
    end
  end
  return self:linear(sizes, at[1] or 0, at[2] or 0, at[3] or 0)
end

-- ---- where it is ----

function session:event() return self.recording.events[self.at] end

function session:block() return self:event().block end

-- "active": at the beginning of a line now; "waiting": at an earlier one; "new": not begun; "left".
function session:state_of(thread, time)
  time = time or self.at
  if not thread or self.recording:position(thread, time) == 0 then return "new" end
  local outermost, event = thread.frames[1], self.recording.events[time]
  if outermost and outermost.leave and time >= outermost.leave then return "left" end
  if event.warp == math.floor(thread.number / 32) then
    for _, lane in ipairs(event.lanes) do
      if lane == thread.number % 32 then return "active" end
    end
  end
  return "waiting"
end

-- The time and the site of a thread's latest line; nil: it has not begun.
function session:line_of(thread, time)
  local at = thread and self.recording:position(thread, time or self.at) or 0
  if at == 0 then return nil end
  return thread.times[at], self.recording.sites[thread.sites[at]]
end

function session:look_at(thread)
  if self.thread ~= thread then self.level = 0 end
  self.thread = thread
end

function session:focus_on_event()
  local event = self:event()
  if self.thread and self.thread.block == event.block and self:state_of(self.thread) == "active" then return end
  local number = event.lanes[1] and 32 * event.warp + event.lanes[1] or nil
  local thread = number and event.block.threads[number]
  if thread then self:look_at(thread) end
end

---Go to a thread of the block, or to a block.
function session:go_to_thread(at)
  local number = self:number_in("thread", self.sizes, at)
  local thread = self:block().threads[number]
  if not thread then wrong("thread (%s) was not recorded", table.concat(at, ",")) end
  self:look_at(thread)
end

function session:go_to_block(at)
  local number = self:number_in("block", self.grid, at)
  local block = self.recording.blocks[number]
  if not block then
    local list = {}
    for _, other in ipairs(self.recording.order) do
      list[#list + 1] = "(" .. table.concat(self:coordinates(self.grid, other), ",") .. ")"
    end
    wrong("block (%s) was not recorded, but %s: name it in mw.debug's option blocks",
      table.concat(self:coordinates(self.grid, number), ","), table.concat(list, " "))
  end
  if block ~= self:block() then
    self.at = block.first
    self.thread = nil
    self:focus_on_event()
  end
end

-- ---- values ----

local DIM3 = { kind = "struct", name = "dim3", bytes = 12, fields = {} }
for i, name in ipairs { "x", "y", "z" } do
  DIM3.fields[i] = { name = name, offset = 4 * i - 4, type = layout.scalar "u4" }
end

local function dim3(x, y, z)
  local out = {}
  for _, value in ipairs { x, y, z } do
    for _ = 1, 4 do
      out[#out + 1] = string.char(value % 256)
      value = math.floor(value / 256)
    end
  end
  return { type = DIM3, bytes = table.concat(out) }
end

function session:built_in(name, thread)
  local unpack = table.unpack or unpack -- luacheck: ignore 143
  if name == "threadIdx" then return dim3(unpack(self:coordinates(self.sizes, thread.number))) end
  if name == "blockIdx" then return dim3(unpack(self:coordinates(self.grid, self:block().number))) end
  if name == "blockDim" then return dim3(self.sizes.x, self.sizes.y, self.sizes.z) end
  if name == "gridDim" then return dim3(self.grid.x, self.grid.y, self.grid.z) end
  if name == "warpSize" then return { type = layout.scalar "i4", number = 32 } end
  if name == "$lane" then return { type = layout.scalar "i4", number = thread.number % 32 } end
  if name == "$warp" then return { type = layout.scalar "i4", number = math.floor(thread.number / 32) } end
end

-- The variables in scope where a thread is, in the function `level` calls up: { { name =, site =, place = or nil } },
-- innermost first.
function session:visible(thread, level, time)
  local recording = self.recording
  local now, site = self:line_of(thread, time)
  if not now then wrong "the thread has not begun here" end
  local stack = recording:stack(thread, now)
  local frame, out = stack[level + 1], {}
  if level > 0 then site = frame and recording:site_in(thread, frame, now) end
  for _, number in ipairs(site and site.visible or {}) do
    local declared = recording.sites[number]
    local found = { name = declared.name, site = declared, line = site.line }
    local address
    if declared.is_local then
      local variable = frame and frame.variables[number]
      if variable and variable.declared <= now then address = variable.address end
    else
      address = self:block().globals[number]
    end
    if address then found.place = { type = declared.type, address = address, is_shared = declared.is_shared } end
    out[#out + 1] = found
  end
  return out, now, stack
end

-- A byte that no recorded access touches: as it was in the launch's arguments before it ran.
function session:initial_byte(address)
  for _, argument in ipairs(self.arguments) do
    local at = address - argument.address
    if at >= 0 and at < #argument.bytes then return argument.bytes:sub(at + 1, at + 1) end
  end
end

function session:read_variable(stack, address, count, now)
  for _, frame in ipairs(stack) do
    for _, variable in pairs(frame.variables) do
      local bytes = self.recording.sites[variable.site].type.bytes
      if address >= variable.address and address + count <= variable.address + bytes then
        local value = self.recording:variable_bytes(variable, now)
        return value and value:sub(address - variable.address + 1, address - variable.address + count), variable
      end
    end
  end
end

-- What expression.lua asks for names and memory, for a thread at a time.
function session:context(thread, level, time)
  time = time or self.at
  if not thread then wrong "no thread is looked at" end
  local visible, now, stack = self:visible(thread, level or 0, time)
  local context = { now = now, stack = stack }
  function context.find(name)
    local late
    for _, variable in ipairs(visible) do
      if variable.name == name and variable.place then return variable.place end
      if variable.name == name then late = { missing = ("%s is declared further on"):format(name) } end
    end
    if late then return late end
    for number, address in pairs(self:block().globals) do
      local site = self.recording.sites[number]
      if site.name == name then return { type = site.type, address = address } end
    end
    return self:built_in(name, thread)
  end
  function context.read(address, count)
    local bytes = self:read_variable(stack, address, count, now)
    bytes = bytes or self.recording:memory(self:block(), address, count, time, function(at)
      return self:initial_byte(at)
    end)
    if bytes then return bytes end
    local thread_text = "thread (" .. table.concat(self:coordinates(self.sizes, thread.number), ",") .. ")"
    wrong("the value at 0x%x is not known for %s: no recorded block accesses it", address, thread_text)
  end
  return context
end

---The value of an expression for the thread that is looked at, or another.
function session:evaluate(text, thread, level)
  local context = self:context(thread or self.thread, level or self.level)
  return expression.evaluate(context, expression.parse(text))
end

-- ---- moving ----

local function remove_once(self, point)
  point.hits = point.hits + 1
  if point.once then self:delete_point(point.number) end
end

-- The nearest change of something watched: its point, and what changed.
function session:nearest_change(back)
  local best, best_changes
  for _, point in ipairs(self.points) do
    local changes = self:changes(point, self.at, back)
    local nearer = changes and (not best or (changes[1].time < best_changes[1].time) ~= back)
    if nearer then best, best_changes = point, changes end
  end
  return best, best_changes
end

function session:stop_at_change(point, changes, back)
  self.at = back and math.max(changes[1].time - 1, 1) or changes[1].time
  point.hits = point.hits + 1
  self.level = 0
  self:look_at(changes[1].thread)
  for _, change in ipairs(changes) do
    change.site = change.site or self:line_that_changed(point, change.thread, change.time)
  end
  return { reason = "watch", point = point, changes = changes }
end

---Go on, or back, to the next breakpoint or watched change.
function session:continue_to_stop(back)
  local events, step = self.recording.events, back and -1 or 1
  local point, changes = self:nearest_change(back or false)
  local changed = changes and changes[1].time or nil
  local time = self.at + step
  if back and changed == self.at then return self:stop_at_change(point, changes, true) end
  while events[time] do
    if changed == time and not back then return self:stop_at_change(point, changes, false) end
    for _, other in ipairs(self.points) do
      if other.line and other.enabled then
        local thread, note = self:lane_stopped(other, events[time], time)
        if thread then
          self.at, self.level = time, 0
          self:look_at(thread)
          remove_once(self, other)
          return { reason = "breakpoint", point = other, note = note }
        end
      end
    end
    if changed == time and back then return self:stop_at_change(point, changes, true) end
    time = time + step
  end
  self.at, self.level = back and 1 or #events, 0
  self:focus_on_event()
  return { reason = back and "start" or "end" }
end

local function depth_at(self, thread, time) return #self.recording:stack(thread, time) end

-- Move the thread that is looked at to its next line, or back to the one before, as far as `accepts` (a depth) says.
local function move_thread(self, back, accepts)
  local thread = self.thread
  if not thread then wrong "no thread is looked at" end
  local at = self.recording:position(thread, self.at)
  if back and self:state_of(thread) == "left" then at = at + 1 end
  at = at + (back and -1 or 1)
  while thread.times[at] and at >= 1 and not accepts(depth_at(self, thread, thread.times[at])) do
    at = at + (back and -1 or 1)
  end
  self.level = 0
  if at < 1 then
    self.at = thread.times[1]
    return { reason = "start" }
  end
  if thread.times[at] then
    self.at = thread.times[at]
    return { reason = "step" }
  end
  local outermost = thread.frames[1]
  self.at = math.max(self.at, outermost and outermost.leave or self:block().last)
  return { reason = "left" }
end

local function repeatedly(count, move)
  local stop
  if count ~= nil and (type(count) ~= "number" or count < 1 or count % 1 ~= 0) then
    wrong("the number of steps is a positive integer, not %s", tostring(count))
  end
  for _ = 1, count or 1 do
    stop = move()
    if stop.reason ~= "step" then break end
  end
  return stop
end

function session:step_thread(count, back)
  return repeatedly(count, function() return move_thread(self, back, function() return true end) end)
end

function session:next_line(count, back)
  return repeatedly(count, function()
    local now = self:line_of(self.thread)
    local depth = now and depth_at(self, self.thread, now) or 1
    return move_thread(self, back, function(other) return other <= depth end)
  end)
end

function session:finish_function()
  local now = self:line_of(self.thread)
  local depth = now and depth_at(self, self.thread, now) or 1
  if depth <= 1 then wrong "finish goes to the caller, and the kernel has none: continue goes to the kernel's end" end
  return move_thread(self, false, function(other) return other < depth end)
end

---The warp's next line, whichever of its lanes are there.
function session:step_warp(count, back)
  local warp = self.thread and math.floor(self.thread.number / 32) or 0
  return repeatedly(count, function()
    local time = self.at + (back and -1 or 1)
    local block = self:block()
    while time >= block.first and time <= block.last and self.recording.events[time].warp ~= warp do
      time = time + (back and -1 or 1)
    end
    self.level = 0
    if time < block.first or time > block.last then
      self.at = back and self.at or block.last
      return { reason = back and "start" or "left" }
    end
    self.at = time
    self:focus_on_event()
    return { reason = "step" }
  end)
end

---A session at the beginning of a recording.
function M.new(fields)
  local self = setmetatable(fields, session)
  self.at, self.level, self.points, self.displays = 1, 0, {}, {}
  for _, block in pairs(self.recording.blocks) do
    for _, thread in pairs(block.threads) do thread.block = block end
  end
  self:focus_on_event()
  return self
end

return M
