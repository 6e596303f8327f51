-- Texture objects and surfaces as arguments of kernels, and pictures as textures.
-- CPU device only: kernels here read the CPU device's texture records

local mw = require "moonwarp"
local failure = require "support.failure"
local records = require "support.texture_records"

local m, read, sampler, rows = records.module, records.read, records.sampler, records.rows

local function matches(pattern, f, ...) assert.matches(pattern, failure(f, ...).message) end

describe("a texture object", function()
  local out = mw.zeros(1)

  it("is an argument of a kernel", function()
    m.read_object(1, 1)(mw.texture(rows), 3, 2, out)
    assert.equal(11, out[1])
    local texture = mw.texture(rows)
    m.read_object(1, 1)(texture.handle, 1, 2, out)
    assert.equal(9, out[1])
    m.read_object(1, 1):bind(texture, 2, 2, out)()
    assert.equal(10, out[1])
  end)

  it("may be in a struct", function()
    m.read_scene(1, 1)({ x = 1, y = 1, background = mw.texture(rows) }, out)
    assert.equal(5, out[1])
  end)

  it("may be in an array of objects, of type cudaTextureObject_t", function()
    local list = {}
    for i = 1, 5 do list[i] = mw.texture(mw.full({ 1, 4 }, i * i)) end
    local objects, results = mw.array(list, "cudaTextureObject_t"), mw.zeros(5)
    list = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    m.read_all(1, 1)(5, objects, results)
    assert.same({ 1, 4, 9, 16, 25 }, results:totable())
    objects[2] = mw.texture(rows).handle
  end)

  it("is nothing else: parameters and elements of other types refuse it", function()
    local texture = mw.texture(rows)
    matches("parameter 3 'out' of read wants float %*, got a texture", m.read(1, 1), 0, 0, texture)
    matches("parameter 1 'x' of read wants int, got a texture", m.read(1, 1), texture, 0, out)
    matches("parameter 1 't' of read_object wants cudaTextureObject_t, got an array", m.read_object(1, 1), rows, 0, 0,
      out)
    matches("got a texture", mw.array, { texture }, "float")
  end)

  it("reads by element, or as normalized floats if a linear filter needs it", function()
    assert.equal(0, sampler(mw.texture(mw.zeros(4, 4, "uchar4")))[5])
    assert.equal(1, sampler(mw.texture(mw.zeros(4, 4, "uchar4"), { filter = "linear" }))[5])
    assert.equal(1, sampler(mw.texture(mw.zeros(4, 4, "uchar4"), { read = "normalized" }))[5])
    assert.equal(0, sampler(mw.texture(rows, { filter = "linear" }))[5])
  end)

  it("has its properties as fields", function()
    assert.equal("texture, filter point, over float {3, 4} on cpu:0", tostring(mw.texture(rows)))
    assert.equal("texture", mw.type(mw.texture(rows)))
    assert.equal(rows, mw.texture(rows).memory)
    assert.equal("cpu:0", mw.texture(rows).device.name)
    assert.equal("surface over 2d CUDA array of float {3, 4} on cpu:0", tostring(mw.surface(mw.cuda_array(rows))))
  end)
end)

describe("a surface", function()
  it("writes what textures over the same array and the host read", function()
    local array = mw.cuda_array(mw.zeros(3, 4))
    m.canvas, m.img = mw.surface(array), mw.texture(array)
    m.paint(1, { 4, 3 })(100)
    assert.equal(112, read(2, 1))
    assert.same({ { 100, 101, 102, 103 }, { 110, 111, 112, 113 }, { 120, 121, 122, 123 } }, array:totable())
    m.paint_object(1, 1)(mw.surface(array), 5)
    assert.equal(5, read(0, 0))
  end)

  it("is over one level of a mipmap", function()
    local array = mw.cuda_array { width = 4, height = 4, levels = 3 }
    for level = 1, 3 do
      array:copy_from(mw.zeros(2 ^ (3 - level), 2 ^ (3 - level)), { to = { level = level } })
    end
    m.paint_object(1, 1)(mw.surface(array, { level = 2 }), 9)
    assert.same({ { 9, 0 }, { 0, 0 } }, array:totable(2))
    assert.equal(0, array:array(1):sum())
    matches("there is no level 3", mw.surface, array, { level = 4 })
    matches("whole number from 1 on", mw.surface, array, { level = 0 })
  end)

  it("is made of a CUDA array, and read and written texel by texel", function()
    matches("mw%.surface wants a CUDA array, got an array", mw.surface, rows)
    local surface = mw.surface(mw.cuda_array(rows))
    matches("a surface has no options, so 'filter' cannot be assigned", function() surface.filter = "linear" end)
  end)
end)

describe("a picture", function()
  local function write(name, text)
    local path = os.tmpname() .. name
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    return path
  end
  local grey = write(".pgm", "P5 2 2 255\n" .. string.char(0, 51, 102, 255))
  local colour = write(".ppm", "P6 2 1 255\n" .. string.char(255, 0, 0, 10, 20, 30))
  teardown(function() os.remove(grey) os.remove(colour) end)

  it("becomes texels of bytes or floats", function()
    assert.same({ { { 255, 0, 0, 255 }, { 10, 20, 30, 255 } } }, mw.read_image(colour, "uchar4"):totable())
    assert.same({ { 0, 51 }, { 102, 255 } }, mw.read_image(grey, "uchar"):totable())
    assert.same({ { { 51, 51, 51, 255 } } }, { { mw.read_image(grey, "uchar4"):totable()[1][2] } })
    local floats = mw.read_image(grey, "float")
    for i, value in ipairs { 0, 0.2, 0.4, 1 } do
      assert.is_true(math.abs(floats:reshape(4)[i] - value) < 1e-7)
    end
    -- ITU-R BT.601: 0.299 red
    assert.is_true(math.abs(mw.read_image(colour, "float")[1][1] - 0.299) < 1e-7)
    assert.equal(math.floor(0.299 * 255 + 0.5), mw.read_image(colour, "uchar")[1][1])
    assert.is_true(math.abs(mw.read_image(colour, "float4")[1][2].y - 20 / 255) < 1e-7)
    matches("the texels of a picture are uchar, uchar4, float or float4, not short", mw.read_image, grey, "short")
  end)

  it("is read straight into a texture", function()
    local texture = mw.texture(colour, { filter = "linear", normalized = true })
    assert.equal("uchar4", texture.memory.dtype)
    assert.same({ 1, 2 }, texture.memory.shape)
    m.pic = texture
    m.img = mw.texture(grey, { dtype = "float" })
    assert.is_true(math.abs(read(0, 1) - 0.4) < 1e-7)
    assert.equal("uchar", mw.texture(grey).memory.dtype)
    matches("dtype is only for a picture", mw.texture, rows, { dtype = "float" })
    assert.equal("io", failure(mw.texture, "/nowhere/photo.ppm").kind)
  end)
end)
