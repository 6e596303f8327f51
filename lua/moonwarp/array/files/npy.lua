-- NumPy's files: .npy is an array, .npz a zip file of them.
--
-- An .npy file is "\147NUMPY", a version, the length of a header, the header (a Python dictionary with the dtype, the
-- order and the shape), and the elements.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local bytes = require "moonwarp.array.files.bytes"
local zip = require "moonwarp.array.files.zip"
local views = require "moonwarp.array.views"

local usage = errors.usage
local fail = bytes.fail

local M = {}

local MAGIC = "\147NUMPY"
local MOST_DIMENSIONS = 8

local dtypes = { b1 = "bool", i1 = "char", u1 = "uchar", i2 = "short", u2 = "ushort", i4 = "int", u4 = "uint",
  i8 = "longlong", u8 = "ulonglong", f2 = "half", f4 = "float", f8 = "double", c8 = "float2", c16 = "double2" }
local codes = {}
for code, dtype in pairs(dtypes) do
  if code:sub(1, 1) ~= "c" then codes[dtype] = code end
end
codes.long, codes.ulong = "i8", "u8"
-- complex64 and complex128, if the binding has elements of that name
for code, dtype in pairs { c8 = "complex64", c16 = "complex128" } do
  if pcall(raw.dtype_size, dtype) then dtypes[code], codes[dtype] = dtype, code end
end

-- The kinds of elements that NumPy has and arrays do not have, by the letter of the dtype.
local reasons = {
  O = "Python objects, which only Python can read (they are pickled)",
  U = "strings", S = "strings", a = "strings", M = "dates", m = "spans of time", V = "raw bytes without a type",
  g = "long doubles", f16 = "long doubles", c32 = "complex long doubles",
}

-- ---- reading ----

-- The dtype, the bytes of a number, and whether the byte order is the other one.
local function read_dtype(path, header)
  local descr = header:match "'descr'%s*:%s*'([^']*)'"
  if not descr then
    if header:find "'descr'%s*:%s*[%[%(]" then
      fail(path, "its elements are structured (%s), and arrays hold numbers; save each field by itself: "
        .. "numpy.save(path, a['field'])", header:match "'descr'%s*:%s*(%b[])" or "a record")
    end
    fail(path, "its header has no dtype: %s", header:sub(1, 60))
  end
  local order, code = descr:match "^([<>|=]?)(%a%d*)$"
  if not code or not dtypes[code] then
    local letter = (code or descr:match "%a" or "?"):sub(1, 1)
    fail(path, "its elements have NumPy's dtype '%s', %s", descr,
      reasons[code] or reasons[letter] or "for which arrays have no counterpart")
  end
  return dtypes[code], tonumber(code:sub(2)) / (code:sub(1, 1) == "c" and 2 or 1), order == ">"
end

