-- Half precision and bfloat16 in device code: conversions, arithmetic, comparisons, pairs, against models in Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local random = require "support.random" "device_half_spec"

local inf, nan = math.huge, 0 / 0

-- ---- models: numbers of `digits` bits whose smallest is 2^lowest and whose largest is `largest`

local half = { digits = 11, lowest = -24, largest = 65504 }
local bfloat = { digits = 8, lowest = -133, largest = (2 - 2.0 ^ -7) * 2.0 ^ 127 }

local function exponent_of(x)
  local e = 0
  while x >= 2.0 ^ (e + 1) do e = e + 1 end
  while x < 2.0 ^ e do e = e - 1 end
  return e
end

-- The number of the format that x is rounded to; `direction` nil for the nearest (even), or "rz", "ru", "rd".
local function round(format, x, direction)
  if x ~= x or x == 0 or x == inf or x == -inf then return x end
  local size, sign = math.abs(x), x < 0 and -1 or 1
  local unit = 2.0 ^ math.max(exponent_of(size) - format.digits + 1, format.lowest)
  local below = size // unit
  local rest = size / unit - below
  local up = direction == "ru" and sign > 0 or direction == "rd" and sign < 0
  if not direction or direction == "rn" then
    up = rest > 0.5 or rest == 0.5 and below % 2 == 1
  elseif rest == 0 then
    up = false
  end
  local result = (below + (up and 1 or 0)) * unit
  if result > format.largest then
    local stays = direction == "rz" or direction == "ru" and sign < 0 or direction == "rd" and sign > 0
    result = stays and format.largest or inf
  end
  return sign * result
end

local function value_of(format, bits)
  local fraction_bits = format.digits - 1
  local sign, e = bits >> 15 == 1 and -1.0 or 1.0, (bits & 0x7fff) >> fraction_bits
  local fraction = bits & (1 << fraction_bits) - 1
  if e == (1 << 15 - fraction_bits) - 1 then return fraction == 0 and sign * inf or nan end
  local lowest = format.lowest
  if e == 0 then return sign * fraction * 2.0 ^ lowest end
  return sign * (fraction + (1 << fraction_bits)) * 2.0 ^ (lowest + e - 1)
end

local function same(a, b) return a == b and (a ~= 0 or 1 / a == 1 / b) or a ~= a and b ~= b end

local formats = {
  { name = "__half", model = half, header = "cuda_fp16.h", pair = "__half2", float = "half",
    from = "__ushort_as_half" },
  { name = "__nv_bfloat16", model = bfloat, header = "cuda_bf16.h", pair = "__nv_bfloat162", float = "bfloat16",
    from = "__ushort_as_bfloat16" },
}

