-- A recording: what the watcher "steps" saw (src/cpu/watch/steps.c), as tables for looking into both directions of
-- time.
--
-- Time is counted in events, over all recorded blocks, block after block: at event t some lanes of a warp are at the
-- beginning of a line, and what the block did before is done. A block's last time has no lanes: its threads have ended.

local layout = require "moonwarp.stepping.layout"

local M = {}
local recording = {}
recording.__index = recording

local STEP, ENTER, VARIABLE = 10, 11, 13
local SHARED, LOCAL = 3, 5

local function split(line)
  local words = {}
  for word in (line .. "\t"):gmatch "([^\t]*)\t" do words[#words + 1] = word end
  return words
end

local function bytes_of(hex) return (hex:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end)) end

-- ---- reading ----

local function read_site(words)
  local kind = tonumber(words[3])
  local site = { kind = kind, space = tonumber(words[4]), line = tonumber(words[7]), file = words[10],
    name = words[12] }
  local about = words[14]
  if kind == VARIABLE then
    site.type, site.is_shared, site.is_local = layout.read(about), site.space == SHARED, site.space == LOCAL
  elseif kind == STEP then
    site.visible = {}
    for number in about:gmatch "%d+" do site.visible[#site.visible + 1] = tonumber(number) end
  elseif kind == ENTER and site.name == "" then
    site.name = words[13]
  end
  return site
end

local function lanes_of(hex)
  local lanes, mask, lane = {}, tonumber(hex, 16), 0
  while mask > 0 do
    if mask % 2 == 1 then lanes[#lanes + 1] = lane end
    mask, lane = math.floor(mask / 2), lane + 1
  end
  return lanes
end

local function thread_of(block, number)
  local thread = block.threads[number]
  if not thread then
    thread = { number = number, times = {}, sites = {}, frames = {}, stack = {} }
    block.threads[number] = thread
  end
  return thread
end

-- Enter an access into the lists of the 4-byte words that it touches.
local function add_access(block, access)
  local first = math.floor(access.address / 4)
  for word = first, math.floor((access.address + #access.after - 1) / 4) do
    local list = block.words[word]
    if not list then
      list = {}
      block.words[word] = list
    end
    list[#list + 1] = access
  end
  block.accesses[#block.accesses + 1] = access
end

local readers = {}

function readers.e(self, block, words)
  local event = { site = tonumber(words[2]), warp = tonumber(words[3]), lanes = lanes_of(words[4]), block = block }
  local time = #self.events + 1
  self.events[time] = event
  for _, lane in ipairs(event.lanes) do
    local thread = thread_of(block, 32 * event.warp + lane)
    thread.times[#thread.times + 1] = time
    thread.sites[#thread.sites + 1] = event.site
  end
end

function readers.f(self, block, words)
  local thread = thread_of(block, tonumber(words[2]))
  local frame = { site = tonumber(words[3]), enter = #self.events + 1, variables = {},
    parent = thread.stack[#thread.stack] }
  thread.frames[#thread.frames + 1] = frame
  thread.stack[#thread.stack + 1] = frame
end

function readers.l(self, block, words)
  local thread = thread_of(block, tonumber(words[2]))
  local frame = table.remove(thread.stack)
  if frame then frame.leave = #self.events + 1 end
end

function readers.d(self, block, words)
  local thread = thread_of(block, tonumber(words[2]))
  local frame = thread.stack[#thread.stack]
  if not frame then return end
  frame.variables[tonumber(words[3])] = { address = tonumber(words[4], 16), declared = #self.events + 1, times = {},
    values = {}, frame = frame, site = tonumber(words[3]) }
end

function readers.g(_, block, words) block.globals[tonumber(words[2])] = tonumber(words[3], 16) end

function readers.v(self, block, words)
  local thread, number = thread_of(block, tonumber(words[2])), tonumber(words[3])
  local frame = thread.stack[#thread.stack]
  local address = tonumber(words[4], 16)
  local function has(other) return other.variables[number] and other.variables[number].address == address end
  while frame and not has(frame) do frame = frame.parent end
  if not frame then return end
  local variable = frame.variables[number]
  variable.times[#variable.times + 1] = #self.events + 1
  variable.values[#variable.values + 1] = bytes_of(words[5])
end

function readers.m(self, block, words)
  add_access(block, { time = #self.events + 1, thread = tonumber(words[2]), site = tonumber(words[3]),
    address = tonumber(words[4], 16), before = bytes_of(words[5]), after = bytes_of(words[6]), writes = true })
end

function readers.r(self, block, words)
  local bytes = bytes_of(words[5])
  add_access(block, { time = #self.events + 1, thread = tonumber(words[2]), site = tonumber(words[3]),
    address = tonumber(words[4], 16), before = bytes, after = bytes, writes = false })
end

local function end_block(self, block)
  if not block then return end
  self.events[#self.events + 1] = { block = block, lanes = {}, is_end = true }
  block.last = #self.events
end

---@param text string the watcher's result
---@return table recording { events =, sites =, blocks = by number, full = records, or nil }
function M.read(text)
  local self = setmetatable({ events = {}, sites = {}, blocks = {}, order = {} }, recording)
  local texts = {} -- of blocks: workers run them in any order
  local number
  for line in text:gmatch "[^\n]+" do
    local first = line:match "^[^\t]*"
    if first == "block" then
      number = tonumber(split(line)[2])
      texts[number] = texts[number] or {}
      if #texts[number] == 0 then self.order[#self.order + 1] = number end
    elseif first == "full" then
      self.full = tonumber(split(line)[2])
    elseif first == "site" then
      local words = split(line)
      self.sites[tonumber(words[2])] = read_site(words)
    elseif number then
      local list = texts[number]
      list[#list + 1] = line
    end
  end
  table.sort(self.order)
  for _, block_number in ipairs(self.order) do
    local block = { number = block_number, first = #self.events + 1, threads = {}, words = {}, accesses = {},
      globals = {} }
    self.blocks[block_number] = block
    for _, line in ipairs(texts[block_number]) do
      local words = split(line)
      readers[words[1]](self, block, words)
    end
    end_block(self, block)
  end
  return self
end

-- ---- looking up ----

-- The position of the last element of an ascending list that is at most `time`; 0: there is none.
local function last_until(list, time)
  local low, high = 0, #list
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if list[middle] <= time then low = middle else high = middle - 1 end
  end
  return low
end

---Where a thread is: the position in thread.times of its latest line at or before `time`; 0: at none yet.
function recording.position(_, thread, time) return last_until(thread.times, time) end

---The functions that a thread is in at a time at which it is at a line, innermost first.
function recording.stack(_, thread, time)
  local innermost
  for _, frame in ipairs(thread.frames) do
    if frame.enter > time then break end
    if not frame.leave or frame.leave > time then innermost = frame end
  end
  local stack = {}
  while innermost do
    stack[#stack + 1] = innermost
    innermost = innermost.parent
  end
  return stack
end

---The line's site at which a function is: of the innermost one where the thread is, of others where they call.
function recording.site_in(self, thread, frame, time)
  for at = last_until(thread.times, time), 1, -1 do
    local stack = self:stack(thread, thread.times[at])
    if stack[1] == frame then return self.sites[thread.sites[at]] end
  end
  return nil
end

---A variable's bytes at a time, or nil if it was not declared yet.
function recording.variable_bytes(_, variable, time)
  if variable.declared > time then return nil end
  return variable.values[last_until(variable.times, time)]
end

local function byte_of(access, address, before)
  local at = address - access.address
  if at < 0 or at >= #access.after then return nil end
  return (before and access.before or access.after):sub(at + 1, at + 1)
end

-- A byte of shared or global memory: as the latest access at or before the time left it, else as the first one after it
-- found it; nil: no recorded access touches it.
local function memory_byte(block, address, time)
  local list = block.words[math.floor(address / 4)]
  if not list then return nil end
  local low, high = 0, #list
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if list[middle].time <= time then low = middle else high = middle - 1 end
  end
  for i = low, 1, -1 do
    local byte = byte_of(list[i], address)
    if byte then return byte end
  end
  for i = low + 1, #list do
    local byte = byte_of(list[i], address, true)
    if byte then return byte end
  end
end

---Bytes of shared or global memory at a time. `others(address)` gives a byte that no recorded access touches, or nil.
---@return string|nil
function recording.memory(_, block, address, count, time, others)
  local out = {}
  for i = 0, count - 1 do
    local byte = memory_byte(block, address + i, time) or others(address + i)
    if not byte then return nil end
    out[#out + 1] = byte
  end
  return table.concat(out)
end

---The first write to a range after `from`, or (back) the last one at or before it; nil: there is none.
---@return table|nil access
function recording.write_to(_, block, address, count, from, back)
  local found
  for _, access in ipairs(block.accesses) do
    local touches = access.writes and access.address < address + count and address < access.address + #access.after
    if touches and back and access.time <= from then found = access end
    if touches and not back and access.time > from then return access end
  end
  return found
end

M.last_until = last_until

return M
