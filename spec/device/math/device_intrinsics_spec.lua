-- CUDA's integer intrinsics, reinterpretations and fast functions, against plain Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local numbers = require "support.numbers"
local random = require "support.random" "device_intrinsics_spec"

local nan = 0 / 0
local list, to_float = numbers.list, numbers.to_float
local signed, u32, s32 = numbers.signed, numbers.u32, numbers.s32

-- Random 32-bit patterns, with the corners among them.
local corners = { 0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x00ffffff, 0x00800000 }
local function word(i)
  if i <= #corners * #corners then return corners[(i - 1) // #corners + 1] end
  return random(0, 0xffffffff) >> random(0, 31)
end
local function word2(i)
  if i <= #corners * #corners then return corners[(i - 1) % #corners + 1] end
  return random(0, 0xffffffff) >> random(0, 31)
end
local n = 1000

describe("an integer intrinsic", function()
  -- name, whether its arguments and result are signed, the same in Lua on unsigned (or signed) arguments
  local function count(x)
    local c = 0
    while x ~= 0 do c, x = c + (x & 1), x >> 1 end
    return c
  end
  local function leading(x, width)
    local c = 0
    while c < width and x >> (width - 1 - c) & 1 == 0 do c = c + 1 end
    return c
  end
  local function first(x)
    if x == 0 then return 0 end
    local c = 1
    while x & 1 == 0 do c, x = c + 1, x >> 1 end
    return c
  end
  local function reverse(x, width)
    local r = 0
    for i = 0, width - 1 do r = r << 1 | (x >> i & 1) end
    return r
  end
  local one = {
    __clz = function(x) return leading(x, 32) end,
    __ffs = first,
    __popc = count,
    __brev = function(x) return reverse(x, 32) end,
  }
  local wide = {
    __clzll = function(x) return leading(x, 64) end,
    __ffsll = first,
    __popcll = count,
    __brevll = function(x) return reverse(x, 64) end,
  }
  local function s24(x) return signed(x, 24) end
  local two = {
    __mul24 = function(x, y) return s24(x) * s24(y) end,
    mul24 = function(x, y) return s24(x) * s24(y) end,
    __umul24 = function(x, y) return (x & 0xffffff) * (y & 0xffffff) end,
    __mulhi = function(x, y) return s32(x) * s32(y) >> 32 end,
    mulhi = function(x, y) return s32(x) * s32(y) >> 32 end,
    __umulhi = function(x, y) -- in halves, since the product has 64 bits and Lua's integers a sign
      local low = x * (y & 0xffff)
      return (x * (y >> 16) + (low >> 16)) >> 16
    end,
    __hadd = function(x, y) return (s32(x) + s32(y)) // 2 end,
    __rhadd = function(x, y) return (s32(x) + s32(y) + 1) // 2 end,
    __uhadd = function(x, y) return (x + y) // 2 end,
    __urhadd = function(x, y) return (x + y + 1) // 2 end,
  }
  local three = {
    __sad = function(x, y, z) return math.abs(s32(x) - s32(y)) + z end,
    __usad = function(x, y, z) return math.abs(x - y) + z end,
    __byte_perm = function(x, y, s)
      local r = 0
      for i = 0, 3 do
        local byte = (y << 32 | x) >> 8 * (s >> 4 * i & 7) & 0xff -- the fourth bit does not matter, as on an H100
        r = r | byte << 8 * i
      end
      return r
    end,
    __funnelshift_l = function(low, high, s) return (high << 32 | low) << (s & 31) >> 32 end,
    __funnelshift_r = function(low, high, s) return (high << 32 | low) >> (s & 31) end,
    __funnelshift_lc = function(low, high, s)
      return s >= 32 and low or (high << 32 | low) << s >> 32
    end,
    __funnelshift_rc = function(low, high, s) return s >= 32 and high or (high << 32 | low) >> s end,
    __dp4a = function(x, y, z) -- the unsigned overload
      for i = 0, 24, 8 do z = z + (x >> i & 0xff) * (y >> i & 0xff) end
      return z
    end,
    __dp2a_lo = function(x, y, z) return z + (x & 0xffff) * (y & 0xff) + (x >> 16) * (y >> 8 & 0xff) end,
    __dp2a_hi = function(x, y, z) return z + (x & 0xffff) * (y >> 16 & 0xff) + (x >> 16) * (y >> 24) end,
    __fns = function(mask, base, offset)
      offset = s32(offset)
      if offset == 0 then return base < 32 and mask >> base & 1 == 1 and base or 0xffffffff end
      local left = math.abs(offset)
      local i = base < 32 and base or -1
      while i >= 0 and i < 32 do
        if mask >> i & 1 == 1 then left = left - 1 end
        if left == 0 then return i end
        i = i + (offset < 0 and -1 or 1)
      end
      return 0xffffffff
    end,
  }

  local function kernels(functions, format)
    local lines = {}
    for name in pairs(functions) do lines[#lines + 1] = (format:gsub("NAME", name)) end
    return table.concat(lines, "\n")
  end
  local m = mw.compile(kernels(one, [[
__global__ void k_NAME(int n, const unsigned *x, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = NAME(x[i]);
}]]) .. kernels(wide, [[

__global__ void k_NAME(int n, const unsigned long long *x, unsigned long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = NAME(x[i]);
}]]) .. kernels(two, [[

__global__ void k_NAME(int n, const unsigned *x, const unsigned *y, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = NAME(x[i], y[i]);
}]]) .. kernels(three, [[

__global__ void k_NAME(int n, const unsigned *x, const unsigned *y, const unsigned *z, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = NAME(x[i], y[i], z[i]);
}]]) .. [[

__global__ void high(int n, const long long *x, const long long *y, long long *s, unsigned long long *u) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s[i] = __mul64hi(x[i], y[i]);
  u[i] = __umul64hi(x[i], y[i]);
}
__global__ void packed(const int *x, const int *y, int *out) {
  int i = threadIdx.x;
  char4 a = *(char4 *)&x[i], b = *(char4 *)&y[i];
  short2 c = *(short2 *)&x[i];
  out[4 * i] = __dp4a(x[i], y[i], 5) - __dp4a(a, b, 5);
  out[4 * i + 1] = __dp4a(x[i], y[i], 5);
  out[4 * i + 2] = __dp2a_lo(x[i], y[i], 7) - __dp2a_lo(c, b, 7);
  out[4 * i + 3] = __dp2a_hi(c, b, 7);
}
]])

  local function words(make) return list(n, make), nil end
  local function launch(name, ...)
    local arrays = {}
    for i, values in ipairs { ... } do arrays[i] = mw.array(values, "uint") end
    local out = mw.zeros(n, "uint")
    arrays[#arrays + 1] = out
    m["k_" .. name](mw.cdiv(n, 128), 128)(n, table.unpack(arrays))
    return out:totable()
  end

  it("of one argument counts and reverses bits", function()
    local x = words(word)
    for name, lua in pairs(one) do
      for i, got in ipairs(launch(name, x)) do
        if got ~= lua(x[i]) then error(("%s(0x%x) is %d, want %d"):format(name, x[i], got, lua(x[i]))) end
      end
    end
  end)

  it("of one wide argument counts and reverses bits", function()
    local x = list(n, function(i) return i <= 64 and 1 << (i - 1) or i == 65 and 0 or random(0) >> random(0, 63) end)
    for name, lua in pairs(wide) do
      local out = mw.zeros(n, "ulonglong")
      m["k_" .. name](mw.cdiv(n, 128), 128)(n, mw.from_bytes(string.pack("<" .. ("i8"):rep(n), table.unpack(x)),
        "ulonglong"), out)
      local got = { string.unpack("<" .. ("i8"):rep(n), out:bytes()) }
      for i = 1, n do
        if got[i] ~= lua(x[i]) then error(("%s(0x%x) is %d, want %d"):format(name, x[i], got[i], lua(x[i]))) end
      end
    end
  end)

  it("of two arguments multiplies and averages", function()
    local x, y = words(word), words(word2)
    for name, lua in pairs(two) do
      for i, got in ipairs(launch(name, x, y)) do
        local expected = u32(lua(x[i], y[i]))
        if got ~= expected then error(("%s(0x%x, 0x%x) is 0x%x, want 0x%x"):format(name, x[i], y[i], got, expected)) end
      end
    end
  end)

  it("of three arguments sums, permutes and shifts", function()
    local x, y = words(word), words(word2)
    local z = list(n, function(i) return i % 4 == 0 and random(0, 0xffffffff) or random(0, 70) end)
    for name, lua in pairs(three) do
      local w = z
      if name == "__fns" then
        y = list(n, function() return random(0, 35) end)
        w = list(n, function() return u32(random(-9, 9)) end)
      end
      for i, got in ipairs(launch(name, x, y, w)) do
        local expected = u32(lua(x[i], y[i], w[i]))
        if got ~= expected then
          error(("%s(0x%x, 0x%x, 0x%x) is 0x%x, want 0x%x"):format(name, x[i], y[i], w[i], got, expected))
        end
      end
    end
  end)

  it("of two wide arguments gives the upper half of the product", function()
    local x = list(n, function(i) return i <= 4 and ({ 0, -1, math.mininteger, math.maxinteger })[i] or random(0) end)
    local y = list(n, function(i) return i % 7 == 0 and -1 or i % 11 == 0 and math.mininteger or random(0) end)
    local s, u = mw.zeros(n, "longlong"), mw.zeros(n, "longlong")
    m.high(mw.cdiv(n, 128), 128)(n, mw.array(x, "longlong"), mw.array(y, "longlong"), s, u:as "ulonglong")
    -- schoolbook, in halves of 32 bits
    local function high(a, b)
      local a1, a0, b1, b0 = a >> 32, u32(a), b >> 32, u32(b)
      local middle = a1 * b0 + (a0 * b0 >> 32)
      local other = a0 * b1 + u32(middle)
      return a1 * b1 + (middle >> 32) + (other >> 32)
    end
    s, u = s:totable(), u:totable()
    for i = 1, n do
      local expected = high(x[i], y[i])
      assert.equal(expected, u[i])
      assert.equal(expected - (x[i] < 0 and y[i] or 0) - (y[i] < 0 and x[i] or 0), s[i])
    end
  end)

  it("takes packed arguments as vectors as well", function()
    local x = list(64, function() return s32(random(0, 0xffffffff)) end)
    local y = list(64, function(i) return s32(word2(i)) end)
    local out = mw.zeros(256, "int")
    m.packed(1, 64)(mw.array(x, "int"), mw.array(y, "int"), out)
    out = out:totable()
    for i = 1, 64 do
      local dot, pair = 5, 7
      for b = 0, 24, 8 do dot = dot + signed(x[i] >> b, 8) * signed(y[i] >> b, 8) end
      for b = 0, 1 do pair = pair + signed(x[i] >> 16 * b, 16) * signed(y[i] >> 16 + 8 * b, 8) end
      assert.same({ 0, dot, 0, pair }, { table.unpack(out, 4 * i - 3, 4 * i) })
    end
  end)
end)

describe("a reinterpretation", function()
  it("keeps the bits", function()
    local m = mw.compile [[
__global__ void k(const unsigned *x, const unsigned long long *y, unsigned *out, unsigned long long *wide) {
  int i = threadIdx.x;
  out[4 * i] = __float_as_uint(__uint_as_float(x[i]));
  out[4 * i + 1] = __float_as_int(__int_as_float(x[i]));
  double d = __longlong_as_double(y[i]);
  out[4 * i + 2] = __double2hiint(d);
  out[4 * i + 3] = __double2loint(d);
  wide[i] = __double_as_longlong(__hiloint2double(out[4 * i + 2], out[4 * i + 3]));
}]]
    local x = list(256, function(i) return i == 1 and 0x7f800001 or i == 2 and 0xffc12345 or word(i + 100) end)
    local y = list(256, function() return random(0) end)
    local out, wide = mw.zeros(1024, "uint"), mw.zeros(256, "longlong")
    m.k(1, 256)(mw.array(x, "uint"), mw.array(y, "longlong"):as "ulonglong", out, wide:as "ulonglong")
    out = out:totable()
    assert.same(y, wide:totable())
    for i = 1, 256 do
      assert.same({ x[i], x[i], y[i] >> 32, u32(y[i]) }, { table.unpack(out, 4 * i - 3, 4 * i) })
    end
  end)
end)

describe("a fast function", function()
  it("is close to the function that it approximates", function()
    local k = mw.compile [[
__global__ void k(const float *x, float *out) {
  int i = threadIdx.x;
  float a = x[i], s, c;
  __sincosf(a, &s, &c);
  float v[] = {__sinf(a), __cosf(a), __tanf(a), __expf(a), __exp10f(a), __logf(a), __log2f(a), __log10f(a),
               __powf(a, 1.5f), __fdividef(a, 3.0f), s, c,
               __saturatef(a), __saturatef(-a), __saturatef(a / 4), fdividef(a, 7)};
  for (int j = 0; j < 16; ++j) out[16 * i + j] = v[j];
}]]
    local xs, out = list(256, function() return to_float(0.01 + 3 * random()) end), mw.zeros(256 * 16)
    k.k(1, 256)(mw.array(xs), out)
    out = out:totable()
    for i, x in ipairs(xs) do
      local expected = { math.sin(x), math.cos(x), math.tan(x), math.exp(x), 10 ^ x, math.log(x), math.log(x, 2),
        math.log(x, 10), x ^ 1.5, x / 3, math.sin(x), math.cos(x), math.min(x, 1), 0, math.min(x / 4, 1), x / 7 }
      for j = 1, 16 do
        if j == 3 and suite.on_gpu then j = 4 end -- CUDA gives no bound for __tanf
        local got = out[16 * (i - 1) + j]
        -- CUDA's own bound for most of them is an absolute 2^-21, or some units in the last place; that of __expf and
        -- __exp10f grows with the argument
        local units = j == 4 and 2 + 1.16 * x // 1 or j == 5 and 2 + 2.95 * x // 1 or 4
        assert.is_true(math.abs(got - expected[j]) <= units * 2.0 ^ -23 * math.max(1, math.abs(expected[j])),
          j .. " at " .. x)
      end
    end
  end)

  it("has a range and an answer to NaN", function()
    local k = mw.compile [[
__global__ void k(float *out, float quiet) {
  out[0] = __saturatef(quiet); out[1] = __saturatef(2); out[2] = __saturatef(-1); out[3] = __saturatef(INFINITY);
  out[4] = isnan(__powf(-2, 3)); out[5] = isnan(__logf(-1)); out[6] = __fdividef(1, INFINITY);
}]]
    local out = mw.zeros(7)
    k.k(1, 1)(out, nan)
    assert.same({ 0, 1, 0, 1, 1, 1, 0 }, out:totable())
  end)
end)
