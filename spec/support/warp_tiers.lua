-- The ways in which the CPU device can run a kernel whose threads see their warps: see tiers.lua. Of whatever width the
-- vectors are, as many as it takes make a warp.

local targets = require "support.targets"

local tiers = {
  { name = "as the compiler picks" },
  { name = "thread by thread", options = { "--width=1" } },
  { name = "in one part", options = { "--width=32" } },
}
for _, target in ipairs(targets) do tiers[#tiers + 1] = target end
if #targets == 0 then tiers[#tiers + 1] = { name = "in parts of 4 lanes", options = { "--width=4" } } end

return tiers
