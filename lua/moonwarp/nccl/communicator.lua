-- Communicators: one rank of a group of devices that send each other arrays. Ranks count from 0, as in MPI and NCCL.
--
-- A method checks its arguments, makes the result, and hands a call to call_matching.lua (ranks of this process) or to
-- the library (ranks of other processes).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local signatures = require "moonwarp.check.signatures"
local ranks = require "moonwarp.nccl.call_matching"
local library = require "moonwarp.nccl.library"

local usage = errors.usage
local M = {}

---@class moonwarp.nccl_communicator one rank of a group of devices; made by mw.nccl
---@field rank integer from 0
---@field size integer the number of ranks
---@field device moonwarp.device
---@field emulated boolean whether the ranks are CPU devices of this process
---@field timeout number seconds after which a message that does not end is an error; 0: never. See comm:limit
local nccl_communicator = {}

local metatable = { __name = "moonwarp.nccl_communicator", __made = "mw.nccl" }
local absent = { clique = true, handle = true, freed = true, irecv = true } -- fields that not all have

function metatable.__index(_, name)
  local method = nccl_communicator[name]
  if method ~= nil or absent[name] or type(name) ~= "string" then return method end
  return raw.part("diagnostics.suggest").missing("a communicator of mw.nccl", name, nccl_communicator)
end

function metatable.__tostring(comm)
  local how = comm.emulated and "emulated on CPU devices of this process" or "NCCL"
  return ("rank %d of %d on %s (%s)"):format(comm.rank, comm.size, comm.device.name, how)
end

-- A communicator. `clique`: the group, if all its ranks are in this process.
function M.new(fields) return setmetatable(fields, metatable) end

function M.is(value) return type(value) == "table" and getmetatable(value) == metatable end

-- ---- arguments ----

local operations = { sum = "sum", product = "product", prod = "product", max = "max", min = "min", mean = "mean",
  avg = "mean" }

local function operation_named(comm, name, where)
  local operation = operations[name or "sum"]
  if not operation then
    usage('%s on rank %d: the operation is "sum", "product", "max", "min" or "mean", got %s', where, comm.rank,
      raw.describe(name))
  end
  return operation
end

local function rank_named(comm, rank, where, noun)
  if rank < 0 or rank >= comm.size then
    usage("%s: %s is a rank from 0 to %d, got %d", where, noun, comm.size - 1, rank)
  end
  return rank
end

local function check_device(comm, a, where)
  if a.device.name ~= comm.device.name then
    usage("%s on rank %d: the array is on %s and the communicator on %s; a:to(comm.device) copies it", where, comm.rank,
      a.device.name, comm.device.name)
  end
end

local function shape_text(shape) return "{" .. table.concat(shape, ", ") .. "}" end

local function same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- The array to write into: options.out, of this shape and dtype, or a new one.
local function output(comm, options, shape, dtype, where)
  local out = options and options.out
  if not out then
    local before = raw.device().name
    raw.use(comm.device.name)
    local made = raw.array_new(dtype, shape)
    raw.use(before)
    return made
  end
  check_device(comm, out, where)
  if not same(out.shape, shape) or out.dtype ~= dtype then
    usage("%s on rank %d: out is %s %s, and the result is %s %s", where, comm.rank, tostring(out.dtype),
      shape_text(out.shape), tostring(dtype), shape_text(shape))
  end
  if not out.is_contiguous then
    usage("%s on rank %d: out is a strided view; pass an array of its own", where, comm.rank)
  end
  return out
end

