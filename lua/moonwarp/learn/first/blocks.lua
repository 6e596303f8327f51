local case = require "moonwarp.learn.case"

return {
  title = "Blocks",
  idea = [===[
A block has 1024 threads at most. For more elements there are more blocks, and
they form the grid. threadIdx.x starts from 0 in each of them, so that it no
longer tells the threads apart: a thread's place among all is what comes
before its block and its number in it.

    blockIdx.x            0                   1                   2
    threadIdx.x      0  1  2  3          0  1  2  3          0  1  2  3
    i                0  1  2  3          4  5  6  7          8  9 10 11       blockDim.x is 4

Blocks run in any order, several at a time, and know nothing of each other.

Task: out[i] becomes a[i] + 10, in blocks of 32 threads. The index is missing,
and so is the number of blocks.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void add_ten(float *out, const float *a, int n) {
  int i = threadIdx.x;    // this is the thread's place in its block: what is its place among all?
  if (i < n) out[i] = a[i] + 10;
}
]==]

local function launch(n)
  local blocks = 1        -- how many blocks of 32 threads have n threads together, or a few more?
  return blocks, 32
end

return { kernel = m.add_ten, launch = launch }
]===],
  hints = {
    "All blocks have the same number of threads, blockDim.x, and blockIdx.x of them come before this one.",
    "n / 32 has to be rounded up: with 33 elements there are two blocks. mw.cdiv divides so.",
    "int i = blockIdx.x * blockDim.x + threadIdx.x;   and   local blocks = mw.cdiv(n, 32)",
  },
  sizes = { 32, 100, 1, 64, 1000 },
  make = function(n)
    local a = case.numbers(n, 7)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return a[i + 1] + 10 end) }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end,
      hint = "the last block has threads without an element: the guard compares i with n" },
    { when = function(f) return f:has "blockIdx.x+threadIdx.x" or f:has "threadIdx.x+blockIdx.x;" end,
      hint = "blocks overlap: before block 1 there are blockDim.x threads, and not one" },
    { when = function(f) return f:has "*gridDim.x" or f:has "gridDim.x*" end,
      hint = "gridDim.x is the number of blocks; a block's length is blockDim.x" },
    { when = function(f) return f.got and not f:has "blockIdx.x" end,
      hint = "every block works on the same elements: the index has to depend on blockIdx.x" },
    { when = function(f) return f.error and type(f.error.message) == "string" and f.error.message:find "grid" end,
      hint = "the number of blocks is a whole number from 1 on: round n / 32 up" },
    { when = function(f) return f.got and f.size - f:unwritten() == f.size - f.size % 32 and f.size % 32 > 0 end,
      hint = "the elements of the last, partial block are missing: round up, not down" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "there are too few threads for n elements: how many blocks are launched?" },
  },
  counts = function(_, c, facts)
    local blocks = type(facts.grid) == "table" and facts.grid[1] or facts.grid
    if facts.size == #c.want and type(blocks) == "number" and blocks > math.ceil(facts.size / 32) then
      return ("%d blocks for %d elements"):format(blocks, facts.size), "the last blocks have no work: round up, " ..
        "and add no more"
    end
  end,
  figures = function(figures, c)
    return { ("%g reads for %d elements, in %g requests of a warp"):format(figures.reads, #c.want,
      figures.global_load_requests) }
  end,
  depends = { size = 8, input = "a" },
}
