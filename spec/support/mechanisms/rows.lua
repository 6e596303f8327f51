-- Kernels whose threads walk rows of their own, `a[i * ld + k]`: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "double", dtype = "double" }, { name = "int", dtype = "int" },
  { name = "unsigned char", dtype = "uchar" }, { name = "short", dtype = "short" },
  { name = "long long", dtype = "int64" },
}

return function(draw)
  local t = draw.pick(types)
  local total = t.dtype == "float" and "float" or t.dtype == "double" and "double" or
    t.dtype == "int64" and "long long" or "int"
  local streams = draw.between(1, 3)
  local index = draw.pick { "int", "unsigned", "size_t", "long long" }
  local step = draw.pick { 1, 1, 1, -1, 2 }
  local start = draw.pick { "0", "0", "k0", "i % 3" }
  local limit = draw.pick { "n", "n", "n", "i % 5 + n - 4" }
  local fixed = draw.chance(30) and draw.between(1, 40)
  local ld_value = (fixed or draw.between(1, 70)) + draw.between(0, 3)
  local ld = draw.chance(30) and tostring(ld_value) or "ld"
  local n = fixed or draw.between(1, ld_value)
  if n > ld_value then n = ld_value end
  local n_text = fixed and draw.chance(60) and tostring(n) or "n"
  limit = limit:gsub("n", n_text)
  local guard = draw.chance(60)

  local terms = {}
  for s = 1, streams do
    local row = draw.pick { "i", "i", "i", "(row0 + i)", "(rows - 1 - i)" }
    local column = step == -1 and "(last - k)" or "k"
    local at = draw.pick {
      ("(%s)%s * %s + %s"):format(index, row, ld, column), ("%s + %s * (%s)%s"):format(column, ld, index, row),
    }
    terms[s] = draw.pick { ("a%d[%s]"):format(s, at), ("a%d[%s] * x[%s]"):format(s, at, column),
      ("(%s)a%d[%s] * a1[(%s)i * %s + %s]"):format(total, s, at, index, ld, column) }
  end
  local function own() -- within three elements
    return ("c[(%s)i * (%s + 2) + k + %s]"):format(index, ld, draw.pick { "0", "1", "2", "k0", "k0", "k0" })
  end
  local body = draw.pick {
    "s = s + SUM;", "s = s + SUM;", "if (k % 3 != 1) s = s + SUM;", "s = s + SUM; if (s == 77) break;",
    ("s = s + SUM; c[(%s)i * %s + k] = s;"):format(index, ld),
    -- the row that is read is written, before or after
    ("%s = s; s = s + SUM + %s;"):format(own(), own()), ("s = s + SUM + %s; %s = s;"):format(own(), own()),
  }:gsub("SUM", function() return table.concat(terms, " + ") end)

  local block = draw.pick { 8, 16, 32, 64, 100, 128 }
  local rows = draw.between(1, 2 * block + 9)
  local threads = guard and "rows" or nil
  local blocks = math.ceil(rows / block)
  local held = (guard and rows or blocks * block) + 4
  local size = held * (ld_value + 2) + 64
  local source = ([[
__global__ void NAME(const T *a1, const T *a2, const T *a3, const T *x, S *c, S *y, int n, int ld, int rows, int row0,
                     int k0, int last) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  GUARD
  S s = y[i];
  for (int k = START; k < LIMIT; k += STEP) { BODY }
  y[i] = s;
}]]):gsub("GUARD", threads and "if (i >= rows) return;" or "")
    :gsub("%f[%w_]START", function() return start end):gsub("%f[%w_]LIMIT", function() return limit end)
    :gsub("%f[%w_]STEP", step == 2 and "2" or "1"):gsub("%f[%w_]BODY", function() return body end)
    :gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]S%f[^%w_]", total)

  local function array(dtype, count) return { type = dtype, size = count } end
  local sum = total == "long long" and "int64" or total
  local arguments = { array(t.dtype, size), array(t.dtype, size), array(t.dtype, size), array(t.dtype, size),
    array(sum, size), array(sum, held), n, ld_value, guard and rows or blocks * block, draw.between(0, 3),
    draw.between(0, 2), n - 1 }
  -- threads may find their own row in what they write: the same element, or one that they have written or will write
  if sum == t.dtype and n < ld_value and draw.chance(25) and not source:find "rows %- 1 %- i" and
    not source:find "row0 %+ i" and not source:find "x%[" and not source:find "i %% " then
    arguments[2] = { of = 5, first = 1 + draw(2) }
  end
  return { source = source, launches = { { grid = blocks, block = block, arguments = arguments } } }
end
