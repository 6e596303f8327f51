-- Linear forms of addresses: one pointer for each row of a gang, however its index is written.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- Sums over the rows of a and the columns of b, from a row and a column that may be negative.
local product = [[
  __global__ void product(int n, int row0, int column0, const int *a, const int *b, int *c) {
    int column = blockIdx.x * blockDim.x + threadIdx.x + column0, row = blockIdx.y * blockDim.y + threadIdx.y + row0;
    int sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
  }]]
local plain = product:gsub("%+ column0", ""):gsub("%+ row0", "")

describe("addresses that are sums", function()
  it("are incremented with the loop's counter", function()
    local text = mwcc.ir(plain, "_Z7productiiiPKiS0_Pi:16x16x1")
    local loop
    for block in text:gmatch "\nnode%d+:.-\n\n" do
      if block:find "= mul <16 x i32>" then loop = loop or block end
    end
    assert.is_truthy(loop)
    -- the counter, and its row of b, but not each row of a
    assert.equal(2, mwcc.count(loop, "[sz]ext [^\n]*to i64"))
  end)

  it("are right, even from an element in the middle of an array", function()
    local before = mw.limit("specialise", 0)
    local m, n = mw.compile(product), 32
    local x = {}
    for i = 1, n * n do x[i] = i * i % 23 - 11 end
    local a, b = mw.array(x, "int"), mw.array(x, "int")
    for _, block in ipairs { { 16, 16 }, { 32, 8 }, { 8, 8 }, { 16, 1 } } do
      local c = mw.zeros(n * n, "int")
      m.product({ n // block[1], n // block[2] }, block)(n, 0, 0, a, b, c)
      local got = c:totable()
      for row = 0, n - 1 do
        for column = 0, n - 1, 5 do
          local sum = 0
          for k = 0, n - 1 do sum = sum + x[row * n + k + 1] * x[k * n + column + 1] end
          assert.equal(sum, got[row * n + column + 1])
        end
      end
    end
    -- rows and columns before the pointer's element
    local shifted = mw.compile [[
      __global__ void shifted(int n, int row0, int column0, const int *a, int *c) {
        int column = threadIdx.x + column0, row = threadIdx.y + row0;
        const int *middle = a + (n / 2) * n + n / 2;
        int sum = 0;
        for (int k = -2; k <= 2; k++) sum = sum * 3 + middle[row * n + column + k];
        c[threadIdx.y * 16 + threadIdx.x] = sum;
      }]]
    local c = mw.zeros(256, "int")
    shifted.shifted(1, { 16, 16 })(n, -12, -9, a, c)
    local got = c:totable()
    for y = 0, 15 do
      for t = 0, 15 do
        local sum = 0
        for k = -2, 2 do sum = sum * 3 + x[(n // 2 + y - 12) * n + n // 2 + t - 9 + k + 1] end
        assert.equal(sum, got[y * 16 + t + 1])
      end
    end
    mw.limit("specialise", before)
  end)
end)
