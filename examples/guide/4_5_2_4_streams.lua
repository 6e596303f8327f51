-- CUDA 1.1 programming guide, 4.5.2.4: streams with the runtime API. Two streams, each a copy to the device, a kernel
-- and a copy back, which may overlap.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"

local function ok(err, ...)
  if err ~= rt.cudaSuccess then error(rt.story(), 2) end
  return ...
end

rt.register(mw.compile [==[
__global__ void myKernel(float *output, const float *input, int size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    output[i] = 2 * input[i] + 1;
}
]==])

local size = 20000 -- elements of each stream's half
local bytes = size * rt.sizeof "float"

local stream = {}
for i = 0, 1 do stream[i] = ok(rt.cudaStreamCreate()) end

-- Copies overlap with other work only if the host's memory is page-locked.
local hostPtr = ok(rt.cudaMallocHost(2 * bytes)):cast "float"
for i = 0, 2 * size - 1 do hostPtr[i] = i end
local inputDevPtr = ok(rt.cudaMalloc(2 * bytes)):cast "float"
local outputDevPtr = ok(rt.cudaMalloc(2 * bytes)):cast "float"

for i = 0, 1 do
  ok(rt.cudaMemcpyAsync(inputDevPtr + i * size, hostPtr + i * size, bytes, rt.cudaMemcpyHostToDevice, stream[i]))
end
for i = 0, 1 do
  -- myKernel<<<100, 512, 0, stream[i]>>>(…)
  ok(rt.call("myKernel", 100, 512, 0, stream[i])(outputDevPtr + i * size, inputDevPtr + i * size, size))
end
for i = 0, 1 do
  ok(rt.cudaMemcpyAsync(hostPtr + i * size, outputDevPtr + i * size, bytes, rt.cudaMemcpyDeviceToHost, stream[i]))
end
ok(rt.cudaThreadSynchronize())

for i = 0, 2 * size - 1 do assert(hostPtr[i] == 2 * i + 1) end
print(hostPtr[0], hostPtr[2 * size - 1])                     --> 1 79999

for i = 0, 1 do
  assert(rt.cudaStreamQuery(stream[i]) == rt.cudaSuccess) -- all of it is done
  ok(rt.cudaStreamDestroy(stream[i]))
end
assert(rt.cudaGetErrorName(rt.cudaStreamQuery(stream[0])) == "cudaErrorInvalidResourceHandle")
rt.cudaGetLastError()
ok(rt.cudaFreeHost(hostPtr))
ok(rt.cudaFree(inputDevPtr))
ok(rt.cudaFree(outputDevPtr))
print "checked"                                              --> checked
