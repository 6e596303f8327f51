local case = require "moonwarp.learn.case"

return {
  title = "Zip",
  idea = [===[
A thread may read from as many arrays as it likes. A zip joins two of them,
element by element, as a zipper joins its teeth.

    a        3     1     4     1
              \     \     \     \
               +     +     +     +    thread i adds a[i] and b[i]
              /     /     /     /
    b        2     7     1     8

    out      5     8     5     9

The arguments are pointers: they know where an array starts, and neither its
length nor its type at run time. const says that a kernel only reads.

Task: out[i] becomes a[i] + b[i]. The launch is one block of n threads.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void add(float *out, const float *a, const float *b) {
  int i = threadIdx.x;
  // one line is missing here
}
]==]

return { kernel = m.add, launch = function(n) return 1, n end }
]===],
  hints = {
    "It is the line of lesson 1 with another array in it.",
    "Read a[i] and b[i], add them, write out[i].",
    "out[i] = a[i] + b[i];",
  },
  sizes = { 8, 1, 31, 96 },
  make = function(n)
    local a, b = case.numbers(n, 1), case.numbers(n, 2)
    local x, y, out = case.array(a), case.array(b), case.unwritten(n)
    return { launch = { n }, args = { out, x, y }, out = out, a = a, b = b,
      inputs = { { name = "a", array = x }, { name = "b", array = y } },
      want = case.list(n, function(i) return a[i + 1] + b[i + 1] end) }
  end,
  mistakes = {
    { when = function(f) return f:is(function(i) return 2 * f.case.a[i + 1] end) end,
      hint = "that is a[i] twice: the second one has to come from b" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] * f.case.b[i + 1] end) end,
      hint = "that is the product; the task asks for the sum" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] - f.case.b[i + 1] end) end,
      hint = "that is the difference; the task asks for the sum" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] + f.case.b[1] end) end,
      hint = "every thread reads b[0]: b without an index, or with a fixed one, is always its first element" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "out is a copy of a: b is not added" },
    { when = function(f) return f:is(function() return case.UNWRITTEN end) end,
      hint = "out was not written: the sum has to be assigned to out[i]" },
    { when = function(f) return f:overrun() end,
      hint = "an index goes past the end: all three indices are i" },
  },
  figures = function(figures, c)
    return { ("each thread reads %g elements and writes %g"):format(figures.reads / #c.want, figures.writes / #c.want) }
  end,
  counts = function(figures, c)
    if figures.reads > 2 * #c.want then
      return ("%g reads a thread"):format(figures.reads / #c.want), "two reads suffice for each thread, one of a " ..
        "and one of b"
    end
  end,
  depends = { size = 8, input = "b" },
}
