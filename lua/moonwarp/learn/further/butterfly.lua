local case = require "moonwarp.learn.case"

return {
  title = "Shuffle butterfly",
  idea = [===[
After the sum of lesson 21 only lane 0 has the result. With
__shfl_xor_sync(mask, value, d) each lane changes places with the one whose
number differs in one bit, and both compute the same. After five steps all 32
lanes have the result.

    lane        0   1   2   3           d = 1: 0 with 1, 2 with 3
    value       3   1   4   9
                  \/      \/
    d = 1       3   3   9   9           d = 2: 0 with 2, 1 with 3
                  \___\/___/
    d = 2       9   9   9   9

The partner of lane l is l ^ d. Drawn for all lanes, the lines look like a
butterfly's wings.

Task: out[i] becomes a[i] minus the largest of its warp's 32 elements. The
last warp has fewer, and elements may be below zero: what does a lane without
an element bring along?]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void below(float *out, const float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float most = 0;      // of this lane alone, to begin with
  // a loop over the distances
  if (i < n) out[i] = a[i] - most;
}
]==]

return { kernel = m.below, launch = function(n) return mw.cdiv(n, 64), 64 end }
]===],
  hints = {
    "A lane without an element must not win: -INFINITY is smaller than everything.",
    "In each step: most = fmaxf(most, what the partner has). The distances are 1, 2, 4, 8, 16, in any order.",
    "for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));",
  },
  sizes = { 32, 8, 1, 70, 320 },
  race = 70,
  make = function(n)
    local a = case.numbers(n, 25)
    for i = 1, n do a[i] = a[i] - 300 end
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i)
        local most = -math.huge
        for k = i - i % 32 + 1, math.min(n, i - i % 32 + 32) do most = math.max(most, a[k]) end
        return a[i + 1] - most
      end) }
  end,
  mistakes = {
    { when = function(f) return f:has "shfl_down" or f:has "shfl_up" end,
      hint = "down moves values one way, so that one lane alone has the largest: with xor both partners get it" },
    { when = function(f) return f:has "i>=n)return" end,
      hint = "lanes that have left cannot take part, and the mask names them: those without an element bring " ..
        "-INFINITY" },
    { when = function(f) return f.got and f:has "i<n?a[i]:0" end,
      hint = "a lane without an element brings 0, which is more than these elements: -INFINITY never wins" },
    { when = function(f) return f:is(function(i) return f.case.a[i + 1] end) end,
      hint = "the largest of these elements is below zero, and 0 won: begin with the lane's own element, or " ..
        "-INFINITY" },
    { when = function(f) return f:is(function() return 0 end) end,
      hint = "each element was compared with itself alone: the loop is missing, or its result is not kept" },
    { when = function(f) return f:overrun() end,
      hint = "a lane without an element reads beyond the end: it brings -INFINITY" },
    { when = function(f) return f.got and f:has "intd=8;" end,
      hint = "the two halves of the warp never meet: distance 16 is missing" },
    { when = function(f) return f.got and (f:has "d>1;") end, hint = "neighbours never meet: distance 1 is missing" },
    { when = function(f) return f.got and f:has "most+=" end,
      hint = "that is a sum: the larger of the two is wanted, fmaxf" },
  },
  program = function(f)
    if f:has "__shared__" then
      return "the kernel uses shared memory", "lanes of one warp need no shared memory: __shfl_xor_sync moves the " ..
        "values"
    end
    if f:has "i>=n)return" then
      return "lanes leave before the shuffle",
        "lanes that have left cannot take part, and the mask names them: those without an element bring -INFINITY"
    end
  end,
  findings = {
    warp_mask = "lanes that have left cannot take part, and the mask names them: those without an element bring " ..
      "-INFINITY",
  },
  counts = function(figures, c)
    if figures.reads > 2 * #c.a then
      return ("%g reads for %d elements"):format(figures.reads, #c.a), "elements move between lanes: memory is " ..
        "read once for each"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads for %d elements, no shared memory, no barrier"):format(figures.reads, #c.a) }
  end,
  depends = { size = 6, input = "a" },
}
