-- The text of values at the prompt. Tables are shown by their contents, not by their addresses.

local terminal = require "moonwarp.show.terminal"

local M = {}

local length = rawlen or function(t) return #t end -- luacheck: ignore 143 113
local DEPTH = 3    -- nested tables shown at most
local LIST = 20    -- elements shown of a list
local FIELDS = 60  -- fields shown of a table

---A number as text; LuaJIT's 64-bit integers without their suffix.
---@param value any
---@return string
local function number(value) return (tostring(value):gsub("^(%-?%d+)U?LL$", "%1")) end

local function scalar(value)
  if type(value) == "string" then return ("%q"):format(value):gsub("\\\n", "\\n") end
  if type(value) == "function" then return "function" end
  return (number(value):gsub("\n.*$", " ...")) -- of an array only the title
end

local function key_text(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then return key end
  return "[" .. scalar(key) .. "]"
end

-- Sort keys: numbers in order, then names alphabetically, then other keys by their text.
local function sorted_keys(t, count)
  local keys = {}
  for key in next, t do
    local listed = type(key) == "number" and key >= 1 and key <= count and key % 1 == 0
    if not listed then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
    return type(a) ~= type(b) and type(a) < type(b) or type(a) == type(b) and tostring(a) < tostring(b)
  end)
  return keys
end

-- Wrap words into lines of at most `width` characters.
local function wrap(words, width, indent)
  local lines, line = {}, ""
  for i, word in ipairs(words) do
    word = word .. (i < #words and ", " or "")
    if #line + #word > width and line ~= "" then
      lines[#lines + 1] = line:gsub(" $", "")
      line = ""
    end
    line = line .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. indent)
end

-- Tables with a __tostring, such as errors and vectors, use it.
local function is_plain(value)
  if type(value) ~= "table" then return false end
  local meta = getmetatable(value)
  return type(meta) ~= "table" or rawget(meta, "__tostring") == nil
end

local table_text

local function item(value, depth, indent, place)
  if not is_plain(value) then return scalar(value) end
  if place.seen[value] or depth >= DEPTH then return next(value) == nil and "{}" or "{...}" end
  return table_text(value, depth, indent, place)
end

table_text = function(t, depth, indent, place)
  local seen, width = place.seen, place.width
  seen[t] = true
  local parts, functions, count = {}, {}, length(t)
  local inner = indent .. "  "
  for i = 1, math.min(count, LIST) do parts[i] = item(rawget(t, i), depth + 1, inner, place) end
  if count > LIST then parts[#parts + 1] = ("... (%d more)"):format(count - LIST) end
  local keys = sorted_keys(t, count)
  for _, key in ipairs(keys) do
    local value = rawget(t, key)
    if type(value) == "function" and type(key) == "string" and #keys > 8 then
      functions[#functions + 1] = key
    elseif #parts < FIELDS then
      parts[#parts + 1] = key_text(key) .. " = " .. item(value, depth + 1, inner, place)
    end
  end
  seen[t] = nil
  local left = #keys - #functions + math.min(count, LIST) - FIELDS
  if left > 0 then parts[#parts + 1] = ("... (%d more)"):format(left) end
  if #functions > 0 then
    parts[#parts + 1] = "functions: " .. wrap(functions, width - #inner - 11, inner .. (" "):rep(11))
  end
  local line = "{" .. table.concat(parts, ", ") .. "}"
  if #indent + #line <= width and not line:find "\n" and #functions == 0 then return line end
  if #keys == 0 and not line:find "\n" then return "{" .. wrap(parts, width - #indent - 1, indent .. " ") .. "}" end
  return "{\n" .. inner .. table.concat(parts, ",\n" .. inner) .. "\n" .. indent .. "}"
end

---@param value any
---@return string
function M.text(value)
  if is_plain(value) then
    return table_text(value, 0, "", { seen = {}, width = math.min(terminal.width(), 160) - 1 })
  end
  return number(value)
end

return M
