-- mw.source: the CUDA C that a function of the library runs.

local raw = require "moonwarp.binding"

local M = {}

---The CUDA C of the kernels that a call launches: mw.source(mw.exp, a), mw.source(a.sum, a, { axis = 1 }), or of a
---function of your own that calls others. A method's name is enough for its array: mw.source("sort", a). The call is
---made. It is "" where no kernel runs: the host reduces small arrays, and views move nothing; OpenBLAS and FFTW make
---products and transforms where they are found.
---@param f function|string
---@param ... any its arguments
---@return string text
---@return any ... what the call returned
function M.source(f, ...)
  if type(f) == "string" then
    local a = ...
    if raw.type(a) ~= "array" then
      raw.part("diagnostics.error").usage("mw.source(%q, a) wants an array, got %s", f, raw.describe(a))
    end
    f = a[f]
  end
  raw.sources_begin()
  local function finish(ok, ...)
    local text = raw.sources_end()
    if not ok then error((...), 0) end
    return text, ...
  end
  return finish(pcall(f, ...))
end

return M
