-- What a binding cannot convert is refused in the same words by both (lua/moonwarp/check/refusals.lua).

require "support.suite"
local mw = require "moonwarp"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return err.message
end

describe("a binding refuses", function()
  local m = mw.compile [[
    texture<float, 1> image;
    struct pair { float x, y; };
    __global__ void f(float *p, int n) {}
  ]]
  local a = mw.zeros(3)

  it("sizes of a launch", function()
    assert.equal("grid wants a number or a table {x, y, z}, got nothing; a kernel is launched as "
      .. "k(grid, block)(arguments)", message(m.f))
    assert.equal("block: the number 1.5 is not whole; mw.cdiv(n, block) divides and rounds up", message(m.f, 1, 1.5))
    assert.equal("grid.y: the number -1 is out of range", message(m.f, { 1, -1 }, 1))
    assert.equal("grid has three sizes at most: {x, y, z}", message(m.f, { 1, 1, 1, 1 }, 1))
    assert.equal("shared wants the bytes of dynamic shared memory, got the number -4", message(m.f, 1, 1, -4))
    assert.equal("the fourth value of a launch, its stream, wants a stream, got an array of float",
      message(m.f, 1, 1, 0, a))
    assert.equal("a launch takes grid, block, shared and stream, got 5 values; write k(grid, block)(arguments)",
      message(m.f, 1, 1, 0, nil, 7))
    assert.equal("k:each takes one size, or a table of up to three, got 2 values; write k:each{nx, ny}(arguments)",
      message(m.f.each, m.f, 3, 4))
  end)

  it("arguments", function()
    assert.equal("f(float *p, int n) takes 2 arguments, got 1", message(m.f(1, 1), a))
    assert.equal("a bound launch has its arguments and takes none", message(m.f(1, 1):bind(a, 3), 4))
  end)

  it("names, and what is assigned to them", function()
    assert.equal("the fields of a module are names in its source, got the number 3",
      message(function() return m[3] end))
    assert.equal("'f' is a kernel; only variables (__device__, __constant__) can be assigned",
      message(function() m.f = 3 end))
    assert.matches("^'image' is a texture reference %(.*%): assign mw.texture%(array, {...}%), or nil for none; got an "
      .. "array of float$", message(function() m.image = a end))
    assert.equal('headers are a table of texts by name: {["vec.h"] = "…"}',
      message(mw.compile, { source = "", headers = { ["a.h"] = 3 } }))
  end)

  it("places and shapes of arrays", function()
    assert.equal("get wants 1 index, one for each dimension, got 2", message(a.get, a, 1, 2))
    local b = mw.zeros(2, 2)
    assert.equal("index 2: an index is a whole number, got nil", message(b.get, b, 1, nil))
    assert.equal("an array takes elements by number; there is nothing to assign at the string \"x\"",
      message(function() a.x = 1 end))
    assert.equal("a shape has 1 to 8 dimensions, this one has 9", message(mw.zeros, { 1, 1, 1, 1, 1, 1, 1, 1, 1 }))
    assert.equal("an array of 3 elements wants a table of as many, the table has 2", message(a.copy_from, a, { 1, 2 }))
    assert.equal("element [1]: wants a table of 2 elements, got the number 1",
      message(function() mw.zeros(2, 2):copy_from { 1, 2 } end))
    local deep = 1
    for _ = 1, 10 do deep = { deep } end
    assert.equal("a table may be nested 8 levels deep at most, one for each dimension", message(mw.array, deep))
    local itself = {}
    itself[1] = itself
    assert.equal("a table may be nested 8 levels deep at most, one for each dimension", message(mw.array, itself))
  end)

  it("dtypes and conversions", function()
    assert.matches('^there is no dtype "flaot"; dtypes have CUDA\'s names: ', message(mw.zeros, 3, "flaot"))
    assert.equal("float does not convert to float2: they differ in components", message(a.to, a, "float2"))
  end)

  it("limits and nodes", function()
    assert.matches('^mw.limit wants "time", "memory", .* got the string "speed"$', message(mw.limit, "speed"))
    assert.equal("a node is a number from 1 on, got the number 0", message(function() mw.graph():node(0) end))
    assert.equal("mw.cache.limit is a whole number that is not negative, got the number -1",
      message(function() mw.cache.limit = -1 end))
  end)

  it("memory for textures", function()
    local t = mw.texture(a)
    t:free()
    assert.equal("this texture or surface was freed", message(function() return t.handle end))
    assert.equal("a texture reads memory in order, and this array is a strided view: give it a:contiguous()",
      message(mw.texture, a[{ { 1, 3, 2 } }]))
    assert.equal("a copy between elements of 4 and 8 bytes: both sides need elements of one size",
      message(mw.copy_region, mw.pitched(2, 2, "double"), mw.pitched(2, 2, "float")))
  end)
end)
