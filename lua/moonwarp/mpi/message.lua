-- Messages between two ranks: methods of communicators, and requests.
--
-- An array travels with its dtype and shape, and arrives in an array of the same. Any other value travels as bytes
-- (value.lua).

local raw = require "moonwarp.binding"
local communicators = require "moonwarp.mpi.communicator"
local value = require "moonwarp.mpi.value"
local waiting = require "moonwarp.mpi.waiting"
local mw = require "moonwarp"

local M = {}

local mpi_communicator = communicators.methods
local MOMENT = waiting.MOMENT
local ANY = -1

-- ---- requests ----

---@class moonwarp.mpi_request a message or a collective operation on its way: comm:isend, comm:irecv, comm:iallreduce
local request = {}
local metatable = { __index = request, __name = "moonwarp.mpi_request" }

-- What a finished request returns: for a receive the array or value, the rank and the tag that it came from.
local function results(self)
  if self.results then return self.results[1], self.results[2], self.results[3] end
  if self.complete then
    self.results = { self.complete() }
    raw.mpi_release(self.handle)
    self.handle, self.complete = nil, nil
    return self.results[1], self.results[2]
  end
  if not self.receives then
    if self.handle then raw.mpi_release(self.handle) end
    self.handle = nil
    return nil
  end
  local source, tag
  if self.into then
    source, tag = raw.mpi_place(self.handle)
    self.results = { self.into, source, tag }
  else
    local contents, dtype, shape
    source, tag, contents, dtype, shape = raw.mpi_received(self.handle)
    local found
    if dtype then found = mw.from_bytes(contents, dtype):reshape(shape) else found = value.read(contents) end
    self.results = { found, source, tag }
  end
  raw.mpi_release(self.handle)
  self.handle = nil
  return self.results[1], self.results[2], self.results[3]
end

local function describe(self)
  if self.what then return self.what end
  if not self.receives then return ("sending to rank %d, tag %d"):format(self.other, self.tag) end
  local from = self.other == ANY and "any rank" or "rank " .. self.other
  return ("receiving from %s%s"):format(from, self.tag == ANY and "" or ", tag " .. self.tag)
end

---Wait until the message has been sent, or has arrived, or the collective operation is done.
---@return any what was received, or what the operation returns where it waits
---@return integer? source of a receive: the rank that sent it
---@return integer? tag
function request:wait()
  if not self.is_done then
    if not raw.mpi_wait(self.handle, MOMENT) then waiting.request(self.handle, function() return describe(self) end) end
    self.is_done = true
  end
  return results(self)
end

---Whether it is done; does not wait.
---@return boolean
function request:test()
  if not self.is_done then self.is_done = raw.mpi_wait(self.handle, 0) end
  if self.is_done then results(self) end
  return self.is_done
end

---A request of a collective operation.
---@param handle userdata
---@param what string
---@param complete fun(): any what it returns, once it is done
---@return moonwarp.mpi_request
function M.new_collective(handle, what, complete)
  return setmetatable({ handle = handle, what = what, complete = complete }, metatable)
end

local mpi_send, mpi_receive = raw.mpi_send, raw.mpi_receive

-- Send what is not an array: a request, or nil if it is done.
local function send_value(comm, what, to, tag, seconds)
  return raw.mpi_send_bytes(comm.handle, value.write(what), to, tag or 0, seconds)
end

local function new_send(handle, to, tag)
  return setmetatable({ handle = handle, is_done = handle == nil, other = to, tag = tag or 0 }, metatable)
end

local function new_receive(handle, into, from, tag)
  return setmetatable({ handle = handle, into = into, other = from or ANY, tag = tag or ANY,
    receives = true }, metatable)
end

-- Receive whatever is sent: (from, tag).
local function receive_value(comm, from, tag, seconds)
  return new_receive(raw.mpi_receive_any(comm.handle, from, tag, seconds), nil, from, tag)
end

-- ---- methods ----

