-- Scans, which combine each element with all before it along an axis: cumsum, cumprod and mw.scan; and diff.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"
local accumulators = require "moonwarp.array.accumulators"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"

local usage = errors.usage
local array = raw.classes.array

local M = {}

-- ---- the kernels ----

local text = [[
#include <moonwarp/algorithms/scan.h>
$SPEC
$OPERATION
typedef operation_ Op;
// kernels
extern "C" __global__ void rows_totals(long long lines, long long length, long long chunk, const void *x,
    void *totals) {
  moonwarp::rows_totals<Op>(lines, length, chunk, (const Op::T *)x, (Op::A *)totals);
}
extern "C" __global__ void rows_prefixes(long long lines, long long chunks, void *totals) {
  moonwarp::rows_prefixes<Op>(lines, chunks, (Op::A *)totals);
}
extern "C" __global__ void rows_scan(long long lines, long long length, long long chunk, const void *x,
    const void *prefixes, void *y) {
  moonwarp::rows_scan<Op, false>(lines, length, chunk, (const Op::T *)x, (const Op::A *)prefixes, (R_ *)y);
}
extern "C" __global__ void rows_scan_few(long long lines, long long length, long long chunk, const void *x,
    const void *totals, void *y) {
  moonwarp::rows_scan<Op, true>(lines, length, chunk, (const Op::T *)x, (const Op::A *)totals, (R_ *)y);
}
extern "C" __global__ void columns_totals(long long outer, long long length, long long inner, long long chunk,
    long long chunks, const void *x, void *totals) {
  moonwarp::columns_totals<Op>(outer, length, inner, chunk, chunks, (const Op::T *)x, (Op::A *)totals);
}
extern "C" __global__ void columns_prefixes(long long outer, long long inner, long long chunks, void *totals) {
  moonwarp::columns_prefixes<Op>(outer, inner, chunks, (Op::A *)totals);
}
extern "C" __global__ void columns_scan(long long outer, long long length, long long inner, long long chunk,
    long long chunks, const void *x, const void *prefixes, void *y) {
  moonwarp::columns_scan<Op>(outer, length, inner, chunk, chunks, (const Op::T *)x, (const Op::A *)prefixes,
    (R_ *)y);
}
$DESCRIBE]]

local operation = [[
struct operation_ {
  typedef T_ T;
  typedef A_ A;
  typedef R_ R;
  __device__ static inline A start(A first) { return $START; }
  __device__ static inline A map(T x, long long i) { return map_(x, i); }
  __device__ static inline A combine(A a, A b) { return combine_(a, b); }
  __device__ static inline R finish(A a) { return finish_(a, 0); }
};
]]

local THREADS = 128
local SHORT = 64 -- shorter lines are scanned by one thread each
local MANY = 4096 -- enough chunks to keep a device busy
local FEW = 64 -- the most chunks whose totals each block combines for itself

-- A scan made from CUDA C, compiled when it is first used on a device.
-- @param spec table of accumulators.lua, and result_dtype
-- @param own? string the CUDA C of operation_, if it is not the spec's
-- @param describe? string then the kernel that describes it, and others
-- @return table
function M.new(spec, own, describe)
  local start = spec.init and "combine_(init_(), first)" or "first"
  local fields = { SPEC = accumulators.text(spec), DESCRIBE = describe or accumulators.DESCRIBE,
    OPERATION = own or operation:gsub("%$START", start) }
  local source = text:gsub("%$(%u+)", fields)
  return { source = source, module = kernels.module(source, "scan", spec), spec = spec, dtype = spec.result_dtype }
end

-- The number of elements in a chunk, at least `least`.
local function chunk_of(lines, length, least)
  local chunks = math.max(1, math.floor(MANY / lines))
  return math.max(least, kernels.blocks(kernels.blocks(length, chunks), 32) * 32)
end

-- Scan the outer x length x inner elements of x, a contiguous array, into y.
function M.run(scan, device, x, y, outer, length, inner)
  local blocks = kernels.blocks
  local m, size = scan.module(device), accumulators.describe(scan, device).accumulator
  local in_rows = inner == 1 and length >= SHORT
  local chunk = in_rows and chunk_of(outer, length, 2048) or chunk_of(outer * inner, length, 512)
  local chunks = blocks(length, chunk)
  local parts = kernels.empty(device, "uchar", chunks > 1 and outer * chunks * inner * size or 1)
  local launch, site = raw.kernel_run, raw.call_site(3) -- above this function and its caller
  if in_rows then
    local lines = math.min(outer, 65535)
    if chunks > 1 then launch(m.rows_totals, site, chunks, lines, 1, 32, outer, length, chunk, x, parts) end
    if chunks > FEW then launch(m.rows_prefixes, site, lines, 1, 1, 32, outer, chunks, parts) end
    launch(chunks > FEW and m.rows_scan or m.rows_scan_few, site, chunks, lines, 1, 32, outer, length, chunk, x, parts,
      y)
  else
    local threads = blocks(outer * chunks * inner, THREADS)
    if chunks > 1 then
      launch(m.columns_totals, site, threads, 1, 1, THREADS, outer, length, inner, chunk, chunks, x, parts)
      launch(m.columns_prefixes, site, blocks(outer * inner, THREADS), 1, 1, THREADS, outer, inner, chunks, parts)
    end
    launch(m.columns_scan, site, threads, 1, 1, THREADS, outer, length, inner, chunk, chunks, x, parts, y)
  end
  kernels.release(parts)
