-- Functions on the parts of numbers, scaling, and remainders: in lanes they are arithmetic on bits, with the same
-- results as the C library's functions, which each lane calls here.
-- Lua 5.4 only: the device headers are tested.
-- CPU device only: it compares with C functions by their names.

local mw = require "moonwarp"
local random = require "support.random" "number_parts_spec"

local n = 8192

-- A name, moonwarp's and the C library's; F is the suffix of the type T. All NaNs count as equal.
local checks = {
  { "ldexp", "ldexpF(x, e)", "c_ldexpF(x, e)" },
  { "scalbn", "scalbnF(x, e)", "c_ldexpF(x, e)" },
  { "scalbln", "scalblnF(x, (long)e)", "c_ldexpF(x, e)" },
  { "logb", "logbF(x)", "c_logbF(x)" },
  { "ilogb", "(T)ilogbF(x)", "(T)c_ilogbF(x)" },
  { "nextafter", "nextafterF(x, y)", "c_nextafterF(x, y)" },
  { "fdim", "fdimF(x, y)", "c_fdimF(x, y)" },
  { "fmod", "fmodF(x, y)", "c_fmodF(x, y)" },
  { "remainder", "remainderF(x, y)", "c_remainderF(x, y)" },
  { "frexp", "frexpF(x, &i)", "c_frexpF(x, &j)" },
  { "frexp's exponent", "(frexpF(x, &i), (T)i)", "(c_frexpF(x, &j), (T)j)" },
  { "modf", "modfF(x, &a)", "c_modfF(x, &b)" },
  { "modf's whole part", "(modfF(x, &a), a)", "(c_modfF(x, &b), b)" },
  { "remquo", "remquoF(x, y, &i)", "c_remquoF(x, y, &j)" },
  { "remquo's quotient", "(remquoF(x, y, &i), plain ? (T)(i % 8) : 0)",
    "(c_remquoF(x, y, &j), plain ? (T)(j % 8) : 0)" },
  { "lround", "(T)lroundF(small)", "(T)c_lroundF(small)" },
  { "llround", "(T)llroundF(small)", "(T)c_llroundF(small)" },
}

local declarations = {}
for declaration in ([[T ldexpF(T, int); T logbF(T); int ilogbF(T); T nextafterF(T, T); T fdimF(T, T); T fmodF(T, T);
  T remainderF(T, T); T frexpF(T, int *); T modfF(T, T *); T remquoF(T, T, int *); long lroundF(T);
  long long llroundF(T);]])
  :gmatch "%s*([^;]+);" do
  local result, name, arguments = declaration:match "^(.-) ?(%w+)(%(.*)$"
  declarations[#declarations + 1] = ('extern "C" __device__ %s c_%s%s __asm__("%s");'):format(result, name, arguments,
    name)
end

