/* The same work as the kernels of this folder, one launch a call, with OpenMP and loops in the order of memory. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static int clamp(int i, int low, int high) { return i < low ? low : i > high ? high : i; }

/* ---- clamps.cu ---- */

void cheapest_path(int steps, const int *costs, const int *source, int *best, int columns, int first) {
  enum { STRIP = 4096 };
#pragma omp parallel for
  for (int from = 0; from < columns; from += STRIP) {
    int end = from + STRIP < columns ? from + STRIP : columns;
    int low = from - steps > 0 ? from - steps : 0, high = end + steps < columns ? end + steps : columns;
    int a[STRIP + 512], b[STRIP + 512], *now = a, *then = b;
    for (int x = low; x < high; x++) now[x - low] = source[x];
    for (int i = 0; i < steps; i++) {
      const int *row = costs + (size_t)columns * (size_t)(first + i) + low;
      int n = high - low;
      then[0] = (now[0] < now[1] ? now[0] : now[1]) + row[0];
      for (int x = 1; x < n - 1; x++) {
        int least = now[x - 1] < now[x] ? now[x - 1] : now[x];
        least = least < now[x + 1] ? least : now[x + 1];
        then[x] = least + row[x];
      }
      then[n - 1] = (now[n - 1] < now[n - 2] ? now[n - 1] : now[n - 2]) + row[n - 1];
      int *swap = now;
      now = then, then = swap;
    }
    for (int x = from; x < end; x++) best[x] = now[x - low];
  }
}

void heat_tile(int steps, const float *power, const float *from, float *to, int width, int height, float cx, float cy,
               float cz) {
  float *planes[2] = {malloc(sizeof(float) * (size_t)width * (size_t)height),
                      malloc(sizeof(float) * (size_t)width * (size_t)height)};
  for (int i = 0; i < steps; i++) {
    const float *in = i == 0 ? from : planes[i & 1];
    float *out = i == steps - 1 ? to : planes[(i + 1) & 1];
#pragma omp parallel for
    for (int y = 0; y < height; y++) {
      const float *row = in + (size_t)y * width, *up = in + (size_t)clamp(y - 1, 0, height - 1) * width,
                  *down = in + (size_t)clamp(y + 1, 0, height - 1) * width, *own = power + (size_t)y * width;
      float *o = out + (size_t)y * width;
      for (int x = 1; x < width - 1; x++)
        o[x] = row[x] + cz * own[x] + cy * (down[x] + up[x] - 2.0f * row[x]) +
               cx * (row[x + 1] + row[x - 1] - 2.0f * row[x]);
      for (int x = 0; x < width; x += width - 1)
        o[x] = row[x] + cz * own[x] + cy * (down[x] + up[x] - 2.0f * row[x]) +
               cx * (row[clamp(x + 1, 0, width - 1)] + row[clamp(x - 1, 0, width - 1)] - 2.0f * row[x]);
    }
  }
  free(planes[0]);
  free(planes[1]);
}

void diffusion_rates(int rows, int columns, const float *image, float *rate, float q0) {
#pragma omp parallel for
  for (int column = 0; column < columns; column++) {
    const float *here = image + (size_t)rows * column, *left = image + (size_t)rows * clamp(column - 1, 0, columns - 1),
                *right = image + (size_t)rows * clamp(column + 1, 0, columns - 1);
    for (int row = 0; row < rows; row++) {
      float c = here[row], dn = here[row == 0 ? 0 : row - 1] - c, ds = here[row == rows - 1 ? row : row + 1] - c;
      float dw = left[row] - c, de = right[row] - c;
      float g2 = (dn * dn + ds * ds + dw * dw + de * de) / (c * c), l = (dn + ds + dw + de) / c;
      float num = 0.5f * g2 - 0.0625f * l * l, den = 1.0f + 0.25f * l, q = num / (den * den);
      float r = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
      rate[(size_t)rows * column + row] = r < 0.0f ? 0.0f : r > 1.0f ? 1.0f : r;
    }
  }
}

