local case = require "moonwarp.learn.case"

return {
  title = "Block scan",
  idea = [===[
The prefix sum of lesson 12 took eight steps with two barriers each. With
shuffles it takes one barrier: each warp scans its 32 elements by itself, its
last lane leaves the warp's total in shared memory, and everybody adds the
totals of the warps before its own.

    warp        0               1               2
    scanned     1  3  6 10      2  5  6  9      4  4  5  8
    totals               10              9               8
    before      0               10              19
    out         1  3  6 10     12 15 16 19     23 23 24 27

__shfl_up_sync(mask, value, d) gives a lane the value of the lane d further
down; the first d lanes get their own back.

Task: out[i] becomes the prefix sum within each stretch of 256. The warp's
scan is there; the totals are missing.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void scan(float *out, const float *a, int n) {
  __shared__ float totals[8];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  int i = blockIdx.x * 256 + t;
  float sum = i < n ? a[i] : 0;
  for (int d = 1; d < 32; d *= 2) {
    float before = __shfl_up_sync(0xffffffff, sum, d);
    if (lane >= d) sum += before;
  }
  // the totals: leave this warp's, wait, add those before
  if (i < n) out[i] = sum;
}
]==]

return { kernel = m.scan, launch = function(n) return mw.cdiv(n, 256), 256 end }
]===],
  hints = {
    "Which lane has the total of its warp after the loop?",
    "Warp w adds totals[0] to totals[w - 1], after the barrier. At most seven: a plain loop will do.",
    "if (lane == 31) totals[warp] = sum;  __syncthreads();  for (int w = 0; w < warp; w++) sum += totals[w];",
  },
  sizes = { 256, 8, 1, 100, 700 },
  race = 300,
  counting = 700,
  make = function(n)
    local a, sum = case.numbers(n, 26), 0
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i)
        sum = (i % 256 == 0 and 0 or sum) + a[i + 1]
        return sum
      end) }
  end,
  mistakes = {
    { when = function(f) return f.got and f:has "lane==0)totals" end,
      hint = "lane 0 has only the warp's first element: the total is in its last lane, 31" },
    { when = function(f) return f.got and f:has "w<=warp" end,
      hint = "a warp adds its own total too: only those of the warps before it come on top" },
    { when = function(f) return f.got and not f:has "lane>=d" end,
      hint = "the first d lanes get their own value back, and add it: they have nobody d lanes before them" },
    { when = function(f) return f.got and f:has "d<16;" end,
      hint = "the scan of a warp has five steps: d goes up to 16" },
    { when = function(f) return f.got and f:has "shfl_down" end,
      hint = "a prefix sum takes from the lanes before: down gives those after" },
    { when = function(f) return f.got and f:has "sum=totals" and not f:has "sum+=totals" end,
      hint = "the warp's own sum is lost: the totals come on top, +=" },
    { when = function(f) return f.got and f:has "sum+=totals[warp-1]" end,
      hint = "only the warp directly before is added: the totals of all warps before this one come on top" },
    { when = function(f) return f.got and not f:has "+=totals" end,
      hint = "each warp starts from 0 again: the totals of the warps before it are missing" },
    { when = function(f) return f.got and not f:has "__syncthreads" end,
      hint = "totals are read before the other warps have left them: the barrier is missing" },
  },
  findings = {
    race = "totals are read before the other warps have left them: the barrier is missing",
    uninitialised = "totals are read before the other warps have left them: the barrier is missing",
    barrier_divergence = "all threads must reach the barrier: put it outside the if",
    warp_mask = "all 32 lanes must reach the shuffle: those without an element add 0",
  },
  counts = function(figures, c)
    if figures.reads > #c.a then
      return ("%g reads for %d elements"):format(figures.reads, #c.a), "each element is read once"
    end
  end,
  figures = function(figures, c)
    return { ("%g requests to shared memory for %d elements, one barrier"):format(
      figures.shared_load_requests + figures.shared_store_requests, #c.a) }
  end,
  depends = { size = 8, input = "a" },
}
