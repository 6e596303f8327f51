-- Reductions by functions of one's own within warps: entries as in bench/held/fields/problems.lua.

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

  local source = "bench/held/collectives/rows.cu"

  function problems.volumes()
    local groups = 2 ^ 14
    local result = mw.zeros(groups)
    local function axis(seed) return make.uniform(64 * groups, seed, -1, 1) end
    return { source = source, result = result,
      steps = { { "volumes", groups / 32, 256, { axis(1), axis(2), axis(3), groups, result } } } }
  end

  function problems.recurrences()
    local width = 256
    local result = mw.zeros(rows * width)
    return { source = source, result = result, steps = { { "recurrences", rows / 8, 256, {
      make.uniform(rows * width, 1, -0.9, 0.9), make.uniform(rows * width, 2, -1, 1), rows, width, result } } } }
  end

  function problems.totals_of_kinds()
    local n = 2 ^ 20
    local most, none = mw.zeros(16, "int"), mw.zeros(16, "int")
    local kind = make.bits(n, 1, 28)
    return { source = source, result = most, restore = { most, none }, steps = { { "totals_of_kinds", n / 2048, 256, {
      n, kind:as "uchar", make.bits(n, 2, 22):as "int", mw.zeros(16, "int"), most } } } }
  end

  return problems
end
