-- Messages between GPUs by NCCL: the calls of several ranks of one process start together, as a group.

local raw = require "moonwarp.binding"

local M = {}

local kinds = { allreduce = 0, reduce = 1, broadcast = 2, allgather = 3, reduce_scatter = 4, send = 5, receive = 6 }
local operations = { sum = 0, product = 1, max = 2, min = 3, mean = 4 }

---Run f between the begin and the end of a group of the device in use.
function M.group(f)
  raw.communicator_group(true)
  local ok, err = pcall(f)
  local ended, why = pcall(raw.communicator_group, false)
  if not ok then error(err, 0) end
  if not ended then error(why, 0) end
end

---Queue one rank's call in its stream.
function M.queue(call)
  raw.communicator_queue(call.comm.handle, kinds[call.kind], call.source, call.target,
    operations[call.operation_name or "sum"], call.peer or 0)
end

---Queue calls together, each in the stream that was in use when it was made.
function M.run_calls(calls)
  local before, stream = raw.device().name, raw.stream_use(nil)
  raw.use(calls[1].comm.device.name)
  local ok, err = pcall(M.group, function()
    for _, call in ipairs(calls) do
      raw.use(call.comm.device.name)
      raw.stream_use(call.stream)
      M.queue(call)
    end
    raw.stream_use(nil)
  end)
  raw.use(before)
  raw.stream_use(stream)
  if not ok then error(err, 0) end
end

---Run matched calls of the ranks of this process.
function M.run(batch)
  local list = {}
  for _, calls in ipairs(batch) do
    for _, call in ipairs(calls) do list[#list + 1] = call end
  end
  M.run_calls(list)
end

function M.split(clique, calls)
  local handles = {}
  M.group(function()
    for i, call in ipairs(calls) do
      handles[i] = raw.communicator_split(call.comm.handle, call.color, call.key)
    end
  end)
  raw.part("nccl.communicator").split_clique(clique, calls, handles)
end

return M
