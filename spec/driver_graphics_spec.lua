-- moonwarp.driver: buffers and images of OpenGL. What mapping does is tested by runtime_graphics_spec.lua.

local cu = require "moonwarp.driver"
local gl = require "support.gl"
local driver = require "support.driver"

local ok, code = driver.ok, driver.code

local context, twice
setup(function()
  context = driver.context()
  local module = ok(cu.cuModuleLoadData "__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
  twice = ok(cu.cuModuleGetFunction(module, "twice"))
end)
teardown(function() ok(cu.cuCtxDestroy(context)) end)

local TEXTURE_2D, RGBA, BYTES = 0x0de1, 0x1908, 0x1401

local with_gl = gl.spec(it, pending)

local function launch(p, threads) ok(cu.cuLaunchKernel(twice, 1, 1, 1, threads, 1, 1, 0, nil, { p })) end

local function image(bytes)
  local name = gl.name "glGenTextures"
  gl.call("glBindTexture", TEXTURE_2D, name)
  gl.call("glTexImage2D", TEXTURE_2D, 0, 0x8058, 2, 1, 0, RGBA, BYTES, bytes)
  gl.call("glBindTexture", TEXTURE_2D, 0)
  return name
end

describe("resources of OpenGL", function()
  with_gl("are registered, mapped, unmapped and unregistered", function()
    local buffer, name = gl.buffer(string.pack("ff", 3, 4)), image "abcdefgh"
    ok(cu.cuGLInit())
    local one = ok(cu.cuGraphicsGLRegisterBuffer(buffer, cu.CU_GRAPHICS_REGISTER_FLAGS_NONE))
    local two = ok(cu.cuGraphicsGLRegisterImage(name, TEXTURE_2D, cu.CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY))
    ok(cu.cuGraphicsResourceSetMapFlags(two, cu.CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE))
    ok(cu.cuGraphicsMapResources(2, { one, two }, nil))
    local p, bytes = ok(cu.cuGraphicsResourceGetMappedPointer(one))
    assert.equal(8, bytes)
    launch(p, 2)
    local array = ok(cu.cuGraphicsSubResourceGetMappedArray(two, 0, 0))
    local desc = ok(cu.cuArrayGetDescriptor(array))
    assert.same({ 2, 1, cu.CU_AD_FORMAT_UNSIGNED_INT8, 4 },
      { desc.Width, desc.Height, desc.Format, desc.NumChannels })
    ok(cu.cuMemcpyHtoA(array, 4, "wxyz", 4))
    ok(cu.cuGraphicsUnmapResources(2, { one, two }, nil))
    assert.equal(string.pack("ff", 6, 8), gl.bytes(buffer, 8))
    gl.call("glBindTexture", TEXTURE_2D, name)
    assert.equal("abcdwxyz", (select(2, gl.fetch(8, "glGetTexImage", TEXTURE_2D, 0, RGBA, BYTES, true))))
    ok(cu.cuGraphicsUnregisterResource(one))
    ok(cu.cuGraphicsUnregisterResource(two))
  end)

  with_gl("fail with the driver's codes", function()
    local buffer, picture = gl.buffer "four", image "abcdefgh"
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGraphicsGLRegisterBuffer(buffer, 64))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsGLRegisterBuffer(4711, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGraphicsGLRegisterImage(picture, 0x0de0, 0))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsGLRegisterImage(4711, TEXTURE_2D, 0))
    local one = ok(cu.cuGraphicsGLRegisterBuffer(buffer, 0))
    local two = ok(cu.cuGraphicsGLRegisterImage(picture, TEXTURE_2D, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGraphicsMapResources(0, {}))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsMapResources(2, { one, one }))
    code("CUDA_ERROR_NOT_MAPPED", cu.cuGraphicsUnmapResources(1, one))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsUnmapResources(1, { 7 }))
    code("CUDA_ERROR_NOT_MAPPED", cu.cuGraphicsResourceGetMappedPointer(one))
    code("CUDA_ERROR_NOT_MAPPED", cu.cuGraphicsSubResourceGetMappedArray(two, 0, 0))
    ok(cu.cuGraphicsMapResources(2, { one, two }))
    code("CUDA_ERROR_ALREADY_MAPPED", cu.cuGraphicsMapResources(1, one))
    code("CUDA_ERROR_ALREADY_MAPPED", cu.cuGraphicsResourceSetMapFlags(one, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGraphicsResourceSetMapFlags(one, 3))
    code("CUDA_ERROR_NOT_MAPPED_AS_ARRAY", cu.cuGraphicsSubResourceGetMappedArray(one, 0, 0))
    code("CUDA_ERROR_NOT_MAPPED_AS_POINTER", cu.cuGraphicsResourceGetMappedPointer(two))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGraphicsSubResourceGetMappedArray(two, 3, 0))
    gl.current(false)
    code("CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", cu.cuGraphicsUnmapResources(1, one))
    gl.current(true)
    ok(cu.cuGraphicsUnmapResources(1, one))
    gl.current(false)
    code("CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", cu.cuGraphicsMapResources(1, one))
    gl.current(true)
    ok(cu.cuGraphicsUnregisterResource(one))
    ok(cu.cuGraphicsUnregisterResource(two))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsUnregisterResource(one))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsResourceSetMapFlags(one, 0))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsResourceGetMappedPointer(one))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsSubResourceGetMappedArray(one, 0, 0))
  end)

  with_gl("go with the context that they were registered in", function()
    local buffer = gl.buffer "four"
    local other = ok(cu.cuGLCtxCreate(0, 0))
    local one = ok(cu.cuGraphicsGLRegisterBuffer(buffer, 0))
    ok(cu.cuGLRegisterBufferObject(buffer))
    ok(cu.cuGraphicsMapResources(1, one))
    ok(cu.cuCtxDestroy(other))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGraphicsUnmapResources(1, one))
    ok(cu.cuGLRegisterBufferObject(buffer)) -- again
    ok(cu.cuGLUnregisterBufferObject(buffer))
  end)

  it("want a current context of OpenGL", function()
    code("CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", cu.cuGraphicsGLRegisterBuffer(1, 0))
    code("CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", cu.cuGraphicsGLRegisterImage(1, TEXTURE_2D, 0))
    code("CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", cu.cuGLRegisterBufferObject(1))
    ok(cu.cuCtxPopCurrent())
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuGLInit())
    ok(cu.cuCtxPushCurrent(context))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuGLCtxCreate(0, 99))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGLCtxCreate(64, 0))
  end)
