-- The mathematical functions of device code, in single and double precision, with their overloads.
--
-- "ulp" below are units in the last place of the exact result. The bounds are the maximum errors that the CUDA C++
-- Programming Guide (11.2, appendix "mathematical functions") allows itself.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local numbers = require "support.numbers"
local random = require "support.random" "device_math_spec"

local inf, nan = math.huge, 0 / 0
local list, to_float, check_near, check_same = numbers.list, numbers.to_float, numbers.check_near, numbers.check_same
local ulp_float, ulp_double = numbers.ulp_float, numbers.ulp_double

-- name, bound in float, bound in double, then arguments (floats, exactly) and values to 17 digits, which were computed
-- with 200 bits (mpmath 1.3)
local published = {
  { "acos", 3, 2, -0.75, 2.4188584057763776, 0.125, 1.4454684956268312, 0.96875, 0.25065566233613079 },
  { "asin", 4, 2, -0.75, -0.84806207898148101, 0.125, 0.1253278311680654, 0.96875, 1.3201406644587658 },
  { "atan", 2, 2, -2.5, -1.1902899496825317, 0.125, 0.12435499454676144, 40, 1.5458015331759765 },
  { "acosh", 4, 2, 1.125, 0.49493292309452691, 3, 1.7627471740390861, 1000, 7.6009022095419886 },
  { "asinh", 3, 2, -3, -1.8184464592320668, 0.125, 0.12467674692144274, 1000, 7.6009027095419886 },
  { "atanh", 3, 2, -0.75, -0.97295507452765665, 0.0625, 0.062581571477003007, 0.96875, 2.0715673631957663 },
  { "cos", 2, 2, -2.5, -0.80114361554693371, 0.75, 0.73168886887382089, 1000000, 0.93675212753314479 },
  { "sin", 2, 2, -2.5, -0.59847214410395649, 0.75, 0.68163876002333417, 1000000, -0.34999350217129295 },
  { "tan", 4, 2, -2.5, 0.74702229723866028, 0.75, 0.93159645994407246, 1000000, -0.37362445398759903 },
  { "cosh", 2, 1, -2.5, 6.1322894796636861, 0.125, 1.0078226778257109, 20, 242582597.70489514 },
  { "sinh", 3, 2, -2.5, -6.0502044810397873, 0.125, 0.12532577524111546, 20, 242582597.70489514 },
  { "tanh", 2, 1, -2.5, -0.98661429815143029, 0.125, 0.12435300177159621, 0.75, 0.63514895238728732 },
  { "exp", 2, 1, -10.5, 2.7536449349747158e-5, 0.125, 1.1331484530668263, 30, 10686474581524.462 },
  { "exp2", 2, 1, -10.5, 0.00069053396600248782, 0.125, 1.0905077326652577, 30.25, 1276901416.7767995 },
  { "exp10", 2, 1, -10.5, 3.1622776601683793e-11, 0.125, 1.333521432163324, 3.75, 5623.4132519034908 },
  { "expm1", 1, 1, -10.5, -0.99997246355065025, 0.0078125, 0.0078430972064479777, 30, 10686474581523.462 },
  { "log", 1, 1, 0.0078125, -4.8520302639196172, 1.25, 0.22314355131420976, 10000000000, 23.025850929940457 },
  { "log2", 1, 1, 0.75, -0.41503749927884382, 1.25, 0.32192809488736235, 10000000000, 33.219280948873623 },
  { "log10", 2, 1, 0.0078125, -2.1072099696478684, 1.25, 0.096910013008056414, 10000000000, 10.0 },
  { "log1p", 1, 1, -0.75, -1.3862943611198906, 0.0078125, 0.0077821404420549489, 100000, 11.512935464920229 },
  { "sqrt", 0.5, 0.5, 0.125, 0.35355339059327376, 2, 1.414213562373095, 10000000000, 100000.0 },
  { "rsqrt", 2, 1, 0.125, 2.8284271247461901, 2, 0.70710678118654752, 10000000000, 1.0e-5 },
  { "cbrt", 1, 1, -3, -1.4422495703074084, 0.125, 0.5, 10000000000, 2154.4346900318837 },
  { "rcbrt", 1, 1, -3, -0.6933612743506347, 0.25, 1.5874010519681995, 10000000000, 0.00046415888336127789 },
  { "sinpi", 2, 2, -2.375, -0.92387953251128676, 0.125, 0.38268343236508977, 1000.75, 0.70710678118654752 },
  { "cospi", 2, 2, -2.375, 0.38268343236508977, 0.125, 0.92387953251128676, 1000.75, -0.70710678118654752 },
  { "erf", 2, 2, -1.5, -0.96610514647531073, 0.125, 0.14031620480133382, 2.5, 0.99959304798255504 },
  { "erfc", 4, 5, -1.5, 1.9661051464753107, 0.125, 0.85968379519866618, 5.5, 7.3578479179743981e-15 },
  { "erfinv", 2, 5, -0.75, -0.81341984759761854, 0.0625, 0.05544594877278202, 0.9990234375, 2.3314677736219477 },
  { "erfcinv", 4, 6, 9.5367431640625e-07, 3.4655050258033307, 0.75, 0.2253120550121781, 1.9375, -1.3171503349861307 },
  { "erfcx", 4, 4, -1.5, 18.653886256262734, 0.125, 0.87322184508215081, 40, 0.014100335983377814 },
  { "normcdf", 5, 5, -5.5, 1.8989562465887719e-8, 0.125, 0.54973822483011289, 2, 0.97724986805182079 },
  { "normcdfinv", 5, 7,
    9.5367431640625e-07, -4.763001034267814, 0.375, -0.31863936396437516, 0.96875, 1.8627318674216515 },
  { "tgamma", 11, 8, -1.5, 2.3632718012073547, 0.125, 7.5339415987976119, 20.5, 5.406242982335075e+17 },
  { "lgamma", 6, 4, 0.125, 2.0194183575537963, 5.5, 3.9578139676187163, 1000, 5905.2204232091812 },
  { "j0", 9, 7, 0.5, 0.9384698072408129, 3, -0.26005195490193344, 7.25, 0.291996924191779 },
  { "j1", 9, 7, 0.5, 0.24226845767487389, 3, 0.33905895852593646, 8, 0.23463634685391462 },
  { "y0", 9, 7, 0.5, -0.44451873350670656, 3, 0.37685001001279038, 8, 0.22352148938756622 },
  { "y1", 9, 7, 0.5, -1.4714723926702431, 3, 0.32467442479179998, 8, -0.15806046173124749 },
  { "cyl_bessel_i0", 6, 6, -0.5, 1.0634833707413235, 3, 4.8807925858650241, 30, 781672297823.97749 },
  { "cyl_bessel_i1", 6, 6, -0.5, -0.25789430539089632, 3, 3.9533702174026094, 30, 768532038938.957 },
}

