-- PTX instructions on parts of words: bmsk, szext and fns, and the selectors of video instructions, against loops.

local mw = require "moonwarp"
local suite = require "support.suite"
local random = require "support.random" "ptx_masks_spec"

local count = 256

local function words(limit)
  local list = {}
  for i = 1, count do list[i] = random(0, limit or 0xffffffff) end
  return list
end

-- The results of an instruction of three operands.
local function results(instruction, a, b, c)
  local m = mw.compile(([==[
    __global__ void k(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *out) {
      int i = threadIdx.x;
      unsigned r;
      asm("%s" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
      out[i] = r;
    }
  ]==]):format(instruction))
  local out = mw.zeros(count, "uint")
  m.k(1, count)(mw.array(a, "uint"), mw.array(b, "uint"), mw.array(c, "uint"), out)
  return out:totable()
end

-- Bits `from` to `from` + `length` - 1 of a word, and a number of so many bits taken as signed.
local function bits(word, from, length) return math.floor(word / 2 ^ from) % 2 ^ length end
local function signed(number, length) return number >= 2 ^ (length - 1) and number - 2 ^ length or number end

describe("PTX's", function()
  it("fns", function()
    local mask, base, offset = words(), words(31), {}
    for i = 1, count do offset[i] = random(-9, 9) % 2 ^ 32 end
    local got = results("fns.b32 %0, %1, %2, %3;", mask, base, offset)
    for i = 1, count do
      local left = signed(offset[i], 32)
      local step, at, found = left < 0 and -1 or 1, base[i], nil
      left = math.abs(left)
      if left == 0 then found = bits(mask[i], at, 1) == 1 and at or nil end
      while left > 0 and at >= 0 and at < 32 and not found do
        if bits(mask[i], at, 1) == 1 then
          left = left - 1
          if left == 0 then found = at end
        end
        at = at + step
      end
      assert.equal(found or 0xffffffff, got[i])
    end
  end)

  for _, mode in ipairs { "clamp", "wrap" } do
    local function place(n) return mode == "wrap" and n % 32 or math.min(n, 32) end

    it("bmsk." .. mode, function()
      local from, length = words(40), words(40)
      local got = results(("bmsk.%s.b32 %%0, %%1, %%2;"):format(mode), from, length, from)
      for i = 1, count do
        local expected = 0
        local first = place(from[i])
        for bit = first, math.min(first + place(length[i]), 32) - 1 do expected = expected + 2 ^ bit end
        assert.equal(expected, got[i])
      end
    end)

    it("szext." .. mode, function()
      local value, length = words(), words(40)
      local plain = results(("szext.%s.u32 %%0, %%1, %%2;"):format(mode), value, length, value)
      local extended = results(("szext.%s.s32 %%0, %%1, %%2;"):format(mode), value, length, value)
      for i = 1, count do
        local n = place(length[i])
        local low = bits(value[i], 0, n)
        assert.equal(low, plain[i])
        assert.equal(n == 0 and 0 or signed(low, n) % 2 ^ 32, extended[i])
      end
    end)
  end

  it("vadd with a part of the result, whose other bits are those of the third operand", function()
    local a, b, c = words(), words(), words()
    local byte = results("vadd.u32.u32.s32.sat %0.b2, %1.b1, %2.h1, %3;", a, b, c)
    local half = results("vsub.s32.s32.s32 %0.h0, %1, %2, %3;", a, b, c)
    for i = 1, count do
      local sum = math.max(0, math.min(255, bits(a[i], 8, 8) + signed(bits(b[i], 16, 16), 16)))
      if not suite.on_gpu then -- an H100 gives 255 where the sum is negative (docs/use/gpu.md)
        assert.equal(c[i] - bits(c[i], 16, 8) * 2 ^ 16 + sum * 2 ^ 16, byte[i])
      end
      assert.equal(c[i] - bits(c[i], 0, 16) + (a[i] - b[i]) % 2 ^ 16, half[i])
    end
  end)

  it("vadd4 and vadd2 of selected elements: of { a, b }, numbered through", function()
    local a, b, c = words(), words(), words()
    local four = results("vadd4.u32.u32.u32 %0.b20, %1.b0716, %2.b4567, %3;", a, b, c)
    local two = results("vsub2.s32.s32.s32.add %0.h10, %1.h12, %2.h03, %3;", a, b, c)
    local function byte(i, n) return n < 4 and bits(a[i], n * 8, 8) or bits(b[i], (n - 4) * 8, 8) end
    local function half(i, n) return signed(n < 2 and bits(a[i], n * 16, 16) or bits(b[i], (n - 2) * 16, 16), 16) end
    for i = 1, count do
      -- the selectors' last digits are element 0
      local low, third = (byte(i, 6) + byte(i, 7)) % 256, (byte(i, 7) + byte(i, 5)) % 256
      assert.equal(c[i] - bits(c[i], 0, 8) - bits(c[i], 16, 8) * 2 ^ 16 + low + third * 2 ^ 16, four[i])
      assert.equal((c[i] + half(i, 2) - half(i, 3) + half(i, 1) - half(i, 0)) % 2 ^ 32, two[i])
    end
  end)

  it("vmad: negated operands, and one more", function()
    local a, b, c = words(0xffff), words(0xffff), words(0xffff)
    local negated = results("vmad.s32.s32.s32.shr7 %0, %1, -%2, %3;", a, b, c)
    local more = results("vmad.u32.u32.u32.po.shr7 %0, %1, %2, %3;", a, b, c)
    for i = 1, count do
      assert.equal(math.floor((c[i] - a[i] * b[i]) / 128) % 2 ^ 32, negated[i])
      assert.equal(math.floor((a[i] * b[i] + c[i] + 1) / 128) % 2 ^ 32, more[i])
    end
  end)
end)
