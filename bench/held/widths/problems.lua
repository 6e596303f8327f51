-- Kernels whose best gang is not the widest: see the sources. (bench/held/fields/problems.lua has the form of an
-- entry.)

local mw = require "moonwarp"

return function(make)
  local uniform, bits, cdiv = make.uniform, make.bits, mw.cdiv
  local problems = {}

  local function add(file, name, build)
    problems[name] = function()
      local made = build()
      made.source = "bench/held/widths/" .. file .. ".cu"
      return made
    end
  end

  local function once(kernel, grid, block, result, ...)
    return { result = result, steps = { { kernel, grid, block, { ... } } } }
  end

  local function doubles(n, seed) return mw.array(uniform(n, seed, -1, 1):totable(), "double") end

  add("branchy", "line_checksum", function()
    local lines = 2 ^ 15
    local lengths, starts = bits(lines, 1, 26):totable(), { 0 }
    for i = 1, lines do starts[i + 1] = starts[i] + lengths[i] end
    local sums = mw.zeros(lines, "uint")
    return once("line_checksum", lines / 128, 128, sums, lines, mw.array(starts, "int"),
      bits(cdiv(starts[lines + 1], 4), 2, 0):as("uchar"), bits(256, 3, 0), sums)
  end)

  add("branchy", "feistel", function()
    local blocks = 2 ^ 16
    local cipher = mw.zeros(2 * blocks, "uint")
    return once("feistel", blocks / 256, 256, cipher, blocks, bits(18, 1, 0), bits(1024, 2, 0), bits(2 * blocks, 3, 0),
      cipher)
  end)

  add("branchy", "common_subsequence", function()
    local pairs_of_strings = 2 ^ 14
    local length = mw.zeros(pairs_of_strings, "int")
    return once("common_subsequence", pairs_of_strings / 128, 128, length, pairs_of_strings,
      make.letters(32 * pairs_of_strings, 1), make.letters(32 * pairs_of_strings, 2), length)
  end)

  add("branchy", "hadamard_tile", function()
    local columns, rows = 2048, 1024
    local out = mw.zeros(columns * rows, "short")
    return once("hadamard_tile", { columns / 128, rows / 64 }, { 16, 8 }, out:as("uint"), columns, rows,
      bits(columns * rows / 2, 1, 0):as("short"), out)
  end)

  add("branchy", "table_walk", function()
    local queries, entries = 2 ^ 16, 2 ^ 14
    local sorted = uniform(entries, 1, 0, 1):totable()
    table.sort(sorted)
    local steps = mw.zeros(queries, "int")
    return once("table_walk", queries / 256, 256, steps, queries, entries, mw.array(sorted),
      uniform(queries, 2, 0, 1), steps)
  end)

  add("branchy", "row_similarity", function()
    local rows, length = 512, 256
    local result = mw.zeros(rows * rows)
    return once("row_similarity", { rows / 16, rows / 16 }, { 16, 16 }, result, rows, length,
      uniform(rows * length, 1, -1, 1), uniform(rows, 2, 0, 1), result)
  end)

  add("blocked", "product_8x8", function()
    local n = 512
    local c = mw.zeros(n * n)
    local a, b = uniform(n * n, 1, -1, 1), uniform(n * n, 2, -1, 1)
    return once("product_8x8", { n / 64, n / 64 }, { 8, 8 }, c, n, a, b, c)
  end)

  add("blocked", "product_4x4", function()
    local n = 512
    local c = mw.zeros(n * n)
    return once("product_4x4", { n / 128, n / 32 }, { 32, 8 }, c, n, doubles(n * n, 1),
      doubles(n * n, 2), c)
  end)

  add("blocked", "channel_moments", function()
    local points, times = 2 ^ 12, 64
    local mean, square = mw.zeros(24 * points), mw.zeros(24 * points)
    return once("channel_moments", points / 128, 128, square, points, times, uniform(24 * points * times, 1, -1, 1),
      mean, square)
  end)

  add("blocked", "relax_27", function()
    local points = 2 ^ 14
    local f = mw.zeros(27 * points)
    local made = once("relax_27", points / 128, 128, f, points, 64, 0.5, f)
    made.restore = { f, uniform(27 * points, 1, 0, 1) }
    return made
  end)

  add("blocked", "many_polynomials", function()
    local points, steps = 2 ^ 14, 256
    local y = mw.zeros(points)
    return once("many_polynomials", points / 128, 128, y, points, steps, uniform(48 * points, 1, -1, 1),
      uniform(steps, 2, -1, 1), y)
  end)

  add("small", "column_cipher", function()
    local blocks = 2 ^ 15
    local cipher = mw.zeros(4 * blocks, "uint")
    local keys, boxes, plain = bits(44, 1, 0), bits(1024, 2, 0), bits(4 * blocks, 3, 0)
    return once("column_cipher", blocks, 4, cipher, 10, keys, boxes, plain, cipher)
  end)

  add("small", "align_tile", function()
    local tiles = 2 ^ 12
    local result = mw.zeros(256 * tiles, "int")
    return once("align_tile", tiles, 16, result, 3, bits(256 * tiles, 1, 29, "int"), result)
  end)

  add("small", "factor_tile", function()
    local tiles = 2 ^ 12
    local out = mw.zeros(256 * tiles)
    return once("factor_tile", tiles, 16, out, uniform(256 * tiles, 1, 1, 2), out)
  end)

  add("small", "transform_points", function()
    local points = 2 ^ 18
    local out = mw.zeros(4 * points)
    local matrix, coordinates = uniform(16, 1, -1, 1), uniform(4 * points, 2, -1, 1)
    return once("transform_points", points / 4, { 4, 4 }, out, matrix, coordinates, out)
  end)

  add("small", "scan_eight", function()
    local blocks = 2 ^ 15
    local out = mw.zeros(8 * blocks, "int")
    return once("scan_eight", blocks, 8, out, bits(8 * blocks, 1, 8, "int"), out)
  end)

  return problems
end
