-- Contraction: sums of products become multiply-adds before kernels are widened, so that results have the same bits
-- with all gangs.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local after, count = mwcc.after, mwcc.count

local function contracted(expression, ...)
  return after(([[extern "C" __global__ void k(const float *a, const float *b, const float *c, float *o) {
    int i = threadIdx.x;
    o[i] = %s;
  }]]):format(expression), "contraction", ...)
end

describe("contraction", function()
  it("fuses a product that only one sum uses", function()
    for _, expression in ipairs { "a[i] * b[i] + c[i]", "a[i] * b[i] - c[i]", "c[i] - a[i] * b[i]" } do
      local ir = contracted(expression)
      assert.equal(1, count(ir, "= call [^\n]*@llvm%.fma%.f32"), ir)
      assert.equal(0, count(ir, "= fmul"), ir)
    end
    assert.equal(1, count(contracted "a[i] * b[i] + b[i] * c[i]", "= call [^\n]*@llvm%.fma%.f32"))
  end)

  -- b[i] * c[i] has a multiplication less, that of the loop's counter is done once for all lanes.
  it("fuses of two products the one that varies with the thread", function()
    local text = [[extern "C" __global__ void k(const float *a, float *o, float f, int n) {
      int i = threadIdx.x;
      float sum = 0;
      for (int j = 0; j < n; j++) sum += fabsf(%s);
      o[i] = sum;
    }]]
    for _, expression in ipairs { "(j + 1) * f - a[i + j] * a[i]", "a[i + j] * a[i] - (j + 1) * f",
      "-((j + 1) * f) + a[i + j] * a[i]" } do
      local ir = after(text:format(expression), "contraction")
      local products = {}
      for product in ir:gmatch "= fmul [^\n]*" do products[#products + 1] = product end
      assert.equal(1, #products, ir)
      assert.is_truthy(products[1]:find("%%f[,\n ]") or products[1]:find("%%f$"), ir)
    end
  end)

  -- In code for one block size they are constants.
  it("leaves products of block sizes, so that code for one block size has the same bits", function()
    local m = mw.compile [[
      __global__ void k(float *o) {
        float w = 1.f / blockDim.x;
        o[threadIdx.x] = w * w + (float)threadIdx.x * 0.1f;
        o[64 + threadIdx.x] = (float)threadIdx.x * 0.3f - (float)(3 * blockDim.x) * 0.1f;
        o[128 + threadIdx.x] = (float)blockDim.x * 0.1f + (float)threadIdx.x * 0.3f;
      }]]
    local before, results = mw.limit "specialise", {}
    for i, limit in ipairs { 1e15, 0 } do
      local o = mw.zeros(192)
      mw.limit("specialise", limit)
      m.k(1, 37)(o)
      results[i] = o:totable()
    end
    mw.limit("specialise", before)
    assert.same(results[1], results[2])
  end)

  it("leaves no sum for the code generator to contract", function()
    local text = [[extern "C" __global__ void k(const float *a, float *o) {
      float product = a[0] * a[1];
      o[threadIdx.x] = product + a[2];
      o[32 + threadIdx.x] = product - a[3];
    }]]
    assert.is_true(count(after(text, "contraction", "--without=contraction"), "= f[as][du][db] contract") > 0)
    assert.equal(0, count(after(text, "contraction"), "= f[as][du][db] contract"))
  end)

  it("needs the instruction", function()
    local ir = contracted("a[i] * b[i] + c[i]", "--mcpu=x86-64")
    assert.equal(0, count(ir, "@llvm%.fma"), ir)
  end)

  -- Gangs of several vectors have branches around each vector's sum, where the code generator would not contract.
  it("gives the same bits with all gangs", function()
    local text = [[__global__ void factor(const float *in, float *out) {
      __shared__ float a[16][17];
      int x = threadIdx.x;
      for (int i = 0; i < 16; i++) a[i][x] = in[16 * i + x];
      __syncthreads();
      for (int k = 0; k < 15; k++) {
        if (x > k) {
          float factor = a[x][k] / a[k][k];
          for (int j = k + 1; j < 16; j++) a[x][j] -= factor * a[k][j];
          a[x][k] = factor;
        }
        __syncthreads();
      }
      for (int i = 0; i < 16; i++) out[16 * i + x] = a[i][x];
    }]]
    local values = {}
    for i = 1, 256 do values[i] = 1 + (i * 7919 % 1000) / 1000 + (i % 17 == 1 and 16 or 0) end
    local input, expected = mw.array(values), nil
    for _, width in ipairs { "1", "4", "8", "16" } do
      local out = mw.zeros(256)
      mw.compile { source = text, options = { "--width=" .. width } }.factor(1, 16)(input, out)
      expected = expected or out:totable()
      assert.same(expected, out:totable(), "--width=" .. width)
    end
  end)
end)
