-- Kernels with clamped indices in shared and global memory, under conditions that leave out the clamped lanes, some of
-- them or others: see fuzz.lua. Loads of global memory are between barriers.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "unsigned char", dtype = "uchar" }, { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 16, 64, 64, 128, 256, 96, { 16, 4 }, { 16, 16 }, { 32, 4 } }
  local width = type(block) == "number" and block or block[1]
  local height = type(block) == "number" and 1 or block[2]
  local grid = draw.between(1, 4)

  -- an index of the row, clamped on one side or both
  local function clamped(name, size)
    local distance = draw.pick { "1", "1", "1", "2", "d" }
    local low, high = draw.pick { "0", "first", "first", "max(first, 0)" }, draw.pick { size .. " - 1", "last", "last" }
    return draw.pick {
      ("max(%s - %s, %s)"):format(name, distance, low), ("min(%s + %s, %s)"):format(name, distance, high),
      ("%s - %s < %s ? %s : %s - %s"):format(name, distance, low, low, name, distance),
      ("min(max(%s - %s, %s), %s)"):format(name, distance, low, high),
      ("min(max(%s, %s) + %s, %s)"):format(name, low, distance, high), ("min(%s + k0, %s)"):format(name, high),
    }
  end
  local function condition()
    return draw.pick { "x >= 1 && x <= W - 2", "x > i && x < W - 1 - i", "x >= i + 1 && x <= W - 2 - i && inside",
      "x >= 2 && x < W - d", "x > 0", "x < W - 1", "x >= first && x <= last", "x >= d && inside", "x != 0",
      "(x >= 1 && x <= W - 2) || e > 3", "true" }
  end

  local function value()
    return draw.pick { "now[y][w]", "now[y][w]", "now[y][x]", "now[y][q]", "now[r][x]", "now[r][w]", "a[g]",
      "a[g + i * 64]", "a[base + w]", "(T)w", "a[base + (q & 255)]", "now[y][(w + q) & (W - 1)]" }
  end
  local lines = {}
  local function add(text) lines[#lines + 1] = text end
  add(("for (int i = 0; i < %s; i++) {"):format(draw.pick { "steps", "steps", "3" }))
  add("  bool computed = false;")
  add(("  if (%s) {"):format(condition()))
  add("    computed = true;")
  local terms = {}
  for n = 1, draw.between(1, 4) do terms[n] = value() end
  add(("    then[y][x] = (T)(%s);"):format(table.concat(terms, " + ")))
  if draw.chance(30) then add "    sum += (T)w;" end
  add("  }")
  if draw.chance(30) then add "  sum += (T)w;" end
  if draw.chance(40) then add(("  if (%s) sum += now[y][w];"):format(condition())) end
  add("  __syncthreads();")
  if draw.chance(30) then add "  if (i == steps - 1) break;" end
  add("  if (computed) now[y][x] = then[y][x];")
  add("  __syncthreads();")
  add("}")
  local source = ([[
__global__ void NAME(const T *a, T *out, int steps, int first, int last, int d, int e, int k0) {
  __shared__ T now[H][W], then[H][W];
  int x = threadIdx.x, y = threadIdx.y, base = blockIdx.x * (W * H), g = base + y * W + x;
  bool inside = g < e * 100;
  T sum = (T)0;
  now[y][x] = a[g], then[y][x] = (T)1;
  __syncthreads();
  int w = CLAMP1, q = CLAMP2, r = CLAMP3;
  w = min(max(w, 0), W - 1), q = min(max(q, 0), W - 1);
  BODY
  __syncthreads();
  out[g] = now[y][x], out[gridDim.x * W * H + g] = (T)(then[y][x] + sum);
}]]):gsub("BODY", function() return table.concat(lines, "\n  ") end)
    :gsub("CLAMP1", function() return clamped("x", "W") end)
    :gsub("CLAMP2", function() return draw.chance(70) and "w" or clamped("x", "W") end)
    :gsub("CLAMP3", function()
      return draw.pick { "y", "y", "y", "max(y - 1, 0)", "min(y + 1, H - 1)", "y",
        "y - 1 < (first > 0 ? first % H : 0) ? 0 : y - 1" }
    end)
    :gsub("%f[%w_]W%f[^%w_]", width):gsub("%f[%w_]H%f[^%w_]", height):gsub("%f[%w_]T%f[^%w_]", t.name)
  if draw.chance(80) then source = source:gsub("\n  w = min[^\n]*", "") end
  local threads = width * height
  local function launch()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = grid * threads + 40 * 64 + 256 }, { type = t.dtype, size = 2 * grid * threads },
      draw.between(0, 4), draw.pick { 0, 0, 0, 0, 1, 3 },
      draw.pick { width - 1, width - 1, width - 1, width - 1, width - 2, width // 2 },
      draw.between(0, 2), draw.between(0, 6), draw.pick { 0, 0, 1, 3 } } }
  end
  return { source = source, launches = { launch(), launch(), launch() } }
end
