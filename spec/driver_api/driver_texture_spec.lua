-- moonwarp.driver: texture references, texture objects and surfaces by the names of CUDA's driver API.

local suite = require "support.suite"
local cu = require "moonwarp.driver"
local driver = require "support.api.driver"

local pack = string.pack

local ok, code = driver.ok, driver.code

local context, module, out, result
setup(function()
  context = driver.context()
  module = ok(cu.cuModuleLoadData [[
    texture<float, 2, cudaReadModeElementType> image;
    texture<int, 1, cudaReadModeElementType> list;
    texture<unsigned char, 2, cudaReadModeNormalizedFloat> grey;
    surface<void, 2> canvas;
    __global__ void fetch(float *out, float x, float y) { *out = tex2D(image, x, y); }
    __global__ void item(float *out, int i) { *out = tex1Dfetch(list, i); }
    __global__ void shade(float *out, float x, float y) { *out = tex2D(grey, x, y); }
    __global__ void paint(float value) { surf2Dwrite(value, canvas, threadIdx.x * 4, 1); }
    __global__ void look(cudaTextureObject_t t, float *out, float x, float y) { *out = tex2D<float>(t, x, y); }
    __global__ void face(cudaTextureObject_t t, float *out, float x, float y) {
      *out = texCubemap<float>(t, x, y, 0);
    }
    __global__ void number(cudaTextureObject_t t, float *out, float x, float y) {
      *out = tex2D<unsigned char>(t, x, y);
    }
    __global__ void write(cudaSurfaceObject_t s) { surf2Dwrite(threadIdx.x + 100.0f, s, threadIdx.x * 4, 0); }
  ]])
  out = ok(cu.cuMemAlloc(4))
  result = cu.malloc(4, "float")
end)
teardown(function() ok(cu.cuCtxDestroy(context)) end)

-- What a kernel of the module writes to its parameter `out`.
local function value_of(name, ...)
  local f = ok(cu.cuModuleGetFunction(module, name))
  ok(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nil, { ... }))
  ok(cu.cuMemcpyDtoH(result, out, 4))
  return result[0]
end

local function reference(name) return ok(cu.cuModuleGetTexRef(module, name)) end

