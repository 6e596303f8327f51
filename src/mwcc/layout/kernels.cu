// Kernels whose compilation src/mwcc/layout/profile.sh profiles, to find which parts of mwcc's code are used often. They have
// a bit of everything that kernels consist of; their results do not matter. Comments name block classes that they are
// compiled for in addition: `// class: KERNEL:BLOCK`.

// class: smooth:32x8x1
extern "C" __global__ void smooth(int width, int height, const float *in, const float *weights, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -3; dy <= 3; dy++)
    for (int dx = -3; dx <= 3; dx++) {
      int column = min(max(x + dx, 0), width - 1), row = min(max(y + dy, 0), height - 1);
      sum += weights[(dy + 3) * 7 + dx + 3] * in[row * width + column];
    }
  out[y * width + x] = sum;
}

extern "C" __global__ void multiply_tiles(int n, const float *a, const float *b, float *c) {
  __shared__ float left[16][16], right[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    left[threadIdx.y][threadIdx.x] = a[y * n + tile + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; k++) sum = fmaf(left[threadIdx.y][k], right[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[y * n + x] = sum;
}

// class: sort_digit:256x1x1
extern "C" __global__ void sort_digit(int n, int shift, const unsigned *keys, unsigned *sorted, unsigned *counts) {
  __shared__ unsigned flags[256], kept[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = i < n ? keys[i] : 0xffffffffu;
  __syncthreads();
  for (int bit = 0; bit < 2; bit++) {
    unsigned key = kept[threadIdx.x], is_set = key >> (shift + bit) & 1;
    flags[threadIdx.x] = !is_set;
    __syncthreads();
    for (int step = 1; step < 256; step <<= 1) {
      unsigned before = threadIdx.x >= step ? flags[threadIdx.x - step] : 0;
      __syncthreads();
      flags[threadIdx.x] += before;
      __syncthreads();
    }
    unsigned zeros = flags[255], place = is_set ? zeros + threadIdx.x - flags[threadIdx.x] : flags[threadIdx.x] - 1;
    __syncthreads();
    kept[place] = key;
    __syncthreads();
  }
  if (i < n) {
    sorted[i] = kept[threadIdx.x];
    atomicAdd(&counts[kept[threadIdx.x] >> shift & 15], 1u);
  }
}

// class: normalise:128x1x1
extern "C" __global__ void normalise(int n, const float *in, float *out) {
  __shared__ float partial[4];
  const float *row = in + blockIdx.x * n;
  float most = -3.4e38f, sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, row[i]);
  for (int step = 16; step; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = most;
  __syncthreads();
  most = fmaxf(fmaxf(partial[0], partial[1]), fmaxf(partial[2], partial[3]));
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - most);
  for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = expf(row[i] - most) / sum;
}

// class: butterflies:64x1x1
extern "C" __global__ void butterflies(const float2 *in, float2 *out) {
  __shared__ float2 even[128], odd[128];
  float2 *from = even, *to = odd;
  for (int i = threadIdx.x; i < 128; i += 64) from[i] = in[blockIdx.x * 128 + i];
  __syncthreads();
#pragma unroll
  for (int length = 1; length < 128; length *= 2) {
    int k = threadIdx.x % length;
    float sine, cosine;
    __sincosf(-3.14159265f * k / length, &sine, &cosine);
    float2 a = from[threadIdx.x], b = from[threadIdx.x + 64];
    float2 turned = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
    int place = 2 * (threadIdx.x - k) + k;
    to[place] = make_float2(a.x + turned.x, a.y + turned.y);
    to[place + length] = make_float2(a.x - turned.x, a.y - turned.y);
    __syncthreads();
    float2 *last = from;
    from = to, to = last;
  }
  for (int i = threadIdx.x; i < 128; i += 64) out[blockIdx.x * 128 + i] = from[i];
}

// class: functions:256x1x1
extern "C" __global__ void functions(int n, const float *in, const double *wide, float *out, double *wide_out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], root = sqrtf(fabsf(x));
  double w = wide[i];
  out[i] = logf(root + 1) * erff(x) + sinf(x) * tanhf(root) + powf(root, 1.5f) + rsqrtf(x * x + 1);
  wide_out[i] = w > 0 ? exp(-w) * cos(w) : floor(w) + sqrt(-w);
}

struct ball {
  float4 place; // and its radius
  int colour;
};

// class: trace:16x16x1
extern "C" __global__ void trace(int width, int count, const ball *balls, uchar4 *image) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float3 from = make_float3(x * 0.01f, y * 0.01f, -5), way = make_float3(0, 0, 1);
  int shade = 0;
  for (int bounce = 0; bounce < 4; bounce++) {
    float nearest = 1e30f;
    int hit = -1;
    for (int b = 0; b < count; b++) {
      float4 p = balls[b].place;
      float dx = p.x - from.x, dy = p.y - from.y, dz = p.z - from.z, along = dx * way.x + dy * way.y + dz * way.z;
      float beside = p.w * p.w - (dx * dx + dy * dy + dz * dz - along * along);
      if (beside <= 0) continue;
      float distance = along - sqrtf(beside);
      if (distance > 1e-3f && distance < nearest) nearest = distance, hit = b;
    }
    if (hit < 0) break;
    shade += balls[hit].colour >> bounce;
    from = make_float3(from.x + nearest * way.x, from.y + nearest * way.y, from.z + nearest * way.z);
    float4 p = balls[hit].place;
    way = make_float3((from.x - p.x) / p.w, (from.y - p.y) / p.w, (from.z - p.z) / p.w);
  }
  image[y * width + x] = make_uchar4(shade, shade >> 2, shade >> 4, 255);
}

__device__ unsigned long long mixed(unsigned long long seed) {
  seed ^= seed >> 33;
  seed *= 0xff51afd7ed558ccdull;
  return seed ^ seed >> 29;
}

extern "C" __global__ void walk(int n, int rounds, const int *edges, const short *costs, const unsigned char *kinds, long long *sums) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned long long seed = i + 1;
    long long sum = 0;
    int at = i;
    for (int round = 0; round < rounds && at >= 0; round++) {
      seed = mixed(seed);
      switch (kinds[at]) {
      case 0: sum += costs[at]; break;
      case 1: sum -= costs[at] * (int)(seed % 7); break;
      case 2: sum ^= (long long)(seed / 3); break;
      default: sum = sum << 1 | (seed & 1);
      }
      at = edges[4 * at + (seed >> 40 & 3)];
    }
    sums[i] = sum;
  }
}

// class: step:128x1x1
extern "C" __global__ void step(int n, float time, const float4 *bodies, float4 *speeds) {
  __shared__ float4 near[128];
  float4 me = bodies[blockIdx.x * 128 + threadIdx.x];
  float3 pull = make_float3(0, 0, 0);
  for (int first = 0; first < n; first += 128) {
    near[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; k++) {
      float4 other = near[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f), force = other.w * inverse * inverse * inverse;
      pull.x += force * dx, pull.y += force * dy, pull.z += force * dz;
    }
    __syncthreads();
  }
  float4 speed = speeds[blockIdx.x * 128 + threadIdx.x];
  speeds[blockIdx.x * 128 + threadIdx.x] = make_float4(speed.x + time * pull.x, speed.y + time * pull.y, speed.z + time * pull.z, 0);
}
