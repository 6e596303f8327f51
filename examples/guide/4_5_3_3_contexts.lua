-- CUDA 1.1 programming guide, 4.5.3.1 to 4.5.3.3: the driver API is initialised, devices are counted, and a context is
-- made, used by two parts of a program, and left.

local cu = require "moonwarp.driver"

-- The results after a code, which must be CUDA_SUCCESS.
local function ok(err, ...)
  if err ~= cu.CUDA_SUCCESS then error(cu.story(), 2) end
  return ...
end

ok(cu.cuInit(0))
local deviceCount = ok(cu.cuDeviceGetCount())
assert(deviceCount >= 1)
local cuDevice = ok(cu.cuDeviceGet(0))
local major, minor = ok(cu.cuDeviceComputeCapability(cuDevice))
assert(major >= 1 and minor >= 0)

-- Without a current context, no memory can be allocated.
local before = ok(cu.cuCtxGetCurrent())
if before then ok(cu.cuCtxPopCurrent()) end
local err = cu.cuMemAlloc(4)
print((select(2, cu.cuGetErrorName(err))))                   --> CUDA_ERROR_INVALID_CONTEXT

-- A new context is current to its creator.
local cuContext = ok(cu.cuCtxCreate(0, cuDevice))
assert(ok(cu.cuCtxGetDevice()) == cuDevice)

-- A library that works in its caller's context attaches to it, and detaches from it when it is done.
local function library()
  local context = ok(cu.cuCtxAttach(0))
  local devPtr = ok(cu.cuMemAlloc(1024))
  ok(cu.cuMemsetD32(devPtr, 7, 256))
  ok(cu.cuCtxDetach(context))
  return devPtr
end

local devPtr = library()
local data = cu.malloc(1024, "int")
ok(cu.cuMemcpyDtoH(data, devPtr, 1024)) -- still there
for i = 0, 255 do assert(data[i] == 7) end
ok(cu.cuCtxSynchronize())

-- The last user's cuCtxDetach destroys the context and everything that was made in it.
ok(cu.cuCtxDetach(cuContext))
print((select(2, cu.cuGetErrorName(cu.cuCtxPushCurrent(cuContext)))))   --> CUDA_ERROR_CONTEXT_IS_DESTROYED

cu.free(data)
if before then ok(cu.cuCtxPushCurrent(before)) end
print "checked"                                              --> checked
