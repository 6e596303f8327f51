-- Several ranks of one process: their calls are matched here, and run when every rank has made its own.
--
-- A clique is a group of communicators whose ranks are all in this process. A call waits in clique.pending[rank] until
-- the calls of the other ranks that belong to it are there. Ranks are coroutines (M.run): a rank that has to wait
-- yields. If all ranks wait and nothing matches, they would wait for ever: that is an error, which names every line.
--
-- A call: {name, kind, comm, source, target, operation, peer, where, clique, rank, stream, done}. Kinds are those of
-- the binding (mw_message_kind), and "split". A clique's backend runs matched calls: run(list), where each item is the
-- list of one message's calls, by rank + 1 or sender first; split(calls) makes communicators.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

local current -- the rank whose coroutine runs, or nil
local collecting -- the calls of an open mw.nccl.group, or nil

---"script.lua:12" of the running line of the script.
function M.where()
  local source, line = raw.caller()
  return source and ("%s:%d"):format(source:gsub("^[@=]", ""), line) or "?"
end

local function describe_array(a)
  return ("%s {%s}"):format(tostring(a.dtype), table.concat(a.shape, ", "))
end

-- What a call is, for a message about calls that do not match.
local function describe(call)
  local words = { call.name }
  local array = call.source or call.target
  if array then words[#words + 1] = "of " .. describe_array(array) end
  if call.operation_name then words[#words + 1] = ("by %q"):format(call.operation_name) end
  if call.kind == "broadcast" or call.kind == "reduce" then words[#words + 1] = "root " .. call.peer end
  if call.kind == "send" then words[#words + 1] = "to rank " .. call.peer end
  if call.kind == "receive" then words[#words + 1] = "from rank " .. call.peer end
  return ("rank %d: %s (%s)"):format(call.rank, table.concat(words, " "), call.where)
end

-- ---- matching ----

local function is_pair(call) return call.kind == "send" or call.kind == "receive" end

local function remove(list, item)
  for i, other in ipairs(list) do
    if other == item then return table.remove(list, i) end
  end
end

local function breaks(clique, message)
  clique.broken = message
  for _, list in pairs(clique.pending) do
    for i = #list, 1, -1 do
      list[i].failure = message
      list[i] = nil
    end
  end
  errors.usage("%s", message)
end

local function same_shape(a, b)
  if #a.shape ~= #b.shape then return false end
  for i, n in ipairs(a.shape) do
    if b.shape[i] ~= n then return false end
  end
  return true
end

local function compatible(first, other)
  if first.kind ~= other.kind or first.name ~= other.name then return false end
  if first.operation ~= other.operation then return false end
  if (first.kind == "broadcast" or first.kind == "reduce") and first.peer ~= other.peer then return false end
  local a, b = first.source or first.target, other.source or other.target
  return not a or a.dtype == b.dtype and same_shape(a, b)
end

-- The first collective call of every rank, or nil if a rank has none.
local function find_collective(clique)
  local calls = {}
  for rank = 0, clique.size - 1 do
    for _, call in ipairs(clique.pending[rank]) do
      if not is_pair(call) then
        calls[rank + 1] = call
        break
      end
    end
    if not calls[rank + 1] then return nil end
  end
  for rank = 1, clique.size - 1 do
    if not compatible(calls[1], calls[rank + 1]) then
      local first, other = describe(calls[1]), describe(calls[rank + 1])
      breaks(clique, ("the ranks' calls do not match: %s, and %s"):format(first, other))
    end
  end
  return calls
end

local function find_pair(clique)
  for rank = 0, clique.size - 1 do
    local seen = {}
    for _, send in ipairs(clique.pending[rank]) do
      if send.kind == "send" and not seen[send.peer] then
        seen[send.peer] = true
        for _, receive in ipairs(clique.pending[send.peer]) do
          if receive.kind == "receive" and receive.peer == rank then return { send, receive } end
        end
      end
    end
  end
end

local function check_pair(clique, pair)
  local a, b = pair[1].source, pair[2].target
  if a.dtype ~= b.dtype or a.count ~= 0 and not same_shape(a, b) then
    breaks(clique, ("the message does not fit: %s, and %s"):format(describe(pair[1]), describe(pair[2])))
  end
end

-- Run whatever matches.
local function advance(clique)
  while true do
    local batch = {}
    local calls = find_collective(clique)
    while calls do
      for _, call in ipairs(calls) do remove(clique.pending[call.rank], call) end
      if calls[1].kind == "split" then
        clique.backend.split(clique, calls)
        for _, call in ipairs(calls) do call.done = true end
      else
        batch[#batch + 1] = calls
      end
      calls = find_collective(clique)
    end
    local pair = find_pair(clique)
    while pair do
      check_pair(clique, pair)
      for _, call in ipairs(pair) do remove(clique.pending[call.rank], call) end
      batch[#batch + 1] = pair
      pair = find_pair(clique)
    end
    if #batch == 0 then return end
    local before, stream = raw.device().name, raw.stream_use(nil)
    local ok, err = pcall(clique.backend.run, batch)
    raw.use(before)
    raw.stream_use(stream)
    if not ok then
      clique.broken = tostring(err)
      error(err, 0)
    end
    for _, matched in ipairs(batch) do
      for _, call in ipairs(matched) do call.done = true end
    end
  end
end

-- ---- calls ----

local function waits_for(list)
  for _, call in ipairs(list) do
    if not call.done then return call end
  end
end

local function fail(call)
  if call.failure then errors.usage("%s", call.failure) end
end

-- Put the calls of this rank, or of all ranks (a group outside of ranks), into their cliques, and wait for them.
local function finish(list)
  local cliques, seen = {}, {}
  for _, call in ipairs(list) do
    local clique = call.clique
    if clique.broken then errors.usage("%s: this communicator failed before: %s", call.name, clique.broken) end
    table.insert(clique.pending[call.rank], call)
    if not seen[clique] then
      seen[clique] = true
      cliques[#cliques + 1] = clique
    end
  end
  for _, clique in ipairs(cliques) do advance(clique) end
  while true do
    for _, call in ipairs(list) do fail(call) end
    local call = waits_for(list)
    if not call then return end
    if not current then
      remove(call.clique.pending[call.rank], call)
      errors.usage("%s: the other ranks are in this process and made no matching call. Make the calls of all ranks in "
        .. "one mw.nccl.group(function() … end), or run the ranks by mw.nccl.run", describe(call))
    end
    current.waiting = list
    coroutine.yield(M)
    current.waiting = nil
  end
end

---Make a call of a communicator of a clique.
function M.submit(call)
  local stream = raw.stream_use(nil)
  raw.stream_use(stream)
  call.stream, call.where = stream, M.where()
  if collecting then
    collecting[#collecting + 1] = call
  else
    finish { call }
  end
end

---Whether calls are being collected for a group.
function M.is_collecting() return collecting ~= nil end

---Collect the calls that f makes, and run them together.
---@param f function
---@param direct fun(calls: table[]) runs those of communicators whose other ranks are in other processes
function M.group(f, direct)
  if collecting then return f() end
  local list = {}
  collecting = list
  local ok, err = pcall(f)
  collecting = nil
  if not ok then error(err, 0) end
  local here, there = {}, {}
  for _, call in ipairs(list) do table.insert(call.clique and here or there, call) end
  if #there > 0 then direct(there) end
  if #here > 0 then finish(here) end
end

---Add a call of a communicator without a clique to the open group.
function M.collect(call) collecting[#collecting + 1] = call end

-- ---- ranks as coroutines ----

local function resume(rank)
  local outside, outside_device, outside_stream = current, raw.device().name, raw.stream_use(nil)
  raw.use(rank.device)
  raw.stream_use(rank.stream)
  current = rank
  local result = { coroutine.resume(rank.thread, rank.comm) }
  current = outside
  rank.device, rank.stream = raw.device().name, raw.stream_use(nil)
  raw.use(outside_device)
  raw.stream_use(outside_stream)
  if not result[1] then error(result[2], 0) end
  if coroutine.status(rank.thread) == "dead" then
    rank.dead, rank.result = true, result[2]
  elseif result[2] ~= M then
    errors.usage("rank %d called coroutine.yield outside of a coroutine of its own", rank.comm.rank)
  end
end

local function is_ready(rank)
  if not rank.waiting then return true end
  for _, call in ipairs(rank.waiting) do
    if call.failure then return true end
  end
  return not waits_for(rank.waiting)
end

local function deadlock(ranks)
  local lines = {}
  for _, rank in ipairs(ranks) do
    lines[#lines + 1] = rank.dead and ("rank %d: has ended"):format(rank.comm.rank)
      or describe(waits_for(rank.waiting))
  end
  errors.usage("deadlock: every rank waits, and no calls match. %s", table.concat(lines, "; "))
end

---Run f(comm) for each communicator as a coroutine, to their ends.
---@param comms table[]
---@param f function
---@return table results the first result of each rank, by rank + 1
function M.run(comms, f)
  local ranks, results = {}, {}
  for i, comm in ipairs(comms) do
    ranks[i] = { comm = comm, thread = coroutine.create(f), device = comm.device.name }
  end
  local live = #ranks
  while live > 0 do
    local moved = false
    for i, rank in ipairs(ranks) do
      if not rank.dead and is_ready(rank) then
        moved = true
        resume(rank)
        if rank.dead then
          live = live - 1
          results[i] = rank.result
        end
      end
    end
    if not moved then deadlock(ranks) end
  end
  return results
end

---A clique for ranks 0 to size - 1.
function M.clique(size, backend)
  local clique = { size = size, backend = backend, pending = {} }
  for rank = 0, size - 1 do clique.pending[rank] = {} end
  return clique
end

return M
