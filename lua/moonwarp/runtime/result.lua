-- CUDA's result codes: how moonwarp's errors become what the functions of moonwarp.runtime return first.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local signatures = require "moonwarp.runtime.signatures"

local M = {
  ---name -> number, of all codes
  codes = {},
}

local names, texts = {}, {}
for code = 0, 999 do
  local name, text = raw.result(code)
  if name ~= "cudaErrorUnknown" or code == 999 then
    M.codes[name], names[code], texts[code] = code, name, text
  end
end

-- What cudaGetLastError tells, and the whole story of it.
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
  if not code then error(err, 0) end -- not of the library: the script's own
  if code ~= M.codes.cudaErrorNotReady then last, story = code, err end
  return code
end

---f, which refuses more arguments than it has parameters.
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

-- What stands behind a function that returns codes.
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

---f, called with what the function of that name takes or not at all (signatures.lua).
---@param name string
---@param f function
---@return function
function M.takes(name, f)
  local text = signatures[name] or signatures[name:gsub("Async$", "")] .. ", stream?: any"
  return arguments.checked(name, text, f)
end

---The f of a function that M.api made: it returns no code, and raises.
---@param coded function
---@return function
function M.body(coded) return bodies[coded] end

---The functions about errors themselves.
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

  ---moonwarp's own: the error object behind the last code that was not cudaSuccess, or nil.
  function rt.story() return story end
end

return M
