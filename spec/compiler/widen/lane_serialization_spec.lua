-- Serialised lanes, and prefetching, in code for one block size.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local ir, count = mwcc.ir, mwcc.count

local histogram = [[
  __global__ void histogram(int n, const unsigned *x, unsigned *bins) {
    __shared__ unsigned counts[256];
    EACH counts[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] >> 3 & 255], 1);
    __syncthreads();
    EACH atomicAdd(&bins[k], counts[k]);
  }]]
local simple = histogram:gsub("EACH", "int k = threadIdx.x;", 1):gsub("EACH", "", 1)
local general = histogram:gsub("EACH", "for (int k = threadIdx.x; k < 256; k += blockDim.x)")

describe("serialised lanes", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  it("load their values themselves if nothing else uses them", function()
    local text = ir(simple, "_Z9histogramiPKjPj:256x1x1")
    assert.equal(0, count(text, "store volatile"))
    assert.equal(32, count(text, "lshr i32 %%%d+, 3"))
  end)

  it("compute the addresses of changes as vectors, four at a time", function()
    local runs, found = {}, 0
    for line in ir(simple, "_Z9histogramiPKjPj:256x1x1"):gmatch "[^\n]+" do
      if line:find "lshr i32 %%%d+, 3" then
        found = found + 1
      elseif found > 0 and line:find "store i32" then
        runs[#runs + 1] = found
        found = 0
      end
    end
    assert.same({ 4, 4, 4, 4, 4, 4, 4, 4 }, runs)
  end)

  it("have vectors of values stored to the stack if memory may change before", function()
    local text = ir([[
      __global__ void replace(unsigned *x, unsigned *o) {
        __shared__ unsigned counts[64];
        counts[threadIdx.x] = 0;
        __syncthreads();
        unsigned v = x[threadIdx.x] & 63;
        x[threadIdx.x] = 7;
        atomicAdd(&counts[v], 1);
        __syncthreads();
        o[threadIdx.x] = counts[threadIdx.x];
      }]], "_Z7replacePjS_:64x1x1")
    assert.equal(4, count(text, "store volatile <16 x i32>"))
  end)

  it("count correctly, for any block and any length", function()
    local m = mw.compile(general)
    for _, n in ipairs { 5000, 4096, 255 } do
      local data, expected = {}, {}
      for b = 1, 256 do expected[b] = 0 end
      for i = 1, n do
        data[i] = (i * 2654435761) % 4294967296
        local bin = (data[i] >> 3 & 255) + 1
        expected[bin] = expected[bin] + 1
      end
      local x = mw.array(data, "uint")
      for _, block in ipairs { 32, 64, 256, 1024 } do
        local bins = mw.zeros(256, "uint")
        m.histogram(3, block)(n, x, bins)
        assert.same(expected, bins:totable())
      end
    end
  end)

  it("add, take maxima, and flip bits, by indices computed in several steps", function()
    local m = mw.compile [[
      __global__ void all(int shift, const int *x, const float *y, float *sums, int *most, unsigned *bits) {
        __shared__ float s[64];
        __shared__ int largest[64];
        __shared__ unsigned flipped[64];
        int t = threadIdx.x;
        if (t < 64) s[t] = 0, largest[t] = -1000, flipped[t] = 0;
        __syncthreads();
        atomicAdd(&s[(x[t] + 5) >> shift & 63], y[t]);
        atomicMax(&largest[x[t] * 3 & 63], t - x[t]);
        atomicXor(&flipped[(x[t] ^ shift) & 63], 1u << (t & 31));
        __syncthreads();
        if (t < 64) sums[t] = s[t], most[t] = largest[t], bits[t] = flipped[t];
      }]]
    local x, y, sums, most, bits = {}, {}, {}, {}, {}
    for k = 1, 64 do sums[k], most[k], bits[k] = 0, -1000, 0 end
    for t = 0, 255 do
      x[t + 1], y[t + 1] = (t * 7919) % 1000, t % 17
      local v = x[t + 1]
      local a, b, c = (v + 5 >> 2 & 63) + 1, (v * 3 & 63) + 1, ((v ~ 2) & 63) + 1
      sums[a] = sums[a] + y[t + 1]
      most[b] = math.max(most[b], t - v)
      bits[c] = bits[c] ~ (1 << (t & 31))
    end
    local got_sums, got_most, got_bits = mw.zeros(64), mw.zeros(64, "int"), mw.zeros(64, "uint")
    m.all(1, 256)(2, mw.array(x, "int"), mw.array(y), got_sums, got_most, got_bits)
    assert.same(sums, got_sums:totable())
    assert.same(most, got_most:totable())
    assert.same(bits, got_bits:totable())
  end)

  it("have addresses by loop counters, forwards, backwards, and with some lanes inactive", function()
    local m = mw.compile [[
      __global__ void places(int n, int *up, int *down, int *old) {
        int t = threadIdx.x;
        if (t < n) old[t] = atomicAdd(&up[2 * t + 1], t);
        atomicSub(&down[255 - t], 3 * t);
      }]]
    for _, n in ipairs { 256, 77 } do
      local start = {}
      for k = 1, 512 do start[k] = 10 * k end
      local up, down, old = mw.array(start, "int"), mw.array(start, "int"), mw.zeros(256, "int")
      m.places(1, 256)(n, up, down, old)
      for t = 0, 255 do
        local there = 10 * (2 * t + 2)
        assert.equal(there + (t < n and t or 0), up[2 * t + 2])
        assert.equal(t < n and there or 0, old[t + 1])
        assert.equal(10 * (256 - t) - 3 * t, down[256 - t])
      end
    end
  end)
end)

describe("memory is prefetched", function()
  it("for later iterations, if iterations are long and far apart", function()
    local text = ir((simple:gsub("x%[i%] >> 3 & 255", "x[i] * x[n - 1 - i] & 255")), "_Z9histogramiPKjPj:256x1x1")
    assert.equal(16, count(text, "call void @llvm.prefetch"))
  end)

  it("line by line, if lanes load it one after the other", function()
    -- by 32 lanes at a time, which load two lines, for vectors of any width
    for _, processor in ipairs { "x86-64-v4", "x86-64-v3", "x86-64-v2" } do
      local text = ir(simple, "_Z9histogramiPKjPj:256x1x1", processor)
      assert.equal(2, count(text, "call void @llvm.prefetch"))
    end
  end)

  local sum = [[
    __global__ void sum(int n, const float *x, float *o) {
      __shared__ float sums[256];
      float sum = 0;
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += STEP) sum += x[i];
      sums[threadIdx.x] = sum;
      __syncthreads();
      for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
      }
      if (threadIdx.x == 0) o[blockIdx.x] = sums[0];
    }]]

  it("for later blocks, if iterations are short and neighbouring blocks have neighbouring memory", function()
    local text = ir((sum:gsub("STEP", "2 * gridDim.x * blockDim.x")), "_Z3sumiPKfPf:256x1x1")
    -- two blocks ahead; with many iterations, four iterations ahead for two blocks
    assert.equal(16 + 2 * 16, count(text, "call void @llvm.prefetch"))
    -- if blocks are run row by row, memory is accessed in order
    text = ir((sum:gsub("STEP", "gridDim.x * blockDim.x")), "_Z3sumiPKfPf:256x1x1")
    assert.equal(0, count(text, "call void @llvm.prefetch"))
  end)

  it("for the block's own iterations, line by line, if vectors are shorter than a line", function()
    local text = ir((sum:gsub("STEP", "2 * gridDim.x * blockDim.x")), "_Z3sumiPKfPf:256x1x1", "x86-64-v3")
    assert.equal(16, count(text, "call void @llvm.prefetch"))
  end)

  local columns = [[
    __global__ void columns(int width, int height, const float *x, float *o) {
      int column = blockIdx.x * blockDim.x + threadIdx.x;
      float sum = 0;
      for (int row = FIRST; row < height; row++) sum += x[row * width + column];
      o[column] += sum;
    }]]
  local linkage = "_Z7columnsiiPKfPf:256x1x1"

  it("for later gangs, if a block has several", function()
    local text = ir((columns:gsub("FIRST", "0")), linkage)
    assert.equal(4, count(text, "call void @llvm.prefetch")) -- 4 vectors of 16
  end)

  it("but not memory that other rows of blocks load as well, or each iteration of an outer loop", function()
    local several = columns:gsub("FIRST", "0"):gsub("o%[column%]", "o[blockIdx.y * width + column]")
    assert.equal(0, count(ir(several, linkage), "call void @llvm.prefetch"))
    local again = columns:gsub("for", "for (int again = 0; again < height; again++) for"):gsub("FIRST", "0")
    assert.equal(0, count(ir(again, linkage), "call void @llvm.prefetch"))
  end)

  it("of distant rows of a matrix, once if each is combined with many rows of another", function()
    local product = [[
      __global__ void product(int n, const float *a, const float *b, float *c) {
        int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
        float sum = 0;
        for (int k = 0; k < n; k++) sum += a[row * n + k] * b[ROW + column];
        c[row * n + column] = sum;
      }]]
    local class = "_Z7productiPKfS0_Pf:16x16x1"
    assert.equal(1, count(ir((product:gsub("ROW", "k * n")), class), "call void @llvm.prefetch"))
    assert.equal(1, count(ir((product:gsub("ROW", "k * 2048")), class), "call void @llvm.prefetch"))
    -- near rows, a single row, and rows that are combined with few
    assert.equal(0, count(ir((product:gsub("ROW", "k * 256")), class), "call void @llvm.prefetch"))
    assert.equal(0, count(ir((product:gsub("ROW", "n")), class), "call void @llvm.prefetch"))
    assert.equal(0, count(ir((product:gsub("ROW", "k * n")), "_Z7productiPKfS0_Pf:16x2x1"), "call void @llvm.prefetch"))
    for _, wide in ipairs { "32x32x1", "16x16x1:2" } do -- a row is two vectors
      class = "_Z7productiPKfS0_Pf:" .. wide
      assert.equal(2, count(ir((product:gsub("ROW", "k * n")), class), "call void @llvm.prefetch"), wide)
      assert.equal(0, count(ir((product:gsub("ROW", "k * 64 + n")), class), "call void @llvm.prefetch"), wide)
    end
  end)

  it("of a tile's rows, while the previous tile is processed", function()
    local product = [[
      __global__ void product(int n, const float *a, const float *b, float *c) {
        __shared__ float as[16][16], bs[16][16];
        int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
        float sum = 0;
        for (int tile = 0; tile < n; tile += 16) {
          as[ty][tx] = a[row * n + tile + tx];
          bs[ty][tx] = b[ROW + column];
          WAIT
          for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
          WAIT
        }
        c[row * n + column] = sum;
      }]]
    local class = "_Z7productiPKfS0_Pf:16x16x1"
    local function count_prefetches(row, wait, processor)
      local text = ir(product:gsub("ROW", row):gsub("WAIT", wait or "__syncthreads();"), class, processor)
      return count(text, "call void @llvm.prefetch"), text
    end
    local all, text = count_prefetches "(tile + ty) * n"
    assert.equal(16, all)
    -- with the loads of an iteration of sums, of which there are two: not all at once
    for between in text:gsub("call <16 x float> @llvm.fma[^\n]*", "\0"):gmatch "[^\0]+" do
      assert.is_true(count(between, "call void @llvm.prefetch") <= 2)
    end
    assert.equal(16, (count_prefetches "(tile + ty) * 2048"))
    assert.equal(0, (count_prefetches "(tile + ty) * 16")) -- near ones
    assert.equal(0, (count_prefetches("(tile + ty) * n", "__threadfence_block();"))) -- without a barrier
    assert.equal(0, (count_prefetches("(tile + ty) * n", nil, "x86-64-v3"))) -- vectors that are not lines
  end)

  it("but not if out-of-order execution suffices", function()
    assert.equal(0, count(ir(sum:gsub("STEP", "256"), "_Z3sumiPKfPf:256x1x1"), "call void @llvm.prefetch"))
  end)

  local turn = [[
    __global__ void turn(int n, const float *x, float *o) {
      __shared__ float part[256];
      int t = threadIdx.x, first = FIRST;
      part[t] = x[first + t];
      WAIT
      o[blockIdx.x * 256 + t] = part[255 - t];
    }]]
  local function turning(first, wait, class, processor)
    local text = turn:gsub("FIRST", first):gsub("WAIT", wait or "__syncthreads();")
    return ir(text, class or "_Z4turniPKfPf:256x1x1", processor)
  end

  it("for the next block, in kernels with barriers, if its addresses are known", function()
    local text = turning "blockIdx.x * 256"
    assert.equal(16, count(text, "call void @llvm.prefetch")) -- a line of each of 16 vectors
    assert.is_true(count(text, "i64 1024") >= 1) -- bytes, from the first
    assert.equal(16, count(turning "2560 - blockIdx.x * 256", "call void @llvm.prefetch"))
    assert.equal(0, count(turning "blockIdx.x * n", "call void @llvm.prefetch"))
    assert.equal(0, count(turning "blockIdx.y * 256", "call void @llvm.prefetch")) -- the same for the next one
    assert.equal(0, count(turning "blockIdx.x", "call void @llvm.prefetch")) -- or nearly
    -- once for each line, if vectors are shorter
    assert.equal(16, count(turning("blockIdx.x * 256", nil, nil, "x86-64-v3"), "call void @llvm.prefetch"))
  end)

  it("at several places of one array, for later blocks", function()
    local function prefetches_of(loads)
      local text = ([[
        __global__ void sum(int n, const float *x, const float *y, float *o) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) o[i] = %s;
        }]]):format(loads)
      return count(ir(text, "_Z3sumiPKfS0_Pf:256x1x1"), "call void @llvm.prefetch")
    end
    assert.equal(2 * 2 * 4, prefetches_of "x[i] + x[i + n]") -- of each of 4 vectors; also on the divergent path
    assert.equal(2 * 2 * 4, prefetches_of "x[i] + x[i + n] + y[i]")
    assert.equal(0, prefetches_of "x[i] + y[i + n]")
    assert.equal(0, prefetches_of "x[i] + x[i * n]") -- one of them is a gather
    local many = {}
    for k = 1, 20 do many[k] = ("x[i + %d * n]"):format(k) end
    assert.equal(0, prefetches_of(table.concat(many, " + ")))
  end)

  it("but not for the next block if this one is short", function()
    assert.equal(0, count(turning("blockIdx.x * 256", ""), "call void @llvm.prefetch"))
  end)

  it("without effect on results", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile((sum:gsub("STEP", "gridDim.x * blockDim.x")) .. columns:gsub("FIRST", "0") ..
      turn:gsub("FIRST", "blockIdx.x * 256"):gsub("WAIT", "__syncthreads();"))
    for _, blocks in ipairs { 5, 1 } do -- 16 iterations and 600
      local n, data, expected = blocks == 1 and 256 * 600 or 20000, {}, {}
      for i = 1, n do
        data[i] = i % 13
        local block = (i - 1) // 256 % blocks + 1
        expected[block] = (expected[block] or 0) + data[i]
      end
      local o = mw.zeros(blocks)
      m.sum(blocks, 256)(n, mw.array(data), o)
      assert.same(expected, o:totable())
    end
    local width, height, data, expected = 512, 40, {}, {}
    for i = 1, width * height do
      data[i] = i % 17
      local column = (i - 1) % width + 1
      expected[column] = (expected[column] or 0) + data[i]
    end
    local o = mw.zeros(width)
    m.columns(2, 256)(width, height, mw.array(data), o)
    local x, turned = {}, mw.zeros(1024)
    for i = 1, 1024 do x[i] = i end
    m.turn(4, 256)(1024, mw.array(x), turned)
    for block = 0, 3 do
      for t = 1, 256 do assert.equal(block * 256 + 257 - t, turned[block * 256 + t]) end
    end
    mw.limit("specialise", before)
    assert.same(expected, o:totable())
  end)
end)
