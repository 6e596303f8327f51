-- cuComplex.h: complex arithmetic in device code, against the definitions in Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local numbers = require "support.numbers"
local random = require "support.random" "device_complex_spec"

local m = mw.compile [[
#include <cuComplex.h>
__global__ void d(const cuDoubleComplex *x, const cuDoubleComplex *y, cuDoubleComplex *out, double *size) {
  int i = threadIdx.x;
  cuDoubleComplex *o = out + 7 * i;
  o[0] = cuCadd(x[i], y[i]); o[1] = cuCsub(x[i], y[i]); o[2] = cuCmul(x[i], y[i]); o[3] = cuCdiv(x[i], y[i]);
  o[4] = cuConj(x[i]); o[5] = cuCfma(x[i], y[i], make_cuDoubleComplex(1, -1));
  o[6] = cuComplexFloatToDouble(cuComplexDoubleToFloat(make_cuDoubleComplex(cuCreal(x[i]), cuCimag(y[i]))));
  size[i] = cuCabs(x[i]);
}
__global__ void f(cuFloatComplex x, cuComplex y, cuFloatComplex *o, float *size) {
  o[0] = cuCaddf(x, y); o[1] = cuCsubf(x, y); o[2] = cuCmulf(x, y); o[3] = cuCdivf(x, y);
  o[4] = cuConjf(x); o[5] = cuCfmaf(x, y, make_cuComplex(1, -1)); o[6] = make_cuFloatComplex(cuCrealf(x), cuCimagf(y));
  size[0] = cuCabsf(x);
}]]

local function expected(a, b, c, d)
  local s = c * c + d * d
  local re, im = a * c - b * d, a * d + b * c
  return { a + c, b + d, a - c, b - d, re, im, (a * c + b * d) / s, (b * c - a * d) / s, a, -b, re + 1, im - 1, a, d }
end

describe("complex numbers", function()
  it("follow their definitions in double", function()
    local n = 256
    local function draw() return random(-4000, 4000) / 64 end
    local xs, ys = {}, {}
    for i = 1, 2 * n do xs[i], ys[i] = draw(), draw() end
    for i = 1, n do
      if ys[2 * i - 1] == 0 and ys[2 * i] == 0 then ys[2 * i] = 1.0 end
    end
    local out, size = mw.zeros(7 * n, "double2"), mw.zeros(n, "double")
    m.d(1, n)(mw.array(xs, "double"):as "double2", mw.array(ys, "double"):as "double2", out, size)
    out, size = out:as("double"):totable(), size:totable()
    for i = 1, n do
      local a, b, c, d = xs[2 * i - 1], xs[2 * i], ys[2 * i - 1], ys[2 * i]
      for j, want in ipairs(expected(a, b, c, d)) do
        -- quotients cancel: their error is one of the greater part
        local got = out[14 * (i - 1) + j]
        if j == 7 or j == 8 then
          local size_of_quotient = math.sqrt((a * a + b * b) / (c * c + d * d))
          assert.is_true(math.abs(got - want) <= 2.0 ^ -50 * size_of_quotient)
        else
          assert.equal(want, got)
        end
      end
      numbers.check_near(math.sqrt(a * a + b * b), size[i], 2, numbers.ulp_double, "cuCabs")
    end
  end)

  it("follow their definitions in float", function()
    local out, size = mw.zeros(7, "float2"), mw.zeros(1)
    m.f(1, 1)({ x = 3, y = -4 }, { x = 2, y = 2 }, out, size)
    assert.same(expected(3, -4, 2, 2), out:as("float"):totable())
    assert.equal(5, size[1])
  end)

  it("are divided and measured without overflow", function()
    local out, size = mw.zeros(7, "double2"), mw.zeros(1, "double")
    local x, y = mw.array({ 3e307, 4e307 }, "double"):as "double2", mw.array({ 1e307, -1e307 }, "double"):as "double2"
    m.d(1, 1)(x, y, out, size)
    local parts = out:as("double"):totable()
    assert.is_true(math.abs(parts[7] + 0.5) < 1e-15 and math.abs(parts[8] - 3.5) < 1e-15)
    numbers.check_near(5e307, size[1], 1, numbers.ulp_double, "cuCabs")
  end)
end)
