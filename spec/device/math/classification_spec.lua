-- fpclassify and its kin as functions, in all number types and namespaces, against their definitions.

local mw = require "moonwarp"

local numbers = { 0, -0.0, 1, -2.5, 1e-40, -1e-310, 1e308, 1 / 0, -1 / 0, 0 / 0 }

local function kind(x, least)
  if x ~= x then return 0 end
  if x == 1 / 0 or x == -1 / 0 then return 1 end
  if x == 0 then return 2 end
  return math.abs(x) < least and 3 or 4
end

local source = [==[
#include <cmath>
__global__ void kinds(const double *x, int *out) {
  int i = threadIdx.x;
  out[4 * i] = (fpclassify)(x[i]);
  out[4 * i + 1] = fpclassify((float)x[i]);
  out[4 * i + 2] = std::isnormal(x[i]) * 4 + (std::isfinite)(x[i]) * 2 + std::isnan(x[i]);
  out[4 * i + 3] = std::fpclassify(i);
}
__global__ void compare(const double *x, int *out) {
  double a = x[blockIdx.x], b = x[threadIdx.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = (isgreater)(a, b) | std::isgreaterequal(a, b) << 1 | isless(a, b) << 2 |
    islessequal(a, b) << 3 | islessgreater(a, b) << 4 | isunordered(a, b) << 5;
}
]==]

describe("functions of a number's kind", function()
  it("tell zero, subnormal, normal, infinite numbers and NaN apart", function()
    local x, out = mw.array(numbers, "double"), mw.zeros(#numbers, 4, "int")
    mw.compile(source).kinds(1, #numbers)(x, out)
    for i, number in ipairs(numbers) do
      local double, single = kind(number, 2 ^ -1022), kind(number, 2 ^ -126)
      if number ~= 0 and math.abs(number) < 1e-46 then single = 2 end
      if math.abs(number) == 1e308 then single = 1 end
      local parts = (double == 4 and 4 or 0) + (double >= 2 and 2 or 0) + (double == 0 and 1 or 0)
      assert.same({ double, single, parts, i == 1 and 2 or 4 }, out[i]:totable())
    end
  end)

  it("compare without order", function()
    local count = #numbers
    local x, out = mw.array(numbers, "double"), mw.zeros(count, count, "int")
    mw.compile(source).compare(count, count)(x, out)
    for i, a in ipairs(numbers) do
      for j, b in ipairs(numbers) do
        local wanted = (a > b and 1 or 0) + (a >= b and 2 or 0) + (a < b and 4 or 0) + (a <= b and 8 or 0) +
          ((a < b or a > b) and 16 or 0) + ((a ~= a or b ~= b) and 32 or 0)
        assert.equal(wanted, out:get(i, j))
      end
    end
  end)
end)
