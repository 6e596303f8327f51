-- CUDA 1.1 programming guide, 4.5.2.3: memory management with the runtime API. Linear memory, memory with a pitch, CUDA
-- arrays, variables, and the copies between them, in the order of the guide.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"

-- The results after a code, which must be cudaSuccess.
local function ok(err, ...)
  if err ~= rt.cudaSuccess then error(rt.story(), 2) end
  return ...
end

rt.register(mw.compile [==[
__constant__ float constData[256];
__device__ float devData[3];

// Every element of a two-dimensional array whose rows are `pitch` bytes apart, by one thread per row.
__global__ void myKernel(float *devPtr, int pitch, int width, int height) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= height) return;
  float *row = (float *)((char *)devPtr + r * pitch);
  for (int c = 0; c < width; ++c) row[c] = r * 100 + c;
}
__global__ void addConstants(float *devPtr) { devPtr[threadIdx.x] += constData[threadIdx.x]; }
]==])

local sizeof_float = rt.sizeof "float"

-- 256 floats of linear memory.
local linear = ok(rt.cudaMalloc(256 * sizeof_float))

-- width x height floats, in rows that begin at addresses of the device's choice.
local width, height = 100, 30
local devPtr, pitch = ok(rt.cudaMallocPitch(width * sizeof_float, height))
assert(pitch >= width * sizeof_float)
ok(rt.cudaLaunchKernel("myKernel", 1, 32, { devPtr, pitch, width, height }))

-- A CUDA array of width x height texels of one float.
local channelDesc = rt.cudaCreateChannelDesc "float"
local cuArray = ok(rt.cudaMallocArray(channelDesc, width, height))

-- The address and the size of a module's variable.
local address, size = ok(rt.cudaGetSymbolAddress("devData")), ok(rt.cudaGetSymbolSize("devData"))
print(size)                                                  --> 12
ok(rt.cudaMemset(address, 0, size))

-- From pitched memory to the array, and from there to the host.
ok(rt.cudaMemcpy2DToArray(cuArray, 0, 0, devPtr, pitch, width * sizeof_float, height, rt.cudaMemcpyDeviceToDevice))
local rows = rt.malloc(width * height * sizeof_float, "float")
ok(rt.cudaMemcpy2DFromArray(rows, width * sizeof_float, cuArray, 0, 0, width * sizeof_float, height,
  rt.cudaMemcpyDeviceToHost))
for r = 0, height - 1 do
  for c = 0, width - 1 do assert(rows[r * width + c] == r * 100 + c) end
end
print(rows[29 * width + 99])                                 --> 2999

-- From the host to linear memory, and to constant memory.
local data = rt.malloc(256 * sizeof_float, "float")
for i = 0, 255 do data[i] = i end
ok(rt.cudaMemcpy(linear, data, 256 * sizeof_float, rt.cudaMemcpyHostToDevice))
ok(rt.cudaMemcpyToSymbol("constData", data, 256 * sizeof_float))
ok(rt.cudaLaunchKernel("addConstants", 1, 256, { linear }))
ok(rt.cudaMemcpy(data, linear, 256 * sizeof_float, rt.cudaMemcpyDeviceToHost))
for i = 0, 255 do assert(data[i] == 2 * i) end
print(data[255])                                             --> 510

ok(rt.cudaFree(linear))
ok(rt.cudaFree(devPtr))
ok(rt.cudaFreeArray(cuArray))
rt.free(rows)
rt.free(data)
print "checked"                                              --> checked
