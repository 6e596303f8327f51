// Kernels whose counters are in launches.lua, one after the other: counters_spec.lua takes them apart.
//// bcast_mod
extern "C" __global__ void bcast_mod(int d, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i % d];
}
//// bcast_one
extern "C" __global__ void bcast_one(const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[0] + (float)i;
}
//// br_nested
extern "C" __global__ void br_nested(const int *k, float *y, float *z)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = k[i];
  if (v & 1) {
    y[i] = 1.0f;
    if (v & 2) {
      z[i] = (float)v;
      if (v & 4)
        z[i + 4096] = 3.0f;
    } else
      y[i + 4096] = 2.0f;
  }
}
//// br_parity
extern "C" __global__ void br_parity(const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
  if (i & 1)
  #pragma unroll 1
    for (int j = 0; j < 3; j++)
      s += x[i + j * 32];
  else
  #pragma unroll 1
    for (int j = 0; j < 2; j++)
      s -= x[2 * i + j];
  y[i] = s;
}
//// brm_break
extern "C" __global__ void brm_break(int n, const int *k, int *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = 0;
  #pragma unroll 1
  for (; j < n; j++) {
    int v = k[(i + j * 37) & 1023];
    if (v == 0)
      break;
    if (v < 4)
      continue;
    y[i + j * 1024] = v;
  }
  y[i + n * 1024] = j;
}
//// brm_uniform
extern "C" __global__ void brm_uniform(const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((threadIdx.x >> 5) & 1)
    y[i] = x[i] * 2.0f;
  else {
    y[i] = x[i + 2048];
    y[i + 2048] = x[2 * i];
  }
}
//// coal_gridstride
extern "C" __global__ void coal_gridstride(int n, const float *x, float *y)
{
  #pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i] + 1.0f;
}
//// coal_saxpy_tail
extern "C" __global__ void coal_saxpy_tail(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
//// ga_same
extern "C" __global__ void ga_same(const int *x, int *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(y, x[i]);
}
//// ga_spread
extern "C" __global__ void ga_spread(int s, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&y[i * s], x[i]);
}
//// hi_global
extern "C" __global__ void hi_global(int n, const unsigned char *x, unsigned *h)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&h[x[i]], 1u);
}
//// hi_private
extern "C" __global__ void hi_private(int n, const unsigned char *x, unsigned *h)
{
  extern __shared__ unsigned hist_buf[];
  int w = threadIdx.x >> 5;
  #pragma unroll 1
  for (int j = threadIdx.x; j < 64 * (blockDim.x >> 5); j += blockDim.x)
    hist_buf[j] = 0;
  __syncthreads();
  #pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&hist_buf[w * 64 + (x[i] & 63)], 1u);
  __syncthreads();
  if (threadIdx.x < 64) {
    unsigned s = 0;
  #pragma unroll 1
    for (int j = 0; j < (blockDim.x >> 5); j++)
      s += hist_buf[j * 64 + threadIdx.x];
    atomicAdd(&h[threadIdx.x], s);
  }
}
//// loop_data
extern "C" __global__ void loop_data(const int *k, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = k[i], c = 0;
  #pragma unroll 1
  while (v > 1) {
    v = (v & 1) ? 3 * v + 1 : v >> 1;
    c++;
  }
  y[i] = (float)c;
}
//// loop_lane
extern "C" __global__ void loop_lane(const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
  #pragma unroll 1
  for (int j = 0; j <= (i & 31); j++)
    s += x[j * 64 + (i & 63)];
  y[i] = s;
}
//// mis_load
extern "C" __global__ void mis_load(int o, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i + o];
}
//// mis_store
extern "C" __global__ void mis_store(int o, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i + o] = x[i];
}
//// mm_naive
extern "C" __global__ void mm_naive(int n, const float *a, const float *b, float *c)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float s = 0.0f;
  #pragma unroll 1
  for (int k = 0; k < n; k++)
    s += a[y * n + k] * b[k * n + x];
  c[y * n + x] = s;
}
//// mm_tiled16
extern "C" __global__ void mm_tiled16(int n, const float *a, const float *b, float *c)
{
  __shared__ float ta[16][16], tb[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  float s = 0.0f;
  #pragma unroll 1
  for (int m = 0; m < n; m += 16) {
    ta[ty][tx] = a[y * n + m + tx];
    tb[ty][tx] = b[(m + ty) * n + x];
    __syncthreads();
  #pragma unroll 1
    for (int k = 0; k < 16; k++)
      s += ta[ty][k] * tb[k][tx];
    __syncthreads();
  }
  c[y * n + x] = s;
}
