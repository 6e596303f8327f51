-- Kernels that divide by numbers that are known at run time alone: see fuzz.lua.

local types = {
  { name = "int", dtype = "int" }, { name = "unsigned", dtype = "uint" }, { name = "short", dtype = "short" },
  { name = "unsigned short", dtype = "ushort" }, { name = "signed char", dtype = "char" },
  { name = "unsigned char", dtype = "uchar" }, { name = "long long", dtype = "int64" },
  { name = "unsigned long long", dtype = "uint64" },
}

-- Numbers near the limits of types, and around small and large powers of two.
local function edge(draw, t)
  local bits = ({ int = 32, uint = 32, short = 16, ushort = 16, char = 8, uchar = 8, int64 = 53, uint64 = 53 })[t.dtype]
  local unsigned = t.dtype:sub(1, 1) == "u"
  local number = draw.pick { 0, 1, 2, 3, 5, 7, 10, 31, draw(2 ^ math.min(bits - 1, 30)), 2 ^ draw(bits - 1),
    2 ^ draw(bits - 1) - 1, 2 ^ (bits - 1) - 1, 2 ^ draw(bits - 1) + 1, 2 ^ (bits - 2) + draw(100) }
  number = math.min(number, 2 ^ (bits - 1) - 1)
  if unsigned then return draw.chance(20) and 2 ^ bits - 1 - draw(3) or number end
  return draw.chance(15) and -2 ^ (bits - 1) or draw.chance(40) and -number or number
end

return function(draw)
  local t = draw.pick(types)
  local n, block = draw.between(1, 700), draw.pick { 8, 32, 33, 64, 100, 128, 256 }
  local guard = draw.chance(70)
  local blocks = math.ceil(n / block)
  if not guard then n = blocks * block end
  local wide = t.dtype:find "64" and "long long" or "int"
  local dividend = draw.pick { "a[i]", "a[i]", "a[i]", "(T)i", "(T)((W)a[i] + i)", "(T)((W)a[i] * a[i])",
    "(T)((unsigned long long)a[i] << 23)", "(T)(a[i] & 1023)", "(T)threadIdx.x" }
  local divisor = draw.pick { "d", "d", "d", "(T)((W)d + blockIdx.x)", "b[i]", "b[i]", "(T)((W)d * d)", "b[blockIdx.x]",
    "(T)(1 << s)", "(T)blockDim.x", "(T)(d >> 40 % (8 * sizeof(T)))", "(T)(b[i] | 1)" }
  local same = draw.chance(50)
  local result = same and t.dtype or wide == "int" and "int" or "int64"
  local body = draw.pick {
    "r = X / Y;", "r = X % Y;", "r = (R)((W)(X / Y) + 3 * (W)(X % Y));", "if (i & 1) r = X % Y;",
    "if (Y != 0) r = X / Y;", "for (int k = 0; k < s + 2; k++) r = (T)((W)r + X) % Y;",
    "T x = X, y = Y; for (int k = 0; k < 40 && y != 0; k++) { T z = x % y; x = y; y = z; } r = x;",
    "r = X / Y / 7 % (Y / 3 + 1);", "if (a[i] > 3) r = (R)((W)((T)((W)X - 1) / Y) + (T)((W)X + 1) % Y);",
  }:gsub("X", function() return dividend end):gsub("Y", function() return divisor end)
  local source = ([[
__global__ void NAME(const T *a, const T *b, R *out, int n, T d, int s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  GUARD
  R r = 0;
  BODY
  out[i] = r;
}]]):gsub("GUARD", guard and "if (i >= n) return;" or ""):gsub("BODY", function() return body end)
    :gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]R%f[^%w_]", same and t.name or wide)
    :gsub("%f[%w_]W%f[^%w_]", "unsigned long long")
  local function values()
    local list = {}
    for i = 1, n do list[i] = draw.chance(60) and edge(draw, t) or draw(2 ^ 20) % 128 end
    return { type = t.dtype, size = n, values = list }
  end
  return { source = source, launches = { { grid = blocks, block = block, arguments = { values(), values(),
    { type = result, size = n }, n, edge(draw, t), draw(7) } } } }
end
