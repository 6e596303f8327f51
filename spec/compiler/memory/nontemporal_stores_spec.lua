-- Non-temporal stores of whole cache lines that are not read soon; and that they behave like other stores.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local child = require "support.child"
local mwcc = require "support.mwcc"
local ir, count = mwcc.ir, mwcc.count

local copy = [[
  __global__ void copy(int n, int from, const int *x, int *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[from + i] = 3 * x[i];
  }]]

-- Thread t of a block has elements t and t + 256 of 512.
local both = [[
  __global__ void both(int n, int from, const int *x, int *o) {
    int i = blockIdx.x * 512 + threadIdx.x;
    o[from + i] = 3 * x[i];
    o[SECOND] = 3 * x[i + 256];
  }]]

local transpose = [[
  __global__ void transpose(int n, const float *x, float *o) {
    __shared__ float tile[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x * 16, by = blockIdx.y * 16;
    tile[ty][tx] = x[(by + ty) * n + bx + tx];
    __syncthreads();
    o[(bx + ty) * n + by + tx] = tile[tx][ty];
  }]]

local class = "_Z4copyiiPKiPi:256x1x1"
local function streamed(source, of) return count(ir(source, of or class), "!nontemporal") end

describe("non-temporal stores", function()
  it("are used if the written data exceeds the caches", function()
    local function held(workers)
      local script = 'io.write(("%d"):format(mw.properties().l2_cache))'
      local result = child { 'local mw = require "moonwarp" ' .. script, environment = { MOONWARP_THREADS = workers } }
      return assert(tonumber(result.output), result.output)
    end
    local one, two, all = held "1", held "2", held "64"
    assert.is_true(one > 0 and one <= 16 << 20)
    assert.is_true(two >= one and two <= 32 << 20)
    assert.is_true(all >= two)
  end)

  it("are of whole lines, in large launches, with a fence after them", function()
    local text = ir(copy, class)
    assert.equal(4, count(text, "!nontemporal"))
    assert.equal(1, count(text, "call void @llvm.x86.sse.sfence"))
    assert.equal(16, streamed(transpose, "_Z9transposeiPKfPf:16x16x1"))
  end)

  it("are used for each of several stores that write whole lines", function()
    local function streams(second) return streamed(both:gsub("SECOND", second), "_Z4bothiiPKiPi:256x1x1") end
    local parts = streams "from + i + 256" / 2
    assert.is_true(parts >= 1)
    assert.equal(0, parts % 1)
    assert.equal(0, streams "2 * i") -- not whole lines, and possibly lines of the other store
    assert.equal(0, streams "i ^ 1")
    local tiles = transpose:gsub("16%]%[17", "32][33"):gsub("%* 16", "* 32")
      :gsub("(tile%[ty)(%].-by %+ ty)", "for (int j = 0; j < 32; j += 8) %1 + j%2 + j")
      :gsub("(o%[%(bx %+ ty)(.-ty)", "for (int j = 0; j < 32; j += 8) %1 + j%2 + j")
    assert.equal(64, streamed(tiles, "_Z9transposeiPKfPf:32x8x1")) -- of 32 x 32 elements
  end)

  it("may consist of several vectors for each line", function()
    local text = mwcc.run(copy, "--verify --mcpu=x86-64-v3 --emit=asm --launch=" .. class)
    assert.equal(4, count(text, "vmovnt"))
    assert.equal(4, count(ir(copy:gsub("int %*", "short *"), "_Z4copyiiPKsPs:256x1x1"),
      "!nontemporal"))
    local rows = mwcc.run(transpose, "--verify --mcpu=x86-64-v3 --emit=asm --launch=_Z9transposeiPKfPf:16x16x1")
    assert.equal(32, count(rows, "vmovnt")) -- sixteen rows of two vectors
    rows = mwcc.run(transpose:gsub("16", "8"), "--verify --mcpu=x86-64-v3 --emit=asm --launch=_Z9transposeiPKfPf:8x8x1")
    assert.equal(0, count(rows, "vmovnt")) -- a row is half a line
  end)

  it("of blocks in a column are neighbours in a transposition, as the image records", function()
    local function column_bytes(source, of)
      local text = mwcc.run(source, "--emit=ir --launch=" .. of)
      return tonumber((assert(text:match "ptr @fits[^,]*, ptr [^,]*, i32 %d, i32 %d, i32 %d, i32 %d, i32 (%d+)", text)))
    end
    assert.equal(16 * 16 * 4, column_bytes(transpose, "_Z9transposeiPKfPf:16x16x1"))
    assert.equal(0, column_bytes(copy, class))
    local rows = transpose:gsub("o%[.-%]", "o[(by + ty) * n + bx + tx]")
    assert.equal(0, column_bytes(rows, "_Z9transposeiPKfPf:16x16x1"))
    local narrow = transpose:gsub("%* n", "* 32")
    assert.equal(0, column_bytes(narrow, "_Z9transposeiPKfPf:16x16x1")) -- all blocks store to nearby memory
  end)

  it("are complete, for any distribution of rows of blocks over workers", function()
    local script = [=[
      local mw = require "moonwarp"
      mw.limit("specialise", 0)
      local m = mw.compile([[%s
        __global__ void count(float *x) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          x[i] = i;
        }
        __global__ void differences(int n, int rows, const float *o, int *wrong) {
          int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
          if (o[x * n + y] != (y < rows ? y * n + x : -1)) atomicAdd(wrong, 1);
        }]])
      local side = 4096 -- 64 MiB
      local from, to, wrong = mw.empty(side * side), mw.empty(side * side), mw.zeros(1, "int")
      for _, rows in ipairs { 256, 255, 100, 9, 1 } do -- of blocks
        for _ = 1, 2 do -- three long kernels: each of them runs once forwards and once backwards
          mw.synchronize() -- their times are known then
          m.count(side * side // 256, 256)(from)
          to:fill(-1)
          m.transpose({ 256, rows }, { 16, 16 })(side, from, to)
          m.differences({ 16, side }, 256)(side, rows * 16, to, wrong)
        end
      end
      print(wrong[1])
    ]=]
    for _, workers in ipairs { "1", "2", "3", "7" } do
      local result = child { script:format(transpose), environment = { MOONWARP_THREADS = workers } }
      assert.equal("0\n", result.output)
    end
  end)

  it("are not used if the array is read, or written elsewhere", function()
    assert.equal(0, streamed((copy:gsub("3 %* x", "o[i] + x"))))
    assert.equal(0, streamed((copy:gsub("if %(i < n%)", "o[i ^ 1] = 7; if (i < n)"))))
    assert.equal(0, streamed((copy:gsub("if %(i < n%)", "if (n < 0) atomicAdd(o, 1); if (i < n)"))))
  end)

  it("are not used in loops, for parts of lines, or for volatile stores", function()
    assert.equal(0, streamed((copy:gsub("if %(i < n%)", "for (; n > 0; n--, from += 1000)"))))
    assert.equal(0, streamed((copy:gsub("from %+ i", "2 * i"))))
    assert.equal(0, streamed((copy:gsub("o%[", "((volatile int *)o)["))))
  end)

  it("are not used if the kernel orders memory itself", function()
    assert.equal(0, streamed((copy:gsub("if %(i < n%)", "__threadfence(); if (i < n)"))))
  end)

  it("have the same results as others, at any address and length", function()
    local before = mw.limit("specialise", 0)
    local m, n = mw.compile(copy), 9 * 2 ^ 20 | 0 -- 36 MiB: more than some processors' caches hold
    local x, o = mw.empty(n, "int"), mw.empty(n, "int")
    mw.compile([[__global__ void count(int *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = i; }]])
      .count(n // 256, 256)(x)
    local sum = mw.compile [[
      __global__ void differences(int n, int from, const int *x, const int *o, int *count) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (o[i] != (i >= from && i < from + n ? 3 * (i - from) : -1)) atomicAdd(count, 1);
      }]]
    for _, case in ipairs { { n, 0 }, { n - 1, 0 }, { n - 16, 16 }, { n - 19, 3 } } do
      local length, from = case[1], case[2]
      local wrong = mw.zeros(1, "int")
      o:fill(-1)
      m.copy(mw.cdiv(length, 256), 256)(length, from, x, o)
      sum.differences(n // 256, 256)(length, from, x, o, wrong)
      assert.equal(0, wrong[1])
    end
    local twice, wrong = mw.compile((both:gsub("SECOND", "from + i + 256"))), mw.zeros(1, "int")
    o:fill(-1)
    twice.both(n // 512 - 1, 256)(n, 512, x, o)
    sum.differences(n // 256, 256)(n - 512, 512, x, o, wrong)
    assert.equal(0, wrong[1])
    m.copy(n // 256, 256)(n, 0, x, x) -- in place
    assert.equal(3 * (n - 1), x[n])
    mw.limit("specialise", before)
  end)

  it("are visible to the host and to later kernels", function()
    local before = mw.limit("specialise", 0)
    local m, side = mw.compile(transpose), 3072 -- 36 MiB
    local x = mw.compile [[
      __global__ void count(float *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        x[i] = i;
      }]]
    local from, to = mw.empty(side * side), mw.empty(side * side)
    x.count(side * side // 256, 256)(from)
    for _ = 1, 3 do
      m.transpose({ side // 16, side // 16 }, { 16, 16 })(side, from, to)
      from, to = to, from
    end
    for _, at in ipairs { { 0, 1 }, { 17, 3000 }, { 3071, 3070 }, { 1234, 0 } } do
      assert.equal(at[2] * side + at[1], from[at[1] * side + at[2] + 1])
    end
    mw.limit("specialise", before)
  end)
end)
