-- Uses of an NVIDIA GPU's memory besides arrays, on machines without one.

local gpu = require "support.fake.gpu"

describe("memory of a GPU", function()
  it("that CUDA arrays have counts against the limit, and is free again when they go", function()
    local result = gpu [[
      local function image() return mw.cuda_array(nil, { kind = "2d", dtype = "float", width = 100, height = 100 }) end
      mw.limit("memory", 100000)
      local first, second = image(), image()
      print(mw.memory().bytes)
      local third, err = pcall(image)
      print(third, err.code, err.message)
      first:free()
      print(mw.memory().bytes)
      third = image()
      print(mw.memory().bytes, second.width)
    ]]
    local small, code, message, one, two = result.output:match(
      "^(%d+)\nfalse\t(%S+)\t([^\n]*)\n(%d+)\n(%d+)\t100\n$")
    assert.is_truthy(small, result.output)
    assert.same({ "80000", "40000", "80000" }, { small, one, two })
    assert.equal("cudaErrorMemoryAllocation", code)
    assert.matches("would pass the limit \"memory\", which is 100000 bytes", message, 1, true)
    assert.equal(3, gpu.count(result, "cuArray3DCreate"), "what passes the limit is not asked for")
  end)

  it("is read beyond a texture's edges as colours that are integers where its texels are, and floats else", function()
    local result = gpu [[
      local function handle(dtype, more)
        local image = mw.cuda_array(nil, { kind = "2d", dtype = dtype, width = 16, height = 8 })
        return mw.texture(image, { address = "border", border = { 1, 2, 3, 4 }, read = more }).handle
      end
      handle "int4" handle "float4" handle("uchar4", "normalized")
    ]]
    assert.is_true(result.ok, result.output)
    local borders = {}
    for _, line in ipairs(result.calls) do borders[#borders + 1] = line:match "^cuTexObjectCreate.* border (.*)" end
    local floats = "3f800000 40000000 40400000 40800000"
    assert.same({ "1 2 3 4", floats, floats }, borders)
  end)

  it("that a CUDA array cannot have is an error, and nothing stays counted", function()
    local result = gpu {
      [[
        local ok, err = pcall(mw.cuda_array, nil, { kind = "1d", dtype = "int", width = 64 })
        print(ok, err.code, mw.memory().bytes)
      ]],
      fail = "cuArray3DCreate@*=2",
    }
    assert.equal("false\tcudaErrorMemoryAllocation\t0\n", result.output)
  end)
end)
