-- Mipmapped arrays under CUDA's names: made by levels, which are arrays to copies and surfaces, and read whole by
-- textures.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local cu = require "moonwarp.driver"
local runtime = require "support.api.runtime"
local driver = require "support.api.driver"

local source = [[
texture<float, 2> picture;
__global__ void look(float lod, float *out) { *out = tex2DLod(picture, 0.5f, 0.5f, lod); }
__global__ void object(cudaTextureObject_t t, float lod, float *out) { *out = tex2DLod<float>(t, 0.5f, 0.5f, lod); }
__global__ void plain(cudaTextureObject_t t, float x, float *out) { *out = tex2D<float>(t, x, 0.5f); }
__global__ void paint(cudaSurfaceObject_t s, float value) { surf2Dwrite(value, s, threadIdx.x * 4, threadIdx.y); }
]]

describe("a mipmapped array of moonwarp.runtime", function()
  local ok, code = runtime.ok, runtime.code
  local m = rt.register(mw.compile(source))
  local float = rt.cudaCreateChannelDesc "float"
  local out = ok(rt.cudaMalloc(4))

  local function value_of(kernel, ...)
    ok(rt.cudaLaunchKernel(kernel, 1, 1, { ... }))
    return runtime.fetch(out, "float", 1)[1]
  end

  -- Of 8 x 8 texels, level n filled with 10 n.
  local function pyramid(levels)
    local mipmap = ok(rt.cudaMallocMipmappedArray(float, rt.make_cudaExtent(8, 8, 0), levels or 4))
    for level = 0, (levels or 4) - 1 do
      local size, values = 8 / 2 ^ level, {}
      for i = 1, size * size do values[i] = 10 * level end
      ok(rt.cudaMemcpy2DToArray(ok(rt.cudaGetMipmappedArrayLevel(mipmap, level)), 0, 0, runtime.host("float", values),
        size * 4, size * 4, size, rt.cudaMemcpyHostToDevice))
    end
    return mipmap
  end

  local function texture_of(mipmap, fields)
    fields = fields or {}
    fields.normalizedCoords = fields.normalizedCoords == nil and true or fields.normalizedCoords
    return rt.cudaCreateTextureObject(
      { resType = rt.cudaResourceTypeMipmappedArray, res = { mipmap = { mipmap = mipmap } } }, fields)
  end

  it("has levels that are arrays, each half as large as the one before", function()
    local mipmap = pyramid()
    for level, size in ipairs { 8, 4, 2, 1 } do
      local array = ok(rt.cudaGetMipmappedArrayLevel(mipmap, level - 1))
      assert.equal(array, ok(rt.cudaGetMipmappedArrayLevel(mipmap, level - 1)))
      local desc, extent, flags = ok(rt.cudaArrayGetInfo(array))
      assert.same({ 32, 2 }, { desc.x, desc.f })
      assert.same({ width = size, height = size, depth = 0 }, extent)
      assert.equal(0, flags)
    end
    code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(mipmap, 4))
    code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(mipmap, -1))
    code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(nil, 0))
  end)

  it("has as many levels as there can be, and one at least", function()
    local function count(levels, extent, flags)
      local mipmap, n = ok(rt.cudaMallocMipmappedArray(float, extent, levels, flags)), 0
      while rt.cudaGetMipmappedArrayLevel(mipmap, n) == 0 do n = n + 1 end
      rt.cudaGetLastError()
      return n
    end
    assert.equal(4, count(99, rt.make_cudaExtent(8, 3, 0)))
    assert.equal(1, count(0, rt.make_cudaExtent(8, 3, 0)))
    assert.equal(5, count(99, rt.make_cudaExtent(2, 3, 16)))
    assert.equal(2, count(99, rt.make_cudaExtent(2, 3, 16), rt.cudaArrayLayered))
    code("cudaErrorInvalidValue", rt.cudaMallocMipmappedArray(float, rt.make_cudaExtent(8, 8, 0), -1))
    code("cudaErrorInvalidValue", rt.cudaMallocMipmappedArray(float, nil, 1))
    code("cudaErrorInvalidValue", rt.cudaMallocMipmappedArray(float, rt.make_cudaExtent(0, 8, 0), 1))
    code("cudaErrorInvalidChannelDescriptor", rt.cudaMallocMipmappedArray({}, rt.make_cudaExtent(8, 8, 0), 1))
    code("cudaErrorMemoryAllocation", rt.cudaMallocMipmappedArray(rt.cudaCreateChannelDesc "float4",
      rt.make_cudaExtent(16384, 16384, 16384), 1))
  end)

  it("is read whole by texture objects, at levels of detail", function()
    local texture = ok(texture_of(pyramid()))
    assert.same({ 0, 10, 30 }, { value_of(m.object, texture, 0, out), value_of(m.object, texture, 1, out),
      value_of(m.object, texture, 9, out) })
    texture = ok(texture_of(pyramid(), { mipmapFilterMode = rt.cudaFilterModeLinear, mipmapLevelBias = 1,
      minMipmapLevelClamp = 0, maxMipmapLevelClamp = 2 }))
    assert.same({ 10, 15, 20 }, { value_of(m.object, texture, 0, out), value_of(m.object, texture, 0.5, out),
      value_of(m.object, texture, 3, out) })
    assert.equal(1, ok(rt.cudaGetTextureObjectResourceDesc(texture)).resType)
    code("cudaErrorInvalidValue", texture_of(pyramid(), { normalizedCoords = false })) -- levels differ in size
    code("cudaErrorInvalidValue", texture_of(ok(rt.cudaMallocArray(float, 8))))
    code("cudaErrorInvalidValue", texture_of(nil))
    code("cudaErrorNotSupported", rt.cudaCreateTextureObject({ resType = 0 }, {}, {}))
  end)

  it("is bound to references", function()
    local reference = ok(rt.cudaGetTextureReference("picture"))
    local mipmap = pyramid()
    reference.normalized, reference.mipmapFilterMode = true, rt.cudaFilterModeLinear
    ok(rt.cudaBindTextureToMipmappedArray(reference, mipmap, float))
    assert.equal(25, value_of(m.look, 2.5, out))
    code("cudaErrorInvalidValue", rt.cudaBindTextureToMipmappedArray(reference, mipmap, rt.cudaCreateChannelDesc "int"))
    code("cudaErrorInvalidValue", rt.cudaBindTextureToMipmappedArray(reference, ok(rt.cudaMallocArray(float, 8))))
    code("cudaErrorInvalidTexture", rt.cudaBindTextureToMipmappedArray({}, mipmap, float))
  end)

  it("is written level by level through surfaces, which textures of the whole and of the level see", function()
    local mipmap = pyramid()
    local level = ok(rt.cudaGetMipmappedArrayLevel(mipmap, 1))
    local surface = ok(rt.cudaCreateSurfaceObject { resType = rt.cudaResourceTypeArray, res = { array = level } })
    ok(rt.cudaLaunchKernel(m.paint, 1, { 4, 4 }, { surface, 77 }))
    assert.equal(77, value_of(m.object, ok(texture_of(mipmap)), 1, out))
    local texture = ok(rt.cudaCreateTextureObject({ resType = rt.cudaResourceTypeArray, res = { array = level } }, {}))
    assert.equal(77, value_of(m.plain, texture, 3.5, out))
    assert.equal(77, value_of(m.plain, texture, 99, out)) -- the edge is the level's
    local values = runtime.host("float", { 0, 0, 0, 0 })
    level = ok(rt.cudaGetMipmappedArrayLevel(mipmap, 2))
    ok(rt.cudaMemcpyFromArray(values, level, 0, 0, 16, rt.cudaMemcpyDeviceToHost))
    assert.same({ 20, 20, 20, 20 }, values:totable(4))
    code("cudaErrorInvalidValue", rt.cudaMemcpyFromArray(values, mipmap, 0, 0, 16, rt.cudaMemcpyDeviceToHost))
    code("cudaErrorInvalidValue", rt.cudaCreateSurfaceObject { resType = 1, res = { mipmap = { mipmap = mipmap } } })
  end)

  it("may have layers, or three dimensions", function()
    local layers = ok(rt.cudaMallocMipmappedArray(float, rt.make_cudaExtent(4, 4, 3), 3, rt.cudaArrayLayered))
    local _, extent, flags = ok(rt.cudaArrayGetInfo(ok(rt.cudaGetMipmappedArrayLevel(layers, 1))))
    assert.same({ width = 2, height = 2, depth = 3 }, extent)
    assert.equal(rt.cudaArrayLayered, flags)
    local volume = ok(rt.cudaMallocMipmappedArray(float, rt.make_cudaExtent(4, 4, 4), 3))
    _, extent = ok(rt.cudaArrayGetInfo(ok(rt.cudaGetMipmappedArrayLevel(volume, 1))))
    assert.same({ width = 2, height = 2, depth = 2 }, extent)
  end)

  it("is freed with its levels, and when it is collected", function()
    local mipmap = pyramid()
    local level = ok(rt.cudaGetMipmappedArrayLevel(mipmap, 1))
    code("cudaErrorInvalidValue", rt.cudaFreeArray(level))
    ok(rt.cudaFreeMipmappedArray(mipmap))
    ok(rt.cudaFreeMipmappedArray(nil))
    code("cudaErrorInvalidValue", rt.cudaFreeMipmappedArray(mipmap))
    code("cudaErrorInvalidValue", rt.cudaGetMipmappedArrayLevel(mipmap, 0))
    code("cudaErrorInvalidValue", rt.cudaArrayGetInfo(level))
    code("cudaErrorInvalidValue", texture_of(mipmap))
    -- a level keeps the whole
    level = ok(rt.cudaGetMipmappedArrayLevel(pyramid(), 2))
    collectgarbage()
    collectgarbage()
    local values = runtime.host("float", { 0, 0, 0, 0 })
    ok(rt.cudaMemcpyFromArray(values, level, 0, 0, 16, rt.cudaMemcpyDeviceToHost))
    assert.same({ 20, 20, 20, 20 }, values:totable(4))
  end)
