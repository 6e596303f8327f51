-- Mathematical functions of device code with integer, pointer or several vector arguments, and overloads.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local numbers = require "support.numbers"
local random = require "support.random" "device_math_spec"

local inf, nan = math.huge, 0 / 0
local list, check_near, check_same = numbers.list, numbers.check_near, numbers.check_same
local ulp_float, ulp_double = numbers.ulp_float, numbers.ulp_double

describe("other functions", function()
  local n = 64

  it("take and give integers", function()
    local k = mw.compile [[
__global__ void k(double *d, int *i, const double *x) {
  int e; double whole; int q; float ef; int en;
  d[0] = frexp(48.0, &e); i[0] = e;
  d[1] = modf(-3.75, &whole); d[2] = whole;
  d[3] = remquo(29.0, 3.0, &q); i[1] = q & 7;
  d[4] = ldexp(0.75, 6); d[5] = scalbn(3.0, -1); d[6] = scalbln(3.0, 4l);
  i[2] = ilogb(1000.0); i[3] = ilogbf(0.1f); i[4] = lround(2.5); i[5] = (int)llroundf(-2.5f);
  i[6] = lrint(2.5); i[7] = (int)llrintf(3.5f); i[8] = abs(-7); i[9] = (int)labs(-8l); i[10] = (int)llabs(-9ll);
  double s, c; float sf, cf;
  sincos(x[0], &s, &c); d[7] = s; d[8] = c;
  sincospi(0.25, &s, &c); d[9] = s; d[10] = c;
  sincosf((float)x[0], &sf, &cf); d[11] = sf; d[12] = cf;
  sincospif(0.25f, &sf, &cf); d[13] = sf; d[14] = cf;
  d[15] = jn(2, 3.0); d[16] = yn(2, 3.0); d[17] = fma(x[1], x[1], -1.0);
  ef = frexpf(48.0f, &en); d[18] = ef; i[11] = en;
  i[12] = isnan(nan("")) && isnan(nanf("")) && isinf(-INFINITY) && isfinite(1.0f) && !isfinite(INFINITY);
  i[13] = signbit(-0.0) && !signbit(0.0f) && isnormal(1.0) && !isnormal(0.0f);
}]]
    local x = 1 + 2.0 ^ -30
    local d, i = mw.zeros(19, "double"), mw.zeros(14, "int")
    k.k(1, 1)(d, i, mw.array({ 0.5, x }, "double"))
    d, i = d:totable(), i:totable()
    assert.same({ 6, 2, 9, -4, 3, -3, 2, 4, 7, 8, 9, 6, 1, 1 }, i)
    assert.same({ 0.75, -0.75, -3, -1, 48, 1.5, 48 }, { table.unpack(d, 1, 7) })
    check_near(math.sin(0.5), d[8], 2, ulp_double, "sincos")
    check_near(math.cos(0.5), d[9], 2, ulp_double, "sincos")
    check_near(math.sqrt(0.5), d[10], 1, ulp_double, "sincospi")
    check_near(math.sqrt(0.5), d[11], 1, ulp_double, "sincospi")
    check_near(math.sin(0.5), d[12], 2, ulp_float, "sincosf")
    check_near(math.cos(0.5), d[13], 2, ulp_float, "sincosf")
    check_near(math.sqrt(0.5), d[14], 1, ulp_float, "sincospif")
    check_near(math.sqrt(0.5), d[15], 1, ulp_float, "sincospif")
    check_near(0.48609126058589108, d[16], 8, ulp_double, "jn(2, 3)")
    check_near(-0.16040039348492373, d[17], 8, ulp_double, "yn(2, 3)")
    assert.equal(2.0 ^ -29 + 2.0 ^ -60, d[18]) -- rounded once: the product's last bits are there
    assert.equal(0.75, d[19])
  end)

  it("measure vectors without overflow or underflow", function()
    if suite.on_gpu then return pending "CPU device only: CUDA's headers and functions have their own" end
    local k = mw.compile [[
__global__ void k(int n, const double *x, double *out, float *outf) {
  int i = threadIdx.x;
  if (i >= n) return;
  double a = x[4 * i], b = x[4 * i + 1], c = x[4 * i + 2], d = x[4 * i + 3];
  double *o = out + 6 * i;
  o[0] = norm3d(a, b, c); o[1] = rnorm3d(a, b, c); o[2] = norm4d(a, b, c, d); o[3] = rnorm4d(a, b, c, d);
  o[4] = norm(4, x + 4 * i); o[5] = rnorm(4, x + 4 * i);
  float f[4] = {(float)a, (float)b, (float)c, (float)d}, *p = outf + 6 * i;
  p[0] = norm3df(f[0], f[1], f[2]); p[1] = rnorm3df(f[0], f[1], f[2]); p[2] = norm4df(f[0], f[1], f[2], f[3]);
  p[3] = rnorm4df(f[0], f[1], f[2], f[3]); p[4] = normf(4, f); p[5] = rnormf(4, f);
}]]
    local function run(list_of)
      local out, outf = mw.zeros(#list_of / 4 * 6, "double"), mw.zeros(#list_of / 4 * 6)
      k.k(1, #list_of // 4)(#list_of // 4, mw.array(list_of, "double"), out, outf)
      return out:totable(), outf:totable()
    end
    -- Integers: the sum of squares is exact. Scaled by powers of two into the corners of the range.
    for _, scale in ipairs { 1, 2.0 ^ 1000, 2.0 ^ -1060 } do
      local xs = list(4 * n, function() return random(-1000, 1000) * scale end)
      local d = run(xs)
      for i = 0, n - 1 do
        local a, b, c, e = table.unpack(xs, 4 * i + 1, 4 * i + 4)
        a, b, c, e = a / scale, b / scale, c / scale, e / scale
        local three, four = math.sqrt(a * a + b * b + c * c), math.sqrt(a * a + b * b + c * c + e * e)
        check_near(three * scale, d[6 * i + 1], 1, ulp_double, "norm3d")
        check_near(four * scale, d[6 * i + 3], 1, ulp_double, "norm4d")
        check_near(four * scale, d[6 * i + 5], 1, ulp_double, "norm")
        if three > 0 and 1 / (three * scale) < inf then
          check_near(1 / three / scale, d[6 * i + 2], 1.5, ulp_double, "rnorm3d")
          check_near(1 / four / scale, d[6 * i + 4], 1.5, ulp_double, "rnorm4d")
          check_near(1 / four / scale, d[6 * i + 6], 1.5, ulp_double, "rnorm")
        end
      end
    end
    for _, scale in ipairs { 1, 2.0 ^ 115, 2.0 ^ -140 } do
      local xs = list(4 * n, function() return random(-1000, 1000) * scale end)
      local _, f = run(xs)
      for i = 0, n - 1 do
        local a, b, c, e = table.unpack(xs, 4 * i + 1, 4 * i + 4)
        local three, four = math.sqrt(a * a + b * b + c * c), math.sqrt(a * a + b * b + c * c + e * e)
        local expected = { three, 1 / three, four, 1 / four, four, 1 / four }
        for j = 1, 6 do
          local want, got = expected[j], f[6 * i + j]
          if want < 3e38 then check_near(want, got, 0.51, ulp_float, "norm " .. j) end
        end
      end
    end
    local d, f = run { inf, nan, 1, 2, 0, 0, 0, 0, -inf, 0, 0, nan, nan, 1, 2, 3 }
    for _, t in ipairs { d, f } do
      for j = 1, 6 do
        check_same(j % 2 == 1 and inf or 0, t[j], "an infinite component beside a NaN, " .. j)
        check_same(j % 2 == 1 and 0 or inf, t[6 + j], "no length at all, " .. j)
        check_same(nan, t[18 + j], "a NaN, " .. j)
      end
    end
  end)
end)

describe("overloads", function()
  it("follow their arguments' types, as in C++11", function()
    if suite.on_gpu then return pending "CPU device only: CUDA's headers and functions have their own" end
    mw.compile [[
template <typename A, typename B> struct same { static const bool value = false; };
template <typename A> struct same<A, A> { static const bool value = true; };
#define IS(type, expression) static_assert(same<decltype(expression), type>::value, #expression)
__global__ void k(float f, double d, int i, unsigned u, long long l, unsigned long long ul) {
  IS(float, sin(f)); IS(double, sin(d)); IS(double, sin(i)); IS(double, sqrt(l));
  IS(float, pow(f, f)); IS(double, pow(f, i)); IS(double, pow(f, d)); IS(double, atan2(i, u));
  IS(float, fma(f, f, f)); IS(double, fma(f, d, f)); IS(float, fmax(f, f)); IS(double, hypot(i, f));
  IS(float, abs(f)); IS(double, abs(d)); IS(int, abs(i)); IS(long long, abs(l));
  IS(float, min(f, f)); IS(double, max(f, d)); IS(int, min(i, i)); IS(unsigned, max(i, u)); IS(unsigned, min(u, u));
  IS(long long, max(l, l)); IS(unsigned long long, min(l, ul)); IS(int, ilogb(f)); IS(long, lround(i));
  IS(float, rsqrt(f)); IS(double, rsqrt(d)); IS(float, sinpi(f)); IS(bool, isnan(f)); IS(float, ldexp(f, 2));
}]]
  end)

  it("of min and max compare as unsigned where one argument is, and prefer a number to a NaN", function()
    local k = mw.compile [[
__global__ void k(double *out, int minus, unsigned three, float nan_) {
  out[0] = min(minus, three); out[1] = max(minus, three); out[2] = min(minus, 3); out[3] = max(minus, -7);
  out[4] = min(nan_, 2.0f); out[5] = max(2.0, nan_); out[6] = min(-0.0f, 1.0f); out[7] = max(1ull, 1ull << 40);
}]]
    local out = mw.zeros(8, "double")
    k.k(1, 1)(out, -5, 3, nan)
    assert.same({ 3, 4294967291, -5, -5, 2, 2, 0, 2.0 ^ 40 }, out:totable())
  end)
end)
