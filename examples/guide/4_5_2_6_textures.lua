-- CUDA 1.1 programming guide, 4.5.2.6: texture references with the runtime API, bound to linear memory and to a CUDA
-- array, and the effects of their fields.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"

local function ok(err, ...)
  if err ~= rt.cudaSuccess then error(rt.story(), 2) end
  return ...
end

rt.register(mw.compile [==[
texture<float, 1, cudaReadModeElementType> lineRef;
texture<float, 2, cudaReadModeElementType> texRef;

__global__ void fetch(float *out, int n, int first) {
  int i = threadIdx.x;
  if (i < n) out[i] = tex1Dfetch(lineRef, first + i);
}
__global__ void sample(float *out, int n, float step, float y) {
  int i = threadIdx.x;
  if (i < n) out[i] = tex2D(texRef, i * step, y);
}
]==])

local sizeof_float = rt.sizeof "float"
local out, host = ok(rt.cudaMalloc(8 * sizeof_float)), rt.malloc(8 * sizeof_float, "float")

local function result(n)
  ok(rt.cudaMemcpy(host, out, n * sizeof_float, rt.cudaMemcpyDeviceToHost))
  return table.concat(host:totable(n), " "):gsub("%.0", "")
end

-- The reference is a table with CUDA's fields; assigned values take effect at the next binding.
local lineRef = ok(rt.cudaGetTextureReference("lineRef"))
local channelDesc = rt.cudaCreateChannelDesc "float"

-- Linear memory.
local devPtr, size = ok(rt.cudaMalloc(256 * sizeof_float)), 256 * sizeof_float
local data = rt.malloc(size, "float")
for i = 0, 255 do data[i] = i * i end
ok(rt.cudaMemcpy(devPtr, data, size, rt.cudaMemcpyHostToDevice))
assert(ok(rt.cudaBindTexture(lineRef, devPtr, channelDesc, size)) == 0)
ok(rt.cudaLaunchKernel("fetch", 1, 32, { out, 4, 0 }))
print((result(4)))                                           --> 0 1 4 9

-- If the address is not aligned, fetches must add the offset that the binding returns.
local offset = ok(rt.cudaBindTexture(lineRef, devPtr + 2 * sizeof_float, channelDesc, 16 * sizeof_float))
assert(offset == ok(rt.cudaGetTextureAlignmentOffset(lineRef)))
ok(rt.cudaLaunchKernel("fetch", 1, 32, { out, 3, offset / sizeof_float }))
print((result(3)))                                           --> 4 9 16

-- A CUDA array of 4 x 2 texels: 0 1 2 3 over 4 5 6 7.
local cuArray = ok(rt.cudaMallocArray(channelDesc, 4, 2))
for i = 0, 7 do data[i] = i end
ok(rt.cudaMemcpyToArray(cuArray, 0, 0, data, 8 * sizeof_float, rt.cudaMemcpyHostToDevice))
local texRef = ok(rt.cudaGetTextureReference("texRef"))
ok(rt.cudaBindTextureToArray(texRef, cuArray, ok(rt.cudaGetChannelDesc(cuArray))))
ok(rt.cudaLaunchKernel("sample", 1, 32, { out, 6, 1, 0.5 }))
print((result(6)))                                           --> 0 1 2 3 3 3

-- Normalized coordinates, a linear filter, and addresses that wrap.
texRef.normalized, texRef.filterMode = true, rt.cudaFilterModeLinear
texRef.addressMode[0], texRef.addressMode[1] = rt.cudaAddressModeWrap, rt.cudaAddressModeClamp
ok(rt.cudaBindTextureToArray(texRef, cuArray, channelDesc))
ok(rt.cudaLaunchKernel("sample", 1, 32, { out, 5, 0.25, 0.5 }))
print((result(5)))                                           --> 3.5 2.5 3.5 4.5 3.5

-- A launch is refused if it may read a reference that is not bound.
ok(rt.cudaUnbindTexture(texRef))
local err = rt.cudaLaunchKernel("sample", 1, 32, { out, 1, 1, 0 })
print(rt.cudaGetErrorName(err))                              --> cudaErrorInvalidTextureBinding
rt.cudaGetLastError()

ok(rt.cudaUnbindTexture(lineRef))
ok(rt.cudaFreeArray(cuArray))
for _, p in ipairs { devPtr, out } do ok(rt.cudaFree(p)) end
rt.free(data)
rt.free(host)
print "checked"                                              --> checked
