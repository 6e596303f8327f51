-- Messages of distributed arrays, over any communicator: mw.nccl's or mw.mpi's.
--
-- All of them are exchanges: each rank knows what it sends to whom and what it receives from whom, and the messages of
-- a rank start together.

local raw = require "moonwarp.binding"

local M = {}

local TAG = 7351 -- of mw.dist's own messages, among those of a script over the same MPI communicator

local function by_requests(comm, sends, receives)
  local requests = {}
  for _, message in ipairs(receives) do
    requests[#requests + 1] = comm:irecv(message.array, message.rank, TAG)
  end
  for _, message in ipairs(sends) do requests[#requests + 1] = comm:isend(message.array, message.rank, TAG) end
  for _, request in ipairs(requests) do request:wait() end
end

---Send and receive. Arrays are contiguous; those to receive are overwritten. Empty ones are left out on both sides.
---@param comm table
---@param sends { rank: integer, array: moonwarp.array }[]
---@param receives { rank: integer, array: moonwarp.array }[]
function M.exchange(comm, sends, receives)
  if #sends + #receives == 0 then return end
  if comm.irecv then return by_requests(comm, sends, receives) end
  raw.part("nccl.communicator").group(function()
    for _, message in ipairs(sends) do comm:send(message.array, message.rank) end
    for _, message in ipairs(receives) do comm:recv(message.array, message.rank) end
  end)
end

---The arrays of some ranks, which have one shape, at each of them.
---@param comm table
---@param mine moonwarp.array
---@param ranks integer[] the ranks, this one too
---@return moonwarp.array[] in the order of `ranks`
function M.allgather(comm, mine, ranks)
  local sends, receives, all = {}, {}, {}
  mine = mine:contiguous()
  for i, rank in ipairs(ranks) do
    if rank == comm.rank then
      all[i] = mine
    else
      all[i] = raw.array_new(mine.dtype, mine.shape)
      sends[#sends + 1] = { rank = rank, array = mine }
      receives[#receives + 1] = { rank = rank, array = all[i] }
    end
  end
  if mine.count > 0 then M.exchange(comm, sends, receives) end
  return all
end

---The ranks 0 to size - 1.
function M.everyone(comm)
  local list = {}
  for rank = 0, comm.size - 1 do list[rank + 1] = rank end
  return list
end

return M
