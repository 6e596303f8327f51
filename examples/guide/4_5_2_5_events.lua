-- CUDA 1.1 programming guide, 4.5.2.5: events with the runtime API, which show the device's progress and measure times.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"

local function ok(err, ...)
  if err ~= rt.cudaSuccess then error(rt.story(), 2) end
  return ...
end

rt.register(mw.compile [==[
__global__ void myKernel(float *data, int size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) data[i] += 1;
}
]==])

local size = 20000
local bytes = size * rt.sizeof "float"
local hostPtr = ok(rt.cudaMallocHost(bytes)):cast "float"
local devPtr = ok(rt.cudaMalloc(bytes))
for i = 0, size - 1 do hostPtr[i] = i end

local start, stop = ok(rt.cudaEventCreate()), ok(rt.cudaEventCreate())

-- Events that were never recorded have no time between them.
local err = rt.cudaEventElapsedTime(start, stop)
print(rt.cudaGetErrorName(err))                              --> cudaErrorInvalidResourceHandle
rt.cudaGetLastError()

ok(rt.cudaEventRecord(start, 0))
ok(rt.cudaMemcpyAsync(devPtr, hostPtr, bytes, rt.cudaMemcpyHostToDevice, 0))
ok(rt.call("myKernel", 100, 512)(devPtr, size))
ok(rt.cudaMemcpyAsync(hostPtr, devPtr, bytes, rt.cudaMemcpyDeviceToHost, 0))
ok(rt.cudaEventRecord(stop, 0))
ok(rt.cudaEventSynchronize(stop))

-- The work before the event is done; no other wait is needed.
ok(rt.cudaEventQuery(stop))
for i = 0, size - 1 do assert(hostPtr[i] == i + 1) end
local elapsedTime = ok(rt.cudaEventElapsedTime(start, stop)) -- milliseconds
assert(elapsedTime >= 0 and elapsedTime < 600000)

ok(rt.cudaEventDestroy(start))
ok(rt.cudaEventDestroy(stop))
ok(rt.cudaFreeHost(hostPtr))
ok(rt.cudaFree(devPtr))
print "checked"                                              --> checked
