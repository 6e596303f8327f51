-- moonwarp.runtime: images of OpenGL, textures and renderbuffers, with Mesa's software renderer on the other side.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local gl = require "support.gl"
local runtime = require "support.api.runtime"

local ok, code = runtime.ok, runtime.code

local m = rt.register(mw.compile [[
surface<void, 2> board;
__global__ void count(int width) {
  surf2Dwrite(make_uchar4(threadIdx.x, blockIdx.x, 7, 255), board, threadIdx.x * 4, blockIdx.x);
}
]])

local with_gl = gl.spec(it, pending)

local TEXTURE_2D, TEXTURE_3D, CUBE, CUBE_X, LAYERS, RECTANGLE, RENDERBUFFER =
  0x0de1, 0x806f, 0x8513, 0x8515, 0x8c1a, 0x84f5, 0x8d41
local RGBA, RED, RED_INTEGER, BYTES, FLOATS = 0x1908, 0x1903, 0x8d94, 0x1401, 0x1406

-- A level's texels (a cubemap's: of a face, by the face's target) as OpenGL has them.
local function texels(target, name, level, format, kind, bytes, part)
  gl.call("glBindTexture", target, name)
  local _, got = gl.fetch(bytes, "glGetTexImage", part or target, level, format, kind, true)
  gl.call("glBindTexture", target, 0)
  return got
end

local function bytes_of(first, count)
  local list = {}
  for i = 1, count do list[i] = string.char((first + i) % 256) end
  return table.concat(list)
end