local function float_array(width, height, values, flags)
  local array = ok(cu.cuArray3DCreate {
    Width = width, Height = height, Depth = 0, Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1, Flags = flags or 0,
  })
  ok(cu.cuMemcpyHtoA(array, 0, pack(("f"):rep(#values), table.unpack(values)), #values * 4))
  return array
end

local function floats_of(array, count)
  local h = cu.malloc(count * 4, "float")
  ok(cu.cuMemcpyAtoH(h, array, 0, count * 4))
  return h:totable(count)
end

describe("texture references", function()
  it("read arrays, with options that apply from the next launch on", function()
    local image, array = reference "image", float_array(3, 2, { 1, 2, 3, 4, 5, 6 })
    ok(cu.cuTexRefSetArray(image, array, cu.CU_TRSA_OVERRIDE_FORMAT))
    assert.equal(array, ok(cu.cuTexRefGetArray(image)))
    assert.equal(6, value_of("fetch", out, 2.5, 1.5))
    assert.equal(6, value_of("fetch", out, 9, 9))
    ok(cu.cuTexRefSetFilterMode(image, cu.CU_TR_FILTER_MODE_LINEAR))
    assert.equal(cu.CU_TR_FILTER_MODE_LINEAR, ok(cu.cuTexRefGetFilterMode(image)))
    assert.equal(3, value_of("fetch", out, 1, 1))
    ok(cu.cuTexRefSetFlags(image, cu.CU_TRSF_NORMALIZED_COORDINATES))
    assert.equal(cu.CU_TRSF_NORMALIZED_COORDINATES, ok(cu.cuTexRefGetFlags(image)))
    ok(cu.cuTexRefSetFilterMode(image, cu.CU_TR_FILTER_MODE_POINT))
    ok(cu.cuTexRefSetAddressMode(image, 0, cu.CU_TR_ADDRESS_MODE_WRAP))
    ok(cu.cuTexRefSetAddressMode(image, 1, cu.CU_TR_ADDRESS_MODE_MIRROR))
    assert.equal(cu.CU_TR_ADDRESS_MODE_WRAP, ok(cu.cuTexRefGetAddressMode(image, 0)))
    assert.equal(cu.CU_TR_ADDRESS_MODE_MIRROR, ok(cu.cuTexRefGetAddressMode(image, 1)))
    assert.equal(1, value_of("fetch", out, 1.1, 0.1))
    assert.equal(4, value_of("fetch", out, 2.1, 1.2))
    ok(cu.cuTexRefSetBorderColor(image, { 9, 0, 0, 0 }))
    assert.same({ 9, 0, 0, 0 }, ok(cu.cuTexRefGetBorderColor(image)))
    for axis = 0, 1 do ok(cu.cuTexRefSetAddressMode(image, axis, cu.CU_TR_ADDRESS_MODE_BORDER)) end
    assert.equal(9, value_of("fetch", out, 1.1, 0.1))
    ok(cu.cuTexRefSetMaxAnisotropy(image, 4))
    assert.equal(4, ok(cu.cuTexRefGetMaxAnisotropy(image)))
    ok(cu.cuTexRefSetFlags(image, 0))
    for axis = 0, 1 do ok(cu.cuTexRefSetAddressMode(image, axis, cu.CU_TR_ADDRESS_MODE_CLAMP)) end
  end)

  it("are given to functions one by one", function()
    local fetch, image = ok(cu.cuModuleGetFunction(module, "fetch")), reference "image"
    ok(cu.cuTexRefSetArray(image, float_array(1, 1, { 42 }), cu.CU_TRSA_OVERRIDE_FORMAT))
    ok(cu.cuParamSetTexRef(fetch, cu.CU_PARAM_TR_DEFAULT, image))
    ok(cu.cuFuncSetBlockShape(fetch, 1, 1, 1))
    ok(cu.cuParamSetv(fetch, 0, out, 8))
    ok(cu.cuParamSetf(fetch, 8, 0.5))
    ok(cu.cuParamSetf(fetch, 12, 0.5))
    ok(cu.cuParamSetSize(fetch, 16))
    ok(cu.cuLaunch(fetch))
    ok(cu.cuMemcpyDtoH(result, out, 4))
    assert.equal(42, result[0])
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetTexRef(fetch, 3, image))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetTexRef(fetch, cu.CU_PARAM_TR_DEFAULT, ok(cu.cuTexRefCreate())))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetTexRef(fetch, cu.CU_PARAM_TR_DEFAULT, nil))
  end)

  it("read linear memory, with the offset that its address needs", function()
    local list, p = reference "list", ok(cu.cuMemAlloc(4096))
    ok(cu.cuMemsetD32(p, 7, 1024))
    ok(cu.cuMemcpyHtoD(p + 8, pack("i4", 70), 4))
    assert.same({ cu.CU_AD_FORMAT_SIGNED_INT32, 1 }, { ok(cu.cuTexRefGetFormat(list)) }) -- as declared
    assert.equal(0, ok(cu.cuTexRefSetAddress(list, p, 4096)))
    assert.equal(p, ok(cu.cuTexRefGetAddress(list)))
    assert.equal(70, value_of("item", out, 2))
    local offset = ok(cu.cuTexRefSetAddress(list, p + 8, 64))
    assert.equal(8, offset)
    assert.equal(70, value_of("item", out, offset / 4))
    ok(cu.cuTexRefSetFormat(list, cu.CU_AD_FORMAT_FLOAT, 1))
    assert.same({ cu.CU_AD_FORMAT_FLOAT, 1 }, { ok(cu.cuTexRefGetFormat(list)) })
    local item = ok(cu.cuModuleGetFunction(module, "item"))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(item, 1, 1, 1, 1, 1, 1, 0, nil, { out, 0 }))
    ok(cu.cuTexRefSetFormat(list, cu.CU_AD_FORMAT_SIGNED_INT32, 1))
    ok(cu.cuTexRefSetFilterMode(list, cu.CU_TR_FILTER_MODE_LINEAR)) -- without meaning for linear memory, and ignored
    ok(cu.cuTexRefSetFlags(list, cu.CU_TRSF_NORMALIZED_COORDINATES))
    ok(cu.cuTexRefSetAddressMode(list, 0, cu.CU_TR_ADDRESS_MODE_BORDER))
    assert.equal(7, value_of("item", out, 4))
    ok(cu.cuTexRefSetAddress(list, nil, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(item, 1, 1, 1, 1, 1, 1, 0, nil, { out, 0 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetAddress(list))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetArray(list))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress(list, p, 4097))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress(list, cu.malloc(4), 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress(list, p, -1))
  end)

  it("read pitched memory, and integers as normalized floats where they are declared so", function()
    if suite.on_gpu then return pending "CPU device only: a GPU reads as is declared" end
    local grey, p, pitch = reference "grey", ok(cu.cuMemAllocPitch(4, 2, 4))
    ok(cu.cuMemsetD2D8(p, pitch, 255, 4, 1))
    ok(cu.cuMemsetD2D8(p + pitch, pitch, 51, 4, 1))
    local desc = { Width = 4, Height = 2, Format = cu.CU_AD_FORMAT_UNSIGNED_INT8, NumChannels = 1 }
    ok(cu.cuTexRefSetAddress2D(grey, desc, p, pitch))
    assert.equal(p, ok(cu.cuTexRefGetAddress(grey)))
    assert.equal(1, value_of("shade", out, 0.5, 0.5))
    assert.equal(0.2, math.floor(value_of("shade", out, 9, 9) * 1e6 + 0.5) / 1e6)
    ok(cu.cuTexRefSetFlags(grey, cu.CU_TRSF_READ_AS_INTEGER))
    local shade = ok(cu.cuModuleGetFunction(module, "shade"))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(shade, 1, 1, 1, 1, 1, 1, 0, nil, { out, 0, 0 }))
    assert.matches("NormalizedFloat", cu.story().message)
    ok(cu.cuTexRefSetFlags(grey, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress2D(grey, desc, p + 4, pitch))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress2D(grey, desc, nil, pitch))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress2D(grey, desc, p, 3))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress2D(grey, nil, p, pitch))
    desc.Height = 3
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddress2D(grey, desc, p, pitch))
    assert.equal(1, value_of("shade", out, 0.5, 0.5))
  end)

  it("may be made, which are no module's", function()
    local made = ok(cu.cuTexRefCreate())
    ok(cu.cuTexRefSetFormat(made, cu.CU_AD_FORMAT_HALF, 4))
    assert.same({ cu.CU_AD_FORMAT_HALF, 4 }, { ok(cu.cuTexRefGetFormat(made)) })
    ok(cu.cuTexRefDestroy(made))
    assert.matches("destroyed", tostring(made))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefDestroy(made))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefDestroy(reference "image"))
    for _, name in ipairs {
      "SetArray", "SetAddress", "SetAddress2D", "SetFormat", "SetAddressMode", "SetFilterMode", "SetFlags",
      "SetBorderColor", "SetMaxAnisotropy", "GetArray", "GetAddress", "GetAddressMode", "GetFilterMode", "GetFormat",
      "GetFlags", "GetBorderColor", "GetMaxAnisotropy",
    } do
      code("CUDA_ERROR_INVALID_VALUE", cu["cuTexRef" .. name](made, 0, 0))
    end
  end)

  it("refuse invalid options", function()
    local image = reference "image"
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetArray(image, nil, cu.CU_TRSA_OVERRIDE_FORMAT))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetArray(image, float_array(1, 1, { 1 }), 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetFormat(image, 0x77, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetFormat(image, cu.CU_AD_FORMAT_FLOAT, 3))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddressMode(image, 3, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetAddressMode(image, 0, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefGetAddressMode(image, 3))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetFilterMode(image, 2))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetFlags(image, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetBorderColor(image, nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexRefSetMaxAnisotropy(image, 17))
  end)
end)

