-- Functions of elements that searching and counting share, made once for a device and dtypes.

local raw = require "moonwarp.binding"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"

local M = {}

local functions = {}

---Run a function of elements, which is made when it is first needed.
---@param like moonwarp.array an array on the device
---@param name string the function's name, the same for equal bodies
---@param what table as raw.elementwise_new wants it
---@param y moonwarp.array the result
---@param ... any the other operands
---@return moonwarp.array y
function M.run(like, name, what, y, ...)
  local key = { like.device.name, name }
  for _, operand in ipairs(what.operands) do key[#key + 1] = tostring(operand[3]) end
  key = table.concat(key, " ")
  local f = functions[key]
  if not f then
    what.name = name
    f = given.on_device_of(like, raw.elementwise_new, what)
    functions[key] = f
  end
  if y.count > 0 then raw.elementwise_run(f, y, ...) end
  return y
end

---A comparison of elements of a dtype as a C expression of a and b; NaN sorts last.
---@param of table
---@return string
function M.less(of)
  if of.kind ~= "float" then return "a < b" end
  return "a < b || (a == a && b != b)"
end

---The C type in which elements of a dtype are compared.
---@param of table
---@return string
function M.compute_type(of) return of.kind == "float" and of.compute or of.C end

---The elements at positions (from 1) along an axis; both arrays have the same shape except along that axis.
---@param x moonwarp.array
---@param positions moonwarp.array of longlong
---@param axis integer
---@return moonwarp.array
function M.at_positions(x, positions, axis)
  x, positions = x:contiguous(), positions:contiguous()
  local shape, inner = x.shape, 1
  for d = axis + 1, #shape do inner = inner * shape[d] end
  local y = given.new(x, x.dtype, positions.shape)
  return M.run(x, "at_positions", { index = true, operands = { { "y", "out", x.dtype }, { "at", "in", "longlong" },
    { "x", "whole", x.dtype }, { "n", "scalar", "longlong" }, { "count", "scalar", "longlong" },
    { "inner", "scalar", "longlong" } },
    body = "y = x[(i / inner / count * n + at - 1) * inner + i % inner];" }, y, positions, x, shape[axis],
    positions.shape[axis], inner)
end

---The number of elements of the vector `sorted` before each value, plus `from`.
---@param sorted moonwarp.array
---@param values moonwarp.array
---@param right boolean whether equal elements count as before
---@param from integer
---@return moonwarp.array of longlong
function M.search(sorted, values, right, from)
  local of, other = promotion.of(sorted.dtype, "searchsorted"), promotion.of(values.dtype, "searchsorted")
  local both = promotion.of(promotion.promote(of.name, other.name), "searchsorted")
  local C, test = M.compute_type(both), M.less(both)
  local goes_on = right and "!(" .. test:gsub("%f[%w]a%f[%W]", "v"):gsub("%f[%w]b%f[%W]", "m") .. ")"
    or test:gsub("%f[%w]a%f[%W]", "m"):gsub("%f[%w]b%f[%W]", "v")
  local y = given.new(values, "longlong", values.shape)
  return M.run(values, "searchsorted" .. tostring(right) .. from, { operands = { { "y", "out", "longlong" },
    { "x", "in", values.dtype }, { "s", "whole", sorted.dtype }, { "n", "scalar", "longlong" } },
    body = ([[const %s v = (%s)x;
  long long low = 0, high = n;
  while (low < high) {
    const long long middle = (low + high) / 2;
    const %s m = (%s)s[middle];
    if (%s) low = middle + 1;
    else high = middle;
  }
  y = low + %d;]]):format(C, C, C, C, goes_on, from) }, y, values, sorted, sorted.count)
end

return M
