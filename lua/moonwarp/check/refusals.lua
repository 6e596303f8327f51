-- The sentences by which the bindings refuse values. A binding converts a script's values itself. One that it cannot
-- convert it passes to the function here with the name of what was wanted, and raises the sentence that this returns.
-- So each sentence stands once for both bindings, and finding out what exactly is wrong costs the fast paths nothing.
-- Values of CUDA C's types are refused by the core (mw_value_refuse).

local raw = require "moonwarp.binding"
local is_number = require("moonwarp.check.arguments").is_number

local describe = raw.describe
local M = {}

-- string.format for whole numbers that may be floats or too large for %d.
local function say(format, ...) return (format:gsub("%%d", "%%.0f")):format(...) end

local function plural(count) return count == 1 and "" or "s" end

-- A whole number, as a number; or nil.
local function whole(value)
  local number = is_number(value) and tonumber(value)
  return number and number % 1 == 0 and math.abs(number) < 2 ^ 63 and number or nil
end

-- ---- numbers ----

function M.size(what, value)
  return ("%s is a whole number that is not negative, got %s"):format(what, describe(value))
end

function M.node(value) return "a node is a number from 1 on, got " .. describe(value) end

-- ---- arrays ----

function M.shape(value)
  return "a shape is a whole number or a table of them, such as {height, width}; got " .. describe(value)
end

function M.rank(rank, most) return say("a shape has 1 to %d dimensions, this one has %d", most, rank) end

function M.offset() return "an offset is a whole number of bytes" end
function M.strides() return "strides are whole numbers of bytes, one a dimension" end

function M.tensor(value)
  return "mw.from_dlpack wants a pointer to a tensor, as light userdata, got " .. describe(value)
end

---A key that is no place of an array.
---@param key any
---@param size integer the last one that is
---@param dimension? integer where the array is indexed in several
function M.index(key, size, dimension)
  local which = dimension and say("index %d: ", dimension) or ""
  local i = whole(key)
  if not i then return which .. "an index is a whole number, got " .. describe(key) end
  return say("%s%d is outside 1..%d%s", which, i, size, i == 0 and " (Lua counts from 1: C's [0] is [1] here)" or "")
end

function M.indices(name, rank, given)
  return say("%s wants %d ind%s, one for each dimension, got %d", name, rank, rank == 1 and "ex" or "ices", given)
end

function M.row(key, height) return say("row %s is outside 1..%d", ("%g"):format(key), height) end

function M.key(key) return "an array takes elements by number; there is nothing to assign at " .. describe(key) end

