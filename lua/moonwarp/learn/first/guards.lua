local case = require "moonwarp.learn.case"

return {
  title = "Guards",
  idea = [===[
Threads come in warps of 32, and blocks are best made of whole warps. There
are then more threads than elements, and those that are too many run the same
code: without a guard they read and write past the ends of the arrays.

    a           3   1   4   1   5
    thread      0   1   2   3   4   5   6   7
                                    ^   ^   ^
                                    nothing to do for these

On a GPU such a write lands in somebody else's memory, and the program goes on
with wrong numbers. Here the judge checks every access, and says which thread
went where.

Task: out[i] becomes a[i] + 10, and threads from n on do nothing. The launch
rounds n up to a multiple of 32.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void add_ten(float *out, const float *a, int n) {
  int i = threadIdx.x;
  // which threads may do this?
  out[i] = a[i] + 10;
}
]==]

return { kernel = m.add_ten, launch = function(n) return 1, 32 * mw.cdiv(n, 32) end }
]===],
  hints = {
    "Put the line into an if.",
    "The last element is a[n - 1]; thread n has no element.",
    "if (i < n) out[i] = a[i] + 10;",
  },
  sizes = { 5, 1, 32, 33, 100 },
  make = function(n)
    local a = case.numbers(n, 3)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return a[i + 1] + 10 end) }
  end,
  mistakes = {
    { when = function(f) return f:overrun() and f:has "i<=n" end,
      hint = "i <= n lets thread n in, and element n is one past the end: indices end with n - 1" },
    { when = function(f) return f:overrun() and not f:has "if(" and not f:has "?" and not f:has "return;" end,
      hint = "nothing keeps the threads from n on away: the line needs an if" },
    { when = function(f) return f:overrun() and (f:has "i>n" or f:has "n<i") end,
      hint = "thread n has no element either: i > n sends the others away and lets it through" },
    { when = function(f) return f:overrun() end,
      hint = "threads from n on still reach this line: does the condition compare i with n, in the right " ..
        "direction?" },
    { when = function(f) return f.got and f:unwritten() == f.size and not f:has "i>=n" and not f:has "n<=i" and
        not f:has "n-1" end,
      hint = "no element was written: does any thread reach the line?" },
    { when = function(f) return f.got and f:unwritten() == 1 and f:has "n-1" end,
      hint = "the last element is left out: thread n - 1 has work to do" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "some elements were not written: the guard is to depend on n, and to let every thread below it through" },
  },
  figures = function(figures, c)
    return { ("%g reads for %d elements: the threads without an element read nothing"):format(figures.reads, #c.want) }
  end,
  depends = { size = 5, input = "a" },
}
