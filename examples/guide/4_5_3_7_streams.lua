-- CUDA 1.1 programming guide, 4.5.3.7: streams with the driver API. Two streams, each a copy to the device, a grid and
-- a copy back, which may overlap.

local cu = require "moonwarp.driver"

local function ok(err, ...)
  if err ~= cu.CUDA_SUCCESS then error(cu.story(), 2) end
  return ...
end

ok(cu.cuInit(0))
local cuContext = ok(cu.cuCtxCreate(0, ok(cu.cuDeviceGet(0))))
local cuModule = ok(cu.cuModuleLoadData [==[
__global__ void myKernel(float *output, const float *input, int size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    output[i] = 2 * input[i] + 1;
}
]==])
local cuFunction = ok(cu.cuModuleGetFunction(cuModule, "myKernel"))

local size = 20000 -- elements of each stream's half
local bytes = size * cu.sizeof "float"

local stream = {}
for i = 0, 1 do stream[i] = ok(cu.cuStreamCreate(0)) end

-- Page-locked, so that copies can overlap with other work.
local hostPtr = ok(cu.cuMemAllocHost(2 * bytes)):cast "float"
for i = 0, 2 * size - 1 do hostPtr[i] = i end
local inputDevPtr = ok(cu.cuMemAlloc(2 * bytes)):cast "float"
local outputDevPtr = ok(cu.cuMemAlloc(2 * bytes)):cast "float"

for i = 0, 1 do
  ok(cu.cuMemcpyHtoDAsync(inputDevPtr + i * size, hostPtr + i * size, bytes, stream[i]))
end
for i = 0, 1 do
  -- A launch takes the current parameters; they may be changed for the next launch.
  ok(cu.cuFuncSetBlockShape(cuFunction, 512, 1, 1))
  ok(cu.cuParamSetv(cuFunction, 0, outputDevPtr + i * size, 8))
  ok(cu.cuParamSetv(cuFunction, 8, inputDevPtr + i * size, 8))
  ok(cu.cuParamSeti(cuFunction, 16, size))
  ok(cu.cuParamSetSize(cuFunction, 20))
  ok(cu.cuLaunchGridAsync(cuFunction, 100, 1, stream[i]))
end
for i = 0, 1 do
  ok(cu.cuMemcpyDtoHAsync(hostPtr + i * size, outputDevPtr + i * size, bytes, stream[i]))
end
ok(cu.cuCtxSynchronize())

for i = 0, 2 * size - 1 do assert(hostPtr[i] == 2 * i + 1) end
print(hostPtr[0], hostPtr[2 * size - 1])                     --> 1 79999

for i = 0, 1 do
  ok(cu.cuStreamQuery(stream[i]))
  ok(cu.cuStreamDestroy(stream[i]))
end
ok(cu.cuCtxDestroy(cuContext)) -- and all memory with it
print "checked"                                              --> checked
