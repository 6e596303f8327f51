-- Images of OpenGL ES, which reads back nothing but framebuffers, with Mesa's software renderer on the other side: in a
-- process of their own, as one has either context.

local child = require "support.child"

local prelude = [[
  local rt, gl = require "moonwarp.runtime", require "support.gl"
  if not gl.open "es" then print("pending", gl.why) os.exit(0) end
  local TEXTURE_2D, TEXTURE_3D, CUBE, CUBE_X, LAYERS, RENDERBUFFER = 0x0de1, 0x806f, 0x8513, 0x8515, 0x8c1a, 0x8d41
  local RGBA, RED, BYTES = 0x1908, 0x1903, 0x1401
  local function ok(err, ...)
    if err ~= 0 then error(tostring(rt.story()), 2) end
    return ...
  end
  local function bytes_of(first, count)
    local list = {}
    for i = 1, count do list[i] = string.char((first + i) % 256) end
    return table.concat(list)
  end
  -- What a part holds when it is mapped, and other bytes for it.
  local function exchange(resource, layer, level, pitch, rows, new)
    ok(rt.cudaGraphicsMapResources(1, resource))
    local array = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, layer, level))
    local host = rt.malloc(pitch * rows)
    ok(rt.cudaMemcpy2DFromArray(host, pitch, array, 0, 0, pitch, rows, rt.cudaMemcpyDeviceToHost))
    if new then ok(rt.cudaMemcpy2DToArray(array, 0, 0, new, pitch, pitch, rows, rt.cudaMemcpyHostToDevice)) end
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    assert(gl.error() == 0)
    return host:cast("uchar"):tostring(pitch * rows)
  end
]]

local function spec(text, script)
  it(text, function()
    local result = child(prelude .. script)
    local why = result.output:match "^pending\t(.*)"
    if why then return pending(why) end
    assert.equal("done\n", result.output)
  end)
end

