-- The thirteen kernels of the first table, for moonwarp; classics.c has the same for the peers. `bytes` is the least
-- memory traffic, `operations` counts additions, multiplications, divisions and functions, each as one. `make.times` is
-- a factor for the number of elements of compute-bound kernels (see scaling.lua).

local mw = require "moonwarp"

local n = 2 ^ 24

return function(make)
  local uniform, bits, times = make.uniform, make.bits, make.times
  local problems = {}

  function problems.saxpy()
    return { grid = n / 256, block = 256, arguments = { n, 2, uniform(n, 1, 0, 1), uniform(n, 2, 0, 1) }, result = 4,
      bytes = 12 * n, operations = 2 * n }
  end

  function problems.reduce()
    return { grid = 1024, block = 256, arguments = { n, uniform(n, 1, 0, 1), mw.zeros(1024) }, result = 3,
      bytes = 4 * n, operations = n }
  end

  function problems.scan()
    return { grid = n / 256, block = 256, arguments = { n, uniform(n, 1, 0, 1), mw.zeros(n) }, result = 3,
      bytes = 8 * n, operations = n }
  end

  function problems.histogram()
    return { grid = 256, block = 256, arguments = { n, bits(n, 1, 0), mw.zeros(256, "uint") }, result = 3,
      bytes = 4 * n }
  end

  function problems.transpose()
    return { grid = { 256, 256 }, block = { 16, 16 }, arguments = { 4096, uniform(n, 1, 0, 1), mw.zeros(n) },
      result = 3, bytes = 8 * n }
  end

  function problems.conv2d()
    local side = 2048 * times ^ 0.5
    local pixels = side * side
    local arguments = { side, side, uniform(pixels, 1, 0, 1), uniform(49, 2, 0, 1), mw.zeros(pixels) }
    return { grid = { side / 16, side / 16 }, block = { 16, 16 }, arguments = arguments, result = 5,
      bytes = 8 * pixels, operations = 98 * pixels }
  end

  function problems.sgemm_naive()
    local side = 1024 * times ^ 0.5
    local cells = side * side
    return { grid = { side / 16, side / 16 }, block = { 16, 16 }, result = 4,
      arguments = { side, uniform(cells, 1, -1, 1), uniform(cells, 2, -1, 1), mw.zeros(cells) },
      bytes = 12 * cells, operations = 2 * side * cells }
  end

  problems.sgemm_tiled = problems.sgemm_naive

  function problems.nbody()
    local bodies = 8192 * times
    local arguments = { bodies, uniform(bodies * 4, 1, -1, 1):as("float4"), mw.zeros(bodies, "float4") }
    return { grid = bodies / 256, block = 256, arguments = arguments, result = 3, bytes = 32 * bodies,
      operations = 19 * bodies * bodies }
  end

  function problems.blackscholes()
    local options = 2 ^ 22 * times
    local price, strike = uniform(options, 1, 5, 30), uniform(options, 2, 1, 100)
    local years = uniform(options, 3, 0.25, 10)
    local arguments = { options, price, strike, years, mw.zeros(options), mw.zeros(options) }
    return { grid = options / 256, block = 256, arguments = arguments, result = 5, bytes = 20 * options,
      operations = 55 * options }
  end

  function problems.mandelbrot()
    local side = 2048 * times ^ 0.5
    local rounds = mw.zeros(side * side, "int")
    return { grid = { side / 32, side / 8 }, block = { 32, 8 }, arguments = { side, side, 256, rounds }, result = 4,
      bytes = 4 * side * side, operations = function() return 8 * rounds:sum() end }
  end

  function problems.spmv()
    local rows = 2 ^ 20
    local starts, nonzeros = make.row_starts(rows)
    local columns, values = bits(nonzeros, 8, 12, "int"), uniform(nonzeros, 9, 0, 1)
    return { grid = rows / 256, block = 256, result = 6, bytes = 8 * nonzeros + 12 * rows, operations = 2 * nonzeros,
      arguments = { rows, starts, columns, values, uniform(rows, 10, 0, 1), mw.zeros(rows) } }
  end

  function problems.bitonic()
    return { grid = n / 256, block = 256, arguments = { n, 64, 1024, bits(n, 1, 0) }, result = 4, bytes = 8 * n }
  end

  return problems
end
