// Kernels whose counters are in launches.lua, one after the other: counters_spec.lua takes them apart.
//// narrow_char
extern "C" __global__ void narrow_char(int s, const char *x, char *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = (char)(x[i * s] + 1);
}
//// narrow_short
extern "C" __global__ void narrow_short(int s, const short *x, short *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i * s] = (short)(x[i * s] * 3);
}
//// order_gather
extern "C" __global__ void order_gather(const int *p, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[p[i]];
}
//// order_scatter
extern "C" __global__ void order_scatter(const int *p, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[p[i]] = x[i];
}
//// part_2d
extern "C" __global__ void part_2d(int w, const float *x, float *y)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  y[r * w + c] = x[r * w + c] + x[c];
}
//// part_shared
extern "C" __global__ void part_shared(const float *x, float *y)
{
  extern __shared__ float part_buf[];
  int t = threadIdx.x, b = blockIdx.x * blockDim.x;
  part_buf[t] = x[b + t];
  __syncthreads();
  y[b + t] = part_buf[blockDim.x - 1 - t];
}
//// rc_col
extern "C" __global__ void rc_col(int w, int h, const float *x, float *y)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  if (r < h)
    y[r * w + c] = x[r * w + c] + 1.0f;
}
//// rc_row
extern "C" __global__ void rc_row(int w, int h, const float *x, float *y)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < w && r < h)
    y[r * w + c] = x[r * w + c] + 1.0f;
}
//// red_interleaved
extern "C" __global__ void red_interleaved(const float *x, float *y)
{
  __shared__ float t[256];
  int i = threadIdx.x;
  t[i] = x[blockIdx.x * blockDim.x + i];
  __syncthreads();
  #pragma unroll 1
  for (int s = 1; s < blockDim.x; s *= 2) {
    int k = 2 * s * i;
    if (k < blockDim.x)
      t[k] += t[k + s];
    __syncthreads();
  }
  if (i == 0)
    y[blockIdx.x] = t[0];
}
//// red_shuffle
extern "C" __global__ void red_shuffle(const float *x, float *y)
{
  __shared__ float t[32];
  int i = threadIdx.x;
  float v = x[blockIdx.x * blockDim.x + i];
  for (int o = 16; o > 0; o >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, o);
  if ((i & 31) == 0)
    t[i >> 5] = v;
  __syncthreads();
  if (i < 32) {
    v = i < (blockDim.x >> 5) ? t[i] : 0.0f;
    for (int o = 16; o > 0; o >>= 1)
      v += __shfl_down_sync(0xffffffffu, v, o);
    if (i == 0)
      y[blockIdx.x] = v;
  }
}
//// ro_const_divergent
__constant__ float ro_table[256];
extern "C" __global__ void ro_const_divergent(int d, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = ro_table[(i / d) & 255];
}
//// ro_const_uniform
__constant__ float ro_poly[64];
extern "C" __global__ void ro_const_uniform(int n, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0.0f;
  #pragma unroll 1
  for (int j = 0; j < n; j++)
    s = s * x[i] + ro_poly[j];
  y[i] = s;
}
//// sa_float_groups
extern "C" __global__ void sa_float_groups(int d, const float *x, float *y)
{
  __shared__ float t[128];
  int i = threadIdx.x, g = blockIdx.x * blockDim.x + i;
  t[i] = 0.0f;
  __syncthreads();
  atomicAdd(&t[i / d], x[g]);
  __syncthreads();
  y[g] = t[i];
}
//// sa_same
extern "C" __global__ void sa_same(const int *x, int *y)
{
  __shared__ int t;
  if (threadIdx.x == 0)
    t = 0;
  __syncthreads();
  atomicAdd(&t, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0)
    y[blockIdx.x] = t;
}
//// sb_col32
extern "C" __global__ void sb_col32(const float *x, float *y)
{
  __shared__ float t[32][32];
  int tx = threadIdx.x, ty = threadIdx.y, g = (blockIdx.x * 32 + ty) * 32 + tx;
  t[ty][tx] = x[g];
  __syncthreads();
  y[g] = t[tx][ty];
}
//// sb_col33
extern "C" __global__ void sb_col33(const float *x, float *y)
{
  __shared__ float t[32][33];
  int tx = threadIdx.x, ty = threadIdx.y, g = (blockIdx.x * 32 + ty) * 32 + tx;
  t[ty][tx] = x[g];
  __syncthreads();
  y[g] = t[tx][ty];
}
//// ss_load
extern "C" __global__ void ss_load(int s, int mask, const float *x, float *y)
{
  __shared__ float t[4096];
  int i = threadIdx.x;
  #pragma unroll 1
  for (int j = i; j < 4096; j += blockDim.x)
    t[j] = x[j];
  __syncthreads();
  y[blockIdx.x * blockDim.x + i] = t[(i * s) & mask];
}
//// ss_narrow
extern "C" __global__ void ss_narrow(int s, const unsigned char *x, short *y)
{
  __shared__ unsigned char c[4096];
  __shared__ short h[4096];
  int i = threadIdx.x, g = blockIdx.x * blockDim.x + i;
  c[i * s] = x[g];
  h[i * s] = (short)(x[g] * 5);
  __syncthreads();
  int r = (blockDim.x - 1 - i) * s;
  y[g] = (short)(c[r] + h[r]);
}
//// st_2d_global
extern "C" __global__ void st_2d_global(int w, int h, const float *x, float *y)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c > 0 && c < w - 1 && r > 0 && r < h - 1)
    y[r * w + c] = 0.5f * x[r * w + c] + 0.125f * (x[r * w + c - 1] + x[r * w + c + 1] + x[(r - 1) * w + c] + x[(r + 1) * w + c]);
}
//// st_2d_shared
extern "C" __global__ void st_2d_shared(int w, int h, const float *x, float *y)
{
  __shared__ float t[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1;
  #pragma unroll 1
  for (int k = ty * 16 + tx; k < 18 * 18; k += 256) {
    int r = min(max(y0 + k / 18, 0), h - 1), c = min(max(x0 + k % 18, 0), w - 1);
    t[k / 18][k % 18] = x[r * w + c];
  }
  __syncthreads();
  y[(y0 + 1 + ty) * w + x0 + 1 + tx] = t[ty][tx + 1] + t[ty + 2][tx + 1] + t[ty + 1][tx] + t[ty + 1][tx + 2] - 4.0f * t[ty + 1][tx + 1];
}
//// stride_load
extern "C" __global__ void stride_load(int s, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i * s];
}
//// stride_wrap
extern "C" __global__ void stride_wrap(int s, int mask, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[(i * s) & mask] * 2.0f;
}
//// struct_aos12
struct P12 { float x, y, z; };
extern "C" __global__ void struct_aos12(const P12 *p, P12 *q, float a)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  P12 v = p[i];
  v.x += a;
  v.y -= a;
  v.z *= a;
  q[i] = v;
}
//// struct_soa
extern "C" __global__ void struct_soa(const float *x, const float *y, const float *z, float *r)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  r[i] = x[i] * x[i] + y[i] * y[i] + z[i] * z[i];
}
//// sw_double
extern "C" __global__ void sw_double(int s, const double *x, double *y)
{
  __shared__ double t[2048];
  int i = threadIdx.x, g = blockIdx.x * blockDim.x + i;
  t[i * s] = x[g];
  __syncthreads();
  y[g] = t[(i ^ 1) * s];
}
//// sw_float2
extern "C" __global__ void sw_float2(int s, const float2 *x, float2 *y)
{
  __shared__ float2 t[2048];
  int i = threadIdx.x, g = blockIdx.x * blockDim.x + i;
  t[i * s] = x[g];
  __syncthreads();
  y[g] = t[(i ^ 33) * s];
}
//// tr_padded
extern "C" __global__ void tr_padded(int w, int h, const float *x, float *y)
{
  __shared__ float t[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32 + threadIdx.y;
  #pragma unroll 1
  for (int j = 0; j < 32; j += 8)
    if (c < w && r0 + j < h)
      t[threadIdx.y + j][threadIdx.x] = x[(r0 + j) * w + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r0 = blockIdx.x * 32 + threadIdx.y;
  #pragma unroll 1
  for (int j = 0; j < 32; j += 8)
    if (c < h && r0 + j < w)
      y[(r0 + j) * h + c] = t[threadIdx.x][threadIdx.y + j];
}
//// tr_tiled
extern "C" __global__ void tr_tiled(int w, int h, const float *x, float *y)
{
  __shared__ float t[32][32];
  int c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32 + threadIdx.y;
  #pragma unroll 1
  for (int j = 0; j < 32; j += 8)
    if (c < w && r0 + j < h)
      t[threadIdx.y + j][threadIdx.x] = x[(r0 + j) * w + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r0 = blockIdx.x * 32 + threadIdx.y;
  #pragma unroll 1
  for (int j = 0; j < 32; j += 8)
    if (c < h && r0 + j < w)
      y[(r0 + j) * h + c] = t[threadIdx.x][threadIdx.y + j];
}
//// wide_float2
extern "C" __global__ void wide_float2(int s, int o, const float2 *x, float2 *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float2 v = x[i * s + o];
  y[i] = make_float2(v.y, v.x);
}
//// wide_float4
extern "C" __global__ void wide_float4(int s, int o, const float4 *x, float4 *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = x[i * s + o];
  v.x += v.w;
  y[i * s] = v;
}
