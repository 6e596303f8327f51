-- cuda_fp6.h and cuda_fp4.h: every number of the three formats, and rounding to them, against their definition in Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local random = require "support.random" "small_float_spec"

local formats = {
  { name = "__NV_E2M3", type = "__nv_fp6_e2m3", of = "fp6", fraction = 3, bias = 1, most = 0x1f },
  { name = "__NV_E3M2", type = "__nv_fp6_e3m2", of = "fp6", fraction = 2, bias = 3, most = 0x1f },
  { name = "__NV_E2M1", type = "__nv_fp4_e2m1", of = "fp4", fraction = 1, bias = 1, most = 0x7 },
}

local function value(format, code)
  local e, f = code >> format.fraction, (code & (1 << format.fraction) - 1) / (1 << format.fraction)
  return e == 0 and f * 2.0 ^ (1 - format.bias) or (1 + f) * 2.0 ^ (e - format.bias)
end

local function encode(format, x, to_zero)
  if x ~= x then return format.most end
  local size, best = math.min(math.abs(x), value(format, format.most)), 0
  for code = 0, format.most do
    local distance, least = math.abs(value(format, code) - size), math.abs(value(format, best) - size)
    local nearer = distance < least or distance == least and code & 1 == 0
    if to_zero then nearer = value(format, code) <= size end
    if nearer then best = code end
  end
  return best | ((x < 0 or 1 / x < 0) and format.most + 1 or 0)
end

local source = "#include <cuda_fp4.h>\n"
for _, format in ipairs(formats) do
  source = source .. ([[
    __global__ void NAME_of(const double *x, unsigned char *out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      out[i] = __nv_cvt_double_to_KIND(x[i], FORMAT, cudaRoundNearest);
      out[n + i] = __nv_cvt_double_to_KIND(x[i], FORMAT, cudaRoundZero);
      out[2 * n + i] = TYPE((float)x[i]).__x;
    }
    __global__ void NAME_to(float *out) {
      TYPE one;
      one.__x = (unsigned char)threadIdx.x;
      out[threadIdx.x] = (float)one;
    }]]):gsub("%u+", { NAME = format.type, KIND = format.of, FORMAT = format.name, TYPE = format.type })
end
source = source .. [[
  __global__ void groups(float *f, unsigned *p) {
    __nv_fp4x4_e2m1 four(make_float4(1, 2, -3, 4));
    float4 v = (float4)four;
    f[0] = v.x, f[1] = v.y, f[2] = v.z, f[3] = v.w;
    p[0] = four.__x;
    p[1] = __nv_fp6x2_e3m2(make_float2(1, 28)).__x;
    p[2] = __nv_cvt_float2_to_fp4x2(make_float2(0.5f, 6), __NV_E2M1, cudaRoundNearest);
    float2 w = (float2)__nv_fp6x2_e2m3(make_float2(-7.5f, 0.125f));
    f[4] = w.x, f[5] = w.y;
  }]]

