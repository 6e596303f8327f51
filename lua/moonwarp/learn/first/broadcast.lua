local case = require "moonwarp.learn.case"

return {
  title = "Broadcast",
  idea = [===[
A row and a column make a table: each element of one meets each element of the
other. Nothing is copied for that. Many threads read the same element, which
costs one access for all of them that ask at once.

                 row   1    2    3
                       |    |    |
    column  10 ---    11   12   13
            20 ---    21   22   23

Task: out at (x, y) becomes column[y] + row[x], in a table of w columns and h
rows. The launch is one block of 16 x 16 threads.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void table(float *out, const float *row, const float *column, int w, int h) {
  int x = threadIdx.x;
  int y = threadIdx.y;
  if (x < w && y < h) {
    // one line is missing here
  }
}
]==]

return { kernel = m.table, launch = function(w, h) return 1, { 16, 16 } end }
]===],
  hints = {
    "out has w * h elements, row has w, column has h. Which of x and y counts to w?",
    "The index of out is that of lesson 4; row has the index x alone.",
    "out[y * w + x] = column[y] + row[x];",
  },
  sizes = { { 3, 2 }, { 2, 5 }, { 1, 9 }, { 16, 16 }, { 13, 7 } },
  make = function(size)
    local w, h = size[1], size[2]
    local row, column = case.numbers(w, 5), case.numbers(h, 6)
    local x, y, out = case.array(row), case.array(column), case.unwritten(w * h)
    return { launch = { w, h }, args = { out, x, y, w, h }, out = out, row = row, column = column, w = w, h = h,
      inputs = { { name = "row", array = x }, { name = "column", array = y } },
      want = case.list(w * h, function(i) return column[math.floor(i / w) + 1] + row[i % w + 1] end),
      place = function(i) return ("out at x = %d, y = %d"):format(i % w, math.floor(i / w)) end }
  end,
  mistakes = {
    { when = function(f) return f:has "row[y]" or f:has "column[x]" end,
      hint = "row goes with x and column with y: x counts the elements of row" },
    { when = function(f) return f:has "x*h+y" or f:has "x*w+y" end,
      hint = "out lies in memory row after row: its index is y * w + x" },
    { when = function(f) return f:has "y*h+x" end, hint = "a row of out has w elements, and not h" },
    { when = function(f)
        local row, column, w = f.case.row, f.case.column, f.case.w
        return f:is(function(i) return row[i % w + 1] * column[math.floor(i / w) + 1] end)
      end,
      hint = "that is the product; the task asks for the sum" },
    { when = function(f) return f:has "row[y*w+x]" or f:has "column[y*w+x]" end,
      hint = "row has w elements and column h: neither has an element for each of out's" },
    { when = function(f) return f:is(function(i) return f.case.row[i % f.case.w + 1] end) end,
      hint = "every row of out is the same: column[y] is missing" },
    { when = function(f) return f:is(function(i) return f.case.column[math.floor(i / f.case.w) + 1] end) end,
      hint = "every column of out is the same: row[x] is missing" },
    { when = function(f) return f:is(function() return case.UNWRITTEN end) end, hint = "out was not written yet" },
  },
  figures = function(figures, c)
    return { ("%g reads for %d elements; lanes that read the same one share the access"):format(figures.reads,
      #c.want) }
  end,
  depends = { size = { 3, 2 }, input = "column" },
}
