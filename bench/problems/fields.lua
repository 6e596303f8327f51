-- The kernels of the second table, from different fields, for moonwarp; fields.c has the same for the peers. `bytes`
-- and `operations` are as in classics.lua, for kernels whose time depends on them.

local mw = require "moonwarp"

return function(make)
  local uniform, bits, times = make.uniform, make.bits, make.times
  local problems = {}

  function problems.stencil()
    local side, cells = 256, 256 ^ 3
    return { grid = { 8, 64, 128 }, block = { 32, 4, 2 }, result = 4, bytes = 8 * cells, operations = 8 * cells,
      arguments = { side, 0.1, uniform(cells, 1, 0, 1), mw.zeros(cells) } }
  end

  function problems.cholesky()
    local matrices = 16384 * times
    local cells = matrices * 256
    return { grid = matrices, block = { 16, 16 }, arguments = { uniform(cells, 1, 0, 1), mw.zeros(cells) }, result = 2,
      bytes = 8 * cells, operations = matrices * 16 ^ 3 / 3 }
  end

  function problems.bfs()
    local nodes = 2 ^ 20
    local starts, edges = make.row_starts(nodes)
    return { grid = nodes / 256, block = 256, result = 6, bytes = 16 * nodes + 2 * edges,
      arguments = { nodes, starts, bits(edges, 8, 12, "int"), bits(nodes, 11, 31, "int"), bits(nodes, 12, 31, "int"),
        mw.zeros(nodes, "int") } }
  end

  function problems.kmeans()
    local points = 2 ^ 20 * times
    return { grid = points / 256, block = 256, result = 4, bytes = 36 * points, operations = 3 * 8 * 32 * points,
      arguments = { points, uniform(points * 8, 1, 0, 1), uniform(256, 2, 0, 1), mw.zeros(points, "int") } }
  end

  function problems.fft()
    local numbers = 2 ^ 22
    local twiddle = {}
    for i = 0, 255 do
      local angle = -2 * math.pi * i / 512
      twiddle[2 * i + 1], twiddle[2 * i + 2] = math.cos(angle), math.sin(angle)
    end
    local input = uniform(numbers * 2, 1, -1, 1):as("float2")
    return { grid = numbers / 512, block = 256, result = 3, bytes = 16 * numbers, operations = 5 * 9 * numbers,
      arguments = { input, mw.array(twiddle):as("float2"), mw.zeros(numbers, "float2") } }
  end

  function problems.sha256()
    local messages = 2 ^ 18 * times
    return { grid = messages / 256, block = 256, result = 3,
      arguments = { messages, bits(messages * 16, 1, 0), mw.zeros(messages * 8, "uint") } }
  end

  function problems.search()
    local length = 2 ^ 24
    return { grid = length / 256, block = 256, result = 5, bytes = length,
      arguments = { length, make.letters(length, 1), 8, make.letters(8, 1), mw.zeros(2, "uint") } }
  end

  function problems.radix()
    local keys = 2 ^ 20 * times
    return { grid = keys / 256, block = 256, arguments = { 4, bits(keys, 1, 0), mw.zeros(keys, "uint") }, result = 3 }
  end

  function problems.spheres()
    local side, count = 1024 * times ^ 0.5, 32
    local list = uniform(count * 4, 1, 0, 1):totable()
    for i = 1, count * 4, 4 do
      list[i], list[i + 1] = list[i] * 6 - 3, list[i + 1] * 2 + 0.2
      list[i + 2], list[i + 3] = list[i + 2] * 6 - 1, list[i + 3] * 0.5 + 0.1
    end
    return { grid = { side / 16, side / 16 }, block = { 16, 16 }, result = 5,
      arguments = { side, side, count, mw.array(list):as("float4"), mw.zeros(side * side) } }
  end

  function problems.warpsum()
    local n = 2 ^ 22
    return { grid = 1024, block = 256, arguments = { n, uniform(n, 1, 0, 1), mw.zeros(1024) }, result = 3,
      bytes = 4 * n, operations = n }
  end

  return problems
end
