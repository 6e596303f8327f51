-- The tiers (tiers.lua) of kernels that observe warps. Vectors of any width are combined to a warp. `tier.blocks` are
-- the block sizes to test, `tier.specialise` is the limit to set.
--   for _, tier in ipairs(tiers) do
--     describe("…", function()
--       local compile = tiers.compiler(tier, setup, teardown)   -- compile(source) is a module of this tier

local mw = require "moonwarp"
local targets = require "support.targets"

local tiers = {
  { name = "as the compiler picks" },
  { name = "thread by thread", options = { "--width=1" } },
  { name = "in one part", options = { "--width=32" } },
}
for _, target in ipairs(targets) do tiers[#tiers + 1] = target end
-- Once enough threads were launched with blocks of one size, the kernel is compiled again for those.
tiers[#tiers + 1] = { name = "for blocks of one size", specialise = 0,
  blocks = { { size = { 64 } }, { size = { 40 } }, { size = { 16, 4 } }, { size = { 8, 8 } } } }
if #targets == 0 then tiers[#tiers + 1] = { name = "in parts of 4 lanes", options = { "--width=4" } } end

local blocks = require "support.blocks"
local text = getmetatable(blocks[1])
for _, tier in ipairs(tiers) do
  for _, block in ipairs(tier.blocks or {}) do
    block.threads = block.size[1] * (block.size[2] or 1)
    setmetatable(block, text)
  end
  tier.blocks = tier.blocks or blocks
end

---A function that compiles for a tier; `setup` and `teardown` of the specs around it set and restore its limit.
function tiers.compiler(tier, setup, teardown)
  local before
  setup(function() before = tier.specialise and mw.limit("specialise", tier.specialise) end)
  teardown(function() if before then mw.limit("specialise", before) end end)
  return function(source) return mw.compile { source = source, options = tier.options } end
end

return tiers
