-- moonwarp.runtime: buffers of OpenGL, with Mesa's software renderer on the other side.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local gl = require "support.gl"
local runtime = require "support.api.runtime"
local child = require "support.child"

local ok, code = runtime.ok, runtime.code

local m = rt.register(mw.compile [[
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
__global__ void wild(float *x) { x[1 << 28] = 1; }
]])

local function floats(...) return string.pack(("f"):rep(select("#", ...)), ...) end

local function numbers(format, bytes)
  local list = { string.unpack(format:rep(#bytes // string.packsize(format)), bytes) }
  list[#list] = nil
  return list
end

local with_gl = gl.spec(it, pending)

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

  with_gl("may have storage that OpenGL does not let the host write", function()
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

  with_gl("that is not unregistered is freed by the collector", function()
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

describe("OpenGL ES", function()
  it("shares its buffers", function()
    local result = child [[
      local rt, gl = require "moonwarp.runtime", require "support.gl"
      if not gl.open "es" then print("pending", gl.why) os.exit(0) end
      local buffer = gl.buffer "four"
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
    ]]
    local why = result.output:match "^pending\t(.*)"
    if why then return pending(why) end
    assert.equal("four\t0\nfAAr\n", result.output)
  end)
end)

describe("without a current context of OpenGL", function()
  it("nothing can be registered", function()
    code("cudaErrorInvalidGraphicsContext", rt.cudaGraphicsGLRegisterBuffer(1, 0))
    assert.matches("no current OpenGL context", rt.story().message)
    code("cudaErrorInvalidGraphicsContext", rt.cudaGraphicsGLRegisterImage(1, 0x0de1, 0)) -- GL_TEXTURE_2D
    code("cudaErrorInvalidGraphicsContext", rt.cudaGLRegisterBufferObject(1))
  end)

  it("and nothing mapped or unmapped", function()
    if not gl.open "gl" then return pending(gl.why) end
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
