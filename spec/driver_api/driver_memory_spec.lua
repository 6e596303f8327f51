-- moonwarp.driver: memory, copies and arrays by the names of CUDA's driver API.

local mw = require "moonwarp"
local cu = require "moonwarp.driver"
local driver = require "support.api.driver"

local pack = string.pack

local ok, code, fetch = driver.ok, driver.code, driver.fetch

local context
setup(function() context = driver.context() end)
teardown(function() ok(cu.cuCtxDestroy(context)) end)

local function count_to(n, first)
  local list = {}
  for i = 1, n do list[i] = (first or 0) + i end
  return list
end

local function host(dtype, values)
  local p = cu.malloc(cu.sizeof(dtype) * #values, dtype)
  p:set(values)
  return p
end

local function array_of(width, height)
  return ok(cu.cuArrayCreate {
    Width = width, Height = height, Format = cu.CU_AD_FORMAT_SIGNED_INT32, NumChannels = 1,
  })
end

local function contents(array, count)
  local h = cu.malloc(count * 4, "int")
  ok(cu.cuMemcpyAtoH(h, array, 0, count * 4))
  return h:totable(count)
end

describe("linear memory", function()
  it("is allocated, found again, counted and freed", function()
    for _ = 1, 3 do collectgarbage() end -- so that garbage of other specs is not freed meanwhile
    local free, total = ok(cu.cuMemGetInfo())
    local p = ok(cu.cuMemAlloc(2 ^ 20))
    assert.equal(2 ^ 20, free - ok(cu.cuMemGetInfo()))
    assert.is_true(total >= free)
    local base, size = ok(cu.cuMemGetAddressRange(p + 1000))
    assert.same({ p, 2 ^ 20 }, { base, size })
    ok(cu.cuMemFree(p))
    code("CUDA_ERROR_NOT_FOUND", cu.cuMemGetAddressRange(p))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemFree(p))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAlloc(0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAlloc(1.5))
    code("CUDA_ERROR_OUT_OF_MEMORY", cu.cuMemAlloc(2 ^ 52))
  end)

  it("has rows at a pitch", function()
    local p, pitch = ok(cu.cuMemAllocPitch(100, 4, 4))
    local align = ok(cu.cuDeviceGetAttribute(cu.CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 0))
    assert.is_true(pitch >= 100 and pitch % align == 0)
    ok(cu.cuMemsetD8(p, 1, pitch * 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD8(p, 1, pitch * 4 + 1))
    ok(cu.cuMemFree(p))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAllocPitch(100, 4, 3))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAllocPitch(0, 4, 4))
    code("CUDA_ERROR_OUT_OF_MEMORY", cu.cuMemAllocPitch(2 ^ 30, 2 ^ 22, 4))
  end)

  it("is set in elements of 8, 16 and 32 bits", function()
    local p = ok(cu.cuMemAlloc(16))
    ok(cu.cuMemsetD32(p, 0x01020304, 4))
    ok(cu.cuMemsetD16(p + 4, 0xabcd, 2))
    ok(cu.cuMemsetD8(p + 8, 0xff, 3))
    assert.same({ 0x01020304, 0xabcdabcd, 0x01ffffff, 0x01020304 }, fetch(p, "uint", 4))
    ok(cu.cuMemsetD8(p, -1, 1))
    ok(cu.cuMemsetD16(p + 2, -2, 1))
    ok(cu.cuMemsetD32(p + 12, -3, 1))
    assert.same({ 0xfffe03ff, 0xfffffffd }, { fetch(p, "uint", 1)[1], fetch(p + 12, "uint", 1)[1] })
    ok(cu.cuMemsetD8(p, 0, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD8(p, 256, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD16(p, 65536, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD16(p + 1, 0, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD32(p, 2 ^ 32, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD32(p + 2, 0, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD32(p, 0, 5))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD32(nil, 0, 1))
  end)

  it("is set in rows", function()
    local p = ok(cu.cuMemAlloc(48))
    ok(cu.cuMemsetD8(p, 0, 48))
    ok(cu.cuMemsetD2D32(p + 4, 16, 7, 2, 3))
    assert.same({ 0, 7, 7, 0, 0, 7, 7, 0, 0, 7, 7, 0 }, fetch(p, "int", 12))
    ok(cu.cuMemsetD2D16(p, 16, 1, 1, 2))
    ok(cu.cuMemsetD2D8(p + 44, 16, 9, 4, 1))
    assert.same({ 1, 7, 7, 0, 1, 7, 7, 0, 0, 7, 7, 0x09090909 }, fetch(p, "int", 12))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD2D32(p, 18, 7, 2, 2))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD2D32(p, 16, 7, 5, 2))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD2D16(p, 16, 7, 8, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD2D16(p + 1, 16, 7, 1, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD2D8(p, 16, 7, 17, 2))
  end)

  it("is copied to and from the host and within the device", function()
    local p, q = ok(cu.cuMemAlloc(16)), ok(cu.cuMemAlloc(16))
    ok(cu.cuMemcpyHtoD(p, host("int", { 1, 2, 3, 4 }), 16))
    ok(cu.cuMemcpyDtoD(q + 4, p, 12))
    ok(cu.cuMemcpyHtoD(q, pack("i4", 9), 4))
    assert.same({ 9, 1, 2, 3 }, fetch(q, "int", 4))
    ok(cu.cuMemcpy(p, q, 8))
    assert.same({ 9, 1, 3, 4 }, fetch(p, "int", 4))
    ok(cu.cuMemcpyHtoD(p, "", 0))
    ok(cu.cuMemcpyPeer(p, context, q, context, 16))
    assert.same({ 9, 1, 2, 3 }, fetch(p, "int", 4))
    local h = cu.malloc(16)
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoD(p, h, 17))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoD(p, q, 16))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoD(p, "short", 16))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoD(p, h, -1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyDtoH(h, p + 8, 16))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyDtoH(q, p, 16))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyDtoD(p, h, 16))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyDtoD(p, q, 17))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy(p, q, 17))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuMemcpyPeer(p, nil, q, context, 16))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyPeer(p, context, q, context, 17))
  end)
