-- Fetches that spec/data/texture does not have: references, the other forms of the functions, mipmaps, seamless
-- cubemaps, sRGB, borders with a colour, odd sizes and odd coordinates. Compared with plain loops.

local mw = require "moonwarp"
local suite = require "support.suite"

local m = mw.compile [[
texture<float, 2> plain;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> photo;
texture<short2, 1> pairs;
texture<int, 1> line;
texture<unsigned char, 3, cudaReadModeNormalizedFloat> fog;
texture<float, cudaTextureTypeCubemap> sky;
texture<ushort4, cudaTextureType2DLayered> stack;

__global__ void by_reference(int n, const float4 *at, cudaTextureObject_t t, float *out, float *same) {
  int i = threadIdx.x;
  if (i >= n) return;
  float4 p = at[i];
  out[i] = tex2D(plain, p.x, p.y);
  tex2D(&same[i], t, p.x, p.y);
}
__global__ void of_all_kinds(float4 *floats, int4 *ints) {
  floats[0] = tex2D(photo, 0.5f, 0.5f);
  floats[1] = make_float4(tex3D(fog, 0.5f, 0.5f, 1.5f), texCubemap(sky, 0.1f, 2, 0.3f), 0, 0);
  floats[2] = tex2Dgather(photo, 1, 1, 2);
  short2 pair = tex1D(pairs, 1.5f);
  ints[0] = make_int4(pair.x, pair.y, tex1Dfetch(line, 2), tex1Dfetch(line, -1));
  ushort4 layer = tex2DLayered(stack, 0.5f, 0.5f, 1);
  ints[1] = make_int4(layer.x, layer.y, layer.z, layer.w);
}
__global__ void at_1d(cudaTextureObject_t t, const float *x, float *out) {
  out[threadIdx.x] = tex1D<float>(t, x[threadIdx.x]);
}
__global__ void at_2d(cudaTextureObject_t t, const float2 *at, float4 *out) {
  out[threadIdx.x] = tex2D<float4>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void ints_1d(cudaTextureObject_t t, const float *x, int *out) {
  out[threadIdx.x] = tex1D<int>(t, x[threadIdx.x]);
}
__global__ void levels(cudaTextureObject_t t, const float *lod, float *out, float *steps) {
  out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, lod[threadIdx.x]);
  float step = exp2f(lod[threadIdx.x]) / 8;
  steps[threadIdx.x] = tex2DGrad<float>(t, 0.5f, 0.5f, make_float2(step, 0), make_float2(0, step / 2));
}
__global__ void implied(cudaTextureObject_t t, float *out) { *out = tex2D<float>(t, 0.5f, 0.5f); }
__global__ void directions(cudaTextureObject_t t, const float4 *to, float *out) {
  out[threadIdx.x] = texCubemap<float>(t, to[threadIdx.x].x, to[threadIdx.x].y, to[threadIdx.x].z);
}
__global__ void layered_cube(cudaTextureObject_t t, float *out) {
  out[threadIdx.x] = texCubemapLayered<float>(t, 0, 0, -1, threadIdx.x);
}
]]

local function floats(list, dtype) return mw.array(list, "float"):as(dtype or "float") end

local function close(expected, got)
  assert.is_true(math.abs(expected - got) <= 1e-6, ("expected %.9g, got %.9g"):format(expected, got))
end

