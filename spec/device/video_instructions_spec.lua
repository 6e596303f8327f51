-- PTX's video instructions and bmsk (PTX ISA, "Scalar Video Instructions", "SIMD Video Instructions") against plain
-- arithmetic of Lua's integers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local random = require "support.random" "video_instructions_spec"

local corners = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x80808080 }
local words = { {}, {}, {} }
for i = 1, 1000 do
  for n = 1, 3 do words[n][i] = corners[random(1, 2 * #corners)] or random(0, 0xffffffff) end
end

local function part(word, shift, bits, signed)
  local mask = (1 << bits) - 1
  local x = word >> shift & mask
  if signed and x >> (bits - 1) == 1 then x = x - mask - 1 end
  return x
end

local function saturated(x, bits, signed)
  local low = signed and -(1 << (bits - 1)) or 0
  return math.max(low, math.min(x, low + (1 << bits) - 1))
end

local operations = {
  vadd = function(a, b) return a + b end,
  vsub = function(a, b) return a - b end,
  vabsdiff = function(a, b) return math.abs(a - b) end,
  vmin = function(a, b) return math.min(a, b) end,
  vmax = function(a, b) return math.max(a, b) end,
  vavrg = function(a, b) return a + b >= 0 and (a + b + 1) // 2 or (a + b) // 2 end,
}
local comparisons = {
  eq = function(a, b) return a == b end,
  ne = function(a, b) return a ~= b end,
  lt = function(a, b) return a < b end,
  le = function(a, b) return a <= b end,
  gt = function(a, b) return a > b end,
  ge = function(a, b) return a >= b end,
}

-- The result of the instruction for all words compared with what `model` gives of each three.
local function check(instruction, model, operands)
  local list, numbers = {}, { 'p[i + n]', 'p[i + 2 * n]', 'p[i + 3 * n]' }
  for n = 1, operands do list[n] = ('"r"(%s)'):format(numbers[n]) end
  local m = mw.compile(([[extern "C" __global__ void k(unsigned *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned r;
    asm("%s;" : "=r"(r) : %s);
    p[i] = r;
  }]]):format(instruction, table.concat(list, ", ")))
  local n = #words[1]
  local all = {}
  for i = 1, n do all[i] = 0 end
  for k = 1, 3 do table.move(words[k], 1, n, #all + 1, all) end
  local p = mw.array(all, "uint")
  m.k((n + 127) // 128, 128)(p, n)
  local got = p:totable()
  for i = 1, n do
    local a, b, c = words[1][i], words[2][i], words[3][i]
    local expected = model(a, b, c) & 0xffffffff
    assert(got[i] == expected,
      ("%s of %08x %08x %08x is %08x and not %08x"):format(instruction, a, b, c, got[i], expected))
  end
end

local signs = { s32 = true, u32 = false }
-- Whether the result and the operands have signs.
local forms = { { false, false, false }, { true, true, true }, { true, false, true }, { false, true, true } }
local function name_of(signed) return signed and "s32" or "u32" end

describe("packed video instruction", function()
  for name, f in pairs(operations) do
    it(name, function()
      for _, elements in ipairs { 2, 4 } do
        local bits = 32 // elements
        for k, modifier in ipairs { "", ".sat", ".add" } do
          local d, a_signed, b_signed = table.unpack(forms[(k + elements // 2) % #forms + 1])
          local sat, add = modifier:find "sat", modifier:find "add"
          local types = ("%s.%s.%s"):format(name_of(d), name_of(a_signed), name_of(b_signed))
          check(("%s%d.%s%s %%0, %%1, %%2, %%3"):format(name, elements, types, modifier), function(a, b, c)
            local r = add and c or 0
            for e = 0, elements - 1 do
              local x = f(part(a, e * bits, bits, a_signed), part(b, e * bits, bits, b_signed))
              if sat then x = saturated(x, bits, d) end
              r = add and r + x or r | (x & (1 << bits) - 1) << e * bits
            end
            return r
          end, 3)
        end
      end
    end)
  end

  it("vset", function()
    for name, f in pairs(comparisons) do
      for _, signed in pairs(signs) do
        check(("vset4.%s.%s.%s %%0, %%1, %%2, %%3"):format(name_of(signed), name_of(signed), name), function(a, b)
          local r = 0
          for e = 0, 24, 8 do
            if f(part(a, e, 8, signed), part(b, e, 8, signed)) then r = r | 1 << e end
          end
          return r
        end, 3)
        local sum = "vset2.%s.%s.%s.add %%0, %%1, %%2, %%3"
        check(sum:format(name_of(signed), name_of(signed), name), function(a, b, c)
          for e = 0, 16, 16 do
            if f(part(a, e, 16, signed), part(b, e, 16, signed)) then c = c + 1 end
          end
          return c
        end, 3)
      end
    end
  end)
end)

describe("scalar video instruction", function()
  for name, f in pairs(operations) do
    if name ~= "vavrg" then
      it(name, function()
        if suite.on_gpu and (name == "vadd" or name == "vsub") then
          return pending "CPU device only: an H100 does not saturate unsigned sums, as PTX's description has it"
        end
        for _, form in ipairs { { true, true, true }, { false, false, false }, { true, false, true } } do
          local d, a_signed, b_signed = table.unpack(form)
          local types = ("%s.%s.%s.%s"):format(name, name_of(d), name_of(a_signed), name_of(b_signed))
          local function whole(a, b) return f(part(a, 0, 32, a_signed), part(b, 0, 32, b_signed)) end
          check(types .. " %0, %1, %2", whole, 2)
          check(types .. ".sat %0, %1, %2", function(a, b) return saturated(whole(a, b), 32, d) end, 2)
          check(types .. " %0, %1.b3, %2.h1", function(a, b)
            return f(part(a, 24, 8, a_signed), part(b, 16, 16, b_signed))
          end, 2)
          check(types .. ".sat.max %0, %1, %2, %3", function(a, b, c)
            return math.max(saturated(whole(a, b), 32, d), part(c, 0, 32, d))
          end, 3)
          check(types .. ".add %0, %1, %2, %3", function(a, b, c) return whole(a, b) + c end, 3)
        end
      end)
    end
  end

  it("vmad", function()
    check("vmad.u32.u32.u32 %0, %1, %2, %3", function(a, b, c) return a * b + c end, 3)
    check("vmad.s32.s32.s32.shr7 %0, %1.h0, %2.h1, %3", function(a, b, c)
      return part(a, 0, 16, true) * part(b, 16, 16, true) + part(c, 0, 32, true) >> 7
    end, 3)
    check("vmad.s32.s32.s32.sat %0, %1.h0, %2, %3", function(a, b, c)
      return saturated(part(a, 0, 16, true) * part(b, 0, 32, true) + part(c, 0, 32, true), 32, true)
    end, 3)
  end)

  it("vshl and vshr", function()
    check("vshl.u32.u32.u32.wrap %0, %1, %2", function(a, b) return a << (b & 31) end, 2)
    check("vshl.u32.u32.u32.clamp %0, %1, %2", function(a, b) return a << math.min(b, 32) end, 2)
    check("vshr.u32.u32.u32.clamp.add %0, %1, %2, %3", function(a, b, c) return (a >> math.min(b, 32)) + c end, 3)
    check("vshr.s32.s32.u32.wrap %0, %1, %2", function(a, b)
      return part(a, 0, 32, true) // (1 << (b & 31))
    end, 2)
  end)

  it("vset", function()
    for name, f in pairs(comparisons) do
      check(("vset.s32.u32.%s %%0, %%1, %%2"):format(name), function(a, b)
        return f(part(a, 0, 32, true), b) and 1 or 0
      end, 2)
    end
  end)
end)

it("bmsk makes ones from a bit on", function()
  check("bmsk.clamp.b32 %0, %1, %2", function(a, b)
    return ((1 << math.min(b, 32)) - 1) << math.min(a, 32)
  end, 2)
  check("bmsk.wrap.b32 %0, %1, %2", function(a, b) return ((1 << (b & 31)) - 1) << (a & 31) end, 2)
end)
