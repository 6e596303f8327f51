-- The calls of curand_calls.lua in NVIDIA's library, as a program of LuaJIT's, so that no test's process has it:
--   luajit curand_oracle.lua LIBRARY NAME ARGUMENTS…        NAME: codes, general or mixture

package.path = "spec/?.lua;" .. package.path
local ffi = require "ffi"
local calls = require "support.random.curand_calls"

ffi.cdef [[
typedef struct generator *generator_t;
int curandCreateGeneratorHost(generator_t *, int);
int curandDestroyGenerator(generator_t);
int curandSetPseudoRandomGeneratorSeed(generator_t, unsigned long long);
int curandSetGeneratorOffset(generator_t, unsigned long long);
int curandSetGeneratorOrdering(generator_t, int);
int curandSetQuasiRandomGeneratorDimensions(generator_t, unsigned);
int curandGenerate(generator_t, void *, size_t);
int curandGenerateLongLong(generator_t, void *, size_t);
int curandGenerateUniform(generator_t, void *, size_t);
int curandGenerateUniformDouble(generator_t, void *, size_t);
int curandGenerateNormal(generator_t, void *, size_t, float, float);
int curandGenerateNormalDouble(generator_t, void *, size_t, double, double);
int curandGenerateLogNormal(generator_t, void *, size_t, float, float);
int curandGenerateLogNormalDouble(generator_t, void *, size_t, double, double);
int curandGeneratePoisson(generator_t, void *, size_t, double);
int curandGeneratePoissonMethod(generator_t, void *, size_t, double, int);
int curandGenerateSeeds(generator_t);
int curandDestroyDistribution(void *);
int curandGetDirectionVectors32(void **, int);
int curandGetDirectionVectors64(void **, int);
void *aligned_alloc(size_t, size_t);
void free(void *);
]]

local library = ffi.load(arg[1])
local api = {}

function api.create(rng_type)
  local out = ffi.new "generator_t[1]"
  return library.curandCreateGeneratorHost(out, rng_type), out[0]
end

function api.call(name, generator, ...)
  if name:find "^curandGet" then return library[name](ffi.new "void *[1]", ...) end
  return library[name](generator, ...)
end

function api.draw(name, generator, count, size, ...)
  -- The library expects such, and writes past the end.
  local room = ffi.C.aligned_alloc(64, math.ceil(count * size / 64) * 64 + 4096)
  local code = library[name](generator, room, count, ...)
  local bytes = ffi.string(room, count * size)
  ffi.C.free(room)
  return code, bytes
end

local arguments = {}
for i = 3, #arg do arguments[#arguments + 1] = tonumber(arg[i]) or arg[i] end
print(table.concat(calls[arg[2]](api, unpack(arguments)), "\n"))