---Send an array, or any Lua value. Returns when the array may be written again.
---@param what any an array, or a value to be received without one
---@param to integer the rank
---@param tag? integer 0 to 32767; 0 by default
function mpi_communicator:send(what, to, tag)
  local handle = mpi_send(self.handle, what, to, tag, MOMENT)
  if handle == false then handle = send_value(self, what, to, tag, MOMENT) end
  if handle then new_send(handle, to, tag):wait() end
end

---Receive into an array of the dtype and the shape that was sent: comm:recv(array, from, tag). Without an array,
---receive whatever was sent: comm:recv(from, tag).
---@param into? moonwarp.array|integer
---@param from? integer the rank; any by default
---@param tag? integer any by default
---@return any the array, or the value
---@return integer source the rank that sent it
---@return integer tag
function mpi_communicator:recv(into, from, tag)
  local source, second = mpi_receive(self.handle, into, from, tag, MOMENT)
  if source then return into, source, second end
  if source == nil then return new_receive(second, into, from, tag):wait() end
  return receive_value(self, into, from, MOMENT):wait() -- recv(from, tag)
end

-- Usual calls of both make one call of the binding.
mpi_communicator.send, mpi_communicator.recv = raw.mpi_quick(
  mpi_communicator.send, function(_, _, to, tag, handle) new_send(handle, to, tag):wait() end,
  mpi_communicator.recv, function(_, into, from, tag, handle) return new_receive(handle, into, from, tag):wait() end)

---Begin to send. The array must not be written before the request is done.
---@param what any
---@param to integer
---@param tag? integer
---@return moonwarp.mpi_request
function mpi_communicator:isend(what, to, tag)
  local handle = mpi_send(self.handle, what, to, tag, 0)
  if handle == false then handle = send_value(self, what, to, tag, 0) end
  return new_send(handle, to, tag)
end

---Begin to receive, as comm:recv. The array must not be used before the request is done.
---@param into? moonwarp.array|integer
---@param from? integer
---@param tag? integer
---@return moonwarp.mpi_request
function mpi_communicator:irecv(into, from, tag)
  local source, second = mpi_receive(self.handle, into, from, tag, 0)
  if source then return setmetatable({ is_done = true, results = { into, source, second } }, metatable) end
  if source == nil then return new_receive(second, into, from, tag) end
  return receive_value(self, into, from, 0) -- irecv(from, tag)
end

---Send to one rank and receive from another (or the same) at once.
---@param what any
---@param to integer
---@param into? moonwarp.array nil: whatever was sent
---@param from? integer any by default
---@param tag? integer of both; 0 by default
---@return any the array, or the value
---@return integer source
---@return integer tag
function mpi_communicator:sendrecv(what, to, into, from, tag)
  tag = tag or 0
  local receiving = into == nil and self:irecv(from, tag) or self:irecv(into, from, tag)
  local sending = self:isend(what, to, tag)
  local found, source, its_tag = receiving:wait()
  sending:wait()
  return found, source, its_tag
end

---Wait until a message is there, without receiving it.
---@param from? integer any by default
---@param tag? integer any by default
---@return integer source
---@return integer tag
function mpi_communicator:probe(from, tag)
  local source, found
  waiting.wait(function(seconds)
    local ends = raw.time() + seconds
    repeat
      source, found = raw.mpi_probe(self.handle, from or ANY, tag or ANY)
    until source or raw.time() > ends
    return source
  end, function() return "probing for a message from " .. (from and "rank " .. from or "any rank") end)
  return source, found
end

---Whether a message is there: its source and its tag, or nil.
---@param from? integer
---@param tag? integer
---@return integer? source
---@return integer? tag
function mpi_communicator:iprobe(from, tag) return raw.mpi_probe(self.handle, from or ANY, tag or ANY) end

---Wait for all requests of a list.
---@param list moonwarp.mpi_request[]
function M.wait_all(list)
  for _, one in ipairs(list) do one:wait() end
end

return M
