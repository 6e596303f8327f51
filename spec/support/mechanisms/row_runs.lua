-- Kernels whose threads' indices are divided by the lengths of rows that are known at run time alone, most of them
-- shorter than a few gangs: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "unsigned char", dtype = "uchar" },
  { name = "double", dtype = "double" }, { name = "long long", dtype = "int64" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 32, 64, 64, 128, 128, 256, 256, 512, { 64, 2 }, { 32, 4 }, { 128, 3 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.pick { 1, 2, 3, 7, 40 }
  local index = draw.pick { "int", "int", "unsigned", "long long", "unsigned long long" }
  local signed = index == "int" or index == "long long"
  local count = grid * threads
  local n = draw.chance(40) and count or math.max(1, count - draw(threads + 40))

  -- The thread's number, plain or moved: near the limits of its type, too.
  local number = draw.pick { "i", "i", "i", "(i + (I)p)", "(2 * i)", "(i * (I)3 + (I)1)", "(i + (I)far)", "(i - (I)p)",
    "((I)(n - 1) - i)", "x", "(x + (I)p)" }
  -- Sums with numbers that are far from 0 may wrap: they are unsigned then.
  local far = number:find "far"
  local function part()
    local e = draw.pick { "N % W", "N % W", "N / W", "N / W % H", "N / W / H", "N / (W * H)", "N / (W * H) % Q",
      "(N + W) % W", "N / (I)7 % W", "(N % W) / (I)4", "(N % W + (I)1) % W", "N % (W * H)" }
    return (e:gsub("N", function() return number end):gsub("W", "w"):gsub("H", "h"):gsub("Q", "q"))
  end
  local function place()
    local e = draw.pick { "(P * (U)h + P)", "(P * (U)w + P)", "(P + P - (U)p)", "(P * (U)q + P * (U)h + P)", "P",
      "max(P - (I)p, (I)0)", "(P == (I)0 ? (I)(w - 1) : P - (U)1)", "min(P + (I)p, (I)(w - 1))",
      "(P < (I)p ? P : P - (I)p)", "(P + (U)k * (U)w)" }
    return (e:gsub("U", far and "U" or "I"):gsub("P", part))
  end

  local lines = {}
  for _ = 1, draw.between(1, 3) do
    local body = ("{ I at = %s; if (%sat < (I)size) r += a[at]; }"):format(place(), signed and "at >= 0 && " or "")
    if draw.chance(30) then body = ("for (int k = 0; k < c %% 6; k++) %s"):format(body) end
    if draw.chance(15) then body = ("for (int k = 0; k < (int)(%s %% (I)5); k++) %s"):format(part(), body) end
    if draw.chance(25) then body = ("if (%s < (I)p) %s"):format(part(), body) end
    lines[#lines + 1] = body
  end
  local guard = draw.pick { "", "if (i >= (I)n) return;", "if (i >= (I)n) return;",
    "if (i >= (I)n || i % w == (I)c) return;" }
  local stored = draw.pick { "i / w * (I)(w + 3) + i % w", "i", "i % w + (i / w + (I)1) * (I)(w + h)",
    "(i / w + (I)1) * (I)(w + h) - i % w - (I)1" }
  local source = ([[
__global__ void NAME(const T *a, T *out, long long room, int n, int size, I w, I h, I q, int p, int c, I far) {
  I x = threadIdx.x;
  I i = (I)((blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x) + x;
  int k = 0;
  S r = (S)k;
  GUARD
  BODY
  I to = PLACE;
  if (i < (I)n && SIGNEDto < (I)room) out[to] = (T)r;
}]]):gsub("GUARD", function() return guard end):gsub("BODY", function() return table.concat(lines, "\n  ") end)
    :gsub("PLACE", function() return stored end):gsub("SIGNED", signed and "to >= 0 && " or "")
  local sum = (t.dtype == "float" or t.dtype == "double") and t.name or "unsigned long long"
  source = source:gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]I%f[^%w_]", index)
    :gsub("%f[%w_]U%f[^%w_]", index:find "long" and "unsigned long long" or "unsigned"):gsub("%f[%w_]S%f[^%w_]", sum)

  local size, room = count + 64, 4 * count + 1024
  local function launch()
    local width = draw.pick { 12, 13, 15, 16, 17, 24, 30, 31, 33, 40, 48, 60, 64, 65, 100, 150, 1, 3, 8, 200, 700,
      draw.between(1, count) }
    local limit = ({ int = 2 ^ 31 - 1 - 6 * count, unsigned = 2 ^ 32 - draw(2 * count) - 1,
      ["long long"] = 2 ^ 31 - draw(count), ["unsigned long long"] = 2 ^ 32 - draw(count) })[index]
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = size }, { type = t.dtype, size = room }, room, n, size, width,
      draw.pick { width, 5, 1, 33, draw.between(1, 60) }, draw.pick { 1, 3, 30, draw.between(1, 50) },
      draw.pick { 0, 1, 2, 5, 20 }, draw.pick { 0, 1, 3, 15, 40 },
      draw.chance(60) and limit or draw.chance(50) and 2 ^ 30 - draw(count) or draw(1000) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
