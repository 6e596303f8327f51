-- Speculative shapes: indices that are contiguous in most gangs, but not at an edge or for some distances: clamped
-- ones, and those with an exclusive or.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local ir, count = mwcc.ir, mwcc.count

local swap = [[
  __global__ void swap(int n, int distance, const int *x, int *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, partner = i ^ distance;
    if (i < n && partner >= 0 && partner < n) o[i] = x[partner];
  }]]

local blur = [[
  __global__ void blur(int width, int by, const int *x, int *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width) return;
    int sum = 0;
    for (int k = -2; k <= 2; k++) sum = sum * 3 + x[min(max(i + k, 0), width - 1)];
    sum = sum * 3 + x[max(min(i + by, width - 1), 0)];
    sum = sum * 3 + x[min(max(width - 1 - i - by, 0), width - 1)];
    sum = sum * 3 + x[min(max(i, 1) + 2, width - 1)];
    o[i] = sum;
  }]]

-- A sum with gangs of rows and columns: each vector is contiguous by itself. Of integers, so that it is exact.
local sums = [[
  __global__ void sums(int width, int height, int by, const float *x, const float *weights, float *o) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < height; k++) sum += x[k * width + (c ^ by)] * weights[k + r];
    o[r * width + c] = sum;
  }]]

-- Clamped rows of a picture, and columns on both sides of a thread's own. Of integers, again.
local filter = [[
  __global__ void filter(int width, int height, int by, const float *x, float *o) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c >= width || r >= height) return;
    float sum = 0;
    for (int j = -1; j <= 1; j++)
      for (int k = -2; k <= 2; k++) {
        int column = min(max(c + k, 0), width - 1), row = min(max(r + j, 0), height - 1);
        sum += x[row * width + column] * (k + 5 * j + by);
      }
    o[r * width + c] = sum;
  }]]

-- 32-bit arithmetic, as the kernel's
local function wrapped(number) return (number + 2 ^ 31 | 0) % 4294967296 - 2 ^ 31 | 0 end

