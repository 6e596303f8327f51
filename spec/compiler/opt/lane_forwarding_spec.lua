-- Forwarding of lanes through shared memory, where a block is one gang. (src/mwcc/opt/lane_forwarding.c)
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local files = require "support.files"
local mwcc = require "support.mwcc"

local count = mwcc.count

local function ir(source, class)
  return mwcc.run(source, "--verify --mcpu=x86-64-v4 --without=constant-lanes --emit=ir --launch=" .. class)
end

-- A table that is filled by anti-diagonals: [x + 1][j + 1] in step x + j. STEP may be more statements.
local function diagonals(step, type)
  return (([[
    __global__ void fill(const T *in, T *out, int n) {
      __shared__ T table[17][17];
      int x = threadIdx.x, at = blockIdx.x * 16 + x;
      table[0][x + 1] = table[x + 1][0] = in[at];
      if (x == 0) table[0][0] = 7;
      __syncthreads();
      for (int d = 0; d < 31; d++) {
        int j = d - x;
        if (j >= 0 && j < 16) table[x + 1][j + 1] = 3 * table[x][j] + table[x][j + 1] - table[x + 1][j];
        __syncthreads();
        STEP
      }
      out[at] = table[x + 1][16];
    }]]):gsub("STEP", step):gsub("%f[%w]T%f[%W]", type))
end

local function expected(numbers, first)
  local t = { [0] = { [0] = 7 } }
  for x = 1, 16 do t[0][x], t[x] = numbers[first + x], { [0] = numbers[first + x] } end
  local out = {}
  for x = 1, 16 do
    for j = 1, 16 do t[x][j] = (3 * t[x - 1][j - 1] + t[x - 1][j] - t[x][j - 1]) & 0xffffffff end
    out[x] = t[x][16]
  end
  return out
end

describe("shared memory of a block that is one gang", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  it("is in registers along diagonals", function()
    local text = ir(diagonals("", "int"), "_Z4fillPKiPii:16x1x1")
    assert.equal(1, count(text, "call <16 x i32> @llvm.masked.gather")) -- of the last column, from 16 vectors
    assert.equal(16, count(text, "call void @llvm.masked.scatter")) -- of the last column, a lane each
    text = ir(diagonals("", "double"), "_Z4fillPKdPdi:16x1x1")
    assert.is_true(count(text, "call <%d+ x double> @llvm.masked.gather") <= 2)
  end)

  it("is in registers at strides that are powers of two, in blocks of many vectors", function()
    local text = ir(files.read "bench/held/strides/strides.cu", "sweep_sums:256x1x1")
    assert.equal(0, count(text, "call <16 x i32> @llvm.masked.gather"))
    assert.equal(0, count(text, "call void @llvm.masked.scatter.v16i32"))
    assert.equal(32, count(text, "store <16 x i32>"))
  end)

  it("is loaded after a store to an unknown place", function()
    local text = ir(diagonals("if (x == 0) table[n & 15][n & 15] = 1; __syncthreads();", "int"), "_Z4fillPKiPii:16x1x1")
    assert.is_true(count(text, "call <16 x i32> @llvm.masked.gather") > 30)
  end)

  it("has the values of the source", function()
    for _, type in ipairs { "unsigned", "unsigned long long" } do
      local m = mw.compile(diagonals("", type))
      local numbers = {}
      for i = 1, 48 do numbers[i] = i * 29 % 17 end
      local dtype = type == "unsigned" and "uint" or "uint64"
      local x, out = mw.array(numbers, dtype), mw.zeros(48, dtype)
      m.fill(3, 16)(x, out, 0)
      for block = 0, 2 do
        local values = expected(numbers, 16 * block)
        for t = 1, 16 do
          assert.equal(values[t], out[16 * block + t] & 0xffffffff, ("%s, block %d, %d"):format(type, block, t))
        end
      end
    end
  end)

  it("has what each lane stored last, under constant and other conditions", function()
    local m = mw.compile [[
      __global__ void lanes(const int *in, int *out, int n) {
        __shared__ int line[32], pairs[64];
        int x = threadIdx.x;
        line[x] = in[x];
        pairs[2 * x] = x, pairs[2 * x + 1] = -x;
        __syncthreads();
        for (int d = 0; d < 6; d++) {
          int v = line[31 - x] + pairs[(5 * x + d) % 64];
          __syncthreads();
          if (x % 3 == d % 3) line[x] = v;
          if (in[x] > n) pairs[(2 * x + d) % 64] = d;
          __syncthreads();
        }
        out[x] = line[x] + 100 * pairs[2 * x] + 7 * pairs[63 - 2 * x];
      }]]
    local numbers = {}
    for i = 1, 32 do numbers[i] = i * 37 % 41 end
    for _, n in ipairs { -1, 20, 99 } do
      local out = mw.zeros(32, "int")
      m.lanes(1, 32)(mw.array(numbers, "int"), out, n)
      local line, pairs_of = {}, {}
      for x = 0, 31 do line[x], pairs_of[2 * x], pairs_of[2 * x + 1] = numbers[x + 1], x, -x end
      for d = 0, 5 do
        local v = {}
        for x = 0, 31 do v[x] = line[31 - x] + pairs_of[(5 * x + d) % 64] end
        for x = 0, 31 do
          if x % 3 == d % 3 then line[x] = v[x] end
          if numbers[x + 1] > n then pairs_of[(2 * x + d) % 64] = d end
        end
      end
      for x = 0, 31 do
        assert.equal(line[x] + 100 * pairs_of[2 * x] + 7 * pairs_of[63 - 2 * x], out[x + 1], ("%d, %d"):format(n, x))
      end
    end
  end)
end)
