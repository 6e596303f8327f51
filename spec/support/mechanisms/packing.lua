-- Kernels with blocks of few threads: ids in all forms, guards, loops and branches by block and by thread, gathers,
-- local arrays and atomics, in grids of one to three dimensions.

local MASK = 1023 -- of arrays that are read

local shapes = { { 1 }, { 2 }, { 4 }, { 8 }, { 1, 2 }, { 2, 2 }, { 4, 2 }, { 4, 4 }, { 1, 1, 3 }, { 2, 3 }, { 3 } }
local grids = { { 1 }, { 2 }, { 7 }, { 8 }, { 31 }, { 32 }, { 33 }, { 67 }, { 129 }, { 300 }, { 3, 5 }, { 40, 3 },
  { 16, 2 }, { 33, 2, 3 }, { 5, 1, 4 } }

return function(draw)
  local block = draw.pick(shapes)
  local threads = block[1] * (block[2] or 1) * (block[3] or 1)
  local depth = 0

  local function index()
    return draw.pick {
      "i", "lin", "blockIdx.x", "threadIdx.x", "blockIdx.x * 4 + threadIdx.x", "i * 3", "lin + rounds", "t[lin & 1023]",
      "blockIdx.x * blockDim.x", "(blockIdx.x + 1) * blockDim.x + threadIdx.x", "i ^ 1", "(int)(v & 255)",
      "blockIdx.y * gridDim.x + blockIdx.x", "threadIdx.y * blockDim.x + threadIdx.x", "i / 3", "i % 5",
      "(blockIdx.x * blockDim.y + threadIdx.y) * 4 + threadIdx.x", "max((int)blockIdx.x - 1, 0)",
    }
  end
  local function count()
    return draw.pick { "3", "5", "rounds", "blockIdx.x % 5", "threadIdx.x + 1", "(v & 7)", "i % 4" }
  end
  local function condition()
    return draw.pick {
      "blockIdx.x % 3 == 0", "v & 1", "threadIdx.x < 2", "s > 0", "i < rounds * 5", "blockIdx.y == 0", "lin % 7 < 3",
      "threadIdx.x == 0", "gridDim.x - blockIdx.x < 9",
    }
  end

  local statement
  local function block_of(n)
    local list = {}
    depth = depth + 1
    for k = 1, n do list[k] = statement() end
    depth = depth - 1
    return "{ " .. table.concat(list, " ") .. " }"
  end
  function statement()
    local kind = draw(depth < 2 and 10 or 5)
    if kind == 0 then return ("s = s * 0.5f + x[(%s) & %d];"):format(index(), MASK) end
    if kind == 1 then return ("v = v * 1664525u + (unsigned)(%s);"):format(index()) end
    if kind == 2 then return ("v ^= (unsigned)t[(%s) & %d] >> 3;"):format(index(), MASK) end
    if kind == 3 then return ("a[v & 3] = x[(%s) & %d]; s += a[(v >> 5) & 3];"):format(index(), MASK) end
    if kind == 4 then return ("atomicAdd(&bins[(%s) & 63], v & 15);"):format(index()) end
    if kind == 5 then return ("if (%s) %s"):format(condition(), block_of(draw.between(1, 2))) end
    if kind == 6 then
      return ("if (%s) %s else %s"):format(condition(), block_of(draw.between(1, 2)), block_of(1))
    end
    if kind == 7 then
      return ("for (int k = 0; k < (int)(%s); k++) { s += x[(%s + k) & %d]; %s }"):format(count(), index(), MASK,
        statement())
    end
    if kind == 8 then
      return ("for (int k = 0; k < 12; k++) { if ((v >> k) & 1 && %s) break; v += k; %s }"):format(condition(),
        draw.chance(40) and statement() or "")
    end
    return ("for (int k = 0; k < %d; k++) a[k & 3] = a[(k + 1) & 3] + x[(%s + 4 * k) & %d];"):format(draw.between(2, 6),
      index(), MASK)
  end

  local body = {}
  for k = 1, draw.between(2, 5) do body[k] = statement() end
  local guard = draw.pick { "", "if (lin >= n) return;", "if (i >= n) return;", "if (blockIdx.x & 1) return;",
    "if (i < 3 || i >= n) return;" }
  local source = ([[
    __global__ void NAME(int n, int rounds, const float *x, const int *t, float *out, unsigned *more, unsigned *bins) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      int lin = block * (blockDim.x * blockDim.y * blockDim.z) +
                (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      %s
      float s = 0, a[4] = { 1, 2, 3, 4 };
      unsigned v = lin * 2654435761u;
      %s
      out[lin] = s;
      more[lin] = v + (a[v & 3] > 2);
    }]]):format(guard, table.concat(body, "\n      "))

  local launches = {}
  for k = 1, 2 do
    local grid = draw.pick(grids)
    local total = grid[1] * (grid[2] or 1) * (grid[3] or 1) * threads
    local n = draw.pick { total, total - 1, math.floor(total / 2), grid[1] * block[1] - 1 }
    launches[k] = { grid = grid, block = block, arguments = {
      n, draw.between(0, 6), { type = "float", size = MASK + 1 }, { type = "int", size = MASK + 1 },
      { type = "float", size = total }, { type = "uint", size = total }, { type = "uint", size = 64 } } }
  end
  return { source = source, launches = launches }
end
