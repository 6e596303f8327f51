local case = require "moonwarp.learn.case"

-- Whether the result is the sum of what some other function makes of each pair.
local function is_sum(f, term)
  return f:is(function()
    local sum = 0
    for i, a in ipairs(f.case.a) do sum = sum + term(a, f.case.b[i]) end
    return sum
  end)
end

return {
  title = "Dot product",
  idea = [===[
Until now each thread had a result of its own. A sum has one result for all.
Every thread computes its product at the same time as the others and leaves it
in shared memory; after the barrier one of them adds up.

    a           3   1   4   1
    b           2   7   1   8
    tile        6   7   4   8           thread t:   tile[t] = a[t] * b[t]
    ------------------------------      __syncthreads()
    out[0]      25                      thread 0:   the sum of the tile

One thread that adds 256 numbers while 255 wait is slow. Lesson 13 does
better. First it is to be right.

Task: out[0] becomes the sum of all a[t] * b[t]. The launch is one block of
256 threads, and n is 256 at most.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void dot(float *out, const float *a, const float *b, int n) {
  __shared__ float tile[256];
  int t = threadIdx.x;
  // products, barrier, sum
}
]==]

return { kernel = m.dot, launch = function(n) return 1, 256 end }
]===],
  hints = {
    "Threads from n on have no product: 0 in the tile does no harm to a sum.",
    "After the barrier: if (t == 0), a loop over the tile, and one write to out[0].",
    "tile[t] = t < n ? a[t] * b[t] : 0;  __syncthreads();  then thread 0 adds tile[0] to tile[255] in a loop",
  },
  sizes = { 4, 1, 33, 256, 199 },
  make = function(n)
    local a, b = case.numbers(n, 11), case.numbers(n, 12)
    local x, y, out, sum = case.array(a), case.array(b), case.unwritten(1), 0
    for i = 1, n do sum = sum + a[i] * b[i] end
    return { launch = { n }, args = { out, x, y, n }, out = out, a = a, b = b,
      inputs = { { name = "a", array = x }, { name = "b", array = y } }, want = { sum } }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end,
      hint = "threads from n on read past the ends of a and b: they have 0 to leave, and nothing to read" },
    { when = function(f) return is_sum(f, function(a) return a * a end) end,
      hint = "that is the sum of a[t] * a[t]: one of the two factors comes from b" },
    { when = function(f) return is_sum(f, function(a, b) return a + b end) end,
      hint = "that is the sum of all a[t] + b[t]: products are to be added" },
    { when = function(f) return f:is(function() return f.want[1] - f.case.a[1] * f.case.b[1] end) end,
      hint = "the first product is missing: the loop starts from 0" },
    { when = function(f) return f.got and f:unwritten() == 1 end, hint = "out was not written yet" },
    { when = function(f) return f.got and not f:has "__syncthreads" end,
      hint = "thread 0 adds what the others have not left yet: the barrier is missing" },
    { when = function(f) return f:has "if(t<n)tile[t]=" and not f:has "k<n" end,
      hint = "the places of the tile from n on were never written, and are added: leave 0 there" },
    { when = function(f) return f.got and not (f:has "t==0" or f:has "!t" or f:has "threadIdx.x==0" or f:has "t<1") end,
      hint = "all threads write to out[0], and the last one wins: one thread is to add up, and to write once" },
  },
  findings = {
    race = "two threads use one element and nothing orders them: the tile needs the barrier before it is added up, " ..
      "and out[0] one thread that writes it",
    uninitialised = "the places of the tile from n on were never written, and are added: leave 0 there",
  },
  counts = function(figures, c)
    if figures.reads > 2 * #c.a then
      return ("%g reads for %d products"):format(figures.reads, #c.a), "each product takes two reads, once: add up " ..
        "what is in the tile"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads for %d products; %g requests to shared memory, most of them thread 0's " ..
      "alone"):format(figures.reads,
      #c.a, figures.shared_load_requests + figures.shared_store_requests) }
  end,
  depends = { size = 8, input = "a" },
}
