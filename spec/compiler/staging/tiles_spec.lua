-- Staging elimination for tiles: tiles of matrix products that blocks copy to shared memory are read in place.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- A product by square tiles of T, with placeholders for variants.
local text = [[
  PREAMBLE
  extern "C" __global__ void product(int n, const T *a, const T *b, T *c) {
    __shared__ T as[B][B PAD], bs[B][B PAD];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * B + tx, row = blockIdx.y * B + ty;
    T sum = 0;
    GUARD
    for (LOOP) {
      AHEAD
      PUT_A;
      PUT_B;
      __syncthreads();
      for (int k = 0; k < B; k++) sum += GET_A * GET_B;
      BEHIND
      __syncthreads();
    }
    c[row * n + column] = sum;
  }]]

local usual = {
  PREAMBLE = "", T = "float", B = "16", PAD = "", GUARD = "", LOOP = "int tile = 0; tile < n; tile += B", AHEAD = "",
  PUT_A = "as[ty][tx] = a[row * n + tile + tx]", PUT_B = "bs[ty][tx] = b[(tile + ty) * n + column]",
  GET_A = "as[ty][k]", GET_B = "bs[k][tx]", BEHIND = "",
}

local function source(changes)
  local all = setmetatable(changes or {}, { __index = usual })
  local made = text:gsub("%u[%u_]+", function(word) return rawget(all, word) or usual[word] end)
  return (made:gsub("%f[%w_][TB]%f[^%w_]", function(word) return rawget(all, word) or usual[word] end))
end

local function size(changes) return tonumber(changes and changes.B or usual.B) end

-- Whether the code for such blocks, in grids of even width, uses no shared memory.
local function is_unstaged(changes, columns)
  local class = ("product:%dx%dx1%s"):format(size(changes), size(changes), columns or ":2")
  local report = mwcc.run(source(changes), "--verify --mcpu=x86-64-v4 --report --launch=" .. class)
  assert.matches("kernel product: simd", report)
  local line = select(2, source(changes):match("^(.-)bs%[t[xy]%]%["):gsub("\n", "")) + 1
  return not report:find(("\n *%d:%%d+ +[^\n]*store"):format(line))
end

-- Small integers, so that sums are exact in any order.
local function numbers(n, factor, dtype)
  local list = {}
  for i = 1, n do list[i] = i * factor % 13 - 6 end
  return mw.array(list, dtype)
end

local function multiply(n, a, b)
  local left, right, c = a:totable(), b:totable(), {}
  for row = 0, n - 1 do
    for column = 0, n - 1 do
      local sum = 0
      for k = 0, n - 1 do sum = sum + left[row * n + k + 1] * right[k * n + column + 1] end
      c[row * n + column + 1] = sum
    end
  end
  return c
end

