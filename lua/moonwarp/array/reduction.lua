-- Reductions: a function of all elements of an array, or of those along some axes.
--
-- The array is seen as outer x length x inner elements in row order, of which `length` become one. The elements of each
-- outer index are cut into chunks whose size depends only on the shape; a block reduces a chunk in a fixed order, and
-- the chunks' results are reduced in a fixed order. So a result depends neither on the number of threads nor on the
-- device.
--
-- A reduction is made from CUDA C: `init`, the accumulator of no elements; `map`, the accumulator of the element x at
-- position i (from 0) along the axes; `combine`, which merges the accumulators a and b; `finish`, the result of the
-- accumulator.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local views = require "moonwarp.array.views"
local kernels = require "moonwarp.array.kernels"
local accumulators = require "moonwarp.array.accumulators"
local text = require "moonwarp.array.reduction_kernels"

local usage = errors.usage
local array = raw.classes.array

local M = {}

-- ---- kernels ----

local THREADS = 256
local WIDE = 512 -- columns of a block on the CPU device: long pieces of each row
local CHUNK = 64 -- elements of a chunk for each thread, if there are enough
local SHORT = 8192 -- the longest rows that a warp reduces; more threads reduce longer ones

---A reduction made from CUDA C, compiled when it is first used on a device.
---@param spec table of accumulators.lua, and result_dtype
---@return table
function M.new(spec)
  local fields = { SPEC = accumulators.text(spec), DESCRIBE = accumulators.DESCRIBE, THREADS = tostring(THREADS) }
  local source = text:gsub("%$(%u+)", fields)
  return { dtype = spec.result_dtype, source = source, module = kernels.module(source, "reduction", spec), spec = spec }
end

local cdiv = kernels.blocks

-- A grid: a number where one is enough, which costs no table.
local function grid(x, y) return y == 1 and x or { x, y } end

-- Reduce the outer x length x inner elements of x, a contiguous array, into y.
local function run(reduction, x, outer, length, inner, y)
  local device = x.device
  local m, outputs = reduction.module(device), outer * inner
  local on_cpu = device.name:find "^cpu" ~= nil
  if reduction.place and reduction.place(x, outer, length, inner, y, on_cpu) then return end
  if inner == 1 and length <= 32 then return m.few(cdiv(outer, THREADS), THREADS)(outer, length, x, y) end
  if inner > THREADS and length <= 256 and outer <= 65535 then
    return m.down(grid(cdiv(inner, THREADS), outer), THREADS)(length, inner, x, y)
  end
  if length <= 32 or (inner > THREADS and length <= 256) then
    return m.each(cdiv(outputs, THREADS), THREADS)(outputs, length, inner, x, y)
  end
  local is_narrow = inner <= THREADS
  local threads = is_narrow and inner == 1 and length <= SHORT and 32 or THREADS
  local step = math.floor(threads / inner) * inner
  local chunk = is_narrow and step * math.max(CHUNK, cdiv(length * inner, step * 8192))
    or math.max(256, cdiv(length, 1024))
  local chunks = is_narrow and cdiv(length * inner, chunk) or cdiv(length, chunk)
  local is_whole = is_narrow and chunks == 1
  local size = is_whole and 0 or accumulators.describe(reduction, device).accumulator
  local parts = not is_whole and kernels.empty(device, "uchar", { math.max(1, outputs * chunks * size) }) or nil
  for first = 0, outer - 1, 65535 do
    local count = math.min(65535, outer - first)
    local from, to, result = x, parts, y
    if first > 0 then
      from = x:reshape(-1):sub(first * length * inner + 1)
      to = parts and parts:sub(first * chunks * inner * size + 1)
      result = y:reshape(-1):sub(first * inner + 1)
    end
    if inner == 1 then
      m.lines(grid(chunks, count), threads)(length, chunk, from, to, result)
    elseif is_narrow then
      m.rows(grid(chunks, count), threads)(length, inner, step, chunk, from, to, result)
    else
      local wide = on_cpu and WIDE or THREADS
      m.columns({ cdiv(inner, wide), chunks, count }, wide)(length, inner, chunk, from, to)
    end
  end
  if is_whole then return end
  if inner == 1 and chunks > 8 then -- not one thread
    m.join_one(outer, THREADS)(chunks, length, parts, y)
  else
    m.join(cdiv(outputs, THREADS), THREADS)(outputs, chunks, inner, length, parts, y)
  end
  if outer <= 65535 then kernels.release(parts) end
