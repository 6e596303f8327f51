local case = require "moonwarp.learn.case"

return {
  title = "Shared memory",
  idea = [===[
The threads of a block have a small, fast memory in common: __shared__. One
thread leaves a value there and another takes it. But threads do not run in
step: before one of them takes what another has left, all of them have to have
left theirs. __syncthreads() is the line that no thread passes before all threads
have reached it.

    a           1   2   3   4           each thread leaves its own element
                |   |   |   |
    tile        1   2   3   4
    ------------------------------      __syncthreads()
                 \   \ /   /
                  \  / \  /
    out         4   3   2   1           each thread takes another's

Task: reverse each stretch of 64 elements, through the tile. The last stretch
may be shorter.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void reverse(float *out, const float *a, int n) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  int first = blockIdx.x * 64;           // this block's first element
  int count = min(64, n - first);        // and how many it has
  if (t < count) tile[t] = a[first + t];
  // two lines are missing here
}
]==]

return { kernel = m.reverse, launch = function(n) return mw.cdiv(n, 64), 64 end }
]===],
  hints = {
    "The first of the two lines is the barrier; the second writes out[first + t], if the thread has an element.",
    "The element opposite to number 0 is number count - 1.",
    "__syncthreads();   and   if (t < count) out[first + t] = tile[count - 1 - t];",
  },
  sizes = { 64, 8, 100, 1, 333 },
  race = 100,
  make = function(n)
    local a = case.numbers(n, 9)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i)
        local first = i - i % 64
        return a[first + math.min(64, n - first) - i % 64]
      end) }
  end,
  mistakes = {
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "each thread takes its own element back: the one on the other side is wanted" },
    { when = function(f) return f:has "tile[count-t]" end,
      hint = "the indices are one too high: opposite to element 0 is element count - 1" },
    { when = function(f) return f:has "tile[63-t]" end,
      hint = "the last stretch is shorter than 64: the element opposite depends on count" },
    { when = function(f) return f:has "out[t]" end,
      hint = "every block writes to the first 64 elements: out's index starts from first" },
    { when = function(f) return f:overrun() end,
      hint = "a thread without an element reads or writes: it needs the guard" },
    { when = function(f) return f.got and not f:has "__syncthreads" end,
      hint = "a thread takes an element before its owner has left it there: the barrier is missing" },
    { when = function(f) return f.got and f:unwritten() == #f.want end, hint = "out was not written yet" },
  },
  findings = {
    race = "a thread may take an element before its owner has left it there: __syncthreads() has to stand between " ..
      "the two lines",
    barrier_divergence = "the threads without an element do not reach the barrier: put it outside the if",
  },
  counts = function(figures)
    if figures.shared_load_requests == 0 then
      return "nothing was read from shared memory", "the elements are to go through the tile: out is made from " ..
        "tile, not from a"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads of global memory for %d elements, the exchange goes through shared " ..
      "memory"):format(figures.reads, #c.want) }
  end,
  depends = { size = 8, input = "a" },
}
