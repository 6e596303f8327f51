-- moonwarp: CUDA for Lua. `local mw = require "moonwarp"`.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"

local mw = {
  ---The version, "0.1.0".
  version = raw.version,
  ---The binding in use: "c" (the Lua C module) or "ffi" (LuaJIT's FFI).
  binding = raw.binding,
  ---The null pointer, for pointer fields in tables (where nil would be a missing field).
  null = raw.null,
  ---The compile cache: hits, misses, bytes, entries, path, limit (which can be assigned) and clear().
  cache = require "moonwarp.cache",
  ---Linear algebra: equations, factorisations, eigenvalues, norms.
  linalg = {},
  ---Discrete Fourier transforms: fft, ifft, rfft, irfft, fft2, fftn, …, fftshift, fftfreq.
  fft = {},
  ---Messages between devices: NCCL between GPUs, an emulation between CPU devices.
  nccl = {},
  ---Arrays that are distributed over the ranks of a communicator.
  dist = {},
  ---MPI: the same script in many processes.
  mpi = {},
}

-- A file whose own functions are not all public lists the public ones in `public`.
local function add(part)
  local read = raw.part(part)
  arguments.functions("mw", read.public or read, mw)
end

for _, name in ipairs { "array", "device", "texture.image", "module.module", "stream" } do add(name) end

-- Files that many scripts never use are loaded when the first of their functions is called; none of their objects can
-- be: reading files is most of what `require "moonwarp"` does.
local later = {
  complex = { "complex" },
  graph = { "graph", "capture" },
  ["texture.texture_memory"] = { "pitched", "cuda_array", "copy_region" },
  ["texture.texture"] = { "texture", "surface" },
  random = { "random", "seed", "rand", "randn", "randint", "randperm" },
  ["texture.opengl"] = { "gl_buffer", "gl_image" },
  ["watch.measure"] = { "measure" },
  ["array.files.npy"] = { "load_npy", "load_npz", "save_npy", "save_npz" },
  ["array.files.csv"] = { "read_csv", "write_csv" },
  ["array.files.wav"] = { "read_wav", "write_wav" },
  ["stepping.debug"] = { "debug" },
  ["watch.check"] = { "check", "allow_race" },
}
for part, names in pairs(later) do
  for _, name in ipairs(names) do
    mw[name] = function(...)
      add(part)
      return mw[name](...)
    end
  end
end
require "moonwarp.module.kernel"

-- Array computations are loaded when a script first uses a name that is not defined yet.
-- Views, reductions and scans add only methods; the tables that their files return are for other files.
local array_parts = { "array.operators", "array.user_defined", "array.moments", "array.quantile", "array.indices",
  "array.masks", "array.map", "array.lazy", "array.joining", "array.pattern_matrices", "array.order.sort",
  "array.order.search", "array.order.histogram", "array.linear.products", "array.linear.einsum", "array.complex",
  "array.dlpack", "module.sources", "fourier.convolve" }
local function read_array_parts()
  local parts = array_parts
  array_parts = {}
  if #parts > 0 then raw.part "array.views" end
  if #parts > 0 then raw.part "array.reduction" end
  for _, part in ipairs(parts) do add(part) end
  return #parts > 0
end

-- A missing name is an error. A module's names are those of its source; the binding looks them up.
for class, methods in pairs(raw.classes) do
  if class ~= "module" then
    methods.__missing = function(_, name)
      if class == "array" and read_array_parts() and rawget(methods, name) then return methods[name] end
      return raw.part("diagnostics.suggest").member(class, name)
    end
  end
end
setmetatable(mw, { __index = function(_, name)
  if type(name) ~= "string" then return nil end
  if read_array_parts() and rawget(mw, name) ~= nil then return mw[name] end
  raw.part("diagnostics.suggest").missing("moonwarp", name, mw)
end })

-- Tables of functions, loaded when a script first uses one of them.
for name, part in pairs { linalg = "linalg.linalg", fft = "fourier.fft", nccl = "nccl.nccl", dist = "dist.dist",
  mpi = "mpi.mpi" } do
  local read = false
  setmetatable(mw[name], { __index = function(functions, key)
    if type(key) ~= "string" then return nil end
    if not read then
      read = true
      read_array_parts()
      arguments.functions("mw." .. name, raw.part(part), functions)
    end
    return rawget(functions, key) or raw.part("diagnostics.suggest").missing("moonwarp." .. name, key, functions)
  end })
end

---Monotonic time in seconds, for measuring.
---@return number
mw.time = raw.time

---The class of a moonwarp object: "array", "module", "kernel", "symbol", "launch", "bound", "dtype", "device",
---"stream", "event", "pitched", "cuda_array", "texture", "surface", "graphics", "generator", "complex", "error" or
---"warning"; nil for any other value.
---@param value any
---@return string?
function mw.type(value)
  if errors.is(value) then return "error" end
  local warnings = package.loaded["moonwarp.diagnostics.warnings"]
  if warnings and warnings.is(value) then return "warning" end
  local metatable = type(value) == "table" and getmetatable(value)
  if type(metatable) == "table" and metatable.__made == "mw.random" then return "generator" end
  if metatable == raw.complex and metatable then return "complex" end
  return raw.type(value)
end

---How many blocks a multiprocessor holds at once, and which resource limits that number.
---@param what { threads: integer, registers?: integer, shared?: integer, capability?: string } of a block, a thread and
---a block; the capability is the device's in use, or any from "1.0" to "9.0"
---@return { blocks: integer, warps: integer, occupancy: number, limited_by: string }
function mw.occupancy(what)
  return raw.part("module.occupancy").calculate(what)
end

---@class moonwarp.tensor_map_options
---@field box? integer[] elements along each axis, as the array's shape
---@field im2col? { channels: integer, pixels: integer, lower?: integer[], upper?: integer[] } instead of a box: pixels,
---which lie along the axes before the last; the corners of their bounding box, for the axes between the first and the
---last, 0 by default
---@field step? integer[] between elements of the box, 1 by default
---@field swizzle? integer 32, 64 or 128 bytes
---@field interleave? integer 16 or 32 bytes
---@field promotion? integer 64, 128 or 256 bytes
---@field fill? string "zero" or "nan": what elements outside the array are
---@field type? string "tf32", "float_ftz" or "tf32_ftz" where it is not the dtype

---The bytes of a CUtensorMap (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col), an argument for a parameter
---`const __grid_constant__ CUtensorMap`: kernels copy boxes of the array by it, or pixels. The array has to live as
---long as the map is used. On GPUs from compute capability 9.0 on.
---@param array moonwarp.array
---@param options moonwarp.tensor_map_options
---@return string
function mw.tensor_map(array, options)
  return raw.part("module.tensor_map").encode(array, options)
end

---The number of blocks of b elements that cover a elements: a / b, rounded up.
---@param a integer
---@param b integer
---@return integer
function mw.cdiv(a, b)
  if b <= 0 then errors.usage("mw.cdiv wants a second number above 0, got %s", tostring(b)) end
  return math.floor((a + b - 1) / b)
end

arguments.functions("mw", mw, mw)
arguments.methods()

return mw