end)

describe("a mipmapped array of moonwarp.driver", function()
  local ok, code = driver.ok, driver.code
  local context, module, out
  setup(function()
    context = driver.context()
    module, out = ok(cu.cuModuleLoadData(source)), ok(cu.cuMemAlloc(4))
  end)
  teardown(function() ok(cu.cuCtxDestroy(context)) end)

  local function value_of(name, ...)
    ok(cu.cuLaunchKernel(ok(cu.cuModuleGetFunction(module, name)), 1, 1, 1, 1, 1, 1, 0, nil, { ... }))
    return driver.fetch(out, "float", 1)[1]
  end

  local floats = { Width = 4, Height = 4, Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1 }

  local function pyramid()
    local mipmap = ok(cu.cuMipmappedArrayCreate(floats, 3))
    for level = 0, 2 do
      local size, h = 4 / 2 ^ level, cu.malloc(64, "float")
      for i = 0, size * size - 1 do h[i] = 10 * level end
      ok(cu.cuMemcpy2D { srcMemoryType = cu.CU_MEMORYTYPE_HOST, srcHost = h, dstMemoryType = cu.CU_MEMORYTYPE_ARRAY,
        dstArray = ok(cu.cuMipmappedArrayGetLevel(mipmap, level)), WidthInBytes = size * 4, Height = size })
      cu.free(h)
    end
    return mipmap
  end

  it("is made, gives its levels and is destroyed", function()
    local mipmap = pyramid()
    local level = ok(cu.cuMipmappedArrayGetLevel(mipmap, 1))
    assert.same({ Width = 2, Height = 2, Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1 },
      ok(cu.cuArrayGetDescriptor(level)))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMipmappedArrayGetLevel(mipmap, 3))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayDestroy(level))
    ok(cu.cuMipmappedArrayDestroy(mipmap))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuMipmappedArrayDestroy(mipmap))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuMipmappedArrayGetLevel(mipmap, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMipmappedArrayCreate(nil, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMipmappedArrayCreate({ Width = 4, Height = 4 }, 1))
    code("CUDA_ERROR_OUT_OF_MEMORY", cu.cuMipmappedArrayCreate({ Width = 16384, Height = 16384, Depth = 16384,
      Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 4 }, 1))
  end)

  it("is read through a texture reference, as that says", function()
    local mipmap, reference = pyramid(), ok(cu.cuModuleGetTexRef(module, "picture"))
    ok(cu.cuTexRefSetMipmappedArray(reference, mipmap, cu.CU_TRSA_OVERRIDE_FORMAT))
    ok(cu.cuTexRefSetFlags(reference, cu.CU_TRSF_NORMALIZED_COORDINATES))
    assert.equal(10, value_of("look", 1.4, out))
    ok(cu.cuTexRefSetMipmapFilterMode(reference, cu.CU_TR_FILTER_MODE_LINEAR))
    assert.equal(15, value_of("look", 1.5, out))
    ok(cu.cuTexRefSetMipmapLevelBias(reference, 0.25))
    assert.equal(17.5, value_of("look", 1.5, out))
    ok(cu.cuTexRefSetMipmapLevelClamp(reference, 0.5, 1))
    assert.same({ 5, 10 }, { value_of("look", 0, out), value_of("look", 2, out) })
    assert.equal(mipmap, ok(cu.cuTexRefGetMipmappedArray(reference)))
    assert.equal(cu.CU_TR_FILTER_MODE_LINEAR, ok(cu.cuTexRefGetMipmapFilterMode(reference)))
    assert.equal(0.25, ok(cu.cuTexRefGetMipmapLevelBias(reference)))
    assert.same({ 0.5, 1 }, { ok(cu.cuTexRefGetMipmapLevelClamp(reference)) })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetArray(reference))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetMipmappedArray(reference, mipmap, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetMipmappedArray(reference, nil, cu.CU_TRSA_OVERRIDE_FORMAT))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetMipmapFilterMode(reference, 2))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetMipmapLevelBias(reference, nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetMipmapLevelClamp(reference, 1))
    local other = ok(cu.cuTexRefCreate())
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetMipmappedArray(other))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetMipmapFilterMode(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetMipmapLevelBias(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetMipmapLevelClamp(nil))
  end)

  it("is read through a texture object", function()
    local mipmap = pyramid()
    local resource = { resType = cu.CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, res = { mipmap = { hMipmappedArray = mipmap } } }
    local texture = ok(cu.cuTexObjectCreate(resource, { flags = cu.CU_TRSF_NORMALIZED_COORDINATES,
      filterMode = cu.CU_TR_FILTER_MODE_POINT, mipmapFilterMode = cu.CU_TR_FILTER_MODE_LINEAR }))
    assert.equal(5, value_of("object", texture, 0.5, out))
    assert.equal(mipmap, ok(cu.cuTexObjectGetResourceDesc(texture)).res.mipmap.hMipmappedArray)
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfObjectCreate(resource))
    ok(cu.cuMipmappedArrayDestroy(mipmap))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectCreate(resource, {}))
  end)
end)
