-- Loads from places that lanes choose between: clamped and selected indices, and pointers to edges, in shared and
-- global memory, under conditions, in loops, and after barriers: see fuzz.lua. A place that no lane chooses may be
-- anywhere.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "unsigned char", dtype = "uchar" }, { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 16, 64, 128, 256, 96, { 16, 4 }, { 16, 16 }, { 32, 8 }, { 8, 8 }, { 24, 3 } }
  local width = type(block) == "number" and block or block[1]
  local height = type(block) == "number" and 1 or block[2]
  local grid, waits = draw.between(1, 4), draw.chance(75)

  local function limit() return draw.pick { "0", "0", "first", "last", "W - 1", "e", "d", "y" } end
  -- An index of a row, in its margins.
  local function index(depth)
    local base = draw.pick { "x", "x - 1", "x + 1", "x - d", "x + d", "(W - 1 - x)", "(x ^ 1)" }
    local inner = depth > 0 and draw.chance(40) and index(depth - 1) or base
    return draw.pick {
      ("max(%s, %s)"):format(inner, limit()), ("min(%s, %s)"):format(inner, limit()),
      ("(%s ? %s : %s)"):format(draw.pick { "x == 0", "x == W - 1", "x < first", "x > last", "(x & 3) == e", "e > 2",
        "y == 0", "seen" }, limit(), inner),
      ("(%s < %s ? %s : %s)"):format(inner, limit(), limit(), inner), ("clip(%s)"):format(base),
    }
  end
  local function wrapped(name)
    return draw.pick { name, name, name, ("(%s) + d"):format(name), ("(unsigned)(%s)"):format(name),
      ("(long long)(%s)"):format(name), ("W - (%s)"):format(name), ("(short)(%s)"):format(name) }
  end
  local function row()
    return draw.pick { "y", "y", "y", "max(y - 1, 0)", "min(y + 1, H - 1)", "0", "(y == 0 ? H - 1 : y - 1)" }
  end

  local names = { "w0", "w1", "w2" }
  local function place()
    local at = wrapped(draw.pick(names))
    local far = draw.pick { "x", "x - 1", "0", "d" }
    return draw.pick {
      ("tile[%s][64 + (%s)]"):format(row(), at), ("tile[%s][64 + (%s)]"):format(row(), at),
      ("(tile[%s] + 64)[%s]"):format(row(), draw.pick(names)),
      ("a[base + W * y + 64 + (%s)]"):format(at), ("a[64 + (%s)]"):format(at),
      ("tile[%s][(%s)max(x - %s, 0)]"):format(row(), draw.pick { "int", "unsigned", "long long" },
        draw.pick { "1", "d" }),
      ("(x >= 1 ? a[(unsigned)(x == e ? 3 : x - 1)] : (T)1)"),
      -- lanes of which the first, which is not active, would wrap
      ("(x >= 3 ? (a + 64 + (1ll << 31))[(int)(x == e ? 0x80000001u : x + wrap)] : (T)2)"),
      ("*(x == 0 ? &edge[y] : &tile[y][64 + x - 1])"), ("*(x >= W - 1 ? &edge[%s] : &tile[y][65 + x])"):format(row()),
      ("*(x < first ? &a[64 + %s] : &tile[%s][64 + %s])"):format(far, row(), far),
      ("*(x > lots ? &a[wild + x] : &a[base + 64 + %s])"):format(far),
      ("*(x < lots ? &tile[y][64 + x] : &a[wild])"), ("(x > lots ? a + wild : a + 64)[%s]"):format(far),
      ("*(x == e ? &edge[0] : x < first ? &edge[H - 1] : &tile[y][64 + x])"),
    }
  end
  local function condition()
    return draw.pick { "x >= 1 && x <= W - 2", "x > i && x < W - 1 - i", "x > 0", "x < W - 1",
      "x >= first && x <= last", "x != 0", "(x + y) % 3", "y > 0 && x > e", "true", "true", "true" }
  end

  local lines = {}
  local function add(text) lines[#lines + 1] = text end
  add(("for (int i = 0; i < %s; i++) {"):format(draw.pick { "steps", "steps", "3" }))
  for _ = 1, draw.between(1, 3) do
    local terms = {}
    for n = 1, draw.between(1, 3) do terms[n] = ("%d * %s"):format(n, place()) end
    add(("  if (%s) { sum += (S)(%s); seen = true; }"):format(condition(), table.concat(terms, " + ")))
    if draw.chance(30) then add(("  %s = %s;"):format(draw.pick(names), index(1))) end
    if waits and draw.chance(50) then
      add "  __syncthreads();"
      add(("  if (%s) tile[y][64 + x] = (T)sum;"):format(draw.pick { "seen", condition() }))
      add "  __syncthreads();"
    end
  end
  add "}"
  local source = ([[
__device__ int NAME_clip(int x) { return min(max(x, -40), W + 40); }
__global__ void NAME(const T *a, T *out, int steps, int first, int last, int d, int e, long long wild, int lots,
    unsigned wrap) {
  __shared__ T tile[H][W + 128], edge[H];
  int x = threadIdx.x, y = threadIdx.y, base = blockIdx.x * (W * H), g = base + y * W + x;
  for (int i = x; i < W + 128; i += W) tile[y][i] = a[base + W * y + i];
  if (x == 0) edge[y] = a[g + 7];
  __syncthreads();
  S sum = (S)0;
  bool seen = false;
  int w0 = INDEX0, w1 = INDEX1, w2 = INDEX2;
  BODY
  out[g] = (T)sum;
}]]):gsub("BODY", function() return table.concat(lines, "\n  ") end)
    :gsub("INDEX%d", function() return index(1) end)
    :gsub("%f[%w_]clip", "NAME_clip")
    :gsub("%f[%w_]W%f[^%w_]", width):gsub("%f[%w_]H%f[^%w_]", height):gsub("%f[%w_]T%f[^%w_]", t.name)
    :gsub("%f[%w_]S%f[^%w_]", (t.dtype == "float" or t.dtype == "double") and t.name or "unsigned")
  local threads = width * height
  local function launch()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = grid * threads + 3 * width + 1024 }, { type = t.dtype, size = grid * threads },
      draw.between(0, 4), draw.pick { 0, 0, 0, 1, 3, width },
      draw.pick { width - 1, width - 1, width - 2, width // 2, -1 }, draw.between(0, 2),
      draw.between(0, 6), draw.pick { 0, 2 ^ 40, -2 ^ 35 }, 3000,
      2147483645 } }
  end
  return { source = source, launches = { launch(), launch(), launch() } }
end
