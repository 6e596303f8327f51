/* The kernels of this folder as C with OpenMP: each function does what one launch does. The number of blocks is that of
   the launch. */
int blocks;

void horner_each(int n, int degree, const float *c, const float *x, float *y) {
#pragma omp parallel for simd
  for (int i = 0; i < n; i++) {
    float s = c[0];
    for (int k = 1; k <= degree; k++) s = s * x[i] + c[k];
    y[i] = s;
  }
}

void orbit_pairs(int most, const float *cx, const float *cy, int *steps) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int i = 0; i < 2 * blocks; i++) {
    float x = 0, y = 0;
    int k = 0;
    for (; k < most && x * x + y * y < 4.0f; k++) {
      float t = x * x - y * y + cx[i];
      y = 2 * x * y + cy[i];
      x = t;
    }
    steps[i] = k;
  }
}

void generators(int rounds, const unsigned *seed, unsigned *last) {
#pragma omp parallel for simd
  for (int i = 0; i < 4 * blocks; i++) {
    unsigned v = seed[i];
    for (int r = 0; r < rounds; r++) {
      v ^= v << 13;
      v ^= v >> 17;
      v ^= v << 5;
    }
    last[i] = v;
  }
}

void blur_bytes(int w, int h, const unsigned char *in, unsigned char *out) {
#pragma omp parallel for
  for (int y = 1; y < h - 1; y++)
    for (int x = 1; x < w - 1; x++) {
      int at = y * w + x;
      out[at] = (unsigned char)((4 * in[at] + in[at - 1] + in[at + 1] + in[at - w] + in[at + w]) >> 3);
    }
}

void divisors(const unsigned *a, const unsigned *b, unsigned *out) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int i = 0; i < blocks; i++) {
    unsigned x = a[i], y = b[i];
    while (y) {
      unsigned rest = x % y;
      x = y;
      y = rest;
    }
    out[i] = x;
  }
}
