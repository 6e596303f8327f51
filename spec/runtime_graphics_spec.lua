-- moonwarp.runtime: buffers and images of OpenGL, with Mesa's software renderer on the other side.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local gl = require "support.gl"
local runtime = require "support.runtime"
local child = require "support.child"

local ok, code = runtime.ok, runtime.code

local m = rt.register(mw.compile [[
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
__global__ void wild(float *x) { x[1 << 28] = 1; }
surface<void, 2> board;
__global__ void count(int width) {
  surf2Dwrite(make_uchar4(threadIdx.x, blockIdx.x, 7, 255), board, threadIdx.x * 4, blockIdx.x);
}
]])

local function floats(...) return string.pack(("f"):rep(select("#", ...)), ...) end

local function numbers(format, bytes)
  local list = { string.unpack(format:rep(#bytes // string.packsize(format)), bytes) }
  list[#list] = nil
  return list
end

-- A spec that needs a context; the others of a file follow it in this thread, so it is not current in between.
local opened
local function with_gl(text, f)
  it(text, function()
    if opened == nil then opened = gl.open "gl" end
    if not opened then return pending(gl.why) end
    gl.current(true)
    local worked, err = pcall(f)
    local left = gl.error()
    gl.current(false)
    if not worked then error(err, 0) end
    assert.equal(0, left)
  end)
end

describe("a buffer of OpenGL", function()
  with_gl("is memory of a kernel while it is mapped, and OpenGL sees what was written", function()
    local buffer = gl.buffer(floats(1, 2, 3, 4))
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, rt.cudaGraphicsRegisterFlagsNone))
    for round = 1, 2 do
      ok(rt.cudaGraphicsMapResources(1, { resource }, nil))
      local p, bytes = ok(rt.cudaGraphicsResourceGetMappedPointer(resource))
      assert.equal(16, bytes)
      ok(rt.cudaLaunchKernel(m.twice, 1, 4, { p }))
      local now = 2 ^ round
      assert.same({ now, 2 * now, 3 * now, 4 * now }, runtime.fetch(p, "float", 4))
      ok(rt.cudaGraphicsUnmapResources(1, { resource }, nil))
      assert.same({ now, 2 * now, 3 * now, 4 * now }, numbers("f", gl.bytes(buffer, 16)))
      code("cudaErrorInvalidValue", rt.cudaMemset(p, 0, 16)) -- it points to nothing any more
    end
    ok(rt.cudaGraphicsUnregisterResource(resource))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsMapResources(1, { resource }, nil))
  end)

  with_gl("takes what OpenGL writes between two mappings, and changes its size", function()
    local buffer = gl.buffer(floats(1))
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
    gl.call("glBindBuffer", 0x8892, buffer)
    gl.call("glBufferData", 0x8892, 12, floats(7, 8, 9), 0x88e4)
    ok(rt.cudaGraphicsMapResources(1, { resource }))
    local p, bytes = ok(rt.cudaGraphicsResourceGetMappedPointer(resource))
    assert.equal(12, bytes)
    assert.same({ 7, 8, 9 }, runtime.fetch(p, "float", 3))
    ok(rt.cudaGraphicsUnmapResources(1, { resource }))
    assert.equal(buffer, gl.integer(0x8894)) -- GL_ARRAY_BUFFER_BINDING: as it was
    gl.call("glBindBuffer", 0x8892, 0)
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("is mapped for reading, or for writing all of it", function()
    local buffer = gl.buffer(floats(1, 2))
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, rt.cudaGraphicsRegisterFlagsReadOnly))
    local function map_and_write(value)
      ok(rt.cudaGraphicsMapResources(1, resource))
      local p = ok(rt.cudaGraphicsResourceGetMappedPointer(resource))
      local before = runtime.fetch(p, "float", 2)
      ok(rt.cudaMemset(p, value, 8))
      code("cudaErrorUnknown", rt.cudaGraphicsResourceSetMapFlags(resource, 0))
      ok(rt.cudaGraphicsUnmapResources(1, resource))
      return before
    end
    assert.same({ 1, 2 }, map_and_write(0))
    assert.same({ 1, 2 }, numbers("f", gl.bytes(buffer, 8))) -- what was written is not taken
    ok(rt.cudaGraphicsResourceSetMapFlags(resource, rt.cudaGraphicsMapFlagsWriteDiscard))
    map_and_write(0)
    assert.same({ 0, 0 }, numbers("f", gl.bytes(buffer, 8)))
    code("cudaErrorInvalidValue", rt.cudaGraphicsResourceSetMapFlags(resource, 3))
    ok(rt.cudaGraphicsUnregisterResource(resource))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsResourceSetMapFlags(resource, 0))
  end)

  with_gl("may have storage that OpenGL lets nobody write from the host", function()
    local buffer = gl.name "glGenBuffers"
    gl.call("glBindBuffer", 0x8892, buffer)
    gl.call("glBufferStorage", 0x8892, 8, floats(3, 4), 0) -- immutable: no GL_DYNAMIC_STORAGE_BIT
    gl.call("glBindBuffer", 0x8892, 0)
    if gl.error() ~= 0 then return pending "this OpenGL is before 4.4" end
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
    ok(rt.cudaGraphicsMapResources(1, { resource }))
    ok(rt.cudaLaunchKernel(m.twice, 1, 2, { (ok(rt.cudaGraphicsResourceGetMappedPointer(resource))) }))
    ok(rt.cudaGraphicsUnmapResources(1, { resource }))
    assert.same({ 6, 8 }, numbers("f", gl.bytes(buffer, 8)))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("waits for the stream that it is unmapped in", function()
    local buffer, stream = gl.buffer(floats(1)), ok(rt.cudaStreamCreate())
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
    ok(rt.cudaGraphicsMapResources(1, { resource }, stream))
    local p, called = ok(rt.cudaGraphicsResourceGetMappedPointer(resource)), false
    ok(rt.cudaLaunchHostFunc(stream, function() called = true end))
    for _ = 1, 10 do ok(rt.cudaLaunchKernel(m.twice, 1, 1, { p }, 0, stream)) end
    ok(rt.cudaGraphicsUnmapResources(1, { resource }, stream))
    assert.is_true(called)
    assert.same({ 1024 }, numbers("f", gl.bytes(buffer, 4)))
    ok(rt.cudaGraphicsUnregisterResource(resource))
    ok(rt.cudaStreamDestroy(stream))
  end)

  with_gl("goes back to OpenGL where a kernel failed, which is told", function()
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(gl.buffer(floats(1)), 0))
    ok(rt.cudaGraphicsMapResources(1, { resource }))
    ok(rt.cudaLaunchKernel(m.wild, 1, 1, { (ok(rt.cudaGraphicsResourceGetMappedPointer(resource))) }))
    code("cudaErrorIllegalAddress", rt.cudaGraphicsUnmapResources(1, { resource }))
    code("cudaErrorUnknown", rt.cudaGraphicsUnmapResources(1, { resource })) -- it was
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("is not mapped while a stream captures", function()
    local resource, stream = ok(rt.cudaGraphicsGLRegisterBuffer(gl.buffer(floats(1)), 0)), ok(rt.cudaStreamCreate())
    ok(rt.cudaStreamBeginCapture(stream, rt.cudaStreamCaptureModeGlobal))
    code("cudaErrorStreamCaptureUnsupported", rt.cudaGraphicsMapResources(1, { resource }, stream))
    code("cudaErrorStreamCaptureInvalidated", rt.cudaStreamEndCapture(stream))
    ok(rt.cudaGraphicsUnregisterResource(resource))
    ok(rt.cudaStreamDestroy(stream))
  end)

  with_gl("is refused where it is none, mapped twice, or asked for an image", function()
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsGLRegisterBuffer(4711, 0))
    assert.matches("no buffer 4711", rt.story().message)
    local empty = gl.name "glGenBuffers"
    gl.call("glBindBuffer", 0x8892, empty)
    local one = ok(rt.cudaGraphicsGLRegisterBuffer(empty, 0))
    local two = ok(rt.cudaGraphicsGLRegisterBuffer(gl.buffer "1", 0))
    code("cudaErrorInvalidValue", rt.cudaGraphicsGLRegisterBuffer(empty, 4))
    code("cudaErrorInvalidValue", rt.cudaGraphicsMapResources(1, one)) -- no storage
    code("cudaErrorInvalidValue", rt.cudaGraphicsMapResources(2, { two, one })) -- and then neither is mapped
    code("cudaErrorUnknown", rt.cudaGraphicsResourceGetMappedPointer(two))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsMapResources(2, { two, two }))
    code("cudaErrorInvalidValue", rt.cudaGraphicsMapResources("two", two))
    code("cudaErrorUnknown", rt.cudaGraphicsUnmapResources(1, two))
    ok(rt.cudaGraphicsMapResources(1, two))
    code("cudaErrorUnknown", rt.cudaGraphicsMapResources(1, two))
    code("cudaErrorUnknown", rt.cudaGraphicsSubResourceGetMappedArray(two, 0, 0))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsUnmapResources(2, { two, two }))
    code("cudaErrorInvalidValue", rt.cudaFree((ok(rt.cudaGraphicsResourceGetMappedPointer(two)))))
    assert.matches("unmapped", rt.story().message)
    ok(rt.cudaGraphicsUnregisterResource(two)) -- which is unmapped with that
    ok(rt.cudaGraphicsUnregisterResource(one))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsUnregisterResource(one))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsUnregisterResource(7))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsResourceGetMappedPointer(one))
    gl.call("glBindBuffer", 0x8892, 0)
  end)

  with_gl("that OpenGL deletes cannot be mapped any more", function()
    local buffer = gl.buffer "four"
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
    gl.call("glDeleteBuffers", 1, string.pack("I4", buffer))
    code("cudaErrorInvalidResourceHandle", rt.cudaGraphicsMapResources(1, resource))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("that nobody unregisters is the collector's", function()
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(gl.buffer "four", 0))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local p = ok(rt.cudaGraphicsResourceGetMappedPointer(resource))
    ok(rt.cudaMemset(p, 0, 4))
    resource = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    code("cudaErrorInvalidValue", rt.cudaMemset(p, 0, 4))
  end)
