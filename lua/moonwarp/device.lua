-- The device in use: choosing it, its facts and limits, waiting for it.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.error"

local M = {}

---Use a device from now on: what is made before stays where it is.
---@param name string "cpu", "cpu:0"
---@return moonwarp.device
M.use = raw.use

---As mw.use, but returns nil and the error where there is no such device.
M.try_use = errors.try(raw.use)

---The device in use: $MOONWARP_DEVICE, or the best there is, until mw.use says otherwise.
---@return moonwarp.device
M.device = raw.device

---Wait until all work is done; raises the first failure of a kernel since the last call that reported one.
---@param device? moonwarp.device the one in use by default
M.synchronize = raw.synchronize

---Give what kernels print to a function instead of stdout, from now on; nil: to stdout again. It is called whenever
---the host waits for the device, by mw.synchronize or by reading an array, with the text since the last time. What one
---call of printf prints stays together.
---@param f? fun(text: string)
M.on_print = raw.on_print

---Set a limit of the device in use, and return what it was; without a value only that. 0 means none.
---@param name "time"|"memory"|"stack"|"compile_time"|"compile_memory"|"specialise"|"heap" seconds, bytes or threads
---@param value? number
---@return number
function M.limit(name, value) return raw.limit(nil, name, value) end

---Device memory: bytes and count of live allocations, peak (the most bytes has been) and total (what there is).
---@return { bytes: integer, count: integer, peak: integer, total: integer }
function M.memory() return raw.memory() end

---cudaDeviceProp's facts of the device in use.
---@return table
function M.properties() return raw.properties_of() end

return M
