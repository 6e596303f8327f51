-- The device in use: selecting it, its properties and limits, and waiting for it.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

-- "cpu@1.1" for ("cpu", { capability = "1.1" }); a device may be given instead of its name.
local function name_of(where, device, options)
  local name = raw.type(device) == "device" and device.name or device
  if name == nil then errors.usage("%s: options belong to a device, so name it: \"cpu\"", where) end
  if options == nil or options.capability == nil then return name end
  return name:gsub("@.*", "") .. "@" .. options.capability
end

---Use a device from now on. Existing objects stay on their device.
---@param device? string|moonwarp.device "cpu", "cpu:1", "cuda"; nil: $MOONWARP_DEVICE, or a GPU where one works, else
---the CPU
---@param options? { capability?: string } open the CPU device as one of that compute capability, "1.0" to "9.0"
---@return moonwarp.device
function M.use(device, options)
  if device == nil and options == nil then return raw.use(nil) end
  return raw.use((name_of("mw.use", device, options)))
end

---As mw.use, but returns nil and the error if there is no such device.
M.try_use = errors.try(M.use)

---The device in use: until mw.use selects one, $MOONWARP_DEVICE or else the first GPU or the CPU. With a name, that
---device, without using it.
---@param name? string "cpu", "cpu:1"
---@param options? { capability?: string } as for mw.use
---@return moonwarp.device
function M.device(name, options)
  if name == nil and options == nil then return raw.device() end
  return raw.open((name_of("mw.device", name, options)))
end

---The names of all devices. { cpu = 3 } creates three CPU devices, each with its own memory, modules and streams;
---{ cpu = { "1.1", "8.0" } } creates two, with these compute capabilities.
---@param numbers? { cpu?: integer|string[] }
---@return string[]
function M.devices(numbers)
  if numbers == nil then return raw.device_list() end
  for driver, value in pairs(numbers) do
    local text = type(value) == "table" and table.concat(value, ",") or value
    if type(driver) ~= "string" or not (type(text) == "string" or type(text) == "number" and text % 1 == 0) then
      errors.usage("mw.devices wants a table such as { cpu = 2 } or { cpu = { \"1.1\", \"8.0\" } }")
    end
    raw.simulate(driver, type(text) == "number" and ("%d"):format(text) or text)
  end
  return raw.device_list()
end

---The limits of a compute capability: of a block, of a multiprocessor, of textures and of surfaces.
---@param name string "1.0" to "9.0"
---@return table
M.capability = raw.capability

---The names of all known compute capabilities, oldest first.
---@return string[]
function M.capabilities()
  local names = {}
  for i, facts in ipairs(raw.capabilities()) do names[i] = ("%d.%d"):format(facts.major, facts.minor) end
  return names
end

---A text about this machine's devices: what moonwarp looked for to use them, where, what it found, and what to do if
---something is missing.
---@return string
function M.doctor() return raw.doctor() .. raw.mpi_report() end

---Wait until all work is done; raises the first kernel failure since the last call that raised one.
---@param device? moonwarp.device the one in use by default
M.synchronize = raw.synchronize

---Pass the output of kernels' printf to a function instead of stdout; nil restores stdout. It is called with the new
---text whenever the host waits for the device, by mw.synchronize or by reading an array. The output of one printf call
---stays together.
---@param f? fun(text: string)
M.on_print = raw.on_print

---Set a limit of the device in use, and return the previous value; without a value, only return it. 0 means no limit.
---@param name "time"|"memory"|"stack"|"compile_time"|"compile_memory"|"specialise"|"heap"|"launches" its unit varies
---@param value? number
---@return number
function M.limit(name, value) return raw.limit(nil, name, value) end

---Device memory: bytes and count of live allocations, peak (the largest number of bytes so far) and total (the device's
---memory). While mw.trace_memory is on, also `live`: the allocations since then that are not freed, largest first.
---@return { bytes: integer, count: integer, peak: integer, total: integer, live?: table[] } live: of each its class
---("array", "pitched", "cuda_array", or "memory" that moonwarp.runtime made), kind ("device", "pinned", "managed"),
---device, bytes, dtype, file and line
function M.memory()
  local memory = raw.memory()
  memory.live = raw.part("diagnostics.memory_trace").live(raw.device().name)
  return memory
end

---Record allocations with their line of the script, or stop recording; see mw.memory. It costs nothing while it is off.
---@param on boolean
---@return boolean before
function M.trace_memory(on) return raw.part("diagnostics.memory_trace").trace(on) end

---The fields of cudaDeviceProp for the device in use.
---@return table
function M.properties() return raw.properties_of() end

function raw.properties.device.capability(device)
  local facts = device:properties()
  return ("%d.%d"):format(facts.major, facts.minor)
end

return M
