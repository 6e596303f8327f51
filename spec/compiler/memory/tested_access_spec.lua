-- Accesses whose class is tested at run time: clamps, butterflies, and rows that end between lanes.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local padded = [[
  __global__ void padded(int n, int width, int pitch, const float *from, float *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i / width * pitch + i % width] = from[i];
  }]]

-- One stage of a butterfly, with partners at a distance of `run`.
local stage = [[
  __global__ void stage(int n, int run, int always, const int *from, int *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int low = i & (run - 1), at = (i - low) * 2 + low;
    int a = from[at], b = from[at + run];
    to[at] = a + b;
    if (a > b || always) to[at + run] = a - b;
  }]]

-- Each thread stores to its partner's place.
local partner = [[
  __global__ void partner(unsigned n, unsigned distance, const int *from, int *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (i < n && (i % 7 == 0 || i > other)) to[other] = from[i] + 3 * from[other];
  }]]

local shifted = [[
  __global__ void shifted(int n, int by, const int *from, int *to) {
    __shared__ int tile[256];
    int x = threadIdx.x;
    tile[x] = from[blockIdx.x * 256 + x];
    __syncthreads();
    int sum = 0;
    for (int k = 1; k < n; k++) sum = 3 * sum + tile[min(max(x - by, 0), 255)] - k * tile[x ^ k];
    to[blockIdx.x * 256 + x] = sum;
  }]]

-- Clamps that are known not to wrap are not tested, but loaded by choice: selected_access_spec.lua.
local function text(source, launch, options)
  return mwcc.run(source, "--stop-after=vectorize --mcpu=x86-64-v4 --without=selected-access " .. (options or "") ..
    " --launch=" .. launch)
end

