-- Vectors of 64-bit integers to double: one instruction with AVX-512, arithmetic on their halves with AVX2, with the
-- same results as the conversion of one number.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local count = mwcc.count

local source = [[
extern "C" __global__ void k(int n, const TYPE *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = WHAT;
}]]

local function code(type, what, options)
  return mwcc.run(source:gsub("TYPE", type):gsub("WHAT", what), "--emit=asm --launch=k:64x1x1 " .. options)
end

describe("a vector of 64-bit integers", function()
  it("becomes doubles without a conversion of each lane", function()
    for _, type in ipairs { "long long", "unsigned long long" } do
      for _, what in ipairs { "in[i]", "in[i] >> 11" } do
        local v3, v4 = code(type, what, "--mcpu=x86-64-v3"), code(type, what, "--mcpu=x86-64-v4")
        assert.equal(0, count(v3, "vcvtsi2sd"), v3)
        assert.is_true(count(v3, "vaddpd") > 0, v3)
        assert.is_true(count(v4, "vcvtu?qq2pd") > 0, v4)
      end
    end
  end)

  it("is converted as 32 bits if it has no more", function()
    for _, what in ipairs { "in[i] >> 40", "in[i] & 0xffff" } do
      assert.is_true(count(code("unsigned long long", what, "--mcpu=x86-64-v3"), "vcvtdq2pd") > 0, what)
    end
  end)

  it("is rounded once", function()
    local seed = os.time()
    math.randomseed(seed)
    local list = { 0, 1, -1, math.maxinteger, math.mininteger, math.maxinteger - 511, math.maxinteger - 512, 2 ^ 53 | 0,
      (2 ^ 53 | 0) + 1, (2 ^ 53 | 0) + 3, -(2 ^ 53 | 0) - 1, 0xffffffff, 0x80000000, -0x80000000, 0x7fffffff00000001 }
    for i = #list + 1, 4096 do list[i] = math.random(0) >> math.random(0, 63) end
    for i = 2048, 4096 do list[i] = -list[i] end
    local m = mw.compile(source:gsub("TYPE", "long long"):gsub("WHAT", "in[i]"))
    local u = mw.compile(source:gsub("TYPE", "unsigned long long"):gsub("WHAT", "in[i]"))
    local out = mw.zeros(#list, "double")
    m.k(16, 256)(#list, mw.array(list, "longlong"), out)
    for i, x in ipairs(out:totable()) do assert.equal(list[i] + 0.0, x, ("seed %d: %d"):format(seed, list[i])) end
    u.k(16, 256)(#list, mw.array(list, "ulonglong"), out)
    for i, x in ipairs(out:totable()) do
      local n = list[i]
      -- The lowest bit of a half keeps what the halving loses.
      local expected = n >= 0 and n + 0.0 or 2.0 * (n >> 1 | n & 1)
      assert.equal(expected, x, ("seed %d: %x"):format(seed, n))
    end
  end)
end)
