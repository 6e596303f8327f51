-- Error objects: what they look like as text, and the forms of functions that return nil and an error.
--
-- The binding raises tables with the metatable raw.error and these fields, absent where unknown:
--   kind       "usage", "memory", "compile", "launch", "kernel", "device" or "io"
--   code       CUDA's name, "cudaErrorInvalidValue"
--   message    what happened, for the person who made the mistake
--   file, line, column    of the CUDA C text, or of the script for misuse
--   kernel, block, thread the kernel's name, blockIdx and threadIdx (from 0, as in CUDA C)
--   log        the compiler's whole output
--   where      "script.lua:12", the line of the script that was running
--   traceback  how the script got there

local raw = require "moonwarp.binding"

local M = {}

local Error = raw.error
Error.__name = "moonwarp.error"
Error.__index = Error

-- The place that a reader should look at first: a compiler's output brings its own.
local function place(err)
  if err.log or not err.file then return err.where end
  local text = err.file
  if err.line then text = text .. ":" .. err.line end
  if err.column then text = text .. ":" .. err.column end
  return text
end

function Error.__tostring(err)
  local at = place(err)
  local text = (at and at .. ": " or "") .. tostring(err.message)
  if err.log and err.log ~= "" then text = text .. "\n" .. err.log:gsub("%s+$", "") end
  if err.where and at ~= err.where and at ~= nil and not text:find(err.where, 1, true) then
    text = text .. "\n  (noticed at " .. err.where .. ")"
  end
  -- PUC Lua's interpreter prints a traceback behind strings that nobody caught, but not behind objects; LuaJIT's does.
  if not jit and raw.raising(err) then text = text .. "\n" .. err.traceback end
  return text
end

---Whether `value` is an error object of moonwarp.
---@param value any
---@return boolean
function M.is(value) return type(value) == "table" and getmetatable(value) == Error end

---Raise misuse: kind "usage", pointing at the script.
---@param message string with the placeholders of string.format
---@param ... any for the placeholders
function M.usage(message, ...)
  raw.raise { kind = "usage", code = "cudaErrorInvalidValue", message = message:format(...) }
end

-- The tail of a pcall: a failure that is no misuse is handed back, anything else goes on.
local function results(ok, err, ...)
  if ok then return err, ... end
  if M.is(err) and err.kind ~= "usage" then return nil, err end
  error(err, 0)
end

---The form of `f` that returns nil and the error object where f raises, misuse excepted: that is raised all the same.
---@param f function
---@return function
function M.try(f)
  return function(...) return results(pcall(f, ...)) end
end

return M
