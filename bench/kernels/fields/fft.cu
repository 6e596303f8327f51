// Fourier transforms of 512 complex numbers, one transform per block of 256 threads: radix 2, in shared memory.
// twiddle[j] is exp(-2 pi i j / 512).
__global__ void fft(const float2 *in, const float2 *twiddle, float2 *out) {
  __shared__ float2 data[512];
  int t = threadIdx.x, first = blockIdx.x * 512;
  data[__brev(t) >> 23] = in[first + t];
  data[__brev(t + 256) >> 23] = in[first + t + 256];
  __syncthreads();
  for (int half = 1; half < 512; half *= 2) {
    int j = t % half, low = 2 * t - j;
    float2 w = twiddle[j * (256 / half)], a = data[low], b = data[low + half];
    float2 turned = make_float2(w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x);
    data[low] = make_float2(a.x + turned.x, a.y + turned.y);
    data[low + half] = make_float2(a.x - turned.x, a.y - turned.y);
    __syncthreads();
  }
  out[first + t] = data[t];
  out[first + t + 256] = data[t + 256];
}
