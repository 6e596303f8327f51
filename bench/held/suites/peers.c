/* The kernels of tiles.cu and planes.cu as C with OpenMP: each function does what one launch does. */

void plate_steps(int steps, float *power, float *from, float *to, int columns, int rows, float across, float along,
                 float sink, float ambient, float rate) {
  static float *planes[2];
  static int size;
  if (size != rows * columns) {
    size = rows * columns;
    for (int i = 0; i < 2; i++) planes[i] = __builtin_malloc(size * sizeof(float));
  }
  for (int i = 0; i < steps; i++) {
    const float *now = i ? planes[(i - 1) % 2] : from;
    float *next = i == steps - 1 ? to : planes[i % 2];
#pragma omp parallel for
    for (int y = 0; y < rows; y++) {
      const float *line = now + y * columns, *north = y > 0 ? line - columns : line,
                  *south = y < rows - 1 ? line + columns : line, *heat = power + y * columns;
      float *out = next + y * columns;
#define CELL(x, west, east)                                                                                            \
  out[x] = line[x] + rate * (heat[x] + (south[x] + north[x] - 2.0f * line[x]) * along +                                \
                             (line[east] + line[west] - 2.0f * line[x]) * across + (ambient - line[x]) * sink)
      CELL(0, 0, 1);
      for (int x = 1; x < columns - 1; x++) CELL(x, x - 1, x + 1);
      CELL(columns - 1, columns - 2, columns - 1);
    }
  }
}

static int least(int a, int b) { return a < b ? a : b; }

void ways(int steps, int *cost, int *from, int *to, int columns, int first) {
  static int *lines[2], size;
  if (size != columns) {
    size = columns;
    for (int i = 0; i < 2; i++) lines[i] = __builtin_malloc(size * sizeof(int));
  }
  for (int i = 0; i < steps; i++) {
    const int *before = i ? lines[(i - 1) % 2] : from, *row = cost + columns * (first + i);
    int *after = i == steps - 1 ? to : lines[i % 2];
    after[0] = least(before[0], before[1]) + row[0];
    after[columns - 1] = least(before[columns - 1], before[columns - 2]) + row[columns - 1];
#pragma omp parallel for
    for (int x = 1; x < columns - 1; x++) after[x] = least(least(before[x - 1], before[x]), before[x + 1]) + row[x];
  }
}

static inline __attribute__((always_inline)) float slopes(float c, float n, float s, float w, float e, float q0) {
  float g2 = (n * n + s * s + w * w + e * e) / (c * c), l = (n + s + w + e) / c;
  float num = 0.5f * g2 - (1.0f / 16.0f) * (l * l), den = 1 + 0.25f * l;
  float qsqr = num / (den * den);
  den = (qsqr - q0) / (q0 * (1 + q0));
  float f = 1.0f / (1.0f + den);
  return f < 0 ? 0 : f > 1 ? 1 : f;
}

void speckle_slopes(float *image, float *slope_n, float *slope_s, float *slope_w, float *slope_e, float *factor,
                    int columns, int rows, float q0) {
#pragma omp parallel for
  for (int y = 0; y < rows; y++) {
    const float *line = image + y * columns, *north = y > 0 ? line - columns : line,
                *south = y < rows - 1 ? line + columns : line;
    int at = y * columns;
#define SLOPES(x, west, east)                                                                                          \
  do {                                                                                                                 \
    float c = line[x], n = north[x] - c, s = south[x] - c, w = line[west] - c, e = line[east] - c;                     \
    factor[at + x] = slopes(c, n, s, w, e, q0);                                                                        \
    slope_n[at + x] = n;                                                                                               \
    slope_s[at + x] = s;                                                                                               \
    slope_w[at + x] = w;                                                                                               \
    slope_e[at + x] = e;                                                                                               \
  } while (0)
    SLOPES(0, 0, 1);
#pragma omp simd
    for (int x = 1; x < columns - 1; x++) SLOPES(x, x - 1, x + 1);
    SLOPES(columns - 1, columns - 2, columns - 1);
  }
}

