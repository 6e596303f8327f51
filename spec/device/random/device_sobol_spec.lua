-- Sobol's sequences in kernels: those of NVIDIA's host generators, of the direction vectors that its library hands out;
-- and without that library, those of vectors of our own compared with a plain sum of vectors.
-- Lua 5.4 only: this tests the compiler and device headers.

local mw = require "moonwarp"
local curand = require "support.random.curand"

local source = [[
#include <curand_kernel.h>
typedef unsigned long long ull;
__device__ void begin(const unsigned *v, unsigned c, ull offset, curandStateSobol32_t *s) { curand_init(v, offset, s); }
__device__ void begin(const ull *v, ull c, ull offset, curandStateSobol64_t *s) { curand_init(v, offset, s); }
__device__ void begin(const unsigned *v, unsigned c, ull offset, curandStateScrambledSobol32_t *s) {
  curand_init(v, c, offset, s);
}
__device__ void begin(const ull *v, ull c, ull offset, curandStateScrambledSobol64_t *s) {
  curand_init(v, c, offset, s);
}
/* A thread draws `count` elements of its dimension from `offset` on, and leaves out `left_out` after each. */
template <class S, class W> __global__ void words(const W *vectors, const W *constants, ull offset, int count,
                                                  int left_out, W *out) {
  int d = threadIdx.x;
  S state;
  begin(&vectors[d * sizeof(W) * 8], constants[d], offset, &state);
  for (int i = 0; i < count; i++) {
    out[d * count + i] = curand(&state);
    if (left_out > 0) skipahead((W)left_out, &state);
  }
}
template <class S, class W> __global__ void numbers(const W *vectors, const W *constants, int count, float *uniform,
                                                    double *uniform_double, float *normal, double *normal_double) {
  int d = threadIdx.x;
  S state;
  begin(&vectors[d * sizeof(W) * 8], constants[d], 0, &state);
  for (int i = 0; i < count; i++) {
    S copy = state;
    uniform[d * count + i] = curand_uniform(&copy);
    copy = state;
    uniform_double[d * count + i] = curand_uniform_double(&copy);
    copy = state;
    normal[d * count + i] = curand_normal(&copy);
    normal_double[d * count + i] = curand_normal_double(&state);
  }
}
]]

local kinds = {
  { name = "sobol32", state = "curandStateSobol32_t", word = "unsigned int", bits = "bits" },
  { name = "scrambled_sobol32", state = "curandStateScrambledSobol32_t", word = "unsigned int", bits = "bits" },
  { name = "sobol64", state = "curandStateSobol64_t", word = "unsigned long long", bits = "bits64" },
  { name = "scrambled_sobol64", state = "curandStateScrambledSobol64_t", word = "unsigned long long", bits = "bits64" },
}
local offsets = { 0, 1, 3, 4096, 1000007 }
local dimensions, count = 5, 500

local function tables(kind)
  if curand.missing then pending(curand.missing) end
  local vectors = curand.draw { kind = kind.name, what = "vectors", count = dimensions }
  local constants = curand.draw { kind = kind.name, what = "constants", count = dimensions }
  return mw.from_bytes(vectors, kind.word), mw.from_bytes(constants, kind.word)
end

describe("Sobol's sequence", function()
  local m
  setup(function() m = mw.compile(source) end)

  for _, kind in ipairs(kinds) do
    it(("%s is the host's at every offset"):format(kind.name), function()
      local vectors, constants = tables(kind)
      local kernel = m[("words<%s,%s>"):format(kind.state, kind.word)]
      assert.not_equal("fiber", kernel.tier)
      local out = mw.zeros(dimensions * count, kind.word)
      for _, offset in ipairs(offsets) do
        local expected = curand.draw { kind = kind.name, offset = offset, dimensions = dimensions, what = kind.bits,
          count = #out }
        kernel(1, dimensions)(vectors, constants, offset, count, 0, out)
        assert.is_true(out:bytes() == expected, ("offset %d"):format(offset))
      end
    end)

    it(("%s has the host's uniform and normal numbers"):format(kind.name), function()
      local vectors, constants = tables(kind)
      local size = dimensions * count
      local got = { uniform = mw.zeros(size), uniform_double = mw.zeros(size, "double"), normal = mw.zeros(size),
        normal_double = mw.zeros(size, "double") }
      m[("numbers<%s,%s>"):format(kind.state, kind.word)](1, dimensions)(vectors, constants, count, got.uniform,
        got.uniform_double, got.normal, got.normal_double)
      for what, array in pairs(got) do
        local expected = curand.draw { kind = kind.name, dimensions = dimensions, what = what, count = size }
        if what:find "uniform" then
          assert.is_true(array:bytes() == expected, what)
        else -- the inverse of the distribution, which each library approximates
          local format, epsilon = what == "normal" and "<f" or "<d", what == "normal" and 2.0 ^ -23 or 2.0 ^ -52
          for i = 1, size do
            local want = string.unpack(format, expected, (i - 1) * string.packsize(format) + 1)
            assert.is_true(math.abs(array[i] - want) <= 8 * epsilon * math.abs(want), ("%s %d"):format(what, i))
          end
        end
      end
    end)

    it(("%s is what vectors of one's own make it"):format(kind.name), function()
      local width = kind.word == "unsigned int" and 32 or 64
      local list, constant = {}, kind.name:find "scrambled" and 0x12345678 or 0
      for bit = 0, width - 1 do list[bit + 1] = 0x9e3779b97f4a7c15 * (bit + 1) & (width == 32 and 0xffffffff or -1) end
      local bytes = {}
      for i, v in ipairs(list) do bytes[i] = string.pack(width == 32 and "<I4" or "<i8", v) end
      local vectors = mw.from_bytes(table.concat(bytes), kind.word)
      local constants = mw.from_bytes(string.pack(width == 32 and "<I4" or "<i8", constant), kind.word)
      local out = mw.zeros(50, kind.word)
      m[("words<%s,%s>"):format(kind.state, kind.word)](1, 1)(vectors, constants, 77, 50, 12, out)
      local expected = {}
      for i = 0, 49 do
        local n = 77 + i * 13
        local gray, x = n ~ n >> 1, constant
        for bit = 0, width - 1 do
          if gray >> bit & 1 == 1 then x = x ~ list[bit + 1] end
        end
        expected[i + 1] = string.pack(width == 32 and "<I4" or "<i8", x)
      end
      assert.is_true(out:bytes() == table.concat(expected))
    end)
  end
end)
