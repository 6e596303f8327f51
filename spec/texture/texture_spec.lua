-- Textures and surfaces on the host's side: references as fields of a module, what may be bound to them, how memory is
-- read through them, objects as arguments. What fetches compute is device_texture_spec's.
-- CPU device only: kernels here look into the records that textures are on the CPU device

local mw = require "moonwarp"
local failure = require "support.failure"

local function matches(pattern, f, ...) assert.matches(pattern, failure(f, ...).message) end

local m = mw.compile [[
texture<float, 2, cudaReadModeElementType> img;
texture<float> line;
texture<uchar4, 2, cudaReadModeNormalizedFloat> pic;
texture<uchar4, cudaTextureType2D> raw;
texture<short2, cudaTextureType2DLayered> stack;
texture<float, cudaTextureType3D> volume;
texture<float, cudaTextureTypeCubemap> sky;
texture<float, cudaTextureType1DLayered> lines;
texture<float, cudaTextureTypeCubemapLayered> skies;
namespace ns { static texture<int> inside; }
surface<void, cudaSurfaceType2D> canvas;
__device__ float plain;

// Texel (x, y) through the record: fetches are specified elsewhere.
__device__ float texel(const mw_tex_record *r, int x, int y) {
  return ((const float *)(r->levels[0].base + y * r->levels[0].row_pitch))[x];
}
__global__ void read(int x, int y, float *out) { *out = texel(__mw_record(img), x, y); }
__global__ void read_line(int x, float *out) { *out = texel(__mw_record(line), x, 0); }
__global__ void read_inside(int *out) { *out = *(const int *)__mw_record(ns::inside)->levels[0].base; }
__device__ __noinline__ float deep(int n) { return n > 0 ? deep(n - 1) : texel(__mw_record(img), 0, 0); }
__global__ void read_deep(float *out) { *out = deep(3); }
template <int N> __global__ void read_times(float *out) { *out = N * texel(__mw_record(img), 0, 0); }
__global__ void read_nothing(float *out) { *out = 7; }
__global__ void size_of(unsigned *out) {
  out[0] = __mw_record(img)->levels[0].width; out[1] = __mw_record(img)->levels[0].height;
}
__global__ void sampler(cudaTextureObject_t t, float *out) {
  const mw_tex_record *r = __mw_record(t);
  float values[] = {(float)r->address[0], (float)r->address[1], (float)r->address[2], (float)r->filter, (float)r->read,
                    (float)r->normalized, (float)r->srgb, (float)r->seamless, r->border[0], r->border[1], r->border[2],
                    r->border[3], (float)r->mip_filter, r->lod_bias, r->lod_min, r->lod_max};
  for (int i = 0; i < 16; i++) out[i] = values[i];
}
__global__ void filter_of(int rounds, volatile int *sink, unsigned *out) {
  for (int i = 0; i < rounds; i++) *sink = i;
  *out = __mw_record(img)->filter;
}
__global__ void late(int rounds, volatile int *sink, float *out) {
  for (int i = 0; i < rounds; i++) *sink = i;
  *out = texel(__mw_record(img), 0, 0);
}
__global__ void read_object(cudaTextureObject_t t, int x, int y, float *out) { *out = texel(__mw_record(t), x, y); }
struct Scene { int x, y; cudaTextureObject_t background; };
__global__ void read_scene(Scene s, float *out) { *out = texel(__mw_record(s.background), s.x, s.y); }
__global__ void read_all(int n, const cudaTextureObject_t *list, float *out) {
  for (int i = 0; i < n; i++) out[i] = texel(__mw_record(list[i]), 0, 0);
}
__global__ void paint(float value) {
  const mw_tex_record *r = __mw_record(canvas);
  float *row = (float *)(r->levels[0].base + threadIdx.y * r->levels[0].row_pitch);
  row[threadIdx.x] = value + 10 * threadIdx.y + threadIdx.x;
}
__global__ void paint_object(cudaSurfaceObject_t s, float value) { *(float *)__mw_record(s)->levels[0].base = value; }
]]

local function read(x, y)
  local out = mw.zeros(1)
  m.read(1, 1)(x, y, out)
  return out[1]
end

local function sampler(texture)
  local out = mw.zeros(16)
  m.sampler(1, 1)(texture, out)
  return out:totable()
end

local rows = mw.arange(12):reshape(3, 4) -- 10 y + x would be 4 y + x

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

