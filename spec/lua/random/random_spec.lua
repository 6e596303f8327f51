-- mw.random: streams are those of NVIDIA's host generators, drawn whole or in pieces, and continue after g:save.

local mw = require "moonwarp"
local curand = require "support.random.curand"

local BIG = "0x8000000000000005"
local seeds = { 0, 1234, 987654321 }
if math.mininteger then seeds[#seeds + 1] = math.mininteger + 5 end -- 2^63 + 5

local function oracle(request)
  if curand.missing then pending(curand.missing) end
  return curand.draw(request)
end

local function draw(g, what, shape)
  local name = what:gsub("_double$", "")
  return g[name](g, shape, what:find "_double$" and { dtype = "double" } or nil)
end

-- The first value that differs, as a sentence.
local function compare(expected, got, count, context)
  if expected == got then return end
  assert(#expected == #got, ("%s: %d bytes, not %d"):format(context, #got, #expected))
  local size = #expected / count
  for i = 0, count - 1 do
    if expected:sub(i * size + 1, (i + 1) * size) ~= got:sub(i * size + 1, (i + 1) * size) then
      error(("%s: number %d differs"):format(context, i), 2)
    end
  end
end

local function same_bytes(expected, got) compare(expected, got, #expected / 4, "words of 4 bytes") end

local function refused(words, f)
  local ok, err = pcall(f)
  assert.is_false(ok)
  assert.equal(words, err.message)
end

local cases = {
  { "philox", "default" }, { "xorwow", "default" }, { "xorwow", "seeded" }, { "mrg32k3a", "legacy" },
  { "mtgp32", "default" }, { "mtgp32", "legacy" },
}

describe("mw.random", function()
  for _, case in ipairs(cases) do
    local kind, ordering = case[1], case[2]
    for _, what in ipairs { "bits", "uniform", "uniform_double" } do
      it(("makes the %s of cuRAND's %s in %s order, in pieces too"):format(what, kind, ordering), function()
        local count = 60000
        for _, seed in ipairs(seeds) do
          local offsets = seed == 1234 and { 0, 1, 3, 4096, 1000007 } or { 3 }
          for _, offset in ipairs(kind == "mtgp32" and { 0 } or offsets) do
            local expected = oracle { kind = kind, seed = seed, ordering = ordering, what = what, count = count,
              offset = kind ~= "mtgp32" and offset or nil }
            local g, got = mw.random(seed, kind, { ordering = ordering, offset = offset }), {}
            for _, some in ipairs { 1, 101, 30000, 29898 } do got[#got + 1] = draw(g, what, some):bytes() end
            compare(expected, table.concat(got), count, ("seed %s from %d"):format(tostring(seed), offset))
          end
        end
      end)
    end
  end

  it("has MRG32k3a's default order of 81920 columns", function()
    local expected = oracle { kind = "mrg32k3a", seed = 1234, ordering = "default", what = "bits", count = 200000 }
    local g = mw.random(1234, "mrg32k3a")
    compare(expected, g:bits(50001):bytes() .. g:bits(149999):bytes(), 200000, "mrg32k3a")
  end)

  for _, kind in ipairs { "sobol32", "sobol64" } do
    for _, what in ipairs { "bits", "uniform", "uniform_double" } do
      it(("makes the %s of cuRAND's %s"):format(what, kind), function()
        for dimensions, offsets in pairs { [1] = { 0, 1, 4096 }, [3] = { 3 }, [1111] = { 1000007 } } do
          for _, offset in ipairs(offsets) do
            local count = dimensions * 50
            local expected = oracle { kind = kind, offset = offset, dimensions = dimensions, count = count,
              what = what == "bits" and kind == "sobol64" and "bits64" or what }
            local g = mw.random(0, kind, { offset = offset, dimensions = dimensions })
            compare(expected, draw(g, what, count):bytes(), count, ("%d dimensions from %d"):format(dimensions, offset))
          end
        end
      end)
    end
  end

  -- NVIDIA's library takes seconds to begin one, so all is drawn from two.
  it("makes the numbers of cuRAND's mt19937, in pieces and one distribution after the other", function()
    local methods = { "bits", "uniform", "uniform_double", "normal", "bits" }
    for i = #seeds == 4 and 2 or 1, #seeds, 2 do
      local count = 100003
      local expected = oracle { kind = "mt19937", seed = seeds[i], what = table.concat(methods, ","), count = count }
      local g, at = mw.random(seeds[i], "mt19937"), 1
      for _, what in ipairs(methods) do
        local got = {}
        for _, some in ipairs { 1, 70000, 30002 } do got[#got + 1] = draw(g, what, some):bytes() end
        local bytes = table.concat(got)
        local same = expected:sub(at, at + #bytes - 1)
        at = at + #bytes
        if what == "normal" then
          local ours, theirs = mw.from_bytes(bytes):totable(), mw.from_bytes(same):totable()
          for k, x in ipairs(theirs) do assert(math.abs(x - ours[k]) <= 2 ^ -22 * math.abs(x)) end
        else
          compare(same, bytes, count, ("%s of seed %s"):format(what, tostring(seeds[i])))
        end
      end
    end
  end)

  it("begins mt19937's and mtgp32's streams at an offset", function()
    for _, kind in ipairs { "mt19937", "mtgp32" } do
      local words = mw.random(5, kind):bits(60000)
      assert.equal(words:sub(50001, 60000):bytes(), mw.random(5, kind, { offset = 50000 }):bits(10000):bytes())
    end
  end)

  it("begins Sobol's sequences of 32 bits again after 2^32 points, as cuRAND does", function()
    for _, kind in ipairs { "sobol32", "scrambled_sobol32" } do
      local expected = oracle { kind = kind, what = "bits", count = 140000, offset = 4294967296 - 70001 }
      assert.equal(expected, mw.random(0, kind, { offset = 2 ^ 32 - 70001 }):bits(140000):bytes())
    end
  end)

  it("continues mt19937's words across the ends of its states, and after jumps over them", function()
    local turn = 8192 * 624
    local g, other = mw.random(5, "mt19937"), mw.random(5, "mt19937")
    local all = g:bits(2 * turn + 100)
    other:jump(turn - 50)
    same_bytes(all:sub(turn - 49, turn + 50):bytes(), other:bits(30):bytes() .. other:bits(70):bytes())
    other:jump(turn - 100)
    same_bytes(all:sub(2 * turn - 49, 2 * turn + 50):bytes(), other:bits(100):bytes())
  end)

  it("scrambles Sobol's sequences as cuRAND does", function()
    for kind, what in pairs { scrambled_sobol32 = "bits", scrambled_sobol64 = "bits64" } do
      local count = 20000 * 3
      local expected = oracle { kind = kind, dimensions = 20000, what = what, count = count, offset = 12345 }
      local g = mw.random(0, kind, { dimensions = 20000, offset = 12345, ordering = "quasi" })
      compare(expected, g:bits(count):bytes(), count, kind)
    end
  end)

  it("has other scrambles for other seeds", function()
    local first = mw.random(0, "scrambled_sobol32"):bits(8)
    assert.not_equal(first:bytes(), mw.random(1, "scrambled_sobol32"):bits(8):bytes())
  end)

  it("knows 20000 dimensions of Sobol's sequences", function()
    local expected = oracle { kind = "sobol32", dimensions = 20000, what = "bits", count = 20000 * 9 }
    compare(expected, mw.random(0, "sobol32", { dimensions = 20000 }):bits(20000 * 9):bytes(), 20000 * 9, "sobol32")
  end)

  it("makes scrambled points of which each interval of a dimension has one", function()
    for _, kind in ipairs { "scrambled_sobol32", "scrambled_sobol64" } do
      local points = mw.random(7, kind, { dimensions = 5 }):uniform({ 5, 256 }, { dtype = "double" }):totable()
      for dimension = 1, 5 do
        local seen = {}
        for _, x in ipairs(points[dimension]) do
          local interval = math.ceil(x * 256)
          assert.is_nil(seen[interval])
          seen[interval] = true
        end
      end
    end
  end)

  it("makes pairs of normal numbers from cuRAND's draws, also in odd pieces", function()
    for _, kind in ipairs { "philox", "xorwow", "mrg32k3a" } do
      for what, tolerance in pairs { normal = 2 ^ -22, normal_double = 2 ^ -51 } do
        local count = 20000
        local expected = mw.from_bytes(oracle { kind = kind, seed = 1234, what = what, count = count,
          ordering = kind == "mrg32k3a" and "legacy" or nil }, what == "normal" and "float" or "double"):totable()
        local g, at = mw.random(1234, kind, { ordering = kind == "mrg32k3a" and "legacy" or nil }), 0
        for _, some in ipairs { 1, 2, 998, 19, 18980 } do
          for _, x in ipairs(draw(g, what, some):totable()) do
            at = at + 1
            local partner = expected[at % 2 == 1 and at + 1 or at - 1]
            local distance = math.sqrt(x * x + partner * partner) -- of which x is the sine's or the cosine's part
            assert(math.abs(x - expected[at]) <= tolerance * distance,
              ("%s %s: number %d is %.17g, not %.17g"):format(kind, what, at, x, expected[at]))
          end
        end
      end
    end
  end)

  it("continues after calls of several kinds as cuRAND's generator does", function()
    local words = mw.random(5, "xorwow"):bits(4096 * 4):totable()
    local g = mw.random(5, "xorwow")
    g:bits(10)
    g:uniform(4096, { dtype = "double" }) -- two words each: columns 10 to 4095, and then 0 to 9
    assert.equal(words[4096 * 2 + 11], g:bits())
    local low = 10
    assert.equal(words[4096 * 2 + low + 2], g:bits())
  end)

  it("is saved as text and continues from there", function()
    for _, kind in ipairs { "philox", "xorwow", "mrg32k3a", "mtgp32", "mt19937", "sobol32", "scrambled_sobol64" } do
      local g = mw.random(99, kind, { offset = 5 })
      g:normal(1001)
      g:uniform(77, { dtype = "double" })
      g:normal(3)
      local again = mw.random(g:save())
      same_bytes(g:normal(500):bytes(), again:normal(500):bytes())
      same_bytes(g:bits(500):bytes(), again:bits(500):bytes())
    end
  end)

  it("jumps", function()
    for _, kind in ipairs { "philox", "xorwow", "mtgp32", "sobol32" } do
      local g = mw.random(3, kind)
      local all = g:bits(100000):bytes()
      g = mw.random(3, kind)
      g:bits(10)
      same_bytes(all:sub(70010 * 4 + 1), g:jump(70000):bits(29990):bytes())
    end
  end)

  it("is split into generators of other seeds", function()
    local parts = mw.random(1):split(3)
    assert.equal(3, #parts)
    assert.not_equal(parts[1]:bits(), parts[2]:bits())
    same_bytes(mw.random(1):split(3)[2]:bits(9):bytes(), mw.random(1):split(3)[2]:bits(9):bytes())
  end)

  it("makes generators, whose class mw.type knows", function()
    assert.equal("generator", mw.type(mw.random(1)))
    assert.is_nil(mw.type({}))
    assert.equal("generator philox, default ordering", tostring(mw.random(1)))
  end)

  it("makes arrays of a shape, and a number without one", function()
    local g = mw.random(1)
    assert.same({ 3, 4 }, g:uniform({ 3, 4 }).shape)
    assert.equal("number", type(g:normal()))
    mw.seed(42)
    local x = mw.rand(2, 3, "double")
    assert.same({ 2, 3 }, x.shape)
    same_bytes(mw.random(42):uniform(6, { dtype = "double" }):bytes(), x:bytes())
    mw.seed(42)
    same_bytes(mw.random(42):normal(6):bytes(), mw.randn(2, 3):bytes())
  end)

  it("makes whole numbers, truths, exponential numbers and permutations of its words", function()
    local words = mw.random(3):bits(2000):totable()
    local function below(n, i) -- the upper part of the words' product with n
      return math.floor((words[2 * i - 1] * n + math.floor(words[2 * i] * n / 2 ^ 32)) / 2 ^ 32)
    end
    for i, x in ipairs(mw.random(3):integers(-5, 994, { 1000 }):totable()) do
      assert.equal(below(1000, i) - 5, tonumber(x))
    end
    local order = {}
    for i = 1, 1000 do table.insert(order, i, i) end
    for i = 1, 1000 do
      local j = below(i, i) + 1
      order[i], order[j] = order[j], i
    end
    assert.same(order, mw.random(3):permutation(1000):totable())
    local seen = {}
    for _, x in ipairs(order) do seen[x] = true end
    assert.equal(1000, #seen)

    local uniform = mw.random(3):uniform(1000, { dtype = "double" }):totable()
    local truths = mw.random(3):bernoulli(0.3, 1000):totable()
    local exponential = mw.random(3):exponential(1000, { dtype = "double", scale = 2 }):totable()
    for i, u in ipairs(uniform) do
      assert.equal(u <= 0.3, truths[i])
      assert(math.abs(exponential[i] + 2 * math.log(u)) <= 1e-15 * exponential[i] * 2)
    end
    mw.seed(3)
    same_bytes(mw.random(3):integers(1, 6, 9):bytes(), mw.randint(1, 6, 3, 3):bytes())
    mw.seed(3)
    same_bytes(mw.random(3):permutation(20):bytes(), mw.randperm(20):bytes())
  end)

  it("refuses invalid kinds, orderings, seeds and shapes, with a reason", function()
    refused("mw.random has no kind 'filox'; did you mean 'philox'? It has "
      .. "mrg32k3a, mt19937, mtgp32, philox, scrambled_sobol32, scrambled_sobol64, sobol32, sobol64, xorwow",
      function() mw.random(1, "filox") end)
    refused("mw.random: the orderings of philox are best, default, legacy; got 'seeded'",
      function() mw.random(1, "philox", { ordering = "seeded" }) end)
    refused("mw.random: the orderings of mt19937 are default, legacy; got 'best'",
      function() mw.random(1, "mt19937", { ordering = "best" }) end)
    refused("mw.random: the orderings of sobol64 are default, quasi; got 'legacy'",
      function() mw.random(1, "sobol64", { ordering = "legacy" }) end)
    refused("mw.random wants a seed, or a text that g:save() returned; this text is not one",
      function() mw.random(BIG) end)
    refused("g:bits: 4 numbers do not make whole points of 3 dimensions",
      function() mw.random(1, "sobol32", { dimensions = 3 }):bits(4) end)
  end)
end)
