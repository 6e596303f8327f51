-- Accumulators in memory (scalar promotion): entries as in bench/held/fields/problems.lua.

local mw = require "moonwarp"

return function(make)
  local uniform, bits, cdiv = make.uniform, make.bits, mw.cdiv
  local problems = {}
  local source = "bench/held/promotion/accumulate.cu"

  local function step(kernel, grid, block, ...) return { kernel, grid, block, { ... } } end
  local function doubles(count, seed) return mw.array(uniform(count, seed, 0, 1):totable(), "double") end

  function problems.rank_two_update()
    local n, m = 384, 256
    local c = uniform(n * n, 3, 0, 1)
    local restore = { c, c:copy() }
    return { source = source, result = c, restore = restore, steps = { step("rank_two_update", { n / 32, n / 8 },
      { 32, 8 }, n, m, 1.5, 1.2, uniform(n * m, 1, 0, 1), uniform(n * m, 2, 0, 1), c) } }
  end

  function problems.column_statistics()
    local rows, columns = 1024, 1536
    local sum = mw.zeros(columns, "double")
    return { source = source, result = sum, steps = { step("column_statistics", cdiv(columns, 256), 256, rows, columns,
      doubles(rows * columns, 1), sum, mw.zeros(columns, "double"), mw.zeros(columns, "double")) } }
  end

  function problems.point_charges()
    local n = 2000
    local field = mw.zeros(4 * n, "double")
    return { source = source, result = field, restore = { field, mw.zeros(4 * n, "double") },
      steps = { step("point_charges", cdiv(n, 128), 128, n, doubles(4 * n, 1), field) } }
  end

  function problems.filter_in_place_sum()
    local width, height, radius = 640, 480, 4
    local size = 2 * radius + 1
    local out = mw.zeros(width * height)
    return { source = source, result = out, restore = { out, mw.zeros(width * height) },
      steps = { step("filter_in_place_sum", { width / 32, height / 8 }, { 32, 8 }, width, height, radius,
        uniform((width + 2 * radius) * (height + 2 * radius), 1, 0, 1), uniform(size * size, 2, 0, 1), out) } }
  end

  function problems.transposed_product()
    local rows, columns = 1000, 2100
    local y = mw.zeros(columns)
    return { source = source, result = y, restore = { y, mw.zeros(columns) },
      steps = { step("transposed_product", cdiv(columns, 128), 128, rows, columns, uniform(rows * columns, 1, 0, 1),
        uniform(rows, 2, 0, 1), y, mw.zeros(columns, "uint"), bits(rows * columns, 3, 20)) } }
  end

  return problems
end