describe("an image of OpenGL ES", function()
  spec("is read and written in every format that is drawn to", [[
    local seen = 0
    for _, case in ipairs {
      { 0x8058, RGBA, BYTES, 4 }, { 0x8229, RED, BYTES, 1 }, { 0x822b, 0x8227, BYTES, 2 }, -- RGBA8, R8, RG8
      { 0x8231, 0x8d94, 0x1400, 1 }, { 0x8238, 0x8228, BYTES, 2 }, -- R8I, RG8UI
      { 0x8239, 0x8228, 0x1402, 4 }, { 0x8d76, 0x8d99, 0x1403, 8 }, -- RG16I, RGBA16UI
      { 0x8235, 0x8d94, 0x1404, 4 }, { 0x8d70, 0x8d99, 0x1405, 16 }, -- R32I, RGBA32UI
      { 0x822d, RED, 0x140b, 2, "half" }, { 0x881a, RGBA, 0x140b, 8, "half" }, -- R16F, RGBA16F
      { 0x822e, RED, 0x1406, 4, "float" }, { 0x8814, RGBA, 0x1406, 16, "float" }, -- R32F, RGBA32F
    } do
      local internal, format, kind, size, float = table.unpack(case)
      local old, new = bytes_of(0, 15 * size), bytes_of(100, 15 * size)
      -- Numbers: 2^-24, the least half, one that is not a power of 2, -2, infinity, 1.
      if float == "half" then
        old = ("\1\0\255\3\85\53\0\192\0\124"):rep(3 * size // 2)
        new = ("\0\60"):rep(15 * size // 2)
      elseif float then
        old = string.pack("fffff", 2 ^ -30, 0.1, -2, math.huge, 1):rep(3 * size // 4)
        new = string.pack("f", 0.3):rep(15 * size // 4)
      end
      local name = gl.texture(TEXTURE_2D, { { TEXTURE_2D, 0, internal, 5, 3, nil, format, kind, old } })
      local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, 0))
      ok(rt.cudaGraphicsMapResources(1, resource))
      local err, array = rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0)
      ok(rt.cudaGraphicsUnmapResources(1, resource))
      if float and err ~= 0 then -- EXT_color_buffer_float
        assert(err == rt.cudaErrorNotSupported and rt.story().message:find "WriteDiscard")
      else
        ok(err)
        assert(exchange(resource, 0, 0, 5 * size, 3, new) == old, ("0x%x"):format(internal))
        assert(exchange(resource, 0, 0, 5 * size, 3) == new, ("0x%x"):format(internal))
        seen = seen + 1
      end
      ok(rt.cudaGraphicsUnregisterResource(resource))
    end
    assert(seen >= 9)
    print "done"
  ]])

  spec("has levels, layers, faces and slices, one by one and as a mipmapped array", [[
    local name = gl.texture(TEXTURE_2D, {
      { TEXTURE_2D, 0, 0x8058, 4, 2, nil, RGBA, BYTES, bytes_of(0, 32) },
      { TEXTURE_2D, 1, 0x8058, 2, 1, nil, RGBA, BYTES, bytes_of(100, 8) },
      { TEXTURE_2D, 2, 0x8058, 1, 1, nil, RGBA, BYTES, bytes_of(9, 4) },
    })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, 0))
    assert(exchange(resource, 0, 1, 8, 1, "eight by") == bytes_of(100, 8))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local mipmap, host = ok(rt.cudaGraphicsResourceGetMappedMipmappedArray(resource)), rt.malloc(8)
    local level = ok(rt.cudaGetMipmappedArrayLevel(mipmap, 1))
    ok(rt.cudaMemcpy2DFromArray(host, 8, level, 0, 0, 8, 1, rt.cudaMemcpyDeviceToHost))
    assert(host:cast("uchar"):tostring(8) == "eight by")
    assert(rt.cudaGetMipmappedArrayLevel(mipmap, 3) == rt.cudaErrorInvalidValue)
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    assert(exchange(resource, 0, 0, 16, 2) == bytes_of(0, 32))

    name = gl.texture(LAYERS, { { LAYERS, 0, 0x8229, 4, 2, 3, RED, BYTES, bytes_of(0, 24) } })
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, LAYERS, 0))
    assert(exchange(resource, 1, 0, 4, 2, "layer  1") == bytes_of(8, 8))
    assert(exchange(resource, 2, 0, 4, 2) == bytes_of(16, 8))
    assert(exchange(resource, 1, 0, 4, 2) == "layer  1")

    name = gl.texture(TEXTURE_3D, { { TEXTURE_3D, 0, 0x8229, 4, 2, 3, RED, BYTES, bytes_of(0, 24) } })
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_3D, 0))
    ok(rt.cudaGraphicsMapResources(1, resource))
    local array = ok(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0))
    local all = rt.malloc(24)
    ok(rt.cudaMemcpy3D { srcArray = array, dstPtr = { ptr = all, pitch = 4, xsize = 4, ysize = 2 },
      extent = { width = 4, height = 2, depth = 3 }, kind = rt.cudaMemcpyDeviceToHost })
    assert(all:cast("uchar"):tostring(24) == bytes_of(0, 24))
    ok(rt.cudaGraphicsUnmapResources(1, resource))

    local faces = {}
    for face = 0, 5 do
      faces[face + 1] = { CUBE_X + face, 0, 0x8229, 4, 4, nil, RED, BYTES, bytes_of(20 * face, 16) }
    end
    name = gl.texture(CUBE, faces)
    resource = ok(rt.cudaGraphicsGLRegisterImage(name, CUBE, 0))
    assert(exchange(resource, 5, 0, 4, 4, "the sixth face: ") == bytes_of(100, 16))
    assert(exchange(resource, 4, 0, 4, 4) == bytes_of(80, 16))
    assert(exchange(resource, 5, 0, 4, 4) == "the sixth face: ")
    print "done"
  ]])

  spec("may be a renderbuffer", [[
    local name = gl.name "glGenRenderbuffers"
    gl.call("glBindRenderbuffer", RENDERBUFFER, name)
    gl.call("glRenderbufferStorage", RENDERBUFFER, 0x8058, 3, 2)
    gl.call("glBindRenderbuffer", RENDERBUFFER, 0)
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, RENDERBUFFER, rt.cudaGraphicsRegisterFlagsWriteDiscard))
    exchange(resource, 0, 0, 12, 2, bytes_of(3, 24))
    ok(rt.cudaGraphicsResourceSetMapFlags(resource, 0))
    assert(exchange(resource, 0, 0, 12, 2) == bytes_of(3, 24))
    print "done"
  ]])

  spec("is refused where it cannot be read back, unless it is written whole", [[
    -- GL_LUMINANCE
    local name = gl.texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x1909, 4, 1, nil, 0x1909, BYTES, "abcd" } })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, 0))
    ok(rt.cudaGraphicsMapResources(1, resource))
    assert(rt.cudaGraphicsSubResourceGetMappedArray(resource, 0, 0) == rt.cudaErrorNotSupported)
    assert(rt.story().message:find "WriteDiscard")
    ok(rt.cudaGraphicsUnmapResources(1, resource))
    ok(rt.cudaGraphicsResourceSetMapFlags(resource, rt.cudaGraphicsMapFlagsWriteDiscard))
    exchange(resource, 0, 0, 4, 1, "efgh")
    assert(rt.cudaGraphicsGLRegisterImage(name, 0x84f5, 0) == rt.cudaErrorInvalidValue) -- a rectangle
    assert(rt.story().message:find "has no rectangles")
    print "done"
  ]])

  spec("leaves what OpenGL ES was told of transfers as it was", [[
    local name = gl.texture(TEXTURE_2D, { { TEXTURE_2D, 0, 0x8058, 3, 2, nil, RGBA, BYTES, bytes_of(0, 24) } })
    local resource = ok(rt.cudaGraphicsGLRegisterImage(name, TEXTURE_2D, 0))
    local store = { { 0x0d05, 8 }, { 0x0d02, 40 }, { 0x0cf5, 2 }, { 0x0cf2, 50 }, { 0x806e, 9 } }
    for _, setting in ipairs(store) do gl.call("glPixelStorei", setting[1], setting[2]) end
    local frame = gl.name "glGenFramebuffers"
    gl.call("glBindFramebuffer", 0x8d40, frame)
    assert(exchange(resource, 0, 0, 12, 2, bytes_of(1, 24)) == bytes_of(0, 24))
    assert(exchange(resource, 0, 0, 12, 2) == bytes_of(1, 24))
    for _, setting in ipairs(store) do assert(gl.integer(setting[1]) == setting[2]) end
    assert(gl.integer(0x8caa) == frame and gl.integer(0x8ca6) == frame)
    print "done"
  ]])
end)
