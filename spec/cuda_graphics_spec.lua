-- Buffers and images of OpenGL on a GPU, on machines without one: what is asked of libcuda, and what is done where it
-- cannot share.
-- Lua 5.4 only: the driver is the same under every interpreter.

local gpu = require "support.fake_gpu"

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

  -- Another vendor's context, and a driver that knows nothing of OpenGL.
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

  it("fail with what the driver says", function()
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
