-- Arithmetic that is undefined in C has CUDA's results: division by zero, shifts by the width or more, conversions of
-- numbers out of range; compared with plain Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.
-- CPU device only: --width is an option of its compiler.

local mw = require "moonwarp"

-- Two's complement numbers of `bits` bits, and the other way round.
local function wrap(value, bits, signed)
  if bits == 64 then return value end
  value = value & ((1 << bits) - 1)
  if signed and value >> (bits - 1) == 1 then value = value - (1 << bits) end
  return value
end

local integer_types = {
  { "char", 8, true }, { "uchar", 8, false }, { "short", 16, true }, { "ushort", 16, false },
  { "int", 32, true }, { "uint", 32, false }, { "longlong", 64, true }, { "ulonglong", 64, false },
}
local pack_formats = { char = "i1", uchar = "I1", short = "i2", ushort = "I2", int = "i4", uint = "I4",
  longlong = "i8", ulonglong = "i8" }

-- An array of any integer type from Lua integers, 64-bit ones as the same bits; and back.
local function array_of(list, dtype)
  local parts = {}
  for i, value in ipairs(list) do parts[i] = string.pack("<" .. pack_formats[dtype], value) end
  return mw.from_bytes(table.concat(parts), dtype)
end

local function list_of(array, dtype)
  local format, bytes, list, at = "<" .. pack_formats[dtype], array:bytes(), {}, 1
  while at <= #bytes do list[#list + 1], at = string.unpack(format, bytes, at) end
  return list
end

