-- What moonwarp is, on one screen. The output of a line is after -->

local mw = require "moonwarp"

local m = mw.compile [==[
__constant__ float gain;
texture<float, 2, cudaReadModeElementType> img;          // CUDA 1.x–11 style; works on every device here

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
template <typename T, int W> __global__ void fill(T *p) { p[threadIdx.x] = W * gain; }
]==]

local n = 100000
local x, y = mw.ones(n), mw.zeros(n)             -- float by default; other types by name: "int", "uchar4", "double"
m.saxpy(mw.cdiv(n, 256), 256)(n, 2.5, x, y)      -- saxpy<<<grid, block[, shared[, stream]]>>>(args)
m.saxpy:each(n)(n, 2.5, x, y)                    -- moonwarp picks block and grid
m.gain = 3                                       -- a module's fields are the names in its source:
m.img = mw.texture(y:reshape(250, 400), { filter = "linear", address = "clamp" })   -- symbols, texture references,
m["fill<float,4>"](1, 32)(y)                     -- kernels, template instances
print(y[1], y[n], y:sum())                       --> 12.0  5.0  500224.0
