-- cuda::std::complex: functions against formulas of real ones in Lua, inverse functions by what they invert and by the
-- ranges of their principal values.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local random = require "support.random" "std_complex_spec"

local names = { "sin", "cos", "tan", "sinh", "cosh", "tanh", "log10", "asin", "acos", "atan", "asinh", "acosh",
  "atanh" }
local lines = {}
for i, name in ipairs(names) do
  local form = "w = %s(%s); out[%d * n + i] = make_double2(w.real(), w.imag()); "
  lines[i] = form:format(name, "z", 2 * i - 2)
  local inverted = name:match "^a(.*)"
  if inverted then lines[i] = lines[i] .. form:format(inverted, "w", 2 * i - 1) end
end
local m = mw.compile("#include <cuda/std/complex>\n__global__ void k(const double2 *in, double2 *out, int n)" ..
  " { int i = threadIdx.x; cuda::std::complex<double> z(in[i].x, in[i].y), w;\n" .. table.concat(lines, "\n") .. "}")

local function sinh(x) return (math.exp(x) - math.exp(-x)) / 2 end
local function cosh(x) return (math.exp(x) + math.exp(-x)) / 2 end
local sin, cos = math.sin, math.cos
local function quotient(a, b, c, d)
  local s = c * c + d * d
  return (a * c + b * d) / s, (b * c - a * d) / s
end

local expected = {
  sin = function(x, y) return sin(x) * cosh(y), cos(x) * sinh(y) end,
  cos = function(x, y) return cos(x) * cosh(y), -sin(x) * sinh(y) end,
  sinh = function(x, y) return sinh(x) * cos(y), cosh(x) * sin(y) end,
  cosh = function(x, y) return cosh(x) * cos(y), sinh(x) * sin(y) end,
  log10 = function(x, y) return math.log(x * x + y * y, 10) / 2, math.atan(y, x) / math.log(10) end,
}
function expected.tan(x, y)
  local a, b = expected.sin(x, y)
  return quotient(a, b, expected.cos(x, y))
end
function expected.tanh(x, y)
  local a, b = expected.sinh(x, y)
  return quotient(a, b, expected.cosh(x, y))
end

local half = math.pi / 2
local ranges = { -- of the real part, of the imaginary part
  asin = { -half, half }, acos = { 0, math.pi }, atan = { -half, half },
  asinh = { nil, nil, -half, half }, acosh = { 0, math.huge, -math.pi, math.pi }, atanh = { nil, nil, -half, half },
}

describe("functions of complex numbers", function()
  local n, values = 64, {}
  for i = 1, n do values[i] = { x = random(-3000, 3000) / 1000, y = random(-3000, 3000) / 1000 } end
  local out = mw.zeros(2 * #names, n, "double2")
  m.k(1, n)(mw.array(values, "double2"), out, n)

  for k, name in ipairs(names) do
    it(name, function()
      for i, z in ipairs(values) do
        local got = out:get(2 * k - 1, i)
        local what = ("%s(%g, %g) = (%g, %g)"):format(name, z.x, z.y, got.x, got.y)
        local x, y = z.x, z.y
        if expected[name] then
          x, y = expected[name](z.x, z.y)
        else
          local low, high, low_y, high_y = table.unpack(ranges[name], 1, 4)
          assert.is_true(not low or got.x >= low and got.x <= high, what)
          assert.is_true(not low_y or got.y >= low_y and got.y <= high_y, what)
          got = out:get(2 * k, i)
        end
        local size = 1e-13 * (1 + math.abs(x) + math.abs(y)) * (expected[name] and 1 or 10)
        assert.near(x, got.x, size, what)
        assert.near(y, got.y, size, what)
      end
    end)
  end
end)
