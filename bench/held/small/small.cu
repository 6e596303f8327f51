// Kernels with blocks of one to sixteen threads, which do not share memory.

// Blocks of one thread: Horner's rule with coefficients that all share.
__global__ void horner_each(int n, int degree, const float *c, const float *x, float *y) {
  int i = blockIdx.x;
  if (i >= n) return;
  float s = c[0], at = x[i];
  for (int k = 1; k <= degree; k++) s = s * at + c[k];
  y[i] = s;
}

// Two threads per block: the number of steps in which a point's orbit leaves a circle.
__global__ void orbit_pairs(int most, const float *cx, const float *cy, int *steps) {
  int i = blockIdx.x * 2 + threadIdx.x;
  float x = 0, y = 0, a = cx[i], b = cy[i];
  int k = 0;
  for (; k < most && x * x + y * y < 4.0f; k++) {
    float t = x * x - y * y + a;
    y = 2 * x * y + b;
    x = t;
  }
  steps[i] = k;
}

// Four threads per block, each with a generator of random numbers of its own.
__global__ void generators(int rounds, const unsigned *seed, unsigned *last) {
  unsigned v = seed[blockIdx.x * blockDim.x + threadIdx.x];
  for (int r = 0; r < rounds; r++) {
    v ^= v << 13;
    v ^= v >> 17;
    v ^= v << 5;
  }
  last[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// Blocks of 4 x 4: a five-point stencil on an image of bytes.
__global__ void blur_bytes(int w, int h, const unsigned char *in, unsigned char *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  int at = y * w + x;
  out[at] = (4 * in[at] + in[at - 1] + in[at + 1] + in[at - w] + in[at + w]) >> 3;
}

// One thread per block: Euclid's algorithm, as a beginner launches it.
__global__ void divisors(const unsigned *a, const unsigned *b, unsigned *out) {
  unsigned x = a[blockIdx.x], y = b[blockIdx.x];
  while (y) {
    unsigned rest = x % y;
    x = y;
    y = rest;
  }
  out[blockIdx.x] = x;
}
