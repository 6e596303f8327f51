-- Streams and events: making them, and running part of a script in a stream.

local raw = require "moonwarp.binding"

local M = {}

---A new stream of the device in use. Work in one stream runs in order; work in different streams may overlap. Work in
---the default stream waits for earlier work in other streams, and they for it, unless they are non-blocking.
---@param options? { priority?: integer, nonblocking?: boolean } priority: smaller runs first, 0 by default
---@return moonwarp.stream
function M.stream(options)
  options = options or {}
  return raw.stream_new(options.nonblocking, options.priority or 0)
end

---The default stream of the device in use.
---@return moonwarp.stream
function M.default_stream() return raw.stream_default(false) end

---The range of stream priorities.
---@return integer the least
---@return integer the greatest, which runs first: the smaller number
M.stream_priorities = raw.stream_priorities

---A new event of the device in use. Record it in a stream, then wait for it or query it; later - earlier is the time
---between two events in milliseconds.
---@param options? { timing?: boolean, blocking?: boolean } timing: true by default
---@return moonwarp.event
function M.event(options)
  options = options or {}
  return raw.event_new((options.blocking and 1 or 0) + (options.timing == false and 2 or 0))
end

---Call the functions that streams have reached (see s:call). Waiting for the device or a stream calls them as well.
---@return integer how many were called
M.poll = raw.poll

local function finish(before, ok, ...)
  raw.stream_use(before)
  if not ok then error((...), 0) end
  return ...
end

local function leave(before, ok, ...)
  raw.use(before)
  if not ok then error((...), 0) end
  return ...
end

---Run f(...) with a stream for all work that names none (launches, fills, copies between arrays), or with a device in
---use, on which new arrays and modules are then made.
---@param stream moonwarp.stream|moonwarp.device|nil nil: the default stream
---@param f function
---@param ... any
---@return any what f returns
function M.with(stream, f, ...)
  if raw.type(stream) == "device" then
    local before = raw.device().name
    raw.use(stream.name)
    return leave(before, pcall(f, ...))
  end
  return finish(raw.stream_use(stream), pcall(f, ...))
end

local stream, event = raw.classes.stream, raw.classes.event

function stream:__tostring() return ("stream %d (%s, on %s)"):format(self.id, self.kind, self.device.name) end

function event:__tostring()
  return ("event (%s, on %s)"):format(self:query() and "done" or "waiting", self.device.name)
end

return M
