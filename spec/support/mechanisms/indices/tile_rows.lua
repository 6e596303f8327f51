-- Stencils in a two-dimensional tile of shared memory, whose neighbours are clamped to edges that are known at run
-- time: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local columns, rows = draw.pick { 16, 16, 16, 32, 8, 64 }, draw.pick { 16, 16, 8, 4, 2 }
  local pitch = draw.chance(50) and columns or columns + draw.pick { 1, 3, 16 }
  local planes = draw.chance(25)
  local function place(y, x) return planes and ("tile[1][%s][%s]"):format(y, x) or ("tile[%s][%s]"):format(y, x) end
  local function column()
    return draw.pick { "max(x - 1, left)", "min(x + 1, right)", "(x - 1 < left ? left : x - 1)", "max(x - 2, left)",
      "(x + 1 > right ? right : x + 1)", "min(max(x - p, left), right)", "(x ^ 1)", "(x ^ 3)", "min(x + p, right)",
      "max(min(x + y, right), left)", "(x == 0 ? right : x - 1)" }
  end
  local function row()
    return draw.pick { "y", "y", "y", "max(y - 1, top)", "min(y + 1, bottom)", "0", ("%d - y"):format(rows - 1),
      "(y ^ 1)", "min(y + (x & 1), bottom)", "(x > 7 ? top : y)" }
  end
  local lines = {}
  for _ = 1, draw.between(1, 3) do
    local terms = {}
    for n = 1, draw.between(1, 4) do terms[n] = ("%d * %s"):format(n, place(row(), column())) end
    local sum = table.concat(terms, " + ")
    local guard = draw.pick { "", "if (x >= k && x < %d - k) ", "if (x >= left && x <= right && y >= top) ",
      "if (y > k && y < %d - k && x > k) ", "if ((x + y) %% 3) " }
    guard = guard:format(columns, rows)
    lines[#lines + 1] = ("%s{ r += (S)(%s); done = true; }"):format(guard, sum)
    if draw.chance(60) then
      lines[#lines + 1] = ("__syncthreads(); if (done) %s = (T)r; __syncthreads();"):format(place("y", "x"))
    end
  end
  local body = ("for (int k = 0; k < rounds; k++) {\n    %s\n  }"):format(table.concat(lines, "\n    "))
  local source = ([[
__global__ void NAME(const T *from, T *out, int left, int right, int top, int bottom, int p, int rounds) {
  __shared__ T TILE;
  int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.x * ROWS + y) * COLUMNS + x;
  PLACE = from[at];
  __syncthreads();
  bool done = false;
  S r = 0;
  BODY
  out[at] = (T)r;
}]]):gsub("BODY", function() return body end)
    :gsub("TILE", ("%s[%d][%d]"):format(planes and "tile[2]" or "tile", rows, pitch)):gsub("PLACE", place("y", "x"))
    :gsub("ROWS", tostring(rows)):gsub("COLUMNS", tostring(columns))
  local sum = (t.dtype == "float" or t.dtype == "double") and t.name or "unsigned"
  source = source:gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]S%f[^%w_]", sum)
  local grid = draw.between(1, 5)
  local count = grid * columns * rows
  local function launch()
    local left, top = draw.pick { 0, 0, 1, 2, draw(columns) }, draw.pick { 0, 0, 1, draw(rows) }
    local right = draw.chance(50) and columns - 1 or draw.between(left, columns - 1)
    local bottom = draw.chance(50) and rows - 1 or draw.between(top, rows - 1)
    return { grid = grid, block = { columns, rows }, arguments = { { type = t.dtype, size = count },
      { type = t.dtype, size = count }, left, right, top, bottom, draw.pick { 0, 1, 2, 5 }, draw.between(1, 3) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