end

-- ---- axes ----

-- The axes that an option names; all by default.
local function axes_of(x, axis)
  if type(axis) == "number" then return { axis } end
  if axis ~= nil then return axis end
  local axes = {}
  for d = 1, x.rank do axes[d] = d end
  return axes
end

-- The contiguous array with the reduced axes adjacent; outer, length, inner; the shape of the result.
local function arrange(what, x, axes, keepdims)
  if axes == nil and not keepdims then return x:contiguous(), 1, x.count, 1, {} end
  axes = axes_of(x, axes)
  if #axes == 0 then return x:contiguous(), x.count, 1, 1, x.shape end -- each element by itself
  local rank, shape, reduced = x.rank, x.shape, {}
  for _, axis in ipairs(axes) do
    axis = views.axis(what, axis, rank)
    if reduced[axis] then usage("%s: axis %d is given twice", what, axis) end
    reduced[axis] = true
  end
  local first, last, count = nil, nil, 0
  for d = 1, rank do
    if reduced[d] then
      first, last, count = first or d, d, count + 1
    end
  end
  if last - first + 1 ~= count then -- not adjacent: move them to the end
    local order = {}
    for d = 1, rank do if not reduced[d] then order[#order + 1] = d end end
    for d = 1, rank do if reduced[d] then order[#order + 1] = d end end
    x = x:permute(order)
    first, last = rank - count + 1, rank
    local moved = x.shape
    local outer, length = 1, 1
    for d = 1, first - 1 do outer = outer * moved[d] end
    for d = first, last do length = length * moved[d] end
    first = { outer, length, 1 }
  else
    local outer, length, inner = 1, 1, 1
    for d = 1, rank do
      if d < first then outer = outer * shape[d] elseif d <= last then length = length * shape[d]
      else inner = inner * shape[d] end
    end
    first = { outer, length, inner }
  end
  local result = {}
  for d = 1, rank do
    if not reduced[d] then result[#result + 1] = shape[d] elseif keepdims then result[#result + 1] = 1 end
  end
  return x:contiguous(), first[1], first[2], first[3], result
end

---An array as lines to reduce: a contiguous array of lines x length elements, the length, and the result's shape.
---@param what string the function's name, for messages
---@param x moonwarp.array
---@param axis? integer|integer[]
---@param keepdims? boolean
---@return moonwarp.array lines
---@return integer length
---@return integer[] shape
function M.lines(what, x, axis, keepdims)
  local from, outer, length, inner, shape = arrange(what, x, axis, keepdims)
  if inner > 1 then from = from:reshape(outer, length, inner):permute(1, 3, 2):contiguous() end
  return from:reshape(outer * inner, length), length, shape
end

---Apply a reduction along axes, or without axes to all elements.
---@param what string the function's name, for messages
---@param reduction table|fun(dtype: string): table
---@param x moonwarp.array
---@param options? { axis?: integer|integer[], keepdims?: boolean, out?: moonwarp.array }
---@return any a value where no dimension is left, else an array
function M.apply(what, reduction, x, options)
  options = options or {}
  local from, outer, length, inner, shape = arrange(what, x, options.axis, options.keepdims)
  local y = options.out
  if #shape == 0 and y == nil then
    return kernels.value_of(x.device, reduction.dtype, function(to) run(reduction, from, outer, length, inner, to) end)
  end
  if #shape == 0 then shape = { 1 } end
  if y == nil then
    y = kernels.empty(x.device, reduction.dtype, shape)
  else
    y = kernels.result_for(what, y, reduction.dtype, shape, x)
  end
  if outer * inner > 0 then run(reduction, from, outer, length, inner, y) end
  return kernels.deliver(options.out ~= y and options.out or nil, y)
end

-- Whether a reduction with these options returns a number, rather than an array.
local function is_whole(x, options)
  if options == nil then return true end
  local axis = options.axis
  return options.out == nil and not options.keepdims
    and (axis == nil or (type(axis) == "table" and #axis or 1) == x.rank)
end

---An error if results would be made of no elements. There are none where the result is empty, too.
---@param what string
---@param x moonwarp.array an empty one
---@param options? table
function M.check_some(what, x, options)
  local _, outer, length, inner = arrange(what, x, options and options.axis)
  if length == 0 and outer * inner > 0 then usage("%s of an empty array", what) end
end

-- ---- the predefined reductions ----

local complex = "#include <moonwarp/algorithms/complex.h>"
local exact = "#include <moonwarp/algorithms/exact_sum.h>" -- sums of doubles carry their rounding errors
local specs = {}

-- Whether the element x is not 0.
local function is_true(of) return of.kind == "complex" and "x.x != 0 || x.y != 0" or ("x != (%s)0"):format(of.C) end

-- Sums: of integers in 64 bits, of floating point in double, of doubles with a second double for the rounding errors.
local function sum_of(map, finish)
  return function(of)
    local s = { type = of.C, init = "0", map = map, combine = "a + b" }
    if of.kind ~= "float" then
      local unsigned = of.kind == "uint"
      s.accumulator = unsigned and "unsigned long long" or "long long"
      s.result, s.result_dtype = s.accumulator, unsigned and "ulonglong" or "longlong"
      s.map = ("(%s)(%s)"):format(s.accumulator, map)
    elseif of.bits == 64 then
      s.preamble, s.accumulator, s.result, s.result_dtype = exact, "moonwarp::exact_sum", "double", "double"
      s.init, s.map, s.combine = "moonwarp::exact(0)", ("moonwarp::exact(%s)"):format(map), "moonwarp::add(a, b)"
      s.finish = (finish or "$"):gsub("%$", "(a.sum + a.rest)")
      return s
    else
      s.accumulator, s.result, s.result_dtype = "double", of.C, of.name
      s.map = (map:gsub("x", "(double)(float)x"))
    end
    if finish then s.finish = finish:gsub("%$", "a") end
    if of.kind == "float" then s.finish = ("(%s)(%s)"):format(of.C, s.finish or "a") end
    return s
  end
end

specs.sum = sum_of "x"
-- The sum of all elements as a number, which is not rounded to the elements' type: nor is that of the host.
specs.total = function(of)
  local s = specs.sum(of)
  if of.kind == "float" and of.bits < 64 then s.result, s.result_dtype, s.finish = "double", "double", "a" end
  return s
end
specs.count_nonzero = function(of)
  return { type = of.C, accumulator = "long long", result = "long long", result_dtype = "longlong", init = "0",
    map = is_true(of), combine = "a + b" }
end
specs.any = function(of)
  return { type = of.C, accumulator = "int", result = "bool", result_dtype = "bool", init = "0",
    map = is_true(of), combine = "a | b", finish = "a != 0" }
end
specs.all = function(of)
  return { type = of.C, accumulator = "int", result = "bool", result_dtype = "bool", init = "1",
    map = is_true(of), combine = "a & b", finish = "a != 0" }
end
specs.prod = function(of)
  local s = { type = of.C, init = "1", map = "x", combine = "a * b" }
  if of.kind == "complex" then
    s.preamble, s.accumulator, s.result, s.result_dtype = complex, "moonwarp::complex<double>", of.C, of.name
    s.map, s.finish = "moonwarp::complex<double>(x)", ("(%s)(%s)a"):format(of.C, of.compute)
    return s
  end
  if of.kind ~= "float" then
    s.accumulator = "unsigned long long"
    s.result, s.result_dtype = of.kind == "uint" and "unsigned long long" or "long long",
      of.kind == "uint" and "ulonglong" or "longlong"
    s.map = of.kind == "uint" and "x" or "(unsigned long long)(long long)x"
    s.finish = ("(%s)a"):format(s.result)
  else
    s.accumulator, s.result, s.result_dtype = "double", of.C, of.name
    s.map, s.finish = of.bits < 64 and "(double)(float)x" or "x", ("(%s)a"):format(of.C)
  end
  return s
end

-- The mean. Of no elements it is NaN; of integers it is computed in double and never overflows.
specs.mean = function(of)
  if of.kind == "float" and of.bits == 64 then return sum_of("x", "$ / n")(of) end
  local s = { type = of.C, accumulator = "double", init = "0", combine = "a + b" }
  s.map = of.kind == "float" and "(double)(float)x" or "(double)x"
  s.result, s.result_dtype = of.kind == "float" and of.C or "double", of.kind == "float" and of.name or "double"
  s.finish = ("(%s)(a / n)"):format(s.result)
  return s
end

-- Whether x is not NaN. Compilers warn about x == x for integers.
local function is_number(of) return of.kind == "float" and "(x == x)" or "true" end

-- The number that every other is $LESS than: where min and max of integers begin.
local function last_of(of, less)
  if of.kind == "bool" then return less == "<" and "true" or "false" end
  if of.kind == "uint" then return ("(%s)%s"):format(of.C, less == "<" and "-1" or "0") end
  local least = ("(%s)(1ull << %d)"):format(of.C, of.bits - 1)
  return less == "<" and ("(%s)~%s"):format(of.C, least) or least
end

-- min and max ignore NaN; if all elements are NaN, so is the result. Conditions are joined by | and &, which make no
-- branches.
local function extreme(less)
  return function(of)
    local float = of.kind == "float"
    local C = float and of.compute or of.C
    local s = { type = of.C, accumulator = C, result = of.C, result_dtype = of.name }
    s.init = float and ("(%s)nanf(\"\")"):format(C) or last_of(of, less)
    s.map = ("(%s)x"):format(C)
    s.combine = (float and "((b %s a) | (a != a)) ? b : a" or "b %s a ? b : a"):format(less)
    s.finish = ("(%s)a"):format(of.C)
    return s
  end
end
specs.min, specs.max = extreme "<", extreme ">"

-- The position (from 1) of the first least or greatest element; NaN is ignored, and 0 means that all elements were NaN.
local function position(less)
  return function(of)
    local C = of.kind == "float" and of.compute or of.C
    local s = { type = of.C, accumulator = "place_", result = "long long", result_dtype = "longlong" }
    s.preamble = ([[
struct place_ { $C value; long long at; };              // at: from 1; 0: none yet
__device__ inline place_ none_() { place_ r; r.value = ($C)0; r.at = 0; return r; }
__device__ inline place_ one_($C x, long long i) { place_ r; r.value = x; r.at = $NUMBER ? i + 1 : 0; return r; }
__device__ inline place_ better_(place_ a, place_ b) {
  bool take = (b.at != 0) & ((a.at == 0) | (b.value $LESS a.value) | ((b.value == a.value) & (b.at < a.at)));
  place_ r;
  r.value = take ? b.value : a.value;
  r.at = take ? b.at : a.at;
  return r;
}]]):gsub("%$(%u+)", { C = C, LESS = less, NUMBER = is_number(of) })
    s.init, s.map, s.combine, s.finish = "none_()", ("one_((%s)x, i)"):format(C), "better_(a, b)", "a.at"
    return s
  end
end
specs.argmin, specs.argmax = position "<", position ">"

-- Positions along lines are found by the extreme value.
local function by_value(reduction, of, name)
  local place = require "moonwarp.array.order.extreme_position"
  reduction.place = place(accumulators.text(specs[name == "argmax" and "max" or "min"](of)))
  return reduction
end

local made = {}
local takes_complex = { prod = true, any = true, all = true, count_nonzero = true }
local by_parts = { sum = true, mean = true }

---The predefined reduction of a name for elements of a dtype.
---@param name string
---@param dtype string
---@return table
function M.named(name, dtype)
  local key = name .. " " .. tostring(dtype)
  if not made[key] then
    local what = name == "total" and "a:sum" or "a:" .. name
    local of = takes_complex[name] and promotion.number(dtype, name) or promotion.of(dtype, what)
    local spec = specs[name](of)
    made[key] = M.new(spec)
    if name:match "^arg" then by_value(made[key], of, name) end
  end
  return made[key]
end

local host = raw.reduced_by_host -- the binding's own reductions of all elements
local HOST = 4096 -- arrays with fewer elements are reduced on the host, with the same result
local needs_some = { min = true, max = true, argmin = true, argmax = true }

local methods = {}
for name in pairs(specs) do
  methods[name] = function(self, options)
    if by_parts[name] and promotion.complex(self.dtype) then
      return raw.part("array.complex").reduce(name, self, options)
    end
    if options == nil and host[name] and self.dtype ~= "double" and self.count <= HOST then
      promotion.of(self.dtype, "a:" .. name)
      return host[name](self)
    end
    if needs_some[name] and self.count == 0 then M.check_some("a:" .. name, self, options) end
    local kind = name == "sum" and is_whole(self, options) and "total" or name
    return M.apply("a:" .. name, M.named(kind, self.dtype), self, options)
  end
end
methods.total = nil -- a:sum() of all elements
for name, method in pairs(methods) do array[name] = method end

return M
