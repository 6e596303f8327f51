-- Flags that decide branches are conditions, not numbers.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local source = [[
  __global__ void flags(int steps, const int *from, int *to) {
    __shared__ int tile[64], next[64];
    int x = threadIdx.x;
    tile[x] = from[x];
    __syncthreads();
    F done = 0;
    for (int i = 0; i < steps; i++) {
      done = 0;
      if (x > i && x < 63 - i) {
        done = SET;
        next[x] = tile[x - 1] + tile[x + 1];
      }
      __syncthreads();
      if (i == steps - 1) break;
      if (done) tile[x] = next[x];
      __syncthreads();
    }
    to[x] = done ? next[x] : -(int)done;
  }]]

local function flags(type, set) return (source:gsub("%f[%w_]F%f[^%w_]", type):gsub("SET", set)) end

local function expected(steps, from)
  local tile, next, done = { table.unpack(from) }, {}, {}
  for i = 0, steps - 1 do
    for x = 0, 63 do
      done[x] = x > i and x < 63 - i
      if done[x] then next[x] = tile[x] + tile[x + 2] end
    end
    if i == steps - 1 then break end
    for x = 0, 63 do if done[x] then tile[x + 1] = next[x] end end
  end
  local to = {}
  for x = 0, 63 do to[x + 1] = done[x] and next[x] or 0 end
  return to
end

describe("a flag of threads", function()
  it("is a condition, of whatever type it is", function()
    for type, bits in pairs { bool = 8, int = 32, short = 16, ["unsigned char"] = 8 } do
      local code = flags(type, "1")
      local ir = mwcc.run(code, "--stop-after=boolean-phis --launch=_Z5flagsiPKiPi:64x1x1")
      local without = mwcc.run(code, "--stop-after=boolean-phis --without=boolean-phis --launch=_Z5flagsiPKiPi:64x1x1")
      local number = ("phi i%d [ 0,"):format(bits)
      assert.is_truthy(ir:find("phi i1", 1, true))
      if bits < 32 then
        assert.is_nil(ir:find(("phi i%d "):format(bits), 1, true))
        assert.is_truthy(without:find(("phi i%d "):format(bits), 1, true), number)
      end
    end
  end)

  it("stays a number where it may be another one than 0 or 1", function()
    local ir = mwcc.run(flags("short", "2"), "--stop-after=boolean-phis --launch=_Z5flagsiPKiPi:64x1x1")
    assert.is_truthy(ir:find("phi i16", 1, true))
  end)

  it("is reported", function()
    local line = "flags of threads are conditions"
    assert.matches(line, mwcc.run(flags("bool", "1"), "--report --launch=_Z5flagsiPKiPi:64x1x1"))
    assert.not_matches(line, mwcc.run(flags("short", "2"), "--report --launch=_Z5flagsiPKiPi:64x1x1"))
  end)

  it("decides the same", function()
    local before = mw.limit("specialise", 0)
    local from, to = mw.empty(64, "int"), mw.zeros(64, "int")
    for i = 1, 64 do from[i] = i * 37 % 64 end
    for _, type in ipairs { "bool", "int", "unsigned char" } do
      local m = mw.compile(flags(type, "1"))
      for steps = 1, 5 do
        m.flags(1, 64)(steps, from, to)
        assert.same(expected(steps, from:totable()), to:totable())
      end
    end
    mw.limit("specialise", before)
  end)
end)
