local case = require "moonwarp.learn.case"

return {
  title = "Map",
  idea = [===[
A Lua loop visits the elements of a table one after the other. A kernel has no
loop: it is the loop's body, and as many threads run it as there are elements.
A thread asks for its number, threadIdx.x, and does the work of that one
element.

    thread     0     1     2     3
               |     |     |     |
    a          3     1     4     1
               |     |     |     |      + 10
    out       13    11    14    11

Lua counts from 1. CUDA C counts from 0, so that n threads have the numbers 0
to n - 1, and a[0] is the first element.

Task: out[i] becomes a[i] + 10. The launch is one block of n threads.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void add_ten(float *out, const float *a) {
  int i = threadIdx.x;
  // one line is missing here
}
]==]

return { kernel = m.add_ten, launch = function(n) return 1, n end } -- 1 block, n threads
]===],
  hints = {
    "An assignment in C looks as in Lua, with a semicolon at its end.",
    "Each thread writes one element of out. Its index is i, and so is that of the element it reads.",
    "out[i] = a[i] + 10;",
  },
  sizes = { 8, 1, 33, 100 },
  make = function(n)
    local a = case.numbers(n)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return a[i + 1] + 10 end) }
  end,
  mistakes = {
    { when = function(f) return f:is(function() return 10 end) end,
      hint = "every element is 10: the line does not read a[i]" },
    { when = function(f) return f:is(function() return f.case.a[1] + 10 end) end,
      hint = "every thread reads the same element: the index that differs between threads is i" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "out is a copy of a: where is the 10?" },
    { when = function(f) return f:is(function(i) return case.UNWRITTEN + f.want[i + 1] end) end,
      hint = "+= adds to what is in out already, and nothing useful is: the sum starts from a[i]" },
    { when = function(f) return f.got and f.size > 1 and f:unwritten() == f.size - 1 end,
      hint = "all threads write to the same element: each has to write to its own, out[i]" },
    { when = function(f) return f.got and f:unwritten() == f.size end,
      hint = "no thread writes to out yet: the line has to assign to out[i]" },
    { when = function(f) return f:overrun() end,
      hint = "one thread's index goes past the end: thread n - 1 may use a[n - 1] and nothing after it" },
  },
  counts = function(figures, c)
    if figures.reads > #c.want then
      return ("%g reads a thread"):format(figures.reads / #c.want), "one read of a suffices for each thread"
    end
  end,
  figures = function(figures, c)
    return { ("each thread reads %g element and writes %g"):format(figures.reads / #c.want, figures.writes / #c.want) }
  end,
  depends = { size = 8, input = "a" },
}
