local case = require "moonwarp.learn.case"

return {
  title = "Bank conflicts",
  idea = [===[
Shared memory has 32 banks: neighbouring words are in neighbouring banks, and
word 32 is in bank 0 again. Each bank serves one word at a time. 32 lanes that
want words of 32 banks are served at once. 32 lanes that want different words
of one bank are served one after the other.

    float tile[32][32]          bank of tile[y][x] is x
       row 0    0  1  2 ... 31          reading a row:     32 banks, 1 pass
       row 1    0  1  2 ... 31          reading a column:   1 bank, 32 passes
       row 2    0  1  2 ... 31

    one word more in each row, and the bank is (y + x) % 32: columns are as good as rows

A transpose through a tile reads rows of a and writes rows of out, both
coalesced; in between it reads the tile by columns.

Task: no bank conflicts, by a change of the tile's shape. Global memory is to
stay coalesced.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void transpose(float *out, const float *a, int n) {
  __shared__ float tile[32][32];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
  if (x < n && y < n) tile[ty][tx] = a[y * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + tx;
  y = blockIdx.x * 32 + ty;
  if (x < n && y < n) out[y * n + x] = tile[tx][ty];
}
]==]

local function launch(n)
  local blocks = mw.cdiv(n, 32)
  return { blocks, blocks }, { 32, 32 }
end

return { kernel = m.transpose, launch = launch }
]===],
  hints = {
    "The bank of tile[y][x] is (y * LENGTH + x) % 32, where LENGTH is that of a row. With 32 the y falls out.",
    "For which LENGTH do 32 values of y give 32 different banks? It has to be odd.",
    "__shared__ float tile[32][33];",
  },
  sizes = { 32, 5, 1, 40, 65 },
  race = 40,
  counting = 64,
  make = function(n)
    local a = case.numbers(n * n, 22)
    local input, out = case.array(a), case.unwritten(n * n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } },
      a = a, n = n,
      want = case.list(n * n, function(i) return a[i % n * n + math.floor(i / n) + 1] end),
      place = function(i) return ("out in row %d, column %d"):format(math.floor(i / n), i % n) end }
  end,
  mistakes = {
    { when = function(f) return f:overrun() and f.error.message:find " tile%[" end,
      hint = "the tile is too small now: 32 rows of at least 32 words are needed" },
    { when = function(f) return f:overrun() end,
      hint = "a thread outside the matrix uses an element: keep both guards" },
    { when = function(f) return f.got and f:has "=tile[ty][tx]" and f.size > 1 end,
      hint = "within each tile nothing is turned round: it is filled by rows, and read by columns" },
    { when = function(f) return f.got and not f:has "__syncthreads" end,
      hint = "the tile is read before the others have filled it: the barrier is missing" },
  },
  findings = {
    race = "the tile is read before the others have filled it: the barrier is missing",
    uninitialised = "the tile is read before the others have filled it: the barrier is missing",
  },
  counts = function(figures)
    local moved = figures.global_load_sectors + figures.global_store_sectors
    local least = figures.global_load_ideal_sectors + figures.global_store_ideal_sectors
    if moved > 1.5 * least then
      return ("%g sectors were moved where %g is the least"):format(moved, least),
        "global memory is no longer coalesced: both a and out are to be used by rows, and the turning left to the tile"
    end
    if figures.bank_conflicts > 0 then
      return ("%g bank conflicts"):format(figures.bank_conflicts),
        "lanes that read a column still meet in a bank: the length of a row, in words, has to be odd"
    end
  end,
  figures = function(figures)
    return { ("no bank conflicts: %g wavefronts for %g requests"):format(
      figures.shared_load_wavefronts + figures.shared_store_wavefronts,
      figures.shared_load_requests + figures.shared_store_requests) }
  end,
  depends = { size = 3, input = "a" },
}