end)

describe("a buffer of OpenGL by its name, as in the 1.1 guide,", function()
  with_gl("is registered, mapped, unmapped and unregistered", function()
    local buffer = gl.buffer(floats(1, 2))
    ok(rt.cudaGLSetGLDevice(0))
    ok(rt.cudaGLRegisterBufferObject(buffer))
    local p = ok(rt.cudaGLMapBufferObject(buffer))
    ok(rt.cudaLaunchKernel(m.twice, 1, 2, { p }))
    ok(rt.cudaGLUnmapBufferObject(buffer))
    assert.same({ 2, 4 }, numbers("f", gl.bytes(buffer, 8)))
    ok(rt.cudaGLSetBufferObjectMapFlags(buffer, rt.cudaGLMapFlagsReadOnly))
    local stream = ok(rt.cudaStreamCreate())
    ok(rt.cudaMemset(ok(rt.cudaGLMapBufferObjectAsync(buffer, stream)), 0, 8))
    code("cudaErrorUnknown", rt.cudaGLSetBufferObjectMapFlags(buffer, 0))
    ok(rt.cudaGLUnmapBufferObjectAsync(buffer, stream))
    assert.same({ 2, 4 }, numbers("f", gl.bytes(buffer, 8)))
    ok(rt.cudaGLUnregisterBufferObject(buffer))
    ok(rt.cudaStreamDestroy(stream))
  end)

  with_gl("fails with one code for what goes wrong in mapping, and one in unmapping", function()
    local buffer = gl.buffer "four"
    code("cudaErrorMapBufferObjectFailed", rt.cudaGLMapBufferObject(buffer))
    assert.matches("cudaGLRegisterBufferObject", rt.story().message)
    code("cudaErrorMapBufferObjectFailed", rt.cudaGLMapBufferObjectAsync(buffer, nil))
    code("cudaErrorUnmapBufferObjectFailed", rt.cudaGLUnmapBufferObject(buffer))
    code("cudaErrorUnmapBufferObjectFailed", rt.cudaGLUnmapBufferObjectAsync(buffer, nil))
    code("cudaErrorInvalidResourceHandle", rt.cudaGLUnregisterBufferObject(buffer))
    code("cudaErrorInvalidResourceHandle", rt.cudaGLSetBufferObjectMapFlags(buffer, 0))
    code("cudaErrorInvalidResourceHandle", rt.cudaGLRegisterBufferObject(4711))
    code("cudaErrorInvalidDevice", rt.cudaGLSetGLDevice(99))
    ok(rt.cudaGLRegisterBufferObject(buffer))
    code("cudaErrorUnknown", rt.cudaGLRegisterBufferObject(buffer))
    code("cudaErrorInvalidValue", rt.cudaGLSetBufferObjectMapFlags(buffer, 9))
    ok(rt.cudaGLMapBufferObject(buffer))
    code("cudaErrorMapBufferObjectFailed", rt.cudaGLMapBufferObject(buffer))
    ok(rt.cudaGLUnregisterBufferObject(buffer))
  end)
end)

