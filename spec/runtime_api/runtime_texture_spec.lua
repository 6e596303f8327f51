-- moonwarp.runtime: memory of textures and surfaces in the guides (pitched memory, arrays, layers), under
-- CUDA's names.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local runtime = require "support.api.runtime"

local m = rt.register(mw.compile [[
texture<float, 2, cudaReadModeElementType> picture;
texture<float, 1> line;
surface<void, 2> canvas;
__device__ int variable;
__global__ void fetch(float *out, float x, float y) { *out = tex2D(picture, x, y); }
__global__ void filter_line(float *out, float x) { *out = tex1D(line, x); }
__global__ void fetch_line(float *out, int i) { *out = tex1Dfetch(line, i); }
__global__ void look_line(cudaTextureObject_t t, float *out, int i) { *out = tex1Dfetch<float>(t, i); }
__global__ void look(cudaTextureObject_t t, float *out, float x, float y) { *out = tex2D<float>(t, x, y); }
__global__ void layer(cudaTextureObject_t t, float *out, float x, float y, int l) {
  *out = tex2DLayered<float>(t, x, y, l);
}
__global__ void facing(cudaTextureObject_t t, float *out, float x, float y, float z) {
  *out = texCubemap<float>(t, x, y, z);
}
__global__ void count(cudaSurfaceObject_t s) { surf2Dwrite(threadIdx.x + 100.0f, s, threadIdx.x * 4, 0); }
__global__ void paint(float value) { surf2Dwrite(value, canvas, threadIdx.x * 4, 1); }
]])

local ok, code = runtime.ok, runtime.code

local float = rt.cudaCreateChannelDesc "float"
local out = ok(rt.cudaMalloc(4))
local result = rt.malloc(4, "float")

-- What a kernel writes to its parameter `out`.
local function value_of(kernel, ...)
  ok(rt.cudaLaunchKernel(kernel, 1, 1, { ... }))
  ok(rt.cudaMemcpy(result, out, 4, rt.cudaMemcpyDeviceToHost))
  return result[0]
end

-- Pitched device memory of 5 x 3 floats, row * 10 + column.
local function pitched()
  local p, pitch = ok(rt.cudaMallocPitch(5 * 4, 3))
  local h = rt.malloc(60, "float")
  for i = 0, 14 do h[i] = math.floor(i / 5) * 10 + i % 5 end
  ok(rt.cudaMemcpy2D(p, pitch, h, 20, 20, 3, rt.cudaMemcpyHostToDevice))
  return p, pitch
end