describe("accesses that are tested at run time", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  it("are whole vectors where 32-bit lanes follow each other and do not wrap", function()
    local source = [[
      __global__ void segments(const I *starts, const int *from, int *to) {
        I start = starts[blockIdx.x], end = starts[blockIdx.x + 1];
        for (I i = start + threadIdx.x; i < end; i += blockDim.x) to[i] = 3 * from[i];
      }]]
    for type, parameters in pairs { int = "PKiS0_Pi", unsigned = "PKjPKiPi" } do
      local code = source:gsub("I ", type .. " ")
      local ir = text(code, ("_Z8segments%s:128x1x1"):format(parameters))
      assert.is_truthy(ir:find "\ncontiguous")
      assert.equal(0, mwcc.count(ir, "icmp eq <16 x i32>")) -- a scalar is compared
      local report = mwcc.run(code, ("--report --mcpu=x86-64-v4 --launch=_Z8segments%s:128x1x1"):format(parameters))
      assert.is_truthy(report:find "contiguous load if no index wraps")
      assert.is_nil(report:find "gather")
      local m = mw.compile(code)
      local from, to, want = mw.empty(1000, "int"), mw.zeros(1000, "int"), {}
      for i = 1, 1000 do from[i] = i * 7 % 101 end
      local function check(starts, first, last)
        to:fill(0)
        m.segments(#starts - 1, 128)(mw.array(starts, type == "int" and "int" or "uint"), from, to)
        for i = 1, 1000 do want[i] = i > first and i <= last and 3 * from[i] or 0 end
        assert.same(want, to:totable())
      end
      check({ 3, 300, 300, 301, 700, 950 }, 3, 950)
      if type == "unsigned" then check({ 2 ^ 32 - 45, 50 }, 0, 50) end -- lanes wrap, after inactive ones
    end
  end)

  it("are two masked loads where a lane is clamped in shared memory", function()
    local launch = "_Z7shiftediiPKiPi:256x1x1"
    assert.is_truthy(text(shifted, launch):find "\nruns")
    assert.is_nil(text(shifted, launch, "--without=run-access"):find "\nruns")
  end)

  it("are permutations of a row of a two-dimensional tile", function()
    local source = [[
      __global__ void rows(int left, int right, const float *from, float *to) {
        __shared__ float tile[16][16];
        int x = threadIdx.x, y = threadIdx.y;
        tile[y][x] = from[16 * y + x];
        __syncthreads();
        to[16 * y + x] = tile[ROW][min(max(x - 1, left), right)] - tile[y][x];
      }]]
    local launch, permuted = "_Z4rowsiiPKfPf:16x16x1", "call <16 x i32> @llvm%.x86%.avx512%.permvar%.si%.512"
    for row, count in pairs { y = 16, ["15 - y"] = 16, ["min(y, right)"] = 16, ["(x + y) % 16"] = 0 } do
      local ir = text(source:gsub("ROW", function() return row end), launch, "--without=run-access")
      assert.equal(count, mwcc.count(ir, permuted), row)
    end
  end)

  it("are whole vectors and permutations where partners are close", function()
    local launch = "_Z7partnerjjPKiPi:256x1x1"
    local with, without = text(partner, launch), text(partner, launch, "--without=butterfly-access")
    assert.is_truthy(with:find "call <16 x i32> @llvm%.x86%.avx512%.vpermi2var%.d%.512")
    assert.is_nil(without:find "vpermi2var")
    assert.is_truthy(with:find "call <16 x i32> @llvm%.x86%.avx512%.permvar%.si%.512") -- for the stores
  end)

  it("are reported", function()
    local options = "--report --mcpu=x86-64-v4 --without=selected-access --launch="
    assert.is_truthy(mwcc.run(shifted, options .. "_Z7shiftediiPKiPi:256x1x1"):find "in two runs")
    assert.is_truthy(mwcc.run(partner, options .. "_Z7partnerjjPKiPi:256x1x1"):find "near each other")
  end)

  it("are right for partners at every distance, and under masks", function()
    local m, n = mw.compile(partner), 1024
    local numbers = {}
    for i = 1, n do numbers[i] = i * i % 1009 end
    local from = mw.array(numbers, "int")
    for _, distance in ipairs { 1, 2, 3, 5, 8, 15, 16, 17, 64, 1000 } do
      local to, expected = mw.zeros(n, "int"), {}
      for i = 0, n - 1 do
        local source = i ~ distance
        local a = numbers[source + 1]
        expected[i + 1] = (source % 7 == 0 or source > i) and a + 3 * numbers[i + 1] or 0
      end
      m.partner(n / 256, 256)(n, distance, from, to)
      assert.same(expected, to:totable())
    end
  end)

  it("are right for rows of any length", function()
    local m, n = mw.compile(padded), 1000
    local from = mw.arange(n)
    for _, block in ipairs { 256, 100 } do
      for _, width in ipairs { 1, 5, 15, 16, 17, 31, 33, 100, 2000 } do
        local to, expected = mw.zeros(n * 4 + 10), {}
        for i = 1, #to do expected[i] = 0 end
        for i = 0, n - 1 do expected[i // width * (width + 3) + i % width + 1] = from[i + 1] end
        m.padded(mw.cdiv(n, block), block)(n, width, width + 3, from, to)
        assert.same(expected, to:totable())
      end
    end
  end)

  it("are right for every distance of partners, and under masks", function()
    local m, half = mw.compile(stage), 512
    local numbers = {}
    for i = 1, 2 * half do numbers[i] = i * i % 1009 end
    local from = mw.array(numbers, "int")
    for _, case in ipairs { { 256, half, 1 }, { 256, half, 0 }, { 64, half - 37, 0 } } do
      local block, n, always = case[1], case[2], case[3]
      for _, run in ipairs { 1, 2, 4, 8, 16, 32, 256 } do
        local to, expected = mw.zeros(3 * half, "int"), {}
        for i = 1, 3 * half do expected[i] = 0 end
        for i = 0, n - 1 do
          local low = i & (run - 1)
          local at = (i - low) * 2 + low
          local a, b = numbers[at + 1], numbers[at + run + 1]
          expected[at + 1] = a + b
          if a > b or always == 1 then expected[at + run + 1] = a - b end
        end
        m.stage(mw.cdiv(n, block), block)(n, run, always, from, to)
        assert.same(expected, to:totable())
      end
    end
  end)

  it("are right where lanes are clamped or flipped in shared memory", function()
    local m, numbers = mw.compile(shifted), {}
    for i = 1, 512 do numbers[i] = i * i % 1009 end
    local from = mw.array(numbers, "int")
    for _, by in ipairs { 0, 1, 3, 16, 255, -1, -40 } do
      local to, expected = mw.zeros(512, "int"), {}
      m.shifted(2, 256)(34, by, from, to)
      for i = 0, 511 do
        local x, base, sum = i % 256, i // 256 * 256, 0
        for k = 1, 33 do
          sum = 3 * sum + numbers[base + math.min(math.max(x - by, 0), 255) + 1] - k * numbers[base + (x ~ k) + 1]
        end
        expected[i + 1] = (sum + (1 << 31)) % (1 << 32) - (1 << 31)
      end
      assert.same(expected, to:totable())
    end
  end)

  it("are tested for their shadows, too, where values are checked", function()
    local ir = mwcc.after([[
      __global__ void nearest(int n, const float *in, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[i] = in[min(i + 1, n - 1)];
      }]], "vectorize", "--checks=8 --without=selected-access")
    assert.equal(2, mwcc.count(ir, "\ncontiguous%d*:"))
  end)
end)
