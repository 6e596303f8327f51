-- Exponential functions end with a product by a power of two: one instruction with AVX-512, arithmetic elsewhere, with
-- the same results.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local targets = require "support.targets"
local count = mwcc.count

local function kernel(name, type)
  return ([[
    extern "C" __global__ void k_NAME(int n, const TYPE *in, TYPE *out) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = NAME(in[i]);
    }]]):gsub("NAME", name):gsub("TYPE", type)
end

local names = { expf = "float", exp2f = "float", exp10f = "float", exp = "double", exp2 = "double", exp10 = "double" }

local function code(name, options)
  return mwcc.run(kernel(name, names[name]), "--emit=asm --launch=k_" .. name .. ":64x1x1 " .. options)
end

describe("a product by a power of two", function()
  it("is one instruction with AVX-512", function()
    for name, type in pairs(names) do
      local instruction = type == "float" and "vscalefps" or "vscalefpd"
      for _, width in ipairs(name:match "^expf?$" and { "", "--width=32", "--width=4" } or { "" }) do
        local output = code(name, "--mcpu=x86-64-v4 " .. width)
        assert.is_true(count(output, instruction) > 0, name .. " " .. output)
        assert.equal(0, count(output, "vpsll[dq]%s") + count(output, "vpsra[dq]%s"), name .. " " .. output)
      end
    end
    local output = mwcc.run(kernel("expf", "float") .. kernel("exp", "double"), "--emit=asm --mcpu=x86-64-v4 --width=1")
    assert.is_true(count(output, "vscalefss") > 0 and count(output, "vscalefsd") > 0, output)
  end)

  it("takes the exponent without another conversion", function()
    assert.equal(0, count(code("expf", "--mcpu=x86-64-v4"), "vcvtdq2ps"))
    assert.equal(0, count(code("exp", "--mcpu=x86-64-v4"), "vcvtqq2pd"))
  end)

  it("is arithmetic elsewhere", function()
    assert.equal(0, count(code("expf", "--mcpu=x86-64-v3"), "scalef"))
  end)

  it("has the same bits in lanes, in the loop tier, and on every processor", function()
    local list = { 0.0, -0.0, 1 / 0, -1 / 0, 1e30, -1e30, 88.72283, 88.72284, -87.4, -103.97, -103.98, 709.78, 709.79,
      -744.44 }
    for i = #list + 1, 1024 do list[i] = (i % 2 == 0 and 1.5 or 0.17) * (i - 512) * 1.0009 end
    local text = {}
    for name, type in pairs(names) do text[#text + 1] = kernel(name, type) end
    local function solve(options)
      local m, results = mw.compile { source = table.concat(text, "\n"), options = options }, {}
      for name, type in pairs(names) do
        local out = mw.zeros(#list, type)
        m["k_" .. name](#list / 64, 64)(#list, mw.array(list, type), out)
        results[name] = out:bytes()
      end
      return results
    end
    local one = solve { "--width=1" }
    local others = { {}, { "--width=32" }, { "--width=16x4" }, { "--width=4" } }
    for _, target in ipairs(targets) do others[#others + 1] = target.options end
    for _, options in ipairs(others) do
      local other = solve(options)
      for name in pairs(names) do
        assert.is_true(one[name] == other[name], name .. " " .. table.concat(options, " "))
      end
    end
  end)
end)
