-- The tiers in which the CPU device can run a kernel, as compile options: the compiler's choice, threads one after the
-- other (on fibers if they wait for each other), and SIMD for narrower processors, which has fewer lanes and other
-- instructions. A kernel must have the same results in all of them.
--   for _, tier in ipairs(tiers) do … mw.compile { source = text, options = tier.options } … end

local targets = require "support.targets"

local tiers = {
  { name = "as the compiler picks" },
  { name = "thread by thread", options = { "--width=1" } },
}
for _, target in ipairs(targets) do tiers[#tiers + 1] = target end
if #targets == 0 then tiers[#tiers + 1] = { name = "4 lanes", options = { "--width=4" } } end

return tiers
