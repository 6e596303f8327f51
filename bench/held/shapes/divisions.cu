// Division and remainder by numbers that are known at run time alone.

// Patches of an image as the rows of a matrix.
extern "C" __global__ void patches(int n, const float *image, int width, int height, int size, int out_width,
                                   int out_height, float *rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = i % out_width, rest = i / out_width;
  int y = rest % out_height, entry = rest / out_height;
  int dx = entry % size, dy = entry / size % size, channel = entry / (size * size);
  int sx = x + dx - size / 2, sy = y + dy - size / 2;
  rows[i] = sx >= 0 && sy >= 0 && sx < width && sy < height ? image[(channel * height + sy) * width + sx] : 0.0f;
}

// A step of a sorting network; pairs by quotient and remainder.
extern "C" __global__ void exchange(unsigned pairs, float *keys, unsigned distance, unsigned run) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  unsigned low = i / distance * (2 * distance) + i % distance, high = low + distance;
  bool down = low / run % 2 == 1;
  float a = keys[low], b = keys[high];
  if ((a > b) != down) keys[low] = b, keys[high] = a;
}

// Powers modulo a prime.
extern "C" __global__ void modular_power(int n, const unsigned *bases, unsigned exponent, unsigned prime,
                                         unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long result = 1, base = bases[i] % prime;
  for (unsigned e = exponent; e; e >>= 1) {
    if (e & 1) result = result * base % prime;
    base = base * base % prime;
  }
  out[i] = (unsigned)result;
}

// The axes of a tensor permuted, by 64-bit indices.
extern "C" __global__ void permute_axes(long long n, const float *from, float *to, long long b, long long c,
                                        long long d) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long id = i % d, ic = i / d % c, ib = i / (d * c) % b, ia = i / (d * c * b);
  to[((ia * c + ic) * b + ib) * d + id] = from[i];
}

// Greatest common divisors: a divisor for each thread.
extern "C" __global__ void common_divisor(int n, const int *a, const int *b, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i];
  while (y != 0) {
    int rest = x % y;
    x = y;
    y = rest;
  }
  out[i] = x < 0 ? -x : x;
}
