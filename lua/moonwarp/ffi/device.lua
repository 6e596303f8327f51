-- Devices: the one in use, its facts and limits, and waiting for it.
--
-- A device object is made once for each device of the core, so that equal devices are equal objects and every array
-- made on one may point at it: they are kept as long as the Lua state lives.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local lazy_loading = require "moonwarp.ffi.lazy_loading"

local M = {}

---The owner of this state's modules and waits (mw_owner_use).
M.owner = C.mw_owner_new()
local owner = M.owner

local devices = {} -- handle's address -> object
local current -- nil until something needs a device

-- _pending: launches were made since failures of kernels were last checked.
local function name_of(self) return ffi.string(C.mw_device_name(self._handle)) end

local device_type = class.struct("device", "struct { mw_device *_handle; int _pending; }", {
  __tostring = name_of,
  __gc = function(self)
    -- Where an interpreter runs a script, which has its name in `arg`, the process's status is the script's.
    C.mw_owner_use(owner)
    if self._pending ~= 0 then C.mw_device_leave(self._handle, type(rawget(_G, "arg")) == "table" and 1 or 0) end
    C.mw_device_release(self._handle)
    self._handle = nil
  end,
})

M.most_memory = 0 -- bytes that the largest GPU in use has

local uintptr = ffi.typeof "uintptr_t"
local function address(handle) return tonumber(ffi.cast(uintptr, handle)) end

local function open(name)
  local out = ffi.new "mw_device *[1]"
  errors.must(C.mw_device_open(name, out))
  local known = devices[address(out[0])]
  if known then
    C.mw_device_release(out[0])
    return known
  end
  local device = device_type(out[0], 0)
  local memory = ffi.new "mw_memory"
  if not name_of(device):find "^cpu" and C.mw_device_memory(device._handle, memory) == 0 then
    M.most_memory = math.max(M.most_memory, tonumber(memory.total))
  end
  devices[address(out[0])] = device
  return device
end

---The device of this state, opened now if it was not yet.
function M.current()
  C.mw_owner_use(owner)
  if not current then current = open(nil) end
  return current
end

---The object of a device, which arrays know by a pointer to it.
function M.object(pointer) return devices[address(pointer._handle)] end

-- ---- waiting ----

---Calls the functions of streams whose turn it is; whether there was one. stream.lua's, as there are none before.
function M.run_calls() return false end
M.has_calls = false -- whether there are any

local printing, print_to -- the device whose kernels' output a function gets, and that function

