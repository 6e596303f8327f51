-- Kernels with unsigned indices of 32 bits that contain the counters of loops, k * pitch + column, some of which wrap
-- in the middle of a gang: see fuzz.lua. A table says which indices are inside of the array, since a comparison would
-- show the compiler that those do not wrap.

local types = {
  { name = "float", dtype = "float" }, { name = "unsigned", dtype = "uint" }, { name = "double", dtype = "double" },
  { name = "unsigned char", dtype = "uchar" }, { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 16, 64, 128, 128, 256, 96, { 16, 4 }, { 32, 4 }, { 64, 2 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.between(1, 4)
  local size, inside = 2 ^ 16, { 1 }
  for i = 2, 2 ^ 16 do inside[i] = 0 end
  local column = draw.pick { "j", "j", "j", "threadIdx.x + threadIdx.y * 64u", "(unsigned)i" }
  local counter = draw.pick { "unsigned", "unsigned", "int" }
  local first, step = draw.pick { "0", "0", "0", "1", "3" }, draw.pick { "k++", "k++", "k += 2", "k += 16" }
  local limit = draw.pick { "rows", "rows", "rows", "(rows >> 1)", "(rows & 7)", "(rows + e)", "5", "min(rows, e)" }
  if counter == "int" then limit = "(int)" .. limit end
  local nested = draw.chance(40)
  local row = draw.pick { "k * pitch", "k * pitch", "(k + 1) * pitch", "k * pitch * 2u", "(k << 3) * pitch",
    "pitch * e * k", "(k * pitch << 1)", nested and "(m * rows + k) * pitch" or "k * pitch",
    nested and "k * pitch + m * e" or "k * e" }
  local index = draw.pick { row .. " + COLUMN", "COLUMN + " .. row, row .. " + COLUMN + e",
    "(" .. row .. " + COLUMN) * 2u",
    row .. " + 2u * COLUMN" }
  local condition = draw.pick { "", "", "if (i % 3 != 0) ", "if (j < e * 16u) ", "if (s != (T)0) " }
  local stores = draw.chance(40)

  local body = ([[unsigned at = INDEX;
    CONDITIONif (inside[at >> 16]) s = (T)(s * (T)3 + a[at]);
    STORE]]):gsub("INDEX", function() return index end):gsub("COLUMN", function() return column end)
    :gsub("CONDITION", function() return condition end)
    :gsub("STORE", stores and "if (k * ALL + j < 8u * ALL) out[k * ALL + j] = s;" or "")
  local loop = ("for (%s k = %s; k < %s; %s) {\n    %s\n  }"):format(counter, first, limit, step, body)
  if nested then
    loop = ("for (unsigned m = 0; m < %s; m++)\n  "):format(draw.pick { "e", "3u", "(rows & 3u)" }) .. loop
  end
  local source = ([[
__global__ void NAME(const T *a, const unsigned char *inside, T *out, unsigned rows, unsigned pitch, unsigned e) {
  unsigned j = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int i = (int)j;
  T s = (T)1;
  LOOP
  out[8u * ALL + j] = s;
}]]):gsub("LOOP", function() return loop end):gsub("ALL", threads * grid .. "u")
    :gsub("%f[%w_]T%f[^%w_]", t.name)
  local function launch()
    local pitch = draw.pick { threads * grid, 64, 100, 1, 0, 2 ^ 32 - 64, 2 ^ 32 - 37, 2 ^ 31 + 16, 2 ^ 30, 2 ^ 28 + 5 }
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = size }, { type = "uchar", values = inside },
      { type = t.dtype, size = 9 * threads * grid }, draw.pick { 0, 1, 4, 7, 12, 40 },
      pitch, draw.between(0, 5) } }
  end
  return { source = source, launches = { launch(), launch(), launch(), launch() } }
end
