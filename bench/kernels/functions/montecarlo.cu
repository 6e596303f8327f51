// A power option on a share's average price, one path per thread: normal numbers by Box and Muller.
__device__ float uniform(unsigned i, unsigned seed) {
  unsigned h = i * 2654435761u + seed;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return ((h ^ h >> 16) >> 8) * (1.0f / 16777216.0f) + 0.5f / 16777216.0f;
}

__global__ void montecarlo(int paths, int steps, float strike, float *payoff) {
  const float rate = 0.02f, volatility = 0.30f, spot = 100;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= paths) return;
  float time = 1.0f / steps, drift = (rate - 0.5f * volatility * volatility) * time;
  float spread = volatility * sqrtf(time), level = 0, sum = 0;
  for (int step = 0; step < steps; step += 2) {
    float radius = sqrtf(-2 * logf(uniform(i, step))), angle = 6.2831853f * uniform(i, step + 1);
    level += drift + spread * radius * cosf(angle);
    sum += expf(level);
    level += drift + spread * radius * sinf(angle);
    sum += expf(level);
  }
  payoff[i] = expf(-rate) * powf(fmaxf(spot * sum / steps - strike, 0), 1.1f);
}
