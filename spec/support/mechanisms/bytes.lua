-- Kernels that read neighbouring bytes one by one, at any place and with stores between them: see fuzz.lua.

return function(draw)
  local element = draw.pick { "unsigned char", "signed char", "unsigned char" }
  local dtype = element == "signed char" and "char" or "uchar"
  local n, block = draw.between(1, 500), draw.pick { 8, 32, 33, 64, 128 }
  local step = draw.pick { 4, 4, 8, 5, 3, 6, 16, 7 }
  local size = 8 * n + 64
  local place = draw.pick { "i * step", "i * step + 1", "i * 4", "where[i]", "where[i]", "where[i] + i % 3",
    "(n - 1 - i) * step", "(size_t)i * step", "(unsigned)i * (unsigned)step" }
  local function byte(k)
    return draw.pick { "p[%d]", "p[%d]", "p[%d]", "a[at + %d]", "a[at + %d]" }:format(k)
  end
  local words = {}
  for w = 1, draw.between(1, 3) do
    local first, parts = draw(5), {}
    for k = 0, draw.pick { 3, 3, 3, 7, 2, 4 } do
      parts[k + 1] = draw.pick { "((S)%s << %d)", "((S)%s << %d)", "(S)%s * %d", "(S)(unsigned char)%s * %d" }
        :format(byte(first + k), draw.pick { 8 * (k % 4), 24 - 8 * (k % 4), k + 1 })
    end
    words[w] = ("h = h * 31 + (%s);"):format(table.concat(parts, draw.pick { " | ", " + ", " ^ " }))
    if draw.chance(20) then words[w] = words[w] .. " a[at + 2] = (T)h;" end
  end
  local body = table.concat(words, "\n  ")
  if draw.chance(30) then
    body = ("for (int j = 0; j < rounds; j += 4) { %s }"):format(body:gsub("p%[", "p[j + "):gsub("at %+", "at + j +"))
  elseif draw.chance(30) then
    body = ("if (h %% 3 == 0) { %s }"):format(body)
  end
  local source = ([[
__global__ void NAME(T *data, const int *where, unsigned *out, int n, int step, int rounds, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T *a = data + (size_t)i * ROW;
  unsigned at = PLACE;
  at %%= 24;
  T *p = a + at;
  S h = i;
  BODY
  out[i] = h;
}]]):gsub("%%%%", "%%"):gsub("PLACE", function() return place end):gsub("BODY", function() return body end)
  source = source:gsub("%f[%w_]T%f[^%w_]", element):gsub("%f[%w_]S%f[^%w_]", "unsigned")
    :gsub("ROW", draw.pick { "rows", "rows", "64", "61" })
  return { source = source, launches = { { grid = math.ceil(n / block), block = block, arguments = {
    { type = dtype, size = 8 * size }, { type = "int", size = n }, { type = "uint", size = n }, n, step,
    draw.pick { 0, 4, 8, 12 }, draw.pick { 61, 62, 64 } } } } }
end
