-- rsqrtf is the processor's estimate and a Newton step where that is accurate enough; 1 / sqrtf(x) is as in IEEE 754.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "x86_rsqrt_spec"
local count = mwcc.count

local text = [[
extern "C" __global__ void root(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = rsqrtf(in[i]);
}
extern "C" __global__ void quotient(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.0f / sqrtf(in[i]);
}
]]

local function code(kernel, processor, options)
  return mwcc.run(text, ("--emit=asm --mcpu=%s --launch=%s:64x1x1 %s"):format(processor, kernel, options or ""))
end

describe("a reciprocal root", function()
  it("needs no division if the processor has a good estimate", function()
    local output = code("root", "x86-64-v4")
    assert.is_true(count(output, "vrsqrt14ps") > 0)
    assert.equal(0, count(output, "vdivps") + count(output, "vsqrtps"))
    output = code("root", "x86-64-v4", "--width=32")
    assert.is_true(count(output, "vrsqrt14ps") > 0)
    assert.equal(0, count(output, "vdivps"))
  end)

  it("has fewer multiplications on processors with separate adders", function()
    local usual, amd = code("root", "x86-64-v4"), code("root", "znver4")
    assert.is_true(count(amd, "vrsqrt14ps") > 0)
    assert.equal(count(usual, "vmulps") / 2, count(amd, "vmulps"))
    assert.equal(count(amd, "vrsqrt14ps"), count(amd, "vscalefps"))
    assert.equal(0, count(amd, "vpsubd") + count(amd, "vpminud")) -- integer operations would run on the same units
  end)

  it("has a short latency in code that waits for it", function()
    local orbit = [[
      extern "C" __global__ void root(int n, float *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float at = x[i], speed = 0;
        for (int k = 0; k < n; k++) {
          speed -= rsqrtf(at);
          at += speed;
        }
        x[i] = at;
      }]]
    local output = mwcc.run(orbit, "--emit=asm --mcpu=znver4 --launch=root:64x1x1")
    assert.is_true(count(output, "vrsqrt14ps") > 0)
    assert.is_true(count(output, "vpminud") > 0) -- by integers; gangs that are not whole may load what they are
  end)

  it("needs one otherwise", function()
    local output = code("root", "x86-64-v3")
    assert.is_true(count(output, "vdivps") > 0)
    assert.equal(0, count(output, "vrsqrtps"))
  end)

  it("is correctly rounded as a quotient", function()
    assert.equal(0, count(code("quotient", "x86-64-v4"), "vrsqrt14ps"))
    assert.is_true(count(code("quotient", "x86-64-v4", "-use_fast_math"), "vrsqrt14ps") > 0)
  end)

  local function solve(options, kernel, list)
    local m = mw.compile { source = text, options = options }
    local out = mw.zeros(#list)
    m[kernel](mw.cdiv(#list, 64), 64)(#list, mw.array(list), out)
    return out:totable()
  end

  local inf = math.huge
  local special = { 0.0, -0.0, inf, -inf, -1, 0 / 0, 0x1p-149, 0x1p-127, 0x1.fffffep127, 1, 0.25, 4, 0x1p-126, 0x1p100 }

  it("is accurate for all numbers", function()
    for _, options in ipairs { {}, { "--width=32" }, { "--width=1" }, { "-use_fast_math" } } do
      local got = solve(options, "root", special)
      for i, x in ipairs(special) do
        local wanted = string.unpack("f", string.pack("f", 1 / math.sqrt(x)))
        local close = math.abs(got[i] - wanted) <= math.abs(wanted) * 0x1p-22
        assert.is_true(got[i] == wanted or close or (wanted ~= wanted and got[i] ~= got[i]),
          ("rsqrtf(%g) is %g"):format(x, got[i]))
        if wanted == 0 or math.abs(wanted) == inf then assert.equal(1 / wanted, 1 / got[i]) end
      end
    end
  end)

  it("is the same in lanes and in the loop tier", function()
    local list = {}
    for i = 1, 1000 do list[i] = random() * 2 ^ random(-100, 100) end
    local one = solve({ "--width=1" }, "root", list)
    assert.same(one, solve({}, "root", list))
    assert.same(one, solve({ "--width=32" }, "root", list))
  end)
end)
