-- Unsigned indices of 32 bits with the counters of loops: contiguous if a bound shows that none wraps.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local columns = [[
  extern "C" __global__ void columns(const float *a, float *out, unsigned rows, unsigned pitch) {
    unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned k = LOOP) sum = sum * 3 + a[k * pitch + j];
    out[j] = sum;
  }]]

local function report(loop)
  return mwcc.run((columns:gsub("LOOP", loop)), "--report --mcpu=x86-64-v4 --launch=columns:64x1x1")
end

describe("an unsigned sum with a loop's counter", function()
  it("is contiguous on a path of its own, if its bound is small", function()
    for _, loop in ipairs { "0; k < rows; k++", "3; k < rows >> 1; k += 2", "0; k != rows; k++" } do
      local general, speculative = report(loop):match "^(.-)speculative path(.*)$"
      assert.is_truthy(general and general:find("gather", 1, true), loop)
      assert.is_truthy(speculative:find("contiguous load", 1, true), loop)
      assert.is_falsy(speculative:find("gather", 1, true), loop)
    end
  end)

  it("is not where the counter has no bound", function()
    for _, loop in ipairs { "1; k != rows; k++", "rows; k > 0; k--", "0; a[k] > 0; k++" } do
      assert.is_falsy(report(loop):find("speculative path", 1, true), loop)
    end
  end)

  it("is read in the middle of a gang where it wraps", function()
    local before = mw.limit("specialise", 0)
    local n, pitch = 64, 2 ^ 32 - 37
    local a, out = mw.empty(n), mw.zeros(n)
    for i = 1, n do a[i] = i end
    -- a guard that is false wherever the index is large
    local m = mw.compile((columns:gsub("LOOP", "0; k < rows; k++")
      :gsub("sum = sum", "if ((k * pitch + j) / 64 == 0) sum = sum")))
    m.columns(1, n)(a, out, 2, pitch)
    for j = 0, n - 1 do
      local wanted = j + 1
      if j >= 37 then wanted = wanted * 3 + j - 37 + 1 end
      assert.equal(wanted, out[j + 1])
    end
    mw.limit("specialise", before)
  end)

  it("is read in the middle of a gang where a part of fewer bits wraps", function()
    local before = mw.limit("specialise", 0)
    local a, out = mw.empty(2 ^ 16 + 64), mw.zeros(64)
    for i = 1, #a do a[i] = i end
    local m = mw.compile((columns:gsub("LOOP", "0; k < rows; k++")
      :gsub("unsigned pitch", "unsigned pitch, unsigned short p")
      :gsub("threadIdx.x;", "threadIdx.x;\n    unsigned short few = (unsigned short)threadIdx.x + p;")
      :gsub("a%[k %* pitch %+ j%]", "a[k * pitch + few]")))
    m.columns(1, 64)(a, out, 1, 4, 2 ^ 16 - 6)
    for j = 0, 63 do assert.equal((2 ^ 16 - 6 + j) % 2 ^ 16 + 1, out[j + 1]) end
    mw.limit("specialise", before)
  end)
end)
