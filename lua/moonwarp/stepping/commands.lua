-- The commands of a session, by gdb's and cuda-gdb's names, and what they print.

local expression = require "moonwarp.stepping.expression"

local M = {}

local wrong = expression.wrong

-- ---- words ----

local function tuple(at) return "(" .. table.concat(at, ",") .. ")" end

local function thread_text(s, thread) return "thread " .. tuple(s:coordinates(s.sizes, thread.number)) end
local function block_text(s) return "block " .. tuple(s:coordinates(s.grid, s:block().number)) end

-- "0-3, 8, 10-11"
local function ranges(numbers)
  local out, i = {}, 1
  while i <= #numbers do
    local last = i
    while numbers[last + 1] == numbers[last] + 1 do last = last + 1 end
    out[#out + 1] = last == i and ("%d"):format(numbers[i]) or ("%d-%d"):format(numbers[i], numbers[last])
    i = last + 1
  end
  return table.concat(out, ", ")
end

local function source_line(s, site)
  local text = site.file == s.file and s.source[site.line]
  return text and ("%d\t%s"):format(site.line, text) or ("%s:%d"):format(site.file, site.line)
end

local function lanes_text(event)
  if #event.lanes == 0 then return "" end
  return (", lanes %s of warp %d"):format(ranges(event.lanes), event.warp)
end

-- Where the session is, in two lines.
local function place_text(s, before)
  local event, thread = s:event(), s.thread
  local _, site = s:line_of(thread)
  if not site then return before .. block_text(s) .. ", " .. thread_text(s, thread) .. " has not begun here" end
  local stack = s.recording:stack(thread, (s:line_of(thread)))
  local name = stack[1] and s.recording.sites[stack[1].site].name or s.kernel
  local lanes = s:state_of(thread) == "active" and lanes_text(event) or ""
  local lines = { ("%s%s at line %d, %s, %s%s"):format(before, name, site.line, block_text(s), thread_text(s, thread),
    lanes), source_line(s, site) }
  return table.concat(lines, "\n")
end

local function change_text(s, point, change)
  local layout = require "moonwarp.stepping.layout"
  local where = change.site and (" at line %d"):format(change.site.line) or ""
  local before, after = layout.text(change.type, change.before), layout.text(change.type, change.after)
  return ("Watchpoint %d: %s, written by %s%s\nOld value = %s\nNew value = %s"):format(point.number, change.name,
    thread_text(s, change.thread), where, before, after)
end

local function end_text(s)
  local lines = {}
  if s.failure then
    lines[1] = "The launch failed: " .. tostring(s.failure)
  elseif s.recording.full then
    lines[1] = ("The record is full: it has %d entries (mw.debug's option most), and ends here."):format(
      s.recording.full)
  else
    lines[1] = "The recorded blocks have ended."
  end
  lines[2] = "back goes to the last line of the thread, reverse-continue to the latest stop."
  return table.concat(lines, "\n")
end

local MOST_CHANGES = 4

-- What a movement ended with.
function M.stop_text(s, stop)
  local text
  if stop.reason == "end" then
    text = end_text(s)
  elseif stop.reason == "left" then
    text = thread_text(s, s.thread) .. " has left the kernel."
    if s:event().is_end and (s.failure or s.recording.full) then text = end_text(s) end
  elseif stop.reason == "start" then
    text = place_text(s, "No earlier line is recorded: ")
  elseif stop.reason == "watch" then
    local lines = {}
    for i, change in ipairs(stop.changes) do
      if i <= MOST_CHANGES then lines[i] = change_text(s, stop.point, change) end
    end
    if #stop.changes > MOST_CHANGES then
      lines[#lines + 1] = ("and %d more writes before the warp's next line"):format(#stop.changes - MOST_CHANGES)
    end
    text = table.concat(lines, "\n") .. "\n" .. place_text(s, "")
  elseif stop.reason == "breakpoint" then
    text = place_text(s, ("Breakpoint %d, "):format(stop.point.number))
    if stop.note then text = text .. "\n(its condition has no value here: " .. stop.note .. ")" end
  else
    text = place_text(s, "")
  end
  for _, shown in ipairs(s.displays) do
    local ok, value = pcall(s.evaluate, s, shown)
    if ok then text = ("%s\n%s = %s"):format(text, shown, expression.text(value)) end
  end
  return text
end

-- ---- commands ----

-- In the order of help: names, arguments, what it does.
local list, by_name = {}, {}

local function command(names, arguments, what, f)
  local entry = { names = names, arguments = arguments, what = what, run = f }
  list[#list + 1] = entry
  for _, name in ipairs(names) do by_name[name] = entry end
end

local function count_of(text, name)
  if text == "" then return 1 end
  local count = tonumber(text)
  if not count or count < 1 or count % 1 ~= 0 then wrong("%s takes a number of times, not '%s'", name, text) end
  return count
end

local function break_command(once)
  return function(s, text)
    local location, condition = text:match "^(.-)%s+if%s+(.*)$"
    location = location or text
    if location == "" then
      local _, site = s:line_of(s.thread)
      location = site.file == s.file and tostring(site.line) or site.file .. ":" .. site.line
    end
    local point = s:add_breakpoint(location, condition, once)
    return ("Breakpoint %d at line %d%s%s"):format(point.number, point.line,
      point.file ~= s.file and " of " .. point.file or "", condition and ", if " .. condition or "")
  end
end

command({ "break", "b" }, "LINE|FUNCTION [if CONDITION]",
  "stop where threads reach a line, or those that meet a condition", break_command(false))
command({ "tbreak" }, "LINE|FUNCTION [if CONDITION]", "the same, once", break_command(true))
command({ "watch" }, "EXPRESSION", "stop where a variable, an element or a whole array is written", function(s, text)
  local point = s:add_watchpoint(text)
  return ("Watchpoint %d: %s"):format(point.number, text)
end)
command({ "delete", "d" }, "[NUMBER]", "delete a breakpoint or watchpoint, or all", function(s, text)
  if text == "" then s.points = {} else s:delete_point(tonumber(text) or text) end
  return ""
end)

command({ "continue", "c" }, "", "go on to the next breakpoint or watched write", function(s)
  return M.stop_text(s, s:continue_to_stop(false))
end)
command({ "step", "s" }, "[COUNT] | warp [COUNT]",
  "the thread's next line, into functions; step warp: the next line of any lane of its warp", function(s, text)
    local warp = text:match "^warp%s*(%d*)$"
    if warp then return M.stop_text(s, s:step_warp(count_of(warp, "step warp"), false)) end
    return M.stop_text(s, s:step_thread(count_of(text, "step"), false))
  end)
command({ "next", "n" }, "[COUNT]", "the thread's next line, over functions", function(s, text)
  return M.stop_text(s, s:next_line(count_of(text, "next"), false))
end)
command({ "finish" }, "", "go on until the function returns", function(s)
  return M.stop_text(s, s:finish_function())
end)
command({ "back", "reverse-step", "rs" }, "[COUNT] | warp [COUNT]",
  "the thread's line before, into functions; back warp: of any lane of its warp", function(s, text)
    local warp = text:match "^warp%s*(%d*)$"
    if warp then return M.stop_text(s, s:step_warp(count_of(warp, "back warp"), true)) end
    return M.stop_text(s, s:step_thread(count_of(text, "back"), true))
  end)
command({ "reverse-next", "rn" }, "[COUNT]", "the thread's line before, over functions", function(s, text)
  return M.stop_text(s, s:next_line(count_of(text, "reverse-next"), true))
end)
command({ "reverse-continue", "rc" }, "", "back to the latest breakpoint or watched write", function(s)
  return M.stop_text(s, s:continue_to_stop(true))
end)

command({ "print", "p" }, "EXPRESSION", "a value: i, tile[threadIdx.x + 1], p.pos, *x, x[0]@8, a < b", function(s, text)
  return ("%s = %s"):format(text, expression.text(s:evaluate(text)))
end)
command({ "lanes" }, "EXPRESSION", "the value for each thread of the warp", function(s, text)
  local first, values, order = 32 * math.floor(s.thread.number / 32), {}, {}
  for lane = 0, math.min(31, s:thread_count() - first - 1) do
    local thread = s:block().threads[first + lane]
    local ok, value = pcall(s.evaluate, s, text, thread, 0)
    if not ok and not (type(value) == "table" and value.expression) then error(value, 0) end
    local shown = ok and expression.text(value) or "(" .. value.expression .. ")"
    if not values[shown] then
      values[shown] = {}
      order[#order + 1] = shown
    end
    table.insert(values[shown], lane)
  end
  local out = {}
  for _, shown in ipairs(order) do
    out[#out + 1] = ("%s %s: %s"):format(#values[shown] == 1 and "lane" or "lanes", ranges(values[shown]), shown)
  end
  return table.concat(out, "\n")
end)
command({ "display" }, "EXPRESSION", "print it after each stop", function(s, text)
  expression.parse(text)
  s.displays[#s.displays + 1] = text
  return ("%s = %s"):format(text, expression.text(s:evaluate(text)))
end)
command({ "undisplay" }, "", "print nothing after stops any more", function(s)
  s.displays = {}
  return ""
end)
command({ "whatis", "ptype" }, "EXPRESSION", "its type", function(s, text)
  return ("type = %s"):format(s:evaluate(text).type.name)
end)

-- ---- where things are ----

command({ "list", "l" }, "[LINE]", "ten lines of the source, around the current one", function(s, text)
  local _, site = s:line_of(s.thread)
  local around = tonumber(text) or text == "" and site.line
  if not around then wrong("list takes a line's number, not '%s'", text) end
  if text == "" and site.file ~= s.file then return site.file .. ":" .. site.line end
  local out = {}
  for n = math.max(around - 5, s.first_line), math.min(around + 4, s.last_line) do
    local mark = n == site.line and site.file == s.file and ">" or " "
    out[#out + 1] = ("%s%d\t%s"):format(mark, n, s.source[n])
  end
  if #out == 0 then wrong("the source has lines %d to %d", s.first_line, s.last_line) end
  return table.concat(out, "\n")
end)

command({ "backtrace", "bt", "where" }, "", "the functions that the thread is in", function(s)
  local now = s:line_of(s.thread)
  if not now then wrong "the thread has not begun here" end
  local out, stack = {}, s.recording:stack(s.thread, now)
  for i, frame in ipairs(stack) do
    local site = s.recording:site_in(s.thread, frame, now)
    out[i] = ("%s#%d  %s at line %d"):format(i == s.level + 1 and "*" or " ", i - 1,
      s.recording.sites[frame.site].name, site and site.line or s.recording.sites[frame.site].line)
  end
  return table.concat(out, "\n")
end)

local function go_to_level(s, level)
  local now = s:line_of(s.thread)
  local stack = s.recording:stack(s.thread, now)
  if not stack[level + 1] then wrong("there is no frame %d: they go from 0 to %d", level, #stack - 1) end
  s.level = level
  local site = s.recording:site_in(s.thread, stack[level + 1], now)
  return ("#%d  %s at line %d\n%s"):format(level, s.recording.sites[stack[level + 1].site].name, site.line,
    source_line(s, site))
end

command({ "frame", "f" }, "NUMBER", "look at the variables of a function of the backtrace", function(s, text)
  return go_to_level(s, tonumber(text) or s.level)
end)
command({ "up" }, "", "look at the caller's variables", function(s) return go_to_level(s, s.level + 1) end)
command({ "down" }, "", "and back", function(s) return go_to_level(s, math.max(s.level - 1, 0)) end)

local function coordinates_in(text, what)
  local at = {}
  for number in text:gmatch "[^%s,%(%)]+" do
    at[#at + 1] = tonumber(number) or wrong("%s takes coordinates such as (1,0,0), not '%s'", what, text)
  end
  if #at == 0 or #at > 3 then wrong("%s takes coordinates such as (1,0,0), not '%s'", what, text) end
  return at
end

command({ "thread" }, "[(X,Y,Z)]", "look at another thread of the block", function(s, text)
  if text ~= "" then s:go_to_thread(coordinates_in(text, "thread")) end
  if s:state_of(s.thread) == "left" then return thread_text(s, s.thread) .. " has left the kernel." end
  return place_text(s, "")
end)
command({ "block" }, "[(X,Y,Z)]", "look at another block that was recorded", function(s, text)
  if text ~= "" then s:go_to_block(coordinates_in(text, "block")) end
  return place_text(s, "")
end)

local STATES = { active = "at the beginning of", waiting = "waiting after", left = "have left the kernel",
  new = "have not begun" }

-- Threads first to last of the block by where they are: { { state, line, numbers = { … } } }.
function M.groups(s, first, last)
  local groups, by_key = {}, {}
  for number = first, last do
    local thread = s:block().threads[number]
    local state = s:state_of(thread)
    local _, site = s:line_of(thread)
    local line = (state == "active" or state == "waiting") and site.line or nil
    local key = state .. ":" .. tostring(line)
    if not by_key[key] then
      by_key[key] = { state = state, line = line, numbers = {} }
      groups[#groups + 1] = by_key[key]
    end
    table.insert(by_key[key].numbers, number)
  end
  return groups
end

local function group_lines(s, first, last, shown)
  local out = {}
  for _, group in ipairs(M.groups(s, first, last)) do
    local numbers = {}
    for i, number in ipairs(group.numbers) do numbers[i] = number - shown end
    local where = group.line and (" line %d"):format(group.line) or ""
    out[#out + 1] = ("%s%s: %s%s"):format(group.state == "active" and "*" or " ", ranges(numbers), STATES[group.state],
      where)
  end
  return table.concat(out, "\n")
end

local INFO = {}

function INFO.lanes(s)
  local warp = math.floor(s.thread.number / 32)
  local first, last = 32 * warp, math.min(32 * warp + 31, s:thread_count() - 1)
  return ("lanes of warp %d (* active)\n%s"):format(warp, group_lines(s, first, last, first))
end

function INFO.threads(s)
  return ("threads of %s by number (* active)\n%s"):format(block_text(s), group_lines(s, 0, s:thread_count() - 1, 0))
end

function INFO.locals(s)
  local out, named = {}, {}
  for _, variable in ipairs((s:visible(s.thread, s.level))) do
    if not named[variable.name] then
      named[variable.name] = true
      local ok, value = pcall(s.evaluate, s, variable.name)
      local text = ok and expression.text(value) or "(" .. tostring(value.expression or value) .. ")"
      out[#out + 1] = ("%s = %s"):format(variable.name, text)
    end
  end
  return table.concat(out, "\n")
end

INFO.breakpoints = function(s)
  local out = {}
  for i, point in ipairs(s.points) do
    local what = point.watched and "watch " .. point.watched
      or ("line %d%s"):format(point.line, point.condition and " if " .. point.condition or "")
    out[i] = ("%d  %s, hit %d %s"):format(point.number, what, point.hits, point.hits == 1 and "time" or "times")
  end
  return #out > 0 and table.concat(out, "\n") or "No breakpoints or watchpoints."
end

command({ "info", "i" }, "lanes | threads | locals | breakpoints", "the warp's lanes, the block's threads, variables",
  function(s, text)
    for name, f in pairs(INFO) do
      if text ~= "" and name:sub(1, #text) == text and (#text > 1 or text == "b") then return f(s) end
    end
    wrong("info takes lanes, threads, locals or breakpoints, not '%s'", text)
  end)

command({ "help", "h" }, "", "this list", function()
  local out = {}
  for _, entry in ipairs(list) do
    local names = table.concat(entry.names, ", ")
    out[#out + 1] = ("%s %s\n    %s"):format(names, entry.arguments, entry.what)
  end
  out[#out + 1] = "quit, q, Ctrl-D\n    leave; an empty line repeats the last command"
  return table.concat(out, "\n")
end)

---Run one command; what it prints, or nil where it is unknown to say so itself. Raises { expression = what is wrong }.
---@param s table session
---@param text string
---@return string
function M.run(s, text)
  if type(text) ~= "string" then wrong("a command is a string, not %s", type(text)) end
  local name, rest = text:match "^%s*([%a%-]+)/?%a*%s*(.-)%s*$"
  local entry = name and by_name[name]
  if not entry then wrong("there is no command '%s': help lists them", text:match "^%s*(%S*)") end
  return entry.run(s, rest)
end

M.place_text = place_text

-- The first name of each command.
M.names = {}
for i, entry in ipairs(list) do M.names[i] = entry.names[1] end

return M
