-- Kernels of small blocks whose threads write and read shared arrays along diagonals, rows and columns, in loops with
-- barriers that are unrolled: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "unsigned", dtype = "uint" }, { name = "unsigned long long", dtype = "uint64" },
  { name = "short", dtype = "short" }, { name = "unsigned char", dtype = "uchar" },
}

return function(draw)
  local t = draw.pick(types)
  local threads = draw.pick { 4, 8, 16, 16, 16, 32, 32, 24, 48 }
  local rows, columns = threads + draw.between(0, 2), threads + draw.between(0, 2)
  local fill = "for (int k = x; k < R * C; k += N) tile[k / C][k % C] = in[(k + g) % N];"
  if draw.chance(60) then
    rows = threads
    fill = draw.pick { "for (int k = 0; k < C; k++) tile[x][k] = in[(k + x) % N];",
      "for (int k = 0; k < C; k++) tile[x][k] = (T)(in[g] + (T)k);" }
  end
  local grid = draw.between(1, 4)

  -- what the thread reads: anything, as no thread writes in this phase
  local lined = draw.chance(50) -- mostly `line`, whose elements stay known
  local function read()
    if draw.chance(8) then return draw.pick { "tile[e][x]", "line[places[g] % N]", "other[x]", "line[(x + e) % N]" } end
    if lined and draw.chance(80) then
      return draw.pick { "line[x]", "line[d % N]", "line[N - 1 - x]", "line[x ^ 1]", "line[(x + d) % N]", "line[x / 2]",
        "line[x > 0 ? x - 1 : 0]", "line[min(x + d, N - 1)]", "line[(2 * x) % N]", "line[(5 * x + d) % N]",
        "line[(3 * x) % N]" }
    end
    return draw.pick { "tile[x][d % C]", "tile[d % R][x]", "tile[(d + R - x) % R][x]", "tile[x][x]",
      "tile[(d + R - x) % R][(x + 1) % C]", "tile[x][(x + d) % C]", "tile[R - 1 - x][d % C]", "tile[x / 2][x % 2]",
      "tile[(x * 3 + d) % R][d % C]", "tile[d % R][d % C]" }
  end
  -- what it writes: an element of its own in each phase
  local function written()
    if draw.chance(15) then return draw.pick { "tile[(e + d) % R][x]", "tile[(e * d) % R][x]", "other[x]",
        "line[(x + e) % N]" } end
    if lined and draw.chance(80) then
      return draw.pick { "line[x]", "line[(x + d) % N]", "line[N - 1 - x]", "line[x ^ 1]", "line[(5 * x + d) % N]" }
    end
    return draw.pick { "tile[x][d % C]", "tile[(d + R - x) % R][x]", "tile[d % R][x]", "tile[x][(x + d) % C]",
      "tile[R - 1 - x][d % C]", "tile[x][x]", "tile[x][C - 1]" }
  end
  local function condition()
    return draw.pick { "", "", "if (x > d) ", "if (x == d % N) ", "if (d - x >= 0 && d - x < 9) ", "if (x % 2) ",
      "if (x < 3) ", draw.chance(40) and "if (in[g] > (T)1) " or "if (x <= d) ",
      draw.chance(20) and "if (e > 2) " or "" }
  end
  local lines = {}
  local function add(text) lines[#lines + 1] = "    " .. text end
  for _ = 1, draw.between(1, 2) do
    local guard = condition()
    add(("%sv = (T)(%s + %s * (T)3);"):format(guard, read(), read()))
    if draw.chance(40) then add(("%sw = %s;"):format(condition(), read())) end
    add "__syncthreads();"
    add(("%s%s = %s;"):format(draw.chance(70) and guard or condition(), written(),
      draw.pick { "v", "v", "(T)(v + w)", "(T)d", "w" }))
    if draw.chance(8) then add "if (x == 0) atomicAdd(&counts[d % 4], d);" end
    add "__syncthreads();"
  end
  local last = draw.pick { "sum += tile[x][k] + line[k % N];", "sum = (T)(sum * (T)3 + tile[k % R][x]);",
    "if (k == 2) sum += tile[x][C - 1] + line[x];" }
  local source = ([[
__global__ void NAME(const T *in, const unsigned *places, T *out, unsigned e) {
  __shared__ T tile[R][C], line[N];
  __shared__ int other[N], counts[4];
  int x = threadIdx.x, g = blockIdx.x * N + x;
  T v = in[g], w = (T)1;
  line[x] = v, other[x] = (int)places[g] % 1000;
  if (x < 4) counts[x] = 0;
  FILL
  __syncthreads();
  for (int d = 0; d < STEPS; d++) {
BODY
  }
  T sum = (T)(v + w + (T)counts[x % 4] + (T)other[x]);
  for (int k = 0; k < C; k++) LAST
  out[g] = sum;
}]]):gsub("BODY", function() return table.concat(lines, "\n") end):gsub("STEPS", draw.between(2, 20))
    :gsub("FILL", function() return fill end):gsub("LAST", function() return last end)
    :gsub("%f[%w_]R%f[^%w_]", rows):gsub("%f[%w_]C%f[^%w_]", columns):gsub("%f[%w_]N%f[^%w_]", threads)
    :gsub("%f[%w_]T%f[^%w_]", t.name)
  local words = {}
  for k = 1, grid * threads do words[k] = draw(2 ^ 31) end
  local function launch()
    return { grid = grid, block = threads, arguments = { { type = t.dtype, size = grid * threads },
      { type = "uint", size = grid * threads, values = words }, { type = t.dtype, size = grid * threads },
      draw.between(0, rows - 1) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
