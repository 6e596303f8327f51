-- The compiler as a command, for specs that look at what it makes of a source.
--   local mwcc = require "support.mwcc"
--   local output = mwcc.run(source, "--report --width=16")   -- what it prints, messages too
--   mwcc.count(output, "behind a barrier")                   -- how often a pattern is found

local home = assert(os.getenv "MOONWARP_HOME", "MOONWARP_HOME is not set")

local M = { program = home .. "/bin/mwcc" }

---@param source string CUDA C
---@param options string what it is to print, with --emit, --dump, --report …
---@return string output, integer status its exit status
function M.try(source, options)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(source)
  file:close()
  local pipe = assert(io.popen(("'%s' %s -o - - < %s 2>&1"):format(M.program, options, path)))
  local output = pipe:read "*a"
  local _, _, status = pipe:close()
  os.remove(path)
  return output, status
end

---@param source string
---@param options string
---@return string output
function M.run(source, options) return (M.try(source, options)) end

---The LLVM IR, for AVX-512 unless told, of one launch class, verified after every stage.
---@param source string
---@param class string the kernel's mangled name and the block: "_Z3addiPf:256x1x1"
---@param processor string|nil
---@return string
function M.ir(source, class, processor)
  return M.run(source, ("--verify --mcpu=%s --emit=ir --launch=%s"):format(processor or "x86-64-v4", class))
end

---@param text string
---@param pattern string Lua's
---@return integer
function M.count(text, pattern)
  local _, count = text:gsub(pattern, "")
  return count
end

return M
