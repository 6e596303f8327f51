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
local extremes = require "moonwarp.array.order.extremes"

local usage = errors.usage
local array = raw.classes.array

local M = {}

local settings = {}
raw.reduction_settings = settings -- tests change them
settings.joins = nil -- whether the last block joins what all have reduced, as on GPUs; nil: depends on the device

-- ---- kernels ----

local THREADS = 256
local WIDE = 1024 -- columns of a block on the CPU device: long pieces of each row
local CHUNK = 64 -- elements of a chunk for each thread, if there are enough
local MOST = 2 ^ 22 -- bytes of the parts that a stream's launches share
local SHORT = 8192 -- the longest rows that a warp reduces; more threads reduce longer ones
local FEW = 8 -- the most chunks that one thread joins

---A reduction made from CUDA C, compiled when it is first used on a device.
---@param spec table of accumulators.lua, and result_dtype
---@return table
function M.new(spec)
  local fields = { SPEC = accumulators.text(spec), DESCRIBE = accumulators.DESCRIBE, THREADS = tostring(THREADS),
    FEW = tostring(FEW) }
  local source = text:gsub("%$(%u+)", fields)
  return { dtype = spec.result_dtype, source = source, module = kernels.module(source, "reduction", spec), spec = spec }
end

local cdiv = kernels.blocks

-- A line's elements in a chunk, and its chunks.
local function chunks_of(length, threads)
  local chunk = threads * math.max(CHUNK, cdiv(length, threads * 8192))
  return chunk, cdiv(length, chunk)
end

-- Reduce a line into a cell of kernels.cell by one launch. The cell keeps the memory for that, which nobody else uses
-- before the result was read.
local function run_whole(reduction, device, x, length, cell)
  local chunk, chunks = chunks_of(length, THREADS)
  local bytes = chunks * accumulators.describe(reduction, device).accumulator
  if (cell.bytes or 0) < bytes then
    cell.bytes = math.max(bytes, 2 ^ 17)
    cell.parts = kernels.empty(device, "uchar", { cell.bytes })
  end
  if not cell.done then
    cell.done = kernels.empty(device, "ulonglong", { 1 }):fill(0)
    cell.flag, cell.ticket = kernels.on(device, raw.array_new, "uint", { 1 }, "pinned"), 0
    cell.flag[1] = 0 -- waits, unlike a fill: until then the host may find there what another kernel has left
  end
  cell.ticket = cell.ticket % 2 ^ 31 + 1
  cell.has_ticket = true
  -- The script is above this function, for which run has left by a tail call, and M.apply.
  raw.kernel_run(reduction.module(device).whole, raw.call_site(3), chunks, 1, 1, THREADS, length, chunk, x, cell.done,
    cell.parts, cell.y, cell.flag, cell.ticket)
end

-- The same into an array, with memory that belongs to the stream; false without such.
local function run_line(reduction, m, device, site, x, length, y)
  local chunk, chunks = chunks_of(length, THREADS)
  local bytes = chunks * accumulators.describe(reduction, device).accumulator
  local joint = bytes <= MOST and kernels.joint(m, x, bytes, 1)
  if not joint then return false end
  raw.kernel_run(m.whole, site, chunks, 1, 1, THREADS, length, chunk, x, joint.done, joint.parts, y, nil, joint.ticket)
  return true
end

-- Reduce columns of a few chunks of rows into an array, by one launch; false without memory for that.
local function run_columns(reduction, m, device, site, x, outer, length, inner, y)
  local chunk, blocks = math.max(256, cdiv(length, 1024)), cdiv(inner, THREADS)
  local chunks = cdiv(length, chunk)
  local bytes = outer * inner * chunks * accumulators.describe(reduction, device).accumulator
  local joint = bytes <= MOST and kernels.joint(m, x, bytes, outer * blocks)
  if not joint then return false end
  raw.kernel_run(m.columns_whole, site, blocks, chunks, outer, THREADS, length, inner, chunk, x, joint.done,
    joint.parts, y, joint.ticket)
  return true
end

