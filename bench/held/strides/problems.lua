-- Partners at distances that are powers of two: entries as in bench/held/fields/problems.lua.

local mw = require "moonwarp"

return function(make)
  local uniform, bits = make.uniform, make.bits
  local problems = {}
  local source = "bench/held/strides/strides.cu"

  local function step(kernel, grid, block, ...) return { kernel, grid, block, { ... } } end

  function problems.bitonic_step()
    local n, steps = 2 ^ 18, {}
    local keys, run = uniform(n, 1, 0, 1), 2
    while run <= 256 do
      local distance = run / 2
      while distance >= 1 do
        steps[#steps + 1] = step("bitonic_step", n / 256, 256, keys, distance, run)
        distance = distance / 2
      end
      run = run * 2
    end
    return { source = source, result = keys, restore = { keys, keys:copy() }, steps = steps }
  end

  function problems.walsh_quarter()
    local n, steps, stride = 2 ^ 20, {}, 1
    local data = uniform(n, 1, -1, 1)
    while stride < n do
      steps[#steps + 1] = step("walsh_quarter", n / 4 / 256, 256, data, stride)
      stride = stride * 4
    end
    return { source = source, result = data, restore = { data, data:copy() }, steps = steps }
  end

  function problems.sweep_sums()
    local n = 2 ^ 20
    local out = mw.zeros(n, "int")
    return { source = source, result = out, steps = { step("sweep_sums", n / 512, 256, bits(n, 1, 16):as "int", out) } }
  end

  function problems.haar_levels()
    local n = 2 ^ 20
    local out = mw.zeros(n)
    return { source = source, result = out, steps = { step("haar_levels", n / 512, 256, uniform(n, 1, -1, 1), out) } }
  end

  function problems.fourier_rows()
    local n, cosine, sine = 2 ^ 18, {}, {}
    for k = 1, 256 do
      cosine[k], sine[k] = math.cos(2 * math.pi * (k - 1) / 512), -math.sin(2 * math.pi * (k - 1) / 512)
    end
    local re, im, to = uniform(n, 1, -1, 1), uniform(n, 2, -1, 1), mw.zeros(n)
    return { source = source, result = to,
      steps = { step("fourier_rows", n / 512, 256, re, im, mw.array(cosine), mw.array(sine), to, mw.zeros(n)) } }
  end

  return problems
end
