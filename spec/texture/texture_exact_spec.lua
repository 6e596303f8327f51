-- Fetches compared with what a hardware texture unit returned for them: spec/data/texture has 541 configurations of 256
-- fetches, and all of them are the same to the bit.

local suite = require "support.suite"
local data = require "support.models.texture_data"

-- The worst difference, and how many results are not the same; results are scalars, in order.
local function compare(got, expected)
  local worst, where, count = 0, 1, 0
  for i = 1, #expected do
    local distance = math.abs(got[i] - expected[i])
    if got[i] ~= expected[i] then count = count + 1 end
    if distance > worst or distance ~= distance then worst, where = distance, i end
  end
  return worst, where, count
end

local function report(c, got, expected, worst, where, count)
  return ("%s: %d of %d results differ, the worst by %.9g (the %d. is %.9g, hardware returned %.9g)"):format(c.name,
    count, #expected, worst, where, got[where], expected[where])
end

describe("texture fetches are as an H100's:", function()
  local configurations = data.configurations()

  it("there are 541 configurations", function() assert.are.equal(541, #configurations) end)

  for _, c in ipairs(configurations) do
    it(c.name, function()
      local fetched = data.fetch(c)
      local got, expected = fetched:totable(), data.expected(c):totable()
      assert.are.equal(#expected, #got)
      local worst, where, count = compare(got, expected)
      assert.are.equal(0, count, report(c, got, expected, worst, where, count))
      if c.element == "float" then -- the signs of zeros, too
        assert.are.equal(c.results, fetched:bytes(), c.name .. ": the results' bits differ")
      end
    end)
  end

  it("in SIMD lanes", function()
    if suite.on_gpu then return pending "CPU device only: a GPU has no tiers" end
    local seen = {}
    for _, c in ipairs(configurations) do
      if not seen[c.kind .. c.result] then
        seen[c.kind .. c.result] = true
        local _, kernel = data.fetch(c)
        assert.are.equal("simd", kernel.tier, c.name .. ": " .. kernel.tier_reason)
      end
    end
  end)
end)
