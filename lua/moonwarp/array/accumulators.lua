-- The CUDA C of a reduction or a scan: the types and functions that its kernels call.
--
-- A spec has expressions. `map` is the accumulator of the element x at position i (from 0) along the axis; `combine`
-- merges the accumulators a and b, where a is first; `init` is the accumulator of no elements; `finish` is the result
-- of the accumulator a. The accumulator's type is `accumulator`, by default map's; the result's type is finish's.
-- `fold`, where it takes less time than combine and map, is the accumulator of a and of the element x at position i,
-- which comes after those of a.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local kernels = require "moonwarp.array.kernels"
local promotion = require "moonwarp.array.promotion"

local M = {}

local text = [[
#include <moonwarp/algorithms/dtype_number.h>
$PREAMBLE
typedef $T T_;                                          // element
__device__ inline $A map_(T_ x, long long i) { return $MAP; }
typedef decltype(map_(T_(), 0LL)) A_;                   // accumulator
__device__ inline A_ combine_(A_ a, A_ b) { return $COMBINE; }
__device__ inline A_ fold_(A_ a, T_ x, long long i) { return $FOLD; }
__device__ inline $R finish_(A_ a, long long n) { return $FINISH; }
typedef decltype(finish_(A_(), 0LL)) R_;                // result
$INIT]]

---A kernel that returns what the compiler knows about a spec's types.
M.DESCRIBE = [[
extern "C" __global__ void describe(int *out) {
  out[0] = sizeof(A_);
  out[1] = moonwarp::dtype_number<R_>::value;
  out[2] = moonwarp::is_type<R_, T_>::value;
}
]]

---The CUDA C of a spec: types T_, A_, R_, functions map_, combine_, finish_ and, with init, init_.
---@param spec table type, map, combine, and perhaps accumulator, finish, result, preamble
---@return string
function M.text(spec)
  local fields = { PREAMBLE = spec.preamble or "", T = spec.type, A = spec.accumulator or "auto",
    INIT = spec.init and ("__device__ inline A_ init_() { return %s; }"):format(spec.init) or "", MAP = spec.map or "x",
    COMBINE = spec.combine, FOLD = spec.fold or "combine_(a, map_(x, i))", FINISH = spec.finish or "a",
    R = spec.result or "auto" }
  return (text:gsub("%$(%u+)", fields))
end

-- Dtypes by their numbers in dtype_number.h.
local numbers = { "bool", "char", "uchar", "short", "ushort", "int", "uint", "longlong", "ulonglong", "half",
  "bfloat16", "float", "double", "complex64", "complex128" }
M.NUMBERS = numbers

---What the compiler knows about a spec: the accumulator's bytes, the result's dtype if it is a numeric one, and whether
---its type is the elements'.
---@param of table with `module`, a function of a device, and `spec`, which may give the bytes; caches the answer
---@param device moonwarp.device
---@return { accumulator: integer, result: string?, is_element: boolean? }
function M.describe(of, device)
  if of.described then return of.described end
  if of.spec.bytes then
    of.described = { accumulator = of.spec.bytes, result = of.spec.result_dtype }
  else
    local out = kernels.empty(device, "int", { 3 })
    of.module(device).describe(1, 1)(out)
    of.described = { accumulator = out[1], result = numbers[out[2]], is_element = out[3] ~= 0 }
  end
  return of.described
end

---The CUDA C name of an element type.
---@param dtype any
---@return string
function M.spelling(dtype)
  if promotion.is_numeric(dtype) then return promotion.of(dtype, "").C end
  local complex = promotion.complex(dtype)
  if complex then return complex.C end
  local _, _, name = raw.dtype_size(dtype)
  return name
end

---An error if elements are structs that no text declares.
---@param what string the function's name
---@param dtype any
---@param declared boolean
function M.check_declared(what, dtype, declared)
  if type(dtype) == "string" or declared then return end
  local _, _, name = raw.dtype_size(dtype)
  errors.usage("%s does not know the fields of %s: name its module, as in module = m, or declare it in a preamble",
    what, name)
end

---The CUDA C that precedes a script's expressions (a module's text and a preamble), and what compiling it needs.
---@param what string the function's name
---@param spec { module?: moonwarp.module, preamble?: string }
---@return string? preamble
---@return { options?: string[], headers?: table }
function M.preamble_of(what, spec)
  if not spec.module then return spec.preamble, {} end
  local source = raw.module_sources[spec.module]
  if not source then
    errors.usage("%s: module must be made by mw.compile in this script; loaded modules have no text", what)
  end
  return source.text .. "\n" .. (spec.preamble or ""), source
end

return M
