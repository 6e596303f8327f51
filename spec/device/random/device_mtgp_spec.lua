-- MTGP32 in kernels: a block's threads draw together, and states made in kernels draw what NVIDIA's host generator
-- draws.
-- Lua 5.4 only: this tests the compiler and device headers.

local mw = require "moonwarp"
local curand = require "support.random.curand"

local source = [[
#include <curand_kernel.h>
#include <moonwarp/random/mtgp32_init.h>

__global__ void parameters(void *k) { __mw_mtgp_parameters(threadIdx.x, (mtgp32_kernel_params_t *)k); }
__global__ void begin(unsigned long long seed, void *k, curandStateMtgp32_t *states) {
  __mw_mtgp_begin(seed, threadIdx.x, (mtgp32_kernel_params_t *)k, &states[threadIdx.x]);
}
__device__ void draw(unsigned *x, curandStateMtgp32_t *state) { *x = curand(state); }
__device__ void draw(float *x, curandStateMtgp32_t *state) { *x = curand_uniform(state); }
__device__ void draw(double *x, curandStateMtgp32_t *state) { *x = curand_uniform_double(state); }
template <class T> __global__ void fill(curandStateMtgp32_t *states, int rounds, T *out) {
  for (int round = 0; round < rounds; round++)
    draw(&out[(round * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x], &states[blockIdx.x]);
}
/* The first `of` threads draw `of` words. */
__global__ void some(curandStateMtgp32_t *state, int of, int rounds, unsigned *out) {
  if (threadIdx.x >= of) return;
  for (int round = 0; round < rounds; round++)
    out[round * of + threadIdx.x] = curand_mtgp32_specific(state, threadIdx.x, of);
}
__global__ void single(curandStateMtgp32_t *states, float *out) {
  out[threadIdx.x] = curand_mtgp32_single(&states[0]);
  out[blockDim.x + threadIdx.x] = curand_mtgp32_single_specific(&states[0], threadIdx.x, blockDim.x);
}
/* What spec/data/random/h100.txt has as rows of mtgp32: values of a block of 256 threads one after the other. */
__global__ void rows(curandStateMtgp32_t *state, unsigned *out) {
  int t = threadIdx.x, n = blockDim.x;
  out[t] = curand(state);
  out[n + t] = curand(state);
  out[2 * n + t] = __float_as_uint(curand_uniform(state));
  unsigned long long u = (unsigned long long)__double_as_longlong(curand_uniform_double(state));
  out[3 * n + t] = (unsigned)(u >> 32);
  out[4 * n + t] = (unsigned)u;
  out[5 * n + t] = __float_as_uint(curand_normal(state));
  u = (unsigned long long)__double_as_longlong(curand_normal_double(state));
  out[6 * n + t] = (unsigned)(u >> 32);
  out[7 * n + t] = (unsigned)u;
  out[8 * n + t] = curand_poisson(state, 30.0);
  out[9 * n + t] = curand_poisson(state, 2000.0);
  /* NVIDIA's curand_mtgp32_single (row 10) draws the next thread's word, and stores it where the recurrence reads it,
   * not where it belongs; what comes after it shows that. */
  unsigned at = state->offset + t + 1, *slot = &state->s[at + MTGPDC_N & MTGP32_STATE_MASK], before = *slot, unused;
  __syncthreads();
  unsigned word = __mw_mtgp_step(state, t + 1, &unused);
  __syncthreads();
  *slot = before;
  state->s[at & MTGP32_STATE_MASK] = word;
  __mw_mtgp_advance(state, t == 0, n);
  out[11 * n + t] = curand_mtgp32_specific(state, (unsigned char)t, 100);
  out[12 * n + t] = __float_as_uint(curand_mtgp32_single_specific(state, (unsigned char)t, 200));
  out[13 * n + t] = curand(state);
}
__global__ void normal(curandStateMtgp32_t *states, float *out) { out[threadIdx.x] = curand_normal(&states[0]); }
]]

describe("MTGP32", function()
  local m, constants
  setup(function()
    m = mw.compile(source)
    constants = mw.zeros(200 * 51 + 1, "unsigned int") -- mtgp32_kernel_params
    m.parameters(1, 200)(constants)
  end)

  local function states(seed)
    local list = mw.zeros(200, m:dtype "curandStateMtgp32")
    m.begin(1, 200)(seed, constants, list)
    return list
  end

  for _, seed in ipairs { 0, 1234, 987654321, math.mininteger + 5 } do
    it(("has the host's words for seed %u"):format(seed):gsub("%-", "minus "), function()
      if curand.missing then pending(curand.missing) end
      for ordering, blocks in pairs { default = 192, legacy = 64 } do
        local out = mw.zeros(blocks * 256 * 4, "unsigned int")
        m["fill<unsigned int>"](blocks, 256)(states(seed), 4, out)
        assert.is_true(out:bytes() == curand.draw { kind = "mtgp32", seed = seed, ordering = ordering, count = #out })
      end
    end)
  end

  for what, type in pairs { uniform = "float", uniform_double = "double" } do
    it("has the host's " .. what, function()
      if curand.missing then pending(curand.missing) end
      local out = mw.zeros(192 * 256 * 2, type)
      m[("fill<%s>"):format(type)](192, 256)(states(1234), 2, out)
      assert.is_true(out:bytes() == curand.draw { kind = "mtgp32", seed = 1234, what = what, count = #out })
    end)
  end

  it("draws the same words whichever threads draw them", function()
    local all, few = mw.zeros(1200, "unsigned int"), mw.zeros(1200, "unsigned int")
    m["fill<unsigned int>"](1, 240)(states(5), 5, all)
    m.some(1, 128)(states(5), 100, 12, few)
    assert.equal(all:bytes(), few:bytes())
  end)

  it("follows its recurrence", function() -- x[n + 351] of x[n], x[n + 1] and x[n + pos], as published
    local out, raw = mw.zeros(256 * 4, "unsigned int"), states(7):as "unsigned int"
    local k = constants
    local x = {}
    for i = 0, 350 do x[i] = raw[i + 1] end
    m["fill<unsigned int>"](1, 256)(raw:as(m:dtype "curandStateMtgp32"), 4, out)
    local pos, first_shift, second_shift = k[1], k[200 * 49 + 1], k[200 * 50 + 1]
    for n = 0, 1023 do
      local y = x[n] & 0xfff80000 ~ x[n + 1]
      y = y ~ y << first_shift & 0xffffffff
      y = y ~ x[n + pos] >> second_shift
      x[n + 351] = y ~ k[200 + (y & 15) + 1]
      local t = x[n + pos - 1]
      t = t ~ t >> 16
      t = t ~ t >> 8
      assert.equal(x[n + 351] ~ k[200 * 17 + (t & 15) + 1], out[n + 1])
    end
  end)

  it("makes floats of a word's upper bits, and normal numbers by the inverse", function()
    local words, floats, normals = mw.zeros(512, "unsigned int"), mw.zeros(512), mw.zeros(256)
    m["fill<unsigned int>"](1, 256)(states(9), 2, words)
    m.single(1, 256)(states(9), floats)
    m.normal(1, 256)(states(9), normals)
    for i = 1, 512 do assert.equal(1 + (words[i] >> 9) / 2 ^ 23, floats[i]) end
    local sum, square = 0, 0
    for i = 1, 256 do
      sum, square = sum + normals[i], square + normals[i] ^ 2
      assert.equal(words[i] > 0x80000000, normals[i] > 0)
    end
    assert.is_true(math.abs(sum / 256) < 0.3 and math.abs(square / 256 - 1) < 0.45)
  end)

  it("has the values of an H100", function()
    local out = mw.zeros(14 * 256, "unsigned int")
    m.rows(1, 256)(states(1234):sub(3, 3), out)
    local threads = { 0, 1, 31, 100, 200, 255 }
    for line in io.lines "spec/data/random/h100.txt" do
      local row, values = line:match "^mtgp32 row(%d+) (.*)"
      row = tonumber(row)
      if row and row ~= 7 and row ~= 10 then -- the lower half of a double; single
        local k = 0
        for word in values:gmatch "%x+" do
          k = k + 1
          local ours, theirs = out[row * 256 + threads[k] + 1], tonumber(word, 16)
          local apart = (row == 5 or row == 6) and 1 or 0 -- normal numbers: their last bit
          assert(math.abs(ours - theirs) <= apart, ("row %d, thread %d: %08x, not %08x"):format(row, threads[k], ours,
            theirs))
        end
      end
    end
  end)
end)
