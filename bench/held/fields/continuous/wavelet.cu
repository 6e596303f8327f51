// All levels of the Haar wavelet transform of blocks of 512 samples, in shared memory.
__global__ void wavelet(const float *input, float *output) {
  __shared__ float s[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  s[t] = input[base + t];
  s[t + 256] = input[base + t + 256];
  __syncthreads();
  for (int half = 256; half > 0; half /= 2) {
    float low, high;
    if (t < half) {
      low = (s[2 * t] + s[2 * t + 1]) * 0.70710678f;
      high = (s[2 * t] - s[2 * t + 1]) * 0.70710678f;
    }
    __syncthreads();
    if (t < half) {
      s[t] = low;
      output[base + half + t] = high;
    }
    __syncthreads();
  }
  if (t == 0) output[base] = s[0];
}
