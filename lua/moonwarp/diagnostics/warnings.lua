-- Compilers' warnings, reported once even if the same text is compiled or found in the cache again; and mistakes in the
-- script that are only known when an object is collected.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

local Warning = { __name = "moonwarp.warning" }
Warning.__index = Warning

-- The compiler's text, with the line that compiled it if the code is in no file.
function Warning.__tostring(warning)
  local text = warning.log:gsub("%s+$", "")
  if warning.where and not warning.log:find(warning.where:match "^(.*):%d+$", 1, true) then
    text = text .. "\n  (compiled at " .. warning.where .. ")"
  end
  return text
end

---Whether `value` is a warning.
---@param value any
---@return boolean
function M.is(value) return getmetatable(value) == Warning end

-- ---- a compiler's output as objects ----

local function site()
  local source, line = raw.caller()
  if not source then return nil end
  return source:gsub("^[@=]", "") .. ":" .. line
end

-- A message begins with its position, or with the includes that lead to it; the notes after it belong to it.
---@param log string
---@return moonwarp.warning[]
function M.parse(log)
  local list, current, leading, where = {}, nil, {}, site()
  for line in log:gmatch "[^\n]+" do
    local file, row, column, kind, message = line:match "^(.-):(%d+):(%d+): (%a+): (.*)$"
    if line:find "^In file included from " then
      leading[#leading + 1], current = line, nil
    elseif kind == "warning" then
      leading[#leading + 1] = line
      current = setmetatable({ kind = "warning", where = where, file = file, line = tonumber(row),
        column = tonumber(column), option = message:match " %[(%-W[^%]]*)%]$",
        message = message:gsub(" %[%-W[^%]]*%]$", ""), log = table.concat(leading, "\n") }, Warning)
      list[#list + 1], leading = current, {}
    elseif current then
      current.log = current.log .. "\n" .. line
    end
  end
  return list
end

-- ---- reporting ----

local chosen = true
local told = {} -- reported warnings, by position, message and line of code

-- A compiler's notes on a warning differ between the template instances in which it occurs.
local function key_of(warning)
  local _, after = warning.log:find(warning.message, 1, true)
  return warning.log:sub(1, after) .. (warning.log:match("^[^\n]*\n([^\n]*)", after) or "")
end

---mw.warnings.
function M.choose(...)
  local how = ...
  local before = chosen
  if select("#", ...) == 0 then return before end
  if type(how) ~= "boolean" and type(how) ~= "function" and how ~= "error" then
    errors.usage("mw.warnings wants true (print them), false, \"error\" or a function, got %s",
      type(how) == "string" and ("the string %q"):format(how) or "a " .. type(how))
  end
  chosen, told = how, {}
  return before
end

local function refuse(warning)
  raw.raise { kind = "compile", code = "cudaErrorInvalidSource", message = warning.message, file = warning.file,
    line = warning.line, column = warning.column, log = warning.log }
end

local function tell_once(warning, key)
  if told[key] then return end
  told[key] = true
  if type(chosen) == "function" then chosen(warning) else io.stderr:write(tostring(warning), "\n") end
end

---A launch was configured and never made. It is known when the object goes, which is too late for an error.
---@param kernel string its name
---@param where string "script.lua:12"
function M.tell_unused(kernel, where)
  if chosen == false then return end
  local name = kernel:sub(1, 100)
  local message = ("a launch of %s was configured here and never called: the arguments are given in a second call, "
    .. "%s(grid, block)(arguments)"):format(name, name)
  local file, line = where:match "^(.*):(%d+)$"
  local log = where .. ": warning: " .. message
  tell_once(setmetatable({ kind = "warning", message = message, file = file, line = tonumber(line), where = where,
    log = log }, Warning), log)
end

---A module's log is available, or has grown.
---@param log string
function M.tell(log)
  if chosen == false then return end
  for _, warning in ipairs(M.parse(log)) do
    if chosen == "error" then refuse(warning) end
    tell_once(warning, key_of(warning))
  end
end

return M
