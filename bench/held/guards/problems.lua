-- Grids of which many blocks have no work (block guards): entries as in bench/held/fields/problems.lua.

local mw = require "moonwarp"

return function(make)
  local uniform = make.uniform
  local problems = {}
  local source = "bench/held/guards/steps.cu"

  local function step(kernel, grid, block, ...) return { kernel, grid, block, { ... } } end

  function problems.eliminate()
    local n, steps = 512, {}
    local a = uniform(n * n, 1, 0, 1)
    for i = 1, 64 do steps[i] = step("eliminate", { n / 16, n / 16 }, { 16, 16 }, a, n, 8 * i - 8) end
    return { source = source, result = a, restore = { a, a:copy() }, steps = steps }
  end

  function problems.substitute()
    local n, sides, steps = 512, 128, {}
    local l = mw.array(uniform(n * n, 1, 0, 0.01):totable(), "double")
    local b = mw.array(uniform(n * sides, 2, 0, 1):totable(), "double")
    for i = 1, 64 do
      steps[i] = step("substitute", { sides / 32, n / 8 }, { 32, 8 }, l, b, n, sides, 8 * i - 8)
    end
    return { source = source, result = b, restore = { b, b:copy() }, steps = steps }
  end

  function problems.band_scale()
    local n = 2048
    local a = uniform(n * n, 1, 0, 1)
    return { source = source, result = a, restore = { a, a:copy() },
      steps = { step("band_scale", { n / 32, n / 8 }, { 32, 8 }, a, n, -20, 20, 1.5) } }
  end

  return problems
end