local one = {}
for i, row in ipairs(published) do one[i] = row[1] end
for name in ("ceil floor trunc round rint nearbyint fabs logb"):gmatch "%S+" do one[#one + 1] = name end

local two = {}
for name in ("pow atan2 hypot rhypot fmod remainder fmin fmax fdim copysign nextafter"):gmatch "%S+" do
  two[#two + 1] = name
end

local function cases(names, format)
  local lines = {}
  for i, name in ipairs(names) do lines[i] = format:gsub("INDEX", i):gsub("NAME", name) end
  return table.concat(lines, "\n")
end

local m = mw.compile((([[
__global__ void one(int which, int n, const double *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  switch (which) {
ONE
  }
}
__global__ void onef(int which, int n, const float *x, float *y, float *overload) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  switch (which) {
FLOAT1
  }
}
__global__ void two(int which, int n, const double *x, const double *y, double *z) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  switch (which) {
TWO
  }
}
__global__ void twof(int which, int n, const float *x, const float *y, float *z, float *overload) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  switch (which) {
FLOAT2
  }
}
]]):gsub("ONE", function() return cases(one, "  case INDEX: y[i] = NAME(x[i]); break;") end)
  :gsub("FLOAT1", function()
    return cases(one, "  case INDEX: y[i] = NAMEf(x[i]); overload[i] = NAME(x[i]); break;")
  end)
  :gsub("TWO", function() return cases(two, "  case INDEX: z[i] = NAME(x[i], y[i]); break;") end)
  :gsub("FLOAT2", function()
    return cases(two, "  case INDEX: z[i] = NAMEf(x[i], y[i]); overload[i] = NAME(x[i], y[i]); break;")
  end)))

