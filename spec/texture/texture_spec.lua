-- Textures on the host's side: references as fields of a module, what may be bound to them, options. The values
-- of fetches are tested by texture_fetch_spec.
-- CPU device only: kernels here read the CPU device's texture records

local mw = require "moonwarp"
local failure = require "support.failure"
local records = require "support.texture_records"

local m, read, sampler, rows = records.module, records.read, records.sampler, records.rows

local function matches(pattern, f, ...) assert.matches(pattern, failure(f, ...).message) end

describe("a texture reference", function()
  it("is a field of its module, by its name in the source", function()
    local _, symbols = m:names()
    assert.equal("img", symbols[1])
    assert.equal("texture<float, 2, cudaReadModeElementType>", m:symbol("img").type)
    assert.is_nil(m.img)
    local texture = mw.texture(rows)
    m.img = texture
    assert.equal(texture, m.img)
    assert.equal(7, read(3, 1))
    m["ns::inside"] = mw.texture(mw.array({ 41, 42 }, "int"))
    local out = mw.zeros(1, "int")
    m.read_inside(1, 1)(out)
    assert.equal(41, out[1])
    m.inside = nil
    assert.is_nil(m["ns::inside"])
  end)

  it("is bound to an array, to a part of it, to pitched memory and to CUDA arrays", function()
    m.img = mw.texture(rows)
    assert.equal(11, read(3, 2))
    m.img = mw.texture(mw.pitched(3, 4):copy_from(rows))
    assert.equal(9, read(1, 2))
    m.img = mw.texture(mw.cuda_array(rows))
    assert.equal(6, read(2, 1))
    m.img = mw.texture { { 1, 2 }, { 3, 4 } }
    assert.equal(3, read(0, 1))
    local sizes = mw.zeros(2, "uint")
    m.size_of(1, 1)(sizes)
    assert.same({ 2, 2 }, sizes:totable())
  end)

  it("may be declared with modes, if they are the defaults of a binding", function()
    local declared = mw.compile [[
      texture<float, 2, cudaReadModeElementType> img(0, cudaFilterModePoint, cudaAddressModeClamp);
      static texture<uchar4, 2, cudaReadModeNormalizedFloat> photo(false);
      __global__ void k(float *out) { *out = tex2D(img, 1.5f, 0.5f) + tex2D(photo, 0.5f, 0.5f).y; }
    ]]
    declared.img = mw.texture(rows)
    declared.photo = mw.texture(mw.from_bytes("\0\255\0\0", "uchar4"):reshape(1, 1))
    local out = mw.zeros(1)
    declared.k(1, 1)(out)
    assert.equal(2, out[1])
    assert.equal("texture<uchar4, 2, cudaReadModeNormalizedFloat>", declared:symbol("photo").type)
    for _, given in ipairs { "1", "0, cudaFilterModeLinear", "0, cudaFilterModePoint, cudaAddressModeWrap" } do
      local err = failure(mw.compile, ("texture<float, 2> img(%s);\n__global__ void k() {}"):format(given))
      assert.matches("a texture reference's modes are set when it is bound, not in its declaration: " ..
        "write m%.name = mw%.texture", err.message)
      assert.is_not_nil(err.line)
    end
  end)

  it("is of texels that there are, which a fetch of another type says", function()
    for _, element in ipairs { "double", "float3", "int3", "long long" } do
      matches("texels are of char, uchar, short, ushort, int, uint, half or float, one, two or four", mw.compile,
        ("texture<%s, 2> img;\n__global__ void k() { tex2D(img, 0.5f, 0.5f); }"):format(element))
    end
    matches("texels are of char, uchar", mw.compile,
      "__global__ void k(cudaTextureObject_t t, float3 *out) { *out = tex2D<float3>(t, 0.5f, 0.5f); }")
    matches("surfaces are read and written in elements of 1, 2, 4, 8 or 16 bytes", mw.compile,
      "__global__ void k(cudaSurfaceObject_t s, float3 *out) { *out = surf2Dread<float3>(s, 0, 0); }")
  end)

  it("sees writes to the memory that it is bound to", function()
    local array = mw.zeros(2, 4)
    m.img = mw.texture(array)
    assert.equal(0, read(1, 1))
    array[2][2] = 5
    assert.equal(5, read(1, 1))
  end)

  it("begins at an aligned address, and says how far before the memory that is", function()
    local alignment = mw.properties().texture_alignment
    local array = mw.arange(1000)
    local texture = mw.texture(array:sub(4, 1000))
    assert.equal(12 % alignment, texture.offset)
    assert.equal(0, mw.texture(array).offset)
    assert.equal(0, mw.texture(array:sub(alignment / 4 + 1, 1000)).offset)
    m.line = texture
    local out = mw.zeros(1)
    m.read_line(1, 1)(texture.offset / 4 + 5, out)
    assert.equal(8, out[1])
    matches("begins 12 bytes after a multiple of 256 %(texture_alignment%): copy it, or bind the texture to a "
      .. "reference", function() return texture.handle end)
    matches("begins 12 bytes after", m.read_object(1, 1), texture, 0, 0, out)
    m.read_object(1, 1)(mw.texture(array:sub(4, 1000):copy()), 5, 0, out)
    assert.equal(8, out[1])
  end)

  it("belongs to its module: others of the same source have their own", function()
    local text = [[
      texture<float> one;
      __global__ void get(float *out) { *out = *(const float *)__mw_record(one)->levels[0].base; }
    ]]
    local a, b = mw.compile(text), mw.compile(text)
    a.one, b.one = mw.texture(mw.array { 1 }), mw.texture(mw.array { 2 })
    local out = mw.zeros(2)
    a.get(1, 1)(out)
    b.get(1, 1)(out:sub(2))
    assert.same({ 1, 2 }, out:totable())
  end)

  it("is shared by a module's template instances", function()
    m.img = mw.texture(mw.full({ 1, 4 }, 5))
    local out = mw.zeros(1)
    m["read_times<3>"](1, 1)(out)
    assert.equal(15, out[1])
    m.img = mw.texture(mw.full({ 1, 4 }, 6))
    m["read_times<3>"](1, 1)(out)
    assert.equal(18, out[1])
  end)

  it("is there in a module that was saved and loaded", function()
    local path = os.tmpname()
    m:save(path)
    local loaded = mw.load(path)
    os.remove(path)
    assert.is_nil(loaded.img)
    local out = mw.zeros(1)
    assert.equal("cudaErrorInvalidTextureBinding", failure(loaded.read(1, 1), 0, 0, out).code)
    loaded.img = mw.texture(rows)
    loaded.read(1, 1)(2, 2, out)
    assert.equal(10, out[1])
  end)

  it("takes a texture or nil, nothing else", function()
    matches("'img' is a texture reference %(texture<float, 2, .*%): assign mw%.texture%(array, {%.%.%.}%), or nil for "
      .. "none; got an array", function() m.img = rows end)
    matches("got the number 3", function() m.img = 3 end)
    matches("'canvas' is a surface reference .*: assign mw%.surface%(array%)", function() m.canvas = 3 end)
    matches("plain", function() m.plain = mw.texture(rows) end)
    matches("is a texture reference and cannot be bound to a surface", function()
      m.img = mw.surface(mw.cuda_array(rows))
    end)
    matches("is a surface reference and cannot be bound to a texture", function() m.canvas = mw.texture(rows) end)
    matches("this module has no kernel 'nothing'", function() m.nothing = mw.texture(rows) end)
  end)

  it("takes memory of its own number of dimensions", function()
    local memory = {
      line = { mw.zeros(8), mw.cuda_array(mw.zeros(8)) },
      img = { mw.zeros(8, 8), mw.pitched(2, 2), mw.cuda_array(mw.zeros(8, 8)) },
      volume = { mw.cuda_array(mw.zeros(8, 8, 8)) },
      lines = { mw.cuda_array(mw.zeros(8, 8), { kind = "1dlayered" }) },
      sky = { mw.cuda_array(mw.zeros(6, 8, 8), { kind = "cubemap" }) },
      skies = { mw.cuda_array(mw.zeros(12, 8, 8), { kind = "cubemaplayered" }) },
    }
    for name in pairs(memory) do
      for other, list in pairs(memory) do
        for _, one in ipairs(list) do
          local texture = mw.texture(one)
          if name == other then
            m[name] = texture
            assert.equal(texture, m[name])
          else
            local err = failure(function() m[name] = texture end)
            assert.equal("cudaErrorInvalidTexture", err.code)
            assert.matches(("'%s' is declared as texture<float"):format(name), err.message)
          end
        end
      end
      m[name] = nil
    end
    m.img = mw.texture(rows)
    local before = m.img
    matches("wants memory or a CUDA array of two dimensions; this texture is over a 3%-D CUDA array", function()
      m.img = mw.texture(memory.volume[1])
    end)
    assert.equal(before, m.img)
  end)

  it("takes texels of its own format", function()
    local err = failure(function() m.img = mw.texture(mw.zeros(4, 4, "uchar4")) end)
    assert.equal("cudaErrorInvalidChannelDescriptor", err.code)
    assert.matches("'img' is declared with texels of float, and this texture has texels of uchar4", err.message)
    matches("texels of uchar4, and this texture has texels of uint", function()
      m.raw = mw.texture(mw.zeros(4, 4, "uint"))
    end)
    matches("texels of uchar4, and this texture has texels of char4", function()
      m.raw = mw.texture(mw.zeros(4, 4, "char4"))
    end)
    matches("texels of short2, and this texture has texels of short", function()
      m.stack = mw.texture(mw.cuda_array(mw.zeros(2, 2, 2, "short"), { kind = "2dlayered" }))
    end)
    m.stack = mw.texture(mw.cuda_array(mw.zeros(2, 2, 2, "short2"), { kind = "2dlayered" }))
    m.img = mw.texture(mw.zeros(4, 4, "half")) -- which are read as floats (guide 11.2, 16-bit floating-point textures)
    matches("texels of float, and this texture has texels of half2", function()
      m.img = mw.texture(mw.zeros(4, 4, "half2"))
    end)
    m.raw = mw.texture(mw.zeros(4, 4, 4, "uchar")) -- pixels, as mw.read_image has them
    matches("this array has 3", mw.texture, mw.zeros(4, 4, 3, "uchar"))
    matches("a texture cannot be made of double", mw.texture, mw.zeros(4, 4, "double"))
  end)

  it("reads elements as it declares, with the texture's options", function()
    local texture = mw.texture(mw.zeros(4, 4, "uchar4"))
    assert.equal("auto", texture.read)
    m.pic = texture
    assert.equal("normalized", texture.read)
    local err = failure(function() m.raw = texture end)
    assert.equal("cudaErrorInvalidTexture", err.code)
    assert.matches("'raw' reads texels as they are %(cudaReadModeElementType%), and this texture is made for reading "
      .. "them as normalized floats", err.message)
    matches("'pic' reads texels as normalized floats", function()
      m.pic = mw.texture(mw.zeros(4, 4, "uchar4"), { read = "element" })
    end)
    m.raw = mw.texture(mw.zeros(4, 4, "uchar4"), { read = "element" })
    m.pic = mw.texture(mw.zeros(4, 4, "uchar4"), { filter = "linear" })
    assert.equal("cudaErrorInvalidFilterSetting", failure(function()
      m.raw = mw.texture(mw.zeros(4, 4, "uchar4"), { filter = "linear" })
    end).code)
  end)
end)

