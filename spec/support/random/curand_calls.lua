-- Calls of cuRAND's host functions, right and wrong ones, whose codes and numbers are compared with NVIDIA's library.
--   calls(api) returns a list of lines, one a call: its name, its code, and what it drew.
-- api.create(rng_type) returns code, generator; api.call(name, generator, ...) a code; api.draw(name, generator, count,
-- bytes of a number, ...) a code and the bytes. `names` of generators are cuRAND's numbers.

local M = {}

M.types = { xorwow = 101, mrg32k3a = 121, mtgp32 = 141, mt19937 = 142, philox = 161, sobol32 = 201,
  scrambled_sobol32 = 202, sobol64 = 203, scrambled_sobol64 = 204 }

-- Name, bytes of a number, further arguments; whether the numbers are the same to the bit.
local draws = {
  { "curandGenerate", 4, {}, true }, { "curandGenerateLongLong", 8, {}, true },
  { "curandGenerateUniform", 4, {}, true }, { "curandGenerateUniformDouble", 8, {}, true },
  { "curandGenerateNormal", 4, { 0, 1 } }, { "curandGenerateNormalDouble", 8, { 0, 1 } },
  { "curandGenerateLogNormal", 4, { 0, 1 } }, { "curandGenerateLogNormalDouble", 8, { 0, 1 } },
  { "curandGeneratePoisson", 4, { 7 }, true }, { "curandGeneratePoisson", 4, { 3000 }, true },
}

local unpack = table.unpack or unpack -- luacheck: ignore 113

local function hexadecimal(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function recorder(api)
  local lines = {}
  local self = { lines = lines }
  function self.create(rng_type)
    local code, generator = api.create(rng_type)
    lines[#lines + 1] = ("create %d = %d"):format(rng_type, code)
    return generator
  end
  function self.call(name, generator, ...)
    lines[#lines + 1] = ("%s %s = %d"):format(name, table.concat({ ... }, " "), api.call(name, generator, ...))
  end
  -- Of numbers that are the same to the bit the last 8 are kept, of others none.
  function self.draw(of, generator, count)
    local code, bytes = api.draw(of[1], generator, count, of[2], unpack(of[3]))
    local tail = code == 0 and of[4] and hexadecimal(bytes:sub(-8 * of[2])) or ""
    lines[#lines + 1] = ("%s %d = %d %s"):format(of[1], count, code, tail)
  end
  return self
end

---Every function with arguments that it takes or refuses.
function M.codes(api, kind)
  local r = recorder(api)
  local quasi = kind:find "sobol"
  local kept -- a generator for all calls, of kinds that NVIDIA's library takes a second to begin
  local function fresh()
    if kept then return kept end
    local g = r.create(M.types[kind])
    if kind == "mrg32k3a" or kind == "mt19937" then
      r.call("curandSetGeneratorOrdering", g, 103)
      kept = g
    end
    return g
  end
  local g
  for _, ordering in ipairs { 0, 99, 100, 101, 102, 104, 105, 200, 201, 202, 103 } do
    r.call("curandSetGeneratorOrdering", fresh(), ordering)
  end
  r.call("curandSetPseudoRandomGeneratorSeed", fresh(), 5)
  r.call("curandSetGeneratorOffset", fresh(), 5)
  for _, dimensions in ipairs { 0, 1, 3, 20000, 20001 } do
    r.call("curandSetQuasiRandomGeneratorDimensions", fresh(), dimensions)
  end
  r.call("curandGenerateSeeds", fresh())
  for _, of in ipairs(draws) do
    for _, count in ipairs { 0, 10, 11 } do r.draw(of, fresh(), count) end
    if quasi then
      g = fresh()
      r.call("curandSetQuasiRandomGeneratorDimensions", g, 3)
      r.draw(of, g, 10)
      r.draw(of, g, 12)
    end
  end
  for _, lambda in ipairs { -5, 0, 1e-10, 10, 4e5, 400001, 1e300, 1 / 0 } do
    r.draw({ "curandGeneratePoisson", 4, { lambda } }, fresh(), 10)
  end
  r.draw({ "curandGeneratePoisson", 4, { 10 } }, fresh(), 0)
  for _, method in ipairs { -1, 0, 1, 5, 8, 10, 12, 13, 14 } do
    r.draw({ "curandGeneratePoissonMethod", 4, { 10, method } }, fresh(), 10)
  end
  return r.lines
end

---What needs no generator that is one.
function M.general(api)
  local r = recorder(api)
  for _, rng_type in ipairs { -1, 0, 1, 99, 100, 102, 120, 160, 200, 205, 300 } do r.create(rng_type) end
  for _, of in ipairs(draws) do r.draw(of, nil, 4) end
  r.draw({ "curandGeneratePoisson", 4, { 10 } }, nil, 4)
  r.call("curandSetGeneratorOrdering", nil, 101)
  r.call("curandSetPseudoRandomGeneratorSeed", nil, 5)
  r.call("curandSetGeneratorOffset", nil, 5)
  r.call("curandSetQuasiRandomGeneratorDimensions", nil, 5)
  r.call("curandGenerateSeeds", nil)
  r.call("curandDestroyGenerator", nil)
  r.call("curandDestroyDistribution", nil)
  for set = 99, 106 do
    r.call("curandGetDirectionVectors32", nil, set)
    r.call("curandGetDirectionVectors64", nil, set)
  end
  return r.lines
end

-- Numbers of a little generator of its own, so that both sides make the same calls.
local function dice(seed)
  local state = seed
  return function(sides)
    state = (state * 16807) % 2147483647
    return state % sides + 1
  end
end

---Draws of all kinds, seeds, offsets and orderings in the order that a seed says.
function M.mixture(api, kind, seed, steps)
  local r = recorder(api)
  local roll = dice(seed)
  local quasi, wide, old = kind:find "sobol", kind:find "64", kind == "mrg32k3a"
  local g = r.create(M.types[kind])
  if old then r.call("curandSetGeneratorOrdering", g, 103) end
  for _ = 1, steps do
    local what = roll(14)
    if what == 1 and not quasi then
      r.call("curandSetPseudoRandomGeneratorSeed", g, roll(3))
    elseif what == 2 then
      r.call("curandSetGeneratorOffset", g, roll(3) == 1 and 0 or roll(100000))
    elseif what == 3 and not old then
      r.call("curandSetGeneratorOrdering", g, quasi and 201 or 100 + roll(3))
    elseif what == 4 then
      r.call("curandGenerateSeeds", g)
    elseif what == 5 and quasi then
      r.call("curandSetQuasiRandomGeneratorDimensions", g, roll(5))
    else
      local of = draws[roll(#draws)]
      if (of[1] ~= "curandGenerate" or not wide) and (of[1] ~= "curandGenerateLongLong" or wide) then
        r.draw(of, g, roll(3) == 1 and 60 * roll(3000) or roll(40))
      end
    end
  end
  return r.lines
end

return M