local index = {}
for i, name in ipairs(one) do index[name] = i end
for i, name in ipairs(two) do index[name] = i end

local function blocks(n) return mw.cdiv(n, 128) end

local function apply(name, xs, ys)
  local n, out = #xs, mw.zeros(#xs, "double")
  if ys then
    m.two(blocks(n), 128)(index[name], n, mw.array(xs, "double"), mw.array(ys, "double"), out)
  else
    m.one(blocks(n), 128)(index[name], n, mw.array(xs, "double"), out)
  end
  return out:totable()
end

-- In single precision; also that the overload without the f is the same function.
local function applyf(name, xs, ys)
  local n, out, overload = #xs, mw.zeros(#xs), mw.zeros(#xs)
  if ys then
    m.twof(blocks(n), 128)(index[name], n, mw.array(xs, "float"), mw.array(ys, "float"), out, overload)
  else
    m.onef(blocks(n), 128)(index[name], n, mw.array(xs, "float"), out, overload)
  end
  assert.equal(out:bytes(), overload:bytes(), name)
  return out:totable()
end

-- Numbers of all sizes and both signs within low..high, dense around 1.
local function anywhere(low, high)
  return function()
    while true do
      local x = (random() < 0.5 and -1 or 1) * 2.0 ^ ((random() - 0.5) * (random() < 0.5 and 8 or 60))
      if x >= low and x <= high then return x end
    end
  end
end