describe("a texture's options", function()
  it("are a reference's defaults where nothing is said", function()
    local texture = mw.texture(rows)
    assert.equal("point", texture.filter)
    assert.equal("clamp", texture.address)
    assert.is_false(texture.normalized)
    assert.same({ 0, 0, 0, 0 }, texture.border)
    assert.same({ 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1000 }, sampler(texture))
  end)

  it("reach the record that fetches read", function()
    local texture = mw.texture(mw.cuda_array(rows), {
      filter = "linear", address = { "wrap", "mirror", "border" }, normalized = true, seamless = true,
      border = { 1, 2, 3, 4 }, mip_filter = "linear", lod_bias = 0.5, lod_min = 1, lod_max = 2, max_anisotropy = 16,
    })
    assert.same({ 0, 2, 3, 1, 0, 1, 0, 1, 1, 2, 3, 4, 1, 0.5, 1, 2 }, sampler(texture))
    assert.same({ "wrap", "mirror", "border" }, texture.address)
    assert.equal(16, texture.max_anisotropy)
    local colours = mw.texture(mw.zeros(2, 2, "uchar4"), { srgb = true, border = 0.5 })
    assert.same({ 1, 1, 1, 0, 1, 0, 1, 0, 0.5, 0.5, 0.5, 0.5, 0, 0, 0, 1000 }, sampler(colours))
  end)

  it("can be changed, for launches from then on", function()
    local texture = mw.texture(rows)
    texture.filter, texture.address, texture.normalized = "linear", "mirror", true
    assert.same({ 2, 2, 2, 1, 0, 1 }, { table.unpack(sampler(texture), 1, 6) })
    texture.normalized = false
    assert.equal("mirror", texture.address[1] and "mirror" or texture.address)
  end)

  it("clamp where wrapped coordinates are not normalized", function()
    local texture = mw.texture(rows, { address = "wrap" })
    assert.same({ 1, 1, 1 }, { table.unpack(sampler(texture), 1, 3) })
    texture.normalized = true
    assert.same({ 0, 0, 0 }, { table.unpack(sampler(texture), 1, 3) })
    texture.address = { "mirror", "border" }
    texture.normalized = false
    assert.same({ 1, 3, 3 }, { table.unpack(sampler(texture), 1, 3) })
  end)

  it("are refused where they make no sense", function()
    local bytes = mw.zeros(4, 4, "uchar4")
    local function code(...) return failure(mw.texture, ...).code end
    assert.equal("cudaErrorInvalidFilterSetting", code(mw.zeros(4, 4, "int"), { filter = "linear" }))
    assert.equal("cudaErrorInvalidFilterSetting", code(bytes, { filter = "linear", read = "element" }))
    assert.equal("cudaErrorInvalidFilterSetting", code(mw.zeros(16), { filter = "linear" }))
    assert.equal("cudaErrorInvalidNormSetting", code(mw.zeros(4, 4, "int"), { read = "normalized" }))
    assert.equal("cudaErrorInvalidNormSetting", code(rows, { read = "normalized" }))
    assert.equal("cudaErrorInvalidNormSetting", code(rows, { srgb = true }))
    assert.equal("cudaErrorInvalidNormSetting", code(bytes, { srgb = true, read = "element" }))
    assert.equal("cudaErrorInvalidValue", code(mw.zeros(16), { normalized = true }))
    matches("a mipmap, whose levels differ in size", mw.texture, mw.cuda_array { width = 4, height = 4, levels = 2 })
    matches('a texture\'s filter is "point", "linear", got \'bilinear\'', mw.texture, rows, { filter = "bilinear" })
    matches('a texture\'s address is "wrap", "clamp", "mirror", "border", got \'repeat\'', mw.texture, rows,
      { address = "repeat" })
    matches("a texture has no option 'fliter'; did you mean 'filter'%? It has address, border, filter",
      mw.texture, rows, { fliter = "linear" })
    matches("normalized is true or false, got 1", mw.texture, rows, { normalized = 1 })
    matches("lod_bias is a number", mw.texture, rows, { lod_bias = "0" })
    matches("wants a table as options, got the string", mw.texture, rows, "linear")
    matches("a texture has no option 'colour'", function() mw.texture(rows).colour = 1 end)
    matches("how a texture reads elements %(as they are, or as normalized floats%) is fixed", function()
      mw.texture(bytes, { read = "element" }).read = "normalized"
    end)
    matches("sRGB or not", function() mw.texture(bytes, { read = "normalized" }).srgb = true end)
    local texture = mw.texture(bytes, { read = "element" })
    assert.equal("cudaErrorInvalidFilterSetting", failure(function() texture.filter = "linear" end).code)
    assert.equal("point", texture.filter)
  end)

  it("do not make memory of other values", function()
    matches("a texture reads an array, a pitched one .* got the number 3", mw.texture, 3)
    matches("got nil", mw.texture)
    matches("an array of 4 dimensions", mw.texture, mw.zeros(2, 2, 2, 2))
    local err = failure(mw.texture, mw.zeros(4, 5, "uchar"))
    assert.equal("cudaErrorInvalidPitchValue", err.code)
    assert.matches("cannot be 5 bytes apart: the pitch is a multiple of 4", err.message)
  end)
end)
