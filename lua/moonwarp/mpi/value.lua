-- Lua values as bytes: nil, booleans, numbers, strings, complex numbers, arrays, and tables of them, which may contain
-- each other or occur twice. Functions, threads and other objects do not travel.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local mw = require "moonwarp"

local M = {}

local is_integer = math.type and function(value) return math.type(value) == "integer" end -- luacheck: ignore 143
  or function() return false end

local function write_number(out, value)
  if is_integer(value) then
    out[#out + 1] = ("i%d;"):format(value)
  elseif value ~= value or value == math.huge or value == -math.huge then
    out[#out + 1] = value ~= value and "dnan;" or value > 0 and "dinf;" or "d-inf;"
  else
    out[#out + 1] = ("d%.17g;"):format(value)
  end
end

local function write_bytes(out, letter, bytes) out[#out + 1] = ("%s%d;%s"):format(letter, #bytes, bytes) end

local write

local function write_array(out, array)
  local shape = array.shape
  if type(array.dtype) ~= "string" then
    errors.usage("an array of a module's struct travels as an array, not in a table: write comm:send(array, to)")
  end
  out[#out + 1] = ("a%d;"):format(#shape)
  for _, size in ipairs(shape) do write_number(out, size) end
  write_bytes(out, "s", array.dtype)
  write_bytes(out, "s", array:contiguous():bytes())
end

local function write_table(out, value, known)
  if known[value] then
    out[#out + 1] = ("r%d;"):format(known[value])
    return
  end
  known.count = known.count + 1
  known[value] = known.count
  if raw.complex and getmetatable(value) == raw.complex then
    out[#out + 1] = "c"
    write_number(out, value.re)
    write_number(out, value.im)
    return
  end
  out[#out + 1] = "t"
  for key, item in next, value do
    write(out, key, known)
    write(out, item, known)
  end
  out[#out + 1] = "e"
end

function write(out, value, known)
  local kind = type(value)
  if value == nil then
    out[#out + 1] = "n"
  elseif kind == "boolean" then
    out[#out + 1] = value and "T" or "F"
  elseif kind == "number" then
    write_number(out, value)
  elseif kind == "string" then
    write_bytes(out, "s", value)
  elseif raw.type(value) == "array" then
    write_array(out, value)
  elseif kind == "table" then
    write_table(out, value, known)
  else
    errors.usage("%s does not travel between ranks: numbers, strings, booleans, arrays and tables of them do",
      raw.describe(value))
  end
end

---@param value any
---@return string
function M.write(value)
  local out = {}
  write(out, value, { count = 0 })
  return table.concat(out)
end

local read

local function read_text(state)
  local text, after = state.bytes:match("^([^;]*);()", state.at)
  state.at = after
  return text
end

local function read_bytes(state)
  local length = tonumber(read_text(state))
  local bytes = state.bytes:sub(state.at, state.at + length - 1)
  state.at = state.at + length
  return bytes
end

local special = { nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge }

local function read_table(state)
  local result = {}
  state[#state + 1] = result
  while state.bytes:sub(state.at, state.at) ~= "e" do
    local key = read(state)
    result[key] = read(state)
  end
  state.at = state.at + 1
  return result
end

local function read_array(state)
  local shape = {}
  for i = 1, tonumber(read_text(state)) do shape[i] = read(state) end
  local dtype, bytes = read(state), read(state)
  return mw.from_bytes(bytes, dtype):reshape(shape)
end

local function read_complex(state)
  state[#state + 1] = false
  local place, re = #state, read(state)
  state[place] = mw.complex(re, read(state))
  return state[place]
end

local readers = {
  n = function() return nil end,
  T = function() return true end,
  F = function() return false end,
  i = function(state) return tonumber(read_text(state)) end,
  d = function(state)
    local text = read_text(state)
    local number = special[text] or tonumber(text)
    return is_integer(number) and number + 0.0 or number
  end,
  s = read_bytes,
  a = read_array,
  t = read_table,
  c = read_complex,
  r = function(state) return state[tonumber(read_text(state))] end,
}

function read(state)
  local letter = state.bytes:sub(state.at, state.at)
  state.at = state.at + 1
  return readers[letter](state)
end

---@param bytes string of M.write
---@return any
function M.read(bytes) return read { bytes = bytes, at = 1 } end

return M