describe("a function of one argument", function()
  it("has its published values, in double", function()
    for _, row in ipairs(published) do
      local xs, expected = {}, {}
      for i = 4, #row, 2 do xs[#xs + 1], expected[#expected + 1] = row[i], row[i + 1] end
      for i, got in ipairs(apply(row[1], xs)) do
        -- half a unit more: the 17 digits are rounded to a double
        check_near(expected[i], got, row[3] + 0.5, ulp_double, ("%s(%g)"):format(row[1], xs[i]))
      end
    end
  end)

  it("has its published values, in float", function()
    for _, row in ipairs(published) do
      local xs, expected = {}, {}
      for i = 4, #row, 2 do xs[#xs + 1], expected[#expected + 1] = row[i], row[i + 1] end
      for i, got in ipairs(applyf(row[1], xs)) do
        check_near(expected[i], got, row[2], ulp_float, ("%sf(%g)"):format(row[1], xs[i]))
      end
    end
  end)

  -- The domain in which random arguments are drawn, where it is not everything.
  local domain = {
    acos = { -1, 1 }, asin = { -1, 1 }, acosh = { 1, 1e9 }, atanh = { -0.999, 0.999 },
    cosh = { -80, 80 }, sinh = { -80, 80 }, exp = { -80, 80 }, exp2 = { -120, 120 }, exp10 = { -37, 37 },
    expm1 = { -80, 80 }, log = { 0, 1e9 }, log2 = { 0, 1e9 }, log10 = { 0, 1e9 }, log1p = { -0.999, 1e9 },
    sqrt = { 0, 1e9 }, rsqrt = { 1e-9, 1e9 }, tan = { -1e4, 1e4 }, sin = { -1e5, 1e5 }, cos = { -1e5, 1e5 },
    erfc = { -5, 9 }, erfinv = { -0.999, 0.999 }, erfcinv = { 1e-9, 1.999 }, erfcx = { -8, 1e9 },
    normcdf = { -12, 9 }, normcdfinv = { 1e-9, 0.999 }, tgamma = { 0.01, 30 }, lgamma = { 3, 1e6 },
    j0 = { 0.01, 2 }, j1 = { 0.01, 3 }, y0 = { 0.01, 0.8 }, y1 = { 0.01, 2 },
    cyl_bessel_i0 = { -80, 80 }, cyl_bessel_i1 = { -80, 80 },
  }

  it("is the same function in float and double", function()
    if suite.on_gpu then return pending "CPU device only: CUDA's own functions have other bounds" end
    for _, row in ipairs(published) do
      local name = row[1]
      local low, high = table.unpack(domain[name] or { -1e9, 1e9 })
      local xs = list(2000, function(i)
        -- half of them evenly over the middle of the domain
        if i % 2 == 0 then return to_float(math.max(low, -8) + random() * (math.min(high, 8) - math.max(low, -8))) end
        return to_float(anywhere(low, high)())
      end)
      local double, float = apply(name, xs), applyf(name, xs)
      for i, expected in ipairs(double) do
        check_near(expected, float[i], row[2] + 0.01, ulp_float, ("%sf(%.9g)"):format(name, xs[i]))
      end
    end
  end)

  it("agrees with Lua's own, where Lua has it", function()
    local known = {
      sin = math.sin, cos = math.cos, tan = math.tan, asin = math.asin, acos = math.acos, atan = math.atan,
      exp = math.exp, log = math.log, sqrt = math.sqrt,
      log2 = function(x) return math.log(x, 2) end,
      exp2 = function(x) return 2.0 ^ x end,
    }
    for name, lua in pairs(known) do
      local low, high = table.unpack(domain[name] or { -1e9, 1e9 })
      local xs = list(2000, anywhere(low, high))
      for i, got in ipairs(apply(name, xs)) do
        check_near(lua(xs[i]), got, name == "sqrt" and 0 or 2, ulp_double, ("%s(%.17g)"):format(name, xs[i]))
      end
    end
  end)

  it("undoes its inverse", function()
    local pairs_of = {
      { "cbrt", function(y) return y * y * y end, -1e9, 1e9, 8 },
      { "rcbrt", function(y) return 1 / (y * y * y) end, 1e-6, 1e9, 8 },
      { "rsqrt", function(y) return 1 / (y * y) end, 1e-9, 1e9, 6 },
      { "asinh", function(y) return (math.exp(y) - math.exp(-y)) / 2 end, 1, 1e9, 100 },
      { "acosh", function(y) return (math.exp(y) + math.exp(-y)) / 2 end, 1, 1e9, 100 },
      { "exp10", function(y) return math.log(y, 10) end, 1, 300, 4 },
      { "log10", function(y) return 10.0 ^ y end, 2, 1e9, 100 },
    }
    for _, row in ipairs(pairs_of) do
      local name, back, low, high, bound = table.unpack(row)
      local xs = list(1000, anywhere(low, high))
      for i, y in ipairs(apply(name, xs)) do
        check_near(xs[i], back(y), bound, ulp_double, ("the inverse of %s(%.17g)"):format(name, xs[i]))
      end
    end
    local xs = list(1000, function() return (random() - 0.5) * 4 end)
    for i, x in ipairs(apply("erfinv", apply("erf", xs))) do
      check_near(xs[i], x, 2e4, ulp_double, "erfinv(erf(x))") -- its condition near 2 is some thousands
    end
    for i, x in ipairs(apply("normcdfinv", apply("normcdf", list(1000, function(i) return -i / 30 end)))) do
      check_near(-i / 30, x, 40, ulp_double, "normcdfinv(normcdf(x))")
    end
  end)

  it("has IEEE's special values", function()
    if suite.on_gpu then return pending "CPU device only: CUDA's log2(8) is not 3" end
    local special = {
      { "sqrt", -0.0, -0.0, 0.0, 0.0, inf, inf, -1, nan },
      { "rsqrt", 0.0, inf, -0.0, -inf, inf, 0.0, -1, nan },
      { "cbrt", -0.0, -0.0, inf, inf, -inf, -inf, -27, -3 },
      { "rcbrt", 0.0, inf, -0.0, -inf, inf, 0.0, -inf, -0.0 },
      { "exp", -inf, 0.0, inf, inf, 0, 1, -1000, 0.0, 1000, inf },
      { "expm1", -inf, -1, inf, inf, -0.0, -0.0 },
      { "exp2", -1074, 2.0 ^ -1074 }, { "exp2", 10, 1024, -inf, 0.0 },
      { "exp10", 2, 100, inf, inf, -inf, 0.0 },
      { "log", 0.0, -inf, -0.0, -inf, 1, 0.0, inf, inf, -1, nan },
      { "log2", 8, 3, 0.0, -inf, -1, nan }, { "log10", 1000, 3, 0.0, -inf, -1, nan },
      { "log1p", -0.0, -0.0, -1, -inf, -2, nan, inf, inf },
      { "sin", -0.0, -0.0, inf, nan }, { "cos", 0.0, 1, -inf, nan }, { "tan", -0.0, -0.0, inf, nan },
      { "asin", -0.0, -0.0, 2, nan }, { "acos", 1, 0.0, -2, nan }, { "atan", -0.0, -0.0, inf, math.pi / 2 },
      { "sinh", -0.0, -0.0, -inf, -inf }, { "cosh", -inf, inf, 0.0, 1 }, { "tanh", -inf, -1, inf, 1, -0.0, -0.0 },
      { "asinh", -inf, -inf, -0.0, -0.0 }, { "acosh", 1, 0.0, 0.5, nan, inf, inf },
      { "atanh", 1, inf, -1, -inf, 2, nan },
      { "erf", inf, 1, -inf, -1, -0.0, -0.0 }, { "erfc", inf, 0.0, -inf, 2, 0.0, 1 },
      { "erfinv", 1, inf, -1, -inf, 2, nan, 0.0, 0.0, -0.0, -0.0 },
      { "erfcinv", 0.0, inf, 2, -inf, 3, nan, 1, 0.0 }, { "erfcx", 0.0, 1, inf, 0.0, -inf, inf },
      { "normcdf", inf, 1, -inf, 0.0, 0.0, 0.5 }, { "normcdfinv", 0.0, -inf, 1, inf, 0.5, 0.0, -1, nan },
      { "tgamma", 0.0, inf, 5, 24, -1, nan, inf, inf }, { "lgamma", 1, 0.0, 2, 0.0, inf, inf, -inf, inf, 0.0, inf },
      { "sinpi", 0.0, 0.0, -0.0, -0.0, 1, 0.0, -1, -0.0, 0.5, 1, -1.5, 1, 1e300, 0.0, inf, nan },
      { "cospi", 0.0, 1, -0.0, 1, 1, -1, 0.5, 0.0, -0.5, 0.0, 1.5, 0.0, 1e300, 1, -inf, nan },
      { "cyl_bessel_i0", 0.0, 1, inf, inf, -inf, inf }, { "cyl_bessel_i1", 0.0, 0.0, inf, inf, -inf, -inf },
      { "ceil", -0.5, -0.0, 2.5, 3, inf, inf }, { "floor", -0.5, -1, 2.5, 2, -0.0, -0.0 },
      { "trunc", -2.5, -2, -0.5, -0.0 }, { "round", 2.5, 3, -2.5, -3, 0.49999999999999994, 0.0, -0.5, -1 },
      { "rint", 2.5, 2, -0.5, -0.0, 3.5, 4 }, { "nearbyint", 2.5, 2, 3.5, 4, -2.5, -2 },
      { "fabs", -0.0, 0.0, -inf, inf }, { "logb", 10, 3, 0.0, -inf, inf, inf, 2.0 ^ -1060, -1060 },
    }
    for _, row in ipairs(special) do
      local name, xs, expected = row[1], { nan }, { nan }
      for i = 2, #row, 2 do xs[#xs + 1], expected[#expected + 1] = row[i], row[i + 1] end
      for i, got in ipairs(apply(name, xs)) do check_same(expected[i], got, ("%s(%s)"):format(name, xs[i])) end
      for i = #xs, 1, -1 do
        if xs[i] == xs[i] and to_float(xs[i]) ~= xs[i] then
          table.remove(xs, i)
          table.remove(expected, i)
        end
      end
      for i, got in ipairs(applyf(name, xs)) do
        check_same(to_float(expected[i]), got, ("%sf(%s)"):format(name, xs[i]))
      end
    end
  end)
end)

