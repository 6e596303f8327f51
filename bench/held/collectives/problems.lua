-- Reductions by functions of one's own within warps: entries as in bench/held/problems.lua.

local mw = require "moonwarp"

return function(make)
  local problems = {}
  local rows, columns = 4096, 200

  local function entry(kernel, dtype)
    return function()
      local result = mw.zeros(rows, dtype)
      return { source = "bench/held/collectives/rows.cu", result = result,
        steps = { { kernel, rows / 8, 256, { make.uniform(rows * columns, 1, 0, 1), rows, columns, result } } } }
    end
  end

  problems.largest_of_rows = entry("largest_of_rows", "int")
  problems.variance_of_rows = entry("variance_of_rows", "double")
  return problems
end
