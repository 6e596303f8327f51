-- Kernels whose threads walk rows of their own.

local mw = require "moonwarp"

return function(make)
  local uniform, cdiv = make.uniform, mw.cdiv
  local problems, source = {}, "bench/held/rows/rows.cu"

  local function one(result, kernel, grid, block, ...)
    return { result = result, source = source, steps = { { kernel, grid, block, { ... } } } }
  end

  local function doubles(n, seed) return uniform(n, seed, -1, 1):to "double" end

  function problems.sum_of_products()
    local n, y = 1000, mw.zeros(1000)
    return one(y, "sum_of_products", cdiv(n, 128), 128, n, 1.5, 1.25, uniform(n * n, 1, -1, 1),
      uniform(n * n, 2, -1, 1), uniform(n, 3, -1, 1), y)
  end

  function problems.inner_products()
    local n, m, d = 300, 320, 100
    local c = mw.zeros(n * m, "double")
    return one(c, "inner_products", { cdiv(m, 32), cdiv(n, 8) }, { 32, 8 }, n, m, d, doubles(n * d, 1),
      doubles(m * d, 2), c)
  end

  function problems.nearest_center()
    local points, features, centers = 2 ^ 15, 34, 5
    local nearest = mw.zeros(points, "int")
    return one(nearest, "nearest_center", points / 256, 256, points, features, centers,
      uniform(points * features, 1, 0, 1), uniform(centers * features, 2, 0, 1), nearest)
  end

  function problems.byte_distances()
    local count, length = 40000, 128
    local distance = mw.zeros(count, "uint")
    return one(distance, "byte_distances", cdiv(count, 128), 128, count, length,
      make.bits(count * length / 4, 1, 0):as "uchar", make.bits(length / 4, 2, 0):as "uchar", distance)
  end

  function problems.correlations()
    local rows, length = 10000, 200
    local sums = mw.zeros(rows, "int")
    return one(sums, "correlations", cdiv(rows, 128), 128, rows, length,
      make.bits(rows * length / 2, 1, 0):as "short", make.bits(length / 2, 2, 0):as "short", sums)
  end

  function problems.brightest()
    local lines, width = 5000, 640
    local most = mw.zeros(lines, "uint")
    return one(most, "brightest", cdiv(lines, 128), 128, lines, width, make.bits(lines * width / 4, 1, 0):as "uchar",
      most)
  end

  function problems.step_bodies()
    local n = 2 ^ 15
    local bodies = uniform(8 * n, 1, 0.5, 1)
    local before = bodies:copy()
    local p = one(bodies, "step_bodies", n / 256, 256, n, 0.01, 2.5, bodies)
    p.restore = { bodies, before }
    return p
  end

  function problems.running_sums()
    local rows, columns = 2000, 500
    local out = mw.zeros(rows * columns)
    return one(out, "running_sums", cdiv(rows, 128), 128, rows, columns, uniform(rows * columns, 1, -1, 1), out)
  end

  function problems.polynomials()
    local n, degree, pitch = 20000, 30, 32
    local y = mw.zeros(n, "double")
    return one(y, "polynomials", cdiv(n, 256), 256, n, degree, pitch, doubles(n * pitch, 1),
      doubles(n, 2), y)
  end

  -- ---- segments.cu

  local function segmented(result, kernel, ...)
    local p = one(result, kernel, ...)
    p.source = "bench/held/rows/segments.cu"
    return p
  end

  -- Where each of n segments starts, of `least` to least + 31 elements, and where the last ends.
  local function starts_of(n, least)
    local lengths, starts = make.bits(n, 7, 27):totable(), { 0 }
    for i = 1, n do starts[i + 1] = starts[i] + lengths[i] + least end
    return mw.array(starts, "int"), starts[n + 1]
  end

  function problems.causal_values()
    local n, d = 400, 64
    local out = mw.zeros(n * d)
    local p = segmented(out, "causal_values", cdiv(n, 64), 64, n, d, uniform(n * n, 1, 0, 1),
      uniform(n * d, 2, -1, 1), out)
    p.restore = { out, mw.zeros(n * d) }
    return p
  end

  function problems.sparse_rows()
    local rows, columns = 4000, 24
    local y = mw.zeros(rows * columns)
    local starts, count = starts_of(rows, 4)
    local column = make.bits(count, 3, 21):totable()
    for i = 1, count do column[i] = column[i] % rows end
    local p = segmented(y, "sparse_rows", cdiv(rows, 128), 128, rows, columns, starts, mw.array(column, "int"),
      uniform(count, 1, -1, 1), uniform(rows * columns, 2, -1, 1), y)
    p.restore = { y, mw.zeros(rows * columns) }
    return p
  end

  function problems.segment_maxima()
    local segments, greatest = 20000, mw.zeros(20000, "int")
    local starts, count = starts_of(segments, 40)
    return segmented(greatest, "segment_maxima", cdiv(segments, 128), 128, segments, starts,
      make.bits(count, 4, 8):as "int", greatest)
  end

  return problems
end