describe("texture objects", function()
  local function desc(flags)
    return { addressMode = { 1, 1, 1 }, filterMode = cu.CU_TR_FILTER_MODE_POINT, flags = flags or 0 }
  end

  it("are filtered across the edges of a cubemap where their flags say so", function()
    local cube = ok(cu.cuArray3DCreate { Width = 1, Height = 1, Depth = 6, Format = cu.CU_AD_FORMAT_FLOAT,
      NumChannels = 1, Flags = cu.CUDA_ARRAY3D_CUBEMAP })
    ok(cu.cuMemcpy3D { srcMemoryType = cu.CU_MEMORYTYPE_HOST, srcHost = pack("ffffff", 0, 1, 2, 3, 4, 5),
      dstMemoryType = cu.CU_MEMORYTYPE_ARRAY, dstArray = cube, WidthInBytes = 4, Height = 1, Depth = 6 })
    local resource = { resType = cu.CU_RESOURCE_TYPE_ARRAY, res = { array = { hArray = cube } } }
    for flags, expected in pairs { [0] = 2, [cu.CU_TRSF_SEAMLESS_CUBEMAP] = 1 } do -- between +x and +y, 0 and 2
      local how = { filterMode = cu.CU_TR_FILTER_MODE_LINEAR, flags = flags + cu.CU_TRSF_NORMALIZED_COORDINATES }
      assert.equal(expected, value_of("face", ok(cu.cuTexObjectCreate(resource, how)), out, 1, 1))
    end
  end)

  it("read arrays, linear and pitched memory, and have the descriptors that they were made of", function()
    local resource = {
      resType = cu.CU_RESOURCE_TYPE_ARRAY, res = { array = { hArray = float_array(2, 2, { 1, 2, 3, 4 }) } },
    }
    local how = desc(cu.CU_TRSF_NORMALIZED_COORDINATES)
    local texture = ok(cu.cuTexObjectCreate(resource, how))
    assert.equal(4, value_of("look", texture, out, 0.75, 0.75))
    assert.equal(resource, ok(cu.cuTexObjectGetResourceDesc(texture)))
    assert.equal(how, ok(cu.cuTexObjectGetTextureDesc(texture)))
    ok(cu.cuTexObjectDestroy(texture))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectDestroy(texture))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectGetResourceDesc(texture))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectGetTextureDesc(nil))
    local p, pitch = ok(cu.cuMemAllocPitch(4, 2, 4))
    ok(cu.cuMemsetD2D8(p, pitch, 255, 4, 2))
    local pitched = {
      resType = cu.CU_RESOURCE_TYPE_PITCH2D,
      res = { pitch2D = {
        devPtr = p, format = cu.CU_AD_FORMAT_UNSIGNED_INT8, numChannels = 1, width = 4, height = 2,
        pitchInBytes = pitch,
      } },
    }
    assert.equal(1, value_of("look", ok(cu.cuTexObjectCreate(pitched, desc())), out, 1.5, 1.5))
    local as_integer = ok(cu.cuTexObjectCreate(pitched, desc(cu.CU_TRSF_READ_AS_INTEGER)))
    assert.equal(255, value_of("number", as_integer, out, 1.5, 1.5))
    ok(cu.cuTexObjectCreate({
      resType = cu.CU_RESOURCE_TYPE_LINEAR,
      res = { linear = { devPtr = p, format = cu.CU_AD_FORMAT_FLOAT, numChannels = 1, sizeInBytes = 4 } },
    }, desc()))
  end)

  it("are refused over invalid resources, and with views", function()
    local array = { resType = 0, res = { array = { hArray = float_array(1, 1, { 1 }) } } }
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectCreate(nil, desc()))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectCreate({ resType = 9, res = {} }, desc()))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectCreate({ resType = 0, res = { array = {} } }, desc()))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTexObjectCreate(array, nil))
    code("CUDA_ERROR_NOT_SUPPORTED", cu.cuTexObjectCreate(array, desc(), {}))
  end)
