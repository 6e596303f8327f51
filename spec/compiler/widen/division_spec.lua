-- Integer division and remainder in vector code, by common divisors and by each lane's own: at the limits of types and
-- next to multiples, as in plain arithmetic. By 0 all bits are set, and the lowest number divided by -1 wraps.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local types = {
  { "signed char", "char", 8, true }, { "unsigned short", "ushort", 16 }, { "short", "short", 16, true },
  { "int", "int", 32, true }, { "unsigned", "uint", 32 }, { "long long", "int64", 64, true },
  { "unsigned long long", "uint64", 64 },
}

-- The number that the type's bits stand for.
local function wrap(x, bits, signed)
  if bits == 64 then return x end
  x = x & (1 << bits) - 1
  return signed and x >= 1 << bits - 1 and x - (1 << bits) or x
end

-- What a GPU computes: quotient and remainder, truncated. For 64 bits without sign, numbers are bit patterns.
local function divide(a, b, bits, signed)
  if b == 0 then
    local short = bits == 64 and a >= 0 and a < 1 << 32
    local ones = short and 0xffffffff or wrap(-1, bits, signed)
    return ones, ones
  end
  if bits == 64 and not signed then
    if b < 0 then
      local once = not math.ult(a, b)
      return once and 1 or 0, once and a - b or a
    end
    local q = ((a >> 1) // b) << 1
    if not math.ult(a - q * b, b) then q = q + 1 end
    return q, a - q * b
  end
  if b == -1 then return wrap(-a, bits, signed), 0 end
  local q = a // b
  if q < 0 and q * b ~= a then q = q + 1 end
  return q, a - q * b
end

local function edges(bits, signed)
  local list, seen = {}, {}
  local function add(x)
    x = wrap(x, bits, signed)
    if not seen[x] then list[#list + 1], seen[x] = x, true end
  end
  for _, x in ipairs { 0, 1, 2, 3, 5, 6, 7, 10, 100, 641, 1000003, 998244353, -1, -2, -3, -7, -10, -65537 } do
    add(x)
  end
  for _, power in ipairs { 7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 49, 52, 53, 62, 63 } do
    if power < bits then
      for d = -1, 1 do add((1 << power) + d) end
    end
  end
  return list
end

local function source(name)
  return ([[
__global__ void common(const T *a, int n, T b, T *quotient, T *remainder) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) quotient[i] = a[i] / b, remainder[i] = a[i] % b;
}
__global__ void own(const T *a, int n, const T *b, T *quotient, T *remainder) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) quotient[i] = a[i] / b[i], remainder[i] = a[i] % b[i];
}]]):gsub("%f[%w_]T%f[^%w_]", name)
end

describe("division in vector code", function()
  for _, t in ipairs(types) do
    local name, dtype, bits, signed = t[1], t[2], t[3], t[4]
    local m, divisors, dividends
    local function check(kernel, b_of)
      local n = #dividends
      local q, r = mw.zeros(n, dtype), mw.zeros(n, dtype)
      kernel(q, r)
      local quotients, remainders = q:totable(), r:totable()
      for i = 1, n do
        local a, b = dividends[i], b_of(i)
        local wanted_q, wanted_r = divide(a, b, bits, signed)
        if quotients[i] ~= wanted_q or remainders[i] ~= wanted_r then
          error(("%d / %d: %d and %d, not %d and %d"):format(a, b, quotients[i], remainders[i], wanted_q, wanted_r), 0)
        end
      end
    end

    describe("of " .. name, function()
      setup(function()
        m = mw.compile((source(name)))
        divisors, dividends = edges(bits, signed), {}
        for _, a in ipairs(divisors) do
          dividends[#dividends + 1] = a
          for _, b in ipairs { 3, 10, 641, 65537, 998244353 } do -- multiples, and their neighbours
            if b < 1 << bits - 1 then
              local near = divide(a, b, bits, signed) * b
              for d = -1, 1 do dividends[#dividends + 1] = wrap(near + d, bits, signed) end
            end
          end
        end
      end)

      it("by a common divisor is exact", function()
        local a = mw.array(dividends, dtype)
        for _, b in ipairs(divisors) do
          check(function(q, r) m.common(mw.cdiv(#dividends, 64), 64)(a, #dividends, b, q, r) end,
            function() return b end)
        end
      end)

      it("by each lane's divisor is exact", function()
        local a, n = mw.array(dividends, dtype), #dividends
        for shift = 0, #divisors - 1, 3 do
          local list = {}
          for i = 1, n do list[i] = divisors[(i + shift + i // 7) % #divisors + 1] end
          check(function(q, r) m.own(mw.cdiv(n, 32), 32)(a, n, mw.array(list, dtype), q, r) end,
            function(i) return list[i] end)
        end
      end)
    end)
  end

  it("of random kernels has the same results thread by thread", function()
    require("support.mechanisms.fuzz").check(require "support.mechanisms.divisions", 1, 8, { "own", "--width=8x4" })
  end)
end)

describe("a report", function()
  local function report(body, options)
    return mwcc.run(([[__global__ void f(int *a, long long *b, int n, long long m) {
      int i = blockIdx.x * blockDim.x + threadIdx.x; %s }]]):format(body), "--report " .. (options or ""))
  end

  it("says how lanes divide", function()
    assert.matches("division by a reciprocal, in doubles\n", report "a[i] = a[i] / n;")
    assert.matches("division by a reciprocal, in floats\n", report "a[i] = (int)threadIdx.x / (short)n;")
    assert.matches("division in doubles\n", report "a[i] = n % a[i];")
    assert.matches("division by a reciprocal, in doubles if its lanes are below 2%^48", report "b[i] = b[i] / m;")
    assert.matches("division by a reciprocal, in doubles\n", report "b[i] = i % m;")
    assert.matches("division lane by lane\n", report "b[i] = m / b[i];")
    assert.matches("division lane by lane\n", report("a[i] = a[i] / n;", "--without=vector-division"))
    assert.is_nil(report "a[i] = a[i] / 10;":find "division")
  end)
end)