local function source()
  local text = {}
  for type, suffix in pairs { float = "f", double = "" } do
    local function add(line) text[#text + 1] = (line:gsub("%f[%w]T%f[%W]", type):gsub("F%f[%W]", suffix)) end
    for _, line in ipairs(declarations) do add(line) end
    add [[__device__ bool differ(T a, T b) { return a != a ? b == b : a != b || signbit(a) != signbit(b); }]]
    add(("__global__ void %ss(const T *xs, const T *ys, const int *es, int *bad) {"):format(type))
    add [[int t = blockIdx.x * blockDim.x + threadIdx.x, e = es[t], i = 0, j = 0; T x = xs[t], y = ys[t], a = 0, b = 0;
      T small = fabsF(x) < (T)1e17 ? x : 0; bool plain = isfinite(x) && !isnan(y) && y != 0;]]
    for k, check in ipairs(checks) do
      add(("if (differ(%s, %s)) atomicMin(&bad[%d], t);"):format(check[2], check[3], k - 1))
    end
    add "}"
  end
  return table.concat(text, "\n")
end

local special = { 0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3, 1 / 0, -1 / 0, 0 / 0 }

-- Pairs of special numbers, then of random bits, then of numbers of similar magnitude, as programs divide them.
local function numbers(dtype)
  local least = dtype == "float" and 2.0 ^ -149 or 2.0 ^ -1074
  local most = dtype == "float" and 2.0 ^ 127 or 2.0 ^ 1023
  local list = { table.unpack(special) }
  for _, x in ipairs { least, -3 * least, most, -most } do list[#list + 1] = x end
  local x, y, e, bits = {}, {}, {}, {}
  for i = 1, 2 * n do bits[i] = string.pack(dtype == "float" and "<I4" or "<i8",
    dtype == "float" and random(0, 0xffffffff) or random(0)) end
  local any = mw.from_bytes(table.concat(bits), dtype):totable()
  for i = 1, n do
    local row, column = (i - 1) // #list + 1, (i - 1) % #list + 1
    if list[row] then
      x[i], y[i] = list[row], list[column]
    elseif i % 2 == 0 then
      x[i], y[i] = any[2 * i - 1], any[2 * i]
    else
      x[i], y[i] = (random() - 0.5) * 100, (random() - 0.5) * 2.0 ^ random(-20, 20)
    end
    e[i] = i % 3 == 0 and random(-20, 20) or random(-2200, 2200)
  end
  return mw.array(x, dtype), mw.array(y, dtype), mw.array(e, "int")
end

describe("functions on the parts of numbers", function()
  local m = mw.compile(source())
  for _, dtype in ipairs { "float", "double" } do
    it("have the C library's results, in " .. dtype, function()
      local x, y, e = numbers(dtype)
      local bad = mw.array({ n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n }, "int")
      assert.equal(#checks, #bad)
      m[dtype .. "s"](n / 128, 128)(x, y, e, bad)
      for k, check in ipairs(checks) do
        local t = bad[k]
        if t < n then
          error(("%s of %.17g, %.17g, %d differs"):format(check[1], x[t + 1], y[t + 1], e[t + 1]))
        end
      end
    end)
  end
end)

describe("a power with a constant exponent", function()
  it("has the same special values and accuracy as others", function()
    local exponents = { 1, 2, 3, -1, 0.5 }
    local lines = {}
    for k, p in ipairs(exponents) do
      lines[k] = ([[out[K * n + i] = pow(x[i], P); single[K * n + i] = powf(f[i], (float)P);
        known[K * n + i] = pow(x[i], p[K]);]]):gsub("K", k - 1):gsub("P", p)
    end
    local m = mw.compile(([[
__global__ void powers(int n, const double *x, const float *f, const double *p, double *out, float *single,
                       double *known) {
  int i = threadIdx.x;
  if (i < n) { LINES }
}]]):gsub("LINES", table.concat(lines, "\n")))
    local x = { 0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, -2, -0.75, 0.1, 1.7, 1e30, 3e-20, 1 }
    local count = #x
    local out, known = mw.zeros(count * #exponents, "double"), mw.zeros(count * #exponents, "double")
    local single = mw.zeros(count * #exponents)
    m.powers(1, 32)(count, mw.array(x, "double"), mw.array(x), mw.array(exponents, "double"), out, single, known)
    for i = 1, #out do
      local a, b, f = out[i], known[i], single[i]
      local what = ("%s to the %g: %s, %s"):format(x[(i - 1) % count + 1], exponents[(i - 1) // count + 1], a, b)
      if b ~= b then
        assert.is_true(a ~= a and f ~= f, what)
      elseif b == 0 or b == 1 / 0 or b == -1 / 0 then
        assert.is_true(a == b and 1 / a == 1 / b and f == b, what)
      else
        assert.is_true(math.abs(a - b) <= math.abs(b) * 2.0 ^ -51, what)
        assert.is_true(math.abs(f - b) <= math.abs(b) * 2.0 ^ -20 or math.abs(b) > 3e38 or math.abs(b) < 1e-37, what)
      end
    end
  end)
end)
