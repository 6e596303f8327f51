-- The kernels of the table of mathematical functions, for moonwarp; functions.c has the same for the peers. `bytes`
-- and `operations` as in classics.lua.

local mw = require "moonwarp"

return function(make)
  local uniform = make.uniform
  local problems = {}

  function problems.softmax()
    local rows, columns = 4096, 1024
    local n = rows * columns
    return { grid = rows, block = 256, arguments = { columns, uniform(n, 1, -8, 8), mw.zeros(n) }, result = 3,
      bytes = 8 * n, operations = 7 * n }
  end

  function problems.gelu()
    local n = 2 ^ 22
    return { grid = n / 256, block = 256, arguments = { n, uniform(n, 1, -6, 6), mw.zeros(n) }, result = 3,
      bytes = 8 * n, operations = 5 * n }
  end

  problems.gelu_tanh = problems.gelu

  function problems.montecarlo()
    local paths, steps = 2 ^ 17, 64
    return { grid = paths / 256, block = 256, arguments = { paths, steps, 95, mw.zeros(paths) }, result = 4,
      bytes = 4 * paths, operations = 10 * steps * paths }
  end

  return problems
end
