-- cuda_fp8.h: every number of both 8-bit formats, and rounding to them, against their definition in Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local random = require "support.random" "fp8_spec"

local inf, nan = math.huge, 0 / 0

-- The numbers of the codes 0 to 0x7f; what a code of the other half has is their negative.
local formats = {
  e4m3 = { fraction = 3, bias = 7, largest = 448, codes = {} },
  e5m2 = { fraction = 2, bias = 15, largest = 57344, codes = {} },
}
for name, format in pairs(formats) do
  for code = 0, 0x7f do
    local e, f = code >> format.fraction, (code & (1 << format.fraction) - 1) / (1 << format.fraction)
    local value = e == 0 and f * 2.0 ^ (1 - format.bias) or (1 + f) * 2.0 ^ (e - format.bias)
    if name == "e4m3" and code == 0x7f then value = nan end
    if name == "e5m2" and code >= 0x7c then value = code == 0x7c and inf or nan end
    format.codes[code] = value
  end
end

-- The code that x is rounded to: of the nearest number, of two as near the even code.
local function encode(format, x, saturates)
  if x ~= x then return 0x7f end
  local sign, size, best = (x < 0 or 1 / x < 0) and 0x80 or 0, math.abs(x), 0
  local last = format == formats.e4m3 and 0x7e or 0x7b
  local unit = format.codes[last] - format.codes[last - 1]
  if size > format.largest + unit / 2 or size == inf or size == format.largest + unit / 2 and last & 1 == 1 then
    best = saturates and last or last + 1
  else
    for code = 0, last do
      local distance, least = math.abs(format.codes[code] - size), math.abs(format.codes[best] - size)
      if distance < least or distance == least and code & 1 == 0 then best = code end
    end
  end
  return sign | best
end

local kernels = [[
  #include <cuda_fp8.h>
  template <class T> __device__ float number(unsigned char code) {
    T x;
    x.__x = code;
    return (float)x;
  }
  extern "C" __global__ void decode(float *e4m3, float *e5m2, float *pairs) {
    unsigned char code = threadIdx.x;
    e4m3[code] = number<__nv_fp8_e4m3>(code);
    e5m2[code] = number<__nv_fp8_e5m2>(code);
    __nv_fp8x2_e5m2 pair;
    pair.__x = (unsigned short)(code << 8 | 0x3c);
    pairs[code] = ((float2)pair).y + ((float2)pair).x;
  }
  #define ENCODE(form, format) \
    out[0 * n + i] = __nv_cvt_double_to_fp8(x[i], __NV_SATFINITE, format); \
    out[1 * n + i] = __nv_cvt_double_to_fp8(x[i], __NV_NOSAT, format); \
    out[2 * n + i] = __nv_cvt_float_to_fp8((float)x[i], __NV_NOSAT, format); \
    out[3 * n + i] = form((float)x[i]).__x;
  extern "C" __global__ void encode_e4m3(const double *x, unsigned char *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { ENCODE(__nv_fp8_e4m3, __NV_E4M3) }
  }
  extern "C" __global__ void encode_e5m2(const double *x, unsigned char *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { ENCODE(__nv_fp8_e5m2, __NV_E5M2) }
  }
  extern "C" __global__ void types(float *f, int *p, float x, int n) {
    __nv_fp8_e4m3 a(x), b(n), c(__float2half(x)), d(__float2bfloat16(x)), e(-1000);
    f[0] = (float)a, f[1] = (float)b, f[2] = (float)(__half)c, f[3] = (float)(__nv_bfloat16)d, f[4] = (double)e;
    __nv_fp8x4_e4m3 four(make_float4(1, 2, 3, 4));
    float4 v = (float4)four;
    f[5] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
    p[0] = (int)a, p[1] = (unsigned char)e, p[2] = (signed char)e, p[3] = (bool)a, p[4] = (short)e;
    p[5] = (int)four.__x;
    p[6] = __nv_cvt_halfraw2_to_fp8x2(__floats2half2_rn(x, 1.0f), __NV_SATFINITE, __NV_E5M2);
  }]]

local function same(a, b) return a == b and 1 / a == 1 / b or a ~= a and b ~= b end

describe("8-bit floating point:", function()
  local m
  setup(function() m = mw.compile(kernels) end)

  it("the number of each code", function()
    local e4m3, e5m2, pairs_ = mw.zeros(256, "float"), mw.zeros(256, "float"), mw.zeros(256, "float")
    m.decode(1, 256)(e4m3, e5m2, pairs_)
    for code = 0, 255 do
      for name, array in pairs { e4m3 = e4m3, e5m2 = e5m2 } do
        local value = formats[name].codes[code & 0x7f]
        if code > 0x7f then value = -value end
        assert(same(value, array[code + 1]), ("%s %02x is %g and not %g"):format(name, code, array[code + 1], value))
      end
      assert(same(e5m2[code + 1] + 1, pairs_[code + 1]))
    end
  end)

  for name, format in pairs(formats) do
    it("rounding to " .. name, function()
      local list = { 0.0, -0.0, inf, -inf, nan, 1e300, -1e300, 1e-300, format.largest, -format.largest }
      for code = 0, 0x7d do
        local a, b = format.codes[code], format.codes[code + 1]
        if b == b and b ~= inf then
          local middle = (a + b) / 2
          local above, below = middle * (1 + 2.0 ^ -40), middle * (1 - 2.0 ^ -40)
          for _, x in ipairs { a, middle, above, below, middle * (1 + 2.0 ^ -22) } do
            list[#list + 1] = random(0, 1) == 0 and x or -x
          end
        end
      end
      local step = format.largest - format.codes[(format == formats.e4m3 and 0x7d or 0x7a)]
      for _, factor in ipairs { 0.25, 0.5, 0.75, 1 } do list[#list + 1] = format.largest + factor * step end
      for _ = 1, 500 do list[#list + 1] = (random(0, 2 ^ 30) / 2 ^ 29 - 1) * 2.0 ^ random(-18, 17) end
      local n = #list
      local out = mw.zeros(4 * n, "uchar")
      m["encode_" .. name]((n + 127) // 128, 128)(mw.array(list, "double"), out, n)
      for i, x in ipairs(list) do
        local single = string.unpack("f", string.pack("f", x))
        for k, expected in ipairs { encode(format, x, true), encode(format, x, false), encode(format, single, false),
          encode(format, single, true) } do
          local got = out[(k - 1) * n + i]
          assert(got == expected, ("%s of %a, form %d: %02x and not %02x"):format(name, x, k, got, expected))
        end
      end
    end)
  end

  it("types and their conversions", function()
    local f, p = mw.zeros(6, "float"), mw.zeros(7, "int")
    m.types(1, 1)(f, p, 2.6, 100)
    assert.same({ 2.5, 96, 2.5, 2.5, -448, 4321 }, f:totable())
    assert.same({ 2, 0, -128, 1, -448, 0x48444038, 0x3c41 }, p:totable())
  end)
end)
