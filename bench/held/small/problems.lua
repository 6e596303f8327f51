-- Kernels with blocks of few threads: see the source. (bench/held/fields/problems.lua has the form of an entry.)

local mw = require "moonwarp"

return function(make)
  local uniform, bits = make.uniform, make.bits
  local problems = {}

  local function add(name, grid, block, build)
    problems[name] = function()
      local result, arguments = build()
      return { result = result, steps = { { name, grid, block, arguments } }, source = "bench/held/small/small.cu" }
    end
  end

  local n = 2 ^ 18

  add("horner_each", n, 1, function()
    local y = mw.zeros(n)
    return y, { n, 15, uniform(16, 1, -1, 1), uniform(n, 2, -1, 1), y }
  end)

  add("orbit_pairs", n / 16, 2, function()
    local steps = mw.zeros(n / 8, "int")
    return steps, { 64, uniform(n / 8, 1, -2, 1), uniform(n / 8, 2, -1, 1), steps }
  end)

  add("generators", n / 4, 4, function()
    local last = mw.zeros(n, "uint")
    return last, { 24, bits(n, 1, 0), last }
  end)

  add("blur_bytes", { 128, 128 }, { 4, 4 }, function()
    local out = mw.zeros(512 * 512, "uchar")
    return out:as("uint"), { 512, 512, bits(512 * 512 / 4, 1, 0):as("uchar"), out }
  end)

  add("divisors", n / 8, 1, function()
    local out = mw.zeros(n / 8, "uint")
    return out, { bits(n / 8, 1, 8), bits(n / 8, 2, 8), out }
  end)

  return problems
end