-- ---- images ----

local TEXTURE_2D, TEXTURE_3D, CUBE, CUBE_X, LAYERS, RECTANGLE, RENDERBUFFER =
  0x0de1, 0x806f, 0x8513, 0x8515, 0x8c1a, 0x84f5, 0x8d41
local RGBA, RED, RED_INTEGER, BYTES, FLOATS = 0x1908, 0x1903, 0x8d94, 0x1401, 0x1406

-- A texture whose levels (of its parts) are given as
-- { part, level, internal, width, height, depth, format, type, bytes }.
local function texture(target, levels)
  local name = gl.name "glGenTextures"
  gl.call("glBindTexture", target, name)
  for _, l in ipairs(levels) do
    if l[6] then
      gl.call("glTexImage3D", l[1], l[2], l[3], l[4], l[5], l[6], 0, l[7], l[8], l[9])
    else
      gl.call("glTexImage2D", l[1], l[2], l[3], l[4], l[5], 0, l[7], l[8], l[9])
    end
  end
  gl.call("glBindTexture", target, 0)
  return name
end

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
    local name = texture(TEXTURE_2D, {
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
    local name = texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8058, 3, 2, nil, RGBA, BYTES, false } })
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
    local name = texture(TEXTURE_3D, { { TEXTURE_3D, 0, 0x8229, 4, 3, 2, RED, BYTES, all } })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_3D, 0))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local _, extent = ok(rt.cudaArrayGetInfo(ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))))
    assert.same({ width = 4, height = 3, depth = 2 }, extent)
    code("cudaErrorInvalidValue", rt.cudaGraphicsSubResourceGetMappedArray(resource, 1, 0))
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    assert.equal(all, texels(TEXTURE_3D, name, 0, RED, BYTES, 24))
    ok(rt.cudaGraphicsUnregisterResource(resource))

    name = texture(LAYERS, { { LAYERS, 0, 0x8229, 4, 2, 3, RED, BYTES, all } })
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, LAYERS, 0))
    exchange(resource, 1, 0, 4, 2, all:sub(9, 16), "layer  1")
    assert.equal(all:sub(1, 8) .. "layer  1" .. all:sub(17), texels(LAYERS, name, 0, RED, BYTES, 24))
    ok(rt.cudaGraphicsUnregisterResource(resource))

    local faces = {}
    for face = 0, 5 do
      faces[face + 1] = { CUBE_X + face, 0, 0x8229, 4, 4, nil, RED, BYTES, bytes_of(20 * face, 16) }
    end
    name = texture(CUBE, faces)
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, CUBE, 0))
    exchange(resource, rt.cudaGraphicsCubeFaceNegativeZ, 0, 4, 4, bytes_of(100, 16), "the sixth face: ")
    assert.equal("the sixth face: ", texels(CUBE, name, 0, RED, BYTES, 16, CUBE_X + 5))
    assert.equal(bytes_of(80, 16), texels(CUBE, name, 0, RED, BYTES, 16, CUBE_X + 4))
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)

  with_gl("may be a rectangle or a renderbuffer", function()
    local name = texture(RECTANGLE, { { RECTANGLE, 0, 0x8058, 3, 2, nil, RGBA, BYTES, bytes_of(0, 24) } })
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
    local name = texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8058, 3, 2, nil, RGBA, BYTES, all } })
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
    local three = texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8051, 2, 2, nil, 0x1907, BYTES, bytes_of(0, 16) } })
    local flat = texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8058, 2, 2, nil, RGBA, BYTES, bytes_of(0, 16) } })
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

