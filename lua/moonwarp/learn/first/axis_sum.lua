local case = require "moonwarp.learn.case"

return {
  title = "Sum along an axis",
  idea = [===[
One sum for each row: a block for a row, and its 128 threads share the work.
Each of them adds the elements t, t + 128, t + 256, … of the row. Then the 128
sums are halved until one is left: the upper half is added to the lower one.

    tile      5  1  4  2  |  3  6  1  2          half = 4
              8  7  5  4                         half = 2
             13 11                               half = 1
             24

That takes 7 steps for 128 threads where one thread would need 127. After each
step there is a barrier.

Task: both loops are missing. out[row] becomes the sum of row number row,
which has w elements. The launch has a block for each row.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void sums(float *out, const float *a, int w) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  int row = blockIdx.x;
  float sum = 0;
  // a loop over the elements t, t + 128, … of the row
  tile[t] = sum;
  __syncthreads();
  // a loop that halves
  if (t == 0) out[row] = tile[0];
}
]==]

return { kernel = m.sums, launch = function(w, h) return h, 128 end }
]===],
  hints = {
    "The row's elements are a[row * w + x] for x from 0 to w - 1.",
    "for (int x = t; x < w; x += 128) … is the first loop; the second one begins with half = 64 and ends after " ..
    "half = 1.",
    "for (int half = 64; half > 0; half /= 2) { if (t < half) tile[t] += tile[t + half]; __syncthreads(); }",
  },
  sizes = { { 8, 3 }, { 1, 2 }, { 128, 2 }, { 300, 3 }, { 131, 5 } },
  race = { 131, 3 },
  make = function(size)
    local w, h = size[1], size[2]
    local a = case.numbers(w * h, 15)
    local input, out = case.array(a), case.unwritten(h)
    return { launch = { w, h }, args = { out, input, w }, out = out, inputs = { { name = "a", array = input } },
      a = a, w = w, h = h, want = case.list(h, function(y)
        local sum = 0
        for x = 0, w - 1 do sum = sum + a[y * w + x + 1] end
        return sum
      end) }
  end,
  mistakes = {
    { when = function(f) return f:has "a[x*w+row]" or f:has "a[x*h+row]" or f:has "a[x*gridDim.x+row]" end,
      hint = "that goes down a column: the elements of a row are neighbours, a[row * w + x]" },
    { when = function(f) return f:has "a[row*128+x]" or f:has "a[row*blockDim.x+x]" end,
      hint = "a row has w elements, and not as many as a block has threads: it begins at row * w" },
    { when = function(f) return f:overrun() end, hint = "x goes past the end of the row: the loop ends before w" },
    { when = function(f) return f.got and (f:has "x++" or f:has "x+=1)" or f:has "++x") end,
      hint = "elements are added several times: each thread takes every 128th element, beginning with its own" },
    { when = function(f) return f.got and f:has "half>1" end,
      hint = "the last halving is missing: tile[0] and tile[1] are still two sums, so that half = 1 is a step too" },
    { when = function(f) return f.got and f:is(function(y) return f.case.a[y * f.case.w + 1] end) and f.case.w > 1 and
        not f:has "half/=2" end,
      hint = "out has thread 0's sum alone: the halving is missing" },
    { when = function(f) return f.got and (f:has "sum=a[") and not f:has "sum+=a[" end,
      hint = "sum is replaced with each element: it has to be added, +=" },
    { when = function(f) return f.got and f:is(function() return 0 end) end,
      hint = "the sums are 0: nothing is added yet" },
    { when = function(f) return f.got and f:findings().race ~= nil end,
      hint = "a step reads what the step before has not written yet: a barrier after each halving" },
    { when = function(f) return f.got and f.case.w > 128 and not f:has "x+=128" and not f:has "x+=blockDim.x" end,
      hint = "elements from 128 on are left out: a thread goes on in steps of 128" },
  },
  findings = {
    race = "a step reads what the step before has not written yet: a barrier after each halving",
    barrier_divergence = "only some threads reach the barrier: put it in the loop, but outside the if",
  },
  counts = function(figures, c)
    if figures.reads > c.w * c.h then
      return ("%g reads for %d elements"):format(figures.reads, c.w * c.h), "each element is read once, by one thread"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads for %d elements, %g sectors of 32 bytes where %g is the least"):format(figures.reads, c.w * c.h,
      figures.global_load_sectors, figures.global_load_ideal_sectors) }
  end,
  depends = { size = { 4, 3 }, input = "a" },
}
