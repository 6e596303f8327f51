-- Kernels whose threadIdx.x counts rows (lane axis): entries as in bench/held/fields/problems.lua.

local mw = require "moonwarp"

return function(make)
  local uniform = make.uniform
  local problems = {}
  local source = "bench/held/axes/columns.cu"

  local function step(kernel, grid, block, ...) return { kernel, grid, block, { ... } } end

  function problems.eliminate_rows()
    local n, steps = 512, {}
    local a = uniform(n * n, 1, 0, 1)
    for i = 1, 16 do
      steps[i] = step("eliminate_rows", { n / 16, n / 16 }, { 16, 16 }, uniform(n * n, 2, 0, 1), a, n, 32 * i - 32)
    end
    return { source = source, result = a, restore = { a, a:copy() }, steps = steps }
  end

  function problems.product_rows()
    local n, m = 256, 200
    local function doubles(count, seed) return mw.array(uniform(count, seed, 0, 1):totable(), "double") end
    local c = mw.zeros(n * n, "double")
    return { source = source, result = c,
      steps = { step("product_rows", { n / 8, n / 32 }, { 8, 32 }, doubles(n * m, 1), doubles(n * m, 2), c, n, m) } }
  end

  function problems.smooth_rows()
    local rows, columns = 700, 900
    local out = mw.zeros(rows * columns)
    return { source = source, result = out, steps = { step("smooth_rows", { mw.cdiv(rows, 16), mw.cdiv(columns, 16) },
      { 16, 16 }, uniform(rows * columns, 1, 0, 1), out, rows, columns) } }
  end

  return problems
end
