-- Access to elements by index arrays: take, put, gather, scatter_add, and a[indices].
--
-- An index counts from 1, or from the end if it is negative. All are checked before anything is written: the first that
-- is out of range raises an error with its position.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"
local overlap = require("moonwarp.array.call_arguments").overlap
local views = require "moonwarp.array.views"

local usage, shape_text = errors.usage, views.shape_text
local array = raw.classes.array

local M = { public = {} }

-- ---- the kernels ----

local taking = [[
#include <moonwarp/algorithms/indices.h>
$ELEMENT
// kernels
extern "C" __global__ void take(long long outer, long long length, long long inner, long long count, const void *x,
    const $I *index, void *y, void *wrong) {
  moonwarp::take(outer, length, inner, count, (const element_ *)x, index, (element_ *)y, (unsigned long long *)wrong);
}
extern "C" __global__ void take_flat(int length, int count, const void *x, const $I *index, void *y, void *wrong) {
  moonwarp::take_flat(length, count, (const element_ *)x, index, (element_ *)y, (unsigned long long *)wrong);
}
]]

local placing = [[
#include <moonwarp/algorithms/indices.h>
// kernels
extern "C" __global__ void places(long long outer, long long length, long long inner, long long count,
    const $I *index, long long *places, void *wrong) {
  moonwarp::places(outer, length, inner, count, index, places, (unsigned long long *)wrong);
}
]]

local moving = [[
#include <moonwarp/algorithms/indices.h>
$ELEMENT
// kernels
extern "C" __global__ void gather(long long count, const long long *places, const void *x, void *y) {
  moonwarp::gather(count, places, (const element_ *)x, (element_ *)y);
}
extern "C" __global__ void claim(long long count, const long long *places, unsigned long long *owners) {
  moonwarp::claim(count, places, owners);
}
extern "C" __global__ void put(long long outer, long long length, long long inner, long long count,
    const long long *places, const unsigned long long *owners, long long values, const void *v, void *x) {
  moonwarp::put(outer, length, inner, count, places, owners, values, (const element_ *)v, (element_ *)x);
}
]]

local made = {}

-- Compile the kernels of a text after filling in its fields.
local function module_of(text, fields, device)
  local source = text:gsub("%$(%u+)", fields)
  made[source] = made[source] or kernels.module(source, "indices")
  return made[source](device)
end

-- Elements are moved as words of their size.
local words = { { 8, "unsigned long long" }, { 4, "unsigned" }, { 2, "unsigned short" }, { 1, "unsigned char" } }
local function element_of(dtype)
  local size = raw.dtype_size(dtype)
  for _, word in ipairs(words) do
    if size == word[1] then return ("typedef %s element_;"):format(word[2]) end
    if size % word[1] == 0 then return ("struct element_ { %s word[%d]; };"):format(word[2], size / word[1]) end
  end
end

-- ---- arguments ----

-- An argument as an index array, from an array of integers, a table or a number; and whether it was a number.
local function indices_of(what, given, device)
  if raw.type(given) == "array" then
    local kind = promotion.of(given.dtype, what).kind
    if kind ~= "int" and kind ~= "uint" then
      usage("%s: indices are whole numbers, as in an array of int or longlong; these are of %s", what, given.dtype)
    end
    return given:contiguous(), false
  elseif type(given) == "table" then
    if #given == 0 then return kernels.empty(device, "longlong", { 0 }), false end
    return kernels.on(device, raw.array_from, given, "longlong"), false
  elseif type(given) == "number" and given % 1 == 0 then
    return kernels.on(device, raw.array_from, { given }, "longlong"), true
  end
  return usage("%s: indices are an array of whole numbers, a table of them or one, got %s", what, raw.describe(given))
end

-- The array in which kernels report the first wrong index.
local function new_report(device) return kernels.empty(device, "longlong", { 1 }):fill(-1) end

