local case = require "moonwarp.learn.case"

return {
  title = "Pooling",
  idea = [===[
Neighbouring results often need the same elements. Here each result is a sum
over a window of three, the thread's own element and the two before it, so
that each element is needed three times. Read from global memory it would be
fetched three times. Through shared memory it is fetched once.

    a            3   1   4   1   5
                 |   |   |   |   |       one read each
    tile         3   1   4   1   5
                 |__/____|   |   |
    out          3   4   8   6  10       out[2] = 3 + 1 + 4

Before the first element there is nothing, and nothing is 0.

Task: out[i] becomes a[i - 2] + a[i - 1] + a[i], with one read of a in each
thread. The launch is one block of n threads, 256 at most.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void pool(float *out, const float *a) {
  __shared__ float tile[256];
  int i = threadIdx.x;
  // fill the tile, wait, add up
}
]==]

return { kernel = m.pool, launch = function(n) return 1, n end }
]===],
  hints = {
    "Three steps: tile[i] = a[i]; then the barrier; then the sum, of elements of the tile.",
    "Threads 0 and 1 have fewer than three elements: ask whether i is large enough before each step back.",
    "out[i] = tile[i] + (i >= 1 ? tile[i - 1] : 0) + (i >= 2 ? tile[i - 2] : 0);",
  },
  sizes = { 8, 1, 2, 33, 200 },
  race = 70,
  make = function(n)
    local a = case.numbers(n, 10)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return (a[i - 1] or 0) + (a[i] or 0) + a[i + 1] end) }
  end,
  mistakes = {
    { when = function(f) return f:is(function(i) return (f.case.a[i] or 0) + f.case.a[i + 1] end) end,
      hint = "the window is two wide: the element two places before is missing" },
    { when = function(f) return f:is(function(i) return f.want[i + 1] / 3 end) end,
      hint = "that is the mean of the three; the task asks for their sum" },
    { when = function(f) return f:overrun() and f:has "i+1]" or f:has "i+2]" end,
      hint = "the window looks forward: it ends with the thread's own element, i, and begins two before" },
    { when = function(f) return f:overrun() end,
      hint = "threads 0 and 1 step back before the first element: ask for i >= 1 and i >= 2" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "out is a copy of a: the two elements before are missing" },
    { when = function(f) return f.got and f:unwritten() == #f.want end, hint = "out was not written yet" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "the first threads write nothing: their windows are shorter, and they have a sum all the same" },
    { when = function(f) return f.got and not f:has "__syncthreads" end,
      hint = "a thread adds elements that their owners have not put into the tile yet: the barrier is missing" },
  },
  findings = {
    race = "a thread may add an element before its owner has put it into the tile: __syncthreads() has to stand " ..
      "between the two",
  },
  counts = function(figures, c)
    if figures.reads > #c.want then
      return ("%.3g reads of a in each thread"):format(figures.reads / #c.want),
        "each thread reads a once, its own element, into the tile; the sum is made from the tile"
    end
  end,
  figures = function(figures, c)
    return { ("%.3g reads of a in each thread, %g requests to shared memory"):format(figures.reads / #c.want,
      figures.shared_load_requests + figures.shared_store_requests) }
  end,
  depends = { size = 8, input = "a" },
}