describe("OpenGL ES", function()
  it("shares its buffers, and refuses images with the reason", function()
    local result = child [[
      local rt, gl = require "moonwarp.runtime", require "support.gl"
      if not gl.open "es" then print("pending", gl.why) os.exit(0) end
      local buffer, image = gl.buffer "four", gl.name "glGenTextures"
      local _, resource = rt.cudaGraphicsGLRegisterBuffer(buffer, 0)
      assert(rt.cudaGraphicsMapResources(1, resource) == 0, tostring(rt.story()))
      local _, p = rt.cudaGraphicsResourceGetMappedPointer(resource)
      local h = rt.malloc(4)
      rt.cudaMemcpy(h, p, 4, rt.cudaMemcpyDeviceToHost)
      rt.cudaMemset(p + 1, 65, 2)
      print(h:tostring(4), rt.cudaGraphicsUnmapResources(1, resource))
      rt.cudaGraphicsMapResources(1, resource)
      _, p = rt.cudaGraphicsResourceGetMappedPointer(resource)
      rt.cudaMemcpy(h, p, 4, rt.cudaMemcpyDeviceToHost)
      print(h:tostring(4))
      print(rt.cudaGetErrorName(rt.cudaGraphicsGLRegisterImage(image, 0x0de1, 0)), rt.story().message)
    ]]
    local why = result.output:match "^pending\t(.*)"
    if why then return pending(why) end
    assert.matches("^four\t0\nfAAr\ncudaErrorNotSupported\tof a context of OpenGL ES buffers can", result.output)
  end)
end)

