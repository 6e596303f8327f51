-- Random numbers in kernels on the CPU device and by mw.random, compared in the same run with NVIDIA's host generators,
-- which make the same numbers, and with NumPy's and mkl_random's: millions of numbers per second of processor time, and
-- ratios. Each fills an array of its own, by default of 2^20 numbers: with more, the speed is that of memory. The best
-- of several runs counts.
--   luajit bench/random/random.lua [MILLIONS [KIND…]]      or make bench ARGS=--random
-- sh setup.sh --peers downloads NVIDIA's library; $PYTHON, python3 by default, has the others (pip install numpy
-- mkl_random). What is missing leaves its columns empty.

local mw = require "moonwarp"
local ffi = require "ffi"

mw.limit("specialise", 0) -- from the first launch, as after many in a longer run

local count = (tonumber(arg[1]) or 1) * 2 ^ 20
local runs, shortest = 7, 0.02

local kinds = {
  { name = "xorwow", code = 101, state = "curandState", threads = 4096 },
  { name = "philox", code = 161, state = "curandStatePhilox4_32_10_t", threads = 65536, four = true },
  { name = "mrg32k3a", code = 121, state = "curandStateMRG32k3a", threads = 4096 },
  { name = "mtgp32", code = 141 },
  { name = "mt19937", code = 142 },
  { name = "sobol32", code = 201, state = "curandStateSobol32_t", threads = 4096, sobol = true },
  { name = "scrambled_sobol32", code = 202 },
  { name = "sobol64", code = 203 },
  { name = "scrambled_sobol64", code = 204 },
}
local outputs = { -- the distribution, the host's function, the type, the device's function, and Philox's
  { "bits", "curandGenerate", "unsigned int", "curand", "curand4", "uint4" },
  { "uniform", "curandGenerateUniform", "float", "curand_uniform", "curand_uniform4", "float4" },
  { "uniform double", "curandGenerateUniformDouble", "double", "curand_uniform_double", "curand_uniform4_double",
    "double4" },
  { "normal", "curandGenerateNormal", "float", "curand_normal2", "curand_normal4", "float4" },
  { "normal double", "curandGenerateNormalDouble", "double", "curand_normal2_double", "curand_normal4_double",
    "double4" },
  { "poisson 50", "curandGeneratePoisson", "unsigned int", parameters = { 50 } },
  { "poisson 5000", "curandGeneratePoisson", "unsigned int", parameters = { 5000 } },
}

ffi.cdef [[
typedef struct generator *generator_t;
int curandCreateGeneratorHost(generator_t *, int);
int curandSetGeneratorOrdering(generator_t, int);
int curandDestroyGenerator(generator_t);
int curandGenerate(generator_t, void *, size_t);
int curandGenerateUniform(generator_t, void *, size_t);
int curandGenerateUniformDouble(generator_t, void *, size_t);
int curandGenerateNormal(generator_t, void *, size_t, float, float);
int curandGenerateNormalDouble(generator_t, void *, size_t, double, double);
int curandGenerateLongLong(generator_t, void *, size_t);
int curandGeneratePoisson(generator_t, void *, size_t, double);
void *aligned_alloc(size_t, size_t);
void free(void *);
]]
local library
for _, path in ipairs { os.getenv "MOONWARP_CURAND" or "build/peers/nvidia/curand/lib/libcurand.so.10" } do
  local ok, found = pcall(ffi.load, path)
  library = ok and found
end

-- Each run is repeated for 20 ms at least, since the clock of all threads is coarse on some machines.
local function best(run)
  run()
  local least, times = math.huge, 1
  for _ = 1, runs do
    local start = os.clock()
    for _ = 1, times do run() end
    local seconds = os.clock() - start
    if seconds >= shortest or times > 1 then least = math.min(least, seconds / times) end
    if seconds < shortest then times = math.min(1000, math.ceil(times * shortest / math.max(seconds, 1e-4))) end
  end
  return least < math.huge and least or best(run)
end

local function host_seconds(kind, output)
  if not library then return end
  local generator = ffi.new "generator_t[1]"
  assert(library.curandCreateGeneratorHost(generator, kind.code) == 0)
  -- MRG32k3a's legacy order: the other takes seconds to initialise
  if kind.name == "mrg32k3a" then library.curandSetGeneratorOrdering(generator[0], 103) end
  local values = ffi.C.aligned_alloc(64, count * 8)
  local wide = kind.name:find "64" and output[1] == "bits"
  local call, normal = library[wide and "curandGenerateLongLong" or output[2]], output[1]:find "normal"
  local parameters = output.parameters or normal and { 0, 1 } or {}
  local seconds = best(function() call(generator[0], values, count, unpack(parameters)) end)
  ffi.C.free(values)
  library.curandDestroyGenerator(generator[0])
  return seconds