local function read_shape(path, header)
  local text = header:match "'shape'%s*:%s*%(([%d%s,L]*)%)"
  if not text then fail(path, "its header has no shape: %s", header:sub(1, 60)) end
  local shape = {}
  for size in text:gmatch "%d+" do
    shape[#shape + 1] = tonumber(size)
    if tonumber(size) >= 2 ^ 53 then fail(path, "its shape (%s) is larger than any memory", text) end
  end
  if #shape > MOST_DIMENSIONS then
    fail(path, "it has %d dimensions, but arrays have at most %d", #shape, MOST_DIMENSIONS)
  end
  if #shape == 0 then shape[1] = 1 end -- one number
  return shape
end

-- What the header of an .npy file says: { dtype =, shape =, number_size =, swapped =, fortran =, first = }, the
-- position of the first element in bytes from 0. `data` begins with the header.
local function decode_header(path, data)
  if data:sub(1, 6) ~= MAGIC then fail(path, "it is no .npy file: it does not begin with \\x93NUMPY") end
  local version = data:byte(7) or 0
  if version < 1 or version > 3 then
    fail(path, "it has version %d of the format; only 1 to 3 are supported", version)
  end
  local size = version == 1 and 2 or 4
  if #data < 8 + size then fail(path, "it is cut off within its header") end
  local length = bytes.number(data, 9, size)
  if #data < 8 + size + length then fail(path, "it is cut off within its header") end
  local header = data:sub(9 + size, 8 + size + length)
  local dtype, number_size, swapped = read_dtype(path, header)
  local fortran = header:match "'fortran_order'%s*:%s*(%a+)"
  if fortran ~= "True" and fortran ~= "False" then
    fail(path, "its header does not say whether it is in Fortran's order")
  end
  return { dtype = dtype, number_size = number_size, swapped = swapped, fortran = fortran == "True",
    shape = read_shape(path, header), first = 8 + size + length }
end

-- The array that the bytes of an .npy file hold.
local function decode(path, data)
  local facts = decode_header(path, data)
  local dtype, shape, first = facts.dtype, facts.shape, facts.first + 1
  local count = 1.0 -- in floating point, because Lua's integers would wrap around
  for _, extent in ipairs(shape) do count = count * extent end
  local wanted, there = count * raw.dtype_size(dtype), #data - first + 1
  if there < wanted then
    fail(path, "it is cut off: its shape %s of %s takes %.0f bytes, and %d are there", views.shape_text(shape), dtype,
      wanted, there)
  end
  if count == 0 then return raw.array_new(dtype, shape) end
  local stored = shape
  if facts.fortran then
    stored = {}
    for d = 1, #shape do stored[d] = shape[#shape + 1 - d] end
  end
  local array = raw.array_new(dtype, stored)
  array:copy_from(data:sub(first, first + wanted - 1))
  if facts.swapped and facts.number_size > 1 then
    local as_bytes = raw.array_view(array, 0, "uchar", { wanted / facts.number_size, facts.number_size })
    as_bytes:copy_from(as_bytes:flip(2):copy())
  end
  return facts.fortran and array:permute():copy() or array
end

---Read an array from an .npy file, as numpy.save writes them.
---@param path string
---@return moonwarp.array
function M.load_npy(path) return decode(path, raw.bytes_read(path)) end

---Read the arrays of an .npz file, as numpy.savez and numpy.savez_compressed write them.
---@param path string
---@return table<string, moonwarp.array> by name
function M.load_npz(path)
  local arrays = {}
  local data = raw.bytes_read(path)
  for _, member in ipairs(zip.members(path, data)) do
    local name = member.name:gsub("%.npy$", "")
    arrays[name] = decode(path .. ":" .. member.name, zip.read(path, data, member))
  end
  return arrays
end

-- ---- writing ----

-- The header of an .npy file of such an array.
local function encode_header(what, dtype, whole)
  local shape, code = {}, codes[dtype]
  for d, n in ipairs(whole) do shape[d] = n end
  if not code then
    if dtype == "bfloat16" then usage("%s: NumPy has no bfloat16; write a:to \"float\"", what) end
    local scalar, components = tostring(dtype):match "^(%a+)(%d)$"
    code = codes[scalar]
    if not code then usage("%s: NumPy has no elements of %s; save arrays of numbers", what, tostring(dtype)) end
    shape[#shape + 1] = tonumber(components)
    if raw.dtype_size(dtype) ~= raw.dtype_size(scalar) * components then
      usage("%s: elements of %s have padding; save arrays of numbers", what, dtype)
    end
  end
  for d = 1, #shape do shape[d] = ("%d"):format(shape[d]) end
  local header = ("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s%s), }"):format(
    code:sub(2) == "1" and "|" or "<", code, table.concat(shape, ", "), #shape == 1 and "," or "")
  local padding = -(10 + #header + 1) % 64
  header = header .. (" "):rep(padding) .. "\n"
  return MAGIC .. "\1\0" .. bytes.text(#header, 2) .. header
end

-- An array as the bytes of an .npy file.
local function encode(what, array)
  return encode_header(what, array.dtype, array.shape) .. (array.count > 0 and array:contiguous():bytes() or "")
end

---Write an array as an .npy file, which numpy.load reads. The components of vectors become one more dimension.
---@param path string
---@param array moonwarp.array
function M.save_npy(path, array) raw.bytes_write(path, encode("mw.save_npy", array)) end

-- The names of arrays that are to be written, in order.
function M.names(where, arrays, is_array)
  local names = {}
  for name, array in pairs(arrays) do
    if type(name) ~= "string" or name == "" then
      usage("%s wants arrays by name, as in { x = a }, got the name %s", where, raw.describe(name))
    end
    if not is_array(array) then usage("%s: '%s' is %s, not an array", where, name, raw.describe(array)) end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

---Write arrays as an .npz file, which numpy.load reads.
---@param path string
---@param arrays table<string, moonwarp.array> by name
function M.save_npz(path, arrays)
  local names, members = M.names("mw.save_npz", arrays, function(a) return raw.type(a) == "array" end), {}
  for i, name in ipairs(names) do
    members[i] = { name = name .. ".npy", data = encode("mw.save_npz", arrays[name]) }
  end
  raw.bytes_write(path, zip.write(members))
end

-- For files that are read and written in pieces (dist/files.lua).
M.public = { load_npy = M.load_npy, load_npz = M.load_npz, save_npy = M.save_npy, save_npz = M.save_npz }

-- The facts of decode_header from an open file at its place, and the bytes of a row: of what one place of the first
-- axis has.
function M.read_header(path, file)
  local start = file:read(12) or ""
  local is_short = start:byte(7) == 1
  local length = #start == 12 and (is_short and 10 + bytes.number(start, 9, 2) or 12 + bytes.number(start, 9, 4))
  local facts = decode_header(path, start .. (length and file:read(math.min(length, 2 ^ 20) - 12) or ""))
  facts.row_bytes = raw.dtype_size(facts.dtype)
  for d = 2, #facts.shape do facts.row_bytes = facts.row_bytes * facts.shape[d] end
  return facts
end

M.header, M.decode = encode_header, decode

return M
