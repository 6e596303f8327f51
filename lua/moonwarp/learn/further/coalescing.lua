local case = require "moonwarp.learn.case"

return {
  title = "Coalescing",
  idea = [===[
Memory comes in sectors of 32 bytes, 8 floats. What the 32 lanes of a warp ask
for at one time is put together: 32 neighbours are 4 sectors, and all that is
fetched is used. 32 floats that lie apart are 32 sectors, of which one eighth
is used.

    lane     0 1 2 3 4 5 6 7 8 9 ...              lane   0               1
             | | | | | | | | | |                         |               |
    a       [. . . . . . . .][. . . .            a      [. . . . . . . .][. . . .
             8 lanes a sector                            1 lane a sector

The kernel doubles all elements, 8 for each thread. It gives each thread 8
neighbours, as one would in a plain program; in one step of its loop the lanes
are then 8 apart.

Task: give out the elements so that in every step the lanes of a warp have
neighbours. The launch stays as it is.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void twice(float *out, const float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  // the whole grid has gridDim.x * blockDim.x threads
  for (int k = 0; k < 8; k++) {
    int j = i * 8 + k;                    // which element in step k?
    if (j < n) out[j] = 2 * a[j];
  }
}
]==]

return { kernel = m.twice, launch = function(n) return mw.cdiv(n, 8 * 64), 64 end }
]===],
  hints = {
    "In step 0 the threads take the first elements, one each: thread i takes element i.",
    "In the next step they go on after the elements of the step before. How many were there?",
    "int j = k * gridDim.x * blockDim.x + i;",
  },
  sizes = { 512, 9, 1, 1000, 3000 },
  race = 1000,
  make = function(n)
    local a = case.numbers(n, 21)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return 2 * a[i + 1] end) }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end, hint = "the last elements are not there: j needs the guard" },
    { when = function(f) return f.got and f:unwritten() > 0 and f:has "k*blockDim.x+i" end,
      hint = "a step is as long as the grid, and not as one block: in the other blocks' elements you land otherwise" },
    { when = function(f) return f.got and f:unwritten() > 0 and f:has "k*32" end,
      hint = "a step is as long as the grid has threads, and not as a warp has lanes" },
    { when = function(f) return f.got and f:unwritten() > 0 and f:has "i+k;" end,
      hint = "the threads take overlapping elements: in step k they go on after the elements of all steps before" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "some elements have no thread: 8 steps of all threads cover n elements, if each step goes on after " ..
        "the one before" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "out is a copy: where is the factor 2?" },
  },
  findings = { race = "two threads take the same element: in step k they go on after the elements of all steps " ..
    "before" },
  counts = function(figures)
    local moved = figures.global_load_sectors + figures.global_store_sectors
    local least = figures.global_load_ideal_sectors + figures.global_store_ideal_sectors
    if moved > 1.25 * least then
      return ("%g sectors were moved where %g is the least"):format(moved, least),
        "in one step the lanes of a warp are still apart: thread i and thread i + 1 have to take neighbours"
    end
  end,
  figures = function(figures)
    return { ("%g sectors read where %g is the least, %g written where %g is"):format(figures.global_load_sectors,
      figures.global_load_ideal_sectors, figures.global_store_sectors, figures.global_store_ideal_sectors) }
  end,
}