-- Raise the error that the kernels reported.
local function check(what, report, indices, length)
  local k = tonumber(report[1])
  if k < 0 then return end
  local position, rest = {}, k
  for d = indices.rank, 1, -1 do
    local size = indices.shape[d]
    position[d], rest = ("%d"):format(rest % size + 1), math.floor(rest / size)
  end
  local value = indices:reshape(-1)[k + 1]
  usage("%s: index %s is %s, which is outside 1..%d%s", what,
    #position == 1 and position[1] or shape_text(position), tostring(value), length,
    value == 0 and " (Lua counts from 1)" or "")
end

local THREADS = 256
local function high(outer) return math.min(math.max(outer, 1), 65535) end

-- The positions (from 0, in the whole array) that the indices refer to.
local function places_of(what, indices, outer, length, inner, count)
  local device = indices.device
  local places, report = kernels.empty(device, "longlong", { indices.count }), new_report(device)
  if indices.count == 0 then return places end
  local m = module_of(placing, { I = promotion.of(indices.dtype, what).C }, device)
  m.places(kernels.blocks(indices.count, THREADS), THREADS)(outer, length, inner, count, indices, places, report)
  check(what, report, indices, length)
  return places
end

-- The values to write into elements of a dtype: contiguous, and sharing no memory with the array `into`, or with any
-- without it. They have the shape `shape`, or are one element that is repeated. Without a shape, any shape is accepted.
local function values_of(what, values, dtype, device, shape, into)
  local kind = raw.type(values)
  if kind ~= "array" and views.is_nested(dtype, values) then
    values = kernels.on(device, raw.array_from, values, dtype)
  elseif kind ~= "array" and type(values) == "table" and next(values) == nil then
    return kernels.empty(device, dtype, { 0 })
  elseif kind ~= "array" then
    return kernels.empty(device, dtype, { 1 }):fill(values)
  end
  if values.count == 1 then shape = { 1 } end
  if shape and table.concat(values.shape, " ") ~= table.concat(shape, " ") and values.count ~= 1 then
    if #values.shape > #shape then
      usage("%s: values of the shape %s do not fit the shape %s", what, shape_text(values.shape), shape_text(shape))
    end
    values = values:broadcast_to(shape)
  end
  local is_usable = values.dtype == dtype and values.is_contiguous and values.device.name == device.name
  if is_usable and into and not overlap(values, into) then return values end
  return kernels.empty(device, dtype, values.shape):assign(values)
end

-- ---- reading ----

-- x's elements at the indices, along its middle dimension.
local function take(what, x, indices, shape, outer, length, inner, out)
  if out ~= nil then kernels.check_out(what, out, x.dtype, shape) end
  local device, count = x.device, indices.count
  local y = kernels.empty(device, x.dtype, shape)
  if count * inner > 0 and (outer > 0 or length == 0) then
    local report = new_report(device)
    local m = module_of(taking, { ELEMENT = element_of(x.dtype), I = promotion.of(indices.dtype, what).C }, device)
    if (outer == 1 or length == 0) and inner == 1 and length < 2 ^ 31 and count < 2 ^ 31 - THREADS then
      m.take_flat(kernels.blocks(count, THREADS), THREADS)(length, count, x:contiguous(), indices, y, report)
    else
      m.take({ kernels.blocks(count * inner, THREADS), high(outer) }, THREADS)(outer, length, inner, count,
        x:contiguous(), indices, y, report)
    end
    check(what, report, indices, length)
  end
  return kernels.deliver(out, y)
end

