// Butterflies: partners at a distance that is a power of two, known at run time.

// One stage of a fast Walsh-Hadamard transform.
extern "C" __global__ void hadamard_stage(int half, float *data, int stride) {
  int pos = blockIdx.x * blockDim.x + threadIdx.x;
  if (pos >= half) return;
  int low = pos & (stride - 1), i = 2 * pos - low;
  float a = data[i], b = data[i + stride];
  data[i] = a + b;
  data[i + stride] = a - b;
}

// All stages of short transforms, in shared memory.
#define LENGTH 1024
extern "C" __global__ void hadamard_rows(int stages, const float *from, float *to) {
  __shared__ float row[LENGTH];
  int base = blockIdx.x * LENGTH;
  for (int i = threadIdx.x; i < LENGTH; i += blockDim.x) row[i] = from[base + i];
  for (int s = 0; s < stages; s++) {
    __syncthreads();
    int stride = 1 << s;
    for (int pos = threadIdx.x; pos < LENGTH / 2; pos += blockDim.x) {
      int low = pos & (stride - 1), i = 2 * pos - low;
      float a = row[i], b = row[i + stride];
      row[i] = a + b;
      row[i + stride] = a - b;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < LENGTH; i += blockDim.x) to[base + i] = row[i];
}

// A sorting network in shared memory, over pairs of keys and values.
#define KEYS 512
extern "C" __global__ void sort_rows(unsigned length, unsigned *keys, unsigned *values) {
  __shared__ unsigned k[KEYS], v[KEYS];
  unsigned tid = threadIdx.x, base = blockIdx.x * KEYS;
  k[tid] = keys[base + tid], v[tid] = values[base + tid];
  k[tid + KEYS / 2] = keys[base + tid + KEYS / 2], v[tid + KEYS / 2] = values[base + tid + KEYS / 2];
  for (unsigned size = 2; size <= length; size <<= 1) {
    for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      unsigned pos = 2 * tid - (tid & (stride - 1));
      bool up = (pos & size) == 0;
      unsigned a = k[pos], b = k[pos + stride];
      if ((a > b) == up) {
        k[pos] = b, k[pos + stride] = a;
        unsigned t = v[pos];
        v[pos] = v[pos + stride], v[pos + stride] = t;
      }
    }
  }
  __syncthreads();
  keys[base + tid] = k[tid], values[base + tid] = v[tid];
  keys[base + tid + KEYS / 2] = k[tid + KEYS / 2], values[base + tid + KEYS / 2] = v[tid + KEYS / 2];
}

// A stage of a Fourier transform, radix 2.
extern "C" __global__ void fourier_stage(int half, float2 *data, const float2 *roots, int span, int root_step) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= half) return;
  int j = t & (span - 1), i = ((t - j) << 1) + j;
  float2 w = roots[j * root_step], a = data[i], b = data[i + span];
  float re = b.x * w.x - b.y * w.y, im = b.x * w.y + b.y * w.x;
  data[i].x = a.x + re, data[i].y = a.y + im;
  data[i + span].x = a.x - re, data[i + span].y = a.y - im;
}

// Sums over all subsets, a bit at a time.
extern "C" __global__ void subset_sums(unsigned n, const int *from, int *to, unsigned bit) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int partner = from[i ^ bit];
  to[i] = i & bit ? from[i] + partner : from[i];
}
