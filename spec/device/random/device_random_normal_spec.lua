-- Normal and log-normal numbers in kernels, compared with NVIDIA's host generators: the same draws are consumed, and
-- numbers differ by at most 2 units in the last place of the larger term. The terms of a pair of normal numbers are a
-- sine and a cosine times a distance, which is the larger. A log-normal number's are the exponent's, its sum among
-- them, and the power itself is rounded: a unit of its own.
-- Lua 5.4 only: this tests the compiler and device headers.

local mw = require "moonwarp"
local suite = require "support.suite"
local curand = require "support.random.curand"

local source = [[
#include <curand_kernel.h>
typedef unsigned long long ull;
struct normal {
  template <class S> __device__ static void draw(S *s, float2 *x) { *x = curand_normal2(s); }
  template <class S> __device__ static void draw(S *s, double2 *x) { *x = curand_normal2_double(s); }
  template <class S> __device__ static void draw(S *s, float4 *x) { *x = curand_normal4(s); }
  template <class S> __device__ static void draw(S *s, double4 *x) { *x = curand_normal4_double(s); }
  template <class S> __device__ static void draw(S *s, float *x) { *x = curand_normal(s); }
  template <class S> __device__ static void draw(S *s, double *x) { *x = curand_normal_double(s); }
};
struct lognormal {
  template <class S> __device__ static void draw(S *s, float2 *x) { *x = curand_log_normal2(s, 0.5f, 0.75f); }
  template <class S> __device__ static void draw(S *s, double2 *x) { *x = curand_log_normal2_double(s, 0.5, 0.75); }
  template <class S> __device__ static void draw(S *s, float4 *x) { *x = curand_log_normal4(s, 0.5f, 0.75f); }
  template <class S> __device__ static void draw(S *s, double4 *x) { *x = curand_log_normal4_double(s, 0.5, 0.75); }
  template <class S> __device__ static void draw(S *s, float *x) { *x = curand_log_normal(s, 0.5f, 0.75f); }
  template <class S> __device__ static void draw(S *s, double *x) { *x = curand_log_normal_double(s, 0.5, 0.75); }
};
/* In the host's order: a thread is a subsequence, and draws V after V. */
template <class D, class S, class V> __global__ void fill(ull seed, int rounds, V *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  S state;
  curand_init(seed, i, 0, &state);
  for (int round = 0; round < rounds; round++) D::draw(&state, &out[round * gridDim.x * blockDim.x + i]);
}
/* One number a call, the pair's second from the state. */
template <class D, class S, class T> __global__ void single(ull seed, int rounds, T *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  S state;
  curand_init(seed, i, 0, &state);
  for (int round = 0; round < rounds; round++)
    for (int k = 0; k < 2; k++) D::draw(&state, &out[(round * gridDim.x * blockDim.x + i) * 2 + k]);
}
]]

local kinds = {
  { name = "xorwow", state = "curandState", width = 2, threads = 4096 },
  { name = "mrg32k3a", state = "curandStateMRG32k3a", width = 2, threads = 4096, ordering = "legacy" },
  { name = "philox", state = "curandStatePhilox4_32_10_t", width = 4, threads = 4096 } -- the first of 65536,
}

local mean, deviation = 0.5, 0.75
local digits = { float = 24, double = 53 }

local function unit(x, type) -- in the last place of x > 0
  return x > 0 and 2.0 ^ (math.floor(math.log(x, 2)) + 1 - digits[type]) or 0
end

-- How many units two pairs differ by, at most.
local measures = {
  normal = function(a, b, x, y, type)
    local place = unit(math.sqrt(a * a + b * b), type)
    return math.max(math.abs(a - x), math.abs(b - y)) / place
  end,
  lognormal = function(a, b, x, y, type)
    local u, v = math.log(a) - mean, math.log(b) - mean
    local distance = math.sqrt(u * u + v * v)
    local function differ(p, q)
      local exponent = unit(math.max(mean, distance, math.abs(math.log(p))), type)
      return (math.abs(p - q) - unit(p, type)) / (p * exponent)
    end
    return math.max(differ(a, x), differ(b, y))
  end,
}
local function difference(what, expected, got, type)
  local size, format = type == "float" and 4 or 8, type == "float" and "<ff" or "<dd"
  local worst = 0
  assert.equal(#expected, #got)
  for at = 1, #expected, 2 * size do
    local a, b = string.unpack(format, expected, at)
    local x, y = string.unpack(format, got, at)
    worst = math.max(worst, measures[what](a, b, x, y, type))
  end
  return worst
end

describe("cuRAND's normal numbers", function()
  local m
  setup(function() m = mw.compile(source) end)

  for _, kind in ipairs(kinds) do
    for _, what in ipairs { "normal", "lognormal" } do
      for _, type in ipairs { "float", "double" } do
        it(("of %s are the host's %s %ss"):format(kind.name, what, type), function()
          if curand.missing then pending(curand.missing) end
          local rounds = kind.width == 2 and 5 or 1
          local expected = curand.draw { kind = kind.name, seed = 1234, ordering = kind.ordering,
            what = what .. (type == "double" and "_double" or ""), count = kind.threads * kind.width * rounds,
            a = what == "lognormal" and mean or 0, b = what == "lognormal" and deviation or 1 }
          local out = mw.zeros(kind.threads * kind.width * rounds, type)
          local vector = ("%s%d"):format(type, kind.width)
          local fill = m[("fill<%s,%s,%s>"):format(what, kind.state, vector)]
          assert.equal(suite.simd, fill.tier)
          fill(kind.threads / 128, 128)(1234, rounds, out:as(vector))
          local worst = difference(what, expected, out:bytes(), type)
          assert.is_true(worst <= 2, ("%g units in the last place"):format(worst))

          local alone = mw.zeros(#out, type)
          local single = m[("single<%s,%s,%s>"):format(what, kind.state, type)]
          assert.equal(suite.simd, single.tier)
          if kind.width == 2 then
            single(kind.threads / 128, 128)(1234, rounds, alone)
            assert.is_true(alone:bytes() == out:bytes())
          end
        end)
      end
    end
  end

  -- GPUs have no rounded angle, but the number of turns. On a GPU, NVRTC compiles the functions themselves, to equal
  -- doubles; mwcc's formula differs from them in some.
  it("are doubles within 3 units of the functions' values where mwcc compiles for GPUs", function()
    local gpus = mw.compile("#define __mw_polar_of_gpus\n" .. source .. [[
      __global__ void by_functions(ull seed, int rounds, double2 *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        curandState s;
        curand_init(seed, i, 0, &s);
        for (int round = 0; round < rounds; round++) {
          double u = curand_uniform_double(&s), v = curand_uniform_double(&s), x, y, distance = sqrt(-2 * log(u));
          sincospi(2 * v, &x, &y);
          out[round * gridDim.x * blockDim.x + i] = make_double2(x * distance, y * distance);
        }
      }]])
    local made, expected = mw.zeros(4096 * 40, "double"), mw.zeros(4096 * 40, "double")
    gpus["fill<normal,curandState,double2>"](32, 128)(1234, 20, made:as "double2")
    gpus.by_functions(32, 128)(1234, 20, expected:as "double2")
    local worst = difference("normal", expected:bytes(), made:bytes(), "double")
    assert.is_true(worst <= 3, ("%g units in the last place"):format(worst))
    if not suite.on_gpu then assert.is_true(worst > 0, "this is another formula") end
  end)
end)