---The elements at the indices: of all elements in row order, or along an axis. The result has the indices' shape in
---place of the axis. An index out of range raises an error with its position.
---@param indices moonwarp.array|table|integer whole numbers from 1; negative ones count from the end
---@param options? { axis?: integer, out?: moonwarp.array }
---@return any an array; with one number an element or, with an axis, an array without it
function array:take(indices, options)
  options = options or {}
  local index, single = indices_of("a:take", indices, self.device)
  if options.axis == nil then
    local y = take("a:take", self, index, index.shape, 1, self.count, 1, options.out)
    return single and options.out == nil and y[1] or y
  end
  local shape, result = self.shape, {}
  local axis = views.axis("a:take", options.axis, self.rank)
  for d = 1, axis - 1 do result[d] = shape[d] end
  if not (single and #shape > 1) then
    for _, size in ipairs(index.shape) do result[#result + 1] = size end
  end
  for d = axis + 1, #shape do result[#result + 1] = shape[d] end
  local outer, length, inner = kernels.around(shape, axis)
  local y = take("a:take", self, index, result, outer, length, inner, options.out)
  return single and #shape == 1 and options.out == nil and y[1] or y
end

-- The axis and the arguments of a function that takes (axis, indices, …) or (indices, …, {axis = …}).
local function with_axis(first, second, third, fourth)
  if type(first) == "number" and (raw.type(second) == "array" or type(second) == "table") then
    return first, second, third, fourth or {}
  end
  local options = type(third) == "table" and third or {}
  return options.axis, first, second, options
end

-- Check that indices have the array's shape except along the axis; returns the sizes outer, length, inner and count.
local function beside(what, x, index, axis)
  axis = views.axis(what, axis, x.rank)
  local shape, of = x.shape, index.shape
  local fits = #of == #shape
  for d = 1, #shape do fits = fits and (d == axis or of[d] == shape[d]) end
  if not fits then
    usage("%s: indices along axis %d of %s must have the array's other sizes; these are %s", what, axis,
      shape_text(shape), shape_text(of))
  end
  local outer, length, inner = kernels.around(shape, axis)
  return outer, length, inner, of[axis]
end

---The elements that the indices name along an axis, each at its index's position in the other dimensions (NumPy's
---take_along_axis): y[{i, j}] = a[{index[{i, j}], j}] for axis 1.
---@param axis integer
---@param indices moonwarp.array|table
---@param options? { out?: moonwarp.array }
---@return moonwarp.array of the indices' shape
function array:gather(axis, indices, options)
  if type(axis) ~= "number" then
    options = indices or {}
    axis, indices = options.axis or -1, axis
  end
  options = options or {}
  local index = indices_of("a:gather", indices, self.device)
  local outer, length, inner, count = beside("a:gather", self, index, axis)
  if options.out ~= nil then kernels.check_out("a:gather", options.out, self.dtype, index.shape) end
  local places = places_of("a:gather", index, outer, length, inner, count)
  local y = kernels.empty(self.device, self.dtype, index.shape)
  if index.count > 0 then
    local m = module_of(moving, { ELEMENT = element_of(self.dtype) }, self.device)
    m.gather(kernels.blocks(index.count, THREADS), THREADS)(index.count, places, self:contiguous(), y)
  end
  return kernels.deliver(options.out, y)
end

-- ---- writing ----

-- Call `work` with a contiguous array of self's elements, and write the elements back if that is a copy.
local function in_place(self, work)
  if self.is_contiguous and not self.is_read_only then
    work(self)
  else
    local copy = self:copy()
    work(copy)
    self:assign(copy)
  end
  return self
end

-- x[o][index[j]][i] = v[o][j][i]; if indices are equal, the last one's value remains.
local function put(what, self, index, values, outer, length, inner)
  local count, device = index.count, self.device
  local places = places_of(what, index, 1, length, 1, count)
  if count * inner * outer == 0 then return self end
  if values.count == 0 then usage("%s: there are no values for %d indices", what, count) end
  local owners = kernels.empty(device, "ulonglong", { length }):fill(0)
  local m = module_of(moving, { ELEMENT = element_of(self.dtype) }, device)
  m.claim(kernels.blocks(count, THREADS), THREADS)(count, places, owners)
  return in_place(self, function(x)
    m.put({ kernels.blocks(count * inner, THREADS), high(outer) }, THREADS)(outer, length, inner, count, places, owners,
      values.count, values, x)
  end)
end

---Write values to the elements at the indices, in row order. If there are fewer values than indices, they are repeated.
---If several values are for one element, the last one remains.
---@param indices moonwarp.array|table|integer whole numbers from 1; negative ones count from the end
---@param values any an array, a table or one value; numbers are converted
---@return moonwarp.array self
function array:put(indices, values)
  local index = indices_of("a:put", indices, self.device)
  return put("a:put", self, index, values_of("a:put", values, self.dtype, self.device, nil, self), 1, self.count, 1)
end

-- a[indices]: rows (or elements) along the first axis.
function M.select(self, indices) return array.take(self, indices, { axis = 1 }) end

-- a[indices] = values, an array that broadcasts to a[indices], or one value.
function M.assign(self, indices, values)
  local index, shape = indices_of("a[indices]", indices, self.device), self.shape
  local result = index.shape
  for d = 2, #shape do result[#result + 1] = shape[d] end
  local outer, length, inner = kernels.around(shape, 1)
  values = values_of("a[indices]", values, self.dtype, self.device, result, self)
  put("a[indices]", self, index, values, outer, length, inner)
end

-- ---- adding ----

local adding = [[
#include <moonwarp/algorithms/indices.h>
#include <moonwarp/algorithms/partition.h>
typedef $T T_;
typedef $I I_;
typedef moonwarp::placed<$P, T_> placed_;
struct where_ {
  __device__ static inline long long place(I_ index, long long length) { return $PLACE; }
};
// kernels
extern "C" __global__ void add_atomically(long long count, long long values, const long long *places, const T_ *v,
    T_ *x) {
  long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) atomicAdd(x + places[k], v[k % values]);
}
extern "C" __global__ void partition_count(long long count, long long chunk, int chunks, int buckets, int shift,
    long long length, const I_ *index, long long *counts, void *wrong) {
  moonwarp::partition_count<where_>($THREAD, count, chunk, chunks, buckets, shift, length, index, counts,
    (unsigned long long *)wrong);
}
extern "C" __global__ void partition_distribute(long long count, long long chunk, int chunks, int buckets, int shift,
    long long length, long long values, const I_ *index, const T_ *v, long long *next, void *out) {
  moonwarp::partition_distribute<where_>($THREAD, count, chunk, chunks, buckets, shift, length, values, index, v, next,
    (placed_ *)out);
}
extern "C" __global__ void add_in_order(int buckets, const long long *ends, const void *from, T_ *x) {
  moonwarp::add_in_order($THREAD, buckets, ends, (const placed_ *)from, x);
}
]]

