-- The library's own kernels: CUDA C that is compiled when a device first needs it, and helpers of the functions that
-- launch them.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"
local stream = require "moonwarp.stream"
local compile = require("moonwarp.module.module").compile

local usage = errors.usage

local M = {}

---Call f(...) with a device in use.
---@param device moonwarp.device
---@param f function
---@param ... any
---@return any what f returns
function M.on(device, f, ...)
  if raw.device().name == device.name then return f(...) end
  return stream.with(device, f, ...)
end

---A new array on a device, with undefined elements.
---@param device moonwarp.device
---@param dtype any
---@param shape integer[]
---@return moonwarp.array
function M.empty(device, dtype, shape) return M.on(device, raw.array_new, dtype, shape) end

---Free arrays that queued kernels use: the memory goes back after them, and the collector has no work with it. During a
---capture nothing is freed: the graph's kernels run later.
---@param ... moonwarp.array?
function M.release(...)
  if (raw.captures or 0) > 0 then return end
  for k = 1, select("#", ...) do
    local a = select(k, ...)
    if a then a:free() end
  end
end

-- Arrays of one element for results that are read at once: on GPUs pinned memory, which needs no copy. One that is in
-- use is not here.
local scalars = {}

---The value that work(y) writes into y, an array of one element.
---@param device moonwarp.device
---@param dtype any
---@param work fun(y: moonwarp.array)
---@return any
function M.value_of(device, dtype, work)
  if type(dtype) ~= "string" then -- structs of two modules may have one name
    local y = M.empty(device, dtype, { 1 })
    work(y)
    return y[1]
  end
  local name = device.name
  local key = ("%s %s %d"):format(name, dtype, device.resets)
  local y = scalars[key]
  if y then
    scalars[key] = nil
  else
    y = M.on(device, raw.array_new, dtype, { 1 }, not name:find "^cpu" and "pinned" or nil)
  end
  work(y)
  local value = y[1]
  scalars[key] = y
  return value
end

-- The part of a text before its kernels, and each kernel's own text by its name.
local function split(source)
  local head, rest = source:match "^(.-\n)// kernels\n(.*)$"
  local own = {}
  for at, name in rest:gmatch '()extern "C" __global__ [^\n]-void ([%w_]+)' do
    local ends = rest:find('extern "C" __global__ ', at + 1, true)
    own[name] = rest:sub(at, ends and ends - 1)
  end
  return head, own
end

---A function of a device that returns the kernels of a text by name. Each is compiled alone, when it is first needed,
---and again after a reset of the device.
---@param source string what all kernels use, a line "// kernels", and the kernels, extern "C"
---@param name string what messages call it
---@param more? { options?: string[], headers?: table } for the compiler
---@return fun(device: moonwarp.device): table<string, moonwarp.kernel>
function M.module(source, name, more)
  local devices, resets, head, own = {}, {}, nil, nil
  more = more or {}
  return function(device)
    local ordinal, count = device.name, device.resets
    if devices[ordinal] and resets[ordinal] == count then return devices[ordinal] end
    if not head then head, own = split(source) end
    devices[ordinal] = setmetatable({}, { __index = function(kernels, kernel)
      if raw.progress then raw.progress(("compiling %s of %s"):format(kernel, name)) end
      local m = M.on(device, compile, { source = head .. own[kernel], name = name, options = more.options,
        headers = more.headers })
      kernels[kernel] = m[kernel]
      return kernels[kernel]
    end })
    resets[ordinal] = count
    return devices[ordinal]
  end
end

---The number of blocks that cover a count.
---@param count integer
---@param threads integer
---@return integer
function M.blocks(count, threads) return math.floor((count + threads - 1) / threads) end

---The outer, length and inner elements of a shape around an axis.
---@param shape integer[]
---@param axis integer from 1
---@return integer outer
---@return integer length
---@return integer inner
function M.around(shape, axis)
  local outer, inner = 1, 1
  for d = 1, axis - 1 do outer = outer * shape[d] end
  for d = axis + 1, #shape do inner = inner * shape[d] end
  return outer, shape[axis], inner
end

---Check the array that an option `out` names.
---@param what string the function's name
---@param out moonwarp.array
---@param dtype any
---@param shape integer[]
function M.check_out(what, out, dtype, shape)
  local fits = raw.type(out) == "array" and out.dtype == dtype and out.rank == #shape
  for d = 1, fits and #shape or 0 do fits = fits and out.shape[d] == shape[d] end
  if not fits then
    usage("%s: out has to be an array of %s with the shape %s, got %s", what, tostring(dtype), views.shape_text(shape),
      raw.type(out) == "array" and ("%s %s"):format(tostring(out.dtype), views.shape_text(out.shape))
        or raw.describe(out))
  end
end

---The same where results may also be converted, to a dtype of the same kind or of a more general one.
---@param what string
---@param out moonwarp.array
---@param dtype any
---@param shape integer[]
function M.check_wider(what, out, dtype, shape)
  local fits = raw.type(out) == "array" and promotion.is_number(dtype) and promotion.is_number(out.dtype)
    and promotion.may_become(promotion.number(dtype, what), promotion.number(out.dtype, what))
  M.check_out(what, out, fits and out.dtype or dtype, shape)
end

---The array to compute a result into: `out` itself, or a new one that is then delivered, where out's elements are not
---adjacent, have another dtype or are also read.
---@param what string the function's name
---@param out moonwarp.array
---@param dtype any
---@param shape integer[]
---@param read moonwarp.array
---@return moonwarp.array
function M.result_for(what, out, dtype, shape, read)
  M.check_wider(what, out, dtype, shape)
  if out.dtype == dtype and out.is_contiguous and not out.is_read_only and out.device == read.device
    and not given.overlap(out, read) then
    return out
  end
  return M.empty(read.device, dtype, shape)
end

---A result as it is, or written into `out`, which may share memory with the operands.
---@param out moonwarp.array?
---@param result moonwarp.array
---@return moonwarp.array
function M.deliver(out, result) return out and out:assign(result) or result end

return M