for _, f in ipairs(formats) do
  local names = { T = f.name, V = f.pair, HEADER = f.header, FROM = f.from, NAME = f.float }
  local m = mw.compile((([[
#include <HEADER>
__global__ void values(float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = (float)FROM((unsigned short)i);
}
__global__ void round_float(int n, const float *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[5 * i] = (float)T(x[i]);
  out[5 * i + 1] = (float)__float2NAME_rn(x[i]);
  out[5 * i + 2] = (float)__float2NAME_rz(x[i]);
  out[5 * i + 3] = (float)__float2NAME_ru(x[i]);
  out[5 * i + 4] = (float)__float2NAME_rd(x[i]);
}
__global__ void round_double(int n, const double *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (float)T(x[i]);
}
__global__ void from_integer(int n, const long long *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[3 * i] = (float)T(x[i]);
  out[3 * i + 1] = (float)__int2NAME_rz((int)x[i]);
  out[3 * i + 2] = (float)__int2NAME_ru((int)x[i]);
}
__global__ void operate(int n, const unsigned short *x, const unsigned short *y, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T a = FROM(x[i]), b = FROM(y[i]), c = a;
  V p(a, b), q(b, a);
  c += b;
  float v[] = {a + b, a - b, a * b, a / b, __hmax(a, b), __hmin(a, b), __hmax_nan(a, b), -a, __habs(b), hsqrt(a),
               __hadd_sat(a, b), c, (p + q).y, (p * q).x, __hneg2(p).y, __hfma2(p, q, p).y};
  for (int j = 0; j < 16; ++j) out[16 * i + j] = v[j];
}
__global__ void compare(int n, const unsigned short *x, const unsigned short *y, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T a = FROM(x[i]), b = FROM(y[i]);
  V p(a, b), q(b, a);
  bool v[] = {a == b, a != b, a < b, a > b, a <= b, a >= b, __heq(a, b), __hne(a, b), __hlt(a, b), __hgt(a, b),
              __hle(a, b), __hge(a, b), __hequ(a, b), __hneu(a, b), __hltu(a, b), __hgtu(a, b), __hleu(a, b),
              __hgeu(a, b), __hbeq2(p, q), __hbneu2(p, q), (float)__hlt2(p, q).x != 0, (float)__hlt2(p, q).y != 0,
              __hisnan(a), __hisinf(a) != 0, __hgt2_mask(p, q) == ((a > b ? 0xffffu : 0) | (b > a ? 0xffff0000u : 0))};
  unsigned bits = 0;
  for (int j = 0; j < 25; ++j) bits |= v[j] ? 1u << j : 0u;
  out[i] = bits;
}
__global__ void fused(int n, const unsigned short *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (float)__hfma(FROM(x[3 * i]), FROM(x[3 * i + 1]), FROM(x[3 * i + 2]));
}
__global__ void reach(float *out) {
  __shared__ T sum[1];
  __shared__ V sums[1];
  if (threadIdx.x == 0) sum[0] = T(1.0f), sums[0] = V(T(0.0f), T(1.0f));
  __syncthreads();
  atomicAdd(&sum[0], T(1.0f));
  atomicAdd(&sums[0], V(T(1.0f), T(2.0f)));
  T mine((float)threadIdx.x);
  out[threadIdx.x] = (float)__shfl_xor_sync(0xffffffffu, mine, 3);
  out[threadIdx.x] += (float)__shfl_down_sync(0xffffffffu, V(mine, mine), 1).y;
  __syncthreads();
  if (threadIdx.x == 0) out[32] = (float)sum[0], out[33] = (float)sums[0].x, out[34] = (float)sums[0].y;
}]]):gsub("%f[%w_]%u+%f[^%w_]", names):gsub("NAME", f.float)))

  local function any_bits() return random(0) & 0xffff end
  local function words(n, draw)
    local list = {}
    for i = 1, n do list[i] = draw(i) end
    return list
  end
  local function near(x) return round(f.model, x) end

  describe(f.name, function()
    it("is its bits", function()
      local out = mw.zeros(65536)
      m.values(256, 256)(out)
      for i, got in ipairs(out:totable()) do
        if not same(value_of(f.model, i - 1), got) then
          error(("0x%04x is %g, want %g"):format(i - 1, got, value_of(f.model, i - 1)))
        end
      end
    end)

    it("is rounded once, in every direction", function()
      local xs = words(6000, function(i)
        if i <= 7 then return ({ 0.0, -0.0, inf, -inf, 65519.99, 65520, -1e-30 })[i] end
        local x = value_of(f.model, any_bits())
        if x ~= x or x == inf or x == -inf then x = 70000 end
        -- beside a number of the format, at the middle between two, and a little off it
        local e = exponent_of(math.max(math.abs(x), 1e-45)) - f.model.digits + 1
        local unit = 2.0 ^ math.max(e, f.model.lowest)
        return x + unit * ({ 0, 0.5, 0.25, 0.500001, 0.499999, -0.5 })[i % 6 + 1]
      end)
      local floats, out = mw.array(xs, "float"), mw.zeros(5 * #xs)
      m.round_float(mw.cdiv(#xs, 128), 128)(#xs, floats, out)
      xs, out = floats:totable(), out:totable()
      for i, x in ipairs(xs) do
        for j, direction in ipairs { "rn", "rn", "rz", "ru", "rd" } do
          local want, got = round(f.model, x, direction), out[5 * i - 5 + j]
          assert.is_true(want == got or want ~= want and got ~= got,
            ("%s of %.9g is %.9g, want %.9g"):format(direction, x, got, want))
        end
      end
    end)

    it("takes doubles and integers without rounding twice", function()
      local xs = words(3000, function(i)
        local x = value_of(f.model, any_bits() & 0x7bff)
        if x ~= x or x > 1e30 or x == 0 then x = 1.5 end
        local unit = 2.0 ^ math.max(exponent_of(x) - f.model.digits + 1, f.model.lowest)
        return x + unit * (0.5 + ({ 0, 2.0 ^ -30, -2.0 ^ -30 })[i % 3 + 1])
      end)
      local out = mw.zeros(#xs)
      m.round_double(mw.cdiv(#xs, 128), 128)(#xs, mw.array(xs, "double"), out)
      for i, got in ipairs(out:totable()) do
        assert.is_true(same(near(xs[i]), got), ("%.17g is %.9g, want %.9g"):format(xs[i], got, near(xs[i])))
      end
      local integers = words(2000, function(i)
        local x = (random(0) >> 1) >> random(1, 52)
        return i % 2 == 0 and x or -x
      end)
      local rounded = mw.zeros(3 * #integers)
      m.from_integer(mw.cdiv(#integers, 128), 128)(#integers, mw.array(integers, "longlong"), rounded)
      rounded = rounded:totable()
      for i, x in ipairs(integers) do
        -- a double holds all but the longest, none of which is near the middle of two
        assert.is_true(same(near(x + 0.0), rounded[3 * i - 2]), tostring(x))
        local int = (x + 0x80000000 & 0xffffffff) - 0x80000000
        assert.is_true(round(f.model, int + 0.0, "rz") == rounded[3 * i - 1], "rz " .. int)
        assert.is_true(round(f.model, int + 0.0, "ru") == rounded[3 * i], "ru " .. int)
      end
    end)

    it("is computed with as IEEE 754 says", function()
      local n = 3000
      local x, y, out = words(n, any_bits), words(n, any_bits), mw.zeros(16 * n)
      for i = 2, n, 2 do y[i] = x[i] & 0x8000 | (x[i] + random(-2000, 2000)) & 0x7fff end -- of like size
      m.operate(mw.cdiv(n, 128), 128)(n, mw.array(x, "ushort"), mw.array(y, "ushort"), out)
      out = out:totable()
      for i = 1, n do
        local a, b = value_of(f.model, x[i]), value_of(f.model, y[i])
        local sum, max, min = near(a + b), math.max(a, b), math.min(a, b)
        if a ~= a then max, min = b, b elseif b ~= b then max, min = a, a end
        if a == b then max, min = 1 / a > 1 / b and a or b, 1 / a > 1 / b and b or a end
        local max_nan = (a ~= a or b ~= b) and nan or max
        local sat = sum ~= sum and 0.0 or math.min(math.max(sum, 0.0), 1.0)
        local want = { sum, near(a - b), near(a * b), near(a / b), max, min, max_nan, -a, math.abs(b),
          a >= 0 and near(math.sqrt(a)) or nan, sat, sum, sum, near(a * b), -b }
        for j, expected in ipairs(want) do
          local got = out[16 * i - 16 + j]
          assert.is_true(same(expected, got) or expected == 0 and got == 0 and j == 11,
            ("operation %d of %.9g and %.9g is %.9g, want %.9g"):format(j, a, b, got, expected))
        end
      end
    end)

    it("is compared, NaN apart", function()
      local n = 2000
      local x, y, out = words(n, any_bits), words(n, any_bits), mw.zeros(n, "uint")
      for i = 3, n, 3 do y[i] = x[i] end
      x[1], y[1] = 0, 0x8000
      m.compare(mw.cdiv(n, 128), 128)(n, mw.array(x, "ushort"), mw.array(y, "ushort"), out)
      for i, got in ipairs(out:totable()) do
        local a, b = value_of(f.model, x[i]), value_of(f.model, y[i])
        local ordered = a == a and b == b
        local v = { a == b, a ~= b, a < b, a > b, a <= b, a >= b, a == b, ordered and a ~= b, a < b, a > b, a <= b,
          a >= b, not ordered or a == b, a ~= b, not ordered or a < b, not ordered or a > b, not ordered or a <= b,
          not ordered or a >= b, a == b, a ~= b, a < b, b < a, a ~= a, a == inf or a == -inf, true }
        local bits = 0
        for j, holds in ipairs(v) do bits = bits | (holds and 1 << j - 1 or 0) end
        assert.is_true(bits == got, ("%g and %g: %x, want %x"):format(a, b, got, bits))
      end
    end)

    it("is multiplied and added with one rounding", function()
      -- numbers of few bits above 2^-12, so that Lua's doubles hold the exact sum
      local n, x = 4000, {}
      for i = 1, 3 * n do
        local bits
        repeat
          bits = any_bits()
          local size = math.abs(value_of(f.model, bits))
        until size < 256 and size > 2.0 ^ -10
        x[i] = bits
      end
      local out = mw.zeros(n)
      m.fused(mw.cdiv(n, 128), 128)(n, mw.array(x, "ushort"), out)
      for i, got in ipairs(out:totable()) do
        local a, b, c = value_of(f.model, x[3 * i - 2]), value_of(f.model, x[3 * i - 1]), value_of(f.model, x[3 * i])
        local want = near(a * b + c)
        assert.is_true(want == got, ("%.9g * %.9g + %.9g is %.9g, want %.9g"):format(a, b, c, got, want))
      end
    end)

    it("works in shuffles and atomics", function()
      local out = mw.zeros(35)
      m.reach(1, 32)(out)
      out = out:totable()
      for i = 0, 31 do assert.equal((i ~ 3) + math.min(i + 1, 31), out[i + 1]) end
      assert.same({ 33, 32, 65 }, { out[33], out[34], out[35] })
    end)
  end)
end

describe("half precision", function()
  it("is read from and written to Lua's half arrays, as numbers and pairs", function()
    local m = mw.compile [[
#include <cuda_fp16.h>
struct Item { __half weight; __half2 range; int n; };
__constant__ half gain;
__global__ void axpy(int n, half a, const half *x, half *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma(a, x[i], y[i]) * gain;
}
__global__ void swap(int n, half2 *v, Item item) {
  int i = threadIdx.x;
  if (i < n) v[i] = __lowhigh2highlow(v[i]) + __half2half2(item.weight) * item.range;
}]]
    m.gain = 2
    local x, y = mw.array({ 1, 2, 3, 4 }, "half"), mw.array({ 0.5, 0.5, 0.5, 1024 }, "half")
    m.axpy(1, 32)(4, 0.25, x, y)
    assert.same({ 1.5, 2, 2.5, 2050 }, y:totable())
    local v = mw.array({ 1, 2, 3, 4 }, "half"):as "half2"
    m.swap(1, 32)(2, v, { weight = 2, range = { 10, 20 }, n = 1 })
    assert.same({ 22, 41, 24, 43 }, v:as("half"):totable())
  end)
end)