-- Map a part of an image, check what it holds, write other bytes there, and unmap it.
local function exchange(resource, layer, level, pitch, rows, expected, new)
  ok(rt.cudaGraphicsMapResources(1, { resource }))
  local array = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, layer, level))
  local host = rt.malloc(#new)
  ok(rt.cudaMemcpy2DFromArray(host, pitch, array, 0, 0, pitch, rows, rt.cudaMemcpyDeviceToHost))
  assert.equal(expected, host:cast("uchar"):tostring(#new))
  ok(rt.cudaMemcpy2DToArray(array, 0, 0, new, pitch, pitch, rows, rt.cudaMemcpyHostToDevice))
  ok(rt.cudaGraphicsUnmapResources(1, { resource }))
  code("cudaErrorInvalidValue", rt.cudaGetChannelDesc(array))
  rt.free(host)
end

describe("an image of OpenGL", function()
  with_gl("is a CUDA array while it is mapped, level by level", function()
    local large, small = bytes_of(0, 6 * 4 * 4), bytes_of(100, 3 * 2 * 4)
    local name = gl.texture(TEXTURE_2D, {
      { TEXTURE_2D, 0, 0x8058, 6, 4, nil, RGBA, BYTES, large },
      { TEXTURE_2D, 1, 0x8058, 3, 2, nil, RGBA, BYTES, small },
    })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, rt.cudaGraphicsRegisterFlagsNone))
    exchange(resource, 0, 0, 24, 4, large, bytes_of(50, #large))
    exchange(resource, 0, 1, 12, 2, small, bytes_of(7, #small))
    assert.equal(bytes_of(50, #large), texels(TEXTURE_2D, name, 0, RGBA, BYTES, #large))
    assert.equal(bytes_of(7, #small), texels(TEXTURE_2D, name, 1, RGBA, BYTES, #small))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("is written by a kernel through a surface", function()
    local name = gl.texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8058, 3, 2, nil, RGBA, BYTES, false } })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, rt.cudaGraphicsRegisterFlagsSurfaceLoadStore))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local array = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))
    local desc, extent, flags = ok(rt.cudaArrayGetInfo(array))
    assert.same({ 8, 8, 8, 8, rt.cudaChannelFormatKindUnsigned }, { desc.x, desc.y, desc.z, desc.w, desc.f })
    assert.same({ width = 3, height = 2, depth = 0 }, extent)
    assert.equal(rt.cudaArraySurfaceLoadStore, flags)
    ok(rt.cudaBindSurfaceToArray(ok(rt.cudaGetSurfaceReference "board"), array))
    ok(rt.cudaLaunchKernel(m.count, 2, 3, { 3 }))
    local again, host = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0)), rt.malloc(4)
    ok(rt.cudaMemcpy2DFromArray(host, 4, again, 8, 1, 4, 1, rt.cudaMemcpyDeviceToHost)) -- the same array
    assert.equal("\2\1\7\255", host:cast("uchar"):tostring(4))
    rt.free(host)
    code("cudaErrorInvalidValue", rt.cudaFreeArray(array))
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    assert.equal("\0\0\7\255\1\0\7\255\2\0\7\255\0\1\7\255\1\1\7\255\2\1\7\255",
      texels(TEXTURE_2D, name, 0, RGBA, BYTES, 24))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("of other formats has their channels", function()
    for _, case in ipairs {
      { 0x822e, RED, FLOATS, 4, { 32, 0, 0, 0, rt.cudaChannelFormatKindFloat } }, -- GL_R32F
      { 0x8236, RED_INTEGER, 0x1405, 4, { 32, 0, 0, 0, rt.cudaChannelFormatKindUnsigned } }, -- GL_R32UI
      { 0x8239, 0x8228, 0x1402, 4, { 16, 16, 0, 0, rt.cudaChannelFormatKindSigned } }, -- GL_RG16I
      { 0x881a, RGBA, 0x140b, 8, { 16, 16, 16, 16, rt.cudaChannelFormatKindFloat } }, -- GL_RGBA16F
      { 0x8229, RED, BYTES, 1, { 8, 0, 0, 0, rt.cudaChannelFormatKindUnsigned } }, -- GL_R8
      { 0x8040, 0x1909, BYTES, 1, { 8, 0, 0, 0, rt.cudaChannelFormatKindUnsigned } }, -- GL_LUMINANCE8
    } do
      local internal, format, kind, size, channels = case[1], case[2], case[3], case[4], case[5]
      local old, new = ("\0\60"):rep(5 * 3 * 4):sub(1, 15 * size), ("\0\64"):rep(5 * 3 * 4):sub(1, 15 * size)
      local name = gl.name "glGenTextures"
      gl.call("glPixelStorei", 0x0cf5, 1)
      gl.call("glBindTexture", TEXTURE_2D, name)
      gl.call("glTexImage2D", TEXTURE_2D, 0, internal, 5, 3, 0, format, kind, old)
      gl.call("glPixelStorei", 0x0cf5, 4)
      local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, 0))
      ok(rt.cudaGraphicsMapResources(1, resource))
      local desc = ok(rt.cudaGetChannelDesc(ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))))
      assert.same(channels, { desc.x, desc.y, desc.z, desc.w, desc.f })
      ok(rt.cudaGraphicsUnmapResources(1, resource))
      exchange(resource, 0, 0, 5 * size, 3, old, new)
      exchange(resource, 0, 0, 5 * size, 3, new, old)
      assert.equal(name, gl.integer(0x8069)) -- GL_TEXTURE_BINDING_2D
      ok(rt.cudaGraphicsUnregisterResource(resource))
    end
  end)

  with_gl("of three dimensions is one array, of layers and faces an array for each", function()
    local all = bytes_of(0, 4 * 3 * 2)
    local name = gl.texture(TEXTURE_3D, { { TEXTURE_3D, 0, 0x8229, 4, 3, 2, RED, BYTES, all } })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_3D, 0))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local _, extent = ok(rt.cudaArrayGetInfo(ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))))
    assert.same({ width = 4, height = 3, depth = 2 }, extent)
    code("cudaErrorInvalidValue", rt.cudaGraphicsSubResourceGetMappedArray(resource, 1, 0))
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    assert.equal(all, texels(TEXTURE_3D, name, 0, RED, BYTES, 24))
    ok(rt.cudaGraphicsUnregisterResource(resource))

    name = gl.texture(LAYERS, { { LAYERS, 0, 0x8229, 4, 2, 3, RED, BYTES, all } })
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, LAYERS, 0))
    exchange(resource, 1, 0, 4, 2, all:sub(9, 16), "layer  1")
    assert.equal(all:sub(1, 8) .. "layer  1" .. all:sub(17), texels(LAYERS, name, 0, RED, BYTES, 24))
    ok(rt.cudaGraphicsUnregisterResource(resource))

    local faces = {}
    for face = 0, 5 do
      faces[face + 1] = { CUBE_X + face, 0, 0x8229, 4, 4, nil, RED, BYTES, bytes_of(20 * face, 16) }
    end
    name = gl.texture(CUBE, faces)
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, CUBE, 0))
    exchange(resource, rt.cudaGraphicsCubeFaceNegativeZ, 0, 4, 4, bytes_of(100, 16), "the sixth face: ")
    assert.equal("the sixth face: ", texels(CUBE, name, 0, RED, BYTES, 16, CUBE_X + 5))
    assert.equal(bytes_of(80, 16), texels(CUBE, name, 0, RED, BYTES, 16, CUBE_X + 4))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("may be a rectangle or a renderbuffer", function()
    local name = gl.texture(RECTANGLE, { { RECTANGLE, 0, 0x8058, 3, 2, nil, RGBA, BYTES, bytes_of(0, 24) } })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, RECTANGLE, 0))
    exchange(resource, 0, 0, 12, 2, bytes_of(0, 24), bytes_of(90, 24))
    assert.equal(bytes_of(90, 24), texels(RECTANGLE, name, 0, RGBA, BYTES, 24))
    ok(rt.cudaGraphicsUnregisterResource(resource))

    name = gl.name "glGenRenderbuffers"
    gl.call("glBindRenderbuffer", RENDERBUFFER, name)
    gl.call("glRenderbufferStorage", RENDERBUFFER, 0x8058, 3, 2)
    gl.call("glBindRenderbuffer", RENDERBUFFER, 0)
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, RENDERBUFFER, rt.cudaGraphicsRegisterFlagsWriteDiscard))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local array = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))
    ok(rt.cudaMemcpy2DToArray(array, 0, 0, bytes_of(3, 24), 12, 12, 2, rt.cudaMemcpyHostToDevice))
    gl.call("glEnable", 0x0c11) -- a scissor's box is none of this' concern
    gl.call("glScissor", 0, 0, 1, 1)
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    assert.equal(1, gl.call("glIsEnabled", 0x0c11) % 256)
    gl.call("glDisable", 0x0c11)
    ok(rt.cudaGraphicsResourceSetMapFlags(resource, 0))
    exchange(resource, 0, 0, 12, 2, bytes_of(3, 24), bytes_of(4, 24))
    ok(rt.cudaGraphicsMapResources(1, resource))
    code("cudaErrorInvalidValue", rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 1))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("leaves what OpenGL was told of transfers as it was", function()
    local all, store = bytes_of(0, 24), { { 0x0d05, 8 }, { 0x0d02, 40 }, { 0x0cf5, 2 }, { 0x0cf2, 50 }, { 0x0cf4, 3 } }
    local name = gl.texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8058, 3, 2, nil, RGBA, BYTES, all } })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, 0))
    local pixels = gl.buffer(("x"):rep(64))
    gl.call("glBindBuffer", 0x88eb, pixels) -- GL_PIXEL_PACK_BUFFER
    gl.call("glBindBuffer", 0x88ec, pixels)
    for _, setting in ipairs(store) do gl.call("glPixelStorei", setting[1], setting[2]) end
    exchange(resource, 0, 0, 12, 2, all, bytes_of(1, 24))
    for _, setting in ipairs(store) do
      assert.equal(setting[2], gl.integer(setting[1]))
      gl.call("glPixelStorei", setting[1], setting[1] % 16 == 5 and 4 or 0)
    end
    assert.equal(pixels, gl.integer(0x88ed))
    assert.equal(pixels, gl.integer(0x88ef))
    gl.call("glBindBuffer", 0x88eb, 0)
    gl.call("glBindBuffer", 0x88ec, 0)
    assert.equal(("x"):rep(64), gl.bytes(pixels, 64))
    assert.equal(bytes_of(1, 24), texels(TEXTURE_2D, name, 0, RGBA, BYTES, 24))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("is refused where it is none, or one of another kind", function()
    -- GL_RGB8
    local three = gl.texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8051, 2, 2, nil, 0x1907, BYTES, bytes_of(0, 16) } })
    local flat = gl.texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8058, 2, 2, nil, RGBA, BYTES, bytes_of(0, 16) } })
    code("cudaErrorInvalidValue", rt.cudaGraphicsGLRegisterImage(three, TEXTURE_2D, 0))
    assert.matches("0x8051", rt.story().message)
    code("cudaErrorInvalidValue", rt.cudaGraphicsGLRegisterImage(flat, TEXTURE_3D, 0))
    code("cudaErrorInvalidValue", rt.cudaGraphicsGLRegisterImage(flat, 0x0de0, 0)) -- GL_TEXTURE_1D
    code("cudaErrorInvalidValue", rt.cudaGraphicsGLRegisterImage(flat, TEXTURE_2D, 16))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsGLRegisterImage(4711, TEXTURE_2D, 0))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsGLRegisterImage(4711, RENDERBUFFER, 0))
    local resource = ok(rt.cudaGraphicsGLRegisterImage(flat, TEXTURE_2D, 0))
    code("cudaErrorUnknown", rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))
    ok(rt.cudaGraphicsMapResources(1, resource))
    code("cudaErrorInvalidValue", rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 5))
    code("cudaErrorUnknown", rt.cudaGraphicsResourceGetMappedPointer(resource))
    ok(rt.cudaGraphicsUnregisterResource(resource))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))
  end)
end)