describe("without a current context of OpenGL", function()
  it("nothing can be registered", function()
    code("cudaErrorInvalidGraphicsContext", rt.cudaGraphicsGLRegisterBuffer(1, 0))
    assert.matches("no current OpenGL context", rt.story().message)
    code("cudaErrorInvalidGraphicsContext", rt.cudaGraphicsGLRegisterImage(1, TEXTURE_2D, 0))
    code("cudaErrorInvalidGraphicsContext", rt.cudaGLRegisterBufferObject(1))
  end)

  it("and nothing mapped or unmapped", function()
    if not opened then return pending(gl.why) end
    gl.current(true)
    local buffer = gl.buffer "four"
    local resource = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
    gl.current(false)
    code("cudaErrorInvalidGraphicsContext", rt.cudaGraphicsMapResources(1, resource))
    gl.current(true)
    ok(rt.cudaGraphicsMapResources(1, resource))
    ok(rt.cudaMemset(ok(rt.cudaGraphicsResourceGetMappedPointer(resource)), 65, 4))
    gl.current(false)
    code("cudaErrorInvalidGraphicsContext", rt.cudaGraphicsUnmapResources(1, resource))
    gl.current(true)
    ok(rt.cudaGraphicsUnmapResources(1, resource)) -- what was written is still there
    assert.equal("AAAA", gl.bytes(buffer, 4))
    gl.current(false)
    ok(rt.cudaGraphicsUnregisterResource(resource))
  end)
end)
