-- mw.dist: distributed arrays, over a communicator of mw.mpi or mw.nccl.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local layouts = require "moonwarp.dist.layout"
local arrays = require "moonwarp.dist.array"

local usage = errors.usage
local dist = {}

---A layout of an array of this shape over the ranks of a communicator. All ranks make the same one.
---@param comm table of mw.mpi or mw.nccl
---@param shape integer|integer[] of the whole array
---@param options? { axis?: integer, grid?: integer[], block?: integer|integer[] } axis: the one that is divided, 1 by
---default; or grid: the number of ranks along each axis; block: the sizes of blocks that the ranks get in turn
---@return moonwarp.layout
function dist.layout(comm, shape, options) return layouts.new(comm, shape, options) end

local function check_layout(layout, where)
  if not layouts.is(layout) then
    usage("%s wants a layout, mw.dist.layout(comm, shape), got %s", where, raw.describe(layout))
  end
  return layout
end

---A distributed array of one value.
---@param layout moonwarp.layout
---@param value any
---@param dtype? moonwarp.dtype "float" by default
---@return moonwarp.dist_array
function dist.full(layout, value, dtype)
  local part = raw.array_new(dtype, check_layout(layout, "mw.dist.full"):part_shape())
  if part.count > 0 then part:fill(value) end
  return arrays.new(layout, part)
end

---A distributed array of zeros.
---@param layout moonwarp.layout
---@param dtype? moonwarp.dtype "float" by default
---@return moonwarp.dist_array
function dist.zeros(layout, dtype) return dist.full(layout, 0, dtype) end

---A distributed array of ones.
---@param layout moonwarp.layout
---@param dtype? moonwarp.dtype "float" by default
---@return moonwarp.dist_array
function dist.ones(layout, dtype) return dist.full(layout, 1, dtype) end

---A distributed array from this rank's part, which it keeps without a copy.
---@param layout moonwarp.layout
---@param part moonwarp.array of the shape layout:part_shape()
---@return moonwarp.dist_array
function dist.wrap(layout, part) return arrays.new(check_layout(layout, "mw.dist.wrap"), part) end

