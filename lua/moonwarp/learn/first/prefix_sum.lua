local case = require "moonwarp.learn.case"

return {
  title = "Prefix sum",
  idea = [===[
out[i] is to be the sum of all elements up to a[i]. A loop does it one after
the other. In parallel it takes one step for each doubling: in the first, each
element takes on the one before it; then the one two before, which by then
holds a sum of two; then four before.

    tile         1   2   3   4   5   6   7   8
    d = 1        1   3   5   7   9  11  13  15      tile[t] + tile[t - 1]
    d = 2        1   3   6  10  14  18  22  26      tile[t] + tile[t - 2]
    d = 4        1   3   6  10  15  21  28  36      tile[t] + tile[t - 4]

In one step everybody reads somebody's element and overwrites its own. Unless
all have read before the first one writes, someone reads a number of the next
step.

Task: the body of the loop is missing. The launch is one block of n threads,
256 at most.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void scan(float *out, const float *a, int n) {
  __shared__ float tile[256];
  int t = threadIdx.x;
  tile[t] = a[t];
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    // read, wait, add, wait
  }
  out[t] = tile[t];
}
]==]

return { kernel = m.scan, launch = function(n) return 1, n end }
]===],
  hints = {
    "Read into a variable of the thread's own first: float before = …",
    "Threads with t < d have nobody d places before them, and add 0. They reach both barriers too.",
    "float before = t >= d ? tile[t - d] : 0;  __syncthreads();  tile[t] += before;  __syncthreads();",
  },
  sizes = { 8, 1, 31, 256, 77 },
  race = 77,
  make = function(n)
    local a = case.numbers(n, 14)
    local input, out = case.array(a), case.unwritten(n)
    local sum, want = 0, {}
    for i = 1, n do
      sum = sum + a[i]
      want[i] = sum
    end
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = want }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end,
      hint = "the first d threads read before the beginning of the tile: they have nobody d places before them, " ..
        "and add 0" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "out is a copy of a: the loop does nothing yet" },
    { when = function(f) return f:is(function(i) return i > 0 and f.want[i] or 0 end) end,
      hint = "each sum lacks its own element: the sum up to a[i] includes a[i]" },
    { when = function(f) return f.got and f:has "tile[t-1]" end,
      hint = "every step adds the direct neighbour: in each step the distance is d" },
    { when = function(f) return f.got and f:has "t>d" end,
      hint = "thread d has somebody d places before it, thread 0: the condition is t >= d" },
    { when = function(f) return f.got and f:has "d<n/2" end,
      hint = "the last doubling is missing: the steps go on while d is less than n" },
    { when = function(f) return f.got and f:has "tile[t]=before" end,
      hint = "the element is replaced by the one before it: it has to be added" },
    { when = function(f) return f.got and (f:has "+=tile[t-d]" or f:has "tile[t]=tile[t]+tile[t-d]") end,
      hint = "some threads read what others have already changed in this step: read into a variable, wait, then add" },
    { when = function(f)
        return f.got and (f:findings().race ~= nil or not f:has "__syncthreads();tile[t]+=before")
      end,
      hint = "a barrier is missing in the loop: one after all have read, one after all have added" },
  },
  findings = {
    race = "a barrier is missing in the loop: one after all have read, one after all have added",
    barrier_divergence = "all threads must reach the barriers: put them outside the if",
  },
  figures = function(figures, c)
    return { ("%d elements in %d steps; %g requests to shared memory"):format(#c.want,
      math.ceil(math.log(#c.want) / math.log(2)), figures.shared_load_requests + figures.shared_store_requests) }
  end,
  depends = { size = 8, input = "a" },
}
