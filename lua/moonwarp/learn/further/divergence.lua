local case = require "moonwarp.learn.case"
local mw = require "moonwarp"

local BITS = 65536

local function even(x)
  for _ = 1, 12 do x = (5 * x + 1) % BITS end
  return x
end

local function odd(x)
  for _ = 1, 20 do x = (3 * x + 7) % BITS end
  return x
end

return {
  title = "Divergence",
  idea = [===[
The 32 threads of a warp have one instruction at a time between them. When
they disagree at an if, the warp goes both ways, one after the other, and half
of its lanes idle each time.

    lane        0  1  2  3  4  5 ...                 0  1  2  3  4  5 ...
    if          #  .  #  .  #  .           warp 0    #  #  #  #  #  #
    else        .  #  .  #  .  #           warp 1    o  o  o  o  o  o
                two passes, each half idle           one pass each

Whether they disagree depends on which thread gets which element. Here the
elements with an even index take one way and those with an odd index the
other.

Task: give the elements of each stretch of 64 to the 64 threads of the block
so that no warp diverges. Each thread still has one element, and the results
stay the same.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__device__ int even(int x) { for (int k = 0; k < 12; k++) x = (5 * x + 1) & 65535; return x; }
__device__ int odd(int x) { for (int k = 0; k < 20; k++) x = (3 * x + 7) & 65535; return x; }

__global__ void mixed(int *out, const int *a, int n) {
  int t = threadIdx.x;
  int i = blockIdx.x * 64 + t;           // which element is this thread's?
  if (i < n) {
    if (i % 2 == 0) out[i] = even(a[i]);
    else out[i] = odd(a[i]);
  }
}
]==]

return { kernel = m.mixed, launch = function(n) return mw.cdiv(n, 64), 64 end }
]===],
  hints = {
    "A block has two warps: threads 0 to 31, and 32 to 63. Let one of them have all even elements.",
    "Thread t of the first warp takes element 2 * t of the stretch. Which one takes thread t of the second?",
    "int i = blockIdx.x * 64 + (t < 32 ? 2 * t : 2 * (t - 32) + 1);",
  },
  sizes = { 64, 8, 1, 100, 256 },
  race = 100,
  counting = 256,
  make = function(n)
    local a = case.numbers(n, 20)
    local input, out = mw.array(a, "int"), mw.full(n, case.UNWRITTEN, "int")
    return { launch = { n }, args = { out, input, n }, out = out, inputs = { { name = "a", array = input } }, a = a,
      want = case.list(n, function(i) return (i % 2 == 0 and even or odd)(a[i + 1]) end) }
  end,
  mistakes = {
    { when = function(f) return f:overrun() end,
      hint = "the guard is gone, or an index leaves the block's 64 elements" },
    { when = function(f) return f.got and f:is(function(i)
        return (i % 64 < 32 and even or odd)(f.case.a[i + 1])
      end) end,
      hint = "now the condition is another: even elements are still those with an even index; change which thread " ..
        "has which" },
    { when = function(f)
        return f.got and f:unwritten() > 0 and f:has "2*t+1" and not f:has "t-32" and not f:has "t%32"
      end,
      hint = "thread 32 takes the second warp's first element, number 1: it counts from t - 32" },
    { when = function(f) return f.got and f:unwritten() > 0 end,
      hint = "some elements have no thread, others have two: the 64 threads have to take 64 different ones" },
  },
  findings = { race = "two threads have the same element: the 64 threads have to take 64 different ones" },
  counts = function(figures)
    if figures.divergent_branches > 0 then
      return ("%g of %g branches diverged"):format(figures.divergent_branches, figures.branches),
        "some warps still go both ways: all 32 threads of a warp, t / 32, have to take elements of one kind"
    end
    if figures.global_store_requests < 8 then return "too few stores", "each thread has one element" end
  end,
  figures = function(figures)
    return { ("none of %g branches diverged; %g sectors were read where %g is the least: the " ..
      "price"):format(figures.branches,
      figures.global_load_sectors, figures.global_load_ideal_sectors) }
  end,
  depends = { size = 8, input = "a" },
}
