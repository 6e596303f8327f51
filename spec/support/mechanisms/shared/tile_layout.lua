-- Kernels whose threads own rows of shared tiles, walk along columns, or access elements by flat indices: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "unsigned char", dtype = "uchar" }, { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local width = draw.pick { 8, 16, 16, 32, 32, 64 }
  local height = draw.pick { 1, 1, 1, 2, 4 }
  local columns = draw.pick { 8, 16, 17, 33, 5, 24 }
  local rows = width * height
  local grid = draw.between(1, 4)

  -- an element of the tile: by the thread's own row, by a row that all share, or by a flat index
  local function element(k)
    return draw.pick { "tile[x]" .. k, "tile[x]" .. k, "tile[x]" .. k, "tile[e]" .. k, "tile[x][e % C]",
      "tile[x][C - 1]", "tile[x][0]", draw.chance(50) and "tile[0][x * C + (e % C)]" or "tile[x]" .. k,
      draw.chance(10) and "(&tile[0][0])[x * C + e % C]" or "tile[x]" .. k }
  end
  local function of_others(k) -- that nobody writes in this region
    return draw.pick { "fixed[x]" .. k, "fixed[(x + 1) % R]" .. k, "fixed[e]" .. k, "fixed[e][x % C]", "a[g]", "(T)x",
      "fixed[R - 1 - x]" .. k }
  end
  -- a product of a sum would be rounded, and which ones are fused with sums depends on how loops are unrolled
  local times = (t.name == "float" or t.name == "double") and "" or " * (T)3"
  local condition = draw.pick { "", "", "if (x > m) ", "if (x % 3) ", "if (x < R / 2) ", "if (a[g] > (T)1) " }
  local loop = draw.pick { "for (int k = 0; k < C; k++)", "for (int k = 1; k < C; k++)",
    "for (int k = C - 1; k >= 0; k--)",
    "for (int k = m % C; k < C; k++)", "for (unsigned k = 0; k < C; k += 2)", "for (int k = 0; k < n; k++)" }
  local column = loop:find("n;", 1, true) and "[k % C]" or "[k]"
  local lines = {}
  local function add(text) lines[#lines + 1] = "  " .. text end
  for _ = 1, draw.between(1, 3) do
    local outer = draw.chance(40)
    if outer then add(("for (int m = 0; m < %s; m++) {"):format(draw.pick { "3", "n", "C" })) end
    add(condition .. loop)
    add(("  tile[x]%s = (T)(%s%s + %s);"):format(column, element(column), times, of_others(column)))
    add "__syncthreads();"
    if draw.chance(50) then add(("sum += (T)(%s + tile[(x + 1) %% R][e %% C]);"):format(of_others("[e % C]"))) end
    add "__syncthreads();"
    if outer then add "}" end
  end
  -- elements of other threads' rows are read after a barrier alone: the element forms above are of the own row, but [e]
  local body = table.concat(lines, "\n"):gsub("tile%[e%]", "fixed[e]")
  local source = ([[
__global__ void NAME(const T *a, T *out, int n, unsigned e) {
  __shared__ T tile[R][C], fixed[R][C];
  int x = threadIdx.y * blockDim.x + threadIdx.x, g = blockIdx.x * R + x, m = 0;
  T sum = (T)0;
  for (int k = x; k < R * C; k += R) tile[k / C][k % C] = fixed[k / C][k % C] = a[k % (R + 7)];
  __syncthreads();
BODY
  for (int k = 0; k < C; k++) out[(blockIdx.x * C + k) * R + x] = tile[x][k];
  out[gridDim.x * R * C + g] = sum;
}]]):gsub("BODY", function() return body end):gsub("%f[%w_]R%f[^%w_]", rows):gsub("%f[%w_]C%f[^%w_]", columns)
    :gsub("%f[%w_]T%f[^%w_]", t.name)
  local block = height == 1 and width or { width, height }
  local function launch()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = grid * rows + 64 }, { type = t.dtype, size = grid * rows * (columns + 1) },
      draw.between(0, 5), draw.between(0, math.min(rows, columns) - 1) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
