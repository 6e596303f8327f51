float cumulative(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
  float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228040143267794f * exp(-0.5f * d * d) * poly;
  return d > 0 ? 1.0f - tail : tail;
}

kernel void blackscholes(int n, global const float *price, global const float *strike, global const float *years,
                         global float *call, global float *put) {
  const float rate = 0.02f, volatility = 0.30f;
  int i = get_global_id(0);
  if (i >= n) return;
  float s = price[i], x = strike[i], t = years[i], root = sqrt(t);
  float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  float d2 = d1 - volatility * root;
  float c1 = cumulative(d1), c2 = cumulative(d2), discount = exp(-rate * t);
  call[i] = s * c1 - x * discount * c2;
  put[i] = x * discount * (1.0f - c2) - s * (1.0f - c1);
}
