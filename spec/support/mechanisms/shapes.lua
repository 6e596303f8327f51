-- Kernels whose indices are clamped, wrap around, are divided or flipped, of global and shared memory, and whose
-- results are stored in padded rows or in the order of a butterfly: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "unsigned char", dtype = "uchar" },
  { name = "short", dtype = "short" }, { name = "double", dtype = "double" }, { name = "long long", dtype = "int64" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 8, 16, 32, 64, 64, 96, 128, 256, { 16, 4 }, { 32, 2 }, { 16, 16 }, { 8, 8 } }
  local flat = type(block) == "number"
  local grid = draw.between(1, 6)
  local threads = flat and block or block[1] * block[2]
  local index = draw.pick { "int", "int", "int", "unsigned", "long long" }
  local shared = draw.chance(35)
  local count = grid * threads
  local n = draw.chance(50) and count or math.max(1, count - draw(40))
  local width = draw.pick { 1, 2, 7, 16, 30, 33, 64, 100, 128, 200, 256, 1000, draw.between(1, count) }

  -- An expression of index type. All arithmetic is unsigned or small, so that it has no undefined overflow.
  local function expression(depth)
    if depth == 0 then return draw.pick { "i", "i", "x", "x", "y", "(I)(n - 1 - (int)i)", "(i + p)", "(i - p)" } end
    local e = expression(depth - 1)
    local form = draw.pick {
      "max(E, (I)c)", "min(E, (I)(n - 1))", "min(max(E - (I)p, (I)0), (I)(w - 1))", "(E < (I)c ? (I)c : E)",
      "(E == (I)0 ? (I)0 : E - 1)", "(E == (I)(n - 1) ? E : E + 1)", "(E % (I)w)", "(E / (I)w)",
      "(E / (I)w * (I)q + E % (I)w)", "((E + 1) % (I)n)", "((E + n - 1) % (I)n)", "(E ^ (I)s)", "(E & (I)(s - 1))",
      "(2 * E - (E & (I)(s - 1)))", "(E + (I)p)", "(E - (I)c)", "(E >= (I)w ? E - (I)w : E)", "(E > (I)c ? E : (I)c)",
      "((E / (I)w + 1) % (I)h * (I)w + E % (I)w)", "(E | (I)s)", "(E * 2)", "((I)q * (I)c + E)",
      "((E - (E & (I)(s - 1))) * 4 + (E & (I)(s - 1)))", "(E / (I)s * (I)(2 * s) + E % (I)s)",
      "((E & ~(I)(s - 1)) * 2 + (E & (I)(s - 1)) + (I)s)", "(E ^ (I)(c & 15))",
    }
    return (form:gsub("E", function() return e end))
  end

  local lines = {}
  local function add(text) lines[#lines + 1] = text end
  for k = 1, draw.between(1, 3) do
    local e = expression(draw.between(1, 3))
    local from, limit = "a", "size"
    if shared and draw.chance(70) then
      from, limit = "tile", tostring(threads)
      e = e:gsub("%f[%w_]i%f[^%w_]", "x")
    end
    local body = ("{ I at = %s; if (at >= 0 && at < (I)%s) r += %s[at]; }"):format(e, limit, from)
    if draw.chance(30) then
      body = ("for (int k = 0; k < c %% 5; k++) { I at = %s; if (at >= 0 && at < (I)%s) r += %s[at] * (S)(k + 1); }")
        :format(e:gsub("%f[%w_]p%f[^%w_]", "(p + k)"), limit, from)
    elseif draw.chance(20) then -- no test: an index that cannot be out of range
      body = ("r += %s[min(max((int)(%s), 0), (int)%s - 1)];"):format(from, e, limit)
    end
    add((body:gsub("K", tostring(k))))
    if shared and draw.chance(40) then
      add "__syncthreads(); tile[x + blockDim.x * y] = (T)r; __syncthreads();"
    end
  end

  -- Each thread stores to an element of its own.
  local places = { "2 * i - (i & (I)(s - 1))", "2 * i - (i & (I)(s - 1)) + (I)s", "i / (I)w * (I)(w + 3) + i % (I)w",
    "i ^ (I)s", "(i + (I)1) % (I)(size - 64)", "(I)(size - 1) - i", "(i / (I)w + (I)1) * (I)(w + h) - i % (I)w - (I)1" }
  local stored = draw.pick(places)
  local condition = draw.chance(30) and " && r > 0" or ""

  local source = ([[
__global__ void NAME(const T *a, T *out, T *placed, int room, int n, int size, int w, int h, int q, int p, int c,
                     int s) {
  SHARED
  I x = threadIdx.x, y = threadIdx.y;
  I i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  S r = 0;
  FILL
  GUARD
  BODY
  if (i < (I)n) out[i] = (T)r;
  I to = PLACE;
  if (to >= 0 && to < (I)room && i < (I)nCONDITION) placed[to] = (T)r;
}]]):gsub("SHARED", shared and ("__shared__ T tile[%d];"):format(threads) or "")
    :gsub("FILL", shared and "tile[x + blockDim.x * y] = a[i]; __syncthreads();" or "")
    :gsub("GUARD", not shared and draw.chance(60) and "if (i >= (I)n) return;" or "")
    :gsub("BODY", function() return table.concat(lines, "\n  ") end):gsub("PLACE", function() return stored end)
    :gsub("CONDITION", function() return condition end)
  local sum = (t.dtype == "float" or t.dtype == "double") and t.name or "unsigned long long"
  source = source:gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]I%f[^%w_]", index):gsub("%f[%w_]S%f[^%w_]", sum)

  local size, room = count + 64, 4 * count + 1024
  local function launch()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = size }, { type = t.dtype, size = size }, { type = t.dtype, size = room }, room, n, size,
      width, draw.between(1, 20),
      draw.pick { width, width + 3, 1, draw(100) }, draw.pick { 0, 1, 2, 5, 16, 100, draw(300) },
      draw.pick { 0, 1, 3, 15, 40, draw(300) }, 2 ^ draw(9) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
