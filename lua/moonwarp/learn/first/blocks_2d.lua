local case = require "moonwarp.learn.case"

return {
  title = "Blocks in two dimensions",
  idea = [===[
Blocks have places in two dimensions as threads have. Each dimension counts
for itself, with its own blockIdx, blockDim and threadIdx.

                  blockIdx.x = 0    blockIdx.x = 1
                 . . . . . . . .   . . . . . . . .
 blockIdx.y = 0  . . . . . . . .   . . . . . . . .      a block is 8 threads wide and 4 high
                 . . . . . . . .   . . o . . . . .      o: threadIdx is (2, 2), and the thread's place
                 . . . . . . . .   . . . . . . . .         is x = 1 * 8 + 2 = 10, y = 0 * 4 + 2 = 2
 blockIdx.y = 1  . . . . . . . .   . . . . . . . .

Task: out becomes 2 * a, for an image of w columns and h rows, in blocks of 8
x 4 threads. The places and the grid are missing.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void twice(float *out, const float *a, int w, int h) {
  int x = threadIdx.x;
  int y = threadIdx.y;
  if (x < w && y < h) out[y * w + x] = 2 * a[y * w + x];
}
]==]

local function launch(w, h)
  local grid = { 1, 1 }   -- blocks in x, blocks in y
  return grid, { 8, 4 }
end

return { kernel = m.twice, launch = launch }
]===],
  hints = {
    "Do for y what lesson 6 did for x.",
    "blockDim.x is 8 and blockDim.y is 4. Each dimension of the grid is rounded up by itself.",
    "int x = blockIdx.x * blockDim.x + threadIdx.x;  y likewise;  local grid = { mw.cdiv(w, 8), mw.cdiv(h, 4) }",
  },
  sizes = { { 8, 4 }, { 10, 6 }, { 1, 9 }, { 33, 3 }, { 40, 21 } },
  make = function(size)
    local w, h = size[1], size[2]
    local a = case.numbers(w * h, 8)
    local input, out = case.array(a), case.unwritten(w * h)
    return { launch = { w, h }, args = { out, input, w, h }, out = out, inputs = { { name = "a", array = input } },
      a = a, w = w, h = h, want = case.list(w * h, function(i) return 2 * a[i + 1] end),
      place = function(i) return ("out at x = %d, y = %d"):format(i % w, math.floor(i / w)) end }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end,
      hint = "the blocks at the right and lower edge have threads outside: both guards are needed" },
    { when = function(f) return f:has "y=blockIdx.y*blockDim.x" or f:has "x=blockIdx.x*blockDim.y" end,
      hint = "the dimensions are mixed up: x is made of .x throughout, and y of .y" },
    { when = function(f) return f:has "y=blockIdx.x*" or f:has "x=blockIdx.y*" end,
      hint = "the dimensions are mixed up: x is made of .x throughout, and y of .y" },
    { when = function(f) return f.got and not f:has "blockIdx.y" end,
      hint = "every row of blocks works on the same rows: y has to depend on blockIdx.y" },
    { when = function(f) return f.got and not f:has "blockIdx.x" end,
      hint = "every column of blocks works on the same columns: x has to depend on blockIdx.x" },
    { when = function(f)
        local x, y = (type(f.grid) == "table" and f.grid or { f.grid })[1], type(f.grid) == "table" and f.grid[2]
        local w, h = f.case.w, f.case.h
        return x == math.ceil(h / 8) and y == math.ceil(w / 4) or x == math.ceil(w / 4) and y == math.ceil(h / 8)
      end,
      hint = "the grid's first number counts blocks in x: they are 8 wide, and cover w columns" },
    { when = function(f) return type(f.grid) == "number" or (f.grid and f.grid[2] or 1) < f.case.h / 4 end,
      hint = "the lower rows are missing: the grid needs enough blocks in y, { in x, in y }, rounded up" },
    { when = function(f) return type(f.grid) == "table" and f.grid[1] < f.case.w / 8 end,
      hint = "the columns at the right are missing: round up in x too" },
  },
  figures = function(figures, c)
    return { ("%g reads for %d elements in %g requests"):format(figures.reads, #c.want, figures.global_load_requests) }
  end,
  depends = { size = { 3, 2 }, input = "a" },
}
