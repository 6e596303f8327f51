local case = require "moonwarp.learn.case"
local mw = require "moonwarp"

local REGISTERS, CAPABILITY = 32, "9.0"

local function threads_of(block)
  if type(block) ~= "table" then return block end
  return (block[1] or 1) * (block[2] or 1) * (block[3] or 1)
end

local function occupancy(f)
  return mw.occupancy { threads = threads_of(f.block), registers = REGISTERS, capability = CAPABILITY,
    shared = (f.shared or 0) + f.answer.kernel.shared_bytes }
end

local advice = {
  ["shared memory"] = "shared memory is what limits it: does each thread need its values after it has added them?",
  blocks = "a multiprocessor holds 32 blocks at most, and 64 warps: blocks of one warp leave half of the places empty",
  threads = "the threads of a block have to divide 2048, or the last places stay empty: blocks come whole or not " ..
    "at all",
  registers = "registers are what limits it: blocks of this size leave some unused",
}

return {
  title = "Occupancy",
  idea = [===[
A multiprocessor hides the time that memory takes by having other warps to
run: the more warps it holds, the better. It holds as many blocks as all of
its resources allow, and the scarcest decides. On a GPU of compute capability
9.0 these are

    64 warps            2048 threads: blocks whose sizes do not divide this leave gaps
    32 blocks           of 32 threads each they would fill half of the warps' places
    65536 registers     this kernel takes 32 a thread, which suffices for 2048 threads
    228 KiB of shared memory, of which each block takes its own and 1 KiB more

mw.occupancy calculates it: { threads =, registers =, shared = (bytes of a
block), capability = "9.0" }.

The kernel sums windows of 64 elements. Each thread copies its window to
shared memory first: 256 bytes a thread, with which a multiprocessor holds 25
warps.

Task: full occupancy, all 64 warps. Change the kernel, the block and the
shared memory (the third of what launch returns) as needed.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void windows(float *out, const float *a, int n) {
  extern __shared__ float scratch[];               // 64 floats per thread
  float *mine = scratch + 64 * threadIdx.x;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 64; k++) mine[k] = i + k < n ? a[i + k] : 0;
  float sum = 0;
  for (int k = 0; k < 64; k++) sum += mine[k];
  if (i < n) out[i] = sum;
}
]==]

local function launch(n)
  local threads = 32
  return mw.cdiv(n, threads), threads, 64 * 4 * threads   -- blocks, threads, bytes of shared memory
end

return { kernel = m.windows, launch = launch }
]===],
  hints = {
    "Ask mw.occupancy at the prompt what limits the blocks as they are, and then without shared memory.",
    "A thread may add an element as soon as it has read it. Then there is nothing to keep, and shared memory is 0.",
    "sum += i + k < n ? a[i + k] : 0; in one loop, no scratch; threads = 256; return mw.cdiv(n, threads), threads",
  },
  sizes = { 64, 5, 1, 300, 1000 },
  race = 100,
  counting = 100,
  make = function(n)
    local a = case.numbers(n, 23)
    local input, out = case.array(a), case.unwritten(n)
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i)
        local sum = 0
        for k = 1, 64 do sum = sum + (a[i + k] or 0) end
        return sum
      end) }
  end,
  mistakes = {
    { when = function(f) return f:overrun() and f.error.message:find "scratch" end,
      hint = "scratch has less room than its threads use: the bytes that launch returns and the kernel's count " ..
        "have to agree" },
    { when = function(f) return f:overrun() end, hint = "the windows at the end go past the end of a: keep i + k < n" },
    { when = function(f) return f.error ~= nil end,
      hint = "a block has 1024 threads and 227 KiB of shared memory at most, and no more than the device here allows" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "there are too few threads: the number of blocks follows from that of the threads" },
    { when = function(f) return f.got and f:has "k<32" end,
      hint = "a window has 64 elements: all of them are to be added" },
  },
  program = function(f)
    local found = occupancy(f)
    if found.warps < 64 then
      return ("%d of 64 warps: %d blocks of %d threads, limited by %s"):format(found.warps, found.blocks,
        threads_of(f.block), found.limited_by), advice[found.limited_by] or "look at what mw.occupancy says limits it"
    end
  end,
  figures = function(_, _, f)
    local found = occupancy(f)
    return { ("all 64 warps: %d blocks of %d threads"):format(found.blocks, threads_of(f.block)) }
  end,
  depends = { size = 6, input = "a" },
}
