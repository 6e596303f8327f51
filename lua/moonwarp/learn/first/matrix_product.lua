local case = require "moonwarp.learn.case"

return {
  title = "Matrix product",
  idea = [===[
Each element of a product needs a row of a and a column of b, 2 * n reads. A
block of 8 x 8 threads needs 8 rows and 8 columns for all its elements, and
its threads would read each of these elements eight times. So the block
fetches a tile of a and a tile of b, all threads use them, and then it moves
on.

          a                b               out
     . . . . . .      . .|# #|. .      . . . . . .
    [# #|. . . .      . .|# #|. .      . .[o o]. .       the tiles move to the right in a
    [# #|. . . .      . . . . . .      . .[o o]. .       and down in b, TILE at a time
     . . . . . .      . . . . . .      . . . . . .

In each round there are two barriers: nobody uses the tiles before they are
full, and nobody fills them again before all have used them.

Task: the round is missing. The matrices are n x n, and n need not be a
multiple of 8: what is outside counts as 0.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
#define TILE 8
__global__ void product(float *out, const float *a, const float *b, int n) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * TILE + tx;          // the column of this thread's element
  int y = blockIdx.y * TILE + ty;          // and its row
  float sum = 0;
  for (int first = 0; first < n; first += TILE) {
    // fill ta and tb, wait, add TILE products, wait
  }
  if (x < n && y < n) out[y * n + x] = sum;
}
]==]

local function launch(n)
  local blocks = mw.cdiv(n, 8)
  return { blocks, blocks }, { 8, 8 }
end

return { kernel = m.product, launch = launch }
]===],
  hints = {
    "The tile of a has the rows of the block and the columns from first on; the tile of b the rows from first on.",
    "ta[ty][tx] is a's element in row y and column first + tx; tb[ty][tx] is b's in row first + ty and column x. " ..
    "Both are 0 outside.",
    "ta[ty][tx] = y < n && first + tx < n ? a[y * n + first + tx] : 0; tb likewise; barrier; "
      .. "for (int k = 0; k < TILE; k++) sum += ta[ty][k] * tb[k][tx]; barrier",
  },
  sizes = { 8, 3, 16, 21, 1 },
  race = 21,
  counting = 21,
  make = function(n)
    local a, b = case.numbers(n * n, 16), case.numbers(n * n, 17)
    local x, y, out = case.array(a), case.array(b), case.unwritten(n * n)
    return { launch = { n }, args = { out, x, y, n }, out = out, a = a, b = b, n = n,
      inputs = { { name = "a", array = x }, { name = "b", array = y } },
      want = case.list(n * n, function(i)
        local row, column, sum = math.floor(i / n), i % n, 0
        for k = 0, n - 1 do sum = sum + a[row * n + k + 1] * b[k * n + column + 1] end
        return sum
      end),
      place = function(i) return ("out in row %d, column %d"):format(math.floor(i / n), i % n) end }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end,
      hint = "n is not a multiple of TILE here, and a tile goes past the edge: what is outside of a and b counts " ..
        "as 0" },
    { when = function(f) return f.got and f:has "tb[tx][k]" end,
      hint = "the column of b runs down the tile: k is tb's first index, tb[k][tx]" },
    { when = function(f) return f.got and f:has "ta[k][ty]" end,
      hint = "the row of a runs along the tile: k is ta's second index, ta[ty][k]" },
    { when = function(f) return f.got and f:has "first+TILE<=n" end,
      hint = "the last, partial tile is left out: the rounds go on while first is less than n" },
    { when = function(f) return f:is(function() return 0 end) end,
      hint = "the sums are 0: the round does nothing yet" },
    { when = function(f) return f.got and f:has "sum=ta[" end,
      hint = "sum is replaced with each product: it has to be added, +=" },
    { when = function(f) return f.got and not f:has "first+tx" and not f:has "tx+first" end,
      hint = "every round fills ta with the same elements: its columns begin at first" },
    { when = function(f) return f.got and not f:has "first+ty" and not f:has "ty+first" end,
      hint = "every round fills tb with the same elements: its rows begin at first" },
    { when = function(f) return f.got and f:findings().race ~= nil end,
      hint = "a barrier is missing: one stands after the tiles are filled, one after they were used, before the " ..
        "next round fills them" },
    { when = function(f) return f.got and select(2, f.code:gsub("__syncthreads", "")) < 2 end,
      hint = "a barrier is missing: one stands after the tiles are filled, one after they were used, before the " ..
        "next round fills them" },
  },
  findings = {
    race = "a barrier is missing: one stands after the tiles are filled, one after they were used, before the next " ..
      "round fills them",
    barrier_divergence = "the threads outside the matrix do not reach the barrier: let them fill the tiles with 0 " ..
      "and stay with the others",
  },
  counts = function(figures, c)
    if figures.reads > 2 * c.n * c.n * math.ceil(c.n / 8) then
      return ("%g reads for %d elements"):format(figures.reads, #c.want),
        "each block reads its tiles once, 2 elements a thread and round: the products are made from ta and tb"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads of a and b; without tiles there would be %d"):format(figures.reads, 2 * c.n ^ 3) }
  end,
  depends = { size = 3, input = "a" },
}
