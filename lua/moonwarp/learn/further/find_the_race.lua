local case = require "moonwarp.learn.case"

return {
  title = "Find the race",
  idea = [===[
A race: two threads use one place, at least one of them writes, and nothing
says who is first. Such a kernel may give the right result a thousand times.
Then the machine is busier, or newer, and it does not.

    thread 3      tile[3] = …  ───────────────  __syncthreads()  ──  …
    thread 67     ──────────  tile[67] = …  ──  __syncthreads()  ──  …
                  without the barrier: who reads tile[67], and when?

This kernel adds up stretches of 128 elements. It was written for machines
whose warps run in step: it has barriers only where it thinks that they are
needed. There are two races in it. The check names the two lines and two
threads for each, whatever the result.

Task: mend both. The sums are to stay a tree.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void sums(float *out, const float *a, int n) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  int i = blockIdx.x * 128 + t;
  tile[t] = i < n ? a[i] : 0;
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    if (half > 32) __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tile[0];
}
]==]

return { kernel = m.sums, launch = function(n) return mw.cdiv(n, 128), 128 end }
]===],
  hints = {
    "For each read of the tile, ask: who wrote that place, and which barrier is between the two?",
    "The first halving reads what other threads have filled. The last six halvings have no barrier after them.",
    "__syncthreads(); before the loop, and inside of it without the if.",
  },
  sizes = { 128, 8, 1, 200, 700 },
  race = 200,
  make = function(n)
    local a, blocks = case.numbers(n, 19), math.ceil(n / 128)
    local input, out = case.array(a), case.unwritten(blocks)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(blocks, function(block)
        local sum = 0
        for i = 128 * block + 1, math.min(n, 128 * block + 128) do sum = sum + a[i] end
        return sum
      end) }
  end,
  mistakes = {
    { when = function(f) return f:has "threadfence" end,
      hint = "a fence orders the writes of one thread, and waits for nobody: two threads meet at a barrier" },
    { when = function(f) return f:has "__syncwarp" end,
      hint = "__syncwarp() waits for the 32 threads of a warp, and this tree spans four of them: the block's " ..
        "barrier is wanted" },
    { when = function(f) return f.got and not f:has ":0;__syncthreads();for" end,
      hint = "the first halving reads places that other warps may not have filled: a barrier is missing before the " ..
        "loop" },
    { when = function(f) return f.got and f:has "half>1;" end,
      hint = "the last halving is missing: tile[0] and tile[1] are still two sums" },
    { when = function(f) return f.got ~= nil end,
      hint = "a barrier is missing after a halving: the next one reads what it wrote" },
  },
  findings = {
    race = "read the two lines of the finding: one thread writes what the other uses, and a __syncthreads() has to " ..
      "be between them, "
      .. "also within a warp",
    barrier_divergence = "only the threads of the lower half reach this barrier: put it after the if, for all",
  },
  counts = function(figures, c)
    if figures.atomic_requests > 0 or figures.shared_load_requests > 40 * #c.want then
      return "this is no tree any more", "keep the halving: barriers are all that is missing"
    end
  end,
  figures = function(figures, c)
    local requests = figures.shared_load_requests + figures.shared_store_requests
    return { ("%g requests to shared memory for %d sums"):format(requests, #c.want) }
  end,
  depends = { size = 8, input = "a" },
}
