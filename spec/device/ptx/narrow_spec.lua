-- PTX's conversions and operations of bfloat16, tf32 and the formats of 8 bits: against the functions of CUDA's headers
-- for the same operations, and tf32 against its definition.

local mw = require "moonwarp"
local random = require "support.random" "ptx_narrow_spec"

local count = 4096

-- Bit patterns of floats: numbers of all sizes, and what is special.
local function patterns()
  local list = { 0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x007fffff, 0x3f800000, 0x43e00000, 0x7f7fffff,
    0xfed34467, 0xc052eafc } -- whose product is no float, and becomes one with the first added
  for i = #list + 1, count do list[i] = random(0, 0xffffffff) end
  for i = 1000, 2000 do list[i] = (110 + i % 40) * 0x800000 + random(0, 0x7fffff) end
  return list
end

-- Runs two kernels' bodies over all pairs of neighbours, and compares what they return, an unsigned int.
local function compare(headers, ptx, expected)
  local m = mw.compile(([==[
    %s
    __device__ unsigned by_ptx(float x, float y) { %s }
    __device__ unsigned by_functions(float x, float y) { %s }
    __global__ void k(const unsigned *in, unsigned *a, unsigned *b, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      float x = __uint_as_float(in[i]), y = __uint_as_float(in[(i + 1) %% n]);
      a[i] = by_ptx(x, y);
      b[i] = by_functions(x, y);
    }
  ]==]):format(headers, ptx, expected))
  local given = mw.array(patterns(), "uint")
  local a, b = mw.zeros(count, "uint"), mw.zeros(count, "uint")
  m.k(mw.cdiv(count, 128), 128)(given, a, b, count)
  local got, wanted = a:totable(), b:totable()
  for i = 1, count do
    local inputs = ("of %s and %s"):format(given[i], given[i % count + 1])
    assert.equal(("%08x"):format(wanted[i]), ("%08x"):format(got[i]), inputs)
  end
end

local bf16 = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>"

describe("PTX's", function()
  for _, rounds in ipairs { "rn", "rz" } do
    it("cvt." .. rounds .. ".bf16.f32 and .bf16x2.f32, whose first operand is the upper element", function()
      compare(bf16, ([[
        unsigned short one;
        unsigned two;
        asm("cvt.%s.bf16.f32 %%0, %%1;" : "=h"(one) : "f"(x));
        asm("cvt.%s.bf16x2.f32 %%0, %%1, %%2;" : "=r"(two) : "f"(y), "f"(x));
        return (two & 0xffff) == one ? two : 0xdead;]]):format(rounds, rounds), ([[
        return __bfloat16_as_ushort(__float2bfloat16_%s(x)) |
               (unsigned)__bfloat16_as_ushort(__float2bfloat16_%s(y)) << 16;]]):format(rounds, rounds))
    end)
  end

  it("cvt.rn.relu.f16x2.f32", function()
    compare(bf16, [[unsigned r; asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x)); return r;]], [[
      x = x <= 0 ? 0 : x, y = y <= 0 ? 0 : y; // -0 is 0, as an H100 has it
      return __half_as_ushort(__float2half(x)) | (unsigned)__half_as_ushort(__float2half(y)) << 16;]])
  end)

  it("cvt.rna.tf32.f32, which rounds halves away from zero", function()
    compare("", [[unsigned r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r & 0xffffe000;]], [[
      unsigned bits = __float_as_uint(x);
      if (x != x) return bits & 0xffffe000; // as an H100 has it
      return fabsf(x) == INFINITY ? bits : (bits + 0x1000) & 0xffffe000;]])
  end)

  for _, format in ipairs { "e4m3", "e5m2" } do
    local name = "__NV_" .. format:upper()
    it("cvt to and from two numbers of " .. format, function()
      compare(bf16, ([[
        unsigned short r;
        unsigned halves, back;
        asm("cvt.rn.satfinite.%sx2.f32 %%0, %%1, %%2;" : "=h"(r) : "f"(y), "f"(x));
        asm("cvt.rn.f16x2.%sx2 %%0, %%1;" : "=r"(halves) : "h"(r));
        unsigned short again;
        asm("cvt.rn.satfinite.%sx2.f16x2 %%0, %%1;" : "=h"(again) : "r"(halves));
        return again == r ? halves : 0xdead;]]):format(format, format, format), ([[
        __half2_raw r = __nv_cvt_fp8x2_to_halfraw2(__nv_cvt_float2_to_fp8x2(make_float2(x, y), __NV_SATFINITE, %s), %s);
        return r.x | (unsigned)r.y << 16;]]):format(name, name))
    end)
  end

  for name, call in pairs { add = "__hadd", sub = "__hsub", mul = "__hmul", min = "__hmin", max = "__hmax" } do
    it(name .. ".bf16x2", function()
      compare(bf16, ([[
        __nv_bfloat162 a = __floats2bfloat162_rn(x, y), b = __floats2bfloat162_rn(y, x);
        unsigned r;
        asm("%s.bf16x2 %%0, %%1, %%2;" : "=r"(r) : "r"(*(unsigned *)&a), "r"(*(unsigned *)&b));
        return r;]]):format(name), ([[
        __nv_bfloat16 a = __float2bfloat16(x), b = __float2bfloat16(y);
        return __bfloat16_as_ushort(%s(a, b)) | (unsigned)__bfloat16_as_ushort(%s(b, a)) << 16;]]):format(call, call))
    end)
  end

  it("fma.rn.bf16", function()
    compare(bf16, [[
      unsigned short a = __bfloat16_as_ushort(__float2bfloat16(x)), b = __bfloat16_as_ushort(__float2bfloat16(y)), r;
      asm("fma.rn.bf16 %0, %1, %2, %1;" : "=h"(r) : "h"(a), "h"(b));
      return r;]], [[
      __nv_bfloat16 a = __float2bfloat16(x), b = __float2bfloat16(y);
      return __bfloat16_as_ushort(__hfma(a, b, a));]])
  end)
end)