end

-- Apply a scan along options.axis, or to all elements in row order.
-- @param what string the function's name, for messages
-- @param scan table
-- @param x moonwarp.array
-- @param options? { axis?: integer, keys?: moonwarp.keys, out?: moonwarp.array }
-- @return moonwarp.array
function M.apply(what, scan, x, options)
  local count, device = x.count, x.device
  if options == nil then
    local y = kernels.empty(device, scan.dtype, count)
    if count > 0 then M.run(scan, device, kernels.contiguous(x), y, 1, count, 1) end
    return y
  end
  if options.keys ~= nil then return raw.part("array.order.segments").scan(what, scan, x, options) end
  local shape, axis = { count }, 1
  if options.axis ~= nil then shape, axis = x.shape, views.axis(what, options.axis, x.rank) end
  if options.out ~= nil then kernels.check_wider(what, options.out, scan.dtype, shape) end
  local out = options.out
  -- A chunk's elements are read before they are written, so y may be x itself, but not lie across it.
  local is_direct = out and out.dtype == scan.dtype and out.is_contiguous and out.device == device
    and (out == x or not given.overlap(out, x))
  local y = is_direct and out or kernels.empty(device, scan.dtype, shape)
  if count > 0 then M.run(scan, device, kernels.contiguous(x), y, kernels.around(shape, axis)) end
  if is_direct then return out end
  return kernels.deliver(out, y)
end

-- ---- the predefined scans ----

-- Integers in 64 bits; floating point in double, and sums of doubles with a second double for the rounding errors.
local function spec_of(name, of)
  local spec = { type = of.C, combine = name == "cumsum" and "a + b" or "a * b", bytes = 8 }
  if of.kind == "complex" then
    spec.preamble, spec.bytes = "#include <moonwarp/algorithms/complex.h>", 16
    spec.accumulator, spec.result, spec.result_dtype = "moonwarp::complex<double>", of.C, of.name
    spec.map, spec.finish = "moonwarp::complex<double>(x)", ("(%s)(%s)a"):format(of.C, of.compute)
    return spec
  end
  if of.kind ~= "float" then
    local unsigned = of.kind == "uint"
    spec.accumulator, spec.result = "unsigned long long", unsigned and "unsigned long long" or "long long"
    spec.result_dtype = unsigned and "ulonglong" or "longlong"
    spec.map = unsigned and "x" or "(unsigned long long)(long long)x"
    return spec
  end
  spec.accumulator, spec.result, spec.result_dtype = "double", of.C, of.name
  spec.map, spec.finish = of.bits < 64 and "(double)(float)x" or "x", ("(%s)a"):format(of.C)
  if of.bits == 64 and name == "cumsum" then
    spec.preamble, spec.accumulator = "#include <moonwarp/algorithms/exact_sum.h>", "moonwarp::exact_sum"
    spec.bytes = 16
    spec.map, spec.combine, spec.finish = "moonwarp::exact(x)", "moonwarp::add(a, b)", "a.sum + a.rest"
  end
  return spec
end

local made = { cumsum = {}, cumprod = {} }
local function named(name, dtype)
  made[name][dtype] = made[name][dtype] or M.new(spec_of(name, promotion.number(dtype, "a:" .. name)))
  return made[name][dtype]
end

---Cumulative sums: element k is the sum of the elements up to k, in row order or along an axis. Integers are added in
---64 bits, floating point in double precision or better. With `keys`, one for each element (along the axis), sums begin
---again wherever the key changes.
---@param options? { axis?: integer, keys?: moonwarp.keys, out?: moonwarp.array }
---@return moonwarp.array
function array:cumsum(options)
  if promotion.complex(self.dtype) then return raw.part("array.complex").cumsum(self, options) end
  return M.apply("a:cumsum", named("cumsum", self.dtype), self, options)
end

---Cumulative products, with the options of a:cumsum.
---@param options? { axis?: integer, keys?: moonwarp.keys, out?: moonwarp.array }
---@return moonwarp.array
function array:cumprod(options) return M.apply("a:cumprod", named("cumprod", self.dtype), self, options) end

---The differences of neighbours along an axis, the last by default: element k + 1 minus element k, n times over. Of
---booleans, whether they differ.
---@param options? { n?: integer, axis?: integer, out?: moonwarp.array }
---@return moonwarp.array
function array:diff(options)
  options = options or {}
  local n, axis = options.n or 1, views.axis("a:diff", options.axis or -1, self.rank)
  if n < 0 then usage("a:diff: n is 0 or more, got %d", n) end
  local subtract = self.dtype == "bool" and array.ne or array.subtract
  local x = self
  for _ = 1, n do
    local size = x.shape[axis]
    local later, earlier = {}, {}
    for d = 1, x.rank do later[d], earlier[d] = {}, {} end
    later[axis], earlier[axis] = { math.min(2, size + 1), size }, { 1, math.max(size - 1, 0) }
    x = subtract(x[later], x[earlier])
  end
  if options.out then
    kernels.check_out("a:diff", options.out, x.dtype, x.shape)
  elseif n == 0 then
    x = x:copy()
  end
  return kernels.deliver(options.out, x)
end

return M
