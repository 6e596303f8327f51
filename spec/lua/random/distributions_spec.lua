-- The distributions of generators' numbers compared with the exact ones: Kolmogorov and Smirnov's distance where they
-- are continuous, chi squared where they are counts. Seeds are fixed; one sample in 10000 is beyond the limits.

local mw = require "moonwarp"

-- n^(1/2) times the largest distance between a sample's distribution and the exact one; above 2.23 once in 10000.
local function distance(x, share)
  table.sort(x)
  local n, largest = #x, 0
  for i, value in ipairs(x) do
    local exact = share(value)
    largest = math.max(largest, i / n - exact, exact - (i - 1) / n)
  end
  return largest * math.sqrt(n)
end

-- Chi squared of whole numbers from `low` on, less its degrees of freedom, in standard deviations; neighbours of which
-- fewer than 10 are expected count together. Above 4.5 once in 10000 for the 10 and more degrees here.
local function excess(x, low, high, share)
  local seen = {}
  for _, k in ipairs(x) do
    k = tonumber(k)
    assert(k >= low and k <= high, k)
    seen[k] = (seen[k] or 0) + 1
  end
  local sum, classes, expected, count = 0, 0, 0, 0
  for k = low, high do
    expected, count = expected + share(k) * #x, count + (seen[k] or 0)
    if expected >= 10 then
      sum, classes = sum + (count - expected) ^ 2 / expected, classes + 1
      expected, count = 0, 0
    end
  end
  return (sum - (classes - 1)) / math.sqrt(2 * (classes - 1))
end

local function logarithm_of_factorial(n)
  local sum = 0
  for k = 2, n do sum = sum + math.log(k) end
  return sum
end
local function binomial_share(n, p)
  return function(k)
    return math.exp(logarithm_of_factorial(n) - logarithm_of_factorial(k) - logarithm_of_factorial(n - k)
      + k * math.log(p) + (n - k) * math.log(1 - p))
  end
end
local function poisson_share(lambda)
  return function(k) return math.exp(k * math.log(lambda) - lambda - logarithm_of_factorial(k)) end
end

-- The lower incomplete gamma function of x, divided by the whole one, gamma(a), which is given.
local function gamma_share(a, gamma_of_a)
  return function(x)
    local term = x ^ a * math.exp(-x) / (gamma_of_a * a)
    local sum, k = 0, 0
    while term > 1e-17 * sum do
      sum, k = sum + term, k + 1
      term = term * x / (a + k)
    end
    return sum
  end
end

local COUNT = 20000

