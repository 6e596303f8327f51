-- Breakpoints and watchpoints: methods of a session (session.lua).

local expression = require "moonwarp.stepping.expression"
local layout = require "moonwarp.stepping.layout"

local points = {}

local wrong = expression.wrong

local function is_of(site, file, kernel_file)
  if not file then return site.file == kernel_file end
  return site.file == file or site.file:sub(-#file - 1) == "/" .. file
end

-- The line of code at which a location ("12", "vec.h:12", a function's name) is.
function points:resolve(location)
  local file, number = tostring(location):match "^(.+):(%d+)$"
  number = tonumber(number or location)
  local sites, first, last, found = self.recording.sites, nil, nil, nil
  for n = 0, #sites do
    local site = sites[n]
    if not number and site.kind == 11 and site.name == location then
      for m = n + 1, #sites do
        if sites[m].kind == 10 then return sites[m].line, sites[m].file end
      end
    end
    if number and site.kind == 10 and is_of(site, file, self.file) then
      first, last = math.min(first or site.line, site.line), math.max(last or site.line, site.line)
      if site.line >= number and (not found or site.line < found.line) then found = site end
    end
  end
  if found then return found.line, found.file end
  if not number then wrong("there is no function '%s' in this kernel's source", tostring(location)) end
  if not first then wrong("no line of '%s' has code", file or self.file) end
  wrong("no code stands at line %d or after it: the code is in lines %d to %d", number, first, last)
end

function points:add_point(point)
  self.last_point = (self.last_point or 0) + 1
  point.number, point.enabled, point.hits = self.last_point, true, 0
  self.points[#self.points + 1] = point
  return point
end

function points:add_breakpoint(location, condition, once)
  local line, file = self:resolve(location)
  local tree = condition and condition ~= "" and expression.parse(condition) or nil
  return self:add_point { line = line, file = file, condition = condition, tree = tree, once = once }
end

function points:add_watchpoint(text)
  local context = self:context(self.thread, self.level)
  local place = expression.place(context, expression.parse(text))
  if place.type.bytes == 0 then wrong("%s has no size that is known: watch an element of it", text) end
  local _, variable = self:read_variable(context.stack, place.address, place.type.bytes, context.now)
  return self:add_point { watched = text, place = place, variable = variable, block = self:block(),
    owner = variable and self.thread }
end

function points:delete_point(number)
  for i, point in ipairs(self.points) do
    if point.number == number then
      table.remove(self.points, i)
      return
    end
  end
  wrong("there is no breakpoint %s", tostring(number))
end

-- Which lane of an event stops at a breakpoint; nil: none.
function points:lane_stopped(point, event, time)
  local site = self.recording.sites[event.site]
  if not site or site.line ~= point.line or site.file ~= point.file then return nil end
  for _, lane in ipairs(event.lanes) do
    local thread = event.block.threads[32 * event.warp + lane]
    if not point.tree then return thread end
    local at = self.at
    self.at = time -- conditions may name blockIdx
    local ok, value = pcall(function()
      return expression.is_true(expression.evaluate(self:context(thread, 0, time), point.tree))
    end)
    self.at = at
    if not ok and not (type(value) == "table" and value.expression) then error(value, 0) end
    if not ok then return thread, value.expression end
    if value then return thread end
  end
end

-- The changes of a watched variable after (or, back, at or before) a time, the nearest ones.
local function variable_changes(point, from, back)
  local variable, found = point.variable, nil
  local offset, bytes = point.place.address - variable.address, point.place.type.bytes
  for i = 2, #variable.times do
    local before = variable.values[i - 1]:sub(offset + 1, offset + bytes)
    local after = variable.values[i]:sub(offset + 1, offset + bytes)
    local time = variable.times[i]
    if before ~= after then
      local change = { time = time, before = before, after = after, type = point.place.type, name = point.watched,
        thread = point.owner }
      if back and time <= from then found = { change } end
      if not back and time > from then return { change } end
    end
  end
  return found
end

local function memory_changes(self, point, from, back)
  local place = point.place
  local first = self.recording:write_to(point.block, place.address, place.type.bytes, from, back)
  if not first then return nil end
  local changes = {}
  for _, access in ipairs(point.block.accesses) do
    local touches = access.writes and access.time == first.time and access.address < place.address + place.type.bytes
      and place.address < access.address + #access.after
    if touches then
      local type, name, address = place.type, point.watched, place.address
      while type.kind == "array" do -- the element that was written
        local index = math.floor((access.address - address) / type.element.bytes)
        name, address = ("%s[%d]"):format(name, index), address + index * type.element.bytes
        type = type.element
      end
      local at = address - access.address
      local covers = at >= 0 and at + type.bytes <= #access.after
      local before = covers and access.before:sub(at + 1, at + type.bytes) or access.before
      local after = covers and access.after:sub(at + 1, at + type.bytes) or access.after
      if not covers then
        type = { kind = "array", count = #after, bytes = #after, element = layout.scalar "u1", name = "bytes" }
      end
      changes[#changes + 1] = { time = access.time, thread = point.block.threads[access.thread],
        site = self.recording.sites[access.site], before = before, after = after, type = type, name = name }
    end
  end
  return changes
end

function points:changes(point, from, back)
  if not point.watched or not point.enabled then return nil end
  if point.variable then return variable_changes(point, from, back) end
  return memory_changes(self, point, from, back)
end

-- The line at which a thread made a change that its next line, at `time`, finds: in the function that has the variable,
-- which may have called another one there.
function points:line_that_changed(point, thread, time)
  return self.recording:site_in(thread, point.variable.frame, time - 1)
end

return points
