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
local free = raw.checked[raw.classes.array.free] or raw.classes.array.free -- which does not check a script's arguments

local M = {}

---Call f(...) with a device in use.
---@param device moonwarp.device
---@param f function
---@param ... any
---@return any what f returns
function M.on(device, f, ...)
  if raw.device() == device then return f(...) end
  return stream.with(device, f, ...)
end

local are_cpu = {} -- device -> boolean; device objects are kept as long as the state

---Whether a device is a CPU.
---@param device moonwarp.device
---@return boolean
function M.is_cpu(device)
  local is_cpu = are_cpu[device]
  if is_cpu == nil then
    is_cpu = device.name:find "^cpu" ~= nil
    are_cpu[device] = is_cpu
  end
  return is_cpu
end

---A new array on a device, with undefined elements.
---@param device moonwarp.device
---@param dtype any
---@param shape integer[]
---@return moonwarp.array
function M.empty(device, dtype, shape) return M.on(device, raw.array_new, dtype, shape) end

local function is_capturing() return (raw.captures or 0) > 0 and raw.is_capturing() end

---Free arrays that queued kernels use: the memory goes back after them, and the collector has no work with it. During a
---capture nothing is freed: the graph's kernels run later.
---@param a moonwarp.array?
---@param b? moonwarp.array
---@param c? moonwarp.array
---@param d? moonwarp.array
---@param e? moonwarp.array
function M.release(a, b, c, d, e)
  if is_capturing() then return end
  if a then free(a) end
  if b then free(b) end
  if c then free(c) end
  if d then free(d) end
  if e then free(e) end
end

---The array itself if its elements are contiguous in memory, else a contiguous copy.
---@param x moonwarp.array
---@return moonwarp.array
function M.contiguous(x)
  if x.is_contiguous then return x end
  return x:contiguous()
end

-- The kernels of a text on a device -> a stream's number, 0 for the default stream -> a joint.
local joints = setmetatable({}, { __mode = "k" })
local COUNTERS, JOINTS = 1024, 8 -- of a joint; of the kernels of a text

---What one launch needs for its last block to join the results of all: memory that the launches of a stream use one
---after the other. `done` has counters of the blocks that have finished: below any later ticket's, and 0 if the launch
---before has ended. nil if there is none, as during captures: a graph's kernels may run beside those of a stream.
---@param m table<string, moonwarp.kernel> from M.module, and so of one device, before its next reset
---@param like moonwarp.array on that device
---@param bytes integer of `parts`
---@param counters integer
---@return { done: moonwarp.array, parts: moonwarp.array, ticket: integer }?
function M.joint(m, like, bytes, counters)
  if counters > COUNTERS or is_capturing() then return nil end
  local using, of = raw.stream_in_use(), joints[m]
  local id = using and using.id or 0
  local joint = of and of[id]
  if not joint or joint.bytes < bytes or joint.ticket >= 2 ^ 31 then
    if not of or not joint and of.count >= JOINTS then -- streams that are no more are forgotten
      of = { count = 0 }
      joints[m] = of
    end
    if not joint then of.count = of.count + 1 end
    if bytes > 0 then bytes = math.max(bytes, 2 ^ 17) end
    joint = { bytes = bytes, parts = bytes > 0 and raw.array_beside(like, "uchar", bytes) or nil, ticket = 0,
      done = raw.array_beside(like, "ulonglong", COUNTERS):fill(0) }
    of[id] = joint
  end
  joint.ticket = joint.ticket + 1
  return joint
end

-- Device -> dtype -> a cell. One that is in use is not here.
local cells = {}

---An array of one element, `y`, for a result that is read at once: on GPUs pinned memory, which needs no copy. Its user
---may keep more in the table, which nobody else has until M.read.
---@param device moonwarp.device
---@param dtype any
---@return { y: moonwarp.array, flag?: moonwarp.array, ticket?: integer, has_ticket?: boolean } has_ticket: the kernel
---writes the ticket into flag, which is pinned memory, too, when the result is there
function M.cell(device, dtype)
  local resets, of = device.resets, cells[device]
  if of == nil or of.resets ~= resets then
    of = { resets = resets }
    cells[device] = of
  end
  local cell = of[dtype]
  if cell then
    of[dtype] = nil
    return cell
  end
  local y = M.on(device, raw.array_new, dtype, { 1 }, not M.is_cpu(device) and "pinned" or nil)
  -- Structs of two modules may have one name, so their cells are not kept.
  return { y = y, dtype = dtype, of = type(dtype) == "string" and of }
end

---The value that kernels write into a cell, which may then serve another result.
---@param cell table
---@return any
function M.read(cell)
  local value
  if cell.has_ticket then
    value, cell.has_ticket = raw.array_poll(cell.y, cell.flag, cell.ticket), false
  end
  if value == nil then value = cell.y[1] end
  if cell.of and not is_capturing() then cell.of[cell.dtype] = cell end -- else a graph's kernels write into it
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
  local function open(device, count)
    if not head then head, own = split(source) end
    devices[device] = setmetatable({}, { __index = function(kernels, kernel)
      if raw.progress then raw.progress(("compiling %s of %s"):format(kernel, name)) end
      local m = M.on(device, compile, { source = head .. own[kernel], name = name, options = more.options,
        headers = more.headers })
      kernels[kernel] = m[kernel]
      return kernels[kernel]
    end })
    resets[device] = count
    return devices[device]
  end
  return function(device)
    local count = device.resets
    if resets[device] == count then return devices[device] end
    return open(device, count)
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
  local rank = #shape
  if rank == 1 then return 1, shape[1], 1 end
  if rank == 2 then
    if axis == 1 then return 1, shape[1], shape[2] end
    return shape[1], shape[2], 1
  end
  local outer, inner = 1, 1
  for d = 1, axis - 1 do outer = outer * shape[d] end
  for d = axis + 1, rank do inner = inner * shape[d] end
  return outer, shape[axis], inner
end

---Check the array that an option `out` names.
---@param what string the function's name
---@param out moonwarp.array
---@param dtype any
---@param shape integer[]
function M.check_out(what, out, dtype, shape)
  local fits = raw.type(out) == "array" and out.dtype == dtype and out.rank == #shape
  local given_shape = fits and out.shape
  for d = 1, fits and #shape or 0 do fits = fits and given_shape[d] == shape[d] end
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