describe("a function of two arguments", function()
  it("agrees with Lua", function()
    local xs, ys = list(2000, anywhere(1e-6, 1e3)), list(2000, function() return (random() - 0.5) * 40 end)
    local known = {
      pow = function(x, y) return x ^ y end,
      atan2 = function(x, y) return math.atan(x, y) end,
      fmod = function(x, y) return math.fmod(x, y) end,
      fmin = math.min, fmax = math.max,
      fdim = function(x, y) return x > y and x - y or 0 end,
      copysign = function(x, y) return y < 0 and -x or x end,
    }
    for name, lua in pairs(known) do
      local exact = name ~= "pow" and name ~= "atan2"
      for i, got in ipairs(apply(name, xs, ys)) do
        local what = ("%s(%.17g, %.17g)"):format(name, xs[i], ys[i])
        check_near(lua(xs[i], ys[i]), got, exact and 0 or 2, ulp_double, what)
      end
    end
    for i, got in ipairs(apply("hypot", xs, ys)) do
      check_near(math.sqrt(xs[i] * xs[i] + ys[i] * ys[i]), got, 3, ulp_double, "hypot")
    end
    for i, got in ipairs(apply("rhypot", xs, ys)) do
      check_near(1 / math.sqrt(xs[i] * xs[i] + ys[i] * ys[i]), got, 4, ulp_double, "rhypot")
    end
    for i, got in ipairs(apply("remainder", xs, ys)) do
      assert.is_true(math.abs(got) <= math.abs(ys[i]) / 2)
      assert.equal(0.0, math.fmod(xs[i] - got, ys[i]) % ys[i] * 0)
    end
  end)

  it("is the same function in float and double", function()
    if suite.on_gpu then return pending "CPU device only: CUDA's own functions have other bounds" end
    local bound = { pow = 9, atan2 = 3, hypot = 3, rhypot = 2 }
    local xs = list(2000, function() return to_float(anywhere(1e-6, 1e3)()) end)
    local ys = list(2000, function() return to_float((random() - 0.5) * 8) end)
    for _, name in ipairs(two) do
      if name ~= "nextafter" then
        local double, float = apply(name, xs, ys), applyf(name, xs, ys)
        for i, expected in ipairs(double) do
          check_near(expected, float[i], (bound[name] or 0.5) + 0.01, ulp_float, name .. "f")
        end
      end
    end
  end)

  it("has IEEE's special values", function()
    local special = {
      { "pow", 0, 0, 1 }, { "pow", nan, 0, 1 }, { "pow", 1, nan, 1 }, { "pow", -2, 3, -8 }, { "pow", -2, 0.5, nan },
      { "pow", 0.0, -1, inf }, { "pow", -0.0, -1, -inf }, { "pow", inf, -1, 0.0 }, { "pow", -1, inf, 1 },
      { "atan2", 0.0, -1, math.pi }, { "atan2", -0.0, -1, -math.pi }, { "atan2", -0.0, 1, -0.0 },
      { "hypot", inf, nan, inf }, { "hypot", nan, -inf, inf }, { "hypot", 3, 4, 5 },
      { "rhypot", inf, nan, 0.0 }, { "rhypot", 0, 0, inf }, { "rhypot", 3, 4, 0.2 },
      { "fmod", -0.0, 1, -0.0 }, { "fmod", 1, 0, nan }, { "fmod", 5, inf, 5 }, { "fmod", inf, 1, nan },
      { "remainder", 5, 3, -1 }, { "remainder", 2.5, 1, 0.5 }, { "remainder", 1, 0, nan },
      { "fmin", nan, 1, 1 }, { "fmin", 1, nan, 1 }, { "fmin", nan, nan, nan }, { "fmin", -inf, 1, -inf },
      { "fmax", nan, 1, 1 }, { "fmax", 1, nan, 1 }, { "fmax", nan, nan, nan }, { "fmax", -inf, 1, 1 },
      { "fdim", 1, 2, 0.0 }, { "fdim", inf, 1, inf }, { "fdim", nan, 1, nan },
      { "copysign", 1, -0.0, -1 }, { "copysign", -inf, 1, inf },
      { "nextafter", 0.0, 1, 2.0 ^ -1074 }, { "nextafter", 1, 2, 1 + 2.0 ^ -52 }, { "nextafter", 1, 1, 1 },
    }
    for _, row in ipairs(special) do
      local name, x, y, expected = table.unpack(row)
      local what = ("%s(%s, %s)"):format(name, x, y)
      check_same(expected, apply(name, { x }, { y })[1], what)
      if name ~= "nextafter" then check_same(to_float(expected), applyf(name, { x }, { y })[1], what) end
    end
    check_same(2.0 ^ -149, applyf("nextafter", { 0 }, { 1 })[1], "nextafterf(0, 1)")
    check_same(1 + 2.0 ^ -23, applyf("nextafter", { 1 }, { 2 })[1], "nextafterf(1, 2)")
  end)
end)