-- Scalars have a shape as well: an array of one element.
local function stacked(size, shape)
  local result = { size }
  for _, n in ipairs(shape) do result[#result + 1] = n end
  return result
end

local function unstacked(comm, a, where)
  local shape = a.shape
  if shape[1] ~= comm.size then
    usage("%s on rank %d: the first axis is the rank, so it has %d rows; this array is %s", where, comm.rank, comm.size,
      shape_text(shape))
  end
  local result = {}
  for i = 2, #shape do result[i - 1] = shape[i] end
  if #result == 0 then result[1] = 1 end
  return result
end

-- ---- calls ----

local function submit(comm, call)
  call.comm, call.rank, call.clique = comm, comm.rank, comm.clique
  if comm.freed then usage("%s: this communicator was closed", call.name) end
  if comm.clique then return ranks.submit(call) end
  if ranks.is_collecting() then
    call.stream = raw.stream_use(nil)
    raw.stream_use(call.stream)
    return ranks.collect(call)
  end
  library.queue(call)
end

-- Run f, and start the messages that it queues together.
function M.group(f) ranks.group(f, library.run_calls) end

---The reduction of all ranks' arrays, element by element, at every rank.
---@param a moonwarp.array|number a number gives a number
---@param operation? "sum"|"product"|"max"|"min"|"mean"
---@param options? { out?: moonwarp.array } out may be a itself
---@return moonwarp.array|number
function nccl_communicator:allreduce(a, operation, options)
  if type(a) == "number" then
    local before = raw.device().name
    raw.use(self.device.name)
    local one = raw.array_from({ a }, "double")
    raw.use(before)
    return self:allreduce(one, operation, { out = one })[1]
  end
  check_device(self, a, "comm:allreduce")
  local name = operation_named(self, operation, "comm:allreduce")
  local target = output(self, options, a.shape, a.dtype, "comm:allreduce")
  submit(self, { name = "allreduce", kind = "allreduce", source = a:contiguous(), target = target,
    operation_name = name, operation = name })
  return target
end

---The reduction of all ranks' arrays at one rank.
---@param a moonwarp.array
---@param operation? "sum"|"product"|"max"|"min"|"mean"
---@param root? integer rank 0 by default
---@param options? { out?: moonwarp.array }
---@return moonwarp.array? at other ranks than the root: nil
function nccl_communicator:reduce(a, operation, root, options)
  check_device(self, a, "comm:reduce")
  local name = operation_named(self, operation, "comm:reduce")
  root = rank_named(self, root or 0, "comm:reduce", "root")
  local target = self.rank == root and output(self, options, a.shape, a.dtype, "comm:reduce") or nil
  submit(self, { name = "reduce", kind = "reduce", source = a:contiguous(), target = target, operation_name = name,
    operation = name, peer = root })
  return target
end

---Overwrite every rank's array with that of one rank.
---@param a moonwarp.array
---@param root? integer rank 0 by default
---@return moonwarp.array a
function nccl_communicator:broadcast(a, root)
  check_device(self, a, "comm:broadcast")
  root = rank_named(self, root or 0, "comm:broadcast", "root")
  local whole = a.is_contiguous and a or a:contiguous()
  submit(self, { name = "broadcast", kind = "broadcast", source = self.rank == root and whole or nil, target = whole,
    peer = root })
  if whole ~= a then a:assign(whole) end
  return a
end

---All ranks' arrays at every rank, along a new first axis.
---@param a moonwarp.array
---@param options? { out?: moonwarp.array }
---@return moonwarp.array of shape {size, …}
function nccl_communicator:allgather(a, options)
  check_device(self, a, "comm:allgather")
  local target = output(self, options, stacked(self.size, a.shape), a.dtype, "comm:allgather")
  submit(self, { name = "allgather", kind = "allgather", source = a:contiguous(), target = target })
  return target
end

---The reduction of all ranks' arrays, whose first axis is the rank: each rank gets its row.
---@param a moonwarp.array of shape {size, …}
---@param operation? "sum"|"product"|"max"|"min"|"mean"
---@param options? { out?: moonwarp.array }
---@return moonwarp.array
function nccl_communicator:reduce_scatter(a, operation, options)
  check_device(self, a, "comm:reduce_scatter")
  local name = operation_named(self, operation, "comm:reduce_scatter")
  local target = output(self, options, unstacked(self, a, "comm:reduce_scatter"), a.dtype, "comm:reduce_scatter")
  submit(self, { name = "reduce_scatter", kind = "reduce_scatter", source = a:contiguous(), target = target,
    operation_name = name, operation = name })
  return target
end

---Send an array to another rank, which receives it by comm:recv. Ranks that send to each other make both calls in one
---mw.nccl.group, or call comm:sendrecv.
---@param a moonwarp.array
---@param to integer the rank
function nccl_communicator:send(a, to)
  check_device(self, a, "comm:send")
  rank_named(self, to, "comm:send", "the receiver")
  submit(self, { name = "send", kind = "send", source = a:contiguous(), peer = to })
end

---Receive an array of the same shape and dtype that another rank sends.
---@param a moonwarp.array it is overwritten
---@param from integer the rank
---@return moonwarp.array a
function nccl_communicator:recv(a, from)
  check_device(self, a, "comm:recv")
  rank_named(self, from, "comm:recv", "the sender")
  if not a.is_contiguous then
    usage("comm:recv on rank %d: the array is a strided view; receive into one of its own, and assign it", self.rank)
  end
  submit(self, { name = "recv", kind = "receive", target = a, peer = from })
  return a
end

---Send an array to one rank and receive one from another at the same time.
---@param a moonwarp.array
---@param to integer the rank
---@param b moonwarp.array it is overwritten
---@param from integer the rank
---@return moonwarp.array b
function nccl_communicator:sendrecv(a, to, b, from)
  M.group(function()
    self:send(a, to)
    self:recv(b, from)
  end)
  return b
end

-- Row r (from 0) of an array whose first axis is the rank.
local function row(a, r, shape) return a[{ r + 1, {} }]:reshape(shape) end

local function rows(a, size) return a:contiguous():reshape(size, -1) end

---All ranks' arrays at one rank, along a new first axis.
---@param a moonwarp.array
---@param root? integer rank 0 by default
---@param options? { out?: moonwarp.array }
---@return moonwarp.array? at other ranks than the root: nil
function nccl_communicator:gather(a, root, options)
  check_device(self, a, "comm:gather")
  root = rank_named(self, root or 0, "comm:gather", "root")
  local target = self.rank == root and output(self, options, stacked(self.size, a.shape), a.dtype, "comm:gather") or nil
  M.group(function()
    self:send(a, root)
    if not target then return end
    local parts = target:reshape(self.size, -1)
    for r = 0, self.size - 1 do self:recv(row(parts, r, a.shape), r) end
  end)
  return target
end

---Give each rank a row of an array of one rank, whose first axis is the rank.
---@param a? moonwarp.array of shape {size, …}; ignored at other ranks than the root
---@param root? integer rank 0 by default
---@param options { out: moonwarp.array } what this rank receives; at the root it may be left out
---@return moonwarp.array
function nccl_communicator:scatter(a, root, options)
  root = rank_named(self, root or 0, "comm:scatter", "root")
  local out = options and options.out
  if not out and self.rank ~= root then
    usage("comm:scatter on rank %d: name the array to receive, {out = …}: only rank %d knows the others' shapes",
      self.rank, root)
  end
  if self.rank == root then
    check_device(self, a, "comm:scatter")
    out = output(self, options, unstacked(self, a, "comm:scatter"), a.dtype, "comm:scatter")
  end
  M.group(function()
    self:recv(out, root)
    if self.rank ~= root then return end
    local parts = rows(a, self.size)
    for r = 0, self.size - 1 do self:send(row(parts, r, out.shape), r) end
  end)
  return out
end

---Row r of this rank's array goes to rank r, which puts it into row `rank`: a transposition of blocks.
---@param a moonwarp.array of shape {size, …}
---@param options? { out?: moonwarp.array } not a itself
---@return moonwarp.array of the same shape
function nccl_communicator:alltoall(a, options)
  check_device(self, a, "comm:alltoall")
  local part = unstacked(self, a, "comm:alltoall")
  local target = output(self, options, a.shape, a.dtype, "comm:alltoall")
  if target == a then usage("comm:alltoall on rank %d: out is another array than a", self.rank) end
  M.group(function()
    local from, to = rows(a, self.size), target:reshape(self.size, -1)
    for r = 0, self.size - 1 do
      self:send(row(from, r, part), r)
      self:recv(row(to, r, part), r)
    end
  end)
  return target
end

---Wait until every rank has called this, and its device has done the work before.
function nccl_communicator:barrier()
  self:allreduce(0)
  self.device:synchronize()
end

-- ---- groups of ranks ----

---Communicators of the ranks that give the same color, in the order of `key` and then of their ranks. All ranks
---call it.
---@param color? integer from 0; nil: in none
---@param key? integer the rank by default
---@return moonwarp.nccl_communicator? nil if color is
function nccl_communicator:split(color, key)
  color, key = color or -1, key or self.rank
  if self.clique then
    local call = { name = "split", kind = "split", color = color, key = key }
    submit(self, call)
    return call.result
  end
  local handle = raw.communicator_split(self.handle, color, key)
  if not handle then return nil end
  local rank, size = raw.communicator_rank(handle)
  return M.new { handle = handle, rank = rank, size = size, device = self.device, emulated = false,
    timeout = self.timeout }
end

---A communicator of the same ranks, whose messages do not mix with this one's.
---@return moonwarp.nccl_communicator
function nccl_communicator:dup() return self:split(0, self.rank) end

-- Make the results of a split of a clique: call.result. `handles`: the library's, by rank + 1.
function M.split_clique(clique, calls, handles)
  local colors = {}
  for i, call in ipairs(calls) do
    if call.color >= 0 then
      colors[call.color] = colors[call.color] or {}
      table.insert(colors[call.color], { call = call, handle = handles and handles[i], old = i })
    end
  end
  for _, members in pairs(colors) do
    table.sort(members, function(a, b)
      if a.call.key ~= b.call.key then return a.call.key < b.call.key end
      return a.old < b.old
    end)
    local new = ranks.clique(#members, clique.backend)
    for i, member in ipairs(members) do
      local comm = member.call.comm
      member.call.result = M.new { clique = new, handle = member.handle, rank = i - 1, size = #members,
        device = comm.device, emulated = comm.emulated, timeout = comm.timeout }
    end
  end
end

---Set the time limit of messages: one that does not end is then an error at the next wait for its stream, which says
---why, and the communicator is aborted. The emulation finds a deadlock at once instead.
---@param seconds number 0: none
function nccl_communicator:limit(seconds)
  self.timeout = seconds
  if self.handle then raw.communicator_limit(self.handle, seconds) end
end

---End the messages in flight, whose results are undefined; every later call of this group fails with the reason.
---@param reason? string
function nccl_communicator:abort(reason)
  reason = ("rank %d called comm:abort (%s)%s"):format(self.rank, ranks.where(), reason and ": " .. reason or "")
  if self.handle then raw.communicator_abort(self.handle, reason) end
  if self.clique then self.clique.broken = reason end
end

---Close the communicator, after its messages in flight. The collector does so as well.
function nccl_communicator:free()
  self.freed = true
  if self.handle then raw.communicator_free(self.handle) end
end

for name, text in pairs(signatures.nccl_communicator) do
  nccl_communicator[name] = arguments.checked_method("comm:" .. name, text, nccl_communicator[name], metatable)
end

return M
