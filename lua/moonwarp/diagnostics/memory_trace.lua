-- Tracing of allocations: while it is on, functions that allocate memory record the line of the script that called
-- them. While it is off, nothing is wrapped.

local raw = require "moonwarp.binding"

local M = {}

local own = debug.getinfo(1, "S").source:match("^@(.*[/\\])diagnostics[/\\]memory_trace%.lua$") or ""

-- The functions that allocate memory, and their originals without tracing.
local makers = { "array_new", "array_from", "image_read", "pitched_new", "cuda_array_new" }
local plain

local objects = setmetatable({}, { __mode = "k" }) -- object -> { file, line, kind }
local addresses = {} -- of memory by address -> { file, line }

-- The innermost line that does not belong to this library.
local function site()
  local level = 3
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then return { file = "?", line = 0 } end
    local inside = info.what == "C" or (own ~= "" and info.source:sub(2, 1 + #own) == own)
    if not inside then
      return { file = info.source:sub(1, 1) == "@" and info.source:sub(2) or info.short_src, line = info.currentline }
    end
    level = level + 1
  end
end

local function start()
  plain = {}
  for _, name in ipairs(makers) do
    local make = raw[name]
    plain[name] = make
    raw[name] = function(...)
      local object = make(...)
      local note = site()
      local _, _, kind = ...
      note.kind = name == "array_new" and type(kind) == "string" and kind or "device"
      objects[object] = note
      return object
    end
  end
  plain.memory_new = raw.memory_new
  raw.memory_new = function(...)
    local address = plain.memory_new(...)
    addresses[address] = site()
    return address
  end
end

local function stop()
  for name, make in pairs(plain) do raw[name] = make end
  plain = nil
  for object in pairs(objects) do objects[object] = nil end
  for address in pairs(addresses) do addresses[address] = nil end
end

---Switch tracing on or off; off forgets all recorded lines.
---@param on boolean
---@return boolean before
function M.trace(on)
  local before = plain ~= nil
  if on and not before then start() end
  if not on and before then stop() end
  return before
end

local function describe(object, note)
  local class = raw.type(object)
  return {
    class = class, kind = note.kind, device = object.device.name, bytes = object.nbytes,
    dtype = tostring(object.dtype), file = note.file, line = note.line,
  }
end

---The allocations since tracing began that are still live on the device, largest first; nil if tracing is off.
---@param device string
---@return table[]?
function M.live(device)
  if not plain then return nil end
  local list = {}
  for object, note in pairs(objects) do
    if not object.freed and object.device.name == device then list[#list + 1] = describe(object, note) end
  end
  for _, info in ipairs(raw.memory_live()) do
    local note = addresses[info.address]
    if note and info.device == device then
      list[#list + 1] = {
        class = "memory", kind = info.kind, device = device, bytes = info.bytes, dtype = "char", file = note.file,
        line = note.line,
      }
    end
  end
  table.sort(list, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    if a.file ~= b.file then return a.file < b.file end
    return a.line < b.line
  end)
  return list
end

return M
