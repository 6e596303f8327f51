-- Solves one held-out problem by a peer, in a process of its own, for bench/held.lua (LuaJIT):
--   luajit bench/held/solve.lua c|pocl|intel|moonwarp NAME
-- Prints milliseconds, the digest of the result and its scale. moonwarp makes the inputs and the digest for all.
-- The C peer, `void NAME(the kernel's parameters)`, works on the same memory, in one call for a launch over the grid.
-- A global `int blocks` of the peers' file is set to the launch's number of blocks.

package.path = "./?.lua;" .. package.path
local ffi = require "ffi"
local measure = require "bench.measure"
local mw = require "moonwarp"
local opencl = require "bench.held.opencl"
local problems = require "bench.problems.problems"
local translate = require "bench.held.translate"

local home = os.getenv "MOONWARP_HOME" or "build/release"

local function pointer(array) return ffi.cast("void *", ffi.cast("uintptr_t", array.address)) end

local function is_array(value) return type(value) ~= "number" end

-- ---- C ----

-- The prototypes of a file's functions, with plain pointers: FFI needs no types of the file.
local function declare(text)
  for name, list in ("\n" .. text):gmatch "\nvoid ([%w_]+)(%b()) {" do
    list = list:gsub("[%w_%s]+%*[%w_%s*]*", " void *")
    ffi.cdef(("void %s%s;"):format(name, list))
  end
end

local function solve_c(made, folder)
  local text = problems.read(folder .. "/peers.c")
  declare(text)
  local library = ffi.load(("%s/bench/held_%s.so"):format(home, folder:match "[^/]+$"))
  local wants_blocks = ("\n" .. text):find "\nint blocks;"
  if wants_blocks then ffi.cdef "int blocks;" end
  local calls = {}
  for i, step in ipairs(made.steps) do
    local call, arguments = library[step[1]], {}
    for k, value in ipairs(step[4]) do arguments[k] = is_array(value) and pointer(value) or value end
    local grid = problems.sizes(step[2])
    calls[i] = function()
      if wants_blocks then library.blocks = grid[1] * grid[2] * grid[3] end
      call(unpack(arguments))
    end
  end
  local restore = made.restore
  return function()
    if restore then ffi.copy(pointer(restore[1]), pointer(restore[2]), restore[1].nbytes) end
    for i = 1, #calls do calls[i]() end
  end
end

-- ---- OpenCL ----

local SCALARS = {
  int = "int", unsigned = "unsigned", ["unsigned int"] = "unsigned", float = "float", double = "double",
  ["long long"] = "int64_t", size_t = "size_t", ["unsigned long long"] = "uint64_t", uint32_t = "unsigned",
  int64_t = "int64_t", uint64_t = "uint64_t",
}

local function solve_opencl(made, text, platform)
  local code, why = translate.opencl(text)
  if not code then error("no OpenCL form: " .. why, 0) end
  local cl, signatures = opencl.open(platform), translate.signatures(text)
  local program = cl.build(code)
  local buffers, launches = {}, {}
  local function buffer(array)
    local known = buffers[array.address]
    if not known then
      known = { memory = cl.buffer(pointer(array), array.nbytes), bytes = array.nbytes, host = pointer(array) }
      buffers[array.address] = known
    end
    return known
  end
  for i, step in ipairs(made.steps) do
    local kernel = cl.kernel(program, step[1])
    for k, value in ipairs(step[4]) do
      if is_array(value) then
        cl.argument(kernel, k - 1, ffi.new("void *[1]", buffer(value).memory), 8)
      else
        local type = SCALARS[signatures[step[1]][k].type] or error("no OpenCL form: a parameter's type", 0)
        local cell = ffi.new(type .. "[1]", value)
        cl.argument(kernel, k - 1, cell, ffi.sizeof(cell))
      end
    end
    launches[i] = cl.launch(kernel, problems.sizes(step[2]), problems.sizes(step[3]))
  end
  local restore = made.restore
  local function run()
    if restore then cl.copy(buffer(restore[1]).memory, buffer(restore[2]).memory, restore[1].nbytes) end
    for i = 1, #launches do launches[i]() end
    cl.finish()
  end
  return run, function()
    local result = buffer(made.result)
    cl.read(result.memory, result.host, result.bytes)
  end
end

-- ---- all ----

local peer, name = arg[1], arg[2]
local made = problems.make(name)
local path = problems.path(name)
local run, finish
if peer == "moonwarp" then
  run = problems.sequence(made, mw.compile { source = problems.read(path) })
elseif peer == "c" then
  run = solve_c(made, path:match "^bench/held/[^/]+")
else
  run, finish = solve_opencl(made, problems.read(path), peer == "pocl" and "Portable" or "Intel")
end
mw.synchronize()
run()
mw.synchronize()
if finish then finish() end
local sum, scale = problems.digest(made.result)
print(("%.17g %.17g %.17g"):format(measure.milliseconds(run), sum, scale))
io.stdout:flush()
os.exit(0) -- without closing: OpenMP's threads may still run the library's code
