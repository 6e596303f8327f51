-- Layouts: the types of variables as the compiler writes them (src/mwcc/prepare/observe/step_markers.c), values in
-- memory of these types, and values as text.
--
-- A type is { kind = "bool", "int", "uint", "float", "bfloat", "pointer", "array", "struct" or "void", bytes =,
-- name = C's name, element = (of pointers and arrays), count = (of arrays), fields = { { name =, offset =, type = } }
-- }.

local M = {}

local SCALARS = { b = "bool", i = "int", u = "uint", g = "bfloat", f = "float" }
local NAMES = {
  b1 = "bool", i1 = "char", u1 = "unsigned char", i2 = "short", u2 = "unsigned short", i4 = "int", u4 = "unsigned int",
  i8 = "long long", u8 = "unsigned long long", g2 = "bfloat16", f2 = "half", f4 = "float", f8 = "double",
}

local read_type

local function read_struct(text, at)
  local name, bytes, after = text:match("^{(.-):(%d+)()", at)
  -- Names of nested structs contain colons: N::P.
  while text:sub(after, after) ~= ";" and text:sub(after, after) ~= "}" do
    local more
    more, bytes, after = text:match("^(:.-):(%d+)()", after - #bytes - 1)
    name = name .. more
  end
  local made = { kind = "struct", name = name, bytes = tonumber(bytes), fields = {} }
  at = after
  while text:sub(at, at) == ";" do
    local field, offset, start = text:match("^;([^@]*)@(%d+)=()", at)
    local type
    type, at = read_type(text, start)
    made.fields[#made.fields + 1] = { name = field, offset = tonumber(offset), type = type }
  end
  return made, at + 1
end

function read_type(text, at)
  local letter = text:sub(at, at)
  if SCALARS[letter] then
    local bytes, after = text:match("^(%d+)()", at + 1)
    return { kind = SCALARS[letter], bytes = tonumber(bytes), name = NAMES[letter .. bytes] or "number" }, after
  elseif letter == "*" then
    local element, after = read_type(text, at + 1)
    return M.pointer_to(element), after
  elseif letter == "[" then
    local count, start = text:match("^(%d+)%]()", at + 1)
    local element, after = read_type(text, start)
    local name = element.name:match "^[^%[]*" .. "[" .. count .. "]" .. (element.name:match "%[.*$" or "")
    return { kind = "array", element = element, count = tonumber(count), bytes = tonumber(count) * element.bytes,
      name = name }, after
  elseif letter == "{" then
    return read_struct(text, at)
  end
  return { kind = "void", bytes = 1, name = "void" }, at + 1
end

function M.pointer_to(element)
  return { kind = "pointer", bytes = 8, element = element,
    name = element.name .. (element.name:sub(-1) == "*" and "*" or " *") }
end

---A site's `about`: C's name of the type, a bar, and the layout.
---@param about string
---@return table type
function M.read(about)
  local name, text = about:match "^(.*)|(.*)$"
  local type = read_type(text or "v", 1)
  if name and name ~= "" then type.name = name end
  if type.kind == "pointer" and name and name:find "&$" then type.is_reference = true end
  return type
end

function M.scalar(letter) return (read_type(letter, 1)) end

-- ---- numbers in memory ----

local function unsigned(bytes)
  local value = 0
  for i = #bytes, 1, -1 do value = value * 256 + bytes:byte(i) end
  return value
end

local function signed(bytes)
  local value, last = unsigned(bytes:sub(1, -2)), bytes:byte(-1)
  if last >= 128 then last = last - 256 end
  local scale = 1
  for _ = 2, #bytes do scale = scale * 256 end
  return value + last * scale
end

-- IEEE's binary formats: a sign, `exponent` bits, `mantissa` bits.
local function floating(bytes, exponent, mantissa)
  local top, low = #bytes, 0
  local high = bytes:byte(top)
  local sign = high >= 128 and -1 or 1
  -- The 16 bits at the top hold the sign and the exponent of all formats.
  local word = high % 128 * 256 + bytes:byte(top - 1)
  local rest = 15 - exponent
  local power, above = math.floor(word / 2 ^ rest), word % 2 ^ rest
  for i = top - 2, 1, -1 do low = low * 256 + bytes:byte(i) end
  local fraction = above / 2 ^ rest + low / 2 ^ (mantissa)
  local bias = 2 ^ (exponent - 1) - 1
  if power == 2 * bias + 1 then return fraction == 0 and sign * math.huge or 0 / 0 end
  if power == 0 then return sign * fraction * 2 ^ (1 - bias) end
  return sign * (1 + fraction) * 2 ^ (power - bias)
end

---The number at the beginning of `bytes`, which are at least as many as the type has.
---@param type table of a kind that is a number, or a pointer
---@param bytes string
---@return number|boolean
function M.number(type, bytes)
  bytes = bytes:sub(1, type.bytes)
  if type.kind == "bool" then return bytes:byte() ~= 0 end
  if type.kind == "int" then return signed(bytes) end
  if type.kind == "bfloat" then return floating(bytes, 8, 7) end
  if type.kind == "float" then
    if type.bytes == 2 then return floating(bytes, 5, 10) end
    if type.bytes == 4 then return floating(bytes, 8, 23) end
    return floating(bytes, 11, 52)
  end
  return unsigned(bytes)
end

function M.is_number(type)
  return type.kind ~= "array" and type.kind ~= "struct" and type.kind ~= "void" and type.kind ~= "pointer"
end

-- ---- values as text ----

local function number_text(type, value)
  if type.kind == "bool" then return tostring(value) end
  if type.kind == "float" or type.kind == "bfloat" then
    if value ~= value then return "nan" end
    if value == math.huge then return "inf" elseif value == -math.huge then return "-inf" end
    return (type.bytes == 8 and "%.17g" or type.bytes == 4 and "%.9g" or "%.5g"):format(value)
  end
  if type.bytes == 1 and value >= 32 and value < 127 then return ("%d '%s'"):format(value, string.char(value)) end
  return ("%d"):format(value)
end

local MOST_SHOWN = 200 -- elements of arrays

local function add_array(type, bytes, out)
  local size, i = type.element.bytes, 0
  while i < type.count do
    if i > 0 then out[#out + 1] = ", " end
    if i == MOST_SHOWN then
      out[#out + 1] = "…"
      return
    end
    local function element(n) return bytes:sub(n * size + 1, (n + 1) * size) end
    local one, same = element(i), 1
    while i + same < type.count and element(i + same) == one do same = same + 1 end
    out[#out + 1] = M.text(type.element, one)
    if same >= 8 then out[#out + 1] = (" <repeats %d times>"):format(same) else same = 1 end
    i = i + same
  end
end

---A value as gdb prints it.
---@param type table
---@param bytes string
---@return string
function M.text(type, bytes)
  if type.kind == "void" then return "(no value)" end
  if type.kind == "pointer" then return ("0x%x"):format(M.number(type, bytes)) end
  if type.kind ~= "array" and type.kind ~= "struct" then return number_text(type, M.number(type, bytes)) end
  local out = {}
  if type.kind == "array" then
    add_array(type, bytes, out)
  else
    for i, field in ipairs(type.fields) do
      local inside = bytes:sub(field.offset + 1, field.offset + field.type.bytes)
      out[#out + 1] = (i > 1 and ", " or "") .. (field.name ~= "" and field.name .. " = " or "")
      out[#out + 1] = M.text(field.type, inside)
    end
  end
  return "{" .. table.concat(out) .. "}"
end

M.number_text = number_text

return M