void torus_step(int width, int height, const float *u, float *v, float dt) {
#pragma omp parallel for
  for (int y = 0; y < height; y++) {
    const float *row = u + (size_t)y * width, *down = u + (size_t)((y + 1) % height) * width,
                *up = u + (size_t)((y + height - 1) % height) * width;
    float *o = v + (size_t)y * width;
    for (int x = 1; x < width - 1; x++)
      o[x] = 0.25f * (row[x + 1] + row[x - 1] + down[x] + up[x]) -
             dt * row[x] * ((row[x + 1] - row[x - 1]) + (down[x] - up[x]));
    for (int x = 0; x < width; x += width - 1) {
      float e = row[(x + 1) % width], w = row[(x + width - 1) % width];
      o[x] = 0.25f * (e + w + down[x] + up[x]) - dt * row[x] * ((e - w) + (down[x] - up[x]));
    }
  }
}

void mean_window(int width, int height, int radius, const unsigned char *image, unsigned char *out) {
  int count = (2 * radius + 1) * (2 * radius + 1);
#pragma omp parallel
  {
    int *sums = malloc(sizeof(int) * (size_t)(width + 2 * radius));
#pragma omp for
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width + 2 * radius; x++) sums[x] = 0;
      for (int dy = -radius; dy <= radius; dy++) {
        const unsigned char *row = image + (size_t)clamp(y + dy, 0, height - 1) * width;
        for (int x = 0; x < radius; x++) sums[x] += row[0], sums[x + width + radius] += row[width - 1];
        for (int x = 0; x < width; x++) sums[x + radius] += row[x];
      }
      for (int x = 0; x < width; x++) {
        int sum = 0;
        for (int dx = 0; dx <= 2 * radius; dx++) sum += sums[x + dx];
        out[(size_t)y * width + x] = (unsigned char)(sum / count);
      }
    }
    free(sums);
  }
}

/* ---- divisions.cu ---- */

void patches(int n, const float *image, int width, int height, int size, int out_width, int out_height, float *rows) {
  int planes = n / (out_width * out_height);
#pragma omp parallel for collapse(2)
  for (int entry = 0; entry < planes; entry++)
    for (int y = 0; y < out_height; y++) {
      int dx = entry % size - size / 2, dy = entry / size % size - size / 2, channel = entry / (size * size);
      float *o = rows + ((size_t)entry * out_height + y) * out_width;
      const float *row = image + ((size_t)channel * height + y + dy) * width + dx;
      for (int x = 0; x < out_width; x++)
        o[x] = x + dx >= 0 && y + dy >= 0 && x + dx < width && y + dy < height ? row[x] : 0.0f;
    }
}

void exchange(unsigned pairs, float *keys, unsigned distance, unsigned run) {
  unsigned groups = pairs / distance;
#pragma omp parallel for
  for (unsigned g = 0; g < groups; g++) {
    float *low = keys + (size_t)g * 2 * distance, *high = low + distance;
    for (unsigned i = 0; i < distance; i++) {
      bool down = (g * 2 * distance + i) / run % 2 == 1;
      float a = low[i], b = high[i];
      bool swap = (a > b) != down;
      low[i] = swap ? b : a;
      high[i] = swap ? a : b;
    }
  }
}

void modular_power(int n, const unsigned *bases, unsigned exponent, unsigned prime, unsigned *out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    unsigned long long result = 1, base = bases[i] % prime;
    for (unsigned e = exponent; e; e >>= 1) {
      if (e & 1) result = result * base % prime;
      base = base * base % prime;
    }
    out[i] = (unsigned)result;
  }
}

void permute_axes(long long n, const float *from, float *to, long long b, long long c, long long d) {
  long long a = n / (b * c * d);
#pragma omp parallel for collapse(2)
  for (long long ia = 0; ia < a; ia++)
    for (long long ib = 0; ib < b; ib++)
      for (long long ic = 0; ic < c; ic++)
        for (long long id = 0; id < d; id++)
          to[((ia * c + ic) * b + ib) * d + id] = from[((ia * b + ib) * c + ic) * d + id];
}

void common_divisor(int n, const int *a, const int *b, int *out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    int x = a[i], y = b[i];
    while (y != 0) {
      int rest = x % y;
      x = y;
      y = rest;
    }
    out[i] = x < 0 ? -x : x;
  }
}

/* ---- butterflies.cu ---- */

void hadamard_stage(int half, float *data, int stride) {
  int groups = half / stride;
#pragma omp parallel for
  for (int g = 0; g < groups; g++) {
    float *low = data + (size_t)g * 2 * stride, *high = low + stride;
    for (int i = 0; i < stride; i++) {
      float a = low[i], b = high[i];
      low[i] = a + b;
      high[i] = a - b;
    }
  }
}

