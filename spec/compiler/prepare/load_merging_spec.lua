-- Four neighbouring bytes of a thread are loaded at once, where they are all loaded and nothing is written between.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local head = [[extern "C" __global__ void f(unsigned char *a, const int *at, unsigned *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned char *p = a + at[i];
]]

local function gathers(body)
  local report = mwcc.run(head .. body .. "}", "--report --launch=f:64x1x1")
  return mwcc.count(report, "  gather\n")
end

describe("neighbouring bytes", function()
  it("have a line in the report", function()
    local function lines(body) return mwcc.run(head .. body .. "}", "--report --launch=f:64x1x1") end
    local merged, apart = "kernel f: 4:%d+ is loaded with the three bytes after it", "kernel f: 4:%d+ is loaded apart"
    assert.matches(merged, lines "o[i] = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24;")
    local report = lines "unsigned char *q = a + i; o[i] = q[0] + q[1] + q[2] + q[3];"
    assert.matches(apart, report)
    assert.not_matches(merged, report)
    assert.not_matches("is loaded", lines "o[i] = p[0] + p[1] + p[2];")
  end)

  it("are one load if there are four", function()
    assert.equal(1, gathers "o[i] = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24;")
    assert.equal(2, gathers "o[i] = p[7] + p[6] * p[5] + p[4] + (p[3] ^ p[2]) + p[1] + p[0];")
    assert.equal(1, gathers "int j = at[i + n]; o[i] = a[j + 1] + a[j + 2] + a[j] + a[j + 3] * 3;")
  end)

  it("stay single if not all are loaded, or there are writes between them", function()
    assert.equal(3, gathers "o[i] = p[0] + p[1] + p[2];")
    assert.equal(4, gathers "o[i] = p[0] + p[1] + p[2]; if (i < n) o[i] += p[3];")
    assert.equal(4, gathers "unsigned s = p[0] + p[1]; o[i] = s; o[i + n] = s * p[2] + p[3];")
    assert.equal(0, gathers "volatile unsigned char *v = p; o[i] = v[0] + v[1] + v[2] + v[3];")
  end)

  it("stay contiguous loads where lanes have neighbouring ones", function()
    assert.equal(0, gathers "unsigned char *q = a + i; o[i] = q[0] + q[1] + q[2] + q[3];")
  end)

  it("have their values, signed and unsigned, at any place up to the end of the array", function()
    local m = mw.compile [[
      __global__ void read(const unsigned char *a, const int *at, unsigned *o, int *s, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        const unsigned char *p = a + at[i];
        o[i] = p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24;
        s[i] = (signed char)p[3] * 7 + (signed char)p[0] - p[1] * p[2];
      }]]
    local size, n, bytes, places = 4001, 300, {}, {}
    for i = 1, size do bytes[i] = i * i * 7 % 256 end
    for i = 1, n do places[i] = i == n and size - 4 or i * 7919 % (size - 3) end
    local o, s = mw.zeros(n, "uint"), mw.zeros(n, "int")
    m.read(mw.cdiv(n, 64), 64)(mw.array(bytes, "uchar"), mw.array(places, "int"), o, s, n)
    local words, sums = o:totable(), s:totable()
    local function signed(x) return x > 127 and x - 256 or x end
    for i = 1, n do
      local b = { table.unpack(bytes, places[i] + 1, places[i] + 4) }
      assert.equal(b[1] | b[2] << 8 | b[3] << 16 | b[4] << 24, words[i])
      assert.equal(signed(b[4]) * 7 + signed(b[1]) - b[2] * b[3], sums[i])
    end
  end)
end)
