-- Messages between CPU devices of one process: what NCCL does between GPUs, for learning and for tests. Reductions add
-- in the order of the ranks, so that every run gives the same bits.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

local combine = {
  sum = function(a, b) return a + b end,
  product = function(a, b) return a * b end,
  max = function(a, b) return raw.part("array.operators").maximum(a, b) end,
  min = function(a, b) return raw.part("array.operators").minimum(a, b) end,
}
combine.mean = combine.sum

-- The reduction of arrays that may be on different devices, on the first one's.
local function reduce(sources, operation)
  local device = sources[1].device
  raw.use(device.name)
  local total = sources[1]:copy()
  for i = 2, #sources do
    local other = sources[i]
    if other.device.name ~= device.name then other = other:to(device) end
    local next_total = combine[operation](total, other)
    total = next_total.dtype == total.dtype and next_total or next_total:to(total.dtype)
  end
  if operation == "mean" then
    local mean = total / #sources
    if mean.dtype ~= total.dtype then
      errors.usage("a mean of %s would not be whole numbers; convert them to float first", tostring(total.dtype))
    end
    total = mean
  end
  return total
end

local function put(target, source)
  if source.count == 0 then return end
  target:copy_from(source)
end

local kinds = {}

function kinds.allreduce(calls)
  local sources = {}
  for i, call in ipairs(calls) do sources[i] = call.source end
  local total = reduce(sources, calls[1].operation_name)
  for _, call in ipairs(calls) do put(call.target, total) end
end

function kinds.reduce(calls)
  local sources = {}
  for i, call in ipairs(calls) do sources[i] = call.source end
  put(calls[calls[1].peer + 1].target, reduce(sources, calls[1].operation_name))
end

function kinds.broadcast(calls)
  local root = calls[1].peer + 1
  for i, call in ipairs(calls) do
    if i ~= root then put(call.target, calls[root].source) end
  end
end

-- Row r of an array whose first axis is the rank.
local function row(array, r) return array[{ r, {} }] end

local function by_rank(array, size) return array:reshape(size, -1) end

function kinds.allgather(calls)
  local size = #calls
  for _, call in ipairs(calls) do
    local target = by_rank(call.target, size)
    for i, from in ipairs(calls) do put(row(target, i), from.source:reshape(-1)) end
  end
end

function kinds.reduce_scatter(calls)
  local size = #calls
  for i, call in ipairs(calls) do
    local sources = {}
    for j, from in ipairs(calls) do sources[j] = row(by_rank(from.source, size), i) end
    put(call.target:reshape(-1), reduce(sources, calls[1].operation_name))
  end
end

function kinds.send(pair) put(pair[2].target:reshape(-1), pair[1].source:reshape(-1)) end

---Run matched calls, after all earlier work of their devices.
function M.run(batch)
  local devices = {}
  for _, calls in ipairs(batch) do
    for _, call in ipairs(calls) do devices[call.comm.device.name] = call.comm.device end
  end
  for _, device in pairs(devices) do device:synchronize() end
  for _, calls in ipairs(batch) do
    local array = calls[1].source or calls[1].target
    if array.count > 0 then kinds[calls[1].kind](calls) end
  end
  for _, device in pairs(devices) do device:synchronize() end
end

function M.split(clique, calls) raw.part("nccl.communicator").split_clique(clique, calls) end

return M
