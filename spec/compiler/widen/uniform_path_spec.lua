-- Code for one block size has a uniform path for gangs whose lanes agree, and a general path for others: both, and the
-- transitions between them, have the results of the loop tier.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local count = mwcc.count

-- Without the additional non-temporal stores for large launches (nontemporal_stores_spec.lua).
local function ir(...) return (mwcc.ir(...):gsub("\n  store [^\n]*!nontemporal[^\n]*", "")) end

describe("the uniform path", function()
  local guarded = [[
    __global__ void add(int n, float *x) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] += 1;
    }]]

  it("has no masks, except for the last gang", function()
    local text = ir(guarded, "_Z3addiPf:256x1x1")
    assert.equal(4, count(text, "\n  store <16 x float>"))
    assert.equal(4, count(text, "call void @llvm.masked.store"))
  end)

  it("contains whole loops", function()
    local text = ir([[
      __global__ void sum(int n, const float *x, float *o) {
        float sum = 0;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * gridDim.x * blockDim.x) sum += x[i];
        o[blockIdx.x * blockDim.x + threadIdx.x] = sum;
      }]], "_Z3sumiPKfPf:256x1x1")
    assert.equal(4, count(text, "= load <16 x float>"))
    assert.equal(4, count(text, "= call <16 x float> @llvm.masked.load"))
    assert.equal(4, count(text, "\n  store <16 x float>")) -- where all lanes have reconverged
  end)

  it("contains loops whose indices might pass 2^32, which it tests", function()
    for _, type in ipairs { "unsigned", "size_t" } do
      local text = ir(([[
        __global__ void sum(N n, const float *x, float *o) {
          float sum = 0;
          for (N i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * gridDim.x * blockDim.x) sum += x[i];
          o[blockIdx.x * blockDim.x + threadIdx.x] = sum;
        }]]):gsub("N ", type .. " "), ("_Z3sum%sPKfPf:256x1x1"):format(type == "size_t" and "m" or "j"))
      assert.equal(4, count(text, "= load <16 x float>"))
      assert.equal(4, count(text, "\n  store <16 x float>"))
    end
  end)

  it("is not taken by gangs in which an index passes the largest number", function()
    local source = [[
      __global__ void steps(unsigned first, T n, unsigned by, unsigned *o) {
        unsigned rounds = 0, at = blockIdx.x * blockDim.x + threadIdx.x, i = first + at;
        for (; (T)i < n && rounds < 9; i += by) { rounds++; o[at] += 10 * i; }
        o[at] += rounds;
      }]]
    local before = mw.limit("specialise", 0)
    finally(function() mw.limit("specialise", before) end)
    for type, cases in pairs {
      unsigned = { { 0, 200, 64 }, { 2 ^ 32 - 100, 50, 2 ^ 31 }, { 2 ^ 32 - 300, 2 ^ 32 - 20, 100 },
        { 2 ^ 32 - 512, 100, 37 }, { 2 ^ 32 - 90, 2 ^ 32 - 1, 2 ^ 32 - 60 } },
      int = { { 2 ^ 31 - 100, 50, 2 ^ 31 }, { 2 ^ 31 - 300, 2 ^ 31 - 20, 100 }, { 2 ^ 32 - 100, 50, 9 },
        { 2 ^ 31 - 90, -5, 2 ^ 32 - 60 } },
    } do
      local text = source:gsub("T ", type .. " "):gsub("%(T%)", "(" .. type .. ")")
      local m = mw.compile(text)
      local single = mw.compile { source = text, options = { "--width=1" } }
      for _, case in ipairs(cases) do
        local o, want = mw.zeros(512, "uint"), mw.zeros(512, "uint")
        m.steps(2, 256)(case[1], case[2], case[3], o)
        single.steps(2, 256)(case[1], case[2], case[3], want)
        assert.same(want:totable(), o:totable())
      end
    end
  end)

  describe("with loops that are long", function()
    -- Each block works on a row, as softmax does: by two short loops, and a long one between them.
    local rows = [[
      __global__ void row(int columns, const float *x, float *y) {
        __shared__ float part[256];
        const int t = threadIdx.x;
        x += (size_t)blockIdx.x * columns;
        y += (size_t)blockIdx.x * columns;
        float sum = 0;
        for (int c = t; c < columns; c += blockDim.x) sum += x[c];
        part[t] = sum;
        __syncthreads();
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
          if (t < half) part[t] += part[t + half];
          __syncthreads();
        }
        for (int c = t; c < columns; c += blockDim.x) {
          float v = x[c];
          LONG
          y[c] = v;
        }
        for (int c = t; c < columns; c += blockDim.x) y[c] += part[0];
      }]]
    local long = rows:gsub("LONG", ("v = v * 0.5f + c;\n"):rep(10) .. ("v -= floorf(v * 0.125f) * 8;\n"):rep(10))
    local class = "_Z3rowiPKfPf:256x1x1"

    -- The plain and the masked stores of so many lanes by the line that has `what`.
    local function stores(text, source, what)
      local before = source:match("^(.-)" .. what)
      local line = select(2, before:gsub("\n", "")) + 1
      local plain, masked = 0, 0
      for at in text:gmatch "\n  store <16 x float>[^\n]*!dbg (!%d+)" do
        if text:find(("\n%s = !DILocation(line: %d,"):format(at, line), 1, true) then plain = plain + 1 end
      end
      for at in text:gmatch "\n  call void @llvm.masked.store[^\n]*!dbg (!%d+)" do
        if text:find(("\n%s = !DILocation(line: %d,"):format(at, line), 1, true) then masked = masked + 1 end
      end
      return { plain, masked }
    end

    it("contains all of them if they are short", function()
      local source = rows:gsub("LONG", "v *= 2;")
      local text = ir(source, class)
      assert.same({ 16, 16 }, stores(text, source, "y%[c%] = v"))
      assert.same({ 16, 16 }, stores(text, source, "y%[c%] %+="))
      assert.equal(0, count(text, "\naccessed"))
    end)

    it("contains the short ones, and the long one tests whether all lanes store", function()
      local text = ir(long, class)
      assert.same({ 16, 16 }, stores(text, long, "y%[c%] = v"))
      assert.same({ 16, 16 }, stores(text, long, "y%[c%] %+="))
      assert.equal(10 * 16, count(text, "call[^\n]* @llvm%.floor%.v16f32%(")) -- its code is not duplicated
    end)

    it("has the results of the loop tier, for rows of any length", function()
      local before = mw.limit("specialise", 0)
      local m = mw.compile(long)
      local single = mw.compile { source = long, options = { "--width=1" } }
      for _, columns in ipairs { 1, 255, 256, 257, 1000, 1024, 1031 } do
        local x = mw.empty(3 * columns)
        for i = 1, #x do x[i] = i * 37 % 101 end
        local y, want = mw.full(3 * columns, -1), mw.full(3 * columns, -1)
        m.row(3, 256)(columns, x, y)
        single.row(3, 256)(columns, x, want)
        assert.same(want:totable(), y:totable())
      end
      mw.limit("specialise", before)
    end)
  end)

  it("is in the report", function()
    assert.truthy(ir(guarded, "_Z3addiPf:256x1x1"):find("!prof", 1, true))
  end)

  it("may depend on two conditions", function()
    local text = ir([[
      __global__ void add(int w, int h, float *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        if (i >= w || y >= h) return;
        x[y * w + i] += 1;
      }]], "_Z3addiiPf:16x16x1")
    assert.equal(4, count(text, "\n  store <16 x float>"))
  end)

  it("is tested for only if all lanes are active", function()
    local text = ir([[
      __global__ void mark(int n, int m, const int *a, int *o) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (a[i] > 3) {
          o[i] = 1;
          if (i < n) o[i + 1024] = 2;
        }
        if (i < m) o[i] += 3;
      }]], "_Z4markiiPKiPi:256x1x1 --width=16x4")
    assert.equal(4, count(text, "\n  store <16 x i32>"))
    assert.equal(12, count(text, "call void @llvm.masked.store"))
  end)

  it("is left for the fallback by divergent gangs, before they have had an effect", function()
    local long = "v = v * v + 3; v = v * n - i; v ^= v >> 3;"
    local source = [[
      __global__ void work(int n, int *x, int *y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, v = i;
        BEFORE
        if (i >= n) return;
        ]] .. long:rep(20) .. [[
        y[i] = v;
      }]]
    local text = ir(source:gsub("BEFORE", "v += x[i];"), "_Z4workiPiS_:256x1x1")
    assert.equal(2, count(text, "@fallback%._Z4workiPiS_%(ptr")) -- the function, and its call
    assert.equal(4, count(text, "\n  store <16 x i32>"))
    assert.equal(1, count(text, "call void @llvm.masked.store")) -- for one vector at a time
    text = ir(source:gsub("BEFORE", "x[i] += 2;"), "_Z4workiPiS_:256x1x1")
    assert.equal(0, count(text, "@fallback"))
    assert.equal(4, count(text, "call void @llvm.masked.store"))
  end)

  it("contains loops that iterate until a number is large or small enough", function()
    local function products(inside)
      local text = ir([[
        __global__ void escape(int most, const float *x, int *o) {
          int i = blockIdx.x * blockDim.x + threadIdx.x, round = 0;
          float u = x[i], v = u;
          while (v * v < 9.0f && round < most) { v = v + u; ]] .. inside .. [[ round++; }
          o[i] = round;
        }]], "_Z6escapeiPKfPi:256x1x1 --width=16x4")
      return count(text, "fmul contract <16 x float>")
    end
    assert.equal(4 + 8, products "") -- the first condition is computed once
    assert.equal(4 + 4, products "v += x[round];") -- memory dominates there
  end)

  it("is not made if a constant divides the block, or for conditions on data", function()
    assert.equal(0, count(ir([[
      __global__ void add(int n, float *x) { if (threadIdx.x < 77) x[threadIdx.x] += 1; }]],
      "_Z3addiPf:128x1x1"), "\n  store <16 x float>"))
    assert.equal(0, count(ir([[
      __global__ void add(int n, float *x) { if (x[threadIdx.x] < n) x[threadIdx.x] += 1; }]],
      "_Z3addiPf:128x1x1"), "\n  store <16 x float>"))
  end)
