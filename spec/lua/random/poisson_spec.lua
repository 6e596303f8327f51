-- Poisson's numbers compared with those of cuRAND's host generators: at least 99.999 % of them are equal. The few
-- others have words at the edge of a column of a table, or normal numbers that are rounded the other way.

local mw = require "moonwarp"
local curand = require "support.random.curand"

local COUNT = 40000
-- Tables, sums of probabilities and normal numbers, and the means at which each kind changes from one to the next.
local MEANS = { 0.001, 0.3, 1, 9.9, 10, 31.9, 32, 63, 64, 150.5, 999, 1000, 1999.5, 2000, 4000, 8000, 8001, 50000, 4e5 }

local function request(means)
  local list = {}
  for i, lambda in ipairs(means) do list[i] = ("poisson=%.17g"):format(lambda) end
  return table.concat(list, ",")
end

-- How many numbers differ between our bytes and the library's.
local function differences(ours, theirs)
  assert.equal(#theirs, #ours)
  if ours == theirs then return 0 end
  local count = 0
  for at = 1, #ours, 4 do
    if ours:sub(at, at + 3) ~= theirs:sub(at, at + 3) then count = count + 1 end
  end
  return count
end

local function drawn(kind, seed, ordering, means)
  local g, list = mw.random(seed, kind, { ordering = ordering }), {}
  for i, lambda in ipairs(means) do list[i] = g:poisson(COUNT, { lambda = lambda }):bytes() end
  return table.concat(list)
end

describe("Poisson's numbers of large means", function()
  -- Columns of these kinds keep the second number of a pair.
  for _, kind in ipairs { "xorwow", "mrg32k3a" } do
    it("continue in pieces, after saving and after other numbers: " .. kind, function()
      local options = { lambda = 3000 }
      local whole = mw.random(7, kind, { ordering = "legacy" }):poisson(21106, options):totable()
      local g, at = mw.random(7, kind, { ordering = "legacy" }), 0
      for _, count in ipairs { 1, 2, 5000, 4096, 7, 12000 } do
        g = mw.random(g:save())
        for _, x in ipairs(g:poisson(count, options):totable()) do
          at = at + 1
          assert.equal(whole[at], x)
        end
      end
      g = mw.random(7, kind, { ordering = "legacy" })
      g:poisson(4096, options)
      g:bits(4096)
      assert.same({ whole[4097], whole[4098] }, g:poisson(2, options):totable())
    end)
  end
end)

describe("Poisson's numbers", function()
  if curand.missing then return pending(curand.missing) end

  for _, kind in ipairs {
    "philox", "xorwow", "mrg32k3a", "mtgp32", "mt19937", "sobol32", "scrambled_sobol32", "sobol64", "scrambled_sobol64",
  } do
    it("of " .. kind .. " are cuRAND's", function()
      local quasi, legacy = kind:find "sobol", kind == "mrg32k3a" -- in another order the library starts slowly
      local theirs = curand.draw { kind = kind, seed = not quasi and 1234 or nil, what = request(MEANS), count = COUNT,
        ordering = legacy and "legacy" or nil }
      local ours = drawn(kind, quasi and 0 or 1234, legacy and "legacy" or nil, MEANS)
      local differ = differences(ours, theirs)
      assert(differ <= 1e-5 * #MEANS * COUNT, ("%d of %d numbers differ"):format(differ, #MEANS * COUNT))
    end)
  end
end)
