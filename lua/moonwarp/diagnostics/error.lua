-- Error objects: their text, and functions that return nil and an error instead of raising it.
--
-- The binding raises tables with the metatable raw.error and these fields, absent where unknown:
--   kind       "usage", "memory", "compile", "launch", "kernel", "device" or "io"
--   code       CUDA's name, "cudaErrorInvalidValue"
--   message    what happened, for the author of the script
--   file, line, column    of the CUDA C text, or of the script for misuse
--   kernel, block, thread: the kernel's name, blockIdx and threadIdx (from 0, as in CUDA C)
--   log        the compiler's whole output
--   where      "script.lua:12", the line of the script that was running
--   traceback  the calls that led there

local raw = require "moonwarp.binding"

local M = {}

local Error = raw.error
Error.__name = "moonwarp.diagnostics.error"
Error.__index = Error

-- The position that a reader should look at first; a compiler's output contains its own.
local function place(err)
  if err.log or not err.file then return err.where end
  local text = err.file
  if err.line then text = text .. ":" .. err.line end
  if err.column then text = text .. ":" .. err.column end
  return text
end

-- The first error in a compiler's log, in the form that editors and terminals recognise: position and message, the code
-- with its caret, and the notes.
local function mistake(err)
  local lines, found = {}, false
  for line in err.log:gmatch "[^\n]+" do
    local kind = line:match ":%d+:%d+: (%a[%a ]*): " or ""
    local is_error = kind:find("error", 1, true) ~= nil
    if found and (is_error or kind == "warning" or line:find("^In file included from ")) then break end
    if is_error then
      found = true
      line = ("%s:%d:%d: %s: %s"):format(err.file, err.line, err.column, kind, err.message)
    end
    if found then lines[#lines + 1] = line end
  end
  return found and table.concat(lines, "\n")
end

-- What happened, and the position to look at first.
local function story(err)
  local first = err.log and err.file and err.column and mistake(err)
  if first then return first end
  local at = place(err)
  local text = (at and at .. ": " or "") .. tostring(err.message)
  if err.log and err.log ~= "" then text = text .. "\n" .. err.log:gsub("%s+$", "") end
  return text
end

function Error.__tostring(err)
  local text = story(err)
  local script = err.where and err.where:match "^(.*):%d+$"
  local same = err.log and script == err.file -- the text is in the script, so the line that compiled it adds nothing
  if err.where and not same and not text:find(err.where, 1, true) then
    text = text .. (err.log and "\n  (compiled at " or "\n  (noticed at ") .. err.where .. ")"
  end
  -- PUC Lua's interpreter prints a traceback after uncaught strings, but not after objects; LuaJIT's does.
  if not jit and raw.raising(err) then text = text .. "\n" .. err.traceback end
  return text
end

---Whether `value` is an error object of moonwarp.
---@param value any
---@return boolean
function M.is(value) return type(value) == "table" and getmetatable(value) == Error end

---Raise a usage error, which points at the script.
---@param message string with the placeholders of string.format
---@param ... any for the placeholders
function M.usage(message, ...)
  message = message:gsub("%%d", "%%.0f") -- a number that is out of range may not be an integer
  raw.raise { kind = "usage", code = "cudaErrorInvalidValue", message = message:format(...) }
end

-- The tail of a pcall: usage errors and foreign errors are raised again; other failures are returned.
local function results(ok, err, ...)
  if ok then return err, ... end
  if M.is(err) and err.kind ~= "usage" then return nil, err end
  error(err, 0)
end

---A form of `f` that returns nil and the error object where f raises one. Usage errors are raised all the same.
---@param f function
---@return function
function M.try(f)
  return function(...) return results(pcall(f, ...)) end
end

return M
