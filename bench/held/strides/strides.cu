// Partners at distances that are powers of two, from one element to whole blocks.

// One step of a bitonic sort in global memory.
extern "C" __global__ void bitonic_step(float *keys, int distance, int run) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
  if (other <= i) return;
  float a = keys[i], b = keys[other];
  bool rising = (i & run) == 0;
  if (rising ? a > b : a < b) {
    keys[i] = b;
    keys[other] = a;
  }
}

// One stage of a Walsh transform, four elements per thread.
extern "C" __global__ void walsh_quarter(float *data, int stride) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int low = t & (stride - 1), i = ((t - low) << 2) + low;
  float a = data[i], b = data[i + stride], c = data[i + 2 * stride], d = data[i + 3 * stride];
  float p = a + c, q = a - c, r = b + d, s = b - d;
  data[i] = p + r;
  data[i + stride] = p - r;
  data[i + 2 * stride] = q + s;
  data[i + 3 * stride] = q - s;
}

// Running sums of 512 numbers per block: up the tree of sums, and down again.
extern "C" __global__ void sweep_sums(const int *in, int *out) {
  __shared__ int tree[512];
  int t = threadIdx.x, base = blockIdx.x * 512, offset = 1;
  tree[2 * t] = in[base + 2 * t];
  tree[2 * t + 1] = in[base + 2 * t + 1];
  for (int d = 256; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
    offset <<= 1;
  }
  if (t == 0) tree[511] = 0;
  for (int d = 1; d < 512; d <<= 1) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int left = tree[offset * (2 * t + 1) - 1];
      tree[offset * (2 * t + 1) - 1] = tree[offset * (2 * t + 2) - 1];
      tree[offset * (2 * t + 2) - 1] += left;
    }
  }
  __syncthreads();
  out[base + 2 * t] = tree[2 * t];
  out[base + 2 * t + 1] = tree[2 * t + 1];
}

// All levels of a Haar transform of 512 numbers per block.
extern "C" __global__ void haar_levels(const float *in, float *out) {
  __shared__ float row[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  row[t] = in[base + t];
  row[t + 256] = in[base + t + 256];
  for (int half = 256; half > 0; half >>= 1) {
    __syncthreads();
    float mean = 0;
    if (t < half) {
      float a = row[2 * t], b = row[2 * t + 1];
      mean = 0.5f * (a + b);
      out[base + half + t] = 0.5f * (a - b);
    }
    __syncthreads();
    if (t < half) row[t] = mean;
  }
  if (t == 0) out[base] = row[0];
}

// A Fourier transform of 512 complex numbers per block, in shared memory, radix 2.
extern "C" __global__ void fourier_rows(const float *re, const float *im, const float *cosine, const float *sine,
                                        float *to_re, float *to_im) {
  __shared__ float x[512], y[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  x[t] = re[base + t], y[t] = im[base + t];
  x[t + 256] = re[base + t + 256], y[t + 256] = im[base + t + 256];
  for (int span = 256; span > 0; span /= 2) {
    __syncthreads();
    int j = t % span, i = t / span * (2 * span) + j, root = j * (256 / span);
    float ax = x[i], ay = y[i], bx = x[i + span], by = y[i + span];
    float dx = ax - bx, dy = ay - by, c = cosine[root], s = sine[root];
    x[i] = ax + bx, y[i] = ay + by;
    x[i + span] = dx * c - dy * s, y[i + span] = dx * s + dy * c;
  }
  __syncthreads();
  to_re[base + t] = x[t], to_im[base + t] = y[t];
  to_re[base + t + 256] = x[t + 256], to_im[base + t + 256] = y[t + 256];
}
