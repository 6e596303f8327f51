-- The compiler as a command, for specs that examine its output.
--   local mwcc = require "support.mwcc"
--   local output = mwcc.run(source, "--report --width=16")   -- what it prints, messages too
--   mwcc.count(output, "after a barrier")                   -- how often a pattern is found

local home = assert(os.getenv "MOONWARP_HOME", "MOONWARP_HOME is not set")

local M = { program = home .. "/bin/mwcc" }

---Whether clang's front end is a part of mwcc; otherwise the program clang is run, of which less can be changed.
function M.has_clang_inside() return (os.execute(("'%s' -cc1 -version > /dev/null 2>&1"):format(M.program))) == true end

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

---The LLVM IR, by default for AVX-512, of one launch class, verified after every stage.
---@param source string
---@param class string the kernel's mangled name and the block: "_Z3addiPf:256x1x1"
---@param processor string|nil
---@return string
function M.ir(source, class, processor)
  return M.run(source, ("--verify --mcpu=%s --emit=ir --launch=%s"):format(processor or "x86-64-v4", class))
end

---The module after a pass, as IR.
---@param source string CUDA C
---@param pass string as mwcc --passes has it
---@param options string|nil
---@return string
function M.after(source, pass, options)
  return M.run(source, ("--verify --mcpu=x86-64-v4 --stop-after=%s %s"):format(pass, options or ""))
end

---What one pass makes of a few lines of IR.
---@param ir string
---@param pass string
---@param options string|nil "--mcpu=x86-64-v3"; without one it is for AVX-512
---@return string ir, integer status
function M.only(ir, pass, options)
  local path = os.tmpname()
  local file = assert(io.open(path .. ".ll", "w"))
  file:write(ir)
  file:close()
  local command = "'%s' --verify --mcpu=x86-64-v4 %s --only=%s %s.ll -o - 2>&1"
  local pipe = assert(io.popen(command:format(M.program, options or "", pass, path)))
  local output = pipe:read "*a"
  local _, _, status = pipe:close()
  os.remove(path)
  os.remove(path .. ".ll")
  return output, status
end

---A function's text out of IR.
---@param ir string
---@param name string
---@return string
function M.body(ir, name)
  return assert(ir:match("(define [^\n]*@\"?" .. name:gsub("%p", "%%%0") .. "\"?%(.-\n}\n)"), ir)
end

---@param text string
---@param pattern string Lua's
---@return integer
function M.count(text, pattern)
  local _, count = text:gsub(pattern, "")
  return count
end

return M
