local case = require "moonwarp.learn.case"

local function count(f, text) return select(2, f.code:gsub(text, "")) end

return {
  title = "Asynchronous copy",
  idea = [===[
An asynchronous copy brings an element from global to shared memory while the
thread goes on. With two tiles a block works on one while the other fills: the
time that memory takes is hidden.

    copies      tile 0 | tile 1 | tile 0 | tile 1
    work               | tile 0 | tile 1 | tile 0

    __pipeline_memcpy_async(to, from, 4);     starts a copy of 4 bytes
    __pipeline_commit();                      what was started is one batch
    __pipeline_wait_prior(1);                 waits for all batches but the newest 1

Waiting is for the thread's own copies only. Other threads' copies are there
after the barrier that follows.

The kernel turns round each stretch of 64 elements, and a block has several of
them. The first copy is started.

Task: in each round start the copy of the next stretch into the other tile,
and wait for that of this one. The last round has no next stretch, and waits
for all that was started.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
#include <cuda_pipeline.h>
#define ROUNDS 4
__global__ void reverse(float *out, const float *a) {
  __shared__ float tile[2][64];
  int t = threadIdx.x;
  int first = blockIdx.x * ROUNDS * 64;
  __pipeline_memcpy_async(&tile[0][t], &a[first + t], 4);
  __pipeline_commit();
  for (int r = 0; r < ROUNDS; r++) {
    int start = first + r * 64;
    // start the next copy, commit, wait for this round's, barrier
    out[start + t] = tile[r % 2][63 - t];
    __syncthreads();                           // tile[r % 2] is free again
  }
}
]==]

return { kernel = m.reverse, launch = function(blocks) return blocks, 64 end }
]===],
  hints = {
    "The next stretch begins 64 elements after start, and goes to tile[(r + 1) % 2], if r + 1 < ROUNDS.",
    "Commit in every round, also where nothing was started: then all batches but the newest one are what to wait for.",
    "if (r + 1 < ROUNDS) __pipeline_memcpy_async(&tile[(r + 1) % 2][t], &a[start + 64 + t], 4); __pipeline_commit(); "
      .. "__pipeline_wait_prior(1); __syncthreads();",
  },
  sizes = { 1, 2, 5 },
  race = 2,
  make = function(blocks)
    local n = blocks * 4 * 64
    local a = case.numbers(n, 27)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { blocks }, args = { out, input }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return a[i - i % 64 + 64 - i % 64] end) }
  end,
  mistakes = {
    { when = function(f) return f:overrun() and f.error.message:find " a%[" end,
      hint = "the last round starts a copy of what is beyond the end: only if r + 1 < ROUNDS is there a next one" },
    { when = function(f) return f.got and f:has "&tile[r%2][t]" end,
      hint = "the copy goes to the tile that is in use: the next stretch fills the other one, (r + 1) % 2" },
    { when = function(f) return f.got and f:has "&a[start+t]" end,
      hint = "the same stretch is copied again: the next one begins 64 elements after start" },
    { when = function(f) return f.got and count(f, "__pipeline_memcpy_async") < 2 end,
      hint = "only the first stretch was copied: each round starts the copy of the next one" },
    { when = function(f) return f.got and f:has "tile[0][63-t]" end,
      hint = "the rounds take turns with the tiles: r % 2" },
    { when = function(f)
        return f.got and f:has "__pipeline_wait_prior(1);__syncthreads" and count(f, "__syncthreads") < 2
      end,
      hint = "the next round's copy overwrites a tile that others still use: a barrier has to stand at the end of " ..
        "the round" },
    { when = function(f) return f.got and count(f, "__syncthreads") < 2 end,
      hint = "a wait is for the thread's own copies: the others' are there after a barrier that follows it" },
  },
  program = function(f)
    if count(f, "__pipeline_memcpy_async") < 2 then
      return "elements are not copied asynchronously", "use __pipeline_memcpy_async in the loop: it is what can overlap"
    end
    if not f:has "__pipeline_wait_prior" then
      return "nothing waits for the copies",
        "on a GPU the tile may not be there yet: __pipeline_wait_prior(1) has to stand before it is used"
    end
    if f:has "__pipeline_wait_prior(0);" and not f:has "__pipeline_wait_prior(1)" then
      return "each round waits for the copy that it has just started",
        "nothing overlaps so: wait for all batches but the newest, __pipeline_wait_prior(1)"
    end
    if count(f, "__pipeline_commit") < 2 then
      return "the loop's copies are in no batch", "__pipeline_commit() after each round's copy: waits count batches"
    end
    if not f.code:find "__pipeline_wait_prior%([01]%);}*__syncthreads" then
      return "no barrier follows the wait",
        "a wait is for the thread's own copies: the others' are there after a barrier that follows it"
    end
  end,
  findings = {
    race = "a tile is used while others fill it: a barrier has to follow the wait, and one has to stand at the end " ..
      "of the round",
    uninitialised = "a tile is used before it was filled: the wait and the barrier stand before it",
  },
  figures = function(figures, c)
    return { ("%d elements, %g stores to global memory"):format(#c.a, figures.global_store_requests) }
  end,
}