-- Reduce the outer x length x inner elements of x, a contiguous array, into y; into a cell's with a cell.
local function run(reduction, device, x, outer, length, inner, y, cell)
  local on_cpu = kernels.is_cpu(device)
  local joins = settings.joins
  if joins == nil then joins = not on_cpu end
  if cell and outer == 1 and inner == 1 and length > SHORT and joins then
    return run_whole(reduction, device, x, length, cell)
  end
  local m, outputs = reduction.module(device), outer * inner
  if reduction.place and reduction.place(x, outer, length, inner, y, on_cpu) then return end
  local launch, site = raw.kernel_run, raw.call_site(3) -- above this function and M.apply
  if inner == 1 and length <= 32 then
    return launch(m.few, site, cdiv(outer, THREADS), 1, 1, THREADS, outer, length, x, y)
  end
  if inner > THREADS and length <= 256 and outer <= 65535 then
    return launch(m.down, site, cdiv(inner, THREADS), outer, 1, THREADS, length, inner, x, y)
  end
  if length <= 32 or (inner > THREADS and length <= 256) then
    return launch(m.each, site, cdiv(outputs, THREADS), 1, 1, THREADS, outputs, length, inner, x, y)
  end
  local is_narrow = inner <= THREADS
  if joins then
    if outer == 1 and inner == 1 and length > SHORT then
      if run_line(reduction, m, device, site, x, length, y) then return end
    elseif not is_narrow and run_columns(reduction, m, device, site, x, outer, length, inner, y) then
      return
    end
  end
  local threads = is_narrow and inner == 1 and length <= SHORT and 32 or THREADS
  local step = math.floor(threads / inner) * inner
  local chunk = is_narrow and step * math.max(CHUNK, cdiv(length * inner, step * 8192))
    or math.max(256, cdiv(length, 1024))
  local chunks = is_narrow and cdiv(length * inner, chunk) or cdiv(length, chunk)
  local is_whole = is_narrow and chunks == 1
  local size = is_whole and 0 or accumulators.describe(reduction, device).accumulator
  local parts = not is_whole and kernels.empty(device, "uchar", math.max(1, outputs * chunks * size)) or nil
  for first = 0, outer - 1, 65535 do
    local count = math.min(65535, outer - first)
    local from, to, result = x, parts, y
    if first > 0 then
      from = x:reshape(-1):sub(first * length * inner + 1)
      to = parts and parts:sub(first * chunks * inner * size + 1)
      result = y:reshape(-1):sub(first * inner + 1)
    end
    if inner == 1 then
      launch(m.lines, site, chunks, count, 1, threads, length, chunk, from, to, result)
    elseif is_narrow then
      launch(m.rows, site, chunks, count, 1, threads, length, inner, step, chunk, from, to, result)
    else
      local wide = on_cpu and WIDE or THREADS
      launch(m.columns, site, cdiv(inner, wide), chunks, count, wide, length, inner, chunk, from, to)
    end
  end
  if is_whole then return end
  if inner == 1 and chunks > FEW then
    launch(m.join_one, site, outer, 1, 1, THREADS, chunks, length, parts, y)
  else
    launch(m.join, site, cdiv(outputs, THREADS), 1, 1, THREADS, outputs, chunks, inner, length, parts, y)
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
  if axes == nil and not keepdims then return kernels.contiguous(x), 1, x.count, 1, {} end
  if type(axes) == "number" and not keepdims then
    local shape = x.shape
    local axis = views.axis(what, axes, #shape)
    local outer, length, inner = kernels.around(shape, axis)
    table.remove(shape, axis)
    return kernels.contiguous(x), outer, length, inner, shape
  end
  axes = axes_of(x, axes)
  if #axes == 0 then return kernels.contiguous(x), x.count, 1, 1, x.shape end -- each element by itself
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
  return kernels.contiguous(x), first[1], first[2], first[3], result
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
---@param options? { axis?: integer|integer[], keepdims?: boolean, keys?: moonwarp.array|table, out?: moonwarp.array }
---@return any a value where no dimension is left, else an array
---@return moonwarp.array? keys of the segments, with options.keys
function M.apply(what, reduction, x, options)
  options = options or {}
  if options.keys ~= nil then return raw.part("array.order.segments").reduce(what, reduction, x, options) end
  local from, outer, length, inner, shape = arrange(what, x, options.axis, options.keepdims)
  local y, device = options.out, x.device
  if #shape == 0 and y == nil then
    local cell = kernels.cell(device, reduction.dtype)
    run(reduction, device, from, outer, length, inner, cell.y, cell)
    return kernels.read(cell)
  end
  if #shape == 0 then shape = { 1 } end
  if y == nil then
    y = kernels.empty(device, reduction.dtype, shape)
  else
    y = kernels.result_for(what, y, reduction.dtype, shape, x)
  end
  if outer * inner > 0 then run(reduction, device, from, outer, length, inner, y) end
  return kernels.deliver(options.out ~= y and options.out or nil, y)
end

-- Whether a reduction of so many dimensions with these options returns a number, rather than an array.
local function is_whole(rank, options)
  if options == nil then return true end
  local axis = options.axis
  return options.out == nil and options.keys == nil and not options.keepdims
    and (axis == nil or (type(axis) == "table" and #axis or 1) == rank)
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

for name, spec in pairs(extremes) do specs[name] = spec end

-- Positions along lines are found by the extreme value.
local function by_value(reduction, of, name)
  local place = require "moonwarp.array.order.extreme_position"
  reduction.place = place(accumulators.text(specs[name == "argmax" and "max" or "min"](of)))
  return reduction
end

local made = {} -- name -> dtype -> reduction
for name in pairs(specs) do made[name] = {} end
local takes_complex = { prod = true, any = true, all = true, count_nonzero = true }
local by_parts = { sum = true, mean = true }

---The predefined reduction of a name for elements of a dtype.
---@param name string
---@param dtype string
---@return table
function M.named(name, dtype)
  local known = made[name][dtype]
  if known then return known end
  local what = name == "total" and "a:sum" or "a:" .. name
  local of = takes_complex[name] and promotion.number(dtype, name) or promotion.of(dtype, what)
  local reduction = M.new(specs[name](of))
  if name:match "^arg" then by_value(reduction, of, name) end
  made[name][dtype] = reduction
  return reduction
end

local host = raw.reduced_by_host -- the binding's own reductions of all elements
local HOST = 4096 -- arrays with fewer elements are reduced on the host, with the same result
local needs_some = { min = true, max = true, argmin = true, argmax = true }

-- The axis of a matrix, 1 or 2, along which options reduce it into a new array, or 0 where they keep the dimension of a
-- line; nil for all other options.
local function axis_of(rank, options)
  if options.out ~= nil or options.keys ~= nil then return nil end
  local axis, keepdims = options.axis, options.keepdims
  if rank == 1 then return axis == nil and keepdims and 0 or nil end
  return rank == 2 and not keepdims and (axis == 1 or axis == 2) and axis or nil
end

local facts, methods = raw.array_facts, {}
for name in pairs(specs) do
  local what = "a:" .. name
  methods[name] = function(self, options)
    local dtype, device, is_contiguous, count, rank, rows, columns = facts(self)
    if by_parts[name] and promotion.complex(dtype) then
      return raw.part("array.complex").reduce(name, self, options)
    end
    if options == nil and host[name] and dtype ~= "double" and count <= HOST then
      promotion.of(dtype, what)
      return host[name](self)
    end
    if count == 0 and needs_some[name] and not (options ~= nil and options.keys ~= nil) then
      M.check_some(what, self, options)
    end
    local kind = name == "sum" and is_whole(rank, options) and "total" or name
    local reduction = M.named(kind, dtype)
    local axis = is_contiguous and count > 0 and options ~= nil and axis_of(rank, options)
    if not axis then return M.apply(what, reduction, self, options) end
    -- The most frequent cases, with less work than those of M.apply, and the same depth of the stack.
    local y
    if axis == 0 then
      y = raw.array_beside(self, reduction.dtype, 1)
      run(reduction, device, self, 1, count, 1, y)
    elseif axis == 1 then
      y = raw.array_beside(self, reduction.dtype, columns)
      run(reduction, device, self, 1, rows, columns, y)
    else
      y = raw.array_beside(self, reduction.dtype, rows)
      run(reduction, device, self, rows, columns, 1, y)
    end
    return y
  end
end
methods.total = nil -- a:sum() of all elements
for name, method in pairs(methods) do array[name] = method end

return M
