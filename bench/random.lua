-- Random numbers in kernels on the CPU device and by mw.random, compared with NVIDIA's host generators in the same run:
-- millions of numbers per second, and ratios. All generate the same numbers, into memory; the best of several runs
-- counts.
--   luajit bench/random.lua [MILLIONS]
-- sh setup.sh --peers downloads the library; without it its columns are empty.

local mw = require "moonwarp"
local ffi = require "ffi"

local count = (tonumber(arg[1]) or 4) * 2 ^ 20
local runs = 7

local kinds = {
  { name = "xorwow", code = 101, state = "curandState", threads = 4096 },
  { name = "philox", code = 161, state = "curandStatePhilox4_32_10_t", threads = 65536, four = true },
  { name = "mrg32k3a", code = 121, state = "curandStateMRG32k3a", threads = 4096 },
  { name = "mtgp32", code = 141 },
  { name = "sobol32", code = 201, state = "curandStateSobol32_t", threads = 4096, sobol = true },
}
local outputs = { -- the distribution, the host's function, the type, the device's function, and Philox's
  { "bits", "curandGenerate", "unsigned int", "curand", "curand4", "uint4" },
  { "uniform", "curandGenerateUniform", "float", "curand_uniform", "curand_uniform4", "float4" },
  { "uniform double", "curandGenerateUniformDouble", "double", "curand_uniform_double", "curand_uniform4_double",
    "double4" },
  { "normal", "curandGenerateNormal", "float", "curand_normal2", "curand_normal4", "float4" },
  { "normal double", "curandGenerateNormalDouble", "double", "curand_normal2_double", "curand_normal4_double",
    "double4" },
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
void *aligned_alloc(size_t, size_t);
]]
local library
for _, path in ipairs { os.getenv "MOONWARP_CURAND" or "build/peers/nvidia/curand/lib/libcurand.so.10" } do
  local ok, found = pcall(ffi.load, path)
  library = ok and found
end

local function best(run)
  local least = math.huge
  for _ = 1, runs do
    local start = mw.time()
    run()
    least = math.min(least, mw.time() - start)
  end
  return least
end

local function host_seconds(kind, output)
  if not library then return end
  local generator = ffi.new "generator_t[1]"
  assert(library.curandCreateGeneratorHost(generator, kind.code) == 0)
  -- MRG32k3a's legacy order: the other takes seconds to initialise
  if kind.name == "mrg32k3a" then library.curandSetGeneratorOrdering(generator[0], 103) end
  local values = ffi.C.aligned_alloc(64, count * 8)
  local call, normal = library[output[2]], output[1]:find "normal"
  local seconds = best(function()
    if normal then call(generator[0], values, count, 0, 1) else call(generator[0], values, count) end
  end)
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

-- mw.random draws the same stream; each call makes a new array.
local function stream_seconds(kind, output)
  local g = mw.random(0, kind.name, { ordering = kind.name == "mrg32k3a" and "legacy" or nil })
  local method, options = output[1]:match "^%a+", output[3] == "double" and { dtype = "double" } or nil
  return best(function()
    local x = g[method](g, count, options)
    mw.synchronize()
    x:free()
  end)
end

local function rate(seconds) return seconds and ("%.1f"):format(count / seconds / 1e6) or "" end
local function ratio(ours, theirs) return theirs and ("%.2f"):format(theirs / ours) or "" end

print(("%-10s %-15s %10s %10s %10s %7s %7s  %s"):format("generator", "numbers", "kernel", "mw.random", "host", "kernel",
  "random", "tier"))
for _, kind in ipairs(kinds) do
  for _, output in ipairs(outputs) do
    local kernel, tier
    if kind.state then kernel, tier = device_seconds(kind, output) end
    local stream, theirs = stream_seconds(kind, output), host_seconds(kind, output)
    print(("%-10s %-15s %10s %10s %10s %7s %7s  %s"):format(kind.name, output[1], rate(kernel), rate(stream),
      rate(theirs), kernel and ratio(kernel, theirs) or "", ratio(stream, theirs), tier or ""))
  end
end
