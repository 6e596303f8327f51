-- Shared tiles whose rows lanes own are stored by columns.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local text = [[
  extern "C" __global__ void rows(const float *in, float *out, int n) {
    __shared__ float a[16][17];
    int x = threadIdx.x;
    for (int i = 0; i < 16; i++) a[i][x] = in[16 * i + x];
    __syncthreads();
    for (int step = 0; step < n; step++) {
      for (int k = 1; k < 16; k++) a[x][k] += a[x][k - 1] * a[ROW][COLUMN];
      __syncthreads();
    }
    EXTRA
    for (int i = 0; i < 16; i++) out[16 * i + x] = a[i][x];
  }]]

local function with(row, column, extra)
  return (text:gsub("ROW", row):gsub("COLUMN", column):gsub("EXTRA", extra or ""))
end

local function is_by_columns(source)
  local report = mwcc.run(source, "--report --mcpu=x86-64-v4 --launch=rows:16x1x1")
  return report:find("stored by columns", 1, true) ~= nil
end

local function check(source)
  local before = mw.limit("specialise", 0)
  local list = {}
  for i = 1, 256 do list[i] = i * 7 % 13 / 4 - 1 end
  local a, one, other = mw.array(list), mw.zeros(256), mw.zeros(256)
  mw.compile(source).rows(1, 16)(a, one, 3)
  mw.compile { source = source, options = { "-G", "--width=1" } }.rows(1, 16)(a, other, 3)
  mw.limit("specialise", before)
  assert.same(other:totable(), one:totable())
end

describe("a shared tile", function()
  it("is stored by columns where lanes own its rows", function()
    for _, source in ipairs { with("x", "k"), with("x", "15 - k"), with("x", "0"),
      with("x", "k", "if (x == 0) a[0][0] += 5;") } do
      assert.is_true(is_by_columns(source))
      check(source)
    end
  end)

  it("has columns that begin at addresses of no other alignment than an element's", function()
    local source = with("x", "k", "a[x + 1 & 15][0] += 1; if (x < 15) a[x + 1][0] *= 2; __syncthreads();")
      :gsub("float a%[16%]%[17%]", "__align__(128) float a[16][32]")
    assert.is_true(is_by_columns(source))
    check(source)
    local ir = mwcc.run(source, "--mcpu=x86-64-v4 --stop-after=tile-layout --launch=rows:16x1x1")
    for align in ir:gmatch "%f[%w]store float [^\n]*align (%d+)" do assert.equal("4", align) end
  end)

  it("is not where an index may be in another row, or its address escapes", function()
    for _, source in ipairs {
      with("0", "17 * x + k"), with("x", "n"), with("x", "k", "if (n > 50) out[0] = *(&a[0][0] + n);"),
      with("x", "k", "volatile float *p = &a[x][0]; out[x] = *p;"),
      with("x", "k", "out[x] = (float)(long long)&a[x][0];"),
    } do
      assert.is_false(is_by_columns(source))
    end
    check(with("0", "17 * x + k"))
  end)

  it("is not where lanes mostly access neighbours", function()
    assert.is_false(is_by_columns((with("x", "k"):gsub("a%[x%]%[k%] %+= a%[x%]%[k %- 1%] %* a%[x%]%[k%]",
      "a[k][x] += a[k - 1][x] * a[x][k]"))))
  end)
end)
