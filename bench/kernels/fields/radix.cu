// A pass of a radix sort, within blocks of 256: four bits, one after the other, each a stable split by a prefix sum.
__global__ void radix(int shift, const unsigned *in, unsigned *out) {
  __shared__ unsigned keys[256];
  __shared__ int ones[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  unsigned key = in[i];
  for (int bit = shift; bit < shift + 4; bit++) {
    int one = key >> bit & 1;
    ones[t] = one;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
      int left = t >= step ? ones[t - step] : 0;
      __syncthreads();
      ones[t] += left;
      __syncthreads();
    }
    int before = ones[t] - one, zeros = 256 - ones[255];
    keys[one ? zeros + before : t - before] = key;
    __syncthreads();
    key = keys[t];
    __syncthreads();
  }
  out[i] = key;
}
