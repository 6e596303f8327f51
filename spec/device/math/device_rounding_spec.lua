-- Arithmetic with a stated rounding (_rn _rz _ru _rd), against exact arithmetic in Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local numbers = require "support.numbers"
local random = require "support.random" "device_rounding_spec"

local inf, nan = math.huge, 0 / 0
local list, to_float, sign = numbers.list, numbers.to_float, numbers.sign
local float_neighbours, double_neighbours = numbers.float_neighbours, numbers.double_neighbours
local check_same, directed = numbers.check_same, numbers.directed
local n = 1000

local modes = { "rn", "rz", "ru", "rd" }

describe("arithmetic with a stated rounding", function()
  local function operation(name, T, arity)
    local lines = {}
    local arguments = arity == 1 and "x[i]" or "x[i], y[i]"
    for i, mode in ipairs(modes) do
      lines[i] = ("  out[4 * i + %d] = %s_%s(%s);"):format(i - 1, name, mode, arguments)
    end
    return ([[
__global__ void k%s(int n, const %s *x, const %s *y, %s *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
%s
}
]]):format(name, T, T, T, table.concat(lines, "\n"))
  end
  local source = ""
  for _, name in ipairs { "add", "sub", "mul", "div" } do
    source = source .. operation("__f" .. name, "float", 2) .. operation("__d" .. name, "double", 2)
  end
  for _, name in ipairs { "rcp", "sqrt" } do
    source = source .. operation("__f" .. name, "float", 1) .. operation("__d" .. name, "double", 1)
  end
  local m = mw.compile(source)

  local function run(name, T, xs, ys)
    local out = mw.zeros(4 * #xs, T)
    m["k" .. name](mw.cdiv(#xs, 128), 128)(#xs, mw.array(xs, T), mw.array(ys, T), out)
    return out:totable()
  end

  -- The exact sum or product of two doubles, as the nearest double and its rounding error. (Knuth, Dekker)
  local function two_sum(a, b)
    local s = a + b
    local bb = s - a
    return s, (a - (s - bb)) + (b - bb)
  end
  local function split(a)
    local c = 134217729 * a
    local high = c - (c - a)
    return high, a - high
  end
  local function two_product(a, b)
    local p = a * b
    local ah, al = split(a)
    local bh, bl = split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl
  end

  -- nearest, and the sign of exact - nearest, in double
  local double = {
    add = function(x, y)
      local s, e = two_sum(x, y)
      return s, sign(e)
    end,
    sub = function(x, y)
      local s, e = two_sum(x, -y)
      return s, sign(e)
    end,
    mul = function(x, y)
      local p, e = two_product(x, y)
      return p, sign(e)
    end,
    -- x/y - q has the sign of (x - q y) y
    div = function(x, y)
      local q = x / y
      local p, e = two_product(q, y)
      return q, sign((x - p) - e) * sign(y)
    end,
    rcp = function(x)
      local q = 1 / x
      local p, e = two_product(q, x)
      return q, sign((1 - p) - e) * sign(x)
    end,
    sqrt = function(x)
      local r = math.sqrt(x)
      local p, e = two_product(r, r)
      return r, sign((x - p) - e)
    end,
  }
  -- In float: the exact value differs from the nearest double in the direction of its error.
  local function in_float(name, x, y)
    local value, side = double[name](x, y)
    local near = to_float(value)
    if value ~= near then
      -- the rounding error decides a tie of the nearest double
      local less, more = float_neighbours(near)
      if side ~= 0 then
        if (value - near) * 2 == more - near and side > 0 then near = more end
        if (value - near) * 2 == less - near and side < 0 then near = less end
      end
    end
    return near, value ~= near and sign(value - near) or side
  end

  -- Everything that the sums above do must be exact: no overflow, no denormals. The corners are below.
  local function real(float)
    return function()
      local x = (random() < 0.5 and -1 or 1) * (1 + random()) * 2.0 ^ random(-20, 20)
      if random() < 0.2 then x = random(-100, 100) + 0.0 end
      if x == 0 then x = 1.0 end
      return float and to_float(x) or x
    end
  end

  local function check(prefix, T, exact, around)
    for name in pairs(double) do
      local xs, ys = list(n, real(T == "float")), list(n, real(T == "float"))
      if name == "sqrt" then
        for i, x in ipairs(xs) do xs[i] = math.abs(x) end
      end
      local got = run(prefix .. name, T, xs, ys)
      for i = 1, n do
        local near, side = exact(name, xs[i], ys[i])
        local expected = directed(near, side, around)
        if near == 0 then expected.rd = -0.0 end -- the zero of x - x
        for j, mode in ipairs(modes) do
          check_same(expected[mode], got[4 * (i - 1) + j],
            ("%s%s_%s(%.17g, %.17g)"):format(prefix, name, mode, xs[i], ys[i]))
        end
      end
    end
  end

  it("is exact in float", function() check("__f", "float", in_float, float_neighbours) end)
  it("is exact in double", function()
    check("__d", "double", function(name, x, y) return double[name](x, y) end, double_neighbours)
  end)

  it("is exact at the ends of the range", function()
    local max, least = 3.4028234663852886e38, 2.0 ^ -149
    local below_one = 1 - 2.0 ^ -24
    local rows = {
      -- operation, x, y, then rn, rz, ru, rd
      { "add", max, max, inf, max, inf, max }, { "add", -max, -max, -inf, -max, -max, -inf },
      { "add", inf, -1, inf, inf, inf, inf }, { "add", inf, -inf, nan, nan, nan, nan },
      { "add", 1, least, 1, 1, 1 + 2.0 ^ -23, 1 }, { "add", 1, -least, 1, below_one, 1, below_one },
      { "add", 1, -1, 0.0, 0.0, 0.0, -0.0 }, { "add", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 },
      { "add", 0.0, -0.0, 0.0, 0.0, 0.0, -0.0 }, { "add", -0.0, -0.0, -0.0, -0.0, -0.0, -0.0 },
      { "sub", 0.0, 0.0, 0.0, 0.0, 0.0, -0.0 }, { "sub", -0.0, 0.0, -0.0, -0.0, -0.0, -0.0 },
      { "mul", max, 2, inf, max, inf, max }, { "mul", least, 0.5, 0.0, 0.0, least, 0.0 },
      { "mul", -least, 0.25, -0.0, -0.0, -0.0, -least }, { "mul", inf, 0.0, nan, nan, nan, nan },
      { "mul", -0.0, 3, -0.0, -0.0, -0.0, -0.0 }, { "mul", least, 1.5, 2 * least, least, 2 * least, least },
      { "div", 1, 0.0, inf, inf, inf, inf }, { "div", 0.0, 0.0, nan, nan, nan, nan },
      { "div", least, -3, -0.0, -0.0, -0.0, -least }, { "div", max, 0.5, inf, max, inf, max },
      { "rcp", -0.0, 0, -inf, -inf, -inf, -inf }, { "rcp", inf, 0, 0.0, 0.0, 0.0, 0.0 },
      { "sqrt", -0.0, 0, -0.0, -0.0, -0.0, -0.0 }, { "sqrt", -1, 0, nan, nan, nan, nan },
      { "sqrt", inf, 0, inf, inf, inf, inf },
      { "sqrt", 2 * least, 0, 2.0 ^ -74, 2.0 ^ -74, 2.0 ^ -74, 2.0 ^ -74 },
    }
    for _, row in ipairs(rows) do
      local got = run("__f" .. row[1], "float", { row[2] }, { row[3] })
      for j = 1, 4 do
        check_same(row[3 + j], got[j], ("__f%s_%s(%g, %g)"):format(row[1], modes[j], row[2], row[3]))
      end
    end
    max, least, below_one = 1.7976931348623157e308, 2.0 ^ -1074, 1 - 2.0 ^ -53
    rows = {
      { "add", max, max, inf, max, inf, max }, { "add", -max, -max, -inf, -max, -max, -inf },
      { "add", 1, least, 1, 1, 1 + 2.0 ^ -52, 1 }, { "add", 1, -least, 1, below_one, 1, below_one },
      { "add", 1, -1, 0.0, 0.0, 0.0, -0.0 }, { "add", 0.0, -0.0, 0.0, 0.0, 0.0, -0.0 },
      { "add", inf, -inf, nan, nan, nan, nan }, { "add", -inf, 1, -inf, -inf, -inf, -inf },
      { "sub", 0.0, 0.0, 0.0, 0.0, 0.0, -0.0 }, { "sub", max, -max, inf, max, inf, max },
      { "mul", max, 2, inf, max, inf, max }, { "mul", least, 0.5, 0.0, 0.0, least, 0.0 },
      { "mul", least, -0.25, -0.0, -0.0, -0.0, -least }, { "mul", inf, 0.0, nan, nan, nan, nan },
      { "mul", least, 1.5, 2 * least, least, 2 * least, least }, { "mul", -0.0, 3, -0.0, -0.0, -0.0, -0.0 },
      { "mul", 2.0 ^ -537, 2.0 ^ -538, 0.0, 0.0, least, 0.0 },
      { "div", least, -3, -0.0, -0.0, -0.0, -least }, { "div", max, 0.5, inf, max, inf, max },
      { "div", 1, 0.0, inf, inf, inf, inf }, { "div", 3 * least, 2, 2 * least, least, 2 * least, least },
      { "rcp", inf, 0, 0.0, 0.0, 0.0, 0.0 }, { "rcp", least, 0, inf, max, inf, max },
      { "sqrt", -1, 0, nan, nan, nan, nan }, { "sqrt", 4 * least, 0, 2.0 ^ -536, 2.0 ^ -536, 2.0 ^ -536, 2.0 ^ -536 },
      { "sqrt", inf, 0, inf, inf, inf, inf }, { "sqrt", -0.0, 0, -0.0, -0.0, -0.0, -0.0 },
    }
    for _, row in ipairs(rows) do
      local got = run("__d" .. row[1], "double", { row[2] }, { row[3] })
      for j = 1, 4 do
        check_same(row[3 + j], got[j], ("__d%s_%s(%g, %g)"):format(row[1], modes[j], row[2], row[3]))
      end
    end
  end)

  -- A product minus itself, rounded: nothing is left, unless one of them was merged into a multiply-add.
  it("of a product is not undone by contraction with its use", function()
    local k = mw.compile [[
__global__ void f(const float *x, const float *y, const float *product, float *out) {
  int i = threadIdx.x;
  out[3 * i] = -__fmul_rn(x[i], y[i]) + product[i];
  out[3 * i + 1] = product[i] - -__fmul_rn(x[i], -y[i]);
  out[3 * i + 2] = __fadd_rn(product[i], -__fmul_rn(x[i], y[i]));
}
__global__ void d(const double *x, const double *y, const double *product, double *out) {
  int i = threadIdx.x;
  out[3 * i] = -__dmul_rn(x[i], y[i]) + product[i];
  out[3 * i + 1] = product[i] - -__dmul_rn(x[i], -y[i]);
  out[3 * i + 2] = __dadd_rn(product[i], -__dmul_rn(x[i], y[i]));
}]]
    local count = 100
    for name, T in pairs { f = "float", d = "double" } do
      local xs, ys, products = list(count, real(T == "float")), list(count, real(T == "float")), {}
      for i = 1, count do products[i] = T == "float" and to_float(xs[i] * ys[i]) or xs[i] * ys[i] end
      local out = mw.zeros(3 * count, T)
      k[name](1, count)(mw.array(xs, T), mw.array(ys, T), mw.array(products, T), out)
      for i, got in ipairs(out:totable()) do
        assert.equal(0, got, ("%s, form %d: %.17g * %.17g"):format(T, (i - 1) % 3 + 1, xs[(i + 2) // 3],
          ys[(i + 2) // 3]))
      end
    end
  end)

  it("of a fused multiply-add rounds once", function()
    local k = mw.compile [[
__global__ void f(const float *x, float *out) {
  int i = threadIdx.x;
  float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
  out[4 * i] = __fmaf_rn(a, b, c); out[4 * i + 1] = __fmaf_rz(a, b, c);
  out[4 * i + 2] = __fmaf_ru(a, b, c); out[4 * i + 3] = __fmaf_rd(a, b, c);
}
__global__ void d(const double *x, double *out) {
  int i = threadIdx.x;
  double a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
  out[4 * i] = __fma_rn(a, b, c); out[4 * i + 1] = __fma_rz(a, b, c);
  out[4 * i + 2] = __fma_ru(a, b, c); out[4 * i + 3] = __fma_rd(a, b, c);
}]]
    local count = 500
    -- In float: the product is exact in double, so the sum's two parts are all there is.
    local xs = list(3 * count, real(true))
    for i = 1, count, 5 do xs[3 * i] = -to_float(xs[3 * i - 2] * xs[3 * i - 1]) end -- cancels all but the last bits
    local out = mw.zeros(4 * count)
    k.f(1, count)(mw.array(xs), out)
    out = out:totable()
    for i = 1, count do
      local a, b, c = table.unpack(xs, 3 * i - 2, 3 * i)
      local near, side = in_float("add", a * b, c)
      local expected = directed(near, side, float_neighbours)
      if near == 0 then expected.rd = -0.0 end
      for j, mode in ipairs(modes) do
        check_same(expected[mode], out[4 * (i - 1) + j], ("__fmaf_%s(%.9g, %.9g, %.9g)"):format(mode, a, b, c))
      end
    end
    -- In double: with a product of 53 bits in two halves, and an addend that leaves them where they are.
    xs = {}
    local expected = {}
    for i = 1, count do
      local a, b = random(1, 1 << 53) * (random() < 0.5 and -1.0 or 1.0), random(1, 1 << 53) + 0.0
      local p, e = two_product(a, b)
      xs[3 * i - 2], xs[3 * i - 1] = a, b
      if i % 2 == 0 then -- cancels the product: its exact rounding error is left
        xs[3 * i] = -p
        expected[i] = e == 0 and { rn = 0.0, rz = 0.0, ru = 0.0, rd = -0.0 } or { rn = e, rz = e, ru = e, rd = e }
      else
        xs[3 * i] = 0.0
        expected[i] = directed(p, sign(e), double_neighbours)
      end
    end
    out = mw.zeros(4 * count, "double")
    k.d(1, count)(mw.array(xs, "double"), out)
    out = out:totable()
    for i = 1, count do
      for j, mode in ipairs(modes) do check_same(expected[i][mode], out[4 * (i - 1) + j], "__fma_" .. mode) end
    end
  end)

  it("to the nearest is never fused with its neighbours", function()
    local k = mw.compile [[
__global__ void k(float x, double y, float *f, double *d) {
  f[0] = __fadd_rn(__fmul_rn(x, x), -1.0f);
  f[1] = __fsub_rn(__fmul_rn(x, x), 1.0f);
  f[2] = __fmaf_rn(x, x, -1.0f);
  d[0] = __dadd_rn(__dmul_rn(y, y), -1.0);
  d[1] = __fma_rn(y, y, -1.0);
}]]
    local f, d = mw.zeros(3), mw.zeros(2, "double")
    k.k(1, 1)(1 + 2.0 ^ -20, 1 + 2.0 ^ -40, f, d)
    assert.same({ 2.0 ^ -19, 2.0 ^ -19, 2.0 ^ -19 + 2.0 ^ -40 }, f:totable())
    assert.same({ 2.0 ^ -39, 2.0 ^ -39 + 2.0 ^ -80 }, d:totable())
  end)

  it("of a reciprocal square root is correctly rounded", function()
    local k = mw.compile "__global__ void k(const float *x, float *y) { y[threadIdx.x] = __frsqrt_rn(x[threadIdx.x]); }"
    local xs = list(1000, function() return to_float((1 + random()) * 2.0 ^ random(-140, 120)) end)
    local special = { { 0.0, inf }, { -0.0, -inf }, { inf, 0.0 }, { -1, nan }, { 4, 0.5 }, { 2.0 ^ -149, 2.0 ^ 74.5 } }
    for i, row in ipairs(special) do xs[i] = row[1] end
    local out = mw.zeros(1000)
    k.k(1, 1000)(mw.array(xs), out)
    for i, got in ipairs(out:totable()) do
      local x = xs[i]
      if special[i] then
        check_same(to_float(special[i][2]), got, ("__frsqrt_rn(%g)"):format(x))
      else
        -- the midpoints to both neighbours lie on their sides of 1/sqrt(x): x m^2 against 1, in two parts
        local less, more = float_neighbours(got)
        local function side(midpoint)
          local p, e = two_product(x * midpoint, midpoint)
          return sign((p - 1) + e)
        end
        assert.is_true(side((got + more) / 2) > 0 and side((got + less) / 2) < 0, ("__frsqrt_rn(%.9g)"):format(x))
      end
    end
  end)
end)
