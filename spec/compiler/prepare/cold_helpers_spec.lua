-- Cold helpers of the device headers are functions with vector arguments.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "cold_helpers_spec"

local source = [[
  __global__ void angles(int n, const float *x, const float *z, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s, c;
    sincosf(z[i], &s, &c);
    y[4 * i] = sinf(x[i]);
    y[4 * i + 1] = cosf(z[i] * 3) + tanf(x[i]);
    y[4 * i + 2] = s - c;
    y[4 * i + 3] = cosf(z[blockIdx.x]); // the same for all threads
  }
  __global__ void around(int n, const float *x, float *y) { // with a barrier, in a loop, and by a function of one's own
    __shared__ float part[64];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) {
      part[threadIdx.x] = sinf(x[i]);
      __syncthreads();
      if (x[i] > 0) sum += cosf(x[i] + part[63 - threadIdx.x]);
      __syncthreads();
    }
    y[threadIdx.x] = sum;
  }]]

local function define_and_call(options)
  local text = mwcc.run(source, "--verify --emit=ir " .. options)
  return mwcc.count(text, "\ndefine [^\n]*@lanes%d+%."), mwcc.count(text, " call [^\n]*@lanes%d+%."), text
end

describe("a cold helper", function()
  it("is one function, called for each vector", function()
    local defined, called, text = define_and_call "--mcpu=x86-64-v4 --width=16x2 --launch=_Z6anglesiPKfS0_Pf:256x1x1"
    assert.equal(1, defined, text)
    assert(called >= 6 and called % 2 == 0, called)
    assert.matches("define internal intel_ocl_bicc [^\n]*@lanes16%.", text)
    -- uniform values are computed once, without the function
    assert.equal(0, (define_and_call "--mcpu=x86-64-v4 --width=1"))
  end)

  it("preserves vector registers for its callers if they are whole ones", function()
    local function convention(options)
      local _, _, text = define_and_call(options .. " --launch=_Z6anglesiPKfS0_Pf:256x1x1")
      return (assert(text:match "\ndefine internal ([%w_ ]*){[^\n]*@lanes%d+%.", text))
    end
    assert.equal("intel_ocl_bicc ", convention "--mcpu=x86-64-v3 --width=8")
    assert.equal("intel_ocl_bicc ", convention "--mcpu=x86-64-v2 --width=4")
    assert.equal("", convention "--mcpu=x86-64-v4 --width=4")
    assert.equal("", convention "--mcpu=x86-64-v3 --width=32")
  end)

  local function bits(array)
    local list = array:totable()
    for i, number in ipairs(list) do list[i] = number == number and ("%a"):format(number) or "nan" end
    return list
  end

  it("has the same results for any number of lanes", function()
    local n = 300
    local x, z = {}, {}
    for i = 1, n do
      x[i] = (random() - 0.5) * 2 ^ random(0, i % 3 == 0 and 127 or 20)
      z[i] = (random() - 0.5) * 2 ^ random(10, 40)
    end
    x[5], x[6], x[7], x[8], x[9] = 1 / 0, -1 / 0, 0 / 0, 131072, -0.0
    local dx, dz = mw.array(x), mw.array(z)
    local function run(options)
      local m = mw.compile { source = source, options = options }
      local y, sums = mw.zeros(4 * n), mw.zeros(64)
      m.angles(3, 100)(n, dx, dz, y)
      m.around(1, 64)(256, dx, sums)
      return bits(y), bits(sums)
    end
    local y, sums = run { "--width=1" }
    local cases = { { "--width=4" }, { "--width=16" }, { "--width=8x2" }, { "--width=8" }, { "--width=32" },
      { "--width=4", "--mcpu=x86-64-v2" } }
    for _, options in ipairs(cases) do
      local name = table.concat(options, " ")
      local got_y, got_sums = run(options)
      assert.same(y, got_y, name)
      assert.same(sums, got_sums, name)
    end
    local before = mw.limit("specialise", 0)
    local got_y, got_sums = run {}
    mw.limit("specialise", before)
    assert.same(y, got_y)
    assert.same(sums, got_sums)
  end)
end)