describe("numbers of 4 and 6 bits", function()
  local m = mw.compile(source)

  it("are what their codes say", function()
    for _, format in ipairs(formats) do
      local count = 2 * (format.most + 1)
      local out = mw.zeros(count)
      m[format.type .. "_to"](1, count)(out)
      for code = 0, count - 1 do
        local sign = code > format.most and -1 or 1
        assert.equal(sign * value(format, code & format.most), out[code + 1], format.name .. " " .. code)
      end
    end
  end)

  it("round to nearest, ties to even, and toward zero", function()
    local values = { 0 / 0, math.huge, -math.huge, 0.0, -0.0, 1e300, -1e-300 }
    for _, format in ipairs(formats) do
      for code = 0, format.most do
        local here, after = value(format, code), value(format, code + 1)
        for _, x in ipairs { here, (here + after) / 2, here + (after - here) * random(1, 99) / 100 } do
          values[#values + 1], values[#values + 2] = x, -x
        end
      end
    end
    local n = #values
    for _, format in ipairs(formats) do
      local out = mw.zeros(3, n, "uchar")
      m[format.type .. "_of"]((n + 63) // 64, 64)(mw.array(values, "double"), out, n)
      for i, x in ipairs(values) do
        local what = format.name .. " of " .. x
        assert.equal(encode(format, x), out:get(1, i), what)
        assert.equal(encode(format, x, true), out:get(2, i), what)
        local single = string.unpack("f", string.pack("f", x))
        assert.equal(encode(format, single), out:get(3, i), what)
      end
    end
  end)

  it("are grouped with the first in the low bits", function()
    local f, p = mw.zeros(6), mw.zeros(3, "uint")
    m.groups(1, 1)(f, p)
    assert.same({ 1, 2, -3, 4, -7.5, 0.125 }, f:totable())
    assert.same({ 0x6d42, 0x1f0c, 0x71 }, p:totable())
  end)
end)

describe("powers of two in 8 bits", function()
  local m = mw.compile [[
    #include <cuda_fp8.h>
    __global__ void of(const double *x, unsigned char *out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      out[i] = __nv_cvt_double_to_e8m0(x[i], __NV_SATFINITE, cudaRoundPosInf);
      out[n + i] = __nv_cvt_double_to_e8m0(x[i], __NV_NOSAT, cudaRoundZero);
      out[2 * n + i] = __nv_cvt_float_to_e8m0((float)x[i], __NV_NOSAT, cudaRoundPosInf);
      out[3 * n + i] = __nv_cvt_double2_to_e8m0x2(double2{0, x[i]}, __NV_SATFINITE, cudaRoundPosInf) >> 8;
      out[4 * n + i] = __nv_fp8x4_e8m0(make_double4(1, 1, x[i], 1)).__x >> 16;
    }
    __global__ void to(float *out, float *bf) {
      __nv_fp8x2_e8m0 two;
      two.__x = (unsigned short)(threadIdx.x << 8 | 128);
      out[threadIdx.x] = float2(two).y;
      bf[threadIdx.x] = __bfloat162float(__nv_bfloat16(__nv_cvt_e8m0_to_bf16raw((unsigned char)threadIdx.x)));
    }]]

  it("are what their codes say", function()
    local out, bf = mw.zeros(256), mw.zeros(256)
    m.to(1, 256)(out, bf)
    for code = 0, 254 do
      assert.equal(2.0 ^ (code - 127), out[code + 1])
      assert.equal(2.0 ^ (code - 127), bf[code + 1])
    end
    assert.is_true(out[256] ~= out[256] and bf[256] ~= bf[256])
  end)

  -- The least power that is not below |x|, or the largest not above it; what is out of range is `beyond`.
  local function code_of(x, up, beyond)
    local size = math.abs(x)
    if size ~= size then return 0xff end
    if size == math.huge or up and size > 2.0 ^ 127 then return beyond end
    local code = 0
    while code < 254 and (up and 2.0 ^ (code - 127) < size or not up and 2.0 ^ (code - 126) <= size) do
      code = code + 1
    end
    return code
  end

  it("round up or down, and drop signs", function()
    local values = { 0 / 0, math.huge, 0.0, 1e300, 1e-300, 2.0 ^ -127, 2.0 ^ 127, 1 + 2.0 ^ -52, 1.5 * 2.0 ^ -127 }
    for _ = 1, 200 do values[#values + 1] = random(-1000, 1000) / 1000 * 2.0 ^ random(-130, 127) end
    local n = #values
    local out = mw.zeros(5, n, "uchar")
    m.of((n + 63) // 64, 64)(mw.array(values, "double"), out, n)
    for i, x in ipairs(values) do
      assert.equal(code_of(x, true, 0xfe), out:get(1, i), "up, " .. x)
      assert.equal(code_of(x, false, 0xff), out:get(2, i), "down, " .. x)
      local single = string.unpack("f", string.pack("f", x))
      assert.equal(code_of(single, true, 0xff), out:get(3, i), "a float up, " .. x)
      assert.equal(out:get(1, i), out:get(4, i))
      assert.equal(out:get(1, i), out:get(5, i))
    end
  end)
end)
