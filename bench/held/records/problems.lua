-- Kernels whose threads have records of their own: see the source. (bench/held/problems.lua has the form of an entry.)

local mw = require "moonwarp"

return function(make)
  local uniform, bits = make.uniform, make.bits
  local problems = {}

  local function add(name, n, build)
    problems[name] = function()
      local result, arguments, restored = build(n)
      local p = { result = result, steps = { { name, n / 256, 256, arguments } },
        source = "bench/held/records/records.cu" }
      if restored then p.restore = { restored, restored:copy() } end
      return p
    end
  end

  add("neighbour_forces", 2 ^ 14, function(n)
    local force = mw.zeros(3 * n)
    return force, { n, 24, uniform(4 * n, 1, 0, 1), bits(24 * n, 2, 18, "int"), force }
  end)

  add("accelerate", 2 ^ 15, function(n)
    local cells = uniform(5 * n, 1, 0.5, 1):to "double"
    return cells, { n, 0.01, 0.3, -9.81, cells }, cells
  end)

  add("triangle_areas", 2 ^ 15, function(n)
    local area = mw.zeros(n)
    return area, { n, uniform(9 * n, 1, -1, 1), bits(n, 2, 17, "int"), area, mw.zeros(n) }
  end)

  add("invert_3x3", 2 ^ 15, function(n)
    local out = mw.zeros(9 * n)
    return out, { n, uniform(9 * n, 1, 0.5, 1), out }
  end)

  add("price_lines", 2 ^ 15, function(n)
    local due = mw.zeros(n, "int")
    local lines = bits(6 * n, 1, 26, "int")
    return due, { n, 10, 40, lines, due }, lines
  end)

  return problems
end
