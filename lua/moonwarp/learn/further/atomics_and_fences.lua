local case = require "moonwarp.learn.case"
local mw = require "moonwarp"

return {
  title = "Atomics and fences",
  idea = [===[
Blocks cannot wait for each other, but one of them is the last. Each block
leaves its sum in memory and draws a ticket from a counter. An atomic
operation reads and adds in one go, so that no two blocks get the same number.
Who draws the last ticket knows that all others are done, and adds up.

    block 2     partial[2] = 7   fence   ticket 0
    block 0     partial[0] = 4   fence   ticket 1
    block 1     partial[1] = 9   fence   ticket 2 of 3: the last   fence   4 + 9 + 7

__threadfence() keeps the order: what a thread wrote before it can be seen
before what it writes after it. Without the first one the ticket may be seen
before the sum. Without the second one the sums may be read before the ticket
is drawn.

Task: out[0] becomes the sum of all elements. The block's sum is there; the
rest of the if is missing. count is 0 at the start.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void sum(float *out, const float *a, int n, volatile float *partial, unsigned *count) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  int i = blockIdx.x * 64 + t;
  tile[t] = i < n ? a[i] : 0;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = tile[0];
    // fence, ticket, fence, and the last block's sum
  }
}
]==]

return { kernel = m.sum, launch = function(n) return mw.cdiv(n, 64), 64 end }
]===],
  hints = {
    "unsigned ticket = atomicAdd(count, 1); gives the value before: 0 for the first block.",
    "There are gridDim.x blocks, and the last ticket is gridDim.x - 1. One fence stands before the ticket, one " ..
    "after it.",
    "if (ticket == gridDim.x - 1) { float all = 0; for (int b = 0; b < gridDim.x; b++) all += partial[b]; out[0] = " ..
    "all; }",
  },
  sizes = { 64, 8, 1, 200, 2000 },
  race = 200,
  make = function(n)
    local a, blocks, sum = case.numbers(n, 28), math.ceil(n / 64), 0
    for _, value in ipairs(a) do sum = sum + value end
    local input, out = case.array(a), case.unwritten(1)
    local partial, count = mw.zeros(blocks), mw.zeros(1, "uint")
    return { launch = { n }, args = { out, input, n, partial, count }, out = out, a = a,
      inputs = { { name = "a", array = input } }, want = { sum } }
  end,
  mistakes = {
    { when = function(f) return f.got and f:has "gridDim.x)" and f:has "ticket==" and f:unwritten() > 0 end,
      hint = "no block draws that ticket: the first one is 0, and so the last is gridDim.x - 1" },
    { when = function(f) return f.got and f:has "ticket==0" end,
      hint = "ticket 0 is drawn by the first block, when the others are not done: the last one adds up" },
    { when = function(f) return f.got and f:has "blockIdx.x==gridDim.x-1" end,
      hint = "the block with the highest number need not be the last: blocks run in any order, and the ticket tells" },
    { when = function(f) return f.got and f:has "b=1;" end,
      hint = "the first block's sum is left out: b starts from 0" },
    { when = function(f) return f.got and f:has "b<gridDim.x-1" end,
      hint = "the last block's sum is left out: b goes up to gridDim.x - 1" },
    { when = function(f) return f.got and f:has "all=partial" end,
      hint = "all is replaced with each sum: it has to be added, +=" },
    { when = function(f) return f.got and not f:has "atomic" end,
      hint = "two blocks may read the same count and both add 1 to it: only an atomic operation gives each its own " ..
        "ticket" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "out was not written: does any block draw the last ticket, gridDim.x - 1?" },
  },
  program = function(f)
    if not f:has "atomic" then
      return "the ticket is no atomic operation",
        "two blocks may read the same count and both add 1 to it: only an atomic operation gives each its own ticket"
    end
    local before, after = f.code:match "partial%[blockIdx%.x%]=tile%[0%];(.-)atomic[%a]+%(count(.*)$"
    if not before then return end
    if not before:find("fence", 1, true) then
      return "no fence stands before the ticket",
        "the ticket may be seen before the block's sum: __threadfence() has to stand between the two"
    end
    if not after:find("fence", 1, true) then
      return "no fence stands after the ticket",
        "the sums may be read before the ticket is drawn: __threadfence() has to stand between the two"
    end
    if f:has "__threadfence_block" then
      return "a fence orders for the block alone",
        "__threadfence_block() orders for the threads of one block: the sums are for other blocks, __threadfence()"
    end
  end,
  findings = {
    race = "two blocks use one element, and nothing orders them: each has its own place in partial, a fence stands " ..
      "before the ticket "
      .. "and one after it, and the ticket is an atomic operation",
  },
  counts = function(figures, c)
    if figures.atomic_requests > math.ceil(#c.a / 64) then
      return ("%g atomic operations"):format(figures.atomic_requests), "one ticket a block suffices: the sum " ..
        "itself needs no atomics"
    end
  end,
  figures = function(figures, c)
    return { ("%g atomic operations for %d elements"):format(figures.atomic_requests, #c.a) }
  end,
  depends = { size = 8, input = "a" },
}
