-- CUDA's result codes: the mapping of moonwarp's errors to the codes that functions of moonwarp.runtime return first.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local signatures = require "moonwarp.runtime.signatures"

local M = {
  ---name -> number, for all codes
  codes = {},
}

local names, texts = {}, {}
for code = 0, 999 do
  local name, text = raw.result(code)
  if name ~= "cudaErrorUnknown" or code == 999 then
    M.codes[name], names[code], texts[code] = code, name, text
  end
end

-- The code for cudaGetLastError, and the complete error object.
local last, story = 0, nil

---Raise the failure that makes a function return the code called `name`.
---@param name string "cudaErrorInvalidValue"
---@param message string
function M.fail(name, message, ...)
  raw.raise { kind = "usage", code = name, message = message:format(...) }
end

local function finish(ok, ...)
  if ok then return 0, ... end
  local err = ...
  local code = errors.is(err) and M.codes[err.code]
  if not code then error(err, 0) end -- the script's own error
  if code ~= M.codes.cudaErrorNotReady then last, story = code, err end
  return code
end

---A form of f that refuses more arguments than it has parameters.
---@param f function
---@return function
function M.counted(f)
  local info = debug.getinfo(f, "u")
  if info.isvararg or info.nparams == nil then return f end
  return function(...)
    for i = info.nparams + 1, select("#", ...) do
      if (select(i, ...)) ~= nil then
        M.fail("cudaErrorInvalidValue", "this function takes %d argument%s, got %d", info.nparams,
          info.nparams == 1 and "" or "s", select("#", ...))
      end
    end
    return f(...)
  end
end

-- The inner function of each function that returns codes.
local bodies = setmetatable({}, { __mode = "k" })

---A function that returns a result code and then what f returns.
---@param f function raises where it fails
---@return function
function M.api(f)
  f = M.counted(f)
  local function coded(...) return finish(pcall(f, ...)) end
  bodies[coded] = f
  return coded
end

---A form of f that checks its arguments by the signature of that name (signatures.lua).
---@param name string
---@param f function
---@return function
function M.takes(name, f)
  local text = signatures[name] or signatures[name:gsub("Async$", "")] .. ", stream?: any"
  return arguments.checked(name, text, f)
end

---The inner function of a function that M.api made: it raises errors instead of returning a code.
---@param coded function
---@return function
function M.body(coded) return bodies[coded] end

---Install the functions about errors themselves.
---@param rt table
function M.install(rt)
  for name, code in pairs(M.codes) do rt[name] = code end

  function rt.cudaGetLastError()
    local code = last
    last, story = 0, nil
    return code
  end

  function rt.cudaPeekAtLastError() return last end

  function rt.cudaGetErrorName(code) return names[code] or "unrecognized error code" end

  function rt.cudaGetErrorString(code) return texts[code] or "unrecognized error code" end

  ---moonwarp's own: the error object of the last code that was not cudaSuccess, or nil.
  function rt.story() return story end
end

return M