describe("a texture reference", function()
  it("reads the same as an object over the same memory", function()
    local texels = mw.arange(48):reshape(6, 8)
    m.plain = mw.texture(texels, { filter = "linear" })
    local at, n = {}, 32
    for i = 0, n - 1 do at[#at + 1], at[#at + 2], at[#at + 3], at[#at + 4] = i * 0.37 - 1, i * 0.29 - 2, 0, 0 end
    local out, same = mw.zeros(n), mw.zeros(n)
    m.by_reference(1, 32)(n, floats(at, "float4"), mw.texture(texels, { filter = "linear" }), out, same)
    assert.are.equal(out:bytes(), same:bytes())
    for i = 1, n do -- texel (x, y) is 8y + x, so that is what is between texels, too
      local x = math.max(0, math.min(7, (i - 1) * 0.37 - 1.5))
      local y = math.max(0, math.min(5, (i - 1) * 0.29 - 2.5))
      assert.is_true(math.abs(8 * y + x - out[i]) < 9 / 256, i)
    end
  end)

  it("may be of bytes, pairs, integers, three dimensions, a cube or layers", function()
    local photo = mw.from_bytes("\255\0\51\102" .. ("\1\2\3\4"):rep(3), "uchar4"):reshape(2, 2)
    m.photo = mw.texture(mw.cuda_array(photo)) -- a GPU takes no rows of 8 bytes in place
    m.fog = mw.texture(mw.cuda_array(mw.array({ { { 10 } }, { { 51 } } }, "uchar")))
    m.sky = mw.texture(mw.cuda_array(mw.array({ 1, 2, 3, 4, 5, 6 }):reshape(6, 1, 1), { kind = "cubemap" }))
    m.pairs = mw.texture(mw.cuda_array(mw.array({ 1, 2, -3, 4 }, "short"):as("short2")))
    m.line = mw.texture(mw.array({ 7, 8, 9 }, "int"))
    m.stack = mw.texture(mw.cuda_array(mw.arange(8, "ushort"):as("ushort4"):reshape(2, 1, 1), { kind = "2dlayered" }))
    local out, ints = mw.zeros(3, "float4"), mw.zeros(2, "int4")
    m.of_all_kinds(1, 1)(out, ints)
    local v, i = out:as("float"):totable(), ints:as("int"):totable()
    local expected = { 1, 0, 0.2, 0.4, 0.2, 3, 0, 0, 3 / 255, 3 / 255, 3 / 255, 0.2 }
    for k = 1, 12 do close(expected[k], v[k]) end
    assert.are.same({ -3, 4, 9, 0, 4, 5, 6, 7 }, i)
  end)
end)

it("a texture reference of floats may be bound to halves", function()
  local at, out, same = floats({ 1, 0.5, 0, 0 }, "float4"), mw.zeros(1), mw.zeros(1)
  for _, dtype in ipairs { "half", "float" } do
    local texture = mw.texture(mw.cuda_array(mw.array({ 1, 4 }, dtype):reshape(1, 2)), { filter = "linear" })
    m.plain = texture
    m.by_reference(1, 32)(1, at, texture, out, same)
    assert.are.same({ 2.5, 2.5 }, { out[1], same[1] })
  end
end)

it("a texture reference of halves gives floats", function()
  local halves = mw.compile [[
    #include <cuda_fp16.h>
    texture<__half, 2> img;
    texture<__half2, 1> pairs;
    __global__ void k(float *out) {
      out[0] = tex2D(img, 1.0f, 0.5f);
      float2 pair = tex1D(pairs, 0.5f);
      out[1] = pair.x;
      out[2] = pair.y;
    }
  ]]
  halves.img = mw.texture(mw.cuda_array(mw.array({ 1, 2 }, "half"):reshape(1, 2)), { filter = "linear" })
  halves.pairs = mw.texture(mw.cuda_array(mw.array({ 3, 4.5 }, "half"):as("half2")))
  local out = mw.zeros(3)
  halves.k(1, 1)(out)
  assert.are.same({ 1.5, 3, 4.5 }, out:totable())
end)

describe("coordinates", function()
  local function fold(i, n, mode)
    if mode == "wrap" then return i % n end
    local j = i % (2 * n)
    return j < n and j or 2 * n - 1 - j
  end

  for _, mode in ipairs { "wrap", "mirror" } do
    it(mode .. " in textures whose size is not a power of two", function()
      local n, xs, expected = 7, {}, {}
      for i = -40, 40 do
        xs[#xs + 1] = (i + 0.5) / n
        expected[#expected + 1] = fold(i, n, mode)
      end
      local out = mw.zeros(#xs)
      m.at_1d(1, #xs)(mw.texture(mw.cuda_array(mw.arange(n)), { address = mode, normalized = true }), floats(xs), out)
      assert.are.same(expected, out:totable())
    end)
  end

  it("far away, without end or without value, stay inside", function()
    local xs = { 1e9, -1e9, 3e38, -3e38, math.huge, -math.huge, 0 / 0 }
    local out = mw.zeros(#xs)
    for _, filter in ipairs { "point", "linear" } do
      m.at_1d(1, #xs)(mw.texture(mw.cuda_array(mw.array { 5, 6, 7 }), { filter = filter }), floats(xs), out)
      assert.are.same({ 7, 5, 7, 5, 7, 5, 5 }, out:totable())
    end
    for _, mode in ipairs { "wrap", "mirror", "border" } do
      local texture = mw.texture(mw.cuda_array(mw.array { 5, 6, 7 }), { address = mode, normalized = true })
      m.at_1d(1, #xs)(texture, floats(xs), out)
      for i = 1, #xs do assert.is_true(out[i] == 0 and mode == "border" or out[i] >= 5 and out[i] <= 7, mode .. i) end
    end
  end)

  it("outside are the border's colour, blended like any other", function()
    local texture = mw.texture(mw.cuda_array(mw.from_bytes(("\255"):rep(16), "uchar4"):reshape(2, 2)),
      { address = "border", border = { 0, 0.2, 0.4, 1 }, read = "normalized", filter = "linear" })
    local out = mw.zeros(3, "float4")
    m.at_2d(1, 3)(texture, floats({ -9, 1, 0, 1, 1, 1 }, "float2"), out)
    local v = out:as("float"):totable()
    for i, expected in ipairs { 0, 0.2, 0.4, 1, 0.5, 0.6, 0.7, 1, 1, 1, 1, 1 } do
      assert.is_true(math.abs(expected - v[i]) < 1e-5, i .. ": " .. v[i])
    end
    local ints = mw.zeros(2, "int")
    m.ints_1d(1, 2)(mw.texture(mw.cuda_array(mw.array({ 1, 2 }, "int")), { address = "border", border = -5 }),
      floats { -1, 1.5 }, ints)
    assert.are.same({ -5, 2 }, ints:totable())
  end)
end)

describe("an object of integers", function()
  local fetching = mw.compile [[
    template <class T> __global__ void fetch(cudaTextureObject_t flat, cudaTextureObject_t line, T *out) {
      int x = threadIdx.x;
      out[2 * x] = tex2D<T>(flat, x + 0.5f, 1.5f);
      out[2 * x + 1] = tex1Dfetch<T>(line, x);
    }
    template <class T, class Q> __global__ void gather(cudaTextureObject_t flat, Q *out) {
      *out = tex2Dgather<T>(flat, 1, 2, 0);
    }
  ]]
  -- 5 x 2 texels with bits above and below each format's sign
  local formats = {
    { "char", { -128, -1, 0, 1, 127 } }, { "uchar", { 0, 1, 127, 128, 255 } },
    { "short", { -32768, -129, 0, 255, 32767 } }, { "ushort", { 0, 255, 256, 32768, 65535 } },
    { "int", { -2 ^ 31, -40000, 0, 70000, 2 ^ 31 - 1 } }, { "uint", { 0, 255, 65536, 2 ^ 31, 2 ^ 32 - 1 } },
  }
  local fetched = { char = { 8, true }, ["unsigned short"] = { 16 }, int = { 32, true } }
  local dtypes = { ["unsigned short"] = "ushort" }

  -- Cut to a type: modulo 2^bits, and from half of that on negative.
  local function cut(value, bits, signed)
    value = value % 2 ^ bits
    return signed and value >= 2 ^ (bits - 1) and value - 2 ^ bits or value
  end

  local function textures(dtype, values)
    local rows = { {}, values }
    for i = 1, #values do rows[1][i] = 7 end
    return mw.texture(mw.cuda_array(mw.array(rows, dtype))), mw.texture(mw.array(values, dtype))
  end

  it("is fetched as any other type of integers: extended by its own format, cut by the fetch's", function()
    for _, format in ipairs(formats) do
      local flat, line = textures(table.unpack(format))
      for element, facts in pairs(fetched) do
        local out = mw.zeros(10, dtypes[element] or element)
        fetching["fetch<" .. element .. ">"](1, 5)(flat, line, out)
        for i, value in ipairs(format[2]) do
          local expected = cut(value, facts[1], facts[2])
          assert.are.same({ expected, expected }, { out[2 * i - 1], out[2 * i] }, format[1] .. " as " .. element)
        end
      end
    end
  end)

  it("has 0 for the components that its texels do not have", function()
    local flat, line = textures("short", { -3, 5, 6, 7, 8 })
    local out = mw.zeros(10, "int4")
    fetching["fetch<int4>"](1, 5)(flat, line, out)
    assert.are.same({ -3, 0, 0, 0, -3, 0, 0, 0, 5, 0, 0, 0 }, { table.unpack(out:as("int"):totable(), 1, 12) })
  end)

  it("is gathered as another type as well", function()
    local flat = textures("char", { -3, 5, 6, 7, 8 })
    local out = mw.zeros(1, "int4")
    fetching["gather<int4, int4>"](1, 1)(flat, out)
    assert.are.same({ -3, 5, 5, -3 }, out:as("int"):totable()) -- between the last row and what is below: the row again
  end)
end)

it("components that texels do not have are 0", function()
  local out = mw.zeros(1, "float4")
  m.at_2d(1, 1)(mw.texture { { 0.25 } }, floats({ 0.5, 0.5 }, "float2"), out)
  assert.are.same({ 0.25, 0, 0, 0 }, out:as("float"):totable())
end)

it("sRGB is made linear, and alpha is not", function()
  if suite.on_gpu then return pending "CPU device only: a GPU has a table with fewer bits" end
  local bytes = { 0, 10, 11, 128, 188, 255, 64, 200 }
  local out = mw.zeros(2, "float4")
  m.at_2d(1, 2)(mw.texture(mw.cuda_array(mw.array(bytes, "uchar"):as("uchar4"):reshape(1, 2)),
    { srgb = true, read = "normalized" }), floats({ 0.5, 0.5, 1.5, 0.5 }, "float2"), out)
  local v = out:as("float"):totable()
  for i, byte in ipairs(bytes) do
    local c = byte / 255
    local light = c <= 0.04045 and c / 12.92 or ((c + 0.055) / 1.055) ^ 2.4
    close(i % 4 == 0 and c or light, v[i])
  end
end)

describe("levels of detail", function()
  local function mipmap()
    local array = mw.cuda_array { width = 8, height = 8, levels = 4, dtype = "float" }
    for level = 1, 4 do
      local size = 2 ^ (4 - level)
      array:copy_from(mw.full({ size, size }, 10 * level), { to = { level = level } })
    end
    return array
  end

  local function read(options, list)
    options.normalized = true
    local out, steps = mw.zeros(#list), mw.zeros(#list)
    m.levels(1, #list)(mw.texture(mipmap(), options), floats(list), out, steps)
    return out:totable(), steps:totable()
  end

  it("choose the nearest level, by number and by gradient", function()
    local out, steps = read({}, { -1, 0, 0.49, 0.51, 1, 2, 3, 9 })
    assert.are.same({ 10, 10, 10, 20, 20, 30, 40, 40 }, out)
    assert.are.same(out, steps)
  end)

  it("blend two levels in 256ths", function()
    local out = read({ mip_filter = "linear" }, { 0, 0.25, 0.501, 1.75, 2.999, 5 })
    assert.are.same({ 10, 12.5, 15, 27.5, 39.9609375, 40 }, out) -- rounded down
  end)

  it("have a bias and bounds", function()
    assert.are.same({ 20, 30, 30 }, (read({ lod_bias = 1, lod_max = 2 }, { 0, 1, 2 })))
    assert.are.same({ 20, 20, 30 }, (read({ lod_min = 1 }, { 0, 1, 2 })))
    local out = mw.zeros(1)
    m.implied(1, 1)(mw.texture(mipmap(), { normalized = true, lod_bias = 2 }), out)
    assert.are.equal(10, out[1]) -- a fetch that names no level has no bias
    m.implied(1, 1)(mw.texture(mipmap(), { normalized = true }), out)
    assert.are.equal(10, out[1])
  end)
end)

describe("a cubemap", function()
  it("has layers of six faces", function()
    local array = mw.cuda_array(mw.arange(12):reshape(12, 1, 1), { kind = "cubemaplayered" })
    local out = mw.zeros(3)
    m.layered_cube(1, 3)(mw.texture(array), out)
    assert.are.same({ 5, 11, 11 }, out:totable()) -- indices past the last layer fetch the last
  end)

  it("is filtered across its edges where it is seamless", function()
    local faces = {}
    for face = 1, 6 do
      for i = 1, 16 do faces[16 * (face - 1) + i] = face end
    end
    local array = mw.cuda_array(mw.array(faces):reshape(6, 4, 4), { kind = "cubemap" })
    -- the middle of a face, the edge of +x and +y, +x and -z, -x and +z, a corner; one constant a face
    local to = floats({ 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, -1, 0, -1, 0, 1, 0, 1, 1, 1, 0 }, "float4")
    local out, n = mw.zeros(5), 5
    m.directions(1, n)(mw.texture(array, { filter = "linear", normalized = true, seamless = true }), to, out)
    local v = out:totable()
    close(1, v[1])
    close((1 + 3) / 2, v[2])
    close((1 + 6) / 2, v[3])
    close((2 + 5) / 2, v[4])
    assert.is_true(math.abs((1 + 3 + 5) / 3 - v[5]) < 0.02, v[5])
    m.directions(1, n)(mw.texture(array, { filter = "linear", normalized = true }), to, out)
    assert.are.same({ 1, 3, 6, 5, 5 }, out:totable()) -- on an edge z goes before y, and y before x
  end)

  it("is the same on both sides of an edge where it is seamless", function()
    local random = require "support.random" "texture_fetch_spec"
    local values = {}
    for i = 1, 96 do values[i] = random(0, 100) end
    local array = mw.cuda_array(mw.array(values):reshape(6, 4, 4), { kind = "cubemap" })
    local to, n = {}, 16
    for i = 1, n do
      local along, e = (i - 8.5) / 11, i % 2 == 0 and 1e-4 or -1e-4
      for _, side in ipairs { 1 + e, 1 - e } do
        to[#to + 1], to[#to + 2], to[#to + 3], to[#to + 4] = side, along, 1, 0
      end
    end
    local out = mw.zeros(2 * n)
    m.directions(1, 2 * n)(mw.texture(array, { filter = "linear", normalized = true, seamless = true }),
      floats(to, "float4"), out)
    for i = 1, n do
      local here, there = out[2 * i - 1], out[2 * i]
      assert.is_true(math.abs(here - there) < 1.5, ("at %d: %g and %g"):format(i, here, there))
    end
  end)
end)