describe("a generator's numbers", function()
  local continuous = {
    { "gamma", { 0.5 }, gamma_share(0.5, math.sqrt(math.pi)) },
    { "gamma", { 1 }, function(x) return 1 - math.exp(-x) end },
    { "gamma", { 7.5 }, gamma_share(7.5, 135135 / 128 * math.sqrt(math.pi)) },
    { "beta", { 0.5, 0.5 }, function(x) return 2 / math.pi * math.asin(math.sqrt(x)) end },
    { "beta", { 2, 3 }, function(x) return 6 * x ^ 2 - 8 * x ^ 3 + 3 * x ^ 4 end },
    { "exponential", {}, function(x) return 1 - math.exp(-x) end },
    { "uniform", {}, function(x) return x end },
  }
  for _, case in ipairs(continuous) do
    local name, parameters, share = case[1], case[2], case[3]
    it(("follow the distribution %s(%s)"):format(name, table.concat(parameters, ", ")), function()
      for _, kind in ipairs { "philox", "xorwow", "mtgp32" } do
        for _, dtype in ipairs { "float", "double" } do
          local g, given = mw.random(2024, kind), { (table.unpack or unpack)(parameters) }
          given[#given + 1] = COUNT
          given[#given + 1] = { dtype = dtype }
          local far = distance(g[name](g, (table.unpack or unpack)(given)):totable(), share)
          assert(far < 2.23, ("%s of %s: %.2f"):format(dtype, kind, far))
        end
      end
    end)
  end

  it("have the scale that is given", function()
    local plain = mw.random(5):gamma(2.5, 100, { dtype = "double" }):totable()
    local scaled = mw.random(5):gamma(2.5, 100, { dtype = "double", scale = 4 }):totable()
    for i, x in ipairs(plain) do assert.equal(4 * x, scaled[i]) end
  end)

  it("stay between 0 and 1 where beta's parameters are small", function()
    for _, x in ipairs(mw.random(5):beta(0.001, 0.001, 2000, { dtype = "double" }):totable()) do
      assert(x >= 0 and x <= 1)
    end
  end)

  it("follow binomial distributions, of small and large means", function()
    for _, case in ipairs { { 20, 0.3 }, { 20, 0.9 }, { 100, 0.02 }, { 300, 0.5 }, { 1000, 0.97 }, { 500, 0.2 } } do
      local n, p = case[1], case[2]
      local x = mw.random(77):binomial(n, p, COUNT):totable()
      local far = excess(x, 0, n, binomial_share(n, p))
      assert(far < 4.5, ("n = %d, p = %g: %.2f"):format(n, p, far))
    end
    assert.equal(0, tonumber(mw.random(1):binomial(50, 0)))
    assert.equal(50, tonumber(mw.random(1):binomial(50, 1)))
    assert.equal(0, tonumber(mw.random(1):binomial(0, 0.5)))
  end)

  it("follow Poisson's distribution", function()
    for _, lambda in ipairs { 3, 64, 500 } do
      local x = mw.random(7):poisson(COUNT, { lambda = lambda }):totable()
      local far = excess(x, 0, math.floor(lambda + 10 * math.sqrt(lambda) + 10), poisson_share(lambda))
      assert(far < 4.5, ("lambda = %g: %.2f"):format(lambda, far))
    end
  end)

  it("do not depend on the pieces in which they are drawn", function()
    for name, parameters in pairs { gamma = { 0.7 }, beta = { 2, 0.5 }, binomial = { 100, 0.4 }, integers = { 1, 9 },
      bernoulli = { 0.2 } } do
      local whole, pieces = mw.random(3), mw.random(3)
      local function draw(g, count)
        local given = { (table.unpack or unpack)(parameters) }
        given[#given + 1] = count
        return g[name](g, (table.unpack or unpack)(given)):bytes()
      end
      assert.equal(draw(whole, 1000), draw(pieces, 1) .. draw(pieces, 300) .. draw(pieces, 699), name)
    end
  end)
end)

describe("a generator's choices", function()
  it("are as likely as their weights", function()
    local weights = { 1, 0, 5, 2, 0, 2 }
    local x = mw.random(9):choice(6, COUNT, { weights = weights }):totable()
    local count = {}
    for _, k in ipairs(x) do count[tonumber(k)] = (count[tonumber(k)] or 0) + 1 end
    local sum = 0
    for k, weight in ipairs(weights) do
      local expected = weight / 10 * COUNT
      if weight == 0 then assert.is_nil(count[k]) else sum = sum + (count[k] - expected) ^ 2 / expected end
    end
    assert(sum < 21.1, sum) -- of 3 degrees of freedom, 1 in 10000
  end)

  it("are elements of an array, or rows, of any size", function()
    local a = mw.array({ 10, 20, 30, 40 }, "short")
    for _, x in ipairs(mw.random(1):choice(a, { 50 }):totable()) do assert(x % 10 == 0 and x >= 10 and x <= 40) end
    assert.equal(mw.random(1):choice(a, 3)[1], mw.random(1):choice(a))
    local rows = mw.array({ { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, "double")
    local chosen = mw.random(1):choice(rows, { 2, 10 })
    assert.same({ 2, 10, 3 }, chosen.shape)
    for _, list in ipairs(chosen:totable()) do
      for _, row in ipairs(list) do assert.same({ row[1], row[1] + 1, row[1] + 2 }, row) end
    end
  end)

  it("differ from each other without replacement", function()
    local seen = {}
    for _, k in ipairs(mw.random(1):choice(100, 60, { replace = false }):totable()) do
      assert.is_nil(seen[tonumber(k)])
      seen[tonumber(k)] = true
    end
  end)

  it("put arrays in every order alike", function()
    local g, count = mw.random(4), {}
    for _ = 1, 2400 do
      local order = table.concat(g:shuffle(mw.array({ 1, 2, 3, 4 }, "uchar")):totable(), "")
      count[order] = (count[order] or 0) + 1
    end
    local sum, orders = 0, 0
    for _, n in pairs(count) do sum, orders = sum + (n - 100) ^ 2 / 100, orders + 1 end
    assert.equal(24, orders)
    assert(sum < 56, sum) -- of 23 degrees of freedom, 1 in 10000
  end)

  it("shuffle views in place, and rows as wholes", function()
    local a = mw.zeros(2, 6)
    for i = 1, 6 do a[{ 1, i }] = i end
    local column = a:transpose()
    assert.equal(column, mw.random(2):shuffle(column))
    local seen = {}
    for i = 1, 6 do
      seen[a[{ 1, i }]] = true
      assert.equal(0, a[{ 2, i }])
    end
    assert.equal(6, #seen)
  end)

  it("are refused with a reason if they are impossible", function()
    local g = mw.random(1)
    local function refused(words, f, ...)
      local ok, err = pcall(f, g, ...)
      assert.is_false(ok)
      assert.equal(words, err.message)
    end
    refused("g:choice: 4 of 3 things, without replacement", g.choice, 3, 4, { replace = false })
    refused("g:choice: weights are for choices with replacement", g.choice, 3, 2,
      { replace = false, weights = { 1, 1, 1 } })
    refused("g:choice: 2 weights for 3 things", g.choice, 3, 2, { weights = { 1, 1 } })
    refused("g:choice: all weights are 0", g.choice, 2, 2, { weights = { 0, 0 } })
    refused("g:binomial wants a probability from 0 to 1, got 1.5", g.binomial, 3, 1.5)
    refused("g:gamma wants a shape above 0, got -1", g.gamma, -1)
    refused("g:poisson wants a mean above 0, up to 400000, got 0", g.poisson, 3, { lambda = 0 })
  end)
end)

describe("a generator's out", function()
  it("is filled and returned", function()
    local expected = mw.random(6):normal(500):bytes()
    local out = mw.zeros(20, 25)
    assert.equal(out, mw.random(6):normal(nil, { out = out }))
    assert.equal(expected, out:bytes())
    for name, dtype in pairs { exponential = "double", bits = "uint", poisson = "uint", uniform = "float" } do
      local target = mw.zeros(9, dtype)
      local g, other = mw.random(6), mw.random(6)
      assert.equal(target, g[name](g, 9, { out = target }))
      local options = name == "exponential" and { dtype = dtype } or nil
      assert.equal(other[name](other, 9, options):bytes(), target:bytes())
    end
  end)

  it("has to be of the dtype and shape", function()
    local ok, err = pcall(function() mw.random(6):uniform(10, { out = mw.zeros(5) }) end)
    assert.is_false(ok)
    assert.equal("g:uniform: out has to be a contiguous array of float with the shape {10}; this is one of float, {5}",
      err.message)
  end)
end)

describe("the sizes of g:choice", function()
  it("are whole numbers", function()
    local g = mw.random(1)
    for told, size in pairs { ["a device"] = mw.device(), ["the number 1.5"] = 1.5, ["the number -1"] = -1 } do
      local ok, err = pcall(g.choice, g, 3, { 2, size })
      assert.is_false(ok)
      assert.equal("usage", err.kind)
      assert.matches("a size is a whole number from 0, got " .. told, err.message, 1, true)
    end
  end)
end)

describe("a generator's kernels", function()
  it("have no race, and use nothing that is not written", function()
    if require("support.suite").on_gpu then return pending "CPU device only: gpu_check_spec checks kernels on GPUs" end
    for _, kind in ipairs { "philox", "mt19937", "mtgp32" } do
      local report = mw.check(function()
        mw.random(1, kind):uniform(70000)
        mw.random(1, kind):permutation(500)
        mw.synchronize()
      end)
      assert.equal("no findings", tostring(report), kind)
    end
    local report = mw.check(function()
      mw.random(1, "sobol32"):normal(9000, { dtype = "double" }) -- with lists of rare numbers
      mw.synchronize()
    end)
    assert.equal("no findings", tostring(report))
  end)
end)
