-- CUDA 1.1 programming guide, 4.5.3.4: modules with the driver API, loaded from a file or from memory, and their
-- functions and variables. Instead of the guide's .cubin, an image is the output of m:save or mwcc, or CUDA C itself.

local cu = require "moonwarp.driver"

local function ok(err, ...)
  if err ~= cu.CUDA_SUCCESS then error(cu.story(), 2) end
  return ...
end

local function name_of(err) return (select(2, cu.cuGetErrorName(err))) end

ok(cu.cuInit(0))
local cuContext = ok(cu.cuCtxCreate(0, ok(cu.cuDeviceGet(0))))

local source = [==[
__device__ int counter;
extern "C" __global__ void myKernel(int by) { atomicAdd(&counter, by); }
]==]

-- Compiled once and saved, loaded without a compiler.
local path = os.tmpname()
local compiled = ok(cu.cuModuleLoadData(source))
compiled:save(path)
local cuModule = ok(cu.cuModuleLoad(path))
os.remove(path)

-- A function and a variable by name.
local cuFunction = ok(cu.cuModuleGetFunction(cuModule, "myKernel"))
local devPtr, bytes = ok(cu.cuModuleGetGlobal(cuModule, "counter"))
print(bytes)                                                 --> 4

ok(cu.cuMemsetD32(devPtr, 40, 1))
ok(cu.cuLaunchKernel(cuFunction, 2, 1, 1, 1, 1, 1, 0, nil, { 1 }))
local result = cu.malloc(4, "int")
ok(cu.cuMemcpyDtoH(result, devPtr, 4))
assert(result[0] == 42)
print(result[0])                                             --> 42

-- Every module has variables of its own.
local other = ok(cu.cuModuleGetGlobal(compiled, "counter"))
assert(other ~= devPtr)

-- Names that do not exist, and images for other machines.
print(name_of(cu.cuModuleGetFunction(cuModule, "yourKernel")))          --> CUDA_ERROR_NOT_FOUND
print(name_of(cu.cuModuleLoad "no such file.cubin"))                    --> CUDA_ERROR_FILE_NOT_FOUND
print(name_of(cu.cuModuleLoadData "architecture {sm_10}\nabiversion {1}"))   --> CUDA_ERROR_NO_BINARY_FOR_GPU

ok(cu.cuModuleUnload(cuModule))
print(name_of(cu.cuModuleGetFunction(cuModule, "myKernel")))            --> CUDA_ERROR_INVALID_HANDLE

cu.free(result)
ok(cu.cuCtxDestroy(cuContext))
print "checked"                                              --> checked