describe("products by tiles in shared memory", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  local function check(changes, n)
    local dtype, tile = changes and changes.T or usual.T, size(changes)
    local kernel = mw.compile(source(changes)).product
    local a, b, c = numbers(n * n, 7, dtype), numbers(n * n, 5, dtype), mw.full(n * n, -1, dtype)
    for _ = 1, 2 do kernel({ n // tile, n // tile }, { tile, tile })(n, a, b, c) end
    assert.same(multiply(n, a, b), c:totable())
  end

  describe("are read in place", function()
    local forms = {
      { "as they are mostly written" },
      { "in blocks of 32 x 32", { B = "32" } },
      { "of doubles", { T = "double" } },
      { "with columns more than a tile has", { PAD = "+ 1" } },
      { "where tiles are counted", { LOOP = "int t = 0; t < n / B; t++", PUT_A = "as[ty][tx] = a[row * n + t * B + tx]",
        PUT_B = "bs[ty][tx] = b[(t * B + ty) * n + column]" } },
      { "where the first tile is another one than that at 0", { LOOP = "int tile = -B; tile < n - B; tile += B",
        PUT_A = "as[ty][tx] = a[row * n + tile + B + tx]", PUT_B = "bs[ty][tx] = b[(tile + B + ty) * n + column]" } },
      { "put into the tile by columns", { PUT_A = "as[tx][ty] = a[row * n + tile + tx]", GET_A = "as[k][ty]" } },
      { "where threads wait before they fill tiles, too", { AHEAD = "__syncthreads();" } },
      { "by 64-bit indices", { PUT_B = "bs[ty][tx] = b[(size_t)(tile + ty) * n + column]" } },
      { "from rows that begin at multiples of a tile", { PREAMBLE = "#define TILES (n / 16)",
        PUT_A = "as[ty][tx] = a[row * TILES * 16 + tile + tx]" } },
      { "by indices that wrap on the way",
        { PUT_A = "as[ty][tx] = a[(int)(row * n + 4000000000u + tile) + tx + 294967296]" } },
      { "from parameters of each block's own", { PREAMBLE = "#define OFFSET (blockIdx.z * n)",
        PUT_A = "as[ty][tx] = (a + OFFSET)[row * n + tile + tx]" } },
    }
    for _, form in ipairs(forms) do
      it(form[1], function()
        assert.is_true(is_unstaged(form[2]))
        local tile = size(form[2])
        for _, count in ipairs { 1, 2, 3, 4 } do check(form[2], count * tile) end
      end)
    end

    it("except for rows of one cache line in grids of odd width", function()
      assert.is_false(is_unstaged(nil, ""))
      assert.is_true(is_unstaged({ B = "32" }, ""))
    end)
  end)

  describe("are copied", function()
    local forms = {
      { "if a tile is not filled whole", { PUT_A = "if (tile + tx < n - 1) as[ty][tx] = a[row * n + tile + tx]" } },
      { "if something else is put there", { PUT_A = "as[ty][tx] = a[row * n + tile + tx] + 0 * n" } },
      { "if the index is another one", { GET_A = "as[ty][k ^ 1]", GET_B = "bs[k ^ 1][tx]" } },
      { "if some threads do not come", { GUARD = "if (column >= n) return;" } },
      { "if others may tell their blocks by it", { GUARD = "if (blockIdx.x >= n) return;" } },
      { "if something is stored meanwhile", { BEHIND = "c[row * n + column] = sum;" } },
      { "if something is stored before", { GUARD = "c[row * n + column] = n;" } },
      { "if the tiles do not follow each other", { LOOP = "int tile = 0; tile < n; tile += B",
        PUT_A = "as[ty][tx] = a[row * n + (n - B - tile) + tx]",
        PUT_B = "bs[ty][tx] = b[(n - B - tile + ty) * n + column]" } },
      { "if the far index is extended by itself",
        { PUT_B = "bs[ty][tx] = (b + (size_t)tile * n)[ty * n + column]" } },
      { "if tiles and threads go by numbers that are extended in two ways",
        { PUT_B = "bs[ty][tx] = b[tile * (unsigned short)n + ty * (short)n + column]" } },
      { "if nobody can tell in time of what addresses are made", { PREAMBLE = "#define SQUARE h *= h;",
        GUARD = "unsigned h = n >> 20; " .. ("SQUARE "):rep(26), -- which is 0
        PUT_A = "as[ty][tx] = a[h + row * n + tile + tx]" } },
      { "if the memory is volatile", { PUT_A = "as[ty][tx] = ((const volatile T *)a)[row * n + tile + tx]" } },
    }
    for _, form in ipairs(forms) do
      it(form[1], function()
        assert.is_false(is_unstaged(form[2]))
        for _, count in ipairs { 2, 4 } do
          if not form[1]:find "filled" then check(form[2], count * 16) end
        end
      end)
    end
  end)

  it("may be overwritten in place, by a single block", function()
    local kernel = mw.compile(source { B = "32" }).product
    local a, b = numbers(32 * 32, 7), numbers(32 * 32, 5)
    local want = multiply(32, a, b)
    kernel(1, { 32, 32 })(32, a, b, a)
    assert.same(want, a:totable())
    a = numbers(32 * 32, 7)
    kernel(1, { 32, 32 })(32, a, b, b)
    assert.same(want, b:totable())
  end)

  it("have the source line of an invalid address", function()
    local kernel = mw.compile(source()).product
    kernel({ 2, 2 }, { 16, 16 })(32, mw.zeros(1024), mw.zeros(1024), mw.zeros(1024))
    mw.synchronize()
    kernel({ 2, 2 }, { 16, 16 })(32, mw.zeros(1024), nil, mw.zeros(1024))
    local _, err = pcall(mw.synchronize)
    local line = select(2, source():match("^(.-)bs%[ty%]%[tx%] ="):gsub("\n", "")) + 1
    assert.equal(line, err.line)
  end)
end)
