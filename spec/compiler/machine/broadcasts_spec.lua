-- Scalars that several vectors select for some lanes: a loop's counter, the position of the minimum.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local count = mwcc.count

local text = [[
extern "C" __global__ void rounds(int limit, const float *in, int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, i = 0;
  float x = in[t];
  while (x > 1 && i < limit) x *= 0.75f, i++;
  out[t] = i;
}
extern "C" __global__ void wide_rounds(long long limit, const float *in, long long *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  long long i = 0;
  float x = in[t];
  while (x > 1 && i < limit) x *= 0.75f, i++;
  out[t] = i;
}
]]

local function code(kernel, processor, options)
  return mwcc.run(text, ("--emit=asm --mcpu=%s --launch=%s:64x1x1 %s"):format(processor, kernel, options or ""))
end

-- Broadcasts from scalar registers into some lanes of a vector.
local to_some = "vpbroadcast[dq]%s+%%[er][^,]*, %%[xyz]mm%d+ {%%k%d}"

describe("a scalar that several vectors select for some lanes", function()
  it("is broadcast under the mask if there is only one vector", function()
    local output = code("rounds", "x86-64-v4", "--width=16x1")
    assert.is_true(count(output, to_some) > 0)
  end)

  it("may need vectors that are longer than registers", function()
    local _, status = mwcc.try(text, "--emit=asm --mcpu=x86-64-v4 --launch=wide_rounds:64x1x1 --width=16x4")
    assert.equal(0, status)
  end)

  it("may need vectors of half a register, which LLVM makes from code of the loop tier", function()
    local _, status = mwcc.try([[
      __device__ __noinline__ int wait(int n) {
        if (n < 2) return n;
        __syncthreads();
        return wait(n - 1) + wait(n - 2);
      }
      __global__ void k(const int *in, int *out, int n) {
        int i = threadIdx.x, b = in[i] * 3 + wait(n);
        int p = in[i + 64], q = in[i + 65], x = in[i + 128], y = in[i + 129];
        x = p > 5 ? b : x, y = q > 5 ? b : y;
        x *= 7, y *= 7;
        x = p & 16 ? b : x, y = q & 16 ? b : y;
        out[2 * i] = x, out[2 * i + 1] = y;
      }]], "--emit=asm --mcpu=x86-64-v4")
    assert.equal(0, status)
  end)

  it("is the same for each lane", function()
    local values, expected = {}, {}
    for i = 1, 256 do values[i] = i * i / 16 end
    for i, x in ipairs(values) do
      expected[i] = 0
      while x > 1 and expected[i] < 20 do x, expected[i] = x * 0.75, expected[i] + 1 end
    end
    for _, width in ipairs { "1", "16x4" } do
      local m = mw.compile { source = text, options = { "--width=" .. width } }
      for _, kernel in ipairs { "rounds", "wide_rounds" } do
        local out = mw.zeros(256, kernel == "rounds" and "int" or "longlong")
        m[kernel](4, 64)(20, mw.array(values), out)
        assert.same(expected, out:totable())
      end
    end
  end)
end)
