-- CUDA 1.1 programming guide, 4.5.3.5: execution control with the driver API. Block shape, parameters at their offsets,
-- dynamic shared memory, and the launch of a grid; then the guide's matrix multiplication by tiles.

local cu = require "moonwarp.driver"

local function ok(err, ...)
  if err ~= cu.CUDA_SUCCESS then error(cu.story(), 2) end
  return ...
end

ok(cu.cuInit(0))
local cuContext = ok(cu.cuCtxCreate(0, ok(cu.cuDeviceGet(0))))
local cuModule = ok(cu.cuModuleLoadData [==[
struct Data { char letters[32]; };

__global__ void parameters(int i, float f, Data data, float *out) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = i + f + (data.letters[threadIdx.x] - 'a');
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

// C = A * B, of tiles of 16 x 16: wA and wB are the widths of A and B, multiples of 16.
__global__ void Muld(const float *A, const float *B, int wA, int wB, float *C) {
  __shared__ float As[16][16], Bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int t = 0; t < wA; t += 16) {
    As[ty][tx] = A[row * wA + t + tx];
    Bs[ty][tx] = B[(t + ty) * wB + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  C[row * wB + column] = sum;
}
]==])

-- ---- parameters one after the other

local cuFunction = ok(cu.cuModuleGetFunction(cuModule, "parameters"))
local blockWidth, gridWidth = 8, 2
local out = ok(cu.cuMemAlloc(blockWidth * gridWidth * cu.sizeof "float"))

ok(cu.cuFuncSetBlockShape(cuFunction, blockWidth, 1, 1))
local offset = 0
ok(cu.cuParamSeti(cuFunction, offset, 1000))
offset = offset + cu.sizeof "int"
ok(cu.cuParamSetf(cuFunction, offset, 0.5))
offset = offset + cu.sizeof "float"
ok(cu.cuParamSetv(cuFunction, offset, "abcdefghijklmnopqrstuvwxyzabcdef", 32))
offset = offset + 32
ok(cu.cuParamSetv(cuFunction, offset, out, 8)) -- a pointer has 8 bytes, at a multiple of 8
offset = offset + 8
ok(cu.cuParamSetSize(cuFunction, offset))
ok(cu.cuFuncSetSharedSize(cuFunction, blockWidth * cu.sizeof "float"))
ok(cu.cuLaunchGrid(cuFunction, gridWidth, 1))

local host = cu.malloc(blockWidth * gridWidth * cu.sizeof "float", "float")
ok(cu.cuMemcpyDtoH(host, out, blockWidth * gridWidth * cu.sizeof "float"))
for b = 0, gridWidth - 1 do
  for t = 0, blockWidth - 1 do assert(host[b * blockWidth + t] == 1000.5 + blockWidth - 1 - t) end
end
print(host[0], host[7])                                      --> 1007.5 1000.5

-- ---- matrix multiplication

local hA, wA, wB = 48, 80, 64
local a, b, c = {}, {}, cu.malloc(hA * wB * 4, "float")
for i = 1, hA * wA do a[i] = i * 7 % 11 - 5 end
for i = 1, wA * wB do b[i] = i * 5 % 13 - 6 end

local function to_device(values)
  local h, p = cu.malloc(#values * 4, "float"), ok(cu.cuMemAlloc(#values * 4))
  h:set(values)
  ok(cu.cuMemcpyHtoD(p, h, #values * 4))
  cu.free(h)
  return p
end

local Ad, Bd, Cd = to_device(a), to_device(b), ok(cu.cuMemAlloc(hA * wB * 4))
local Muld = ok(cu.cuModuleGetFunction(cuModule, "Muld"))
ok(cu.cuFuncSetBlockShape(Muld, 16, 16, 1))
ok(cu.cuParamSetv(Muld, 0, Ad, 8))
ok(cu.cuParamSetv(Muld, 8, Bd, 8))
ok(cu.cuParamSeti(Muld, 16, wA))
ok(cu.cuParamSeti(Muld, 20, wB))
ok(cu.cuParamSetv(Muld, 24, Cd, 8))
ok(cu.cuParamSetSize(Muld, 32))
ok(cu.cuLaunchGrid(Muld, wB / 16, hA / 16))
ok(cu.cuMemcpyDtoH(c, Cd, hA * wB * 4))

-- Small whole numbers: the sums are exact.
for row = 0, hA - 1 do
  for column = 0, wB - 1 do
    local sum = 0
    for k = 0, wA - 1 do sum = sum + a[row * wA + k + 1] * b[k * wB + column + 1] end
    assert(c[row * wB + column] == sum)
  end
end

cu.free(host)
cu.free(c)
ok(cu.cuCtxDestroy(cuContext))
print "checked"                                              --> checked
