-- CUDA 1.1 programming guide, 4.5.3.6: memory with the driver API. Linear memory, memory with a pitch, CUDA arrays, and
-- copies whose box a table describes (CUDA_MEMCPY2D).

local cu = require "moonwarp.driver"

local function ok(err, ...)
  if err ~= cu.CUDA_SUCCESS then error(cu.story(), 2) end
  return ...
end

ok(cu.cuInit(0))
local cuContext = ok(cu.cuCtxCreate(0, ok(cu.cuDeviceGet(0))))
local cuModule = ok(cu.cuModuleLoadData [==[
__constant__ float constData[256];
__global__ void myKernel(float *devPtr, int pitch, int width, int height) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= height) return;
  float *row = (float *)((char *)devPtr + r * pitch);
  for (int c = 0; c < width; ++c) row[c] = r * 100 + c + constData[r];
}
]==])
local sizeof_float = cu.sizeof "float"

-- 256 floats of linear memory, from the host.
local data = cu.malloc(256 * sizeof_float, "float")
for i = 0, 255 do data[i] = i / 256 end
local linear = ok(cu.cuMemAlloc(256 * sizeof_float))
ok(cu.cuMemcpyHtoD(linear, data, 256 * sizeof_float))
local base, bytes = ok(cu.cuMemGetAddressRange(linear + 100))
assert(base == linear and bytes == 1024)

-- Constant memory is a variable of the module.
local constData, size = ok(cu.cuModuleGetGlobal(cuModule, "constData"))
assert(size == 256 * sizeof_float)
ok(cu.cuMemcpyDtoD(constData, linear, size))

-- width x height floats, as elements of 4 bytes, in rows that begin at addresses of the device's choice.
local width, height = 100, 30
local devPtr, pitch = ok(cu.cuMemAllocPitch(width * sizeof_float, height, 4))
local cuFunction = ok(cu.cuModuleGetFunction(cuModule, "myKernel"))
ok(cu.cuFuncSetBlockShape(cuFunction, 32, 1, 1))
ok(cu.cuParamSetv(cuFunction, 0, devPtr, 8))
ok(cu.cuParamSeti(cuFunction, 8, pitch))
ok(cu.cuParamSeti(cuFunction, 12, width))
ok(cu.cuParamSeti(cuFunction, 16, height))
ok(cu.cuParamSetSize(cuFunction, 20))
ok(cu.cuLaunchGrid(cuFunction, 1, 1))

-- A CUDA array whose texels have one 32-bit floating-point component.
local cuArray = ok(cu.cuArrayCreate {
  Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1, Width = width, Height = height,
})
local desc = ok(cu.cuArrayGetDescriptor(cuArray))
print(desc.Width, desc.Height, desc.NumChannels)             --> 100 30 1

-- From pitched memory to the array.
ok(cu.cuMemcpy2D {
  dstMemoryType = cu.CU_MEMORYTYPE_ARRAY, dstArray = cuArray,
  srcMemoryType = cu.CU_MEMORYTYPE_DEVICE, srcDevice = devPtr, srcPitch = pitch,
  WidthInBytes = width * sizeof_float, Height = height,
})

-- A box of it to the host: 3 x 2 texels from (10, 20) on.
local box = cu.malloc(3 * 2 * sizeof_float, "float")
ok(cu.cuMemcpy2D {
  srcMemoryType = cu.CU_MEMORYTYPE_ARRAY, srcArray = cuArray, srcXInBytes = 10 * sizeof_float, srcY = 20,
  dstMemoryType = cu.CU_MEMORYTYPE_HOST, dstHost = box, dstPitch = 3 * sizeof_float,
  WidthInBytes = 3 * sizeof_float, Height = 2,
})
for y = 0, 1 do
  for x = 0, 2 do assert(box[y * 3 + x] == (20 + y) * 100 + 10 + x + (20 + y) / 256) end
end
print(math.floor(box[0]), math.floor(box[5]))                --> 2010 2112

-- A box that exceeds the array is refused, and nothing is copied.
local err = cu.cuMemcpy2D {
  srcMemoryType = cu.CU_MEMORYTYPE_ARRAY, srcArray = cuArray, srcY = 29, dstMemoryType = cu.CU_MEMORYTYPE_HOST,
  dstHost = box, dstPitch = 12, WidthInBytes = 12, Height = 2,
}
print((select(2, cu.cuGetErrorName(err))))                   --> CUDA_ERROR_INVALID_VALUE

ok(cu.cuArrayDestroy(cuArray))
ok(cu.cuMemFree(devPtr))
ok(cu.cuMemFree(linear))
cu.free(data)
cu.free(box)
ok(cu.cuCtxDestroy(cuContext))
print "checked"                                              --> checked