end

-- A thread has a subsequence, or a section of a Sobol sequence, and draws one, a pair or four numbers at a time.
local function device_seconds(kind, output)
  local vector, draw = output[3], output[4]
  local width = kind.four and 4 or output[1]:find "normal" and not kind.sobol and 2 or 1
  if kind.four then draw, vector = output[5], output[6] end
  if width == 2 then vector = vector .. "2" end
  if kind.sobol then draw = draw:gsub("normal2", "normal") end
  local rounds = count / kind.threads / width
  local m = mw.compile(([[
    #include <curand_kernel.h>
    __global__ void fill(const unsigned *vectors, int rounds, %s *out) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
      %s state;
      %s
      for (int round = 0; round < rounds; round++) out[%s] = %s(&state);
    }
  ]]):format(vector, kind.state,
    kind.sobol and "curand_init(vectors, i * rounds, &state);" or "curand_init(0, i, 0, &state);",
    kind.sobol and "i * rounds + round" or "round * threads + i", draw))
  local out, bits = mw.zeros(count, output[3]), {}
  for i = 1, 32 do bits[i] = 2 ^ (32 - i) end
  local run = m.fill(kind.threads / 128, 128):bind(mw.array(bits, "unsigned int"), rounds,
    vector == output[3] and out or out:as(vector))
  local seconds = best(function()
    run()
    mw.synchronize()
  end)
  return seconds, m.fill.tier
end

-- mw.random draws the same stream.
local function stream_seconds(kind, output)
  local g = mw.random(0, kind.name, { ordering = kind.name == "mrg32k3a" and "legacy" or nil })
  local method, wide = output[1]:match "^%a+", kind.name:find "64" and output[1] == "bits"
  local out = mw.zeros(count, wide and "ulonglong" or output[3])
  local options = { out = out, lambda = output.parameters and output.parameters[1] }
  local seconds = best(function()
    g[method](g, nil, options)
    mw.synchronize()
  end)
  out:free()
  return seconds
end

local function rate(seconds) return seconds and ("%.0f"):format(count / seconds / 1e6) or "" end
local function ratio(ours, theirs) return theirs and ("%.2f"):format(theirs / ours) or "" end

local wanted = {}
for i = 2, #arg do wanted[arg[i]] = true end

local function host_table()
  print(("%-18s %-15s %8s %10s %8s %7s %7s  %s"):format("generator", "numbers", "kernel", "mw.random", "host", "kernel",
    "random", "tier"))
  for _, kind in ipairs(kinds) do
    for _, output in ipairs((#arg < 2 or wanted[kind.name]) and outputs or {}) do
      local kernel, tier
      if kind.state and not output.parameters then kernel, tier = device_seconds(kind, output) end
      local stream, theirs = stream_seconds(kind, output), host_seconds(kind, output)
      print(("%-18s %-15s %8s %10s %8s %7s %7s  %s"):format(kind.name, output[1], rate(kernel), rate(stream),
        rate(theirs), kernel and ratio(kernel, theirs) or "", ratio(stream, theirs), tier or ""))
    end
  end
end

-- For comparison with Python's packages: Philox, whatever the package's generator.
local function python_table()
  local command = ("%s bench/peers/numpy_random.py %d 2>&1"):format(os.getenv "PYTHON" or "python3", count)
  local pipe = assert(io.popen(command))
  local philox, ours = kinds[2], {}
  print(("%-11s %-10s %-24s %9s %8s %7s"):format("package", "generator", "numbers", "mw.random", "package", "ratio"))
  for line in pipe:lines() do
    local package, generator, numbers, seconds = line:match "^(.-)\t(.-)\t(.-)\t(.*)$"
    for _, output in ipairs(package and outputs or {}) do
      if numbers:gsub(" %u%a+$", "") == output[1] then
        ours[output] = ours[output] or stream_seconds(philox, output)
        print(("%-11s %-10s %-24s %9s %8s %7s"):format(package, generator, numbers, rate(ours[output]),
          rate(tonumber(seconds)), ratio(ours[output], tonumber(seconds))))
      end
    end
  end
  pipe:close()
end

io.stdout:setvbuf "line"
host_table()
if #arg < 2 then
  print()
  python_table()
end
