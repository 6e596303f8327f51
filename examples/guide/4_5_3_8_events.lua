-- CUDA 1.1 programming guide, 4.5.3.8: events with the driver API, which show the device's progress and measure times.

local cu = require "moonwarp.driver"

local function ok(err, ...)
  if err ~= cu.CUDA_SUCCESS then error(cu.story(), 2) end
  return ...
end

ok(cu.cuInit(0))
local cuContext = ok(cu.cuCtxCreate(0, ok(cu.cuDeviceGet(0))))

local start, stop = ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(0))
local err = cu.cuEventElapsedTime(start, stop)
print((select(2, cu.cuGetErrorName(err))))                   --> CUDA_ERROR_INVALID_HANDLE

local count = 100000
local devPtr, copy = ok(cu.cuMemAlloc(4 * count)), ok(cu.cuMemAllocHost(4 * count)):cast "uint"
ok(cu.cuEventRecord(start, nil))
ok(cu.cuMemsetD32Async(devPtr, 0xfeedbeef, count, nil))
ok(cu.cuMemcpyDtoHAsync(copy, devPtr, 4 * count, nil))
ok(cu.cuEventRecord(stop, nil))
ok(cu.cuEventSynchronize(stop))

ok(cu.cuEventQuery(stop))
for i = 0, count - 1 do assert(copy[i] == 0xfeedbeef) end
local elapsedTime = ok(cu.cuEventElapsedTime(start, stop)) -- milliseconds
assert(elapsedTime >= 0 and elapsedTime < 600000)

ok(cu.cuEventDestroy(start))
ok(cu.cuEventDestroy(stop))
ok(cu.cuCtxDestroy(cuContext))
print "checked"                                              --> checked
