float uniform01(uint i, uint seed) {
  uint h = i * 2654435761u + seed;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return ((h ^ h >> 16) >> 8) * (1.0f / 16777216.0f) + 0.5f / 16777216.0f;
}

kernel void montecarlo(int paths, int steps, float strike, global float *payoff) {
  const float rate = 0.02f, volatility = 0.30f, spot = 100;
  int i = get_global_id(0);
  if (i >= paths) return;
  float time = 1.0f / steps, drift = (rate - 0.5f * volatility * volatility) * time;
  float spread = volatility * sqrt(time), level = 0, sum = 0;
  for (int step = 0; step < steps; step += 2) {
    float radius = sqrt(-2 * log(uniform01(i, step))), angle = 6.2831853f * uniform01(i, step + 1);
    level += drift + spread * radius * cos(angle);
    sum += exp(level);
    level += drift + spread * radius * sin(angle);
    sum += exp(level);
  }
  payoff[i] = exp(-rate) * pow(fmax(spot * sum / steps - strike, 0.0f), 1.1f);
}
