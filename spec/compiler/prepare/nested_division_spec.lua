-- Quotients by products, from quotients by factors (src/mwcc/prepare/nested_division.c).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for it

local mwcc = require "support.mwcc"

local function kernel(body, index)
  return (([[
    extern "C" __global__ void f(I total, int *out, I C, I H, I W) {
      I i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= total) return;
      %s
    }]]):format(body):gsub("%f[%w]I%f[%W]", index or "int"))
end

-- How many pairs of a dividend and a divisor are left when LLVM has removed what nothing uses: a quotient and a
-- remainder of the same numbers are one division.
local function divisions(source, options)
  local seen, count = {}, 0
  for operands in mwcc.after(source, "contraction", options):gmatch "= [su]%a%a%a i%d+ (%%[%w_.]+, [%w%%_.]+)" do
    if not seen[operands] then count = count + 1 end
    seen[operands] = true
  end
  return count
end

local unflatten = "out[((i / (C * H * W) * H + i / W % H) * W + i % W) * C + i / (H * W) % C] = i;"

describe("an index that is taken apart", function()
  it("is divided once for each axis", function()
    assert.equal(5, divisions(kernel(unflatten), "--without=nested-division"))
    for _, index in ipairs { "int", "long long" } do assert.equal(3, divisions(kernel(unflatten, index))) end
    assert.equal(3, divisions(kernel "out[i / W % H + i / (W * H) % C + i / (H * (C * W)) + i % W] = i;"))
  end)

  it("is divided by a product where the quotient by its factors is not there", function()
    assert.equal(2, divisions(kernel "out[i / W + i / (W * H)] = i;"))
    assert.equal(3, divisions(kernel "out[i / W % C + i / (W * H)] = i;"))
    assert.equal(3, divisions(kernel "int k = i + 1; out[k / W % H + i / (W * H)] = i;"))
  end)

  it("is divided by a product that may wrap, as unsigned ones may", function()
    assert.equal(2, divisions(kernel("out[i / W % H + i / (W * H)] = i;", "int")))
    assert.equal(3, divisions(kernel("out[i / W % H + i / (W * H)] = i;", "unsigned")))
  end)

  it("is divided by a product before a branch that computes the quotient by its factors", function()
    assert.equal(3, divisions(kernel "int n = i / (W * H); if (out[i] == n) out[i + n] = i / W % H;"))
    assert.equal(2, divisions(kernel "int m = i / W % H; if (out[i] == m) out[i + m] = i / (W * H);"))
  end)

  it("is divided as in the source in measured runs and without optimisation", function()
    assert.equal(5, divisions(kernel(unflatten), "--observe=access"))
    assert.equal(5, divisions(kernel(unflatten), "-O0"))
  end)
end)
