-- Buffers and images of OpenGL as objects: mw.gl_buffer, mw.gl_image. What mapping does is tested by
-- runtime_graphics_spec.lua and runtime_image_spec.lua.

local mw = require "moonwarp"
local failure = require "support.failure"
local gl = require "support.gl"

local with_gl = gl.spec(it, pending)

local m = mw.compile [[
__global__ void twice(int n, float2 *x) { if (threadIdx.x < n) x[threadIdx.x].x *= 2; }
__global__ void shift(cudaTextureObject_t from, cudaSurfaceObject_t to) {
  surf2Dwrite(tex2D<uchar4>(from, threadIdx.x + 1.5f, 0.5f), to, threadIdx.x * 4, 0);
}
]]

local function image(bytes)
  local name = gl.name "glGenTextures"
  gl.call("glBindTexture", 0x0de1, name)
  gl.call("glTexImage2D", 0x0de1, 0, 0x8058, #bytes // 4, 1, 0, 0x1908, 0x1401, bytes)
  gl.call("glBindTexture", 0x0de1, 0)
  return name
end

describe("mw.gl_buffer", function()
  with_gl("is an array of its element type while it is mapped", function()
    local name = gl.buffer(string.pack("ffff", 1, 2, 3, 4))
    local buffer = mw.gl_buffer(name, { dtype = "float2" })
    assert.equal("OpenGL's buffer", tostring(buffer))
    assert.equal("graphics", mw.type(buffer))
    local x = buffer:map()
    assert.is_true(buffer.mapped)
    assert.equal("OpenGL's buffer, mapped", tostring(buffer))
    assert.equal("float2", x.dtype)
    assert.equal(2, #x)
    m.twice(1, 32)(#x, x)
    buffer:unmap()
    assert.is_false(buffer.mapped)
    assert.equal(string.pack("ffff", 2, 2, 6, 4), gl.bytes(name, 16))
    assert.is_true(x.freed)
    assert.matches("freed", failure(m.twice(1, 32), 2, x).message)
    buffer:free()
    assert.matches("unregistered", failure(buffer.map, buffer).message)
    assert.equal("OpenGL's (unregistered)", tostring(buffer))
  end)

  with_gl("is written in a stream, and only read where that is said", function()
    local name, s = gl.buffer(string.pack("ff", 1, 2)), mw.stream()
    local buffer = mw.gl_buffer(name, { access = "read" })
    local x = buffer:map(s)
    assert.same({ 1, 2 }, x:totable())
    x:fill(0)
    buffer:unmap(s)
    assert.equal(string.pack("ff", 1, 2), gl.bytes(name, 8))
    buffer:free()
    buffer = mw.gl_buffer(name, { access = "write" })
    buffer:map(s):fill(7)
    buffer:unmap(s):free()
    assert.equal(string.pack("ff", 7, 7), gl.bytes(name, 8))
  end)

  with_gl("says what is wrong", function()
    assert.matches("no buffer 4711", failure(mw.gl_buffer, 4711).message)
    assert.matches('"read", "read%-write", "write"', failure(mw.gl_buffer, 1, { access = "both" }).message)
    local buffer = mw.gl_buffer(gl.buffer "four")
    assert.matches("not mapped", failure(buffer.unmap, buffer).message)
    buffer:map()
    assert.equal("cudaErrorAlreadyMapped", failure(buffer.map, buffer).code)
    buffer:free()
  end)

  it("wants a current context", function()
    assert.equal("cudaErrorInvalidGraphicsContext", failure(mw.gl_buffer, 1).code)
  end)
end)

describe("mw.gl_image", function()
  with_gl("has its parts as CUDA arrays, for textures and surfaces", function()
    local from, to = image "abcdefghijkl", image "............"
    local source, target = mw.gl_image(from, "2d", { access = "read" }), mw.gl_image(to)
    local texture, surface = mw.texture(source:map():part()), mw.surface(target:map():part(1, 1))
    m.shift(1, 2)(texture, surface)
    target:unmap()
    source:unmap()
    gl.call("glBindTexture", 0x0de1, to)
    assert.equal("efghijkl....", (select(2, gl.fetch(12, "glGetTexImage", 0x0de1, 0, 0x1908, 0x1401, true))))
    gl.call("glBindTexture", 0x0de1, 0)
    assert.equal("OpenGL's image", tostring(source))
    assert.matches("one of .*\"renderbuffer\"", failure(mw.gl_image, from, "4d").message)
    assert.matches("another target", failure(mw.gl_image, from, "3d").message)
  end)
end)