local BUCKETS, CHUNK, CHUNKS = 512, 4096, 256
-- A GPU's blocks have 8 threads: each has much work, so many small blocks keep it busy. On CPUs a block is one thread,
-- and the kernels do not ask for its number: so all is scalar from the first launch on.
local function block_of(device)
  if device.name:find "^cpu" then return 1, "blockIdx.x" end
  return 8, "blockIdx.x * blockDim.x + threadIdx.x"
end

-- x[index[k]] += v[k] for k in increasing order, where the indices are checked, or with `are_places` places from 0.
local function add_in_order(what, x, index, values, are_places)
  local count, device, buckets, shift = index.count, x.device, x.count, 0
  while buckets > BUCKETS do
    shift = shift + 1
    buckets = math.floor((x.count - 1) / 2 ^ shift) + 1
  end
  local is_narrow = x.count <= 2 ^ 32 and raw.dtype_size(x.dtype) == 4
  local block, thread = block_of(device)
  local m = module_of(adding, { THREAD = thread, T = promotion.of(x.dtype, what).C,
    I = promotion.of(index.dtype, what).C, P = is_narrow and "unsigned" or "long long",
    PLACE = are_places and "index" or "moonwarp::place_of(index, length)" }, device)
  local chunk = math.max(CHUNK, kernels.blocks(count, CHUNKS))
  local chunks = kernels.blocks(count, chunk)
  local counts, report = kernels.empty(device, "longlong", { chunks, buckets }):fill(0), new_report(device)
  local grid = kernels.blocks(chunks, block)
  m.partition_count(grid, block)(count, chunk, chunks, buckets, shift, x.count, index, counts, report)
  if not are_places then check(what, report, index, x.count) end
  local ends = counts:transpose():cumsum():reshape(buckets, chunks)
  local next = (ends:transpose() - counts):contiguous()
  local sorted = kernels.empty(device, "uchar", { count * (is_narrow and 8 or 16) })
  m.partition_distribute(grid, block)(count, chunk, chunks, buckets, shift, x.count, values.count, index, values, next,
    sorted)
  m.add_in_order(kernels.blocks(buckets, block), block)(buckets, ends[{ {}, chunks }]:contiguous(), sorted, x)
  kernels.release(sorted)