end)

describe("buffers of OpenGL by their names", function()
  with_gl("are mapped and unmapped", function()
    local buffer = gl.buffer(string.pack("ff", 3, 4))
    ok(cu.cuGLRegisterBufferObject(buffer))
    local p, bytes = ok(cu.cuGLMapBufferObject(buffer))
    assert.equal(8, bytes)
    launch(p, 2)
    ok(cu.cuGLUnmapBufferObject(buffer))
    assert.equal(string.pack("ff", 6, 8), gl.bytes(buffer, 8))
    ok(cu.cuGLSetBufferObjectMapFlags(buffer, cu.CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY))
    local stream = ok(cu.cuStreamCreate(0))
    launch(ok(cu.cuGLMapBufferObjectAsync(buffer, stream)), 2)
    ok(cu.cuGLUnmapBufferObjectAsync(buffer, stream))
    assert.equal(string.pack("ff", 6, 8), gl.bytes(buffer, 8))
    ok(cu.cuGLUnregisterBufferObject(buffer))
    ok(cu.cuStreamDestroy(stream))
  end)

  with_gl("fail with the driver's codes", function()
    local buffer = gl.buffer "four"
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGLRegisterBufferObject(4711))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGLMapBufferObject(buffer))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGLMapBufferObjectAsync(buffer, nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGLUnmapBufferObject(buffer))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGLUnmapBufferObjectAsync(buffer, nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGLUnregisterBufferObject(buffer))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuGLSetBufferObjectMapFlags(buffer, 0))
    ok(cu.cuGLRegisterBufferObject(buffer))
    code("CUDA_ERROR_ALREADY_MAPPED", cu.cuGLRegisterBufferObject(buffer))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGLSetBufferObjectMapFlags(buffer, 64))
    code("CUDA_ERROR_UNMAP_FAILED", cu.cuGLUnmapBufferObject(buffer))
    code("CUDA_ERROR_UNMAP_FAILED", cu.cuGLUnmapBufferObjectAsync(buffer, nil))
    ok(cu.cuGLMapBufferObject(buffer))
    code("CUDA_ERROR_MAP_FAILED", cu.cuGLMapBufferObject(buffer))
    code("CUDA_ERROR_MAP_FAILED", cu.cuGLMapBufferObjectAsync(buffer, nil))
    code("CUDA_ERROR_ALREADY_MAPPED", cu.cuGLSetBufferObjectMapFlags(buffer, 0))
    ok(cu.cuGLUnregisterBufferObject(buffer))
  end)
end)
