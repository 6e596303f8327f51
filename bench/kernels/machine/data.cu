// Inputs and digests, the same as bench/peers/problems.c makes them for the peers.
__device__ unsigned hash(unsigned i, unsigned seed) {
  unsigned h = i * 2654435761u + seed;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}
__global__ void fill_uniform(int n, unsigned seed, float low, float high, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = low + (high - low) * ((hash(i, seed) >> 8) * (1.0f / 16777216.0f));
}
__global__ void fill_bits(int n, unsigned seed, int shift, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = hash(i, seed) >> shift;
}
__global__ void fill_letters(int words, unsigned seed, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < words) out[i] = hash(i, seed) & 0x03030303;
}
// Positions count: element i weighs 1 + i % 251.
template <typename T> __device__ void add_up(int n, const T *x, double *sums, double *magnitudes) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0, magnitude = 0;
  for (int i = t; i < n; i += gridDim.x * blockDim.x) {
    double value = (double)x[i] * (1 + i % 251);
    sum += value;
    magnitude += fabs(value);
  }
  sums[t] = sum;
  magnitudes[t] = magnitude;
}
__global__ void digest_float(int n, const float *x, double *sums, double *magnitudes) {
  add_up(n, x, sums, magnitudes);
}
__global__ void digest_int(int n, const int *x, double *sums, double *magnitudes) {
  add_up(n, x, sums, magnitudes);
}
__global__ void digest_uint(int n, const unsigned *x, double *sums, double *magnitudes) {
  add_up(n, x, sums, magnitudes);
}