describe("indices that are mostly contiguous", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  it("are tested by lane 0's value if that suffices", function()
    local text = ir(swap, "_Z4swapiiPKiPi:256x1x1")
    assert.equal(1, count(text, "and i32 %%%d+, 31"))
    assert.equal(0, count(text, "icmp eq <16 x i32>"))
    -- other gangs are tested for runs (tested_access.c)
    text = mwcc.run(blur, "--mcpu=x86-64-v4 --without=run-access --emit=ir --launch=_Z4bluriiPKiPi:64x1x1")
    assert.equal(0, count(text, "icmp eq <16 x i32>"))
  end)

  it("need no clamps if they are the identity for all lanes", function()
    local text = ir(blur, "_Z4bluriiPKiPi:64x1x1")
    assert.equal(0, count(text, "@llvm%.smax%.i32") + count(text, "@llvm%.smin%.i32"))
  end)

  -- `row` is a clamped row, which is not negative, or any number.
  local function tests_of_sums(row)
    local text = ir(([[
      __global__ void nine(int width, int height, int by, const unsigned char *x, unsigned char *o) {
        int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
        if (c >= width || r >= height) return;
        unsigned char most = 0;
        for (int j = -1; j <= 1; j++)
          for (int k = -1; k <= 1; k++)
            most = max(most, x[%s * width + min(max(c + k, 0), width - 1)]);
        o[r * width + c] = most;
      }]]):format(row), "_Z4nineiiiPKhPh:32x16x1")
    return count(text, "icmp ult i32 [^\n]*, %-2147483647")
  end

  it("are tested themselves only where the clamped numbers do not show that no lane wraps", function()
    assert.equal(1, tests_of_sums "min(max(r + j, 0), height - 1)") -- of c + 1, which may wrap before it is clamped
    assert.equal(10, tests_of_sums "(r + by + j)")
  end)

  local function check(expected, array, ...)
    local got = array:totable()
    for i = 1, #expected do
      if expected[i] ~= got[i] then
        error(("element %d is %s, should be %s, with %s"):format(i, got[i], expected[i], table.concat({ ... }, ", ")))
      end
    end
  end

  it("are right for every distance", function()
    local m, n, x = mw.compile(swap), 1000, {}
    for i = 1, n do x[i] = 7 * i end
    local data = mw.array(x, "int")
    for _, block in ipairs { 256, 48, 16, 100 } do
      for _, distance in ipairs { 1, 15, 16, 32, 63, 64, 96, 256, 512, 1 << 20, -64, -(1 << 31) } do
        local o, expected = mw.zeros(n, "int"), {}
        m.swap(mw.cdiv(n, block), block)(n, distance, data, o)
        for i = 0, n - 1 do
          local partner = wrapped(i ~ distance)
          expected[i + 1] = partner >= 0 and partner < n and 7 * (partner + 1) or 0
        end
        check(expected, o, block, distance)
      end
    end
  end)

  it("are right at the edges", function()
    local m = mw.compile(blur)
    for _, block in ipairs { 64, 16, 100 } do
      for _, width in ipairs { 1, 15, 16, 17, 65, 300 } do
        local x = {}
        for i = 1, width do x[i] = i * i % 1009 end
        local data = mw.array(x, "int")
        local function at(k) return x[math.min(math.max(k, 0), width - 1) + 1] end
        for _, by in ipairs { 1, -3, 40, -5000, 2 ^ 30 | 0, -(2 ^ 30) | 0 } do
          local o, expected = mw.zeros(width, "int"), {}
          m.blur(mw.cdiv(width, block), block)(width, by, data, o)
          for i = 0, width - 1 do
            local sum = 0
            for k = -2, 2 do sum = sum * 3 + at(i + k) end
            sum = (sum * 3 + at(i + by)) * 3 + at(width - 1 - i - by)
            expected[i + 1] = wrapped(sum * 3 + at(math.max(i, 1) + 2))
          end
          check(expected, o, block, width, by)
        end
      end
    end
  end)

  it("are right if vectors are rows and columns", function()
    local m, width, height, x, weights = mw.compile(sums), 128, 8, {}, {}
    for i = 1, width * height do x[i] = i * i % 1009 - 500 end
    for i = 1, 2 * height do weights[i] = i * 7 % 13 - 6 end
    local data, factors = mw.array(x), mw.array(weights)
    for _, by in ipairs { 0, 1, 16, 32, 49 } do
      local o, expected = mw.zeros(width * height), {}
      m.sums({ width / 32, height / 4 }, { 32, 4 })(width, height, by, data, factors, o)
      for i = 0, width * height - 1 do
        local c, sum = i % width, 0.0
        for k = 0, height - 1 do sum = sum + x[k * width + (c ~ by) + 1] * weights[k + i // width + 1] end
        expected[i + 1] = sum
      end
      check(expected, o, by)
    end
  end)

  it("are tested by vectors if these are rows and columns", function()
    local text = ir(sums, "_Z4sumsiiiPKfS0_Pf:32x4x1")
    local body = assert(text:match "(define [^\n]*plane16x8.-\n}\n)", text)
    -- for each half of a row, which all rows of the gang share
    assert.equal(2, count(body, "= load <16 x float>"))
  end)

  it("are columns of one address, at constant distances", function()
    local text = ir(filter, "_Z6filteriiiPKfPf:16x16x1")
    local body = assert(text:match "(define [^\n]*plane16x.-\n}\n)", text)
    local columns, distances = 0, {}
    for load in body:gmatch "getelementptr i8, ptr %%[%w.]+, i64 (%-?%d+)" do distances[load] = true end
    for _, wanted in ipairs { "-8", "-4", "4", "8" } do columns = columns + (distances[wanted] and 1 or 0) end
    assert.equal(4, columns, body)
    assert.equal(4, count(body, "@llvm%.prefetch")) -- one line for each row that two rows of threads need
  end)

  it("are right in columns at constant distances, also at the edges", function()
    local m = mw.compile(filter)
    for _, size in ipairs { { 64, 32 }, { 49, 19 }, { 17, 40 }, { 16, 8 }, { 3, 2 } } do
      local width, height, x = size[1], size[2], {}
      for i = 1, width * height do x[i] = i * i % 1009 - 500 end
      local data, by = mw.array(x), 7
      local o, expected = mw.zeros(width * height), {}
      m.filter({ mw.cdiv(width, 16), mw.cdiv(height, 16) }, { 16, 16 })(width, height, by, data, o)
      for i = 0, width * height - 1 do
        local c, r, sum = i % width, i // width, 0.0
        for j = -1, 1 do
          for k = -2, 2 do
            local column, row = math.min(math.max(c + k, 0), width - 1), math.min(math.max(r + j, 0), height - 1)
            sum = sum + x[row * width + column + 1] * (k + 5 * j + by)
          end
        end
        expected[i + 1] = sum
      end
      check(expected, o, width, height)
    end
  end)

  -- Rows and columns by the number of an element; neighbours on a torus; neighbours that end at an edge.
  local pixels = [[
    __global__ void pixels(int n, int width, int height, int pitch, const int *x, int *o) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      int row = i / width, column = i % width;
      int east = (column + 1) % width, north = row == 0 ? 0 : row - 1, west = column == 0 ? 0 : column - 1;
      int last = column == width - 1 ? width - 1 : column + 1;
      o[i] = x[row * pitch + east] + 3 * x[north * pitch + column] + 7 * x[row * pitch + west] +
             11 * x[row * pitch + last];
    }
    __global__ void columns(unsigned n, unsigned width, unsigned pitch, const int *x, int *o) {
      unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) o[i] = x[i / width * pitch + i % width];
    }
    __global__ void far(long long n, long long width, long long pitch, const int *x, int *o) {
      long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) o[i] = x[i / width * pitch + i % width];
    }]]

  it("are loads of rows where a gang is in one row", function()
    for _, name in ipairs { "_Z6pixelsiiiiPKiPi", "_Z7columnsjjjPKiPi", "_Z3farxxxPKiPi" } do
      local report = mwcc.run(pixels, "--report --mcpu=x86-64-v4 --launch=" .. name .. ":256x1x1")
      local path = report:match "speculative path.*"
      assert.is_truthy(path, report)
      assert.is_nil(path:find "gather", path)
    end
  end)

  it("are right for rows of any length", function()
    local m, x = mw.compile(pixels), {}
    for i = 1, 3000 do x[i] = i * i % 1009 end
    local data = mw.array(x, "int")
    for _, block in ipairs { 256, 100 } do
      for _, size in ipairs { { 1, 300 }, { 7, 40 }, { 32, 9 }, { 100, 13 }, { 256, 3 }, { 700, 2 } } do
        local width, height = size[1], size[2]
        local n, pitch = width * height, width + 3
        local function at(row, column) return x[row * pitch + column + 1] end
        local o = mw.zeros(n, "int")
        m.pixels(mw.cdiv(n, block), block)(n, width, height, pitch, data, o)
        local expected, plain = {}, {}
        for i = 0, n - 1 do
          local row, column = i // width, i % width
          plain[i + 1] = at(row, column)
          expected[i + 1] = at(row, (column + 1) % width) + 3 * at(math.max(row - 1, 0), column) +
            7 * at(row, math.max(column - 1, 0)) + 11 * at(row, math.min(column + 1, width - 1))
        end
        check(expected, o, block, width)
        for _, name in ipairs { "columns", "far" } do
          o:fill(0)
          m[name](mw.cdiv(n, block), block)(n, width, pitch, data, o)
          check(plain, o, name, block, width)
        end
      end
    end
  end)

  local permuted = [[
    __global__ void permuted(long long n, const float *x, float *o, long long b, long long c, long long d) {
      long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      long long id = i % d, ic = i / d % c, ib = i / (d * c) % b, ia = i / (d * c * b);
      o[((ia * c + ic) * b + ib) * d + id] = x[i];
    }]]

  it("are stores of rows where gangs end with the row", function()
    local options = "--report --mcpu=x86-64-v4 --launch=_Z8permutedxPKfPfxxx:128x1x1"
    local rows = mwcc.run(permuted, options):match "row by row.*"
    assert.is_truthy(rows)
    assert.is_truthy(rows:find("contiguous store", 1, true), rows)
    assert.is_nil(mwcc.run(permuted, options .. " --without=row-runs"):match "row by row")
  end)

  it("continue quotients, and compare `i < n` for all lanes, where gangs end with the row", function()
    local options = "--mcpu=x86-64-v4 --launch=_Z8permutedxPKfPfxxx:128x1x1"
    local report = mwcc.run(permuted, options .. " --report"):match "row by row.*"
    assert.is_nil(report:find("divergent branch", 1, true), report)
    local code = mwcc.run(permuted, options .. " --emit=ir")
    local cold = 0 -- quotients and remainders, of which each pair is divided where those of the gang before do not help
    for _ in code:gmatch "\ndivide%d*:" do cold = cold + 1 end
    assert.equal(3, cold)
  end)

  it("are right where gangs end with the row, for rows of any length", function()
    local m, x = mw.compile(permuted), {}
    for i = 1, 6000 do x[i] = i end
    local data = mw.array(x)
    for _, block in ipairs { 32, 64, 128, 256 } do
      for _, d in ipairs { 1, 7, 12, 13, 30, 64, 100, 130 } do
        local b, c = 3, 5
        local a = 6000 // (b * c * d)
        local n, o, expected = a * b * c * d, mw.zeros(6000), {}
        m.permuted(mw.cdiv(n, block), block)(n, data, o, b, c, d)
        for i = 1, 6000 do expected[i] = 0 end
        for i = 0, n - 1 do
          local id, ic, ib, ia = i % d, i // d % c, i // (d * c) % b, i // (d * c * b)
          expected[((ia * c + ic) * b + ib) * d + id + 1] = i + 1
        end
        check(expected, o, block, d)
      end
    end
  end)

  it("are not contiguous where a sum of 8 or 16 bits wraps", function()
    local a, out = mw.empty(2 ^ 16 + 64), mw.zeros(64)
    for i = 1, #a do a[i] = i end
    for name, bits in pairs { ["unsigned char"] = 8, ["unsigned short"] = 16 } do
      for _, index in ipairs { "sum + from", "max(sum + (int)from, -5)", "min(sum + (int)from, 100000)" } do
        local m = mw.compile(([[
          __global__ void few(const float *a, float *out, unsigned short p, unsigned from) {
            N sum = (N)threadIdx.x + (N)p;
            out[threadIdx.x] = a[INDEX];
          }]]):gsub("INDEX", index):gsub("%f[%w]N%f[%W]", name))
        m.few(1, 64)(a, out, 2 ^ bits - 6, 3)
        for j = 0, 63 do assert.equal((2 ^ bits - 6 + j) % 2 ^ bits + 4, out[j + 1]) end
      end
    end
  end)

  it("are not compared by lane 0 and the last lane where numbers wrap between these", function()
    local x = mw.array({ 1, 2 }, "int")
    for condition, limit in pairs {
      ["i * 2654435769u < limit"] = 2000000000, ["(int)(i * 134217729u) < (int)limit"] = 1000000000,
      ["(short)(i * 5000) < (short)limit"] = 9000, ["i * 536870912 == limit"] = 3 * 536870912,
    } do
      local source = [[
        __global__ void hashed(unsigned limit, int m, const int *x, int *o) {
          unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
          o[i] = x[]] .. condition .. [[ ? m : 0];
        }]]
      local results = {}
      for n, options in ipairs { {}, { "-G", "--width=1" } } do
        local o = mw.zeros(256, "int")
        mw.compile { source = source, options = options }.hashed(1, 256)(limit, 1, x, o)
        results[n] = o:bytes()
      end
      assert.is_true(results[1] == results[2], condition)
    end
  end)

  it("are tested for wrapping however many there are", function()
    local terms = {}
    for c = 1, 30 do
      terms[c] = ("sum = sum * 3 + x[min((long long)(unsigned)(p - i + %du), (long long)most)];"):format(c)
    end
    local source = [[
      __global__ void many(unsigned p, int most, const int *x, int *o) {
        unsigned i = threadIdx.x;
        int sum = 0;
        ]] .. table.concat(terms, "\n") .. [[

        o[i] = sum;
      }]]
    local x, results = mw.empty(200, "int"), {}
    for i = 1, 200 do x[i] = i * 37 % 101 end
    for n, options in ipairs { {}, { "-G", "--width=1" } } do
      local o = mw.zeros(64, "int")
      mw.compile { source = source, options = options }.many(1, 64)(5, 150, x, o)
      results[n] = o:bytes()
    end
    assert.is_true(results[1] == results[2])
  end)
end)
