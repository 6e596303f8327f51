-- An array as text: its title and its elements, or of a large array those at its corners.
--
--   float {2, 3} on cpu:0
--   {{1, 2, 3},
--    {4, 5, 6}}

local raw = require "moonwarp.binding"

local M = {}

local MOST = 128 -- elements of an array that is shown whole
local EDGE = 3 -- elements shown at each end of an abbreviated dimension
local COLUMNS = 80

local formats = { half = "%.4g", bfloat16 = "%.3g", float = "%.6g", double = "%.10g", complex64 = "%.6g",
  complex128 = "%.10g" }

-- The indices of a dimension that are shown; 0 stands for the dots. Outer dimensions of high ranks show fewer.
local function shown(size, edge)
  local list = {}
  if size <= 2 * edge + 1 then
    for i = 1, size do list[i] = i end
    return list
  end
  for i = 1, edge do list[i] = i end
  list[edge + 1] = 0
  for i = edge, 1, -1 do list[#list + 1] = size - i + 1 end
  return list
end

local wide = { long = "signed", longlong = "signed", ulong = "unsigned", ulonglong = "unsigned" }

-- A 64-bit integer, which tostring shows as signed in Lua 5.4 and with a suffix in LuaJIT.
local function integer64(value, unsigned)
  if type(value) ~= "number" then return (tostring(value):gsub("U?LL$", "")) end
  if value >= 0 or not unsigned then return ("%d"):format(value) end
  local digits, hex = { 0, 0, 0, 0 }, ("%016x"):format(value) -- digits: of the base 10^6, the last first
  for at = 1, 13, 4 do
    local carry = tonumber(hex:sub(at, at + 3), 16)
    for i = 1, #digits do
      local all = digits[i] * 65536 + carry
      digits[i], carry = all % 1000000, math.floor(all / 1000000)
    end
  end
  return (("%06d%06d%06d%06d"):format(digits[4], digits[3], digits[2], digits[1]):gsub("^0+", ""))
end

local function number(value, format)
  if format == "signed" or format == "unsigned" then return integer64(value, format == "unsigned") end
  if type(value) ~= "number" then return tostring(value) end
  if value ~= value then return "nan" end
  if value == math.huge then return "inf" end
  if value == -math.huge then return "-inf" end
  return format:format(value)
end

-- Numbers; vectors and nested arrays in brackets; structs with their fields by name.
local function element(value, format)
  if type(value) ~= "table" then return number(value, format) end
  if getmetatable(value) == raw.complex then
    local im = number(value[2], format)
    return number(value[1], format) .. (im:find "^-" and "" or "+") .. im .. "i"
  end
  local list = {}
  if value[1] == nil then
    for name in pairs(value) do list[#list + 1] = name end
    table.sort(list)
    for i, name in ipairs(list) do list[i] = name .. " = " .. element(value[name], "%.6g") end
    return "{" .. table.concat(list, ", ") .. "}"
  end
  for i = 1, #value do list[i] = element(value[i], format) end
  return "(" .. table.concat(list, ", ") .. ")"
end

-- The shown elements as text in nested tables, with false for the dots; and the width of the widest.
local function collect(array, shape, format)
  local widest, is_whole = 0, array.count > 0 and array.count <= MOST
  local index = {}
  local unpack = table.unpack or unpack -- luacheck: ignore 143
  local function level(depth)
    local list = {}
    local inner = #shape - depth < 2
    for k, i in ipairs(shown(shape[depth], is_whole and MOST or inner and EDGE or 1)) do
      index[depth] = i
      if i == 0 then
        list[k] = false
      elseif depth < #shape then
        list[k] = level(depth + 1)
      else
        list[k] = element(array:get(unpack(index, 1, #shape)), format)
        widest = math.max(widest, #list[k])
      end
    end
    return list
  end
  return level(1), widest
end

-- The elements of one row, on several lines where one is too long.
local function row(parts, indentation)
  local lines, line = {}, ""
  for k, part in ipairs(parts) do
    if line ~= "" and indentation + #line + #part >= COLUMNS then
      lines[#lines + 1] = line:gsub(" $", "")
      line = ""
    end
    line = line .. part .. (k < #parts and ", " or "")
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indentation))
end

local function render(list, depth, rank, width)
  local parts = {}
  for k, item in ipairs(list) do
    if item == false then
      parts[k] = "..."
    elseif depth < rank then
      parts[k] = render(item, depth + 1, rank, width)
    else
      parts[k] = (" "):rep(width - #item) .. item
    end
  end
  if depth == rank then return "{" .. row(parts, depth) .. "}" end
  return "{" .. table.concat(parts, ",\n" .. (" "):rep(depth)) .. "}"
end

---@param array moonwarp.array
---@return string
function M.array(array)
  local ok, shape = pcall(function() return array.shape end)
  if not ok then return "array (closed)" end
  local title = ("%s {%s} on %s"):format(tostring(array.dtype), table.concat(shape, ", "), array.device.name)
  if array.freed then return title .. " (freed)" end
  local dtype = tostring(array.dtype)
  local scalar = formats[dtype] and dtype or dtype:match "^bfloat16" or dtype:match "^%a+"
  local list, widest = collect(array, shape, formats[scalar] or wide[scalar] or "%d")
  if #shape == 1 and #list * (widest + 2) < COLUMNS then widest = 0 end -- a single line needs no alignment
  return title .. "\n" .. render(list, 1, #shape, widest)
end

return M
