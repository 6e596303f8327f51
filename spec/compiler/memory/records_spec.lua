-- Members of records that lanes have at places of their own are loaded and stored together, where nothing can tell.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local function kernel(body)
  return ([[
extern "C" __global__ void records(int n, const int *index, const float *in, float *out, const double *wide) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  BODY
}]]):gsub("BODY", function() return body end)
end

-- How many accesses are of records.
local function members(body, options)
  local text = mwcc.run(kernel(body), (options or "") .. " --verify --report --launch=records:64x1x1")
  assert.matches("kernel records: simd", text)
  return mwcc.count(text, "of a record, with other members")
end

describe("the members of a lane's record", function()
  it("are loaded together, by number and by index", function()
    assert.equal(5, members "const float *r = in + 5 * i; out[i] = r[0] + r[1] * r[2] + r[3] * r[4];")
    assert.equal(4, members "const float *r = in + 4 * index[i]; out[i] = r[0] + r[1] * r[2] + r[3];")
    assert.equal(3, members "const float *r = in + 7 * index[i]; out[i] = r[2] + r[3] * r[4];")
    assert.equal(2, members "const double *r = wide + 3 * index[i]; out[i] = r[0] + r[1];")
  end)

  it("are stored together", function()
    assert.equal(6, members "float *r = out + 6 * i; for (int m = 0; m < 6; m++) r[m] = i + m;")
    assert.equal(7, members [[float *r = out + 9 * i;
      r[0] += i; r[1] += i; r[2] = r[0]; r[3] = r[1] * r[7]; r[4] = r[5];]])
  end)

  it("are left alone where they are few, far apart, or another access may tell", function()
    assert.equal(0, members "const float *r = in + 9 * i; out[i] = r[0] + r[8];")
    assert.equal(0, members "const float *r = in + 9 * i; out[i] = r[0]; out[i + n] = r[1]; out[i + 2 * n] = r[2];")
    assert.equal(0, members "const volatile float *r = in + 5 * i; out[i] = r[0] + r[1] * r[2] + r[3];")
    assert.equal(0, members "float *r = out + 5 * i; r[0] = 1; atomicAdd(out + 3, 1.f); r[1] = 2;")
    assert.equal(0, members("const float *r = in + 5 * i; out[i] = r[0] + r[1] * r[2] + r[3];", "--without=records"))
  end)

  it("have no gathers and scatters with AVX-512", function()
    local source = kernel "float *r = out + 8 * i; for (int m = 0; m < 4; m++) r[m + 4] += r[m];"
    local function count(options)
      return mwcc.count(mwcc.ir(source, "records:64x1x1", "x86-64-v4 " .. options), "call [^\n]*masked%.gather")
    end
    assert.is_true(count "--without=records" > count "")
  end)
end)

describe("records at the end of memory", function()
  -- Of each record three of five elements are read, and lanes without one have indices beyond all memory.
  local text = [[
extern "C" __global__ void last(int n, const int *index, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = index[i];
  if (i < n) {
    const float *r = in + (long long)at * 5;
    float *to = out + (long long)at * 5;
    to[2] = r[2] + 1, to[3] = r[3] + 1, to[4] = r[4] + 1;
  }
}]]

  it("are read no further than their members", function()
    local m = mw.compile(text)
    local records, threads = 4096 / 5 // 1 * 4, 4096 -- n records end with the last bytes of an allocation
    local values = {}
    for k = 1, records * 5 do values[k] = k end
    local index = {}
    for k = 1, threads do index[k] = k <= records and records - k or 2 ^ 30 end
    local out = mw.zeros(records * 5)
    m.last(threads / 64, 64)(records, mw.array(index, "int"), mw.array(values), out)
    local got = out:totable()
    for k = 0, records - 1 do
      for member = 0, 4 do
        local at = 5 * k + member + 1
        assert.equal(member >= 2 and at + 1 or 0, got[at])
      end
    end
  end)
end)

describe("a record of which one member's place is known better", function()
  -- Only the first index is known not to wrap, so that the two members have addresses of different shapes.
  it("is stored whole", function()
    local out, double = mw.zeros(12 * 64, "int"), mw.zeros(12 * 64, "double")
    for _, width in ipairs { "16x4", "8x2", "16" } do
      local m = mw.compile { options = { "--width=" .. width }, source = [[
        __global__ void k(int *out, double *doubles) {
          int bn = blockDim.x * blockDim.y * blockDim.z;
          int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
          int bid = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
          int gid = bid * bn + t;
          out[gid * 12 + 4] = gid + 1;
          out[gid * 12 + 5] = -gid;
          doubles[gid * 12 + 4] = 0.5;
        }]] }
      out:fill(9)
      m.k(2, 32)(out, double)
      for i = 0, 63 do
        assert.same({ 9, i + 1, -i, 9 }, { out[12 * i + 4], out[12 * i + 5], out[12 * i + 6], out[12 * i + 7] })
      end
    end
  end)
end)

describe("a record that is read between its stores", function()
  -- The loads would be done where the first of them is, and the stores where the last is.
  it("has what was stored before", function()
    local out = mw.zeros(4 * 64, "int")
    for _, width in ipairs { "4", "8", "16", "8x2" } do
      local m = mw.compile { options = { "--width=" .. width }, source = [[
        __global__ void k(const int *a, int *out) {
          __shared__ int tile[8 * 64];
          int x = threadIdx.x, *s = tile + 8 * x;
          for (int m = 0; m < 3; m++) s[m] = a[3 * x + m];
          __syncthreads();
          s[1] = x;
          s[2] = a[3 * x] + 1;
          s[0] = tile[8 * x] + 5;
          s[1] = a[3 * x + 2] + tile[8 * x + 1];
          for (int m = 0; m < 3; m++) out[4 * x + m] = s[m];
        }]] }
      local a = {}
      for i = 0, 3 * 64 - 1 do a[i + 1] = 1000 + i end
      m.k(1, 64)(mw.array(a, "int"), out)
      for x = 0, 63 do
        assert.same({ 1005 + 3 * x, 1002 + 4 * x, 1001 + 3 * x }, { out[4 * x + 1], out[4 * x + 2], out[4 * x + 3] })
      end
    end
  end)
end)
