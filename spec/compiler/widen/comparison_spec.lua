-- Random kernels that compare indices with limits: the uniform and the general path have the results of the loop tier.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local generator = require "support.kernels.comparisons"

local blocks = { { 64 }, { 256 }, { 16, 16 }, { 32, 4 }, { 128, 2 } }

-- Nil, or the first difference of results.
local function difference(seed, kernels)
  local g, texts = generator(seed), {}
  for k = 1, kernels do texts[k] = g.kernel("k" .. k) end
  local source = table.concat(texts)
  local plain = mw.compile { source = source, options = { "--width=1" } }
  local widths = { "4x4", "4x8", "8x2", "16x4" }
  local chosen = g.random(4) > 1 and "--width=" .. widths[g.random(4)] or nil
  local wide = mw.compile { source = source, options = { chosen } }
  local data = {}
  for n = 1, 4096 do data[n] = (n * 2654435761) >> 7 & 0xffff end
  local input = mw.array(data, "int")
  for k = 1, kernels do
    local block = blocks[g.random(#blocks)]
    local grid = { g.random(3), block[2] and g.random(2) or 1 }
    local width, height = grid[1] * block[1], grid[2] * (block[2] or 1)
    local all = width * height
    for turn = 1, 3 do
      local n = ({ all, all - 3, all * g.random(3) + g.random(20) })[turn]
      local m, row = g.random(all), turn == 1 and width or width - g.random(9)
      local results = {}
      for side, module in ipairs { plain, wide } do
        local out, far, counts = mw.zeros(all, "int"), mw.zeros(4096, "int"), mw.zeros(16, "int")
        module["k" .. k](grid, block)(n, m, row, input, out, far, counts)
        results[side] = out:totable()
        for bin, value in ipairs(counts:totable()) do results[side][all + bin] = value end
        for at, value in ipairs(far:totable()) do results[side][all + 16 + at] = value end
      end
      for at, want in ipairs(results[1]) do
        if results[2][at] ~= want then
          return ("seed %d: n = %d, m = %d, width = %d, grid %d x %d: element %d is %d, should be %d in\n%s"):format(
            seed, n, m, row, grid[1], grid[2], at, results[2][at], want, texts[k])
        end
      end
    end
  end
end

describe("kernels that compare indices with limits", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  local first, last = 1, 2
  if os.getenv "TOGETHER_SEEDS" then first, last = os.getenv("TOGETHER_SEEDS"):match "(%d+)%-(%d+)" end
  for seed = math.tointeger(first), math.tointeger(last) do
    it(("have the same results on both paths, seed %d"):format(seed), function() assert.is_nil(difference(seed, 4)) end)
  end
end)
