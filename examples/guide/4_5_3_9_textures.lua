-- CUDA 1.1 programming guide, 4.5.3.9: texture references with the driver API, bound to linear memory and to a CUDA
-- array. Settings of a module's reference take effect at the next launch.

local cu = require "moonwarp.driver"

local function ok(err, ...)
  if err ~= cu.CUDA_SUCCESS then error(cu.story(), 2) end
  return ...
end

ok(cu.cuInit(0))
local cuContext = ok(cu.cuCtxCreate(0, ok(cu.cuDeviceGet(0))))
local cuModule = ok(cu.cuModuleLoadData [==[
texture<float, 1, cudaReadModeElementType> lineRef;
texture<float, 2, cudaReadModeElementType> texRef;
__global__ void fetch(float *out) { out[threadIdx.x] = tex1Dfetch(lineRef, threadIdx.x); }
__global__ void sample(float *out, float step, float y) { out[threadIdx.x] = tex2D(texRef, threadIdx.x * step, y); }
]==])
local sizeof_float = cu.sizeof "float"
local out, host = ok(cu.cuMemAlloc(8 * sizeof_float)), cu.malloc(8 * sizeof_float, "float")

local function result(n)
  ok(cu.cuMemcpyDtoH(host, out, n * sizeof_float))
  return table.concat(host:totable(n), " "):gsub("%.0", "")
end

-- Linear memory: the reference has the format of its declaration, unless cuTexRefSetFormat sets another.
local lineRef = ok(cu.cuModuleGetTexRef(cuModule, "lineRef"))
local data = cu.malloc(8 * sizeof_float, "float")
for i = 0, 7 do data[i] = i end
local devPtr = ok(cu.cuMemAlloc(8 * sizeof_float))
ok(cu.cuMemcpyHtoD(devPtr, data, 8 * sizeof_float))
assert(ok(cu.cuTexRefSetAddress(lineRef, devPtr, 8 * sizeof_float)) == 0)

local fetch = ok(cu.cuModuleGetFunction(cuModule, "fetch"))
ok(cu.cuParamSetTexRef(fetch, cu.CU_PARAM_TR_DEFAULT, lineRef))
ok(cu.cuFuncSetBlockShape(fetch, 4, 1, 1))
ok(cu.cuParamSetv(fetch, 0, out, 8))
ok(cu.cuParamSetSize(fetch, 8))
ok(cu.cuLaunch(fetch))
print((result(4)))                                           --> 0 1 2 3

-- A CUDA array of 4 x 2 texels: 0 1 2 3 over 4 5 6 7. The reference takes its format.
local cuArray = ok(cu.cuArrayCreate { Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1, Width = 4, Height = 2 })
ok(cu.cuMemcpyHtoA(cuArray, 0, data, 8 * sizeof_float))
local texRef = ok(cu.cuModuleGetTexRef(cuModule, "texRef"))
ok(cu.cuTexRefSetArray(texRef, cuArray, cu.CU_TRSA_OVERRIDE_FORMAT))
assert(ok(cu.cuTexRefGetArray(texRef)) == cuArray)

local sample = ok(cu.cuModuleGetFunction(cuModule, "sample"))
ok(cu.cuParamSetTexRef(sample, cu.CU_PARAM_TR_DEFAULT, texRef))
ok(cu.cuFuncSetBlockShape(sample, 6, 1, 1))
ok(cu.cuParamSetv(sample, 0, out, 8))
ok(cu.cuParamSetf(sample, 8, 1))
ok(cu.cuParamSetf(sample, 12, 0.5))
ok(cu.cuParamSetSize(sample, 16))
ok(cu.cuLaunch(sample))
print((result(6)))                                           --> 0 1 2 3 3 3

-- Normalized coordinates, a linear filter, and addresses that wrap.
ok(cu.cuTexRefSetFlags(texRef, cu.CU_TRSF_NORMALIZED_COORDINATES))
ok(cu.cuTexRefSetFilterMode(texRef, cu.CU_TR_FILTER_MODE_LINEAR))
ok(cu.cuTexRefSetAddressMode(texRef, 0, cu.CU_TR_ADDRESS_MODE_WRAP))
ok(cu.cuTexRefSetAddressMode(texRef, 1, cu.CU_TR_ADDRESS_MODE_CLAMP))
ok(cu.cuParamSetf(sample, 8, 0.25))
ok(cu.cuLaunch(sample))
print((result(5)))                                           --> 3.5 2.5 3.5 4.5 3.5

cu.free(data)
cu.free(host)
ok(cu.cuCtxDestroy(cuContext))
print "checked"                                              --> checked