---Call the function that gets what kernels print, if there is one and something was printed.
function M.deliver_printed()
  if not printing then return end
  local piece, texts = ffi.new "char[1024]", {}
  local length = C.mw_device_printed(printing._handle, piece, 1024)
  while length > 0 do
    texts[#texts + 1] = ffi.string(piece, length)
    length = C.mw_device_printed(printing._handle, piece, 1024)
  end
  if texts[1] then print_to(table.concat(texts)) end
end

-- Functions of streams have to be called first: all that are due.
local function call_and_wait(wait, handle, code)
  while code == C.MW_NOT_READY and M.run_calls() do
    C.mw_owner_use(owner) -- the functions may have run another state's code
    code = wait(handle)
  end
  return code
end

---Wait through wait(handle), which returns a result code, and call the functions that it waits for. It has no loop, so
---that a loop that calls it is compiled.
---@param wait function
---@param handle ffi.cdata*
---@return integer code
function M.wait(wait, handle)
  C.mw_owner_use(owner)
  local code = wait(handle)
  if code == C.MW_NOT_READY then code = call_and_wait(wait, handle, code) end
  if printing then M.deliver_printed() end
  return code
end

local synchronize_handle = C.mw_device_synchronize -- looked up now: LuaJIT does not compile a symbol's first look-up

local function wait_device(device)
  device._pending = 0
  errors.must(M.wait(synchronize_handle, device._handle))
end

---What follows is this state's.
function M.own() C.mw_owner_use(owner) end

---Raise the failure of a kernel that this state ran since the last call, waiting for the work in flight; cheap where
---nothing was launched. Called before whatever hands data to the host: a result of a failed kernel should not pass for
---data.
function M.settle(device)
  C.mw_owner_use(owner)
  if device._pending ~= 0 then wait_device(device) end
end

---The same before data is handed to the device, which waits too: only functions that streams have to call are called.
function M.drain(device)
  C.mw_owner_use(owner)
  if M.has_calls then M.settle(device) end
end

local function check(device)
  if device == nil then return M.current() end
  return errors.check(device, "device", "device")
end

local function synchronize(device) wait_device(check(device)) end

-- on_print(f): f(text) gets what kernels of the device in use print; nil: stdout does again.
local function on_print(f)
  if printing then
    wait_device(printing)
    errors.must(C.mw_device_keep_printed(printing._handle, 0))
  end
  printing = nil
  if f == nil then return end
  local device = M.current()
  errors.must(C.mw_device_keep_printed(device._handle, 1))
  printing, print_to = device, f
end

local limits = {
  time = 0, memory = 1, stack = 2, compile_time = 3, compile_memory = 4, specialise = 5, heap = 6, launches = 7,
}

-- limit(device, name[, value]) -> the value before.
local function limit(device, name, value)
  device = check(device)
  local which = type(name) == "string" and limits[name]
  if not which then errors.refuse("limit", name) end
  local old = ffi.new "double[1]"
  errors.must(C.mw_device_limit_get(device._handle, which, old))
  if value ~= nil then
    if type(value) ~= "number" then errors.refuse("limit_value", name, value) end
    errors.must(C.mw_device_limit_set(device._handle, which, value))
  end
  return old[0]
end

local function memory(device)
  local facts = ffi.new "mw_memory"
  errors.must(C.mw_device_memory(check(device)._handle, facts))
  return {
    bytes = tonumber(facts.bytes), count = tonumber(facts.count), peak = tonumber(facts.peak),
    total = tonumber(facts.total),
  }
end

local counts = {
  "major", "minor", "multiprocessors", "warp_size", "max_threads_per_block", "max_cluster", "shared_per_block",
  "shared_per_block_optin", "total_constant", "total_memory", "l2_cache", "registers_per_block", "clock_khz",
  "memory_pitch", "texture_alignment", "texture_pitch_alignment",
}

local function three(list) return { tonumber(list[0]), tonumber(list[1]), tonumber(list[2]) } end

local function properties(device)
  local facts = ffi.new "mw_properties"
  errors.must(C.mw_device_properties(check(device)._handle, facts))
  local result = {
    name = ffi.string(facts.name), driver = ffi.string(facts.driver),
    max_block = three(facts.max_block), max_grid = three(facts.max_grid),
  }
  for _, field in ipairs(counts) do result[field] = tonumber(facts[field]) end
  result.textures = lazy_loading.part("capability").textures(facts.textures)
  return result
end

local methods = class.methods.device
methods.synchronize, methods.limit, methods.memory, methods.properties = synchronize, limit, memory, properties

-- device:can_access_peer(other) -> boolean; device:enable_peer_access(other), device:disable_peer_access(other)
function methods.can_access_peer(device, peer)
  local can = ffi.new "int[1]"
  device, peer = check(device), errors.check(peer, "device", "the peer")
  errors.must(C.mw_device_can_reach(device._handle, peer._handle, can))
  return can[0] ~= 0
end

function methods.enable_peer_access(device, peer)
  device, peer = check(device), errors.check(peer, "device", "the peer")
  errors.must(C.mw_device_reach(device._handle, peer._handle))
end

function methods.disable_peer_access(device, peer)
  device, peer = check(device), errors.check(peer, "device", "the peer")
  errors.must(C.mw_device_unreach(device._handle, peer._handle))
end

function methods.reset(device)
  device = check(device)
  device._pending = 0
  errors.must(C.mw_device_reset(device._handle))
end

class.properties.device.name = name_of
function class.properties.device.resets(self) return tonumber(C.mw_device_resets(self._handle)) end

M.raw = {
  -- use(name) -> device: what arrays and modules are made on from now on.
  use = function(wanted)
    current = open(wanted)
    return current
  end,
  -- open(name) -> device: without using it.
  open = open,
  -- simulate(driver, devices): see mw_device_simulate.
  simulate = function(driver, text) errors.must(C.mw_device_simulate(driver, text)) end,
  device = M.current,
  -- device_list() -> a sequence of names
  device_list = function()
    local list, name = {}, ffi.new "char[32]"
    while C.mw_device_list(#list, name) == 0 do list[#list + 1] = ffi.string(name) end
    return list
  end,
  -- doctor() -> a text
  doctor = function()
    local size = tonumber(C.mw_doctor(nil, 0)) + 1
    local text = ffi.new("char[?]", size)
    C.mw_doctor(text, size)
    return ffi.string(text)
  end,
  -- result(code) -> CUDA's name of it, and its sentence
  result = function(code) return ffi.string(C.mw_result_name(code)), ffi.string(C.mw_result_text(code)) end,
  synchronize = synchronize,
  on_print = on_print,
  limit = limit,
  memory = memory,
  properties_of = properties,
  interrupt_watch = function(on) errors.must(C.mw_interrupt_watch(on and 1 or 0)) end,
  -- interrupted() -> whether there was an interrupt since the last call
  interrupted = function() return C.mw_interrupt_seen() ~= 0 end,
  -- interrupt_wait(descriptor) -> whether there is something to read, and no interrupt
  interrupt_wait = function(descriptor) return C.mw_interrupt_wait(descriptor) ~= 0 end,
}

M.ctype = device_type

return M
