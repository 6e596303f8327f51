-- Images of OpenGL as mipmapped arrays, and the devices that draw, under CUDA's names and as objects, with Mesa's
-- software renderer on the other side. The driver's names are in driver_graphics_spec.lua.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local failure = require "support.failure"
local gl = require "support.gl"
local runtime = require "support.api.runtime"

local ok, code = runtime.ok, runtime.code
local with_gl = gl.spec(it, pending)

local m = mw.compile [[
__global__ void levels(cudaTextureObject_t t, float *out) {
  for (int i = 0; i < 5; i++) out[i] = tex2DLod<float>(t, 0.5f, 0.5f, i * 0.5f);
}
__global__ void layers(cudaTextureObject_t t, float *out) {
  out[threadIdx.x] = tex2DLayeredLod<float>(t, 0.5f, 0.5f, threadIdx.x / 2, threadIdx.x % 2);
}
__global__ void faces(cudaTextureObject_t t, float *out) {
  out[0] = texCubemap<float>(t, 1, 0, 0);
  out[1] = texCubemap<float>(t, 0, 0, -1);
}
__global__ void put(cudaSurfaceObject_t s, float v) { surf2Dwrite(v, s, threadIdx.x * 4, 0); }
]]

local TEXTURE_2D, TEXTURE_3D, CUBE, CUBE_X, LAYERS, RECTANGLE = 0x0de1, 0x806f, 0x8513, 0x8515, 0x8c1a, 0x84f5
local R32F, RED, FLOATS = 0x822e, 0x1903, 0x1406

local function floats(count, value) return (string.pack("f", value)):rep(count) end

-- A texture of floats whose levels are given as { target, level, width, height, depth or nil, value }.
local function texture(target, levels)
  local name = gl.name "glGenTextures"
  gl.call("glBindTexture", target, name)
  for _, l in ipairs(levels) do
    local texels = type(l[6]) == "string" and l[6] or floats(l[3] * l[4] * (l[5] or 1), l[6])
    if l[5] then
      gl.call("glTexImage3D", l[1], l[2], R32F, l[3], l[4], l[5], 0, RED, FLOATS, texels)
    else
      gl.call("glTexImage2D", l[1], l[2], R32F, l[3], l[4], 0, RED, FLOATS, texels)
    end
  end
  gl.call("glBindTexture", target, 0)
  return name
end

local function pyramid()
  return texture(TEXTURE_2D, {
    { TEXTURE_2D, 0, 4, 2, nil, 1 }, { TEXTURE_2D, 1, 2, 1, nil, 2 }, { TEXTURE_2D, 2, 1, 1, nil, 4 },
  })
end

-- What OpenGL has in a level.
local function texels(target, name, level, count, part)
  gl.call("glBindTexture", target, name)
  local _, got = gl.fetch(4 * count, "glGetTexImage", part or target, level, RED, FLOATS, true)
  gl.call("glBindTexture", target, 0)
  return { string.unpack(("f"):rep(count), got) }
end

local function same(expected, got)
  for i, value in ipairs(expected) do assert.equal(value, got[i], "number " .. i) end
end

local function mapped(name, target, flags)
  local resource = ok(rt.cudaGraphicsGLRegisterImage(name, target, flags or 0))
  ok(rt.cudaGraphicsMapResources(1, resource))
  return resource, rt.cudaGraphicsResourceGetMappedMipmappedArray(resource)
end

local function extent_of(array)
  local _, extent = ok(rt.cudaArrayGetInfo(array))
  return extent.width, extent.height, extent.depth
end

-- A texture over all of a mipmapped array.
local function object(mipmap)
  local all = { resType = rt.cudaResourceTypeMipmappedArray, res = { mipmap = { mipmap = mipmap } } }
  return ok(rt.cudaCreateTextureObject(all,
    { normalizedCoords = 1, mipmapFilterMode = rt.cudaFilterModeLinear, maxMipmapLevelClamp = 9,
      addressMode = { rt.cudaAddressModeClamp, rt.cudaAddressModeClamp, rt.cudaAddressModeClamp } }))
end

