-- Vectors that a long block loads at its beginning and uses late: they are loaded when their turn is near.
-- Lua 5.4 only: what is tested is the compiler.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local ROUNDS, LANES = 120, 16

local text = [[
  #define WORK _Pragma("unroll") for (int k = 1; k <= ]] .. ROUNDS .. [[; k++) sum = (sum ^ k) * 5;
  extern "C" {
  __global__ void late(const int *x, int *y, int *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, last = x[i], sum = x[i + 256];
    WORK
    o[i] = last - sum;
  }
  __global__ void stored(const int *x, int *y, int *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, last = x[i], sum = x[i + 256];
    WORK
    y[i] = sum;
    WORK
    o[i] = last - sum;
  }
  }
  __global__ void product(int n, const float *a, const float *b, float *c) {
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
      as[ty][tx] = a[row * n + tile + tx];
      bs[ty][tx] = b[(tile + ty) * n + column];
      __syncthreads();
      for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
      __syncthreads();
    }
    c[row * n + column] = sum;
  }]]

-- 32-bit arithmetic, as the kernels'
local function wrapped(number) return (number + (1 << 31)) % (1 << 32) - (1 << 31) end

local function worked(sum)
  for k = 1, ROUNDS do sum = wrapped((sum ~ k) * 5) end
  return sum
end

describe("vectors that are used late", function()
  local before, m
  setup(function()
    before = mw.limit("specialise", 1)
    m = mw.compile(text)
  end)
  teardown(function() mw.limit("specialise", before) end)

  -- How many multiplications of vectors come before each load of one, in their order.
  local function places(name, class)
    local body = assert(mwcc.ir(text, class):match("(define [^\n]*%." .. name .. "%(.-\n}\n)"))
    local list, done = {}, 0
    for line in body:gmatch "[^\n]+" do
      if line:find "= f?mul [%a ]*<%d+ x" then done = done + 1 end
      if line:find(("= load <%d x"):format(LANES)) then list[#list + 1] = done end
    end
    return list, done
  end

  it("are loaded not long before", function()
    local list, all = places("late", "late:16x1x1")
    assert.equal(ROUNDS, all)
    assert.equal(2, #list)
    assert.equal(0, list[1])
    assert.is_true(list[2] > ROUNDS / 4 and list[2] < ROUNDS - 16, table.concat(list, " "))
  end)

  it("are loaded row by row in a product by tiles", function()
    local list = places("_Z7productiPKfS0_Pf", "_Z7productiPKfS0_Pf:16x16x1")
    assert.equal(32, #list)
    local at_once = 0
    for _, place in ipairs(list) do at_once = at_once + (place == 0 and 1 or 0) end
    assert.is_true(at_once <= 16 + 5, table.concat(list, " "))
    for i = 2, #list do assert.is_true(list[i] - list[i - 1] <= 16, table.concat(list, " ")) end
  end)

  it("are loaded before a store that may change them", function()
    local list = places("stored", "stored:16x1x1")
    assert.is_true(list[2] < ROUNDS, table.concat(list, " "))
  end)

  it("have their values of before", function()
    local n, values = 256, {}
    for i = 1, 2 * n do values[i] = i * 7919 % 100003 - 50000 end
    for _, name in ipairs { "late", "stored" } do
      local x, o = mw.array(values, "int"), mw.zeros(n, "int")
      m[name](n / 16, 16)(x, x, o)
      local got = o:totable()
      for i = 1, n do
        local sum = worked(values[i + n])
        if name == "stored" then sum = worked(sum) end
        assert.equal(wrapped(values[i] - sum), got[i])
      end
    end
  end)

  it("have the right product", function()
    local n, a, b = 32, {}, {}
    for i = 1, n * n do a[i], b[i] = i * 31 % 17 - 8, i * 13 % 19 - 9 end
    local c = mw.zeros(n * n)
    m.product({ n / 16, n / 16 }, { 16, 16 })(n, mw.array(a), mw.array(b), c)
    local got = c:totable()
    for row = 0, n - 1 do
      for column = 0, n - 1 do
        local sum = 0.0
        for k = 1, n do sum = sum + a[row * n + k] * b[(k - 1) * n + column + 1] end
        assert.equal(sum, got[row * n + column + 1])
      end
    end
  end)
end)
