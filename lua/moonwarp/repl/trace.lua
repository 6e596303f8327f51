-- Failures at the prompt: the message, and the lines of typed code that led there. Functions of moonwarp and of the
-- interpreter are left out.

local errors = require "moonwarp.diagnostics.error"

local M = {}

local own = debug.getinfo(1, "S").source:match "^(.*)repl/trace%.lua$"

local function is_own(info) return info.source:sub(1, #own) == own or info.what == "C" or info.currentline < 0 end

-- The name of a global function, which is found even if the input ends in a tail call of it.
local function name_of(info)
  if info.name then return info.name end
  for name, value in next, _G do
    if value == info.func and type(name) == "string" then return name end
  end
  return nil
end

local function line_of(info)
  local at, name = info.source:gsub("^[@=]", "") .. ":" .. info.currentline, name_of(info)
  if info.what == "main" then return at end
  if name then return ("%s: in function '%s'"):format(at, name) end
  return ("%s: in the function of line %d"):format(at, info.linedefined)
end

---A message handler for xpcall: a string with the lines that led there, if there is more than one; values that are not
---errors are returned as they are.
---@param err any
---@return any
function M.handler(err)
  if type(err) ~= "string" then return err end
  local lines, level = {}, 2
  while true do
    local info = debug.getinfo(level, "Slnf")
    if not info or info.source == own .. "repl.lua" then break end -- the function that ran the input
    if not is_own(info) then lines[#lines + 1] = line_of(info) end
    level = level + 1
  end
  if #lines < 2 then return err end
  return err .. "\nstack traceback:\n\t" .. table.concat(lines, "\n\t")
end

---The text of a raised value. An error object's own traceback would only repeat its message here.
---@param err any
---@return string
function M.text(err)
  local ok, text = pcall(tostring, err)
  if not ok then return "an error whose text cannot be had: " .. tostring(text) end
  if not errors.is(err) then return text end
  return (text:gsub("\nstack traceback:.*$", ""):gsub("\n  %(noticed at [^\n]*%)$", ""))
end

return M