describe("a launch", function()
  local out = mw.zeros(1)

  it("fails where it may read a reference that nothing is bound to", function()
    m.img = nil
    local err = failure(m.read(1, 1), 0, 0, out)
    assert.equal("cudaErrorInvalidTextureBinding", err.code)
    assert.equal("launch", err.kind)
    assert.equal("read", err.kernel)
    assert.equal("read reads the texture reference 'img', and nothing is bound to it: assign m.img = "
      .. "mw.texture(array, {...})", err.message)
    matches("read_deep reads the texture reference 'img'", m.read_deep(1, 1), out)
    matches("'img'", m["read_times<2>"](1, 1), out)
    matches("'img'", m.read(1, 1):bind(0, 0, out))
    matches("read_inside reads the texture reference 'ns::inside'", m.read_inside(1, 1), mw.zeros(1, "int"))
    matches("paint reads the surface reference 'canvas', .* assign m%.canvas = mw%.surface%(array%)", m.paint(1, 1), 1)
  end)

  it("needs no references but its own", function()
    m.img = nil
    m.read_nothing(1, 1)(out)
    assert.equal(7, out[1])
    m.line = mw.texture(mw.array { 3, 4 })
    m.read_line(1, 1)(1, out)
    assert.equal(4, out[1])
  end)

  it("finds bound textures when its kernel was specialised for its block size", function()
    local before = mw.limit("specialise", 1)
    local own = mw.compile [[
      texture<float, 2> one, two;
      __global__ void sum(int n, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = ((const float *)__mw_record(two)->levels[0].base)[i]
                          + 2 * ((const float *)__mw_record(one)->levels[0].base)[i];
      }
    ]]
    local results = mw.zeros(64)
    for round = 1, 4 do
      own.one, own.two = mw.texture(mw.full({ 1, 64 }, round)), mw.texture(mw.full({ 1, 64 }, 100 * round))
      own.sum(2, 32)(64, results)
      assert.equal(64 * 102 * round, results:sum())
    end
    mw.limit("specialise", before)
  end)

  it("works again once there is something bound", function()
    m.img = nil
    local bound = m.read(1, 1):bind(2, 1, out)
    failure(bound)
    m.img = mw.texture(rows)
    bound()
    assert.equal(6, out[1])
    m.read_deep(1, 1)(out)
    assert.equal(0, out[1])
  end)

  it("reads the texture that was bound when it was made, even if another is bound while it waits", function()
    local sink, first, second = mw.zeros(1, "int"), mw.zeros(1), mw.zeros(1)
    m.img = mw.texture(mw.full({ 1, 4 }, 1))
    m.late(1, 1)(3000000, sink, first)
    m.img = mw.texture(mw.full({ 1, 4 }, 2))
    m.late(1, 1)(10, sink, second)
    m.img = nil
    assert.same({ 1, 2 }, { first[1], second[1] })
  end)

  it("does so in every stream, including non-blocking ones", function()
    for _, stream in ipairs { mw.stream(), mw.stream { nonblocking = true } } do
      local sink, first, second = mw.zeros(1, "int"), mw.zeros(1), mw.zeros(1)
      local one, two = mw.full({ 1, 4 }, 1), mw.full({ 1, 4 }, 2)
      mw.synchronize() -- which a non-blocking stream does not do by itself
      m.img = mw.texture(one)
      m.late(1, 1, 0, stream)(3000000, sink, first)
      m.img = mw.texture(two)
      m.late(1, 1, 0, stream)(10, sink, second)
      m.img = nil
      collectgarbage()
      collectgarbage()
      mw.synchronize()
      assert.same({ 1, 2 }, { first[1], second[1] })
      local before, after = mw.zeros(1, "uint"), mw.zeros(1, "uint")
      m.img = mw.texture(rows)
      mw.synchronize()
      m.filter_of(1, 1, 0, stream)(3000000, sink, before)
      m.img.filter = "linear"
      m.filter_of(1, 1, 0, stream)(10, sink, after)
      mw.synchronize()
      assert.same({ 0, 1 }, { before[1], after[1] })
    end
  end)

  it("reads with the options at the time when it was made, even if they change while it waits", function()
    local sink, first, second = mw.zeros(1, "int"), mw.zeros(1, "uint"), mw.zeros(1, "uint")
    m.img = mw.texture(rows, { filter = "point" })
    m.filter_of(1, 1)(3000000, sink, first)
    m.img.filter = "linear"
    m.filter_of(1, 1)(10, sink, second)
    m.img.filter = "point"
    assert.same({ 0, 1 }, { first[1], second[1] })
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
    matches("parameter 1 't' of read_object wants unsigned long long, got an array", m.read_object(1, 1), rows, 0, 0,
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
    matches("a surface has nothing to assign, so no 'filter'", function() surface.filter = "linear" end)
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
    matches("dtype is for pictures", mw.texture, rows, { dtype = "float" })
    assert.equal("io", failure(mw.texture, "/nowhere/photo.ppm").kind)
  end)
end)
