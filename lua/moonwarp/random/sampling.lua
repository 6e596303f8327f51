-- Methods of generators that make each number from a fixed count of words or uniform numbers, so that the results do
-- not depend on how many are drawn in each call.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local distributions = require "moonwarp.random.distributions"
local results = require "moonwarp.random.results"

local usage = errors.usage

local generator = {}

-- Two words for each of `count` numbers.
local function pairs_of_words(g, name, count)
  if g.stream.dimensions then
    usage("g:%s takes two words a number, which %s cannot give: its words belong to dimensions", name, g.kind)
  end
  return g:bits(2 * count)
end

---Whole numbers from low to high, both included, with equal probability.
---@param low integer
---@param high integer
---@param shape? integer|integer[] without one: a number
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|integer longlong
function generator:integers(low, high, shape, options)
  if high < low then usage("g:integers: there is no whole number from %s to %s", tostring(low), tostring(high)) end
  local out = results.array("integers", shape, "longlong", options)
  distributions.run("integers", out.count, pairs_of_words(self, "integers", out.count), low,
    high - low + 1, out)
  return results.given(out, shape, options)
end

---True with probability p.
---@param p number
---@param shape? integer|integer[] without one: a boolean
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|boolean bool
function generator:bernoulli(p, shape, options)
  if not (p >= 0 and p <= 1) then usage("g:bernoulli wants a probability from 0 to 1, got %s", tostring(p)) end
  local out = results.array("bernoulli", shape, "bool", options)
  distributions.run("bernoulli", out.count, self:uniform(out.count, { dtype = "double" }), p, out)
  return results.given(out, shape, options)
end

---Exponential numbers, whose mean is `scale`.
---@param shape? integer|integer[] without one: a number
---@param options? { dtype?: "float"|"double", scale?: number, out?: moonwarp.array } a scale of 1 by default
---@return moonwarp.array|number
function generator:exponential(shape, options)
  local dtype, suffix = results.real("exponential", options)
  local out = results.array("exponential", shape, dtype, options)
  self:uniform(nil, { out = out })
  distributions.run("exponential" .. suffix, out.count, options and options.scale or 1, out)
  return results.given(out, shape, options)
end

---The numbers 1 to n in random order.
---@param n integer
---@return moonwarp.array int
function generator:permutation(n)
  local out = raw.array_new("int", { n })
  distributions.permute(n, pairs_of_words(self, "permutation", n), out)
  return out
end

-- ---- by rejection ----

local function positive(name, what, value)
  if not (value > 0 and value < math.huge) then
    usage("g:%s wants a %s above 0, got %s", name, what, tostring(value))
  end
end

local function sampled(g, name, shape, dtype, options, a, b)
  local kernel = dtype == "double" and name .. "_double" or name
  local out = results.array(name, shape, dtype, options)
  distributions.sample(kernel, pairs_of_words(g, name, out.count), a, b, out)
  return results.given(out, shape, options)
end

---Gamma numbers, whose mean is a times `scale`.
---@param a number the distribution's shape
---@param shape? integer|integer[] without one: a number
---@param options? { dtype?: "float"|"double", scale?: number, out?: moonwarp.array } a scale of 1 by default
---@return moonwarp.array|number
function generator:gamma(a, shape, options)
  local scale = options and options.scale or 1
  positive("gamma", "shape", a)
  positive("gamma", "scale", scale)
  return sampled(self, "gamma", shape, results.real("gamma", options), options, a, scale)
end

---Beta numbers, from 0 to 1, whose mean is a / (a + b).
---@param a number
---@param b number
---@param shape? integer|integer[] without one: a number
---@param options? { dtype?: "float"|"double", out?: moonwarp.array }
---@return moonwarp.array|number
function generator:beta(a, b, shape, options)
  positive("beta", "first parameter", a)
  positive("beta", "second parameter", b)
  return sampled(self, "beta", shape, results.real("beta", options), options, a, b)
end

---The number of successes in n trials, each of which succeeds with probability p.
---@param n integer
---@param p number
---@param shape? integer|integer[] without one: a number
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|integer longlong
function generator:binomial(n, p, shape, options)
  if n < 0 or n % 1 ~= 0 then usage("g:binomial wants a number of trials from 0 on, got %s", tostring(n)) end
  if not (p >= 0 and p <= 1) then usage("g:binomial wants a probability from 0 to 1, got %s", tostring(p)) end
  return sampled(self, "binomial", shape, "longlong", options, n, p)
end

-- ---- choosing ----

-- The cumulative sums of the weights.
local function sums_of(weights, n)
  local list, sum = raw.type(weights) == "array" and weights:totable() or weights, 0
  if #list ~= n then usage("g:choice: %d weights for %d things", #list, n) end
  local sums = {}
  for i, weight in ipairs(list) do
    if not (weight >= 0 and weight < math.huge) then
      usage("g:choice: weight %d has to be 0 or more, got %s", i, tostring(weight))
    end
    sum = sum + weight
    sums[i] = sum
  end
  if sum == 0 then usage "g:choice: all weights are 0" end
  return raw.array_from(sums, "double")
end

local function choose(g, n, count, options)
  if options.replace == false then
    if options.weights then usage "g:choice: weights are for choices with replacement" end
    if count > n then usage("g:choice: %d of %d things, without replacement", count, n) end
    return g:permutation(n):to "longlong":sub(1, count)
  end
  if not options.weights then return g:integers(1, n, count) end
  local sums, numbers = sums_of(options.weights, n), raw.array_new("longlong", { count })
  distributions.run("weighted", count, g:uniform(count, { dtype = "double" }), n, sums, numbers)
  return numbers
end

-- The sizes of a shape, and the product of them.
local function sizes_of(shape)
  local count, sizes = 1, type(shape) == "table" and shape or { shape }
  for _, size in ipairs(sizes) do
    if type(size) ~= "number" or size < 0 or size % 1 ~= 0 then
      usage("g:choice: a size is a whole number from 0, got %s", raw.describe(size))
    end
    count = count * size
  end
  return sizes, count
end

---Random numbers from 1 to n, or random elements of an array (rows, if it has several axes).
---@param from integer|moonwarp.array
---@param shape? integer|integer[] without one: a number or an element
---@param options? { replace?: boolean, weights?: number[]|moonwarp.array } whether one may be chosen again, true by
---default; how likely each is, as shares of their sum
---@return moonwarp.array|integer|number
function generator:choice(from, shape, options)
  local whole = type(from) == "number"
  local n = whole and from or from.shape[1]
  if n < 1 or n % 1 ~= 0 then usage("g:choice: there are %s things to choose from", tostring(n)) end
  local sizes, count = sizes_of(shape)
  local numbers = choose(self, n, count, options or {})
  if whole then
    if shape == nil then return numbers[1] end
    return #sizes == 1 and numbers or numbers:reshape(sizes)
  end
  local result = {}
  for i, size in ipairs(sizes) do result[i] = size end
  for d = 2, from.rank do result[#result + 1] = from.shape[d] end
  if #result == 0 then result[1] = 1 end
  local out = raw.array_new(from.dtype, result)
  distributions.take(numbers, from:contiguous(), out)
  if shape == nil and from.rank == 1 then return out[1] end
  return out
end

---Shuffle the elements of an array (its rows, if it has several axes) in place.
---@param a moonwarp.array
---@return moonwarp.array a
function generator:shuffle(a)
  local n = a.shape[1]
  if n < 2 then return a end
  local out = raw.array_new(a.dtype, a.shape)
  distributions.take(self:permutation(n):to "longlong", a:contiguous(), out)
  a:copy_from(out)
  return a
end

return generator
