-- Inline PTX on the CPU device: the common instructions mean what the PTX ISA says, all others are refused by name.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local random = require "support.random" "device_ptx_spec"

local function u32(x) return x & 0xffffffff end
local function s32(x) return (u32(x) ~ 0x80000000) - 0x80000000 end
local function s24(x) return ((x & 0xffffff) ~ 0x800000) - 0x800000 end
local function word() return u32(random(0)) end

local function bfe(a, b, c, signed)
  local position, length = b & 255, c & 255
  local sign = signed and length > 0 and a >> math.min(position + length - 1, 31) & 1 or 0
  local result = 0
  for i = 0, 31 do
    local bit = i < length and position + i <= 31 and a >> (position + i) & 1 or sign
    if i >= length and not signed then bit = 0 end
    result = result | bit << i
  end
  return result
end

local function bfi(a, b, c, d)
  local position, length = c & 255, d & 255
  for i = 0, length - 1 do
    if position + i > 31 then break end
    b = b & ~(1 << position + i) | (a >> i & 1) << position + i
  end
  return u32(b)
end

local function prmt(a, b, selector)
  local result = 0
  for i = 0, 3 do
    local nibble = selector >> 4 * i & 15
    local byte = (b << 32 | a) >> 8 * (nibble & 7) & 255
    if nibble & 8 ~= 0 then byte = byte >= 128 and 255 or 0 end
    result = result | byte << 8 * i
  end
  return result
end

local function lop3(a, b, c, table)
  local result = 0
  for i = 0, 31 do
    local index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
    result = result | (table >> index & 1) << i
  end
  return result
end

local function dp4a(a, b, c, a_signed, b_signed)
  local function byte(x, i, signed)
    local v = x >> 8 * i & 255
    return signed and v >= 128 and v - 256 or v
  end
  for i = 0, 3 do c = c + byte(a, i, a_signed) * byte(b, i, b_signed) end
  return u32(c)
end

local function popc(x)
  local n = 0
  for i = 0, 31 do n = n + (x >> i & 1) end
  return n
end