---A distributed array from an array that every rank has (or that broadcasts to the layout's shape).
---@param layout moonwarp.layout
---@param a moonwarp.array
---@return moonwarp.dist_array
function dist.from(layout, a)
  local part = arrays.local_part(check_layout(layout, "mw.dist.from"), a)
  return arrays.new(layout, part:broadcast_to(layout:part_shape()):copy())
end

---A distributed array from an array of one rank.
---@param layout moonwarp.layout
---@param a? moonwarp.array ignored at other ranks
---@param root? integer rank 0 by default
---@param dtype? moonwarp.dtype of the array, "float" by default: the other ranks do not see it
---@return moonwarp.dist_array
function dist.scatter(layout, a, root, dtype)
  root = root or 0
  local comm = check_layout(layout, "mw.dist.scatter").comm
  local mover = raw.part "dist.redistribution"
  local target = raw.array_new(dtype, layout:part_shape())
  if comm.rank == root then
    if layouts.text(a.shape) ~= layouts.text(layout.shape) or a.dtype ~= target.dtype then
      usage("mw.dist.scatter: the array is %s %s, and the layout is for %s %s", tostring(a.dtype),
        layouts.text(a.shape), tostring(target.dtype), layouts.text(layout.shape))
    end
  end
  local whole = mover.whole(layout.shape)
  mover.move(comm, a, function(rank) return rank == root and whole or nil end, target,
    function(rank) return layout:runs(rank) end)
  return arrays.new(layout, target)
end

---The positions 1, 2, … along an axis, at every element: for filling arrays by formulas.
---@param layout moonwarp.layout
---@param axis? integer 1 by default
---@param dtype? moonwarp.dtype "double" by default
---@return moonwarp.dist_array
function dist.positions(layout, axis, dtype)
  axis = axis or 1
  local n = check_layout(layout, "mw.dist.positions").shape[axis]
  if not n then usage("mw.dist.positions: axis %d of an array with %d axes", axis, #layout.shape) end
  local shape = {}
  for d = 1, #layout.shape do shape[d] = d == axis and n or 1 end
  local line = raw.part("array").linspace(1, math.max(n, 1), math.max(n, 1), dtype or "double")
  return dist.from(layout, n > 0 and line:reshape(shape) or raw.array_new(dtype or "double", shape))
end

---An expression of elements as one kernel, as mw.map: its array arguments may be distributed.
---@param text string|table
---@param values table by name: distributed arrays of one layout, arrays that every rank has, numbers
---@param options? { dtype?: moonwarp.dtype }
---@return moonwarp.dist_array ...
function dist.map(text, values, options)
  local names, list = {}, {}
  for name, value in pairs(values) do
    names[#names + 1], list[#list + 1] = name, value
  end
  local parts, layout = arrays.parts_of("mw.dist.map", list)
  if not layout then usage "mw.dist.map wants a distributed array among its arguments; mw.map is for others" end
  local inner = {}
  for i, name in ipairs(names) do inner[name] = parts[i] end
  local results = { raw.part("array.map").map(text, inner, options) }
  for i, result in ipairs(results) do results[i] = arrays.new(layout, result) end
  return (table.unpack or unpack)(results) -- luacheck: ignore 143
end

---A function of arrays of elements, fused into one kernel by mw.fuse, that takes distributed arrays.
---@param f function
---@return fun(...): moonwarp.dist_array
function dist.fuse(f)
  local fused = raw.part("array.lazy").public.fuse(f)
  return function(...) return arrays.apply("a fused function", fused, select("#", ...), ...) end
end

---Uniform random numbers: those that the generator draws for the whole array on one machine.
---@param layout moonwarp.layout
---@param generator table mw.random(seed), with the same seed on every rank
---@param options? { dtype?: moonwarp.dtype }
---@return moonwarp.dist_array
function dist.uniform(layout, generator, options)
  return raw.part("dist.random").draw("uniform", layout, generator, options)
end

---Normal random numbers: those that the generator draws for the whole array on one machine.
---@param layout moonwarp.layout
---@param generator table
---@param options? { dtype?: moonwarp.dtype, mean?: number, std?: number }
---@return moonwarp.dist_array
function dist.normal(layout, generator, options)
  return raw.part("dist.random").draw("normal", layout, generator, options)
end

---Random words: those that the generator draws for the whole array on one machine.
---@param layout moonwarp.layout
---@param generator table
---@return moonwarp.dist_array
function dist.bits(layout, generator) return raw.part("dist.random").draw("bits", layout, generator) end

---The discrete Fourier transform along one axis.
---@param d moonwarp.dist_array of one axis: n1 × n2 elements are divided among the ranks, a prime number of them is one
---rank's work
---@param options? { axis?: integer, norm?: string } the last axis by default; norm: as for mw.fft.fft
---@return moonwarp.dist_array
function dist.fft(d, options) return raw.part("dist.fourier").fft(d, options) end

---The inverse transform along one axis.
---@param d moonwarp.dist_array
---@param options? { axis?: integer, norm?: string }
---@return moonwarp.dist_array
function dist.ifft(d, options) return raw.part("dist.fourier").ifft(d, options) end

---The discrete Fourier transform along all axes, or some.
---@param d moonwarp.dist_array
---@param options? { axes?: integer[], norm?: string }
---@return moonwarp.dist_array
function dist.fftn(d, options) return raw.part("dist.fourier").fftn(d, options) end

---The inverse transform along all axes, or some.
---@param d moonwarp.dist_array
---@param options? { axes?: integer[], norm?: string }
---@return moonwarp.dist_array
function dist.ifftn(d, options) return raw.part("dist.fourier").ifftn(d, options) end

---Read an array from an .npy file that all ranks see: each reads its own rows.
---@param comm table
---@param path string
---@param options? { axis?: integer, grid?: integer[], block?: integer|integer[] } of the layout, as for mw.dist.layout
---@return moonwarp.dist_array
function dist.load_npy(comm, path, options) return raw.part("dist.files").load(comm, path, options) end

---Read the arrays of an .npz file that all ranks see: each reads its own rows. Compressed arrays are read whole by all.
---@param comm table
---@param path string
---@param options? { axis?: integer, grid?: integer[], block?: integer|integer[] } of the layouts, as for mw.dist.layout
---@return table<string, moonwarp.dist_array> by name
function dist.load_npz(comm, path, options) return raw.part("dist.files").load_npz(comm, path, options) end

---Write arrays as an .npz file, which numpy.load reads. Each rank writes its rows, into a file that all ranks see.
---@param path string
---@param list table<string, moonwarp.dist_array> by name, of one communicator
function dist.save_npz(path, list) raw.part("dist.files").save_npz(path, list) end

---The shape and the dtype of an .npy file, of which only the header is read.
---@param path string
---@return integer[] shape
---@return moonwarp.dtype dtype
function dist.npy_shape(path)
  local facts = raw.part("dist.files").header(path)
  return facts.shape, facts.dtype
end

for _, part in ipairs { "reduction", "statistics", "sort", "product", "files" } do raw.part("dist." .. part) end
arrays.finish()

return dist