/* The rows of these two problems, which follow from their grids, not from their parameters. */
static int peers_rows = 500;

void hadamard_rows(int stages, const float *from, float *to) {
  enum { LENGTH = 1024 };
#pragma omp parallel for
  for (int r = 0; r < peers_rows; r++) {
    float *row = to + (size_t)r * LENGTH;
    for (int i = 0; i < LENGTH; i++) row[i] = from[(size_t)r * LENGTH + i];
    for (int s = 0; s < stages; s++) {
      int stride = 1 << s;
      for (int g = 0; g < LENGTH; g += 2 * stride)
        for (int i = g; i < g + stride; i++) {
          float a = row[i], b = row[i + stride];
          row[i] = a + b;
          row[i + stride] = a - b;
        }
    }
  }
}

void sort_rows(unsigned length, unsigned *keys, unsigned *values) {
  enum { KEYS = 512, ROWS = 200 };
#pragma omp parallel for
  for (int r = 0; r < ROWS; r++) {
    unsigned *k = keys + r * KEYS, *v = values + r * KEYS;
    for (unsigned size = 2; size <= length; size <<= 1)
      for (unsigned stride = size / 2; stride > 0; stride >>= 1)
        for (unsigned g = 0; g < KEYS; g += 2 * stride)
          for (unsigned i = g; i < g + stride; i++) {
            bool up = (i & size) == 0;
            unsigned a = k[i], b = k[i + stride], c = v[i], d = v[i + stride];
            bool swap = (a > b) == up;
            k[i] = swap ? b : a, k[i + stride] = swap ? a : b;
            v[i] = swap ? d : c, v[i + stride] = swap ? c : d;
          }
  }
}

typedef struct float2 {
  float x, y;
} float2;

void fourier_stage(int half, float2 *data, const float2 *roots, int span, int root_step) {
  int groups = half / span;
#pragma omp parallel for
  for (int g = 0; g < groups; g++) {
    float2 *low = data + (size_t)g * 2 * span, *high = low + span;
    for (int j = 0; j < span; j++) {
      float2 w = roots[j * root_step], a = low[j], b = high[j];
      float re = b.x * w.x - b.y * w.y, im = b.x * w.y + b.y * w.x;
      low[j].x = a.x + re, low[j].y = a.y + im;
      high[j].x = a.x - re, high[j].y = a.y - im;
    }
  }
}

void subset_sums(unsigned n, const int *from, int *to, unsigned bit) {
#pragma omp parallel for
  for (unsigned g = 0; g < n / (2 * bit); g++) {
    const int *low = from + (size_t)g * 2 * bit, *high = low + bit;
    int *a = to + (size_t)g * 2 * bit, *b = a + bit;
    for (unsigned i = 0; i < bit; i++) a[i] = low[i], b[i] = low[i] + high[i];
  }
}

/* ---- bytes.cu ---- */

void string_hash(int n, const unsigned char *text, int length, unsigned seed, unsigned *out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    const unsigned char *s = text + (size_t)i * length;
    unsigned h = seed;
    for (int j = 0; j + 4 <= length; j += 4) {
      unsigned k = s[j] | (unsigned)s[j + 1] << 8 | (unsigned)s[j + 2] << 16 | (unsigned)s[j + 3] << 24;
      k *= 0xcc9e2d51u;
      k = k << 15 | k >> 17;
      h ^= k * 0x1b873593u;
      h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    out[i] = h ^ h >> 13;
  }
}

void read_records(int n, const unsigned char *file, const int *places, int *out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    const unsigned char *p = file + places[i];
    int a = (int)((unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3]);
    int b = p[4] << 8 | p[5], c = (signed char)p[6], d = p[7];
    out[i] = a ^ (b * 31 + c * d);
  }
}

void fnv_rows(int rows, int length, const char *data, unsigned *out) {
#pragma omp parallel for
  for (int row = 0; row < rows; row++) {
    unsigned h = 2166136261u;
    for (int j = 0; j < length; j++) h = (h ^ (unsigned char)data[row * length + j]) * 16777619u;
    out[row] = h;
  }
}

void grey(int n, const unsigned char *rgb, unsigned char *out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    out[i] = (unsigned char)((77 * r + 150 * g + 29 * b) >> 8);
  }
}

void byte_products(int n, int length, const signed char *a, const signed char *b, int *out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int k = 0; k < length; k++) sum += a[i * length + k] * b[k];
    out[i] = sum;
  }
}
