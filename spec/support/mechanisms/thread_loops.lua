-- Kernels whose inner loops write rows of each thread, or go through segments of different lengths: see fuzz.lua.

local types = { "float", "double", "int", "short", "uchar" }
local names = { uchar = "unsigned char" }

return function(draw)
  local t = draw.pick(types)
  local m = draw.between(1, 40)
  local ld = m + draw.between(0, 5)
  local rows = draw.between(1, 90)
  local shared = m < ld and draw.chance(30) -- a is in the same array as out, some elements further
  local index = draw.pick { "int", "unsigned", "long long" }
  local at = ("(%s)i * ld + k"):format(index)
  local a = draw.pick { "a[" .. at .. "]", "a[" .. at .. "]", "b[j * ld + k]" }
  local term = shared and "a[" .. at .. "]" or draw.pick { a, a .. " * w", a .. " + b[k]", a .. " * b[k]" }
  local body = draw.pick {
    "out[AT] = TERM;", "out[AT] += TERM;", "out[AT] = k % 3 ? TERM : out[AT];", "out[AT] = out[AT] + TERM;",
    "if (k != i) out[AT] = TERM;", "out[AT] = TERM; more[AT] = out[AT];", "s = max(s, (int)b[k]); out[AT] = TERM;",
  }
  local outer = shared and "" or draw.pick { "", "for (int j = 0; j <= i % 4; j++)", "for (int j = 0; j < 3; j++)" }
  local inner = draw.pick { "for (int k = 0; k < m; k++)", "for (int k = i % 3; k < m; k++)",
    "for (int k = m - 1; k >= 0; k--)", "for (int k = 0; k < m - i % 2; k += 2)" }
  body = body:gsub("AT", function() return at end):gsub("TERM", function() return "(T)(" .. term .. ")" end)
  local source = ([[
__global__ void NAME(T *out, const T *a, const T *b, T *more, int *sums, int rows, int m, int ld) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0, j = 0;
  if (i >= rows) return;
  T w = b[i % 7];
  OUTER INNER { BODY }
  sums[i] = s + (int)w + j;
}]]):gsub("OUTER", function() return outer end):gsub("INNER", function() return inner end)
    :gsub("BODY", function() return body end):gsub("%f[%w_]T%f[^%w_]", names[t] or t)
  local size = (math.max(rows, 4) + 1) * ld + 16 -- rows 0 to 3 of b are read in any case
  local function array(dtype, count) return { type = dtype, size = count } end
  local small = {}
  for i = 1, size do small[i] = draw(100) / (t == "float" and 4 or t == "double" and 4 or 1) end
  if t ~= "float" and t ~= "double" then for i = 1, size do small[i] = math.floor(small[i]) end end
  local arguments = { array(t, size), array(t, size), { type = t, size = size, values = small }, array(t, size),
    array("int", rows), rows, m, ld }
  if shared then arguments[2] = { of = 1, first = 1 + draw(ld - m + 1), last = size } end
  local block = draw.pick { 16, 32, 64 }
  return { source = source, launches = { { grid = math.ceil(rows / block), block = block, arguments = arguments } } }
end
