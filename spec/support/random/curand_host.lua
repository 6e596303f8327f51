-- Draws numbers from NVIDIA's libcurand, whose host generators need no GPU. LuaJIT runs it as a program, so that no
-- test's process has that library (spec/support/random/curand.lua):
--   luajit curand_host.lua LIBRARY KIND SEED OFFSET ORDERING DIMENSIONS WHAT COUNT [A [B]]
-- writes COUNT values as bytes to standard output. WHAT is bits, bits64, uniform, uniform_double, normal, …, poisson,
-- or several of them, "bits,poisson=30,poisson=7", COUNT values each, with A after "=" where it differs; or vectors and
-- constants, of COUNT dimensions. "-" stands for what is not set.

local ffi = require "ffi"

ffi.cdef [[
typedef struct generator *generator_t;
int curandCreateGeneratorHost(generator_t *, int);
int curandSetPseudoRandomGeneratorSeed(generator_t, unsigned long long);
int curandSetGeneratorOffset(generator_t, unsigned long long);
int curandSetGeneratorOrdering(generator_t, int);
int curandSetQuasiRandomGeneratorDimensions(generator_t, unsigned);
int curandGenerate(generator_t, unsigned *, size_t);
int curandGenerateLongLong(generator_t, unsigned long long *, size_t);
int curandGenerateUniform(generator_t, float *, size_t);
int curandGenerateUniformDouble(generator_t, double *, size_t);
int curandGenerateNormal(generator_t, float *, size_t, float, float);
int curandGenerateNormalDouble(generator_t, double *, size_t, double, double);
int curandGenerateLogNormal(generator_t, float *, size_t, float, float);
int curandGenerateLogNormalDouble(generator_t, double *, size_t, double, double);
int curandGeneratePoisson(generator_t, unsigned *, size_t, double);
int curandGetDirectionVectors32(void **, int);
int curandGetDirectionVectors64(void **, int);
int curandGetScrambleConstants32(unsigned **);
int curandGetScrambleConstants64(unsigned long long **);
unsigned long long strtoull(const char *, char **, int);
void *aligned_alloc(size_t, size_t);
void free(void *);
]]

local kinds = { xorwow = 101, mrg32k3a = 121, mtgp32 = 141, mt19937 = 142, philox = 161, sobol32 = 201,
  scrambled_sobol32 = 202, sobol64 = 203, scrambled_sobol64 = 204 }
local sets = { sobol32 = 101, scrambled_sobol32 = 102, sobol64 = 103, scrambled_sobol64 = 104 }
local orderings = { best = 100, default = 101, seeded = 102, legacy = 103, quasi = 201 }
local outputs = { -- the function, the values, how many parameters the distribution has
  bits = { "curandGenerate", "unsigned *" }, bits64 = { "curandGenerateLongLong", "unsigned long long *" },
  uniform = { "curandGenerateUniform", "float *" }, uniform_double = { "curandGenerateUniformDouble", "double *" },
  normal = { "curandGenerateNormal", "float *", 2 },
  normal_double = { "curandGenerateNormalDouble", "double *", 2 },
  lognormal = { "curandGenerateLogNormal", "float *", 2 },
  lognormal_double = { "curandGenerateLogNormalDouble", "double *", 2 },
  poisson = { "curandGeneratePoisson", "unsigned *", 1 },
}

local path, kind, seed, offset, ordering, dimensions, what, count, a, b = unpack(arg)
local library = ffi.load(path)
count = tonumber(count)

local function check(code, call)
  if code ~= 0 then error(("%s of %s: code %d"):format(call, kind, code)) end
end
local function integer(text) return ffi.C.strtoull(text, nil, 0) end
local function write(bytes, size) io.stdout:write(ffi.string(bytes, size)) end

local wide = kind:find "64" ~= nil
if what == "vectors" then
  local list = ffi.new "void *[1]"
  local call = wide and "curandGetDirectionVectors64" or "curandGetDirectionVectors32"
  check(library[call](list, sets[kind]), call)
  write(list[0], count * (wide and 512 or 128))
elseif what == "constants" then
  local list = ffi.new(wide and "unsigned long long *[1]" or "unsigned *[1]")
  local call = wide and "curandGetScrambleConstants64" or "curandGetScrambleConstants32"
  check(library[call](list), call)
  write(list[0], count * (wide and 8 or 4))
else
  local generator = ffi.new "generator_t[1]"
  check(library.curandCreateGeneratorHost(generator, kinds[kind]), "creation")
  local g = generator[0]
  if ordering ~= "-" then check(library.curandSetGeneratorOrdering(g, orderings[ordering]), "ordering") end
  if seed ~= "-" then check(library.curandSetPseudoRandomGeneratorSeed(g, integer(seed)), "seed") end
  if offset ~= "-" then check(library.curandSetGeneratorOffset(g, integer(offset)), "offset") end
  if dimensions ~= "-" then
    check(library.curandSetQuasiRandomGeneratorDimensions(g, tonumber(dimensions)), "dimensions")
  end
  for each, own in what:gmatch "([^,=]+)=?([^,]*)" do
    local call, type, parameters = unpack(outputs[each])
    local size = count * ffi.sizeof(type:sub(1, -3))
    local values = ffi.cast(type, ffi.C.aligned_alloc(64, math.ceil(size / 64) * 64)) -- the library expects such
    local given = { tonumber(own) or tonumber(a), tonumber(b) }
    check(library[call](g, values, count, unpack(given, 1, parameters or 0)), each)
    write(values, size)
    ffi.C.free(values)
  end
end
