local case = require "moonwarp.learn.case"

return {
  title = "Map in two dimensions",
  idea = [===[
A block may have two dimensions, and then a thread has two numbers,
threadIdx.x and threadIdx.y. Memory has one dimension only: an image of w
columns lies in it row after row, and x is the fast index.

              x  0   1   2
    y  0         a0  a1  a2          a0 a1 a2 | a3 a4 a5
       1         a3  a4  a5          row 0      row 1

To come one row down is to skip w elements. The element at (x, y) therefore
has the index y * w + x.

Task: the image gets brighter to the right: out at (x, y) becomes a at (x, y)
plus x. There are w columns and h rows. The launch is one block of 16 x 16
threads, which is more than the image has.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void brighten(float *out, const float *a, int w, int h) {
  int x = threadIdx.x;
  int y = threadIdx.y;
  // the guard, the index and the element are missing here
}
]==]

return { kernel = m.brighten, launch = function(w, h) return 1, { 16, 16 } end }
]===],
  hints = {
    "Two guards are needed, one for each dimension: && joins conditions in C.",
    "The rows above thread (x, y) have y * w elements together.",
    "if (x < w && y < h) out[y * w + x] = a[y * w + x] + x;",
  },
  sizes = { { 4, 3 }, { 3, 5 }, { 1, 7 }, { 16, 16 }, { 13, 9 } },
  make = function(size)
    local w, h = size[1], size[2]
    local a = case.numbers(w * h, 4)
    local input, out = case.array(a), case.unwritten(w * h)
    return { launch = { w, h }, args = { out, input, w, h }, out = out, inputs = { { name = "a", array = input } },
      a = a, w = w, h = h, want = case.list(w * h, function(i) return a[i + 1] + i % w end),
      place = function(i) return ("out at x = %d, y = %d"):format(i % w, math.floor(i / w)) end }
  end,
  mistakes = {
    { when = function(f) return f:has "y*h+x" end,
      hint = "a row has w elements, and not h: to come one row down is to skip w of them" },
    { when = function(f) return f:has "x*w+y" or f:has "x*h+y" end,
      hint = "x is the fast index: neighbours in x are neighbours in memory, and y is multiplied by the length of " ..
        "a row" },
    { when = function(f) return f:has "x<h" or f:has "y<w" end,
      hint = "x counts columns, of which there are w, and y counts rows, of which there are h" },
    { when = function(f) return f.got and f:unwritten() > 0 and not f:has "y*w" end,
      hint = "only one row was written: the index has to depend on y too" },
    { when = function(f) return not f.error and f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "out is a copy: where is x added?" },
    { when = function(f) return f:is(function() return case.UNWRITTEN end) end, hint = "out was not written yet" },
    { when = function(f) return f:overrun() end,
      hint = "a thread outside the image uses an element: both x and y need a guard" },
  },
  findings = { race = "several threads write one element: a thread with x >= w lands in the next row, so that x " ..
    "needs a guard of its own" },
  figures = function(figures, c)
    return { ("%g reads and %g writes for %d elements"):format(figures.reads, figures.writes, #c.want) }
  end,
  counts = function(figures, c)
    if figures.writes > #c.want then
      return ("%g writes for %d elements"):format(figures.writes, #c.want),
        "a thread with x >= w lands in the next row: x needs a guard of its own"
    end
  end,
  depends = { size = { 3, 2 }, input = "a" },
}
