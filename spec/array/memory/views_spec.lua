-- Parts and views of arrays by keys that are tables, and other orders of dimensions.
local mw = require "moonwarp"
local failure = require "support.failure"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

describe("a key that is a table", function()
  local a = mw.arange(24, "int"):reshape(2, 3, 4)

  it("names elements, rows and ranges, from 1 and from the end", function()
    assert.equal(23, a[{ 2, 3, 4 }])
    assert.equal(23, a[{ -1, -1, -1 }])
    assert.same({ 4, 5, 6, 7 }, flat(a[{ 1, 2 }]))
    assert.same({ 1, 5, 9, 13, 17, 21 }, flat(a[{ {}, {}, 2 }]))
    assert.same({ 2, 2 }, a[{ {}, { 2, 3 }, -1 }].shape)
    assert.same({ 7, 11, 19, 23 }, flat(a[{ {}, { 2, 3 }, -1 }]))
    assert.same({ 3, 1, 7, 5 }, flat(a[{ 1, { 1, 2 }, { 4, 1, -2 } }]))
    assert.same({ 0, 3, 4 }, a[{ { 2, 1 } }].shape)
    assert.same({ 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3 }, flat(a[{ 1, { nil, nil, -1 } }]))
  end)

  it("is assigned to, by numbers, arrays that broadcast, and tables", function()
    local b = mw.zeros(3, 4)
    b[{ {}, 2 }] = 5
    b[{ 3 }] = mw.array({ 1, 2, 3, 4 }, "int")
    b[{ { 1, 2 }, { 3, 4 } }] = { { 6, 7 }, { 8, 9 } }
    b[{ 1, 1 }] = -1
    assert.same({ -1, 5, 6, 7, 0, 5, 8, 9, 1, 2, 3, 4 }, flat(b))
    b[{ {}, { 2, 4 } }] = b[{ {}, { 1, 3 } }]
    assert.same({ -1, -1, 5, 6, 0, 0, 5, 8, 1, 1, 2, 3 }, flat(b))
  end)

  it("that is wrong is an error that names the dimension", function()
    local function at(key) return message(function() return a[key] end) end
    assert.matches("index 2: 4 is outside 1..3", at { 1, 4 })
    assert.matches("index 1: 0 is outside 1..2 %(Lua counts from 1", at { 0 })
    assert.matches("index 3: the range {1, 9} is outside 1..4", at { 1, 1, { 1, 9 } })
    assert.matches("runs backwards; give it a step of %-1", at { 1, 1, { 4, 2 } })
    assert.matches("4 indices for an array of 3 dimensions", at { 1, 1, 1, 1 })
    assert.matches("a step is a whole number that is not 0", at { { 1, 2, 0 } })
    assert.matches("indices are whole numbers", message(function() return a[mw.zeros(3)] end))
  end)
end)

describe("views", function()
  local a = mw.arange(6, "int"):reshape(2, 3)

  it("have dimensions in another order", function()
    assert.same({ 0, 3, 1, 4, 2, 5 }, flat(a:transpose()))
    assert.same({ 4, 2, 3 }, mw.zeros(2, 3, 4):permute(3, 1, 2).shape)
    assert.same({ 4, 3, 2 }, mw.zeros(2, 3, 4):permute().shape)
    assert.same({ 2, 1, 3 }, a:expand(2).shape)
    assert.same({ 2, 3 }, a:expand(2):squeeze().shape)
    assert.same({ 5, 4, 3, 2, 1, 0 }, flat(a:flip()))
    assert.same({ 3, 4, 5, 0, 1, 2 }, flat(a:flip(1)))
    assert.same({ 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5 }, flat(a:broadcast_to(2, 2, 3)))
    assert.matches("does not become {2, 4}", message(a.broadcast_to, a, 2, 4))
    assert.matches("axis 2 has 3 elements", message(a.squeeze, a, 2))
    assert.matches("wants a shape of whole numbers, got nil", message(a.broadcast_to, a, nil, 3))
    assert.matches("wants a shape of whole numbers, got the string", message(a.broadcast_to, a, { 2, "x" }))
    for _, name in ipairs { "squeeze", "flip" } do
      assert.matches("an axis is a whole number, got nil", message(a[name], a, nil, 1))
    end
    assert.is_true(a:contiguous() == a)
    assert.is_true(a:transpose():contiguous().is_contiguous)
  end)

  it("share the array's memory", function()
    local b = mw.zeros(2, 3)
    b:transpose()[{ 1 }] = 7
    assert.same({ 7, 0, 0, 7, 0, 0 }, flat(b))
  end)
end)

describe("operators", function()
  it("compute as NumPy does, by dtype", function()
    local i = mw.array({ 7, -7, 7, -7 }, "int")
    local j = mw.array({ 3, 3, -3, -3 }, "int")
    assert.same({ 1, 2, -2, -1 }, (i % j):totable())
    assert.equal("double", (i / j).dtype)
    assert.equal("int", (i + 2).dtype)
    assert.equal("double", (i + 0.5).dtype)
    assert.equal("float", (mw.zeros(2) + 0.5).dtype)
    assert.equal("longlong", (mw.array({ 1 }, "char") + mw.array({ 1 }, "uint")).dtype)
    assert.equal("double", (mw.array({ 1 }, "longlong") + mw.zeros(1)).dtype)
    assert.equal("float", (mw.array({ 1 }, "short") + mw.zeros(1)).dtype)
    assert.same({ 4, 10 }, (mw.array({ 250, 5 }, "uchar") + mw.array({ 10, 5 }, "uchar")):totable())
    assert.same({ 1, 0, -1 }, (1 - mw.arange(3)):totable())
    assert.same({ 1024, 3 }, (mw.array({ 2, 3 }, "int") ^ mw.array({ 10, 1 }, "int")):totable())
    assert.matches("holds 0 to 255", message(function() return mw.zeros(2, "uchar") + 300 end))
  end)

  it("broadcast, compare and choose", function()
    local a = mw.arange(6, "int"):reshape(2, 3)
    assert.same({ 0, 2, 4, 3, 5, 7 }, flat(a + mw.arange(3, "int")))
    assert.same({ true, true, true, false, false, false }, flat(a:lt(3)))
    assert.same({ true, true }, mw.array({ 1, 2 }, "uchar"):lt(300):totable())
    assert.same({ 0, 1, 2, -1, -1, -1 }, flat(mw.where(a:lt(3), a, -1)))
    assert.same({ 2, 2, 2, 3, 4, 5 }, flat(mw.maximum(a, 2)))
    assert.same({ 1, 1, 2, 3, 3, 3 }, flat(a:clip(1, 3)))
  end)

  it("are CUDA's functions, and write into out", function()
    local x = mw.array { 0, 1, 2 }
    local e = mw.exp(x):totable()
    for i = 1, 3 do assert.near(math.exp(i - 1), e[i], 1e-6 * math.exp(i - 1)) end
    local y = mw.zeros(3)
    assert.equal(y, mw.add(x, 1, { out = y }))
    assert.same({ 1, 2, 3 }, y:totable())
    assert.equal("half", mw.sqrt(mw.zeros(2, "char")).dtype)
    assert.matches("which cannot be written into out", message(mw.divide, x, 2, { out = mw.zeros(3, "int") }))
  end)
end)
