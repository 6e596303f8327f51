-- Kernels whose threads own rows of shared memory between barriers, in small blocks.

local mw = require "moonwarp"

return function(make)
  local uniform, bits = make.uniform, make.bits
  local problems = {}

  local function once(kernel, grid, block, result, ...)
    return { result = result, source = "bench/held/regions/regions.cu", steps = { { kernel, grid, block, { ... } } } }
  end

  function problems.solve_triangles()
    local systems = 2 ^ 12
    local solution = mw.zeros(32 * systems)
    return once("solve_triangles", systems, 32, solution, uniform(1024 * systems, 1, 1, 2),
      uniform(32 * systems, 2, -1, 1), solution)
  end

  function problems.square_rows()
    local matrices = 2 ^ 12
    local out = mw.zeros(64 * matrices, "uint")
    return once("square_rows", matrices, 8, out, 8, bits(64 * matrices, 1, 0), out)
  end

  function problems.warp_sequences()
    local pairs_of_sequences = 2 ^ 13
    local cost = mw.zeros(16 * pairs_of_sequences)
    return once("warp_sequences", pairs_of_sequences, 16, cost, uniform(16 * pairs_of_sequences, 1, -1, 1),
      uniform(16 * pairs_of_sequences, 2, -1, 1), cost)
  end

  return problems
end