end)

describe("host memory", function()
  it("is pinned, mapped and registered", function()
    local h = ok(cu.cuMemHostAlloc(16, cu.CU_MEMHOSTALLOC_DEVICEMAP)):cast("int")
    h:set { 1, 2, 3, 4 }
    assert.equal(2, ok(cu.cuMemHostGetFlags(h)))
    local d = ok(cu.cuMemHostGetDevicePointer(h, 0))
    ok(cu.cuMemsetD32(d, 5, 2))
    assert.same({ 5, 5, 3, 4 }, h:totable(4))
    ok(cu.cuMemFreeHost(h))
    local q = ok(cu.cuMemAllocHost(8))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemFree(q))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemHostGetDevicePointer(q, 1))
    ok(cu.cuMemFreeHost(q))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemFreeHost(q))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemHostGetFlags(q))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemHostAlloc(16, 64))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAllocHost(0))
    code("CUDA_ERROR_OUT_OF_MEMORY", cu.cuMemAllocHost(2 ^ 52))
    code("CUDA_ERROR_OUT_OF_MEMORY", cu.cuMemHostAlloc(2 ^ 52, 0))
    local mine = cu.malloc(64)
    ok(cu.cuMemHostRegister(mine, 64, 0))
    code("CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", cu.cuMemHostRegister(mine, 64, 0))
    code("CUDA_ERROR_NOT_SUPPORTED", cu.cuMemHostGetDevicePointer(mine, 0))
    ok(cu.cuMemHostUnregister(mine))
    code("CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", cu.cuMemHostUnregister(mine))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemHostRegister(nil, 64, 0))
  end)

  it("is managed where host and device share it", function()
    local p = ok(cu.cuMemAllocManaged(16, cu.CU_MEM_ATTACH_GLOBAL)):cast("int")
    ok(cu.cuMemPrefetchAsync(p, 16, 0, nil))
    ok(cu.cuMemAdvise(p, 16, 1, 0))
    ok(cu.cuStreamAttachMemAsync(nil, p))
    ok(cu.cuMemsetD32(p, 3, 4))
    ok(cu.cuCtxSynchronize())
    assert.same({ 3, 3, 3, 3 }, p:totable(4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAdvise(p, 17, 1, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemPrefetchAsync(p, 17, 0))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuMemPrefetchAsync(p, 16, 99))
    ok(cu.cuMemFree(p))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuStreamAttachMemAsync(nil, p))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAllocManaged(0, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAllocManaged(16, 9))
    code("CUDA_ERROR_OUT_OF_MEMORY", cu.cuMemAllocManaged(2 ^ 52, 1))
  end)

  it("is distinguished from device memory", function()
    local d, h = ok(cu.cuMemAlloc(100)), ok(cu.cuMemAllocHost(100))
    assert.equal(cu.CU_MEMORYTYPE_DEVICE, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 4)))
    assert.equal(cu.CU_MEMORYTYPE_HOST, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, h)))
    assert.equal(d, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, d + 4)))
    assert.equal(100, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE, d)))
    assert.equal(d + 4, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, d + 4)))
    assert.equal(h, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_HOST_POINTER, h)))
    assert.equal(context, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_CONTEXT, d)))
    assert.equal(0, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_IS_MANAGED, d)))
    assert.equal(0, ok(cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d)))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuPointerGetAttribute(cu.CU_POINTER_ATTRIBUTE_HOST_POINTER, d))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuPointerGetAttribute(2, cu.malloc(4)))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuPointerGetAttribute(99, d))
  end)