end)

describe("a block that is one gang", function()
  local scan = [[
    __global__ void scan(int n, const int *x, int *o) {
      __shared__ int sums[128];
      int t = threadIdx.x;
      sums[t] = x[blockIdx.x * blockDim.x + t];
      __syncthreads();
      for (int step = 1; step < 128; step *= 2) {
        int left = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
      }
      o[blockIdx.x * blockDim.x + t] = sums[t];
    }]]

  it("has values that threads exchange in registers", function()
    local text = ir(scan, "_Z4scaniPKiPi:128x1x1")
    assert.equal(8, count(text, "= load <16 x i32>"))
    assert.equal(0, count(text, "@llvm.masked.load%.v16i32%(ptr %%"))
    assert.equal(8, count(text, "\n  store <16 x i32>")) -- those to o: sums is no longer read
  end)

  it("has as many threads as numbers of 32 bits in 32 small registers", function()
    local before, processor = mw.limit "specialise", "--mcpu=x86-64-v3"
    finally(function() mw.limit("specialise", before) end)
    local text = [[
      __global__ void k(const int *x, int *o) {
        __shared__ int sums[256];
        int t = threadIdx.x;
        sums[t] = x[t];
        __syncthreads();
        for (int step = 1; step < 256; step *= 2) {
          int left = t >= step ? sums[t - step] : 0;
          __syncthreads();
          sums[t] += left;
          __syncthreads();
        }
        o[t] = sums[255 - t] - 3 * sums[(7 * t) & 255];
      }]]
    local report = mwcc.run(text, "--report --launch=_Z1kPKiPi:256x1x1 " .. processor)
    assert.matches("32 x 8 lanes: the whole block is one gang", report)
    local values, sums, want = {}, {}, {}
    for t = 0, 255 do
      values[t + 1] = t * t % 1009 - 300
      sums[t] = values[t + 1] + (sums[t - 1] or 0)
    end
    for t = 0, 255 do want[t + 1] = sums[255 - t] - 3 * sums[7 * t % 256] end
    mw.limit("specialise", 0)
    for _, options in ipairs { {}, { "--width=8x32" }, { "--width=16x16" } } do
      local o, m = mw.zeros(256, "int"), mw.compile { source = text, options = options }
      for _ = 1, 3 do
        m.k(1, 256)(mw.array(values, "int"), o)
        assert.same(want, o:totable())
      end
    end
  end)

  it("has them in registers after a condition as well", function()
    local text = ir([[
      __global__ void twice(int n, const int *x, int *o) {
        __shared__ int sums[128];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        sums[t] = x[i];
        __syncthreads();
        sums[t] += sums[t ^ 0];
        __syncthreads();
        if (i < n) o[i] = sums[t];
      }]], "_Z5twiceiPKiPi:128x1x1")
    assert.equal(8, count(text, "= load <16 x i32>"))
    assert.equal(0, count(text, "@llvm.masked.load%.v16i32%(ptr %%"))
    assert.equal(8, count(text, "\n  store <16 x i32>"))
    assert.equal(8, count(text, "call void @llvm.masked.store"))
  end)

  it("has a tile in registers", function()
    local text = ir([[
      __global__ void turn(int n, const float *in, float *out) {
        __shared__ float tile[16][17];
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        tile[threadIdx.y][threadIdx.x] = in[y * n + x];
        __syncthreads();
        x = blockIdx.y * 16 + threadIdx.x;
        y = blockIdx.x * 16 + threadIdx.y;
        out[y * n + x] = tile[threadIdx.x][threadIdx.y];
      }]], "_Z4turniPKfPf:16x16x1")
    assert.equal(16, count(text, "= load <16 x float>"))
    assert.equal(16, count(text, "\n  store <16 x float>"))
    assert.equal(0, count(text, "%%inside"))
  end)

  it("stores values that threads exchange at unknown indices", function()
    local text = ir([[
      __global__ void pick(const int *x, const int *from, int *o) {
        __shared__ int mine[128], unread[128];
        mine[threadIdx.x] = x[threadIdx.x];
        unread[threadIdx.x] = x[threadIdx.x + 128];
        __syncthreads();
        o[threadIdx.x] = mine[from[threadIdx.x] & 127];
      }]], "_Z4pickPKiS0_Pi:128x1x1")
    -- any part of shared memory may be read
    assert.equal(24, count(text, "\n  store <16 x i32>"))
  end)

  it("stores values that are only partly overwritten, or read by a later iteration", function()
    local text = ir([[
      __global__ void part(int rounds, const int *x, int *o) {
        __shared__ int sums[64];
        int t = threadIdx.x, sum = 0;
        sums[t] = x[t];
        __syncthreads();
        for (int k = 0; k < rounds; k++) {
          sum += sums[t];
          __syncthreads();
          if (t < 8) sums[t] = sum + k;
          __syncthreads();
        }
        o[t] = sum;
      }]], "_Z4partiPKiPi:64x1x1")
    assert.equal(4 + 4, count(text, "\n  store <16 x i32>"))
    assert.equal(1, count(text, "call void @llvm.masked.store"))
  end)

  it("loads values that another store may have changed", function()
    local text = ir([[
      __global__ void shift(const int *x, int *o) {
        __shared__ int mine[64];
        mine[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        o[threadIdx.x] = 7;
        __syncthreads();
        if (threadIdx.x > 0) o[threadIdx.x + 64] = mine[threadIdx.x - 1];
      }]], "_Z5shiftPKiPi:64x1x1")
    assert.equal(1, count(text, "call <16 x i32> @llvm.masked.load"))
    assert.equal(7, count(text, "= load <16 x i32>"))
  end)

  it("has the right sums", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile(scan)
    local data, sum = {}, 0
    for i = 1, 256 do data[i] = (i * 40503) % 1000 - 300 end
    local out = mw.zeros(256, "int")
    m.scan(2, 128)(256, mw.array(data, "int"), out)
    mw.limit("specialise", before)
    for i, got in ipairs(out:totable()) do
      sum = (i == 129 and 0 or sum) + data[i]
      assert.equal(sum, got)
    end
  end)
end)

describe("indices that are contiguous in most gangs", function()
  local function report(source, kernel)
    local text = mwcc.run(source, "--report --launch=" .. kernel)
    return text:match "(.*)(kernel .*speculative path for gangs.*)"
  end

  it("are clamped ones", function()
    local any, most = report([[
      __global__ void blur(int w, const float *x, float *o) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        o[i] = x[min(max(i - 1, 0), w - 1)] + x[min(i + 1, w - 1)];
      }]], "_Z4bluriPKfPf:256x1x1")
    assert.equal(2, count(any, "  gather") + count(any, "  load of %d places, by choice"))
    assert.equal(2, count(most, "  contiguous load"))
    assert.equal(0, count(most, "  gather"))
  end)

  it("are those with an exclusive or, if comparisons are uniform", function()
    local any, most = report([[
      __global__ void swap(int distance, unsigned *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
        if (other <= i) return;
        unsigned a = x[i], b = x[other];
        x[i] = min(a, b);
        x[other] = max(a, b);
      }]], "_Z4swapiPj:256x1x1")
    assert.equal(1, count(any, "divergent branch"))
    assert.equal(0, count(most, "divergent branch"))
    assert.equal(2, count(most, "  contiguous store"))
  end)

  it("are not those that depend on data", function()
    assert.is_nil(report([[
      __global__ void blur(const int *w, const float *x, float *o) {
        o[threadIdx.x] = x[min(threadIdx.x, w[threadIdx.x])];
      }]],
      "_Z4blurPKiPKfPf:256x1x1"))
  end)
end)
