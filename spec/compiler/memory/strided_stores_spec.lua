-- Stores to every second, third or fourth element of shared memory: the span is loaded, changed and stored.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local text = [[
  __global__ void pairs(const int *in, int *out) {
    __shared__ int tree[512];
    int t = threadIdx.x, base = blockIdx.x * 512;
    tree[2 * t] = in[base + 2 * t];
    tree[2 * t + 1] = in[base + 2 * t + 1];
    __syncthreads();
    tree[2 * t + 1] += tree[2 * t];
    __syncthreads();
    out[base + 2 * t] = tree[2 * t];
    out[base + 2 * t + 1] = tree[2 * t + 1];
  }
  __global__ void quarters(const int *in, int *out) {
    int t = threadIdx.x;
    out[4 * t] = in[t];
  }]]

describe("a store to every second element", function()
  local function scatters(kernel, processor)
    local options = "--emit=ir --without=constant-lanes --mcpu=%s --launch=%s:256x1x1"
    local ir = mwcc.run(text, options:format(processor, kernel))
    local _, count = ir:gsub("call void @llvm.masked.scatter", "")
    return count
  end

  it("of shared memory is no scatter, nor is a struct's whose members are loaded between its stores", function()
    for _, processor in ipairs { "x86-64-v3", "x86-64-v4" } do
      assert.equal(0, scatters("_Z5pairsPKiPi", processor))
    end
  end)

  it("of memory that other threads may write keeps to its lanes", function()
    assert.is_true(scatters("_Z8quartersPKiPi", "x86-64-v4") > 0)
  end)

  it("stores what it should", function()
    local m, x, expected = mw.compile(text), {}, {}
    for i = 1, 1024 do x[i] = i * i % 1009 end
    for i = 1, 1024, 2 do expected[i], expected[i + 1] = x[i], x[i] + x[i + 1] end
    local out = mw.zeros(1024, "int")
    m.pairs(2, 256)(mw.array(x, "int"), out)
    assert.same(expected, out:totable())
  end)
end)