local function shift(a, b, signed, left)
  if left then return b >= 32 and 0 or u32(a << b) end
  if signed then return u32(s32(a) // (1 << math.min(b, 31))) end
  return b >= 32 and 0 or a >> b
end

-- text of the instruction (%0 the result; %1, %2, %3 words), its meaning
local instructions = {
  { "mov.u32 %0, %1;", function(a) return a end },
  { "mov.b32 %0, 0x80000001;", function() return 0x80000001 end },
  { "mov.u32 %0, -5;", function() return u32(-5) end },
  { "add.u32 %0, %1, %2;", function(a, b) return u32(a + b) end },
  { "sub.s32 %0, %1, %2;", function(a, b) return u32(a - b) end },
  { "mul.lo.u32 %0, %1, %2;", function(a, b) return u32(a * b) end },
  { "mul.hi.u32 %0, %1, %2;", function(a, b) return u32(a * b >> 32) end },
  { "mul.hi.s32 %0, %1, %2;", function(a, b) return u32(s32(a) * s32(b) >> 32) end },
  { "mad.lo.s32 %0, %1, %2, %3;", function(a, b, c) return u32(a * b + c) end },
  { "and.b32 %0, %1, %2;", function(a, b) return a & b end },
  { "or.b32 %0, %1, %2;", function(a, b) return a | b end },
  { "xor.b32 %0, %1, %2;", function(a, b) return a ~ b end },
  { "not.b32 %0, %1;", function(a) return u32(~a) end },
  { "shl.b32 %0, %1, %2;", function(a, b) return shift(a, b, false, true) end, true },
  { "shr.u32 %0, %1, %2;", function(a, b) return shift(a, b) end, true },
  { "shr.s32 %0, %1, %2;", function(a, b) return shift(a, b, true) end, true },
  { "min.s32 %0, %1, %2;", function(a, b) return u32(math.min(s32(a), s32(b))) end },
  { "max.u32 %0, %1, %2;", function(a, b) return math.max(a, b) end },
  { "abs.s32 %0, %1;", function(a) return u32(math.abs(s32(a))) end },
  { "neg.s32 %0, %1;", function(a) return u32(-a) end },
  { "popc.b32 %0, %1;", popc },
  { "clz.b32 %0, %1;", function(a)
    local n = 0
    while n < 32 and a >> (31 - n) & 1 == 0 do n = n + 1 end
    return n
  end },
  { "brev.b32 %0, %1;", function(a)
    local r = 0
    for i = 0, 31 do r = r | (a >> i & 1) << 31 - i end
    return r
  end },
  { "bfe.u32 %0, %1, %2, %3;", function(a, b, c) return bfe(a, b, c, false) end, true },
  { "bfe.s32 %0, %1, %2, %3;", function(a, b, c) return bfe(a, b, c, true) end, true },
  { "bfi.b32 %0, %1, %2, 5, %3;", function(a, b, c) return bfi(a, b, 5, c) end, "last" },
  { "bfi.b32 %0, %1, %2, %3, 9;", function(a, b, c) return bfi(a, b, c, 9) end, "last" },
  { "prmt.b32 %0, %1, %2, %3;", prmt },
  { "lop3.b32 %0, %1, %2, %3, 0x96;", function(a, b, c) return lop3(a, b, c, 0x96) end },
  { "lop3.b32 %0, %1, %2, %3, 0xe8;", function(a, b, c) return lop3(a, b, c, 0xe8) end },
  { "shf.l.wrap.b32 %0, %1, %2, %3;", function(a, b, c) return u32(((b << 32 | a) << (c & 31)) >> 32) end },
  { "shf.r.clamp.b32 %0, %1, %2, %3;", function(a, b, c) return c >= 32 and b or u32((b << 32 | a) >> c) end, "last" },
  { "slct.u32.s32 %0, %1, %2, %3;", function(a, b, c) return s32(c) >= 0 and a or b end },
  { "bfind.u32 %0, %1;", function(a) return a == 0 and 0xffffffff or math.floor(math.log(a, 2)) end },
  { "bfind.s32 %0, %1;", function(a)
    local n, v = -1, s32(a) < 0 and u32(~a) or a
    while v > 0 do n, v = n + 1, v >> 1 end
    return u32(n)
  end },
  { "dp4a.u32.s32 %0, %1, %2, %3;", function(a, b, c) return dp4a(a, b, c, false, true) end },
  { "dp4a.s32.s32 %0, %1, %2, %3;", function(a, b, c) return dp4a(a, b, c, true, true) end },
  { "{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0; }", function(a, b, c) return u32(c + (a + b >> 32)) end },
  { "{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.cc.u32 t, t, %3; addc.u32 %0, 0, 0; }",
    function(a, b, c) return u32(a + b) + c + (a + b >> 32) >> 32 end },
  { "{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.cc.u32 t, %3, %2; subc.u32 %0, %1, %1; }",
    function(a, b, c) return c - b - (a < b and 1 or 0) < 0 and 0xffffffff or 0 end },
  { "{ .reg .u32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, 0; }",
    function(a, b, c) return u32((a * b >> 32) + (u32(a * b) + c >> 32)) end },
  { "{ .reg .pred p, q; setp.hs.u32 p, %1, %2; setp.ne.and.s32 q, %2, %3, !p; selp.u32 %0, 5, %1, q; }",
    function(a, b, c) return a < b and b ~= c and 5 or a end },
  { "{ .reg .f32 f; .reg .pred p; mov.b32 f, %1; setp.nan.f32 p, f, f; selp.u32 %0, 1, %2, p; }",
    function(a, b) return a & 0x7fffffff > 0x7f800000 and 1 or b end },
  { "{ .reg .f32 f; cvt.rn.f32.s32 f, %1; mul.f32 f, f, 0f3E800000; cvt.rmi.s32.f32 %0, f; }",
    function(a) return u32(math.floor(string.unpack("<f", string.pack("<f", s32(a))) * 0.25)) end },
  { "{ .reg .f32 f; cvt.rn.f32.s32 f, %1; mul.f32 f, f, 0f3E800000; cvt.rpi.f32.f32 f, f; cvt.rzi.s32.f32 %0, f; }",
    function(a) return u32(math.ceil(string.unpack("<f", string.pack("<f", s32(a))) * 0.25)) end },
  { "prmt.b32.f4e %0, %1, %2, %3;", function(a, b, c) return prmt(a, b, 0x3210 + 0x1111 * (c & 3)) end },
  { "prmt.b32.b4e %0, %1, %2, %3;", function(a, b, c)
    return prmt(a, b, ({ 0x5670, 0x6701, 0x7012, 0x0123 })[1 + (c & 3)])
  end },
  { "prmt.b32.rc8 %0, %1, %2, %3;", function(a, b, c) return prmt(a, b, 0x1111 * (c & 3)) end },
  { "prmt.b32.ecl %0, %1, %2, %3;", function(a, b, c)
    return prmt(a, b, ({ 0x3210, 0x3211, 0x3222, 0x3333 })[1 + (c & 3)])
  end },
  { "prmt.b32.ecr %0, %1, %2, %3;", function(a, b, c)
    return prmt(a, b, ({ 0x0000, 0x1110, 0x2210, 0x3210 })[1 + (c & 3)])
  end },
  { "prmt.b32.rc16 %0, %1, %2, %3;", function(a, b, c) return prmt(a, b, c & 1 == 0 and 0x1010 or 0x3232) end },
  { "bfind.shiftamt.u32 %0, %1;", function(a) return a == 0 and 0xffffffff or 31 - math.floor(math.log(a, 2)) end },
  { "add.sat.s32 %0, %1, %2;",
    function(a, b) return u32(math.max(-2^31 | 0, math.min(s32(a) + s32(b), 2^31 - 1 | 0))) end },
  { "sub.sat.s32 %0, %1, %2;",
    function(a, b) return u32(math.max(-2^31 | 0, math.min(s32(a) - s32(b), 2^31 - 1 | 0))) end },
  { "mad.hi.sat.s32 %0, %1, %2, %3;", function(a, b, c)
    local high = s32(u32(s32(a) * s32(b) >> 32))
    return u32(math.max(-2^31 | 0, math.min(high + s32(c), 2^31 - 1 | 0)))
  end },
  { "mul24.lo.s32 %0, %1, %2;", function(a, b) return u32(s24(a) * s24(b)) end },
  { "mul24.hi.u32 %0, %1, %2;", function(a, b) return u32((a & 0xffffff) * (b & 0xffffff) >> 16) end },
  { "mad24.hi.s32 %0, %1, %2, %3;", function(a, b, c) return u32((s24(a) * s24(b) >> 16) + c) end },
  { "cnot.b32 %0, %1;", function(a) return a == 0 and 1 or 0 end },
  { "dp2a.lo.s32.u32 %0, %1, %2, %3;", function(a, b, c)
    return u32(c + (s32(a << 16) >> 16) * (b & 255) + (s32(a) >> 16) * (b >> 8 & 255))
  end },
  { "dp2a.hi.u32.u32 %0, %1, %2, %3;", function(a, b, c)
    return u32(c + (a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24))
  end },
  { "set.lt.u32.s32 %0, %1, %2;", function(a, b) return s32(a) < s32(b) and 0xffffffff or 0 end },
  { "{ .reg .pred p, q; setp.lt.u32 p|q, %1, %2; selp.u32 %0, 1, 2, p; @q add.u32 %0, %0, %3; }",
    function(a, b, c) return a < b and 1 or u32(2 + c) end },
  { "{ .reg .pred p; setp.lt.u32 p, %1, %2; selp.u32 %0, %1, %3, !p; }",
    function(a, b, c) return a < b and c or a end },
  { "{ .reg .b8 a, b, c, d; mov.b32 {a, b, c, d}, %1; mov.b32 %0, {d, c, b, a}; }", function(a)
    return a >> 24 | a >> 8 & 0xff00 | (a & 0xff00) << 8 | (a & 255) << 24
  end },
  { "{ .reg .s8 t; cvt.sat.s8.s32 t, %1; cvt.s32.s8 %0, t; }",
    function(a) return u32(math.max(-128, math.min(s32(a), 127))) end },
  { "{ .reg .u16 t; cvt.sat.u16.s32 t, %1; cvt.u32.u16 %0, t; }",
    function(a) return math.max(0, math.min(s32(a), 65535)) end },
  { "{ .reg .s16 t; cvt.s16.s32 t, %1; cvt.s32.s16 %0, t; }", function(a) return u32(s32(a << 16) >> 16) end },
  { "sad.u32 %0, %1, %2, %3;", function(a, b, c) return u32(math.abs(a - b) + c) end },
  { "{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, %1, %3, p; }",
    function(a, b, c) return s32(a) < s32(b) and a or c end },
  { "{ .reg .pred p; setp.gt.u32 p, %1, %2; mov.u32 %0, %3; @p add.u32 %0, %0, 7; @!p mov.u32 %0, %1; }",
    function(a, b, c) return a > b and u32(c + 7) or a end },
  { "{ .reg .u64 t; mul.wide.u32 t, %1, %2; shr.u64 t, t, 16; cvt.u32.u64 %0, t; }",
    function(a, b) return u32(a * b >> 16) end },
  { "{ .reg .b64 t; mov.b64 t, {%1, %2}; { .reg .b32 l, h; mov.b64 {l, h}, t; sub.u32 %0, h, l; } }",
    function(a, b) return u32(b - a) end },
  { "{ .reg .f32 f; cvt.rn.f32.u32 f, %1; mul.f32 f, f, 0f3F000000; cvt.rzi.u32.f32 %0, f; } // half",
    function(a) return math.floor(string.unpack("<f", string.pack("<f", a)) * 0.5) end },
}

for _, width in ipairs { 0, 1 } do
  describe("inline PTX" .. (width == 1 and ", thread after thread," or ""), function()
    local options = width > 0 and { "--width=" .. width } or {}

    it("computes as the PTX ISA says", function()
      local cases = {}
      for i, row in ipairs(instructions) do
        local inputs = {}
        for n = 1, 3 do if row[1]:find("%" .. n, 1, true) then inputs[#inputs + 1] = n end end
        local text, list = row[1], {}
        for n, operand in ipairs(inputs) do
          text = text:gsub("%%" .. operand, "%%" .. n)
          list[n] = ('"r"(%s)'):format(({ "a", "b", "c" })[operand])
        end
        cases[i] = ('  asm("%s" : "=&r"(d) : %s); out[%d * n + i] = d;'):format(text, table.concat(list, ", "), i - 1)
      end
      local m = mw.compile {
        source = [[
__global__ void k(int n, const unsigned *x, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2], d;
]] .. table.concat(cases, "\n") .. "\n}",
        options = options,
      }
      for _, small in ipairs { false, true, "last" } do
        local n, x = 300, {}
        for i = 1, 3 * n do
          x[i] = word()
          if small and (i % 3 == 0 or small ~= "last" and i % 3 == 2) then x[i] = x[i] % 40 end
        end
        local out = mw.zeros(n * #instructions, "uint")
        m.k(mw.cdiv(n, 64), 64)(n, mw.array(x, "uint"), out)
        out = out:totable()
        for row, instruction in ipairs(instructions) do
          for i = 1, n do
            local a, b, c = x[3 * i - 2], x[3 * i - 1], x[3 * i]
            local fits = not small or instruction[3] == small
            if small == false then fits = not instruction[3] end
            if fits then
              local want, got = instruction[2](a, b, c), out[(row - 1) * n + i]
              if want ~= got then
                error(("%s of %x, %x, %x is %x, want %x"):format(instruction[1], a, b, c, got, want))
              end
            end
          end
        end
      end
    end)

    it("knows threads, warps and barriers", function()
      local m = mw.compile {
        source = [[
__global__ void k(unsigned *out) {
  __shared__ unsigned seen[64];
  unsigned lane, tid, below, other, ballot;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(tid));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(other) : "r"(tid));
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 5; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(ballot) : "r"(lane));
  seen[tid] = lane;
  asm volatile("bar.sync 0;" ::: "memory");
  out[tid] = lane; out[64 + tid] = below; out[128 + tid] = other; out[192 + tid] = ballot;
  out[256 + tid] = seen[63 - tid];
}]],
        options = options,
      }
      local out = mw.zeros(320, "uint")
      m.k(1, 64)(out)
      out = out:totable()
      for t = 0, 63 do
        local want = { t % 32, (1 << t % 32) - 1, t ~ 1, 31, (63 - t) % 32 }
        for j = 1, 5 do assert.equal(want[j], out[64 * (j - 1) + t + 1]) end
      end
    end)

    it("has atomics and warp instructions", function()
      local m = mw.compile {
        source = [[
__global__ void k(int *x, unsigned *y, double *d, int *out) {
  int i = threadIdx.x, old, sum, least;
  unsigned same, a, b, c, e;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(x), "r"(1) : "memory");
  asm volatile("red.global.max.s32 [%0+4], %1;" :: "l"(x), "r"(-i - 1) : "memory");
  asm volatile("red.relaxed.gpu.global.min.u32 [%0+8], %1;" :: "l"(x), "r"(-i - 1) : "memory");
  asm volatile("red.add.f64 [%0], %1;" :: "l"(d), "d"(0.5) : "memory");
  asm volatile("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(sum) : "l"(x + 3), "r"(7), "r"(i) : "memory");
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(same) : "r"(i % 3));
  asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(least) : "r"(-i));
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(i));
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(e) : "l"(y + 4 * i));
  asm volatile("st.global.v2.u32 [%0+8], {%1, %2};" :: "l"(y + 4 * i), "r"(a + b), "r"(c * e) : "memory");
  int *o = out + 4 * i;
  o[0] = old; o[1] = same; o[2] = least; o[3] = sum;
}]],
        options = options,
      }
      local y = {}
      for i = 1, 256 do y[i] = i end
      local x, d, out = mw.array({ 0, -100, -1, 7 }, "int"), mw.zeros(1, "double"), mw.zeros(256, "int")
      y = mw.array(y, "uint")
      m.k(1, 64)(x, y, d, out)
      local tickets, last = {}, x[4]
      assert.same({ 64, -1, -64 }, { x[1], x[2], x[3] })
      assert.is_true(last >= 0 and last < 64)
      assert.equal(32, d[1])
      for i = 0, 63 do
        local first, same = i - i % 32, 0
        for lane = 0, 31 do if (first + lane) % 3 == i % 3 then same = same | 1 << lane end end
        tickets[out[4 * i + 1]] = true
        local n = 4 * i
        assert.same({ s32(same), -first - 31, 16 * (2 * first + 31) }, { out[n + 2], out[n + 3], out[n + 4] })
        assert.same({ n + 1, n + 2, 2 * n + 3, (n + 3) * (n + 4) }, { y[n + 1], y[n + 2], y[n + 3], y[n + 4] })
      end
      for ticket = 0, 63 do assert.is_true(tickets[ticket]) end
    end)

    it("reads, writes and changes its operands", function()
      local m = mw.compile {
        source = [[
__global__ void k(int *x, double *y) {
  int v, w = x[0];
  asm volatile("ld.global.nc.s32 %0, [%1+4];" : "=r"(v) : "l"(x));
  asm("add.s32 %0, %0, %1;" : "+r"(w) : "r"(v));
  asm("{ add.s32 %0, %1, 1; mul.lo.s32 %1, %1, 10; }" : "=&r"(v), "+r"(w));
  asm volatile("st.global.s32 [%0+8], %1;" :: "l"(x), "r"(v) : "memory");
  asm volatile("membar.gl;" ::: "memory");
  x[3] = w;
  double d;
  asm("fma.rn.f64 %0, %1, %2, 0d3FF0000000000000;" : "=d"(d) : "d"(y[0]), "d"(y[1]));
  y[2] = d;
  asm volatile("" ::: "memory");
}]],
        options = options,
      }
      local x, y = mw.array({ 3, 4, 0, 0 }, "int"), mw.array({ 2, 5, 0 }, "double")
      m.k(1, 1)(x, y)
      assert.same({ 3, 4, 8, 70 }, x:totable())
      assert.equal(11, y[3])
    end)
  end)