end

-- The type in which elements are added. Integers wrap; narrow ones do so when they are converted back.
local function sum_type(what, dtype)
  local of = promotion.of(dtype, what)
  if of.kind == "bool" then usage("%s adds numbers, and this array is bool", what) end
  if of.kind == "float" then return of.bits == 64 and "double" or "float", true end
  return of.bits == 64 and "ulonglong" or "uint", false
end

---Add values to the elements at the indices, in place: in row order; or, with an axis, each at its own position in the
---other dimensions, as a:gather reads. If several values are for one element, all are added. Integer sums are exact;
---floating-point ones are added in the order of the indices.
---@param ... any indices and values; or axis, indices and values. The values are a number, or an array that broadcasts
---to the indices' shape
---@return moonwarp.array self
function array:scatter_add(...)
  local what = "a:scatter_add"
  local axis, given, values = with_axis(...)
  local index = indices_of(what, given, self.device)
  local outer, length, inner, count = 1, self.count, 1, index.count
  if axis ~= nil then outer, length, inner, count = beside(what, self, index, axis) end
  local sum, is_float = sum_type(what, self.dtype)
  if raw.type(values) == "array" and promotion.of(values.dtype, what).kind == "float" and not is_float then
    usage("%s: values of %s do not go into an array of %s; v:to(…) converts", what, values.dtype, self.dtype)
  end
  if values == nil then usage("%s wants values to add, an array or a number", what) end
  values = values_of(what, values, is_float and sum or self.dtype, self.device, index.shape, self)
  if sum ~= values.dtype then values = kernels.empty(self.device, sum, values.shape):assign(values) end
  if index.count == 0 then return self end
  local is_flat = outer == 1 and inner == 1
  local places = not (is_float and is_flat) and places_of(what, index, outer, length, inner, count)
  local function add(x)
    if is_float then return add_in_order(what, x, places or index, values, not is_flat) end
    local m = module_of(adding, { T = promotion.of(sum, what).C, I = "int", P = "int", PLACE = "0", THREAD = "0" },
      self.device)
    m.add_atomically(kernels.blocks(places.count, THREADS), THREADS)(places.count, values.count, places, values, x)
  end
  if raw.dtype_size(self.dtype) == raw.dtype_size(sum) then
    return in_place(self, function(x)
      add(is_float and x or x:as(sum))
    end)
  end
  local wide = kernels.empty(self.device, sum, self.shape):assign(self)
  add(wide)
  return self:assign(wide)
end

-- ---- as functions ----

for _, name in ipairs { "take", "put", "gather", "scatter_add" } do
  M.public[name] = function(a, ...)
    if raw.type(a) ~= "array" then usage("mw.%s wants an array, got %s", name, raw.describe(a)) end
    return array[name](a, ...)
  end
end

return M
