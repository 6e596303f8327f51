local case = require "moonwarp.learn.case"

return {
  title = "Find the overrun",
  idea = [===[
This kernel is finished, and wrong. It takes the difference of each element to
its successor, and uses places that are not there: one in an array, and one in
the tile. On a GPU both go unnoticed most of the time, because something is
there: the next array, or the next variable in shared memory.

    out[i] = a[i + 1] - a[i]                 after the last element comes a 0

    tile     0   1  ...  62  63 | ?
                          \  /\  /
    out               ... 62   63            thread 63 needs a 65th place

The judge checks each access, and its message has all that is needed: which
thread, which index, which line, and where the array ends.

Task: mend the kernel. Run it, read the message, mend that one, and run it
again. No more than one thread a block should do extra work.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void differences(float *out, const float *a, int n) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  int i = blockIdx.x * 64 + t;
  if (i <= n) tile[t] = a[i];
  __syncthreads();
  if (i < n) out[i] = tile[t + 1] - tile[t];
}
]==]

return { kernel = m.differences, launch = function(n) return mw.cdiv(n, 64), 64 end }
]===],
  hints = {
    "The first message is about a: which i comes through the guard and is no element's?",
    "The second is about the tile: with 65 places in it, one thread has to fill the last, with the element after " ..
    "the block's.",
    "tile[65];  tile[t] = i < n ? a[i] : 0;  if (t == 0) tile[64] = i + 64 < n ? a[i + 64] : 0;",
  },
  sizes = { 64, 8, 1, 100, 320 },
  race = 100,
  make = function(n)
    local a = case.numbers(n, 18)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return (a[i + 2] or 0) - a[i + 1] end) }
  end,
  mistakes = {
    { when = function(f)
        return f:overrun() and f.error.message:find " a%[" and f:has "a[i+64]" and not f:has "i<=n"
      end,
      hint = "the block's successor is beyond the end in the last block: there it is a 0, and a is not read" },
    { when = function(f) return f:overrun() and f.error.message:find " a%[" end,
      hint = "element n is one past the end of a: which threads come through the guard?" },
    { when = function(f) return f:overrun() and f.error.message:find " tile%[" end,
      hint = "thread 63 uses a 65th place of the tile, which has 64: make it longer, and let one thread fill that " ..
        "place" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "the thread that overran is kept away now, and its result is missing: mend what it reads instead" },
    { when = function(f) return f.got and (f:has "min(" or f:has "tile[63]") end,
      hint = "each block's last thread takes the difference to its own element: the successor is the next block's " ..
        "first" },
    { when = function(f) return f.got and f.first == f.size and not f:has ":0" end,
      hint = "after the last element comes a 0: the place of the tile after it has to be filled with that" },
    { when = function(f) return f.got and not f:has "tile[64]" end,
      hint = "the tile's last place is there now, and nobody fills it: it is for the element after the block's last" },
  },
  findings = {
    uninitialised = "the tile's last place is there now, and nobody fills it: it is for the element after the " ..
      "block's last",
    race = "the tile is read before it is full: the last place has to be filled before the barrier",
  },
  figures = function(figures, c)
    return { ("%g reads for %d elements"):format(figures.reads, #c.want) }
  end,
  depends = { size = 8, input = "a" },
}