void segment_sums(float *value, int *head, float *out, int n) {
#pragma omp parallel for
  for (int block = 0; block < n; block += 256) {
    float sum = 0;
    for (int i = block; i < block + 256 && i < n; i++) {
      sum = head[i] ? value[i] : sum + value[i];
      out[i] = sum;
    }
  }
}

static float larger(float a, float b) { return a > b ? a : b; }

void pool_largest(float *in, float *out, int height, int width, int rows, int columns) {
  int planes = 32;
#pragma omp parallel for
  for (int plane = 0; plane < planes; plane++)
    for (int y = 0; y < rows; y++) {
      float *line = out + (plane * rows + y) * columns;
      for (int x = 0; x < columns; x++) line[x] = -3.4e38f;
      for (int r = 2 * y - 1; r <= 2 * y + 1; r++) {
        if (r < 0 || r >= height) continue;
        const float *row = in + (plane * height + r) * width;
        line[0] = larger(line[0], larger(row[0], row[1]));
        for (int x = 1; x < columns; x++) {
          float most = larger(row[2 * x - 1], row[2 * x]);
          line[x] = larger(line[x], 2 * x + 1 < width ? larger(most, row[2 * x + 1]) : most);
        }
      }
    }
}

void rows_by_vector(float *a, float *x, float *t, int rows, int columns) {
#pragma omp parallel for
  for (int i = 0; i < rows; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < columns; j++) sum += a[i * columns + j] * x[j];
    t[i] = sum;
  }
}

void columns_by_vector(float *a, float *t, float *y, int rows, int columns) {
  for (int j = 0; j < columns; j++) y[j] = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) y[j] += a[i * columns + j] * t[i];
}

void symmetric_update(float *a, float *b, float *c, float alpha, float beta, int n, int m) {
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int k = 0; k < m; k++) sum += a[i * m + k] * b[j * m + k] + b[i * m + k] * a[j * m + k];
      c[i * n + j] = beta * c[i * n + j] + alpha * sum;
    }
}

void life_bytes(unsigned char *in, unsigned char *out, int width, int height) {
#pragma omp parallel for
  for (int y = 0; y < height; y++) {
    const unsigned char *line = in + y * width, *up = in + (y ? y - 1 : height - 1) * width,
                        *down = in + (y < height - 1 ? y + 1 : 0) * width;
#define LIFE(x, left, right)                                                                                           \
  do {                                                                                                                 \
    unsigned char alive =                                                                                              \
        up[left] + up[x] + up[right] + line[left] + line[right] + down[left] + down[x] + down[right];                  \
    out[y * width + (x)] = (alive == 3) | ((alive == 2) & (line[x] != 0));                                             \
  } while (0)
    LIFE(0, width - 1, 1);
#pragma omp simd
    for (int x = 1; x < width - 1; x++) LIFE(x, x - 1, x + 1);
    LIFE(width - 1, width - 2, 0);
  }
}

void life_edges(unsigned char *in, unsigned char *out, int width, int height) {
#pragma omp parallel for
  for (int y = 0; y < height; y++) {
    static const unsigned char none[1 << 16];
    const unsigned char *line = in + y * width, *up = y ? line - width : none,
                        *down = y < height - 1 ? line + width : none;
#define EDGE(x, sides)                                                                                                 \
  do {                                                                                                                 \
    unsigned char alive = up[x] + down[x] + (sides);                                                                   \
    out[y * width + (x)] = (alive == 3) | ((alive == 2) & (line[x] != 0));                                             \
  } while (0)
    EDGE(0, up[1] + line[1] + down[1]);
#pragma omp simd
    for (int x = 1; x < width - 1; x++)
      EDGE(x, up[x - 1] + up[x + 1] + line[x - 1] + line[x + 1] + down[x - 1] + down[x + 1]);
    EDGE(width - 1, up[width - 2] + line[width - 2] + down[width - 2]);
  }
}
