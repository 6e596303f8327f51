-- Checked runs compared with Oclgrind (Debian: oclgrind), an interpreter for OpenCL kernels that checks them: the
-- thirteen kernels of the first table with the same small data, all checks of both. LuaJIT:
--   OCL_ICD_VENDORS=$PWD/oclgrind.icd OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1 \
--     luajit bench/checks/oclgrind.lua [NAME…]
-- where oclgrind.icd is a file with the line /usr/lib/oclgrind/liboclgrind-rt-icd.so.
-- A time is the best of `ROUNDS` launches, with the wait for its end.

local ffi = require "ffi"
local mw = require "moonwarp"
local opencl = require "bench.held.opencl"
local problems = require "bench.problems.problems"

local ROUNDS = 2
local n = 2 ^ 14
local uniform, bits = problems.uniform, problems.bits

mw.use "cpu"

-- grid, block, arguments: as OpenCL's kernel takes them, and as CUDA's does
local cases = {
  { "saxpy", n / 256, 256, function() return n, 2, uniform(n, 1, 0, 1), uniform(n, 2, 0, 1) end },
  { "reduce", 16, 256, function() return n, uniform(n, 1, 0, 1), mw.zeros(16) end },
  { "scan", n / 256, 256, function() return n, uniform(n, 1, 0, 1), mw.zeros(n) end },
  { "histogram", 16, 256, function() return n, bits(n, 1, 0), mw.zeros(256, "uint") end },
  { "transpose", { 8, 8 }, { 16, 16 }, function() return 128, uniform(n, 1, 0, 1), mw.zeros(n) end },
  { "conv2d", { 4, 4 }, { 16, 16 }, function()
    return 64, 64, uniform(4096, 1, 0, 1), uniform(49, 2, 0, 1), mw.zeros(4096)
  end },
  { "sgemm_naive", { 4, 4 }, { 16, 16 }, function()
    return 64, uniform(4096, 1, -1, 1), uniform(4096, 2, -1, 1), mw.zeros(4096)
  end },
  { "sgemm_tiled", { 4, 4 }, { 16, 16 }, function()
    return 64, uniform(4096, 1, -1, 1), uniform(4096, 2, -1, 1), mw.zeros(4096)
  end },
  { "nbody", 2, 256, function() return 512, uniform(2048, 1, -1, 1):as("float4"), mw.zeros(512, "float4") end },
  { "blackscholes", n / 256, 256, function()
    return n, uniform(n, 1, 5, 30), uniform(n, 2, 1, 100), uniform(n, 3, 0.25, 10), mw.zeros(n), mw.zeros(n)
  end },
  { "mandelbrot", { 2, 8 }, { 32, 8 }, function() return 64, 64, 256, mw.zeros(4096, "int") end },
  { "spmv", 4096 / 256, 256, function()
    local rows = 4096
    local starts, nonzeros = problems.row_starts(rows)
    return rows, starts, bits(nonzeros, 8, 20, "int"), uniform(nonzeros, 9, 0, 1), uniform(rows, 10, 0, 1),
      mw.zeros(rows)
  end },
  { "bitonic", n / 256, 256, function() return n, 64, 1024, bits(n, 1, 0) end },
}

local function best(run)
  local least = math.huge
  for _ = 1, ROUNDS do
    local start = mw.time()
    run()
    least = math.min(least, mw.time() - start)
  end
  return least * 1000
end

local floats = { saxpy = { [2] = true } }

local function three(size)
  if type(size) == "number" then return { size, 1, 1 } end
  return { size[1], size[2], 1 }
end

local function oclgrind(cl, case, arguments)
  local kernel = cl.kernel(cl.build(problems.read("bench/opencl/classics/" .. case[1] .. ".cl"), "CL1.2"), case[1])
  for i, value in ipairs(arguments) do
    if type(value) == "number" then
      local is_float = floats[case[1]] and floats[case[1]][i]
      cl.argument(kernel, i - 1, ffi.new(is_float and "float[1]" or "int[1]", value), 4)
    else
      local text = value:bytes()
      local buffer = ffi.new("void *[1]", cl.buffer(ffi.cast("void *", text), #text))
      cl.argument(kernel, i - 1, buffer, ffi.sizeof "void *")
    end
  end
  local launch = cl.launch(kernel, three(case[2]), three(case[3]))
  return best(function()
    launch()
    cl.finish()
  end)
end

local cl = opencl.open "Oclgrind"
local wanted = #arg > 0 and {} or nil
for _, name in ipairs(arg) do wanted[name] = true end

print "| kernel | plain ms | mw.check ms | Oclgrind ms | ratio |\n|---|--:|--:|--:|--:|"
local product, count = 1, 0
for _, case in ipairs(cases) do
  local name = case[1]
  if not wanted or wanted[name] then
    local arguments = { case[4]() }
    local kernel = problems.compile(name)[name]
    local function run()
      kernel(case[2], case[3])(unpack(arguments))
      mw.synchronize()
    end
    run()
    local plain, findings = best(run), 0
    local checked = best(function() findings = findings + #mw.check(run) end)
    assert(findings == 0, name .. " has findings")
    local other = oclgrind(cl, case, arguments)
    print(("| %s | %.3f | %.2f | %.1f | %.0fx |"):format(name, plain, checked, other, other / checked))
    io.stdout:flush()
    product, count = product * (other / checked), count + 1
  end
end
print(("| geometric mean | | | | %.0fx |"):format(product ^ (1 / count)))
