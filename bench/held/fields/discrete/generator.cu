// A permuted congruential generator per thread: each thread sums 64 uniform numbers.
__global__ void generator(int streams, unsigned long long seed, float *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= streams) return;
  unsigned long long state = seed + i, increment = 2ull * i + 1;
  float sum = 0;
  for (int k = 0; k < 64; k++) {
    unsigned long long old = state;
    state = old * 6364136223846793005ull + increment;
    unsigned mixed = (unsigned)((old >> 18 ^ old) >> 27), turn = (unsigned)(old >> 59);
    sum += (mixed >> turn | mixed << (-turn & 31)) * 2.3283064e-10f;
  }
  sums[i] = sum;
}
