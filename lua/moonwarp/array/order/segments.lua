-- Reductions, scans and sorts by keys: a segment is a run of neighbouring elements along an axis whose keys are equal.
--
-- A scan by keys is a scan of pairs, of an accumulator and whether its segment begins in it: an element that begins a
-- segment forgets what is before it. So every scan has a form by keys, and its result depends neither on the number of
-- threads nor on the lengths of the segments. segment_reduction.lua reduces segments.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local kernels = require "moonwarp.array.kernels"
local scan = require "moonwarp.array.scan"
local segment_reduction = require "moonwarp.array.order.segment_reduction"

local usage = errors.usage

local M = {}

-- ---- the kernels ----

-- Each element with whether it begins a segment.
local MEMBER = [[
struct member_ { T_ x; bool begins; };
]]

local operation = MEMBER .. [[
// A flag as large as the accumulator's alignment leaves no padding, which a warp would shuffle.
template <int ALIGNMENT> struct flag_ { typedef long long type; };
template <> struct flag_<1> { typedef char type; };
template <> struct flag_<2> { typedef short type; };
template <> struct flag_<4> { typedef int type; };
struct segment_ { A_ value; flag_<alignof(A_)>::type begins; };
struct operation_ {
  typedef member_ T;
  typedef segment_ A;
  typedef R_ R;
  __device__ static inline A start(A first) { return first; }
  __device__ static inline A map(T m, long long i) {
    A_ value = map_(m.x, i);
    if (m.begins) value = $START;
    A r = { value, m.begins };
    return r;
  }
  __device__ static inline A combine(A a, A b) {
    if (b.begins) return b;
    A r = { combine_(a.value, b.value), a.begins };
    return r;
  }
  __device__ static inline R finish(A a) { return finish_(a.value, 0); }
};
]]

local describe = [[
extern "C" __global__ void describe(int *out) {
  out[0] = sizeof(segment_);
  out[1] = sizeof(member_);
}
extern "C" __global__ void join(long long count, long long length, long long inner, const void *x, const bool *begins,
    void *members) {
  long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  member_ m = { ((const T_ *)x)[k], begins[k / inner % length] };
  ((member_ *)members)[k] = m;
}
]]

local THREADS = 256

-- The form by keys of a scan (an object of scan.new).
local function segmented(made)
  if not made.by_keys then
    local spec = {}
    for key, value in pairs(made.spec) do spec[key] = value end
    spec.bytes = nil
    local start = spec.init and "combine_(init_(), value)" or "value"
    made.by_keys = scan.new(spec, (operation:gsub("%$START", start)), describe)
  end
  return made.by_keys
end

-- ---- keys ----

local function array_of(what, keys)
  if raw.type(keys) == "array" then return keys end
  if type(keys) ~= "table" then usage("%s: keys is an array or a table, got %s", what, raw.describe(keys)) end
  local dtype = "longlong"
  for _, key in ipairs(keys) do
    if type(key) ~= "number" then usage("%s: keys are numbers, got %s", what, raw.describe(key)) end
    if key % 1 ~= 0 then dtype = "double" end
  end
  return raw.array_from(keys, dtype)
end

---The segments of keys: whether each element begins one, the positions of those that do, and the keys.
---@param what string the function's name, for messages
---@param keys moonwarp.array|table
---@param x moonwarp.array
---@param length integer elements along the axis
---@param axis? integer nil: the keys are those of all elements
---@return moonwarp.array begins of bool
---@return moonwarp.array keys
function M.of(what, keys, x, length, axis)
  keys = kernels.on(x.device, array_of, what, keys)
  if keys.rank ~= 1 or keys.count ~= length then
    usage("%s: keys has one key for each of the %d elements%s, {%d}; got %s", what, length,
      axis and " along axis " .. axis or "", length, views.shape_text(keys.shape))
  end
  local begins = kernels.empty(x.device, "bool", { length })
  if length > 0 then begins:sub(1, 1):fill(true) end
  if length > 1 then begins:sub(2, length):assign(keys:sub(2, length):ne(keys:sub(1, length - 1))) end
  return begins, keys
end

-- The axis, and the shape of which it is one: of all elements in row order without an axis.
local function axis_of(what, options, x)
  local axis = options.axis
  if type(axis) == "table" then
    if #axis ~= 1 then usage("%s with keys works along one axis, got %d", what, #axis) end
    axis = axis[1]
  end
  if axis == nil then return 1, { x.count } end
  return views.axis(what, axis, x.rank), x.shape
end

-- Scan by segments: y has the shape.
local function run(of, x, shape, axis, begins)
  local y = kernels.empty(x.device, of.dtype, shape)
  if x.count == 0 then return y end
  local m = of.module(x.device)
  if not of.described then
    local out = kernels.empty(x.device, "int", { 2 })
    m.describe(1, 1)(out)
    of.described, of.size = { accumulator = out[1] }, out[2]
  end
  local outer, length, inner = kernels.around(shape, axis)
  local members = kernels.empty(x.device, "uchar", { x.count * of.size })
  m.join(kernels.blocks(x.count, THREADS), THREADS)(x.count, length, inner, x:contiguous(), begins, members)
  scan.run(of, x.device, members, y, outer, length, inner)
  kernels.release(members)
  return y
end

---A scan by keys.
---@param what string
---@param made table of scan.new
---@param x moonwarp.array
---@param options { keys: moonwarp.array|table, axis?: integer, out?: moonwarp.array }
---@return moonwarp.array
function M.scan(what, made, x, options)
  local axis, shape = axis_of(what, options, x)
  local begins = M.of(what, options.keys, x, shape[axis], options.axis and axis)
  if options.out ~= nil then kernels.check_wider(what, options.out, made.dtype, shape) end
  local of = segmented(made)
  of.dtype = made.dtype
  return kernels.deliver(options.out, run(of, x, shape, axis, begins))
end

---A reduction by keys: one result for each segment, in place of the axis.
---@param what string
---@param made table of reduction.new
---@param x moonwarp.array
---@param options { keys: moonwarp.array|table, axis?: integer, out?: moonwarp.array }
---@return moonwarp.array values
---@return moonwarp.array keys of the segments
function M.reduce(what, made, x, options)
  local axis, shape = axis_of(what, options, x)
  local begins, keys = M.of(what, options.keys, x, shape[axis], options.axis and axis)
  local first = begins:nonzero()
  local result = {}
  for d, size in ipairs(shape) do result[d] = d == axis and first.count or size end
  if options.out ~= nil then kernels.check_wider(what, options.out, made.dtype, result) end
  local values = kernels.empty(x.device, made.dtype, result)
  local outer, length, inner = kernels.around(shape, axis)
  segment_reduction.run(made, x:contiguous(), outer, length, inner, first, values)
  return kernels.deliver(options.out, values), keys:take(first)
end

---The positions that sort each segment by itself along an axis.
---@param what string
---@param x moonwarp.array
---@param axis integer
---@param keys moonwarp.array|table
---@param order moonwarp.array the positions that sort all elements along the axis
---@return moonwarp.array of longlong
function M.order(what, x, axis, keys, order)
  local begins = M.of(what, keys, x, x.shape[axis], axis)
  local segment = begins:cumsum():to "uint":take(order)
  return order:gather(axis, segment:argsort { axis = axis })
end

return M
