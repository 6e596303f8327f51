-- Store-to-load forwarding and dead-store elimination in blocks that are one gang.
-- (src/mwcc/opt/store_to_load_forwarding.c)
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local count, ir = mwcc.count, mwcc.ir

describe("shared memory that is stored to twice", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  local steps = [[
    __global__ void steps(const float *x, float *out) {
      __shared__ float s[256];
      int t = threadIdx.x;
      s[t] = x[t];
      __syncthreads();
      s[t] *= 2;
      __syncthreads();
      s[t] += 1;
      __syncthreads();
      out[t] = s[255 - t];
    }]]

  it("is written once if it is not read in between", function()
    local text = ir(steps, "_Z5stepsPKfPf:256x1x1")
    assert.equal(16 + 16, count(text, "store <16 x float>"))
    text = ir(steps, "_Z5stepsPKfPf:256x1x1", "x86-64-v3")
    assert.equal(32 + 32, count(text, "store <8 x float>"))
  end)

  it("is written each time if it may be read in between", function()
    local function stores(body)
      local text = ir(([[
        __global__ void f(int n, const int *x, int *out) {
          __shared__ int s[256];
          int t = threadIdx.x, v = 0;
          s[t] = x[t];
          __syncthreads();
          %s
          __syncthreads();
          s[t] = 2 * t;
          __syncthreads();
          out[t] = s[255 - t] + v;
        }]]):format(body), "_Z1fiPKiPi:256x1x1")
      return count(text, "store <16 x i32>")
    end
    assert.equal(16 + 16, stores "")
    assert.equal(32 + 16, stores "v = s[x[t] & 255];") -- from anywhere
    assert.equal(32 + 16, stores "if (n > 3) v = s[x[t] & 255];") -- on one path of two
  end)

  local tree = [[
    __global__ void tree(const float *x, float *out, float *all) {
      __shared__ float s[256];
      int t = threadIdx.x;
      s[t] = x[blockIdx.x * 256 + t];
      __syncthreads();
      for (int half = 128; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
      }
      out[blockIdx.x * 256 + t] = s[0] + ONE;
      all[blockIdx.x * 256 + t] = s[255 - t];
    }]]

  it("is in registers if the last steps are part of one vector", function()
    local text = ir(tree:gsub("ONE", "s[1]"), "_Z4treePKfPfS1_:256x1x1")
    assert.equal(0, count(text, "call <16 x float> @llvm.masked.load"))
    assert.equal(0, count(text, "= load float,"))
  end)

  it("has the results of such steps in all of its elements", function()
    local m = mw.compile((tree:gsub("ONE", "s[1]")))
    local numbers, blocks = {}, 3
    for i = 1, 256 * blocks do numbers[i] = i * 29 % 17 - 8 end
    local x, out, all = mw.array(numbers), mw.zeros(256 * blocks), mw.zeros(256 * blocks)
    m.tree(blocks, 256)(x, out, all)
    for block = 0, blocks - 1 do
      local s = {}
      for t = 0, 255 do s[t] = numbers[block * 256 + t + 1] end
      local half = 128
      while half > 0 do
        for t = 0, half - 1 do s[t] = s[t] + s[t + half] end
        half = half // 2
      end
      for t = 0, 255 do
        assert.equal(s[0] + s[1], out[block * 256 + t + 1])
        assert.equal(s[255 - t], all[block * 256 + t + 1])
      end
    end
  end)

  it("has the values that each thread reads", function()
    local m = mw.compile(steps .. [[
      __global__ void reads(int n, int where, const int *x, int *out) {
        __shared__ int s[320];
        int t = threadIdx.x, v = 0, w = 0;
        int *from = s + where;
        s[t] = x[t];
        if (t < 64) s[256 + t] = -t;
        __syncthreads();
        if (n > 3) v = from[t * 7 & 255];
        w = s[t + 3 & 255];
        __syncthreads();
        s[t] = 1000 * t;
        __syncthreads();
        int common = from[0];
        __syncthreads();
        s[t] += common;
        __syncthreads();
        if (t < n) s[t] = 5;
        __syncthreads();
        out[t] = s[255 - t] + 3 * v + 7 * w;
      }]])
    local numbers = {}
    for t = 0, 255 do numbers[t + 1] = (t * 37 + 11) % 101 end
    local x, out = mw.array(numbers), mw.zeros(256)
    m.steps(1, 256)(x, out)
    for t = 0, 255 do assert.equal(2 * numbers[256 - t] + 1, out[t + 1]) end

    for _, n in ipairs { 0, 9 } do
      for _, where in ipairs { 0, 5, 64 } do
        local got, s = mw.zeros(256, "int"), {}
        m.reads(1, 256)(n, where, mw.array(numbers, "int"), got)
        for i = 0, 319 do s[i] = i < 256 and numbers[i + 1] or 256 - i end
        for t = 0, 255 do
          local v, w = n > 3 and s[where + (t * 7 & 255)] or 0, s[t + 3 & 255]
          local last = 255 - t < n and 5 or 1000 * (255 - t) + 1000 * where
          assert.equal(last + 3 * v + 7 * w, got[t + 1], ("%d %d %d"):format(n, where, t))
        end
      end
    end
  end)
end)