describe("cudaGraphicsResourceGetMappedMipmappedArray", function()
  with_gl("has a texture's levels, which textures filter between", function()
    local name = pyramid()
    local resource, err, mipmap = mapped(name, TEXTURE_2D)
    assert.equal(rt.cudaSuccess, err)
    local t, out = object(mipmap), mw.zeros(5)
    m.levels(1, 1)(t, out)
    same({ 1, 1.5, 2, 3, 4 }, out)
    same({ 4, 2, 0 }, { extent_of(ok(rt.cudaGetMipmappedArrayLevel(mipmap, 0))) })
    same({ 1, 1, 0 }, { extent_of(ok(rt.cudaGetMipmappedArrayLevel(mipmap, 2))) })
    code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(mipmap, 3))
    assert.equal(mipmap, ok(rt.cudaGraphicsResourceGetMappedMipmappedArray(resource)))
    code("cudaErrorInvalidValue", rt.cudaFreeMipmappedArray(mipmap))
    assert.matches("unmapped", rt.story().message)
    ok(rt.cudaDestroyTextureObject(t))
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(mipmap, 0))
    same({ 1, 1, 1, 1, 1, 1, 1, 1 }, texels(TEXTURE_2D, name, 0, 8))
    ok(rt.cudaGraphicsMapResources(1, resource)) -- and is another one after the next mapping
    assert.not_equal(mipmap, ok(rt.cudaGraphicsResourceGetMappedMipmappedArray(resource)))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("is the same memory as the arrays of its parts, whichever comes first", function()
    local name = pyramid()
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, rt.cudaGraphicsRegisterFlagsSurfaceLoadStore))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local early = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 1))
    m.put(1, 2)(mw.surface(early), 30)
    local mipmap = ok(rt.cudaGraphicsResourceGetMappedMipmappedArray(resource))
    local late, t, out = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 2)), object(mipmap), mw.zeros(5)
    code("cudaErrorInvalidValue", rt.cudaFreeArray(late))
    m.put(1, 1)(mw.surface(late), 50)
    m.put(1, 4)(mw.surface(ok(rt.cudaGetMipmappedArrayLevel(mipmap, 0))), 10)
    m.levels(1, 1)(t, out)
    same({ 1, 15.5, 30, 40, 50 }, out) -- the middle of level 0 is in its second row
    ok(rt.cudaDestroyTextureObject(t))
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    same({ 10, 10, 10, 10, 1, 1, 1, 1 }, texels(TEXTURE_2D, name, 0, 8))
    same({ 30, 30 }, texels(TEXTURE_2D, name, 1, 2))
    same({ 50 }, texels(TEXTURE_2D, name, 2, 1))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("has layers and faces", function()
    local name = texture(LAYERS, {
      { LAYERS, 0, 2, 2, 3, floats(4, 1) .. floats(4, 2) .. floats(4, 3) },
      { LAYERS, 1, 1, 1, 3, floats(1, 10) .. floats(1, 20) .. floats(1, 30) },
    })
    local resource, err, mipmap = mapped(name, LAYERS)
    assert.equal(rt.cudaSuccess, err)
    local t, out = object(mipmap), mw.zeros(6)
    m.layers(1, 6)(t, out)
    same({ 1, 10, 2, 20, 3, 30 }, out)
    m.put(1, 2)(mw.surface(ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 1, 0))), 7)
    ok(rt.cudaDestroyTextureObject(t))
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    same({ 1, 1, 1, 1, 7, 7, 2, 2, 3, 3, 3, 3 }, texels(LAYERS, name, 0, 12))
    same({ 10, 20, 30 }, texels(LAYERS, name, 1, 3))
    ok(rt.cudaGraphicsUnregisterResource(resource))

    local faces = {}
    for face = 0, 5 do faces[face + 1] = { CUBE_X + face, 0, 2, 2, nil, face + 1 } end
    name = texture(CUBE, faces)
    resource, err, mipmap = mapped(name, CUBE)
    assert.equal(rt.cudaSuccess, err)
    t = object(mipmap)
    m.faces(1, 1)(t, out)
    same({ 1, 6 }, out)
    local sixth = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 5, 0))
    ok(rt.cudaMemcpyToArray(sixth, 0, 0, floats(4, 8), 16, rt.cudaMemcpyHostToDevice))
    m.faces(1, 1)(t, out)
    same({ 1, 8 }, out)
    ok(rt.cudaDestroyTextureObject(t))
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    same({ 8, 8, 8, 8 }, texels(CUBE, name, 0, 4, CUBE_X + 5))
    same({ 5, 5, 5, 5 }, texels(CUBE, name, 0, 4, CUBE_X + 4))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("has the levels that follow from the first one, and the depth of a solid image", function()
    local broken = texture(TEXTURE_2D, { { TEXTURE_2D, 0, 4, 4, nil, 1 }, { TEXTURE_2D, 1, 3, 1, nil, 2 } })
    local rectangle = texture(RECTANGLE, { { RECTANGLE, 0, 4, 2, nil, 1 } })
    for _, case in ipairs { { broken, TEXTURE_2D }, { rectangle, RECTANGLE } } do
      local resource, _, mipmap = mapped(case[1], case[2])
      assert.equal(4, (extent_of(ok(rt.cudaGetMipmappedArrayLevel(mipmap, 0)))))
      code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(mipmap, 1))
      ok(rt.cudaGraphicsUnregisterResource(resource))
    end
    local solid = texture(TEXTURE_3D, { { TEXTURE_3D, 0, 2, 2, 4, 1 }, { TEXTURE_3D, 1, 1, 1, 2, 2 } })
    local resource, _, mipmap = mapped(solid, TEXTURE_3D)
    same({ 1, 1, 2 }, { extent_of(ok(rt.cudaGetMipmappedArrayLevel(mipmap, 1))) })
    code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(mipmap, 2))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("fetches nothing that is to be written whole, and writes all of it back", function()
    local name = pyramid()
    local resource, _, mipmap = mapped(name, TEXTURE_2D, rt.cudaGraphicsRegisterFlagsWriteDiscard)
    for level, size in ipairs { 8, 2, 1 } do
      local array = ok(rt.cudaGetMipmappedArrayLevel(mipmap, level - 1))
      ok(rt.cudaMemcpyToArray(array, 0, 0, floats(size, level), 4 * size, rt.cudaMemcpyHostToDevice))
    end
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    same({ 1, 1, 1, 1, 1, 1, 1, 1 }, texels(TEXTURE_2D, name, 0, 8))
    same({ 2, 2 }, texels(TEXTURE_2D, name, 1, 2))
    same({ 3 }, texels(TEXTURE_2D, name, 2, 1))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("says what is wrong", function()
    local buffer = ok(rt.cudaGraphicsGLRegisterBuffer(gl.buffer "four", 0))
    local image = ok(rt.cudaGraphicsGLRegisterImage(pyramid(), TEXTURE_2D, 0))
    code("cudaErrorUnknown", rt.cudaGraphicsResourceGetMappedMipmappedArray(image))
    ok(rt.cudaGraphicsMapResources(2, { buffer, image }))
    code("cudaErrorUnknown", rt.cudaGraphicsResourceGetMappedMipmappedArray(buffer))
    assert.matches("has an address and no arrays", rt.story().message)
    ok(rt.cudaGraphicsUnregisterResource(buffer))
    ok(rt.cudaGraphicsUnregisterResource(image))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsResourceGetMappedMipmappedArray(image))
  end)

  with_gl("is refused by a device without such arrays, which has the parts", function()
    local faces = {}
    for face = 0, 5 do faces[face + 1] = { CUBE_X + face, 0, 2, 2, nil, face + 1 } end
    local name = texture(CUBE, faces)
    mw.with(mw.device "cpu@1.1", function()
      local resource = mapped(name, CUBE)
      code("cudaErrorNotSupported", rt.cudaGraphicsResourceGetMappedMipmappedArray(resource))
      local array = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 5, 0))
      ok(rt.cudaMemcpyToArray(array, 0, 0, floats(4, 9), 16, rt.cudaMemcpyHostToDevice))
      ok(rt.cudaGraphicsUnmapResources(1, resource))
      ok(rt.cudaGraphicsUnregisterResource(resource))
    end)
    same({ 9, 9, 9, 9 }, texels(CUBE, name, 0, 4, CUBE_X + 5))
  end)