local function array_of(width, height, values, flags)
  local array = ok(rt.cudaMallocArray(float, width, height, flags))
  local h = rt.malloc(#values * 4, "float")
  h:set(values)
  ok(rt.cudaMemcpyToArray(array, 0, 0, h, #values * 4, rt.cudaMemcpyHostToDevice))
  return array
end

local function contents(array, count)
  local h = rt.malloc(count * 4, "float")
  ok(rt.cudaMemcpyFromArray(h, array, 0, 0, count * 4, rt.cudaMemcpyDeviceToHost))
  return h:totable(count)
end

describe("texture references", function()
  it("are the same ones each time, and can be found by name", function()
    local reference = ok(rt.cudaGetTextureReference "picture")
    assert.equal(reference, ok(rt.cudaGetTextureReference "picture"))
    assert.not_equal(reference, ok(rt.cudaGetTextureReference "line"))
    local symbol = m:symbol "line"
    assert.equal(ok(rt.cudaGetTextureReference(symbol)), ok(rt.cudaGetTextureReference(symbol)))
    local array = array_of(4, 2, { 1, 2, 3, 4, 5, 6, 7, 8 })
    reference.filterMode = rt.cudaFilterModeLinear
    ok(rt.cudaBindTextureToArray("picture", array))
    assert.equal(1.5, value_of(m.fetch, out, 1, 0.5))
    assert.equal(0, ok(rt.cudaGetTextureAlignmentOffset "picture"))
    ok(rt.cudaUnbindTexture "picture")
    code("cudaErrorInvalidTextureBinding", rt.cudaGetTextureAlignmentOffset(reference))
    reference.filterMode = rt.cudaFilterModePoint
    code("cudaErrorInvalidSymbol", rt.cudaBindTextureToArray("nobody", array))
    code("cudaErrorInvalidTexture", rt.cudaBindTextureToArray("variable", array))
    ok(rt.cudaFreeArray(array))
  end)

  it("are bound as C++ has it, with a size and no descriptor", function()
    local p, h = ok(rt.cudaMalloc(16)), rt.malloc(16, "float")
    h:set { 5, 6, 7, 8 }
    ok(rt.cudaMemcpy(p, h, 16, rt.cudaMemcpyHostToDevice))
    assert.equal(0, ok(rt.cudaBindTexture("line", p, 8)))
    assert.equal(6, value_of(m.fetch_line, out, 1))
    assert.equal(0, value_of(m.fetch_line, out, 2)) -- past the size
    ok(rt.cudaUnbindTexture "line")
    ok(rt.cudaFree(p))
  end)

  -- As the transfer functions of volume renderers are.
  it("of one dimension read arrays that are one row high", function()
    local array = array_of(4, 1, { 1, 2, 4, 8 })
    local reference = ok(rt.cudaGetTextureReference "line")
    reference.filterMode = rt.cudaFilterModeLinear
    ok(rt.cudaBindTextureToArray(reference, array, float))
    assert.equal(3, value_of(m.filter_line, out, 2))
    assert.equal(8, value_of(m.filter_line, out, 9))
    ok(rt.cudaUnbindTexture(reference))
    reference.filterMode = rt.cudaFilterModePoint
    local high = array_of(2, 2, { 1, 2, 4, 8 })
    code("cudaErrorInvalidTexture", rt.cudaBindTextureToArray(reference, high, float))
    ok(rt.cudaFreeArray(array))
    ok(rt.cudaFreeArray(high))
  end)
end)

describe("texture references over pitched memory", function()
  local p, pitch = pitched()
  local reference = ok(rt.cudaGetTextureReference("picture"))

  it("end where their width does, not where the pitch does", function()
    assert.equal(0, ok(rt.cudaBindTexture2D(reference, p, float, 5, 3, pitch)))
    assert.equal(24, value_of(m.fetch, out, 4.5, 2.5))
    assert.equal(24, value_of(m.fetch, out, 100, 100))
    assert.equal(0, value_of(m.fetch, out, -100, -100))
    ok(rt.cudaBindTexture2D(reference, p, float, 3, 2, pitch))
    assert.equal(12, value_of(m.fetch, out, 100, 100))
  end)

  it("are filtered as their fields say", function()
    reference.filterMode = rt.cudaFilterModeLinear
    ok(rt.cudaBindTexture2D(reference, p, float, 5, 3, pitch))
    assert.equal(5.5, value_of(m.fetch, out, 1, 1))
    reference.filterMode = rt.cudaFilterModePoint
  end)

  it("have the offset of an address that is not aligned", function()
    local offset = ok(rt.cudaBindTexture2D(reference, p + 8, float, 3, 3, pitch))
    assert.equal(8, offset)
    assert.equal(offset, ok(rt.cudaGetTextureAlignmentOffset(reference)))
    assert.equal(2, value_of(m.fetch, out, offset / 4 + 0.5, 0.5))
  end)

  it("have the format of their declaration where no descriptor is given", function()
    ok(rt.cudaBindTexture2D(reference, p, nil, 5, 3, pitch))
    assert.equal(11, value_of(m.fetch, out, 1.5, 1.5))
    local line = ok(rt.cudaGetTextureReference("line"))
    ok(rt.cudaBindTexture(line, p, nil, 20))
    assert.equal(3, value_of(m.fetch_line, out, 3))
  end)

  it("are refused with pitches and sizes that cannot be", function()
    code("cudaErrorInvalidPitchValue", rt.cudaBindTexture2D(reference, p, float, 5, 3, 16))
    code("cudaErrorInvalidPitchValue", rt.cudaBindTexture2D(reference, p, float, 5, 3, pitch + 2))
    code("cudaErrorInvalidPitchValue", rt.cudaBindTexture2D(reference, p, float, 5, 3, nil))
    code("cudaErrorInvalidValue", rt.cudaBindTexture2D(reference, p, float, 0, 3, pitch))
    code("cudaErrorInvalidValue", rt.cudaBindTexture2D(reference, p, float, 5, 4, pitch))
    code("cudaErrorInvalidTexture", rt.cudaBindTexture2D(nil, p, float, 5, 3, pitch))
    code("cudaErrorInvalidChannelDescriptor", rt.cudaBindTexture2D(reference, p, {}, 5, 3, pitch))
    code("cudaErrorInvalidValue", rt.cudaBindTextureToArray(reference, array_of(2, 1, { 1, 2 }),
      rt.cudaCreateChannelDesc "int"))
  end)

  it("are unbound", function()
    ok(rt.cudaUnbindTexture(reference))
    code("cudaErrorInvalidTextureBinding", rt.cudaLaunchKernel(m.fetch, 1, 1, { out, 0, 0 }))
    code("cudaErrorInvalidTexture", rt.cudaUnbindTexture(nil))
    code("cudaErrorInvalidTexture", rt.cudaGetTextureAlignmentOffset({}))
  end)
end)

it("how linear memory is filtered and addressed is ignored", function()
  local p = pitched()
  local line = ok(rt.cudaGetTextureReference("line"))
  line.filterMode, line.normalized, line.addressMode[0] = rt.cudaFilterModeLinear, true, rt.cudaAddressModeWrap
  ok(rt.cudaBindTexture(line, p, float, 20))
  assert.equal(4, value_of(m.fetch_line, out, 4))
  assert.equal(0, value_of(m.fetch_line, out, 5))
  local texture = ok(rt.cudaCreateTextureObject(
    { resType = rt.cudaResourceTypeLinear, res = { linear = { devPtr = p, desc = float, sizeInBytes = 20 } } },
    { filterMode = rt.cudaFilterModeLinear, normalizedCoords = true, addressMode = { rt.cudaAddressModeBorder } }))
  assert.equal(4, value_of(m.look_line, texture, out, 4))
  assert.equal(0, value_of(m.look_line, texture, out, -1))
end)

describe("texture objects", function()
  it("are filtered across the edges of a cubemap where their fields say so", function()
    local cube = ok(rt.cudaMalloc3DArray(float, rt.make_cudaExtent(2, 2, 6), rt.cudaArrayCubemap))
    local h = rt.malloc(96, "float")
    for i = 0, 23 do h[i] = math.floor(i / 4) end
    ok(rt.cudaMemcpy3D { srcPtr = rt.make_cudaPitchedPtr(h, 8, 2, 2), dstArray = cube, kind = rt.cudaMemcpyHostToDevice,
      extent = rt.make_cudaExtent(2, 2, 6) })
    local resource = { resType = rt.cudaResourceTypeArray, res = { array = { array = cube } } }
    for seamless, expected in pairs { [0] = 2, [1] = 1 } do -- between the faces of +x and +y, 0 and 2
      local texture = ok(rt.cudaCreateTextureObject(resource, { filterMode = rt.cudaFilterModeLinear,
        normalizedCoords = true, seamlessCubemap = seamless }))
      assert.equal(expected, value_of(m.facing, texture, out, 1, 1, 0))
    end
  end)

  it("have a border's colour, counted from 0 or from 1", function()
    local resource = { resType = rt.cudaResourceTypeArray, res = { array = { array = array_of(2, 1, { 6, 7 }) } } }
    for _, colour in ipairs { { 5 }, { [0] = 5, 9 } } do
      local texture = ok(rt.cudaCreateTextureObject(resource, { borderColor = colour,
        addressMode = { [0] = rt.cudaAddressModeBorder, rt.cudaAddressModeBorder } }))
      assert.equal(5, value_of(m.look, texture, out, -1, 0.5))
    end
  end)

  it("take resources as C has them, or without the name of the kind", function()
    local p, pitch = pitched()
    local array, modes = array_of(2, 1, { 6, 7 }), { readMode = rt.cudaReadModeElementType }
    local pitch2D = { devPtr = p, desc = float, width = 4, height = 3, pitchInBytes = pitch }
    for _, resource in ipairs {
      { resType = rt.cudaResourceTypeArray, res = { array = { array = array } }, value = 7 },
      { resType = rt.cudaResourceTypeArray, res = { array = array }, value = 7 },
      { resType = rt.cudaResourceTypePitch2D, res = { pitch2D = pitch2D }, value = 23 },
      { resType = rt.cudaResourceTypePitch2D, res = pitch2D, value = 23 },
    } do
      assert.equal(resource.value, value_of(m.look, ok(rt.cudaCreateTextureObject(resource, modes)), out, 100, 100))
    end
  end)

  local modes = { addressMode = { rt.cudaAddressModeClamp, rt.cudaAddressModeClamp }, readMode = 0 }

  it("read pitched memory, and have the descriptors that they were made of", function()
    local p, pitch = pitched()
    local resource = {
      resType = rt.cudaResourceTypePitch2D,
      res = { devPtr = p, desc = float, width = 4, height = 3, pitchInBytes = pitch },
    }
    local texture = ok(rt.cudaCreateTextureObject(resource, modes))
    assert.equal(23, value_of(m.look, texture, out, 100, 100))
    assert.equal(resource, ok(rt.cudaGetTextureObjectResourceDesc(texture)))
    assert.equal(modes, ok(rt.cudaGetTextureObjectTextureDesc(texture)))
    ok(rt.cudaDestroyTextureObject(texture))
    code("cudaErrorInvalidValue", rt.cudaGetTextureObjectResourceDesc(texture))
    code("cudaErrorInvalidValue", rt.cudaGetTextureObjectTextureDesc(texture))
    resource.res.pitchInBytes = 8
    code("cudaErrorInvalidPitchValue", rt.cudaCreateTextureObject(resource, modes))
    resource.resType = rt.cudaResourceTypeLinear
    code("cudaErrorInvalidValue", rt.cudaCreateTextureObject(resource, modes))
  end)

  it("read layers, which cudaMemcpy3D fills", function()
    local extent = rt.make_cudaExtent(2, 2, 3)
    local layers = ok(rt.cudaMalloc3DArray(float, extent, rt.cudaArrayLayered))
    local h = rt.malloc(48, "float")
    for i = 0, 11 do h[i] = i end
    ok(rt.cudaMemcpy3D {
      srcPtr = rt.make_cudaPitchedPtr(h, 8, 2, 2), dstArray = layers, extent = extent,
      kind = rt.cudaMemcpyHostToDevice,
    })
    local texture = ok(rt.cudaCreateTextureObject({ resType = rt.cudaResourceTypeArray, res = { array = layers } },
      modes))
    assert.equal(2 * 4 + 3, value_of(m.layer, texture, out, 1.5, 1.5, 2))
    local _, _, flags = ok(rt.cudaArrayGetInfo(layers))
    assert.equal(rt.cudaArrayLayered, flags)
    -- From the array: a box of 1 x 2 texels of two layers.
    local part = rt.malloc(16, "float")
    ok(rt.cudaMemcpy3D {
      srcArray = layers, srcPos = rt.make_cudaPos(1, 0, 1), dstPtr = rt.make_cudaPitchedPtr(part, 4, 1, 2),
      extent = rt.make_cudaExtent(1, 2, 2), kind = rt.cudaMemcpyDeviceToHost,
    })
    assert.same({ 5, 7, 9, 11 }, part:totable(4))
    -- From one array to another.
    local other = ok(rt.cudaMalloc3DArray(float, extent, rt.cudaArrayLayered))
    ok(rt.cudaMemcpy3DAsync({ srcArray = layers, dstArray = other, extent = extent }, 0))
    ok(rt.cudaMemcpy3D {
      srcArray = other, dstPtr = rt.make_cudaPitchedPtr(h, 8, 2, 2), extent = extent, kind = rt.cudaMemcpyDeviceToHost,
    })
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, h:totable(12))
    code("cudaErrorInvalidValue", rt.cudaMemcpy3D { srcArray = layers, dstArray = other,
      extent = rt.make_cudaExtent(3, 2, 3) })
    code("cudaErrorInvalidValue", rt.cudaMemcpy3D { srcArray = layers, extent = extent })
    code("cudaErrorInvalidValue", rt.cudaMemcpy3DAsync({ srcArray = layers, dstArray = other }, 0))
  end)
end)

describe("CUDA arrays", function()
  it("take bytes of a string, and only directions that can be", function()
    local array = array_of(2, 1, { 1, 2 })
    ok(rt.cudaMemcpyToArray(array, 4, 0, string.pack("f", 7), 4, rt.cudaMemcpyHostToDevice))
    assert.same({ 1, 7 }, contents(array, 2))
    local p = ok(rt.cudaMalloc(8))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyToArray(array, 0, 0, p, 8, rt.cudaMemcpyDeviceToHost))
    code("cudaErrorInvalidMemcpyDirection", rt.cudaMemcpyFromArray(p, array, 0, 0, 8, rt.cudaMemcpyHostToDevice))
    code("cudaErrorInvalidMemcpyDirection",
      rt.cudaMemcpy2DToArray(array, 0, 0, p, 8, 8, 1, rt.cudaMemcpyDeviceToHost))
    code("cudaErrorInvalidMemcpyDirection",
      rt.cudaMemcpy2DFromArray(p, 8, array, 0, 0, 8, 1, rt.cudaMemcpyHostToHost))
    code("cudaErrorInvalidValue", rt.cudaMemcpyFromArray(p, array, 0, 0, 12, rt.cudaMemcpyDeviceToDevice))
    code("cudaErrorInvalidValue", rt.cudaMemcpyArrayToArray(array, 4, 0, array, 0, 0, 8))
  end)

  it("are refused with sizes and flags that make no array", function()
    code("cudaErrorInvalidValue", rt.cudaMallocArray(float, -1, 2))
    code("cudaErrorInvalidValue", rt.cudaMallocArray(float, 2.5, 2))
    code("cudaErrorInvalidValue", rt.cudaMallocArray(float, 2, 2, rt.cudaArrayLayered))
    code("cudaErrorInvalidValue", rt.cudaMalloc3DArray(float, nil))
    code("cudaErrorInvalidValue", rt.cudaMalloc3DArray(float, rt.make_cudaExtent(2, 2, 2), 16))
    code("cudaErrorInvalidValue", rt.cudaArrayGetInfo(nil))
    code("cudaErrorInvalidChannelDescriptor", rt.cudaMalloc3DArray({}, rt.make_cudaExtent(2, 2, 2)))
  end)
end)

describe("surfaces", function()
  it("write to arrays, as objects and as references", function()
    local array = array_of(4, 2, { 0, 0, 0, 0, 0, 0, 0, 0 }, rt.cudaArraySurfaceLoadStore)
    local resource = { resType = rt.cudaResourceTypeArray, res = { array = array } }
    local surface = ok(rt.cudaCreateSurfaceObject(resource))
    assert.equal(resource, ok(rt.cudaGetSurfaceObjectResourceDesc(surface)))
    ok(rt.cudaLaunchKernel(m.count, 1, 4, { surface }))
    local reference = ok(rt.cudaGetSurfaceReference("canvas"))
    ok(rt.cudaBindSurfaceToArray(reference, array))
    ok(rt.cudaLaunchKernel(m.paint, 1, 3, { 9 }))
    assert.same({ 100, 101, 102, 103, 9, 9, 9, 0 }, contents(array, 8))
    ok(rt.cudaDestroySurfaceObject(surface))
    code("cudaErrorInvalidValue", rt.cudaGetSurfaceObjectResourceDesc(surface))
    code("cudaErrorInvalidValue", rt.cudaBindSurfaceToArray(reference, nil))
    code("cudaErrorInvalidSurface", rt.cudaBindSurfaceToArray(nil, array))
    code("cudaErrorInvalidSurface", rt.cudaGetSurfaceReference("variable"))
    code("cudaErrorInvalidSymbol", rt.cudaGetSurfaceReference("nobody"))
    code("cudaErrorInvalidValue", rt.cudaCreateSurfaceObject {
      resType = rt.cudaResourceTypeLinear, res = { devPtr = out, desc = float, sizeInBytes = 4 },
    })
  end)
end)

describe("graphs", function()
  it("list their edges, roots and dependents", function()
    local g = ok(rt.cudaGraphCreate(0))
    local a = ok(rt.cudaGraphAddEmptyNode(g, {}))
    local b = ok(rt.cudaGraphAddEmptyNode(g, { a }))
    local c = ok(rt.cudaGraphAddEmptyNode(g, { a, b }))
    local from, to = ok(rt.cudaGraphGetEdges(g))
    assert.same({ { a, a, b }, { b, c, c } }, { from, to })
    assert.same({ a }, ok(rt.cudaGraphGetRootNodes(g)))
    assert.same({ b, c }, ok(rt.cudaGraphNodeGetDependentNodes(g, a)))
    assert.same({}, ok(rt.cudaGraphNodeGetDependentNodes(g, c)))
    code("cudaErrorInvalidValue", rt.cudaGraphNodeGetDependentNodes(g, 99))
    code("cudaErrorInvalidValue", rt.cudaGraphGetEdges(nil))
    code("cudaErrorInvalidValue", rt.cudaGraphGetRootNodes(nil))
  end)

  it("keep the attributes of kernel nodes", function()
    local g = ok(rt.cudaGraphCreate(0))
    local params = { func = m.paint, gridDim = 1, blockDim = 1, kernelParams = { 1 } }
    local a = ok(rt.cudaGraphAddKernelNode(g, {}, params))
    local b = ok(rt.cudaGraphAddKernelNode(g, { a }, params))
    local empty = ok(rt.cudaGraphAddEmptyNode(g, {}))
    local window = rt.cudaKernelNodeAttributeAccessPolicyWindow
    local value = { accessPolicyWindow = { num_bytes = 64, hitRatio = 0.5 } }
    assert.same({}, ok(rt.cudaGraphKernelNodeGetAttribute(g, a, window)))
    ok(rt.cudaGraphKernelNodeSetAttribute(g, a, window, value))
    assert.equal(value, ok(rt.cudaGraphKernelNodeGetAttribute(g, a, window)))
    ok(rt.cudaGraphKernelNodeCopyAttributes(g, a, b))
    assert.equal(value, ok(rt.cudaGraphKernelNodeGetAttribute(g, b, window)))
    code("cudaErrorInvalidValue", rt.cudaGraphKernelNodeSetAttribute(g, a, 9, value))
    code("cudaErrorInvalidValue", rt.cudaGraphKernelNodeSetAttribute(g, empty, window, value))
    code("cudaErrorInvalidValue", rt.cudaGraphKernelNodeGetAttribute(g, a, 9))
    code("cudaErrorInvalidValue", rt.cudaGraphKernelNodeCopyAttributes(g, a, empty))
    code("cudaErrorNotSupported", rt.cudaGraphKernelNodeSetAttribute(g, a, rt.cudaKernelNodeAttributeCooperative,
      { cooperative = 1 }))
  end)
end)

describe("cooperative launches", function()
  it("have grids that the device holds", function()
    local array = array_of(3, 1, { 0, 0, 0 }, rt.cudaArraySurfaceLoadStore)
    local surface = ok(rt.cudaCreateSurfaceObject { resType = rt.cudaResourceTypeArray, res = { array = array } })
    ok(rt.cudaLaunchCooperativeKernel(m.count, 1, 3, { surface }))
    assert.same({ 100, 101, 102 }, contents(array, 3))
    code("cudaErrorCooperativeLaunchTooLarge", rt.cudaLaunchCooperativeKernel(m.count, 2 ^ 20, 32, { surface }))
    code("cudaErrorInvalidDeviceFunction", rt.cudaLaunchCooperativeKernel(nil, 1, 1, {}))
  end)
end)