-- Every pair of `a` and `b` put through kernel<type>(n, a, b, quotient, remainder).
local function check_pairs(kernel, dtype, bits, signed, as, bs, expected)
  local left, right = {}, {}
  for _, a in ipairs(as) do
    for _, b in ipairs(bs) do left[#left + 1], right[#right + 1] = wrap(a, bits, signed), wrap(b, bits, signed) end
  end
  local n = #left
  local q, r = mw.zeros(n, dtype), mw.zeros(n, dtype)
  kernel(mw.cdiv(n, 64), 64)(n, array_of(left, dtype), array_of(right, dtype), q, r)
  local quotients, remainders = list_of(q, dtype), list_of(r, dtype)
  for i = 1, n do
    local wanted_q, wanted_r = expected(left[i], right[i])
    local pair = ("%s %d and %d"):format(dtype, left[i], right[i])
    assert.equal(wrap(wanted_q, bits, signed), quotients[i], pair)
    if wanted_r then assert.equal(wrap(wanted_r, bits, signed), remainders[i], pair) end
  end
end

for _, options in ipairs { false, { "--width=1" } } do
  local options_text = options and " with " .. options[1] or ""
  options = options or nil

  describe("integer division" .. options_text, function()
    local m = mw.compile { source = [[
      typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;
      typedef long long longlong; typedef unsigned long long ulonglong;
      template <typename T> __global__ void divide(int n, const T *a, const T *b, T *q, T *r) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { q[i] = a[i] / b[i]; r[i] = a[i] % b[i]; }
      }
      // One divisor for all, which the compiler may divide by in another way; the remainder alone.
      template <typename T> __global__ void divide_all(int n, const T *a, const T *b, T *q, T *r) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        T d = *b;
        if (i < n) r[i] = a[i] % d;
        if (i < n) q[i] = a[i] / d;
      }
      __global__ void guarded(int n, const int *a, const int *b, int *q) {
        int i = threadIdx.x;
        if (i < n) {
          if (b[i] != 0) q[i] = a[i] / b[i];
          else q[i] = 77;
          q[i] += b[i] ? a[i] % b[i] : 0;
        }
      }
      __global__ void indexed(int n, const int *a, int d, int *q) {
        int i = threadIdx.x;
        if (d) q[i] = a[i / d];
        else q[i] = -5;
      }
    ]], options = options }

    local numbers = { 0, 1, -1, 2, 7, -7, 100, -100, 127, -128, 255, 32767, -32768, 65535, 2147483647,
      -2147483648, 4294967295, 4294967296, -4294967296, math.maxinteger, math.mininteger, math.mininteger + 1 }
    local divisors = { 0, 1, -1, 3, -3, 64, 255, 1000, 65537, math.mininteger, math.maxinteger }

    -- Division by zero gives ones, as many as the type has bits: but 64-bit division is done in software, and that
    -- gives 32 of them where the dividend fits into 32 bits. The smallest number divided by -1 is itself.
    local function expected(bits, signed)
      return function(a, b)
        if b == 0 then
          local ones = bits == 64 and a >> 32 == 0 and 0xffffffff or -1
          return ones, ones
        elseif not signed and bits == 64 then
          if b < 0 then return math.ult(a, b) and 0 or 1, math.ult(a, b) and a or a - b end
          local q = ((a >> 1) // b) << 1
          if not math.ult(a - q * b, b) then q = q + 1 end
          return q, a - q * b
        elseif b == -1 then
          return -a, 0
        end
        local q = a // b
        if q < 0 and q * b ~= a then q = q + 1 end
        return q, a - q * b
      end
    end

    for _, t in ipairs(integer_types) do
      local name, bits, signed = t[1], t[2], t[3]
      it("has CUDA's results for " .. name, function()
        check_pairs(m["divide<" .. name .. ">"], name, bits, signed, numbers, divisors, expected(bits, signed))
      end)

      it("has them with one divisor for all, " .. name, function()
        for _, divisor in ipairs { 0, -1, 7 } do
          check_pairs(m["divide_all<" .. name .. ">"], name, bits, signed, numbers, { divisor },
            expected(bits, signed))
        end
      end)
    end

    it("is executed only if the program reaches it", function()
      local a, b, q = mw.arange(200, "int"), mw.zeros(200, "int"), mw.zeros(200, "int")
      for i = 1, 200, 3 do b[i] = i % 7 end
      m.guarded(1, 256)(200, a, b, q)
      for i = 1, 200 do
        local d = b[i]
        assert.equal(d == 0 and 77 or (i - 1) // d + (i - 1) % d, q[i])
      end
      m.indexed(1, 100)(100, a, 0, q)
      for i = 1, 100 do assert.equal(-5, q[i]) end
      m.indexed(1, 100)(100, a, 3, q)
      assert.equal(33, q[100])
    end)

    -- An optimiser that sees both numbers takes the result, and what a function makes of it, for undefined.
    it("is the same where the numbers are known", function()
      local known = mw.compile { source = [[
        __device__ int same(int a) { return a; }
        __device__ int left(int a, int by) { return a << by; }
        __global__ void known(int *out) {
          unsigned one = 1, none = 0;
          int five = 5, zero = 0;
          out[0] = __popc(one / none);
          out[1] = __popcll((unsigned long long)(none % zero));
          out[2] = same(five / zero);
          out[3] = left(1, 40);
          out[4] = __clz(left(3, 32));
        }
      ]], options = options }
      local out = mw.full(5, 77, "int")
      known.known(1, 1)(out)
      assert.same({ 32, 32, -1, 0, 32 }, out:totable())
    end)

    -- -2^127 / -1 wraps as in fewer bits, and 2^63 / -1 is a number like others.
    it("has 128 bits as well", function()
      local long = mw.compile { source = [[
        __global__ void divide(const long long *high, const unsigned long long *low, int by, long long *out) {
          int t = threadIdx.x;
          __int128 number = (__int128)((unsigned __int128)high[t] << 64 | low[t]), quotient = number / by;
          out[3 * t] = (long long)(quotient >> 64), out[3 * t + 1] = (long long)quotient;
          out[3 * t + 2] = (long long)(number % by);
        }
      ]], options = options }
      local lowest = math.mininteger
      local high, low = { 0, lowest, 0, -1, 1 }, { lowest, 0, 7, -7, 3 }
      local function divide(by)
        local out = mw.zeros(15, "longlong")
        long.divide(1, 5)(mw.array(high, "longlong"), array_of(low, "ulonglong"), by, out)
        return out:totable()
      end
      assert.same({ -1, lowest, 0, lowest, 0, 0, -1, -7, 0, 0, 7, 0, -2, -3, 0 }, divide(-1))
      assert.same({ 0, lowest >> 1, 0, lowest // 2, 0, 0, 0, 3, 1, -1, -3, -1, 0, lowest + 1, 1 }, divide(2))
    end)
  end)

  describe("a shift by the width or more" .. options_text, function()
    local m = mw.compile { source = [[
      typedef unsigned int uint; typedef long long longlong; typedef unsigned long long ulonglong;
      template <typename T> __global__ void shift(int n, const T *a, const T *b, T *left, T *right) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { int by = (int)b[i]; left[i] = a[i] << by; right[i] = a[i] >> by; }
      }
      template <typename T> __global__ void shift_all(int n, const T *a, const T *b, T *left, T *right) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int by = (int)*b;
        if (i < n) { left[i] = a[i] << by; right[i] = a[i] >> by; }
      }
    ]], options = options }
    local numbers = { 0, 1, -1, 5, -6, 0x7fffffff, -0x80000000, 0x123456789abcdef, math.maxinteger, math.mininteger }
    local amounts = { 0, 1, 7, 31, 32, 33, 63, 64, 65, 1000, 0x7fffffff, -1, -32 }

    for _, t in ipairs(integer_types) do
      local name, bits, signed = t[1], t[2], t[3]
      if bits >= 32 then
        it("gives zeros, or the sign, for " .. name, function()
          local function expected(a, b)
            b = wrap(b, 32, false)
            local left = b >= bits and 0 or a << b
            local right
            if b >= bits then
              right = signed and a < 0 and -1 or 0
            elseif signed then
              right = a // (1 << b)
              if b == 63 then right = a < 0 and -1 or 0 end
            else
              right = a >> b
            end
            return left, right
          end
          check_pairs(m["shift<" .. name .. ">"], name, bits, signed, numbers, amounts, expected)
          for _, amount in ipairs(amounts) do
            check_pairs(m["shift_all<" .. name .. ">"], name, bits, signed, numbers, { amount }, expected)
          end
        end)
      end
    end
  end)

  describe("a conversion from floating point" .. options_text, function()
    local m = mw.compile { source = [[
      typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;
      typedef long long longlong; typedef unsigned long long ulonglong;
      template <typename F, typename T> __global__ void convert(int n, const F *a, T *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = (T)a[i];
      }
    ]], options = options }
    local nan, inf = 0 / 0, math.huge
    local numbers = { nan, inf, -inf, 0.0, -0.0, 0.5, -0.5, 0.99, -0.99, 1.5, -1.5, 127.9, 128, -128.5, -129, 255.9,
      256, 300.7, -300.7, 32767.5, 32768, -32769, 65535.5, 65536, 70000, -70000, 2147483520, 2147483648, -2147483648,
      -2147483904, 4294967040, 4294967296, 1e10, -1e10, 9.2e18, 2.0 ^ 63, -2.0 ^ 63, -1e19, 1.8e19, 2.0 ^ 64, 1e30,
      -1e30 }

    -- The processor converts to 32 and 64 bits and keeps to their range; narrower types are the low bits of 32.
    local function to_int(value, bits, signed, from)
      if value ~= value then
        if bits == 64 then return math.mininteger end
        return from == "double" and -0x80000000 or 0
      end
      local whole = value < 0 and math.ceil(value) or math.floor(value)
      local least = signed and -2.0 ^ (bits - 1) or 0.0
      local above = signed and 2.0 ^ (bits - 1) or 2.0 ^ bits
      if whole <= least then return signed and math.mininteger >> (64 - bits) | (-1 << (bits - 1)) or 0 end
      if whole >= above then return signed and (1 << (bits - 1)) - 1 or bits == 64 and -1 or (1 << bits) - 1 end
      if whole >= 2.0 ^ 63 then return math.tointeger(whole - 2.0 ^ 63) + math.mininteger end
      return math.tointeger(whole)
    end

    for _, from in ipairs { "float", "double" } do
      for _, t in ipairs(integer_types) do
        local name, bits, signed = t[1], t[2], t[3]
        it(("from %s to %s has CUDA's results"):format(from, name), function()
          local a, out = mw.array(numbers, from), mw.zeros(#numbers, name)
          m[("convert<%s,%s>"):format(from, name)](1, 64)(#numbers, a, out)
          local results = list_of(out, name)
          for i = 1, #numbers do
            local value = a[i] -- as a float has it
            local wanted = wrap(to_int(value, math.max(bits, 32), signed, from), bits, signed)
            assert.equal(wanted, results[i], ("%s %.17g to %s"):format(from, value, name))
          end
        end)
      end
    end
  end)
end
