-- User-defined reductions and scans: mw.reduce and mw.scan.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local accumulators = require "moonwarp.array.accumulators"
local reduction = require "moonwarp.array.reduction"
local scan = require "moonwarp.array.scan"

local usage = errors.usage

local M = {}

local methods = {}
local Own = { __index = methods }

-- The reduction or scan for elements of a dtype.
local function made_for(self, dtype, device)
  local name, key = accumulators.spelling(dtype), tostring(dtype)
  local made = self.made[key]
  if not made then
    local spec = self.spec
    local preamble, more = accumulators.preamble_of(self.what, spec)
    accumulators.check_declared(self.what, dtype, preamble ~= nil)
    made = self.kind.new { type = name, map = spec.map, combine = spec.combine, finish = spec.finish,
      init = spec.init and tostring(spec.init), accumulator = spec.accumulator, preamble = preamble,
      result = spec.dtype and accumulators.spelling(spec.dtype), result_dtype = spec.dtype, options = more.options,
      headers = more.headers }
    self.made[key] = made
  end
  if device and not made.dtype then
    local known = accumulators.describe(made, device)
    made.dtype = known.result or known.is_element and dtype or nil
    if not made.dtype then
      usage("%s: the result is not numeric; name its dtype, as in dtype = m:dtype \"Struct\"", self.what)
    end
  end
  return made
end

function Own:__call(x, options)
  if raw.type(x) ~= "array" then usage("%s: f(a, options) wants an array, got %s", self.what, raw.describe(x)) end
  return self.kind.apply(self.what, made_for(self, x.dtype, x.device), x, options)
end

function Own:__tostring() return ("%s { combine = %q }"):format(self.what, self.spec.combine) end

-- The CUDA C that runs for elements of a dtype, "float" by default.
function methods:source(dtype) return made_for(self, dtype or "float").source end

local function new(what, kind, given)
  local spec = {}
  for key, value in pairs(given) do spec[key] = value end
  if not spec.combine then usage("%s wants combine, an expression of the accumulators a and b: \"a + b\"", what) end
  return setmetatable({ what = what, kind = kind, spec = spec, made = {} }, Own)
end

---A user-defined reduction, made from CUDA C expressions. f(a, options) has the options of a:sum: axis, keepdims, keys,
---out. f:source(dtype) returns the CUDA C that runs.
---@param what { map?: string, combine: string, init: string|number, finish?: string, accumulator?: string,
---dtype?: string|moonwarp.dtype, module?: moonwarp.module, preamble?: string } map: the accumulator of the element x at
---position i (from 0), x by default; combine: merges the accumulators a and b; init: the neutral accumulator; finish:
---the result of the accumulator a of n elements; accumulator: its type, by default map's; dtype: the result's dtype;
---module, preamble: where the functions and structs that are used are declared
---@return function f
function M.reduce(what)
  if what.init == nil then usage "mw.reduce wants init, the accumulator of no elements: \"0\" for sums" end
  return new("mw.reduce", reduction, what)
end

---A user-defined inclusive scan, made from the same expressions as mw.reduce. f(a, options) has the options of
---a:cumsum: axis, keys, out. combine must be associative; init, if given, precedes the first element.
---@param what { map?: string, combine: string, init?: string|number, finish?: string, accumulator?: string,
---dtype?: string|moonwarp.dtype, module?: moonwarp.module, preamble?: string }
---@return function f
function M.scan(what) return new("mw.scan", scan, what) end

return M
