-- Buffers and images of OpenGL on a GPU, on machines without one: the calls of libcuda, and the fallback if it cannot
-- share memory.
-- Lua 5.4 only: the driver is the same under every interpreter.

local gpu = require "support.fake.gpu"

describe("resources of OpenGL", function()
  local prelude = [[
    local rt, gl = require "moonwarp.runtime", require "support.gl"
    if not gl.open "gl" then print("pending", gl.why) os.exit(0) end
    local function ok(err, ...)
      if err ~= 0 then error(tostring(rt.story()), 2) end
      return ...
    end
    local buffer, image = gl.buffer(("x"):rep(64)), gl.name "glGenTextures"
    gl.call("glBindTexture", 0x0de1, image)
    gl.call("glTexImage2D", 0x0de1, 0, 0x8058, 4, 2, 0, 0x1908, 0x1401, ("y"):rep(32))
  ]]

  local function run(spec)
    spec[1] = prelude .. spec[1]
    local result = gpu(spec)
    local why = result.output:match "^pending\t(.*)"
    return result, why
  end

  it("are the driver's own affair, where it shares with the context", function()
    local result, why = run { [[
      local one = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 1))
      local two = ok(rt.cudaGraphicsGLRegisterImage(image, 0x0de1, 4))
      ok(rt.cudaGraphicsResourceSetMapFlags(one, 0))
      ok(rt.cudaGraphicsMapResources(2, { one, two }, ok(rt.cudaStreamCreate())))
      local p, bytes = ok(rt.cudaGraphicsResourceGetMappedPointer(one))
      ok(rt.cudaMemset(p, 65, 64))
      print(bytes, rt.cudaFree(p))
      local array = ok(rt.cudaGraphicsSubResourceGetMappedArray(two, 0, 0))
      local _, extent = ok(rt.cudaArrayGetInfo(array))
      print(extent.width, extent.height)
      ok(rt.cudaGraphicsUnmapResources(2, { one, two }, nil))
      print(gl.bytes(buffer, 4)) -- what the false driver shares is not OpenGL's
      ok(rt.cudaGraphicsUnregisterResource(one))
      ok(rt.cudaGraphicsUnregisterResource(two))
    ]] }
    if why then return pending(why) end
    assert.equal("64\t1\n4\t2\nxxxx\n", result.output)
    assert.matches("^cuGraphicsGLRegisterBuffer %d+ flags 1$", gpu.call(result, "cuGraphicsGLRegisterBuffer"))
    assert.matches("target de1 flags 4$", gpu.call(result, "cuGraphicsGLRegisterImage"))
    assert.equal(1, gpu.count(result, "cuGraphicsResourceSetMapFlags"))
    assert.equal(2, gpu.count(result, "cuGraphicsMapResources"))
    assert.equal("cuGraphicsSubResourceGetMappedArray layer 0 level 0",
      gpu.call(result, "cuGraphicsSubResourceGetMappedArray"))
    assert.equal(2, gpu.count(result, "cuGraphicsUnmapResources"))
    assert.equal(2, gpu.count(result, "cuGraphicsUnregisterResource"))
    assert.equal(0, gpu.count(result, "cuArrayDestroy")) -- the array is the resource's
  end)

  -- Another vendor's context, and a driver without OpenGL functions.
  for _, fail in ipairs { "cuGraphicsGLRegisterBuffer@*=219 cuGraphicsGLRegisterImage@*=999",
    "cuGraphicsMapResources@0=1" } do
    it("are copied where the driver cannot share: " .. fail, function()
      local result, why = run { [[
        local one = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
        ok(rt.cudaGraphicsMapResources(1, one))
        local p, bytes = ok(rt.cudaGraphicsResourceGetMappedPointer(one))
        ok(rt.cudaMemset(p + 1, 65, 2))
        ok(rt.cudaGraphicsUnmapResources(1, one))
        print(bytes, gl.bytes(buffer, 4))
        local two = ok(rt.cudaGraphicsGLRegisterImage(image, 0x0de1, 0))
        ok(rt.cudaGraphicsMapResources(1, two))
        ok(rt.cudaGraphicsSubResourceGetMappedArray(two, 0, 0))
        ok(rt.cudaGraphicsUnmapResources(1, two))
      ]], fail = fail }
      if why then return pending(why) end
      assert.equal("64\txAAx\n", result.output)
      assert.equal(0, gpu.count(result, "cuGraphicsMapResources"))
      assert.equal(1, gpu.count(result, "cuArray3DCreate"))
      assert.equal(1, gpu.count(result, "cuArrayDestroy"))
    end)
  end

  it("have mipmapped arrays of the driver", function()
    local result, why = run { [[
      local mw = require "moonwarp"
      gl.call("glTexImage2D", 0x0de1, 1, 0x8058, 2, 1, 0, 0x1908, 0x1401, ("z"):rep(8))
      local two = ok(rt.cudaGraphicsGLRegisterImage(image, 0x0de1, 0))
      ok(rt.cudaGraphicsMapResources(1, two))
      local mipmap = ok(rt.cudaGraphicsResourceGetMappedMipmappedArray(two))
      local _, extent = ok(rt.cudaArrayGetInfo(ok(rt.cudaGetMipmappedArrayLevel(mipmap, 1))))
      print(extent.width, extent.height, rt.cudaGetMipmappedArrayLevel(mipmap, 2))
      local whole = ok(rt.cudaCreateTextureObject({ resType = rt.cudaResourceTypeMipmappedArray,
        res = { mipmap = { mipmap = mipmap } } }, { normalizedCoords = 1 }))
      ok(rt.cudaDestroyTextureObject(whole))
      ok(rt.cudaGraphicsUnmapResources(1, two))
      ok(rt.cudaGraphicsUnregisterResource(two))
    ]] }
    if why then return pending(why) end
    assert.equal("2\t1\t1\n", result.output)
    assert.equal(1, gpu.count(result, "cuGraphicsResourceGetMappedMipmappedArray"))
    assert.equal(0, gpu.count(result, "cuMipmappedArrayCreate"))
    assert.equal(0, gpu.count(result, "cuMipmappedArrayDestroy"))
    assert.matches("^cuTexObjectCreate kind 1", gpu.call(result, "cuTexObjectCreate")) -- a mipmapped array
  end)

  -- The hardware's arrays have no views of a layer.
  it("have layers by themselves or all of them, where they are copied", function()
    local result, why = run { [[
      local layers = gl.name "glGenTextures"
      gl.call("glBindTexture", 0x8c1a, layers)
      gl.call("glTexImage3D", 0x8c1a, 0, 0x8058, 2, 2, 3, 0, 0x1908, 0x1401, ("y"):rep(48))
      local r = ok(rt.cudaGraphicsGLRegisterImage(layers, 0x8c1a, 0))
      ok(rt.cudaGraphicsMapResources(1, r))
      ok(rt.cudaGraphicsSubResourceGetMappedArray(r, 1, 0))
      print(rt.cudaGraphicsResourceGetMappedMipmappedArray(r), rt.story().message:match "separate arrays")
      ok(rt.cudaGraphicsUnmapResources(1, r))
      ok(rt.cudaGraphicsMapResources(1, r))
      local mipmap = ok(rt.cudaGraphicsResourceGetMappedMipmappedArray(r))
      print(rt.cudaGraphicsSubResourceGetMappedArray(r, 1, 0), rt.story().message:match "cudaGetMipmappedArrayLevel")
      local _, extent = ok(rt.cudaArrayGetInfo(ok(rt.cudaGetMipmappedArrayLevel(mipmap, 0))))
      print(extent.depth)
      ok(rt.cudaGraphicsUnmapResources(1, r))
    ]], fail = "cuGraphicsGLRegisterImage@*=219" }
    if why then return pending(why) end
    assert.equal("801\tseparate arrays\n801\tcudaGetMipmappedArrayLevel\n3\n", result.output)
  end)

  it("are drawn by the devices that the driver names", function()
    local result, why = run { [[
      local count, list = ok(rt.cudaGLGetDevices(8, 3))
      print(count, list[1])
    ]], cuda = "devices=2" }
    if why then return pending(why) end
    assert.equal("1\t1\n", result.output)
    assert.matches("list 3$", gpu.call(result, "cuGLGetDevices"))
    result = run { [[
      local count, list = ok(rt.cudaGLGetDevices(8, 1))
      print(count, list[1], list[2], list[3])
    ]], cuda = "devices=2", fail = "cuGLGetDevices@*=219" }
    assert.equal("3\t0\t1\t2\n", result.output) -- another vendor's context: all, and the CPU device
  end)

  it("fail with the driver's error", function()
    local result, why = run { [[
      local one = ok(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
      print(rt.cudaGraphicsMapResources(1, one))
      ok(rt.cudaGraphicsMapResources(1, one))
      print(rt.cudaGraphicsUnmapResources(1, one))
      ok(rt.cudaGraphicsUnmapResources(1, one))
      print(rt.cudaGraphicsGLRegisterBuffer(buffer, 0))
    ]], fail = "cuGraphicsGLRegisterBuffer@2=2 cuGraphicsMapResources@1=205 cuGraphicsUnmapResources@1=206" }
    if why then return pending(why) end
    assert.equal("205\n206\n2\n", result.output)
  end)
end)