end

describe("inline PTX that the CPU device does not know", function()
  it("is refused with its line and its text", function()
    if suite.on_gpu then return pending "CPU device only: ptxas knows all of it" end
    local cases = {
      ['asm("mma.sync.aligned.m8n8k4.row.col.f32 %0, %1;" : "=r"(v) : "r"(v));'] =
        "'mma' has a shape, types or operands that the CPU device does not have",
      ['asm("add.sat.u32 %0, %1, %1;" : "=r"(v) : "r"(v));'] = "add.sat.u32",
      ['asm("mov.u32 %0, %%gridid;" : "=r"(v));'] = "%gridid",
      ['asm("add.u32 %0, t, 1;" : "=r"(v));'] = "'t'",
      ['asm("{ .reg .u32 t; add.u32 %0, t, 1; }" : "=r"(v));'] = "before it is written",
      ['asm("addc.u32 %0, %1, %1;" : "=r"(v) : "r"(v));'] = "%cc' is read before it is written",
      ['asm("setp.nan.s32 %0, %1, %1;" : "=r"(v) : "r"(v));'] = "setp.nan.s32",
      ['asm("atom.shared.add.u32 %0, [%1], 1;" : "=r"(v) : "r"(v));'] = "this source declares no shared memory",
      ['asm("sin.bf16x2 %0, %1;" : "=r"(v) : "r"(v));'] = "sin.bf16x2",
      ['asm("vote4.u32.u32.u32 %0, %1, %1, %1;" : "=r"(v) : "r"(v));'] = "is not among the instructions",
      ['asm("tex.2d.v4.f32.f32 {%0, %0, %0, %0}, [%1, {%0, %0}];" : "=r"(v) : "r"(v));'] = "tex2D",
      ['asm(".shared .b32 t;");'] = "is a declaration: write it in CUDA C",
      ['asm("L: bra L;");'] = "control flow",
      ['asm("{ .reg .pred p; setp.eq.s32 p, %0, 0; @p bra L; }" :: "r"(v));'] = "control flow",
    }
    for statement, words in pairs(cases) do
      local text = "__global__ void k(unsigned *x) {\n  unsigned v = x[0];\n  " .. statement .. "\n  x[0] = v;\n}"
      local m, e = mw.try_compile(text)
      assert.is_nil(m, statement)
      assert.is_truthy(tostring(e):find(words, 1, true), statement .. ": " .. tostring(e))
      assert.is_truthy(tostring(e):find("inline PTX", 1, true))
      assert.equal(3, e.line)
    end
  end)
end)
