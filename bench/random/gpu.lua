-- Random numbers on an NVIDIA GPU by mw.random compared with NVIDIA's library on the same GPU: bytes written per
-- second, and their ratio. Both write into an array of 256 MiB that is there; they alternate, and the best of several
-- runs counts.
--   luajit bench/random/gpu.lua [KIND]
-- MOONWARP_CURAND is the library's path, by default that of sh setup.sh --peers. Without it, its columns are empty.

local mw = require "moonwarp"
local ffi = require "ffi"

mw.use "cuda"

local MOST = 2 ^ 28 -- bytes of an array
local ROUNDS, CALLS = 6, 20 -- few calls would measure how soon the first one starts

ffi.cdef [[
typedef struct gpu_generator *gpu_generator_t;
int curandCreateGenerator(gpu_generator_t *, int);
int curandSetGeneratorOrdering(gpu_generator_t, int);
int curandDestroyGenerator(gpu_generator_t);
int curandGenerate(gpu_generator_t, uintptr_t, size_t);
int curandGenerateLongLong(gpu_generator_t, uintptr_t, size_t);
int curandGenerateUniform(gpu_generator_t, uintptr_t, size_t);
int curandGenerateUniformDouble(gpu_generator_t, uintptr_t, size_t);
int curandGenerateNormal(gpu_generator_t, uintptr_t, size_t, float, float);
int curandGenerateNormalDouble(gpu_generator_t, uintptr_t, size_t, double, double);
int cuCtxSynchronize(void);
]]
local found, library = pcall(ffi.load, os.getenv "MOONWARP_CURAND" or "build/peers/nvidia/curand/lib/libcurand.so.10")
local driver = ffi.load "libcuda.so.1"

local kinds = {
  { "xorwow", 101 }, { "philox", 161 }, { "mrg32k3a", 121 }, { "mtgp32", 141 }, { "mt19937", 142 }, { "sobol32", 201 },
  { "scrambled_sobol32", 202 }, { "sobol64", 203 }, { "scrambled_sobol64", 204 },
}
local outputs = { -- the method, the dtype, the host's function and its parameters
  { "bits", "uint", "curandGenerate" }, { "uniform", "float", "curandGenerateUniform" },
  { "uniform", "double", "curandGenerateUniformDouble" }, { "normal", "float", "curandGenerateNormal", 0, 1 },
  { "normal", "double", "curandGenerateNormalDouble", 0, 1 },
}

local function seconds(run)
  mw.synchronize()
  driver.cuCtxSynchronize()
  local start = mw.time()
  for _ = 1, CALLS do run() end
  mw.synchronize()
  driver.cuCtxSynchronize()
  return (mw.time() - start) / CALLS
end

-- The least seconds of each of the runs, which alternate.
local function least(runs)
  local all = {}
  for round = 0, ROUNDS do
    for i, run in ipairs(runs) do
      local s = seconds(run)
      if round > 0 then all[i] = math.min(all[i] or s, s) end
    end
  end
  return all
end

local function measure(kind, code, method, dtype, name, ...)
  local wide = kind:find "64" and method == "bits"
  if wide then dtype, name = "ulonglong", "curandGenerateLongLong" end
  local out = mw.zeros(MOST / ((dtype == "double" or wide) and 8 or 4), dtype)
  local g = mw.random(0, kind)
  local options = { out = out }
  local runs = { function() g[method](g, nil, options) end }
  local generator = ffi.new "gpu_generator_t[1]"
  if found then
    mw.synchronize() -- the device's context is current now
    assert(library.curandCreateGenerator(generator, code) == 0)
    local parameters, address, call = { ... }, out.address, library[name]
    runs[2] = function()
      local status = call(generator[0], address, out.count, unpack(parameters))
      if status ~= 0 then error(("%s: status %d"):format(name, status)) end
    end
  end
  local all = least(runs)
  if found then library.curandDestroyGenerator(generator[0]) end
  out:free()
  local ours, theirs = MOST / all[1] / 1e9, all[2] and MOST / all[2] / 1e9
  print(("%-18s %-8s %-10s %6.0f %8s %6s"):format(kind, method, dtype, ours, theirs and ("%.0f"):format(theirs) or "",
    theirs and ("%.2f"):format(ours / theirs) or ""))
end

print(mw.properties().name)
print(("%-18s %-8s %-10s %6s %8s %6s"):format("GB/s", "", "", "ours", "cuRAND's", "ratio"))
for _, kind in ipairs(kinds) do
  if not arg[1] or kind[1] == arg[1] then
    for _, output in ipairs(outputs) do
      local ok, message = pcall(measure, kind[1], kind[2], unpack(output))
      if not ok then print(kind[1], output[1], output[2], tostring(message):sub(1, 100)) end
    end
  end
end