---@param where string "element [2]"
---@param length integer of the array there
---@param list any
function M.table(where, length, list)
  if where == "the table" then
    local got = type(list) == "table" and say("the table has %d", #list) or "got " .. describe(list)
    return say("an array of %d elements wants a table of as many, %s", length, got)
  end
  if type(list) ~= "table" then
    return say("%s: wants a table of %d elements, got %s", where, length, describe(list))
  end
  return say("%s: wants a table of %d elements, this one has %d", where, length, #list)
end

function M.depth(most) return say("a table may be nested %d levels deep at most, one for each dimension", most) end

---What does not go into a whole array.
---@param source any
---@param bytes integer the array's
---@param count integer its elements
---@param dtype string theirs
function M.source(source, bytes, count, dtype)
  if type(source) ~= "string" then
    return "an array takes a table, another array or a string of bytes, got " .. describe(source)
  end
  return say("a string of %d bytes does not fill an array of %d bytes (%d elements of %s)", #source, bytes, count,
    dtype)
end

---@param from string a dtype
---@param to string
---@param components boolean whether they differ in these alone
function M.conversion(from, to, components)
  return ("%s does not convert to %s%s"):format(from, to, components and ": they differ in components" or "")
end

function M.operands(count, most)
  return say("a function of elements has at most %d operands, this one has %d", most, count)
end

function M.factorisation(most) return say("a factorisation is of 1 to %d arrays", most) end

function M.host_view() return "the array of this host view was freed" end

-- ---- dtypes ----

function M.dtype(value)
  if type(value) ~= "string" then
    return 'a dtype is a name such as "float" or "uchar4", or a struct\'s m:dtype(name), got ' .. describe(value)
  end
  return ('there is no dtype "%s"; dtypes have CUDA\'s names: bool, char, uchar, short, ushort, int, uint, longlong, '
    .. "ulonglong, half, bfloat16, float, double, complex64, complex128, and with 1 to 4 after it the vector types; a "
    .. "struct of a module is m:dtype(name)"):format(value)
end

-- ---- launches ----

---@param where string "grid", "block.x"
---@param ... any the size; nothing where none was given
function M.launch_size(where, ...)
  local size = ...
  local got = select("#", ...) == 0 and "nothing" or describe(size)
  if type(size) ~= "number" then
    return ("%s wants a number or a table {x, y, z}, got %s; a kernel is launched as k(grid, block)(arguments)")
      :format(where, got)
  elseif not whole(size) then
    return ("%s: %s is not whole; mw.cdiv(n, block) divides and rounds up"):format(where, got)
  end
  return ("%s: %s is out of range"):format(where, got)
end

function M.tensor_map(value) return ("a tensor map's sizes are whole numbers, not %s"):format(describe(value)) end

function M.launch_sizes(what) return what .. " has three sizes at most: {x, y, z}" end

---The third value of a launch that is no number of bytes: most often it is the first argument.
---@param shared any
---@param kernel string its name
function M.shared(shared, kernel)
  local got = describe(shared)
  if type(shared) == "number" and shared < 0 then
    return "shared wants the bytes of dynamic shared memory, got " .. got
  end
  return ("the third value of a launch is shared, the bytes of dynamic shared memory, and this is %s: the kernel's "
    .. "arguments are given in a second call, %s(grid, block)(arguments)"):format(got, kernel)
end

function M.launch_values(given)
  return say("a launch takes grid, block, shared and stream, got %d values; write k(grid, block)(arguments)", given)
end

function M.launch_stream(value)
  return "the fourth value of a launch, its stream, wants a stream, got " .. describe(value)
end

---@param kernel string a device's name
---@param stream string another's
function M.launch_device(kernel, stream)
  return ("the kernel is compiled for %s, and the stream is %s's"):format(kernel, stream)
end

function M.each(given)
  return say("k:each takes one size, or a table of up to three, got %d values; write k:each{nx, ny}(arguments)", given)
end

---@param signature string "saxpy(int n, float a)"
function M.arguments(signature, count, given)
  return say("%s takes %d argument%s, got %d", signature, count, plural(count), given)
end

function M.bound_arguments() return "a bound launch has its arguments and takes none" end
function M.bound_closed() return "this bound launch was closed" end
function M.stream_closed() return "the stream of this launch was closed" end

-- ---- modules ----

function M.headers() return 'headers are a table of texts by name: {["vec.h"] = "…"}' end
function M.name(value) return "the fields of a module are names in its source, got " .. describe(value) end

function M.assigned_kernel(name)
  return ("'%s' is a kernel; only variables (__device__, __constant__) can be assigned"):format(name)
end

---@param name string of a reference
---@param of string its type
---@param surface boolean
---@param value any
function M.reference(name, of, surface, value)
  return ("'%s' is a %s reference (%s): assign mw.%s, or nil for none; got %s"):format(name,
    surface and "surface" or "texture", of, surface and "surface(array)" or "texture(array, {...})", describe(value))
end

-- ---- textures ----

function M.texture_memory(value)
  return "a texture reads an array, a pitched one (mw.pitched) or a CUDA array (mw.cuda_array), got " .. describe(value)
end

function M.texture_freed() return "this texture or surface was freed" end

function M.box_elements(from, to)
  return say("a copy between elements of %d and %d bytes: both sides need elements of one size", from, to)
end

-- ---- devices ----

function M.limit(name)
  return 'mw.limit wants "time", "memory", "stack", "compile_time", "compile_memory", "specialise", "heap" or '
    .. '"launches", got ' .. describe(name)
end

function M.limit_value(name, value)
  return ('the limit "%s" is a number (0: none), got %s'):format(name, describe(value))
end

return M
