-- The benchmark's problems for moonwarp: input data, digests, and loading a problem. problems.c does the same for the
-- peers; the digests show that all solved the same problem.

local mw = require "moonwarp"

-- A factor for the number of elements of compute-bound kernels, for scaling.lua.
local problems = { times = 1 }

function problems.read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- Where the source of problem `name` is.
function problems.path(name)
  for _, folder in ipairs { "kernels/classics", "kernels/fields", "kernels/functions", "kernels/machine",
    "held/fields/continuous", "held/fields/discrete" } do
    local path = ("bench/%s/%s.cu"):format(folder, name)
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
  end
  return problems.make(name).source
end

-- The module of kernel `name`, with options for the compiler: from its source, or from BENCH_MODULES, a folder of
-- compiled modules.
function problems.compile(name, options)
  local folder = os.getenv("BENCH_MODULES")
  if folder then return mw.load(folder .. "/" .. name .. ".mwo") end
  return mw.compile { source = problems.read(problems.path(name)), options = options }
end

local data = problems.compile("data")

-- n numbers between low and high.
function problems.uniform(n, seed, low, high)
  local array = mw.empty(n)
  data.fill_uniform:each(n)(n, seed, low, high, array)
  return array
end

-- n words of 32 - shift random bits.
function problems.bits(n, seed, shift, dtype)
  local array = mw.empty(n, "uint")
  data.fill_bits:each(n)(n, seed, shift, array)
  return dtype and array:as(dtype) or array
end

-- n letters from an alphabet of four.
function problems.letters(n, seed)
  local array = mw.empty(n / 4, "uint")
  data.fill_letters:each(n / 4)(n / 4, seed, array)
  return array:as("uchar")
end

-- Rows of 1 to 16 elements: the start of each and the end of the last, and the number of elements.
function problems.row_starts(rows)
  local lengths, starts, at = problems.bits(rows, 7, 28):totable(), { 0 }, 0
  for i = 1, rows do
    at = at + lengths[i] + 1
    starts[i + 1] = at
  end
  return mw.array(starts, "int"), at
end

local digests = { float = data.digest_float, int = data.digest_int, uint = data.digest_uint }
local parts = { float2 = "float", float4 = "float", uchar = "uint" }

-- The result's weighted sum and, as the scale for comparing, the sum of the magnitudes.
local function digest(array)
  if array.dtype == "double" then array = array:to "float" end
  local dtype = parts[array.dtype] or array.dtype
  local sums, magnitudes = mw.zeros(2 ^ 16, "double"), mw.zeros(2 ^ 16, "double")
  local words = array:as(dtype)
  digests[dtype](256, 256)(#words, words, sums, magnitudes)
  return sums:sum(), magnitudes:sum()
end

problems.digest = digest

-- in parentheses: without the path that 5.4 adds
local groups = { fields = (require "bench.held.fields.problems") }
local lists = {
  (require "bench.problems.classics"), (require "bench.problems.fields"), (require "bench.problems.functions"),
  groups.fields,
}

-- Groups of held-out kernels, each for one mechanism of the compiler: bench/held/GROUP/problems.lua.
for _, group in ipairs { "axes", "collectives", "guards", "promotion", "records", "regions", "rows", "shapes", "small",
  "strides", "suites", "widths" } do
  local file = io.open(("bench/held/%s/problems.lua"):format(group))
  if file then
    file:close()
    groups[group] = (require("bench.held." .. group .. ".problems"))
    lists[#lists + 1] = groups[group]
  end
end

-- The parts of problem `name`: a table as its file describes it.
function problems.make(name)
  for _, list in ipairs(lists) do
    local make = list(problems)[name]
    if make then return make() end
  end
  error("there is no problem '" .. name .. "'", 0)
end

-- The names of the held-out problems, by group, sorted.
function problems.groups()
  local all = {}
  for group, list in pairs(groups) do
    local names = {}
    for name in pairs(list(problems)) do names[#names + 1] = name end
    table.sort(names)
    all[group] = names
  end
  return all
end

function problems.sizes(of)
  if type(of) ~= "table" then return { of, 1, 1 } end
  return { of[1] or 1, of[2] or 1, of[3] or 1 }
end

-- Runs all steps of a held-out problem, after restoring data that it modifies in place.
function problems.sequence(made, module)
  local launches = {}
  for i, it in ipairs(made.steps) do
    launches[i] = module[it[1]](it[2], it[3]):bind((table.unpack or unpack)(it[4]))
  end
  local restore = made.restore
  return function()
    if restore then restore[1]:copy_from(restore[2]) end
    for i = 1, #launches do launches[i]() end
  end
end

-- Make problem `name` for the kernel of that name in `module`:
--   run          a prepared launch, or several
--   digest()     of its result
--   kernel
--   grid, block, and of a single launch its arguments
--   bytes, operations   its memory traffic and floating-point operations, if they are defined
function problems.open(name, module)
  local made = problems.make(name)
  if made.steps then
    return { run = problems.sequence(made, module), digest = function() return digest(made.result) end,
      kernel = module[made.steps[1][1]], operations = function() end,
      grid = problems.sizes(made.steps[1][2]), block = problems.sizes(made.steps[1][3]) }
  end
  local kernel = module[name]
  local run = kernel(made.grid, made.block):bind((table.unpack or unpack)(made.arguments))
  local output = made.arguments[made.result]
  return {
    run = run, digest = function() return digest(output) end, kernel = kernel,
    arguments = made.arguments, bytes = made.bytes,
    grid = problems.sizes(made.grid), block = problems.sizes(made.block),
    operations = type(made.operations) == "function" and made.operations or function() return made.operations end,
  }
end

problems.classics = {
  "saxpy", "reduce", "scan", "histogram", "transpose", "conv2d", "sgemm_naive", "sgemm_tiled", "nbody", "blackscholes",
  "mandelbrot", "spmv", "bitonic",
}
problems.functions = { "softmax", "gelu", "gelu_tanh", "montecarlo" }
problems.fields = { "stencil", "cholesky", "bfs", "kmeans", "fft", "sha256", "search", "radix", "spheres", "warpsum" }
problems.held = {
  "edit_distance", "knapsack", "tree_search", "lu_step", "fdtd", "ray_march", "automaton_match", "hash_table",
  "components", "conv_layer", "attention", "layer_norm", "lz_match", "huffman_decode", "kd_nearest",
  "sph_density", "lbm", "floyd_warshall", "jacobi", "gauss_jordan", "wavelet", "median_filter", "sobel",
  "bilateral", "generator",
}

return problems