end)

describe("CUDA_MEMCPY2D", function()
  local HOST, DEVICE, ARRAY = 1, 2, 3

  it("copies a box of rows between the host and the device", function()
    local p, pitch = ok(cu.cuMemAllocPitch(16, 3, 4))
    ok(cu.cuMemsetD8(p, 0, pitch * 3))
    ok(cu.cuMemcpy2D {
      srcMemoryType = HOST, srcHost = host("int", count_to(12)), srcPitch = 16, srcXInBytes = 4, srcY = 1,
      dstMemoryType = DEVICE, dstDevice = p, dstPitch = pitch, dstXInBytes = 8, dstY = 0,
      WidthInBytes = 8, Height = 2,
    })
    local h = host("int", count_to(9, 100))
    ok(cu.cuMemcpy2DUnaligned {
      srcMemoryType = DEVICE, srcDevice = p, srcPitch = pitch, dstMemoryType = HOST, dstHost = h, dstPitch = 12,
      srcXInBytes = 4, WidthInBytes = 12, Height = 3,
    })
    assert.same({ 0, 6, 7, 0, 10, 11, 0, 0, 0 }, h:totable(9))
    -- One row needs no pitch, and a string is its bytes.
    ok(cu.cuMemcpy2D {
      srcMemoryType = HOST, srcHost = pack("i4i4", 50, 51), dstMemoryType = DEVICE, dstDevice = p, WidthInBytes = 8,
      Height = 1,
    })
    ok(cu.cuMemcpy2D {
      srcMemoryType = cu.CU_MEMORYTYPE_UNIFIED, srcDevice = p, dstMemoryType = cu.CU_MEMORYTYPE_UNIFIED, dstDevice = h,
      WidthInBytes = 8, Height = 1,
    })
    assert.same({ 50, 51, 7 }, h:totable(3))
  end)

  it("copies to, from and between arrays", function()
    local a, b = array_of(4, 3), array_of(3, 3)
    ok(cu.cuMemcpy2D {
      srcMemoryType = HOST, srcHost = host("int", count_to(12)), srcPitch = 16, dstMemoryType = ARRAY, dstArray = a,
      WidthInBytes = 16, Height = 3,
    })
    ok(cu.cuMemcpy2D {
      srcMemoryType = ARRAY, srcArray = a, srcXInBytes = 4, dstMemoryType = ARRAY, dstArray = b, dstY = 1,
      WidthInBytes = 12, Height = 2,
    })
    ok(cu.cuMemcpy2D {
      srcMemoryType = ARRAY, srcArray = a, srcXInBytes = 4, srcY = 2, dstMemoryType = ARRAY, dstArray = b,
      WidthInBytes = 12, Height = 1,
    })
    assert.same({ 10, 11, 12, 2, 3, 4, 6, 7, 8 }, contents(b, 9))
  end)

  it("refuses copies out of bounds, pitches that are too small, and unknown kinds", function()
    local p, h, a = ok(cu.cuMemAlloc(64)), cu.malloc(64), array_of(4, 4)
    local function copy(changes)
      local desc = {
        srcMemoryType = HOST, srcHost = h, srcPitch = 16, dstMemoryType = DEVICE, dstDevice = p, dstPitch = 16,
        WidthInBytes = 16, Height = 4,
      }
      for key, value in pairs(changes) do desc[key] = value end
      return desc
    end
    ok(cu.cuMemcpy2D(copy {}))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { Height = 5 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { srcPitch = 15 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { dstXInBytes = 4 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { dstMemoryType = 9 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { dstMemoryType = ARRAY }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { dstMemoryType = ARRAY, dstArray = a, dstY = 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { dstMemoryType = ARRAY, dstArray = a, WidthInBytes = 6 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { srcMemoryType = DEVICE, srcDevice = h }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(copy { srcY = -1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2D(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy2DUnaligned(copy { Height = 5 }))
  end)

  it("has three dimensions as well", function()
    local array = ok(cu.cuArray3DCreate {
      Width = 2, Height = 2, Depth = 3, Format = cu.CU_AD_FORMAT_SIGNED_INT32, NumChannels = 1,
    })
    ok(cu.cuMemcpy3D {
      srcMemoryType = HOST, srcHost = host("int", count_to(12)), srcPitch = 8, srcHeight = 2,
      dstMemoryType = ARRAY, dstArray = array, WidthInBytes = 8, Height = 2, Depth = 3,
    })
    local h = cu.malloc(16, "int")
    ok(cu.cuMemcpy3D {
      srcMemoryType = ARRAY, srcArray = array, srcXInBytes = 4, srcZ = 1, dstMemoryType = HOST, dstHost = h,
      WidthInBytes = 4, Height = 2, Depth = 2,
    })
    assert.same({ 6, 8, 10, 12 }, h:totable(4))
    local p = ok(cu.cuMemAlloc(32))
    ok(cu.cuMemcpy3D {
      srcMemoryType = ARRAY, srcArray = array, dstMemoryType = DEVICE, dstDevice = p, WidthInBytes = 8, Height = 2,
      Depth = 2,
    })
    assert.same(count_to(8), fetch(p, "int", 8))
    ok(cu.cuMemcpy3DPeer {
      srcMemoryType = DEVICE, srcDevice = p + 4, srcContext = context, dstMemoryType = DEVICE, dstDevice = p,
      dstContext = context, WidthInBytes = 4, Height = 1, Depth = 1,
    })
    assert.same({ 2, 2, 3 }, fetch(p, "int", 3))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy3D {
      srcMemoryType = ARRAY, srcArray = array, dstMemoryType = DEVICE, dstDevice = p, WidthInBytes = 8, Height = 2,
      Depth = 4,
    })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy3D(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpy3DPeer(nil))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuMemcpy3DPeer { srcContext = context })
  end)
end)

describe("arrays", function()
  it("have the descriptors that they were made of", function()
    local desc = { Width = 8, Height = 4, Format = cu.CU_AD_FORMAT_UNSIGNED_INT8, NumChannels = 4 }
    local array = ok(cu.cuArrayCreate(desc))
    assert.equal("uchar4", array.dtype)
    assert.same(desc, ok(cu.cuArrayGetDescriptor(array)))
    local line = ok(cu.cuArrayCreate { Width = 5, Height = 0, Format = cu.CU_AD_FORMAT_HALF, NumChannels = 1 })
    assert.equal(0, ok(cu.cuArrayGetDescriptor(line)).Height)
    local layers = {
      Width = 4, Height = 3, Depth = 5, Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 2,
      Flags = cu.CUDA_ARRAY3D_LAYERED + cu.CUDA_ARRAY3D_SURFACE_LDST,
    }
    local layered = ok(cu.cuArray3DCreate(layers))
    assert.equal("2dlayered", layered.kind)
    assert.same(layers, ok(cu.cuArray3DGetDescriptor(layered)))
    ok(cu.cuArrayDestroy(array))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayDestroy(array))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayGetDescriptor(array))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArray3DGetDescriptor(nil))
  end)

  it("are refused with descriptors that make none", function()
    local float = cu.CU_AD_FORMAT_FLOAT
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayCreate(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayCreate { Width = 0, Height = 4, Format = float, NumChannels = 1 })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayCreate { Width = 4, Height = -1, Format = float, NumChannels = 1 })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayCreate { Width = 4, Height = 4, Format = float, NumChannels = 3 })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayCreate { Width = 4, Height = 4, Format = 0x77, NumChannels = 1 })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArray3DCreate(nil))
    code("CUDA_ERROR_INVALID_VALUE",
      cu.cuArray3DCreate { Width = 4, Height = 4, Depth = 4, Format = float, NumChannels = 1, Flags = 64 })
  end)

  it("are copied linearly, from the middle of rows on", function()
    local a, b, p = array_of(4, 3), array_of(6, 2), ok(cu.cuMemAlloc(48))
    ok(cu.cuMemcpyHtoA(a, 0, host("int", count_to(12)), 48))
    ok(cu.cuMemcpyHtoA(a, 8, pack("i4i4i4", 100, 101, 102), 12))
    assert.same({ 1, 2, 100, 101, 102, 6, 7, 8, 9, 10, 11, 12 }, contents(a, 12))
    ok(cu.cuMemcpyAtoA(b, 4, a, 8, 40))
    ok(cu.cuMemcpyAtoD(p, b, 4, 40))
    assert.same({ 100, 101, 102, 6, 7, 8, 9, 10, 11, 12 }, fetch(p, "int", 10))
    ok(cu.cuMemcpyDtoA(b, 20, p, 12))
    local h = cu.malloc(16, "int")
    ok(cu.cuMemcpyAtoH(h, b, 16, 16))
    assert.same({ 6, 100, 101, 102 }, h:totable(4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoA(a, 4, h, 48))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoA(a, 2, h, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoA(a, 0, p, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoA(nil, 0, h, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyDtoA(a, 0, h, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyDtoA(a, 0, p, 52))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyAtoD(h, a, 0, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyAtoD(p, a, 48, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyAtoH(p, a, 0, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyAtoH(h, a, -4, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyAtoA(a, 0, b, 0, 52))
  end)
end)

describe("copies in a stream", function()
  it("run in its order, for all shapes", function()
    local s = ok(cu.cuStreamCreate(0))
    local h = ok(cu.cuMemAllocHost(64)):cast("int")
    h:set(count_to(16))
    local p, q, a = ok(cu.cuMemAlloc(64)), ok(cu.cuMemAlloc(64)), array_of(4, 4)
    ok(cu.cuMemcpyHtoDAsync(p, h, 64, s))
    ok(cu.cuMemsetD32Async(p, 7, 2, s))
    ok(cu.cuMemsetD16Async(p + 8, 1, 2, s))
    ok(cu.cuMemsetD8Async(p + 12, 0, 4, s))
    ok(cu.cuMemsetD2D32Async(p + 16, 16, 9, 1, 2, s))
    ok(cu.cuMemsetD2D16Async(p + 20, 16, 2, 2, 1, s))
    ok(cu.cuMemsetD2D8Async(p + 24, 16, 0, 4, 1, s))
    ok(cu.cuMemcpyDtoDAsync(q, p, 64, s))
    ok(cu.cuMemcpyAsync(q + 60, p, 4, s))
    ok(cu.cuMemcpyPeerAsync(q + 56, context, p, context, 4, s))
    ok(cu.cuMemcpyDtoHAsync(h, q, 64, s))
    ok(cu.cuStreamSynchronize(s))
    assert.same({ 7, 7, 0x00010001, 0, 9, 0x00020002, 0, 8, 9, 10, 11, 12, 13, 14, 7, 7 }, h:totable(16))
    ok(cu.cuMemcpyHtoAAsync(a, 0, h, 64, s))
    ok(cu.cuMemcpy2DAsync({
      srcMemoryType = cu.CU_MEMORYTYPE_ARRAY, srcArray = a, dstMemoryType = cu.CU_MEMORYTYPE_DEVICE, dstDevice = p,
      dstPitch = 8, WidthInBytes = 8, Height = 4,
    }, s))
    ok(cu.cuMemcpy3DAsync({
      srcMemoryType = cu.CU_MEMORYTYPE_DEVICE, srcDevice = p, dstMemoryType = cu.CU_MEMORYTYPE_HOST, dstHost = h,
      WidthInBytes = 32, Height = 1, Depth = 1,
    }, s))
    ok(cu.cuMemcpyAtoHAsync(h + 8, a, 0, 32, s))
    ok(cu.cuStreamSynchronize(s))
    assert.same({ 7, 7, 9, 0x00020002, 9, 10, 13, 14, 7, 7, 0x00010001, 0, 9, 0x00020002, 0, 8 }, h:totable(16))
    ok(cu.cuMemcpy3DPeerAsync({
      srcMemoryType = 2, srcDevice = p, srcContext = context, dstMemoryType = 2, dstDevice = p + 32,
      dstContext = context, WidthInBytes = 4, Height = 1, Depth = 1,
    }, s))
    ok(cu.cuStreamSynchronize(s))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyHtoDAsync(p, h, 65, s))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemcpyDtoHAsync(h, p, 65, s))
  end)

  it("may take memory from a pool and give it back", function()
    local s, pool = ok(cu.cuStreamCreate(0)), ok(cu.cuDeviceGetDefaultMemPool(0))
    local used, high = cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH
    local before = ok(cu.cuMemPoolGetAttribute(pool, used))
    local p = ok(cu.cuMemAllocAsync(4000, s))
    assert.equal(before + 4000, ok(cu.cuMemPoolGetAttribute(pool, used)))
    ok(cu.cuMemFreeAsync(p, s))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemFreeAsync(p, s))
    ok(cu.cuStreamSynchronize(s))
    assert.equal(before, ok(cu.cuMemPoolGetAttribute(pool, used)))
    ok(cu.cuMemPoolSetAttribute(pool, high, 0))
    ok(cu.cuMemPoolTrimTo(pool, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemPoolGetAttribute(pool, 99))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemPoolSetAttribute(pool, 99, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemPoolTrimTo(nil, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemAllocAsync(0, s))
    code("CUDA_ERROR_OUT_OF_MEMORY", cu.cuMemAllocAsync(2 ^ 52, s))
  end)
end)

describe("memory of moonwarp's own", function()
  it("can be used by the driver API", function()
    local a = mw.arange(4, "int")
    ok(cu.cuMemsetD32(a, 5, 2))
    assert.same({ 5, 5, 2, 3 }, a:totable())
    ok(cu.cuMemcpyDtoD(a, cu.pointer(a) + 8, 8))
    assert.same({ 2, 3, 2, 3 }, a:totable())
  end)
end)
