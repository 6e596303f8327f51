local case = require "moonwarp.learn.case"

return {
  title = "A fused softmax",
  idea = [===[
Softmax makes shares of numbers: e to the power of each, divided by the sum of
all these. With array operations that are four kernels, each of which reads
and writes the whole array. Fused into one, the row is read once and written
once, and everything between stays in registers.

    row            1      3      2
    - largest     -2      0     -1          exp(1000) is infinite, exp(0) is 1
    exp          0.135  1.000  0.368
    / sum        0.090  0.665  0.245        they sum to 1

The largest is subtracted first: the result is the same, and no exp overflows.

all(tile, value, largest) is there: it gives every thread the largest, or the
sum, of the values that the 128 threads of the block hand in.

Task: out becomes the softmax of each row of w elements, w at most 128, in a
block for each row. Each element may be read once.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__device__ float all(float *tile, float value, bool largest) {
  int t = threadIdx.x;
  tile[t] = value;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) tile[t] = largest ? fmaxf(tile[t], tile[t + half]) : tile[t] + tile[t + half];
    __syncthreads();
  }
  float result = tile[0];
  __syncthreads();
  return result;
}

__global__ void softmax(float *out, const float *a, int w) {
  __shared__ float tile[128];
  int x = threadIdx.x, i = blockIdx.x * w + x;
  float value = 0;       // what does a thread without an element hand in?
  // the largest, the power, the sum, the share
}
]==]

return { kernel = m.softmax, launch = function(w, h) return h, 128 end }
]===],
  hints = {
    "All 128 threads call all, also those without an element: it has barriers in it. For the largest they hand in " ..
    "-INFINITY, for the sum 0.",
    "float power = x < w ? expf(value - all(tile, value, true)) : 0; is wrong: who calls all? Call it in a line of " ..
    "its own.",
    "value = x < w ? a[i] : -INFINITY; most = all(tile, value, true); power = x < w ? expf(value - most) : 0; "
      .. "sum = all(tile, power, false); if (x < w) out[i] = power / sum;",
  },
  sizes = { { 3, 2 }, { 1, 3 }, { 128, 2 }, { 33, 5 }, { 77, 3 } },
  race = { 33, 3 },
  make = function(size)
    local w, h = size[1], size[2]
    local a = case.list(w * h, function(i)
      local y = math.floor(i / w) % 3
      return (i * 7 + y) % 13 / 2 + ({ 0, 500, -700 })[y + 1]
    end)
    local input, out = case.array(a), case.unwritten(w * h)
    local want = {}
    for y = 0, h - 1 do
      local most, sum = -math.huge, 0
      for x = 1, w do most = math.max(most, a[y * w + x]) end
      for x = 1, w do sum = sum + math.exp(a[y * w + x] - most) end
      for x = 1, w do want[y * w + x] = math.exp(a[y * w + x] - most) / sum end
    end
    return { launch = { w, h }, args = { out, input, w }, out = out, inputs = { { name = "a", array = input } },
      a = a, w = w, want = want,
      place = function(i) return ("out in row %d, column %d"):format(math.floor(i / w), i % w) end }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end,
      hint = "a thread without an element reads or writes: x < w guards both" },
    { when = function(f) return f.got and (f:has "expf(value);" or f:has "expf(value):") end,
      hint = "e to the power of these numbers is infinite, or 0: subtract the row's largest first" },
    { when = function(f) return f.got and f:has "a[i]:0" end,
      hint = "the threads without an element hand in 0, which is more than the largest of a row below zero: " ..
        "-INFINITY" },
    { when = function(f) return f.got and f:has "power/most" end,
      hint = "the share is of the sum of the powers, and not of the largest" },
    { when = function(f) return f.got and f:has "out[i]=power;" end,
      hint = "the powers do not sum to 1: divide by their sum" },
    { when = function(f) return f.got and f:has "power=value-most" end,
      hint = "the power is missing: expf of what is left" },
    { when = function(f) return f.got and (f:has "all(tile,value,false)") end,
      hint = "that is the sum of the elements: the sum of their powers is wanted" },
    { when = function(f) return f.got and (f:has "power=expf(") end,
      hint = "the threads without an element add a power of their own: they have to hand in 0 for the sum" },
    { when = function(f) return f:is(function() return case.UNWRITTEN end) end, hint = "out was not written yet" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "some columns were not written: each thread with an element writes its share" },
  },
  findings = {
    barrier_divergence = "all has barriers in it: the threads without an element have to call it too",
    race = "all has barriers in it: the threads without an element have to call it too",
  },
  counts = function(figures, c)
    if figures.reads > #c.want then
      return ("%.3g reads for each element"):format(figures.reads / #c.want), "read each element once, and keep it " ..
        "in a variable"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads and %g writes for %d elements; four kernels would have %d"):format(figures.reads,
      figures.writes, #c.want, 8 * #c.want) }
  end,
  depends = { size = { 4, 2 }, input = "a" },
}
