-- Kernels that use threadIdx.x for rows, or for both, with loops, conditions and local arrays: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "unsigned char", dtype = "uchar" },
  { name = "short", dtype = "short" }, { name = "double", dtype = "double" }, { name = "long long", dtype = "int64" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { { 8, 8 }, { 16, 16 }, { 4, 16 }, { 16, 4 }, { 2, 32 }, { 32, 8 }, { 5, 9 }, { 1, 64 },
    { 8, 8, 2 }, { 4, 8, 3 } }
  local depth = block[3] or 1
  local grid = { draw.between(1, 3), draw.between(1, 3) }
  local rows, columns = grid[1] * block[1], grid[2] * block[2]
  local index = draw.pick { "int", "int", "unsigned", "long long" }
  local guarded = draw.chance(70)
  local n, m = rows, columns -- what is computed
  if guarded then n, m = draw.between(1, rows), draw.between(1, columns) end
  local pitch = columns + draw.between(0, 5)

  local function element(array)
    local row = draw.pick { "x", "x", "x", "k", "(x > 0 ? x - 1 : x)", "min(x + 1, (I)n - 1)" }
    local column = draw.pick { "y", "y", "y", "k", "(y > 0 ? y - 1 : y)", "min(y + 1, (I)m - 1)" }
    return draw.pick { "A[(ROW) * (I)pitch + COLUMN]", "A[COLUMN + (I)pitch * (ROW)]",
      "A[(size_t)(ROW) * pitch + COLUMN]", "A[(COLUMN) * (I)pitch + ROW]" }:gsub("ROW", function() return row end)
      :gsub("COLUMN", function() return column end):gsub("A%[", array .. "[")
  end

  local terms = {}
  for k = 1, draw.between(1, 3) do
    terms[k] = draw.pick { "E", "E", "E * F", "(E > (T)3 ? E : F)", "E + (T)threadIdx.x", "E - (T)threadIdx.y" }
      :gsub("[EF]", function() return element(draw.pick { "a", "b" }) end)
  end
  local sum = table.concat(terms, " + ")
  local body = draw.pick {
    "s = s + SUM;", "for (I k = 0; k < steps; k++) s = s + SUM;", "for (I k = 0; k < steps; k++) s = s + SUM;",
    "for (I k = x % 3; k < steps; k++) s = s + SUM;",
    "for (I k = 0; k < steps; k++) if ((k + y) % 3 != 0) s = s + SUM;",
    "T own[4]; for (int j = 0; j < 4; j++) own[j] = s + (T)j; " ..
      "for (I k = 0; k < steps; k++) own[(k + x) & 3] += SUM; for (int j = 0; j < 4; j++) s = s + own[j];",
    "for (I k = 0; k < steps; k++) { s = s + SUM; if (s == (T)17) break; }",
  }:gsub("SUM", function() return "(T)(" .. sum .. ")" end)
  local store = draw.pick { "out[at] = s;", "out[at] += s;", "if (s > (T)2) out[at] = s; else out[at] = a[at];" }
  local at = draw.pick { "x * (I)pitch + y", "x * (I)pitch + y", "y * (I)pitch2 + x",
    "(I)pitch * x + ((I)columns - 1 - y)" }
  local source = ([[
__global__ void NAME(const T *a, const T *b, T *out, int n, int m, int pitch, int pitch2, int columns,
                     int steps_) {
  I x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, steps = steps_;
  GUARD
  const I k = (x + y) % steps;
  I at = AT + (I)threadIdx.z * (I)(PLANE);
  T s = (T)(x + 2 * y + 3 * k);
  BODY
  STORE
}]]):gsub("GUARD", guarded and draw.pick { "if (x >= (I)n || y >= (I)m) return;",
      "if (y >= (I)m) return; if (x >= (I)n) return;" } or "")
    :gsub("AT", function() return at end, 1):gsub("BODY", function() return body end):gsub("STORE", store)
    :gsub("PLANE", "(columns + 5) * (columns + pitch2 + 5)")
    :gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]I%f[^%w_]", index)

  local pitch2 = rows + draw.between(0, 3)
  local steps = draw.between(1, math.min(n, m, 9))
  local size = math.max(rows, columns) * math.max(pitch, pitch2) + 64
  local plane = (columns + 5) * (columns + pitch2 + 5)
  local held = (depth - 1) * plane + size
  return { source = source, launches = { { grid = grid, block = block, arguments = {
    { type = t.dtype, size = held }, { type = t.dtype, size = size }, { type = t.dtype, size = held },
    n, m, pitch, pitch2, columns, steps } } } }
end
