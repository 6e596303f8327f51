-- Grids, pattern matrices and diagonals: meshgrid, eye, tri, diag, tril, triu and trace.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"

local usage = errors.usage
local array = raw.classes.array

local M = {}

---Coordinates of a grid: for vectors of n and m numbers, arrays of shape {m, n}, or {n, m} with indexing = "ij".
---@param ... moonwarp.array vectors, then perhaps { indexing = "xy"|"ij" }
---@return moonwarp.array ... several: as many as vectors
function M.meshgrid(...)
  local vectors, options = { ... }, {}
  local last = vectors[#vectors]
  if type(last) == "table" and not raw.type(last) then
    options = given.options("mw.meshgrid", table.remove(vectors), { "indexing" }, {})
  end
  local indexing = options.indexing or "xy"
  if indexing ~= "xy" and indexing ~= "ij" then
    usage('mw.meshgrid: indexing is "xy" or "ij", got %s', raw.describe(indexing))
  end
  local rank, order, shape = #vectors, {}, {}
  if rank == 0 then usage "mw.meshgrid wants vectors, as in mw.meshgrid(x, y)" end
  for d = 1, rank do order[d] = d end
  if indexing == "xy" and rank > 1 then order[1], order[2] = 2, 1 end
  for d = 1, rank do
    local vector = given.array("mw.meshgrid", vectors[d])
    if vector.rank ~= 1 then
      usage("mw.meshgrid wants vectors; argument %d is %s", d, views.shape_text(vector.shape))
    end
    shape[order[d]] = vector.count
  end
  local grids = {}
  for d = 1, rank do
    local along = {}
    for k = 1, rank do along[k] = 1 end
    along[order[d]] = vectors[d].count
    grids[d] = vectors[d]:contiguous():reshape(along):broadcast_to(shape):copy()
  end
  return (table.unpack or unpack)(grids, 1, rank)
end

-- ---- by row and column ----

local functions = {}

-- A function of elements of matrices with m columns: an expression of row, column and k, and of x.
local function by_place(y, name, expression, m, k, x)
  if y.count == 0 then return y end
  local of = promotion.number(y.dtype, name)
  local C = of.kind == "complex" and of.compute or of.C
  local key = y.device.name .. " " .. name .. " " .. y.dtype
  local f = functions[key]
  if not f then
    f = given.on_device_of(y, raw.elementwise_new, {
      name = name:gsub("%W", "_"), index = true,
      body = ("const long long row = i / m %% n, column = i %% m;\n  y = (%s)(%s);"):format(C,
        (expression:gsub("%$C", C))),
      operands = { { "y", "out", y.dtype }, { "n", "scalar", "longlong" }, { "m", "scalar", "longlong" },
        { "k", "scalar", "longlong" }, x and { "x", "in", x.dtype } or nil },
    })
    functions[key] = f
  end
  local rows = y.shape[y.rank - 1]
  raw.elementwise_run(f, y, rows, m, k, x)
  return y
end

-- (n, m, dtype), (n, m, {k =, dtype =}): the first argument that is not a number ends the sizes.
local function pattern(what, expression, n, ...)
  given.whole(what, n, 0, "the number of rows")
  local m, options = ...
  if type(m) ~= "number" then m, options = nil, m end
  if m ~= nil then given.whole(what, m, 0, "the number of columns") else m = n end
  options = given.options(what, options, { "dtype", "k" }, { "string" })
  local k = options.k
  if k == nil then k = 0 end
  given.whole(what, k, -math.huge, "k")
  return by_place(raw.array_new(options.dtype or "float", { n, m }), what, expression, m, k)
end

---A matrix with ones on a diagonal, and zeros elsewhere.
---@param n integer rows
---@param m? integer columns; n by default
---@param options? moonwarp.dtype|{ k?: integer, dtype?: moonwarp.dtype } k: how far the diagonal is to the right of the
---main one; or the dtype
---@return moonwarp.array
function M.eye(n, m, options) return pattern("mw.eye", "column - row == k", n, m, options) end

---A matrix with ones on a diagonal and to the left of it, and zeros elsewhere.
---@param n integer rows
---@param m? integer columns; n by default
---@param options? moonwarp.dtype|{ k?: integer, dtype?: moonwarp.dtype } as for mw.eye
---@return moonwarp.array
function M.tri(n, m, options) return pattern("mw.tri", "column - row <= k", n, m, options) end

local function triangle(what, expression)
  return function(self, k)
    if self.rank < 2 then usage("%s wants matrices, and this array has one dimension", what) end
    return by_place(given.new(self, self.dtype, self.shape), what, expression, self.shape[self.rank],
      k == nil and 0 or k, self)
  end
end

local lower = triangle("a:tril", "column - row <= k ? ($C)x : ($C)0")
local upper = triangle("a:triu", "column - row >= k ? ($C)x : ($C)0")

---Matrices with their elements to the right of a diagonal set to zero.
---@param k? integer how far it is to the right of the main one
---@return moonwarp.array
function array:tril(k) return lower(self, k) end

---Matrices with their elements to the left of a diagonal set to zero.
---@param k? integer how far it is to the right of the main one
---@return moonwarp.array
function array:triu(k) return upper(self, k) end

---@param a moonwarp.array
---@param k? integer
---@return moonwarp.array see a:tril
function M.tril(a, k) return a:tril(k) end

---@param a moonwarp.array
---@param k? integer
---@return moonwarp.array see a:triu
function M.triu(a, k) return a:triu(k) end

-- ---- diagonals ----

-- The diagonal of two axes as a view, in which it is the last axis.
local function diagonal(what, x, k, first, second)
  local rank = x.rank
  first, second = views.axis(what, first, rank), views.axis(what, second, rank)
  if first == second then usage("%s wants two different axes, got axis %d twice", what, first) end
  local shape, strides, new_shape, new_strides = x.shape, x.strides, {}, {}
  for d = 1, rank do
    if d ~= first and d ~= second then
      new_shape[#new_shape + 1], new_strides[#new_strides + 1] = shape[d], strides[d]
    end
  end
  local rows, columns = shape[first] - math.max(0, -k), shape[second] - math.max(0, k)
  local count = math.max(0, math.min(rows, columns))
  local offset = count > 0 and math.max(0, k) * strides[second] + math.max(0, -k) * strides[first] or 0
  new_shape[#new_shape + 1], new_strides[#new_strides + 1] = count, strides[first] + strides[second]
  return raw.array_strided(x, offset, nil, new_shape, new_strides)
end

---The diagonal of a matrix as a view; of an array with more dimensions, the diagonals of the matrices in the last two.
---Of a vector, the matrix that has the vector on its diagonal.
---@param k? integer how far the diagonal is to the right of the main one
---@return moonwarp.array
function array:diag(k)
  k = given.whole("a:diag", k == nil and 0 or k, -math.huge, "k")
  if self.rank > 1 then return diagonal("a:diag", self, k, -2, -1) end
  local n = self.count + math.abs(k)
  local y = given.new(self, self.dtype, { n, n })
  if n > 0 then
    y:as "uchar":fill(0)
    if self.count > 0 then diagonal("a:diag", y, k, 1, 2):assign(self) end
  end
  return y
end

---@param a moonwarp.array
---@param k? integer
---@return moonwarp.array see a:diag
function M.diag(a, k) return a:diag(k) end

---The sum of a matrix's diagonal; of more dimensions, of the diagonals of two axes, the first two by default.
---@param options? integer|{ k?: integer, axis?: integer[], out?: moonwarp.array } or k
---@return number|moonwarp.array
function array:trace(options)
  options = given.options("a:trace", options, { "k", "axis", "out" })
  if self.rank < 2 then usage "a:trace wants a matrix, and this array has one dimension" end
  local axes = options.axis or { 1, 2 }
  if type(axes) ~= "table" or #axes ~= 2 then usage "a:trace wants two axes, as in axis = {1, 2}" end
  local k = given.whole("a:trace", options.k or 0, -math.huge, "k")
  local line = diagonal("a:trace", self, k, axes[1], axes[2])
  if self.rank == 2 and not options.out then return line:sum() end
  return line:sum { axis = -1, out = options.out }
end

---@param a moonwarp.array
---@param options? integer|table
---@return number|moonwarp.array see a:trace
function M.trace(a, options) return a:trace(options) end

return M
