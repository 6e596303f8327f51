/* The kernels of rows.cu as C with OpenMP. */

void sum_of_products(int n, float alpha, float beta, const float *a, const float *b, const float *x, float *y) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    float s = 0, t = 0;
#pragma omp simd reduction(+ : s, t)
    for (int k = 0; k < n; k++) {
      s += a[i * n + k] * x[k];
      t += b[i * n + k] * x[k];
    }
    y[i] = alpha * s + beta * t;
  }
}

void inner_products(int n, int m, int d, const double *a, const double *b, double *c) {
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double s = 0;
#pragma omp simd reduction(+ : s)
      for (int k = 0; k < d; k++) s += a[i * d + k] * b[j * d + k];
      c[i * m + j] = s;
    }
}

void nearest_center(int points, int features, int centers, const float *p, const float *center, int *nearest) {
#pragma omp parallel for
  for (int i = 0; i < points; i++) {
    int best = 0;
    float least = 3.402823466e38f;
    for (int c = 0; c < centers; c++) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int f = 0; f < features; f++) {
        float difference = p[i * features + f] - center[c * features + f];
        sum += difference * difference;
      }
      if (sum < least) least = sum, best = c;
    }
    nearest[i] = best;
  }
}

void byte_distances(unsigned count, unsigned length, const unsigned char *rows, const unsigned char *wanted,
                    unsigned *distance) {
#pragma omp parallel for
  for (unsigned i = 0; i < count; i++) {
    unsigned sum = 0;
    for (unsigned k = 0; k < length; k++) {
      int d = (int)rows[i * length + k] - (int)wanted[k];
      sum += d < 0 ? -d : d;
    }
    distance[i] = sum;
  }
}

void step_bodies(int n, float dt, float field, float *bodies) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    float *b = bodies + 8 * i;
    float force = field * b[7] / b[3];
    b[4] += dt * (force - b[0]);
    b[5] += dt * (force - b[1]);
    b[6] += dt * (force - b[2]);
    b[0] += dt * b[4];
    b[1] += dt * b[5];
    b[2] += dt * b[6];
  }
}

void running_sums(int rows, int columns, const float *in, float *out) {
#pragma omp parallel for
  for (int i = 0; i < rows; i++) {
    float s = 0;
    for (int k = 0; k < columns; k++) {
      s += in[i * columns + k];
      out[i * columns + k] = s;
    }
  }
}

void polynomials(int n, int degree, unsigned long long pitch, const double *coefficients, const double *x, double *y) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    double v = x[i], s = 0;
    for (int k = degree; k >= 0; k--) s = s * v + coefficients[i * pitch + k];
    y[i] = s;
  }
}

void causal_values(int n, int d, const float *weights, const float *values, float *out) {
#pragma omp parallel for schedule(dynamic, 16)
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      float w = weights[i * n + j];
      for (int k = 0; k < d; k++) out[i * d + k] += w * values[j * d + k];
    }
}

void sparse_rows(int rows, int columns, const int *start, const int *column, const float *value, const float *x,
                 float *y) {
#pragma omp parallel for
  for (int r = 0; r < rows; r++)
    for (int e = start[r]; e < start[r + 1]; e++)
      for (int c = 0; c < columns; c++) y[r * columns + c] += value[e] * x[column[e] * columns + c];
}

void segment_maxima(int segments, const int *start, const int *value, int *greatest) {
#pragma omp parallel for
  for (int s = 0; s < segments; s++) {
    int most = -2147483647 - 1;
    for (int e = start[s]; e < start[s + 1]; e++) most = value[e] > most ? value[e] : most;
    greatest[s] = most;
  }
}

void correlations(int rows, int length, short *samples, short *signal, int *sums) {
#pragma omp parallel for
  for (int i = 0; i < rows; i++) {
    int sum = 0;
    for (int k = 0; k < length; k++) sum += samples[i * length + k] * signal[k];
    sums[i] = sum;
  }
}

void brightest(int lines, int width, unsigned char *picture, unsigned *most) {
#pragma omp parallel for
  for (int i = 0; i < lines; i++) {
    unsigned greatest = 0;
    for (int k = 0; k < width; k++) greatest = picture[i * width + k] > greatest ? picture[i * width + k] : greatest;
    most[i] = greatest;
  }
}
