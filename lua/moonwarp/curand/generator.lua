-- cuRAND's generators and their settings. Each has a generator of mw.random, which is made when numbers are first
-- wanted. After a change of the seed or the ordering it is made anew, `position` numbers after its beginning.

local result = require "moonwarp.curand.result"
local streams = require "moonwarp.runtime.stream"
local random = require "moonwarp.random"

local api, fail = result.api, result.fail
local M = {}

local Generator = { __name = "moonwarp.curandGenerator" }

-- By type: the kind of mw.random, whether it is a Sobol sequence (which has no seed), whether it has offsets, and the
-- number of normal numbers made at once.
local pseudo = { [100] = "best", [101] = "default", [103] = "legacy" }
local types = {
  [101] = { kind = "xorwow", orderings = { [100] = "best", [101] = "default", [102] = "seeded", [103] = "legacy" },
    pairs = true, offsets = true },
  [121] = { kind = "mrg32k3a", orderings = pseudo, pairs = true, offsets = true },
  [141] = { kind = "mtgp32", orderings = pseudo },
  [142] = { kind = "mt19937", orderings = { [101] = "default", [103] = "legacy" } },
  [161] = { kind = "philox", orderings = pseudo, offsets = true, unit = 4 },
}
for i, kind in ipairs { "sobol32", "scrambled_sobol32", "sobol64", "scrambled_sobol64" } do
  types[200 + i] = { kind = kind, orderings = { [201] = "default" }, offsets = true, quasi = true, wide = i > 2 }
end
types[0], types[100], types[200] = types[101], types[101], types[201]

---Check that a value is a generator.
function M.check(value)
  if getmetatable(value) ~= Generator or value.destroyed then
    fail("NOT_INITIALIZED", "this is not a generator, or it was destroyed")
  end
  return value
end

local function new(rng_type, on_host)
  local of = types[rng_type]
  if not of then fail("TYPE_ERROR", "there is no generator of type %s", tostring(rng_type)) end
  return setmetatable({
    of = of, on_host = on_host, seed = 0, ordering = of.quasi and 201 or 101, position = 0, beyond = 0, dimensions = 1,
  }, Generator)
end

-- Restart the stream before the next numbers. As in cuRAND, it continues as many numbers after its beginning as whole
-- units were drawn; if none was, after the numbers drawn. Kinds without offsets restart at their beginning.
local function renew(g)
  g.object = nil
  if not g.of.offsets then g.position, g.beyond = 0, 0 end
  if g.position > 0 then g.beyond = g.position % (g.of.unit or 1) end
end

local function whole(value, what)
  if type(value) ~= "number" and type(value) ~= "cdata" or tonumber(value) % 1 ~= 0 then
    fail("OUT_OF_RANGE", "%s is a whole number, got %s", what, tostring(value))
  end
  return value
end

---The generator of mw.random, at this generator's position.
function M.object(g)
  if not g.object then
    g.object = random.random(g.seed, g.of.kind, {
      ordering = g.of.orderings[g.ordering], offset = g.position > 0 and g.position or g.beyond,
      dimensions = g.dimensions,
    })
  end
  return g.object
end

---Record that `count` numbers were drawn, in units. cuRAND continues from the number of units when the seed changes: a
---unit is four numbers of Philox, a pair, or a point of Sobol's sequences.
function M.moved(g, count, unit)
  local whole_units = math.floor((g.beyond + count) / unit)
  g.beyond = (g.beyond + count) % unit
  g.position = g.position + whole_units
end

function Generator:__tostring()
  return ("curandGenerator_t of %s%s"):format(self.of.kind, self.destroyed and " (destroyed)" or "")
end

---@param curand table
function M.install(curand)
  curand.curandCreateGenerator = api(function(rng_type) return new(rng_type, false) end)
  curand.curandCreateGeneratorHost = api(function(rng_type) return new(rng_type, true) end)
  curand.curandDestroyGenerator = api(function(generator)
    local g = M.check(generator)
    g.destroyed, g.object = true, nil
  end)
  curand.curandSetStream = api(function(generator, stream)
    M.check(generator).stream = streams.stream(stream)
  end)
  curand.curandSetPseudoRandomGeneratorSeed = api(function(generator, seed)
    local g = M.check(generator)
    if g.of.quasi then fail("TYPE_ERROR", "Sobol's sequences have no seed") end
    seed = whole(seed, "a seed")
    if seed ~= g.seed then
      g.seed = seed
      renew(g)
    end
  end)
  curand.curandSetGeneratorOffset = api(function(generator, offset)
    local g = M.check(generator)
    if not g.of.offsets then fail("TYPE_ERROR", "%s has no offsets", g.of.kind) end
    offset = tonumber(whole(offset, "an offset"))
    if offset < 0 or offset > 2 ^ 53 then fail("OUT_OF_RANGE", "an offset is a number from 0 to 2^53 here") end
    g.position, g.beyond = offset, 0
    renew(g)
  end)
  curand.curandSetGeneratorOrdering = api(function(generator, ordering)
    local g = M.check(generator)
    if not g.of.orderings[ordering] then
      fail("OUT_OF_RANGE", "%s has no ordering %s", g.of.kind, tostring(ordering))
    end
    if ordering ~= g.ordering then
      g.ordering = ordering
      renew(g)
    end
  end)
  curand.curandSetQuasiRandomGeneratorDimensions = api(function(generator, dimensions)
    local g = M.check(generator)
    if not g.of.quasi then fail("TYPE_ERROR", "%s has no dimensions", g.of.kind) end
    dimensions = whole(dimensions, "a number of dimensions")
    if dimensions < 1 or dimensions > 20000 then
      fail("OUT_OF_RANGE", "the number of dimensions is 1 to 20000, got %s", tostring(dimensions))
    end
    g.dimensions = tonumber(dimensions)
    renew(g)
  end)
  curand.curandGenerateSeeds = api(function(generator)
    local g = M.check(generator)
    renew(g)
    M.object(g)
  end)
  curand.curandGetVersion = api(function() return 10310 end)
  curand.curandGetProperty = api(function(which)
    local value = ({ [0] = 10, 3, 10 })[which]
    if not value then fail("OUT_OF_RANGE", "there is no property %s", tostring(which)) end
    return value
  end)
end

return M
