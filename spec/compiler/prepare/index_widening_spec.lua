-- 32-bit indices that are sums of several terms: their lanes are contiguous though lane 0's sum may wrap.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local text = [[
  __global__ void rows(const int *a, int *o, int columns, int first, int steps, int halo) {
    int x = (blockDim.x - 2 * halo) * blockIdx.x - halo + threadIdx.x;
    int sum = 0;
    for (int s = 0; s < steps; s++)
      if (x >= 0 && x < columns) sum = sum * 3 + a[columns * (first + s) + x];
    if (x >= 0 && x < columns && threadIdx.x >= halo && threadIdx.x < blockDim.x - halo) o[x] = sum;
  }]]

describe("an index that is a sum of terms", function()
  it("is contiguous", function()
    local function report(options)
      return mwcc.run(text, "--report --mcpu=x86-64-v4 --launch=_Z4rowsPKiPiiiii:64x1x1 " .. (options or ""))
    end
    assert.matches("\n +5:%d+  contiguous load\n", report())
    assert.matches("kernel _Z4rowsPKiPiiiii: 5:%d+ is a 64%-bit index of lanes, term by term\n", report())
    assert.is_nil(report "--without=index-widening":find("\n +5:%d+  contiguous load\n"))
  end)

  it("stays as it is where a term may wrap", function()
    local other = [[extern "C" __global__ void f(const int *a, int *o, unsigned k, int first) {
      int x = (int)(threadIdx.x + k);
      o[threadIdx.x] = a[x + first];
    }]]
    local report = mwcc.run(other, "--report --launch=f:64x1x1")
    assert.matches("kernel f: 3:%d+ stays a 32%-bit index: a term that differs between lanes may wrap\n", report)
  end)

  it("has the right elements, also where a row begins before the first column", function()
    local m, columns, steps = mw.compile(text), 100, 5
    local list = {}
    for i = 1, columns * 12 do list[i] = i * 7 % 31 end
    local a, before = mw.array(list, "int"), mw.limit("specialise", 0)
    for _, halo in ipairs { 0, 1, 3, 20 } do
      for _, first in ipairs { 0, 3, 7 } do
        local o, inner = mw.zeros(columns, "int"), 64 - 2 * halo
        m.rows(mw.cdiv(columns, inner) + 1, 64)(a, o, columns, first, steps, halo)
        local got = o:totable()
        for x = 0, columns - 1 do
          local sum = 0
          for s = 0, steps - 1 do sum = sum * 3 + list[columns * (first + s) + x + 1] end
          assert.equal(sum, got[x + 1])
        end
      end
    end
    mw.limit("specialise", before)
  end)
end)
