local case = require "moonwarp.learn.case"

return {
  title = "Warp sum",
  idea = [===[
The lanes of a warp can look into each other's registers, without shared
memory and without a barrier. __shfl_down_sync(mask, value, d) gives a lane
the value of the lane d further up.

    lane      0    1    2    3    4    5    6    7
    value     3    1    4    1    5    9    2    6
    d = 4     8   10    6    7    .    .    .    .       own + that of lane + 4
    d = 2    14   17    .    .    .    .    .    .
    d = 1    31    .    .    .    .    .    .    .       lane 0 has the sum

The mask has a bit for each lane that takes part, and all of these have to
reach the line: 0xffffffff is the whole warp. What the upper lanes compute
on the way is of no use, and does no harm.

Task: the loop is missing. out[w] becomes the sum of warp w's elements, of
which the last warp has fewer.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void sums(float *out, const float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = i < n ? a[i] : 0;
  // a loop over the distances, beginning with 16
  if (i % 32 == 0 && i < n) out[i / 32] = sum;
}
]==]

return { kernel = m.sums, launch = function(n) return mw.cdiv(n, 64), 64 end }
]===],
  hints = {
    "The distances are 16, 8, 4, 2 and 1: for (int d = 16; d > 0; d /= 2) …",
    "In each step a lane adds to its own sum what it gets.",
    "for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);",
  },
  sizes = { 32, 8, 1, 64, 333 },
  race = 100,
  counting = 320,
  make = function(n)
    local a, count = case.numbers(n, 24), math.ceil(n / 32)
    local input, out = case.array(a), case.unwritten(count)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(count, function(w)
        local sum = 0
        for i = 32 * w + 1, math.min(n, 32 * w + 32) do sum = sum + a[i] end
        return sum
      end) }
  end,
  mistakes = {
    { when = function(f) return f:has "i>=n)return" end,
      hint = "lanes that have left cannot take part, and the mask names them: those without an element add 0" },
    { when = function(f) return f:has "shfl_up" end,
      hint = "up moves values towards higher lanes, so that the last lane has the sum: lane 0 gets it by down" },
    { when = function(f) return f:has "0xffff," or f:has "0xff," end,
      hint = "all 32 lanes call the function, and the mask has to name them: 0xffffffff" },
    { when = function(f) return f.got and f:has "intd=8" end,
      hint = "half of the warp is left out: the first distance is 16" },
    { when = function(f) return f.got and (f:has "d>1;") end,
      hint = "the last step is missing: d = 1 joins the last two sums" },
    { when = function(f) return f.got and (f:has "sum=__shfl") end,
      hint = "the lane's own sum is lost: what it gets has to be added, +=" },
    { when = function(f) return f.got and f:has "d--" end,
      hint = "elements are counted several times: the distance is halved in each step" },
    { when = function(f) return f.got and not f:has "__shfl" end,
      hint = "lane 0 has only its own element yet: the loop is missing" },
  },
  program = function(f)
    if f:has "__shared__" then
      return "the kernel uses shared memory", "a warp's sum needs no shared memory: __shfl_down_sync moves the values"
    end
  end,
  findings = {
    warp_mask = "the mask names lanes that do not reach the line, or leaves out some that do: all 32 reach it, " ..
      "0xffffffff",
    race = "several lanes write to one element: lane 0 alone has the whole sum",
  },
  counts = function(figures, c)
    if figures.shared_load_requests + figures.shared_store_requests > 0 then
      return "the kernel uses shared memory", "a warp's sum needs no shared memory: __shfl_down_sync moves the values"
    end
    if figures.reads > #c.a then
      return ("%g reads for %d elements"):format(figures.reads, #c.a), "each element is read once: the rest moves " ..
        "between lanes"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads for %d elements, no shared memory, no barrier"):format(figures.reads, #c.a) }
  end,
  depends = { size = 8, input = "a" },
}
