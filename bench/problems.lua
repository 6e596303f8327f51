-- The benchmark's problems for moonwarp: inputs, launch and result of each kernel in bench/kernels. problems.c holds
-- the same for the peers; the digests show that all solved the same problem.

local mw = require "moonwarp"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local data = mw.compile(read("bench/kernels/data.cu"))

local function uniform(n, seed, low, high)
  local array = mw.empty(n)
  data.fill_uniform:each(n)(n, seed, low, high, array)
  return array
end

local function bits(n, seed, shift, dtype)
  local array = mw.empty(n, "uint")
  data.fill_bits:each(n)(n, seed, shift, array)
  return dtype and array:as(dtype) or array
end

-- Rows of 1 to 16 elements: where each begins, and the end of the last.
local function row_starts(rows)
  local lengths, starts, at = bits(rows, 7, 28):totable(), { 0 }, 0
  for i = 1, rows do
    at = at + lengths[i] + 1
    starts[i + 1] = at
  end
  return mw.array(starts, "int"), at
end

local n = 2 ^ 24
local problems = {}

-- Each maker returns grid, block, the arguments, and which of them is the result.
function problems.saxpy() return n / 256, 256, { n, 2, uniform(n, 1, 0, 1), uniform(n, 2, 0, 1) }, 4 end

function problems.reduce() return 1024, 256, { n, uniform(n, 1, 0, 1), mw.zeros(1024) }, 3 end

function problems.scan() return n / 256, 256, { n, uniform(n, 1, 0, 1), mw.zeros(n) }, 3 end

function problems.histogram() return 256, 256, { n, bits(n, 1, 0), mw.zeros(256, "uint") }, 3 end

function problems.transpose() return { 256, 256 }, { 16, 16 }, { 4096, uniform(n, 1, 0, 1), mw.zeros(n) }, 3 end

function problems.conv2d()
  local side = 2048
  local arguments = { side, side, uniform(side * side, 1, 0, 1), uniform(49, 2, 0, 1), mw.zeros(side * side) }
  return { side / 16, side / 16 }, { 16, 16 }, arguments, 5
end

local function sgemm()
  local cells = 1024 * 1024
  return { 64, 64 }, { 16, 16 }, { 1024, uniform(cells, 1, -1, 1), uniform(cells, 2, -1, 1), mw.zeros(cells) }, 4
end
problems.sgemm_naive, problems.sgemm_tiled = sgemm, sgemm

function problems.nbody()
  local bodies = 8192
  local arguments = { bodies, uniform(bodies * 4, 1, -1, 1):as("float4"), mw.zeros(bodies, "float4") }
  return bodies / 256, 256, arguments, 3
end

function problems.blackscholes()
  local options = 2 ^ 22
  local price, strike = uniform(options, 1, 5, 30), uniform(options, 2, 1, 100)
  local years = uniform(options, 3, 0.25, 10)
  return options / 256, 256, { options, price, strike, years, mw.zeros(options), mw.zeros(options) }, 5
end

function problems.mandelbrot()
  return { 64, 256 }, { 32, 8 }, { 2048, 2048, 256, mw.zeros(2048 * 2048, "int") }, 4
end

function problems.spmv()
  local rows = 2 ^ 20
  local starts, nonzeros = row_starts(rows)
  local columns, values = bits(nonzeros, 8, 12, "int"), uniform(nonzeros, 9, 0, 1)
  return rows / 256, 256, { rows, starts, columns, values, uniform(rows, 10, 0, 1), mw.zeros(rows) }, 6
end

function problems.bitonic() return n / 256, 256, { n, 64, 1024, bits(n, 1, 0) }, 4 end

local digests = { float = data.digest_float, int = data.digest_int, uint = data.digest_uint }

-- The result's weighted sum and, as the scale for comparing, the sum of the magnitudes.
local function digest(array, dtype)
  local sums, magnitudes = mw.zeros(2 ^ 16, "double"), mw.zeros(2 ^ 16, "double")
  local words = dtype == "float4" and array:as("float") or array
  digests[dtype == "float4" and "float" or dtype](256, 256)(#words, words, sums, magnitudes)
  return sums:sum(), magnitudes:sum()
end

return {
  names = {
    "saxpy", "reduce", "scan", "histogram", "transpose", "conv2d", "sgemm_naive", "sgemm_tiled", "nbody",
    "blackscholes", "mandelbrot", "spmv", "bitonic",
  },
  -- Compile kernel `name` and make its problem: a prepared launch, a function for the digest, and the kernel.
  open = function(name)
    local module = mw.compile(read("bench/kernels/" .. name .. ".cu"))
    local grid, block, arguments, result = problems[name]()
    local kernel = module[name]
    local run = kernel(grid, block):bind((table.unpack or unpack)(arguments))
    local output = arguments[result]
    return run, function() return digest(output, output.dtype) end, kernel
  end,
}
