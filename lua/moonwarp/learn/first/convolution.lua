local case = require "moonwarp.learn.case"

local WIDTH = 4

return {
  title = "Convolution in one dimension",
  idea = [===[
A convolution weighs each element's neighbourhood:

    out[i] = k[0] * a[i] + k[1] * a[i+1] + k[2] * a[i+2] + k[3] * a[i+3]

A block of 64 threads needs 64 elements, and three more that belong to the
next block: its halo.

    a      ...  60  61  62  63 | 64  65  66  67 ...
                               |
    tile   ...  60  61  62  63 | 64  65  66           64 + 3 elements
                 |___________|    halo
                out[60]   |___________|
                         out[63]

The halo is read by the first three threads, after their own element. Beyond
the end of a there are zeros.

Task: the halo and the barrier are missing. Each block may read 67 elements of
a, no more.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
#define BLOCK 64
#define WIDTH 4
__global__ void convolve(float *out, const float *a, const float *k, int n) {
  __shared__ float tile[BLOCK + WIDTH - 1];
  int t = threadIdx.x;
  int i = blockIdx.x * BLOCK + t;
  tile[t] = i < n ? a[i] : 0;
  // the halo and the barrier are missing here
  if (i < n) {
    float sum = 0;
    for (int j = 0; j < WIDTH; j++) sum += k[j] * tile[t + j];
    out[i] = sum;
  }
}
]==]

return { kernel = m.convolve, launch = function(n) return mw.cdiv(n, 64), 64 end }
]===],
  hints = {
    "Threads 0, 1 and 2 fill tile[64], tile[65] and tile[66]. The condition is t < WIDTH - 1.",
    "Their element is BLOCK places after their own, a[i + BLOCK], and 0 if that is beyond the end.",
    "if (t < WIDTH - 1) tile[BLOCK + t] = i + BLOCK < n ? a[i + BLOCK] : 0;  and then  __syncthreads();",
  },
  sizes = { 64, 5, 66, 200, 131 },
  race = 131,
  make = function(n)
    local a, k = case.numbers(n, 13), { 1, 20, 300, 4 }
    local x, y, out = case.array(a), case.array(k), case.unwritten(n)
    return { launch = { n }, args = { out, x, y, n }, out = out, a = a, k = k,
      inputs = { { name = "a", array = x }, { name = "k", array = y } },
      want = case.list(n, function(i)
        local sum = 0
        for j = 0, WIDTH - 1 do sum = sum + k[j + 1] * (a[i + j + 1] or 0) end
        return sum
      end) }
  end,
  mistakes = {
    { when = function(f) return f:overrun() and (f.error.message:find "tile" or f:has "t<WIDTH)") end,
      hint = "the tile has BLOCK + WIDTH - 1 places: three threads fill the halo, t < WIDTH - 1" },
    { when = function(f) return f:overrun() end,
      hint = "the halo of the last block is beyond the end of a: ask whether i + BLOCK < n, and leave 0 if not" },
    { when = function(f) return f:is(function(i)
        local sum, a, k = 0, f.case.a, f.case.k
        for j = 0, WIDTH - 1 do sum = sum + k[WIDTH - j] * (a[i + j + 1] or 0) end
        return sum
      end) end,
      hint = "the weights are turned round: k[0] goes with a[i]" },
    { when = function(f) return f.got and f:has "tile[BLOCK+t]" and f:has "a[i+1" end,
      hint = "the halo holds the wrong elements: tile[BLOCK + t] belongs to the element BLOCK places after the " ..
        "thread's own" },
    { when = function(f) return f.got and not (f:has "tile[BLOCK+t]" or f:has "tile[t+BLOCK]" or f:has "tile[64+t]" or
        f:has "tile[t+64]") end,
      hint = "the last three elements of each block are wrong: nobody fills the halo, tile[64] to tile[66]" },
    { when = function(f) return f.got and not f:has "__syncthreads" end,
      hint = "a thread adds elements that their owners have not put into the tile yet: the barrier is missing" },
    { when = function(f) return f.got and f.first == #f.want - 2 end,
      hint = "beyond the end of a there are zeros: the halo of the last block has to be 0, not left as it is" },
  },
  findings = {
    race = "a thread may add an element before its owner has put it into the tile: the barrier stands after the " ..
      "halo, before the sum",
    uninitialised = "the halo was not filled, or not where a has no element: 0 has to be put there",
  },
  counts = function(figures, c)
    local blocks = math.ceil(#c.want / 64)
    local weights = #c.want * WIDTH -- one read a thread and weight, of which a compiler may make fewer
    if figures.reads - weights > #c.want + blocks * (WIDTH - 1) then
      return ("%g reads of a for %d elements"):format(figures.reads - weights, #c.want),
        "each block reads its 64 elements and the halo, 67 at most: the sum is made from the tile"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads for %d elements, %d weights each"):format(figures.reads, #c.want, WIDTH) }
  end,
  depends = { size = 8, input = "a" },
}
