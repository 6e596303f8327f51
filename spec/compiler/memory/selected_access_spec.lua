-- Loads from places that lanes choose between: clamped and selected indices, and pointers to edges.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- Sums of neighbours in a row, of which the first and the last one to be used are known at run time.
local neighbours = [[
  __global__ void neighbours(int first, int last, int steps, const T *from, T *to) {
    __shared__ T tile[256];
    int x = threadIdx.x;
    tile[x] = from[blockIdx.x * 256 + x];
    __syncthreads();
    int west = x - 1 < first ? first : x - 1, east = x + 1 > last ? last : x + 1;
    T sum = 0;
    for (int i = 0; i < steps; i++) {
      sum = tile[west] + 3 * tile[east];
      __syncthreads();
      tile[x] = sum;
      __syncthreads();
    }
    to[blockIdx.x * 256 + x] = sum;
  }]]

-- Rows of a tile, whose neighbours at the edges come from elsewhere.
local edges = [[
  __global__ void edges(const int *image, int *to, int columns) {
    __shared__ int here[8][16], west[8];
    int x = threadIdx.x, y = threadIdx.y;
    long at = (blockIdx.y * 8 + y) * (long)columns + blockIdx.x * 16 + x;
    here[y][x] = image[at];
    if (x == 0) west[y] = blockIdx.x ? image[at - 1] : -5;
    __syncthreads();
    int left;
    if (x == 0) left = west[y];
    else left = here[y][x - 1];
    to[at] = 10 * left + here[y][x];
  }]]

local launches = { neighbours = "_Z10neighboursiiiPKiPi:256x1x1", edges = "_Z5edgesPKiPii:16x8x1" }

local function typed(source, type) return (source:gsub("%f[%w_]T%f[^%w_]", type)) end

local function text(source, kernel, options)
  return mwcc.run(source, ("--stop-after=vectorize %s --launch=%s"):format(options, launches[kernel]))
end

describe("loads from places that lanes choose between", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  it("are vector loads and scalar loads instead of gathers", function()
    for kernel, source in pairs { neighbours = typed(neighbours, "int"), edges = edges } do
      for _, processor in ipairs { "x86-64-v3", "x86-64-v4" } do
        local option = "--mcpu=" .. processor
        assert.equal(0, mwcc.count(text(source, kernel, option .. " --width=8x2"), "@llvm.masked.gather"))
        local report = mwcc.run(source, ("--report %s --launch=%s"):format(option, launches[kernel]))
        assert.is_nil(report:find "gather")
        assert.is_truthy(report:find "load of 2 places, by choice")
        assert.is_truthy(text(source, kernel, "--mcpu=x86-64-v3 --width=8x2 --without=selected-access")
          :find "@llvm.masked.gather")
      end
    end
  end)

  it("read what each lane chooses, wherever the edges are", function()
    for type, dtype in pairs { int = "int", double = "double", ["unsigned char"] = "uchar", short = "short" } do
      local m = mw.compile(typed(neighbours, type))
      local from, to = mw.empty(512, dtype), mw.zeros(512, dtype)
      for i = 1, 512 do from[i] = i * 7 % 5 end
      for _, edge in ipairs { { 0, 255 }, { 20, 255 }, { 0, 100 }, { 9, 9 }, { 250, 3 }, { 255, 0 } } do
        local first, last, tile, want = edge[1], edge[2], from:totable(), nil
        for _ = 1, 2 do
          want = {}
          for i = 0, 511 do
            local x, base = i % 256, i - i % 256
            want[i + 1] = tile[base + math.max(x - 1, first) + 1] + 3 * tile[base + math.min(x + 1, last) + 1]
          end
          tile = want
        end
        m.neighbours(2, 256)(first, last, 2, from, to)
        assert.same(want, to:totable())
      end
    end
  end)

  it("read an edge from another array", function()
    local m, columns, rows = mw.compile(edges), 48, 16
    local image, to, want = mw.empty(columns * rows, "int"), mw.zeros(columns * rows, "int"), {}
    for i = 1, columns * rows do image[i] = i * 31 % 101 end
    m.edges({ columns / 16, rows / 8 }, { 16, 8 })(image, to, columns)
    for i = 1, columns * rows do
      local first = (i - 1) % columns == 0
      want[i] = 10 * (first and -5 or image[i - 1]) + image[i]
    end
    assert.same(want, to:totable())
  end)

  it("do not read a place that no lane chooses", function()
    local m = mw.compile [[
      __global__ void far(const int *from, int *to, long long wild, int most) {
        __shared__ int tile[64];
        int x = threadIdx.x;
        tile[x] = 5 * x;
        __syncthreads();
        to[x] = *(x > most ? from + wild + x : &tile[x]) + *(x < most ? &tile[63 - most] : from + wild);
      }]]
    local from, to, want = mw.zeros(64, "int"), mw.zeros(64, "int"), {}
    for i = 1, 64 do from[i], want[i] = 100 + i, 5 * (i - 1) end
    m.far(1, 63)(from, to, 2 ^ 40, 63)
    for i = 1, 63 do assert.equal(want[i], to[i]) end
    m.far(1, 64)(from, to, 0, 20)
    for i = 0, 63 do
      assert.equal((i > 20 and 101 + i or 5 * i) + (i < 20 and 5 * 43 or 101), to[i + 1])
    end
  end)

  it("are loaded like that with their shadows, where values are checked", function()
    local ir = mwcc.after([[
      __global__ void nearest(int n, const float *in, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[i] = in[min(i + 1, n - 1)];
      }]], "vectorize", "--checks=8")
    assert.equal(2, mwcc.count(ir, "\nfollow%d*:"))
  end)

  it("stay gathers where a lane's index may wrap before it is extended", function()
    local source = [[
      __global__ void wraps(const int *from, int *to, unsigned short by, int limit) {
        __shared__ int tile[65536];
        int x = threadIdx.x;
        for (int i = x; i < 65536; i += 64) tile[i] = i;
        __syncthreads();
        unsigned short at = (unsigned short)(x + by);
        to[x] = tile[x == limit ? 3 : at];
      }]]
    local report = mwcc.run((source:gsub("65536", "4096")), "--report --mcpu=x86-64-v3 --launch=_Z5wrapsPKiPiti:64x1x1")
    assert.is_nil(report:find "by choice")
  end)
end)