end)

describe("surfaces", function()
  it("write to arrays, as objects and as references", function()
    local array = float_array(4, 2, { 0, 0, 0, 0, 0, 0, 0, 0 }, cu.CUDA_ARRAY3D_SURFACE_LDST)
    local resource = { resType = cu.CU_RESOURCE_TYPE_ARRAY, res = { array = { hArray = array } } }
    local surface, canvas = ok(cu.cuSurfObjectCreate(resource)), ok(cu.cuModuleGetSurfRef(module, "canvas"))
    assert.equal(resource, ok(cu.cuSurfObjectGetResourceDesc(surface)))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfRefGetArray(canvas))
    ok(cu.cuSurfRefSetArray(canvas, array, 0))
    assert.equal(array, ok(cu.cuSurfRefGetArray(canvas)))
    local write, paint = ok(cu.cuModuleGetFunction(module, "write")), ok(cu.cuModuleGetFunction(module, "paint"))
    ok(cu.cuLaunchKernel(write, 1, 1, 1, 4, 1, 1, 0, nil, { surface }))
    ok(cu.cuLaunchKernel(paint, 1, 1, 1, 3, 1, 1, 0, nil, { 9 }))
    assert.same({ 100, 101, 102, 103, 9, 9, 9, 0 }, floats_of(array, 8))
    ok(cu.cuSurfObjectDestroy(surface))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfObjectDestroy(surface))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfObjectGetResourceDesc(surface))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfObjectCreate { resType = 2, res = { linear = { devPtr = out } } })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfRefSetArray(canvas, nil, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfRefSetArray(canvas, array, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuSurfRefSetArray(reference "image", array, 0))
  end)
end)