end)

describe("a mapped image", function()
  with_gl("is one CUDA array as a whole", function()
    local image = mw.gl_image(pyramid())
    assert.equal("cudaErrorNotMapped", failure(image.whole, image).code)
    local t, out = mw.texture(image:map():whole(), { normalized = true, mip_filter = "linear" }), mw.zeros(5)
    m.levels(1, 1)(t, out)
    same({ 1, 1.5, 2, 3, 4 }, out)
    image:unmap()
  end)
end)

describe("the devices that draw", function()
  with_gl("are all, where no driver knows of one", function()
    local count = ok(rt.cudaGetDeviceCount())
    local all, list = ok(rt.cudaGLGetDevices(64, rt.cudaGLDeviceListAll))
    assert.equal(count, all)
    assert.equal(count, #list)
    assert.equal(0, list[1])
    all, list = ok(rt.cudaGLGetDevices(0, rt.cudaGLDeviceListCurrentFrame))
    assert.same({ count, {} }, { all, list })
    code("cudaErrorInvalidValue", rt.cudaGLGetDevices(1, 0))
    code("cudaErrorInvalidValue", rt.cudaGLGetDevices(1, 4))
    code("cudaErrorInvalidValue", rt.cudaGLGetDevices(-1, rt.cudaGLDeviceListAll))
  end)

  it("are used with a current context only", function()
    code("cudaErrorInvalidGraphicsContext", rt.cudaGLGetDevices(1, rt.cudaGLDeviceListAll))
  end)
end)
