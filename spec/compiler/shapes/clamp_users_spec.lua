-- Clamped indices under conditions that leave out the lanes that are clamped.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local text = [[
  extern "C" __global__ void blur(const int *a, int *out, int steps, int first) {
    __shared__ int now[64], next[64];
    int x = threadIdx.x, g = blockIdx.x * 64 + x;
    now[x] = next[x] = a[g];
    __syncthreads();
    int west = max(x - 1, first), east = min(x + 1, 63 - first);
    for (int i = 0; i < steps; i++) {
      if (CONDITION) next[x] = now[west] + 2 * now[x] + 4 * now[east];
      __syncthreads();
      now[x] = next[x];
      __syncthreads();
    }
    out[g] = now[x]EXTRA;
  }]]

local function with(condition, extra) return (text:gsub("CONDITION", condition):gsub("EXTRA", extra or "")) end

-- Lane 0 and lane 63 are clamped if `first` is 0: the least and the greatest number that the test compares.
local function bounds(source, options)
  local ir = mwcc.after(source, "vectorize", (options or "") .. " --launch=blur:64x1x1")
  local test = ir:match "\ngang:.-label %%speculative"
  return test and test:find("icmp sgt i32 %%%d+, 0\n") ~= nil and test:find("icmp slt i32 %%%d+, 63\n") ~= nil
end

describe("a clamped index", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  it("is tested in the lanes that use it", function()
    assert.is_true(bounds(with "x >= 1 && x <= 62"))
    assert.is_true(bounds(with "x > i && x < 63 - i"))
  end)

  it("is tested in all lanes, if all use it or it is not known which do", function()
    assert.is_false(bounds(with "true"))
    assert.is_false(bounds(with "a[x] > 0"))
    assert.is_false(bounds(with("x >= 1 && x <= 62", " + west + east"), "--without=selected-access"))
    assert.is_true(bounds(with("x >= 1 && x <= 62", " + west + east"))) -- the loads have clamps of their own
  end)

  it("has the same results in lanes that are clamped", function()
    for _, condition in ipairs { "x >= 1 && x <= 62", "x > i && x < 63 - i", "x >= 1", "true" } do
      for _, extra in ipairs { "", " + west - east" } do
        local tried = mw.compile { source = with(condition, extra) }
        local plain = mw.compile { source = with(condition, extra), options = { "-G", "--width=1" } }
        for first = 0, 2 do
          local list = {}
          for i = 1, 128 do list[i] = i * i % 101 end
          local a, one, other = mw.array(list, "int"), mw.zeros(128, "int"), mw.zeros(128, "int")
          tried.blur(2, 64)(a, one, 3, first)
          plain.blur(2, 64)(a, other, 3, first)
          assert.same(other:totable(), one:totable())
        end
      end
    end
  end)
end)
