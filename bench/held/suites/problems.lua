-- Kernels in the shapes of benchmark suites: entries as in bench/held/fields/problems.lua.

local mw = require "moonwarp"

return function(make)
  local uniform, bits = make.uniform, make.bits
  local problems = {}
  local tiles, planes = "bench/held/suites/tiles.cu", "bench/held/suites/planes.cu"

  local function step(kernel, grid, block, ...) return { kernel, grid, block, { ... } } end

  function problems.plate_steps()
    local rows, columns, steps = 1000, 1000, 2
    local blocks = mw.cdiv(columns, 16 - 2 * steps)
    local out = mw.zeros(rows * columns)
    return { source = tiles, result = out, steps = { step("plate_steps", { blocks, blocks }, { 16, 16 }, steps,
      uniform(rows * columns, 1, 0, 1), uniform(rows * columns, 2, 300, 340), out, columns, rows, 0.1, 0.1, 0.01, 300,
      0.5) } }
  end

  function problems.ways()
    local rows, columns, steps = 100, 100000, 20
    local cost = bits(rows * columns, 1, 28, "int")
    local lines, list = { bits(columns, 2, 28, "int"), mw.zeros(columns, "int") }, {}
    for i = 0, rows / steps - 1 do
      list[i + 1] = step("ways", mw.cdiv(columns, 256 - 2 * steps), 256, steps, cost, lines[i % 2 + 1],
        lines[2 - i % 2], columns, i * steps)
    end
    local first = lines[1]
    return { source = tiles, result = lines[rows / steps % 2 + 1], restore = { first, first:copy() }, steps = list }
  end

  function problems.speckle_slopes()
    local n = 1024
    local parts = {}
    for i = 1, 5 do parts[i] = mw.zeros(n * n) end
    return { source = tiles, result = parts[5], steps = { step("speckle_slopes", { n / 16, n / 16 }, { 16, 16 },
      uniform(n * n, 1, 1, 2), parts[1], parts[2], parts[3], parts[4], parts[5], n, n, 0.05) } }
  end

  function problems.segment_sums()
    local n = 1000000
    local head = mw.map("x < 16 ? 1 : 0", { x = bits(n, 2, 24, "int") })
    local out = mw.zeros(n)
    return { source = tiles, result = out, steps = { step("segment_sums", mw.cdiv(n, 256), 256, uniform(n, 1, 0, 1),
      head, out, n) } }
  end

  function problems.pool_largest()
    local n, count = 224, 32
    local half = n / 2
    local out = mw.zeros(half * half * count)
    local grid = { mw.cdiv(half, 32), mw.cdiv(half, 8), count }
    return { source = planes, result = out, steps = { step("pool_largest", grid, { 32, 8 },
      uniform(n * n * count, 1, -1, 1), out, n, n, half, half) } }
  end

  function problems.rows_by_vector()
    local n = 2000
    local t = mw.zeros(n)
    return { source = planes, result = t, steps = { step("rows_by_vector", mw.cdiv(n, 256), 256,
      uniform(n * n, 1, 0, 1), uniform(n, 2, 0, 1), t, n, n) } }
  end

  function problems.columns_by_vector()
    local n = 2000
    local t = mw.zeros(n)
    return { source = planes, result = t, steps = { step("columns_by_vector", mw.cdiv(n, 256), 256,
      uniform(n * n, 1, 0, 1), uniform(n, 2, 0, 1), t, n, n) } }
  end

  function problems.symmetric_update()
    local n, m = 500, 400
    local c = uniform(n * n, 3, 0, 1)
    return { source = planes, result = c, restore = { c, c:copy() }, steps = { step("symmetric_update",
      { mw.cdiv(n, 32), mw.cdiv(n, 8) }, { 32, 8 }, uniform(n * m, 1, 0, 1), uniform(n * m, 2, 0, 1), c, 1.5, 1.2,
      n, m) } }
  end

  local function life(kernel)
    local width, height = 1500, 1000
    local cells, out = bits(width * height, 1, 31):to "uchar", mw.zeros(width * height, "uchar")
    local grid = { mw.cdiv(width, 32), mw.cdiv(height, 8) }
    return { source = planes, result = out, steps = { step(kernel, grid, { 32, 8 }, cells, out, width, height) } }
  end

  function problems.life_bytes() return life "life_bytes" end
  function problems.life_edges() return life "life_edges" end

  return problems
end
