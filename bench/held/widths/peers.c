/* The kernels of this folder as C with OpenMP: each function does what one launch does. Kernels without a parameter for
   their number of blocks have that of problems.lua here. */
#include <stdlib.h>
#include <string.h>

static int most(int a, int b) { return a > b ? a : b; }

/* ---- branchy.cu ---- */

void line_checksum(int lines, int *start, unsigned char *text, unsigned *step, unsigned *sum) {
#pragma omp parallel for
  for (int i = 0; i < lines; i++) {
    unsigned hash = 0xffffffffu;
    for (int at = start[i]; at < start[i + 1]; at++) hash = step[(hash ^ text[at]) & 255] ^ (hash >> 8);
    sum[i] = ~hash;
  }
}

void feistel(int blocks, unsigned *keys, unsigned *boxes, unsigned *plain, unsigned *cipher) {
#pragma omp parallel for
  for (int i = 0; i < blocks; i++) {
    unsigned left = plain[2 * i], right = plain[2 * i + 1];
    for (int round = 0; round < 16; round++) {
      left ^= keys[round];
      unsigned mixed = boxes[left >> 24] + boxes[256 + (left >> 16 & 255)];
      mixed = (mixed ^ boxes[512 + (left >> 8 & 255)]) + boxes[768 + (left & 255)];
      unsigned next = right ^ mixed;
      right = left;
      left = next;
    }
    cipher[2 * i] = right ^ keys[16];
    cipher[2 * i + 1] = left ^ keys[17];
  }
}

void common_subsequence(int pairs, unsigned char *first, unsigned char *second, int *length) {
#pragma omp parallel for
  for (int i = 0; i < pairs; i++) {
    int row[33] = {0};
    for (int j = 0; j < 32; j++) {
      int diagonal = 0;
      unsigned char letter = second[32 * i + j];
      for (int k = 1; k <= 32; k++) {
        int above = row[k];
        row[k] = first[32 * i + k - 1] == letter ? diagonal + 1 : most(above, row[k - 1]);
        diagonal = above;
      }
    }
    length[i] = row[32];
  }
}

/* The transform of eight numbers `step` apart. */
static inline void hadamard_8(int *line, int step) {
  for (int half = 4; half; half /= 2)
    for (int i = 0; i < 8; i++)
      if (!(i & half)) {
        int a = line[i * step], b = line[(i + half) * step];
        line[i * step] = a + b, line[(i + half) * step] = a - b;
      }
}

void hadamard_tile(int columns, int rows, short *in, short *out) {
#pragma omp parallel for
  for (int y = 0; y < rows; y += 8)
    for (int x = 0; x < columns; x += 8) {
      int tile[64];
      for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++) tile[8 * j + i] = in[(y + j) * columns + x + i];
      for (int j = 0; j < 8; j++) hadamard_8(tile + 8 * j, 1);
      for (int i = 0; i < 8; i++) hadamard_8(tile + i, 8);
      for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++) out[(y + j) * columns + x + i] = (short)(tile[8 * j + i] / 8);
    }
}

void table_walk(int queries, int entries, float *table, float *query, int *steps) {
#pragma omp parallel for
  for (int i = 0; i < queries; i++) {
    int low = 0, high = entries - 1, count = 0;
    float wanted = query[i];
    while (low < high) {
      int middle = (low + high) / 2;
      if (table[middle] < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    while (low > 1 && count < 64) {
      low = low % 2 ? (3 * low + 1) % entries : low / 2;
      count += table[low] < wanted ? 2 : 1;
    }
    steps[i] = count;
  }
}

void row_similarity(int rows, int length, float *a, float *norm, float *result) {
#pragma omp parallel for
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int k = 0; k < length; k++) sum += a[i * length + k] * a[j * length + k];
      result[i * rows + j] = sum * norm[i] * norm[j];
    }
}

/* ---- blocked.cu ---- */

void product_8x8(int n, float *a, float *b, float *c) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) c[i * n + j] = 0;
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}

void product_4x4(int n, double *a, double *b, float *c) {
#pragma omp parallel
  {
    double *row = malloc((size_t)n * sizeof *row);
#pragma omp for
    for (int i = 0; i < n; i++) {
      memset(row, 0, (size_t)n * sizeof *row);
      for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) row[j] += a[i * n + k] * b[k * n + j];
      for (int j = 0; j < n; j++) c[i * n + j] = (float)row[j];
    }
    free(row);
  }
}

void channel_moments(int points, int times, float *value, float *mean, float *square) {
#pragma omp parallel for
  for (int c = 0; c < 24; c++) {
    for (int i = 0; i < points; i++) mean[c * points + i] = square[c * points + i] = 0;
    for (int t = 0; t < times; t++)
      for (int i = 0; i < points; i++) {
        float x = value[(t * 24 + c) * points + i];
        mean[c * points + i] += x;
        square[c * points + i] += x * x;
      }
  }
}

void relax_27(int points, int steps, float omega, float *f) {
  enum { WIDE = 16 };
#pragma omp parallel for
  for (int first = 0; first < points; first += WIDE) {
    float g[27][WIDE], density[WIDE], flow[WIDE];
    for (int d = 0; d < 27; d++)
      for (int i = 0; i < WIDE; i++) g[d][i] = f[d * points + first + i];
    for (int s = 0; s < steps; s++) {
      for (int i = 0; i < WIDE; i++) density[i] = flow[i] = 0;
      for (int d = 0; d < 27; d++)
        for (int i = 0; i < WIDE; i++) density[i] += g[d][i], flow[i] += g[d][i] * (d % 3 - 1);
      for (int d = 0; d < 27; d++)
        for (int i = 0; i < WIDE; i++) g[d][i] += omega * (density[i] / 27 + flow[i] * (d % 3 - 1) / 18 - g[d][i]);
      float kept[WIDE];
      memcpy(kept, g[0], sizeof kept);
      memmove(g[0], g[1], 26 * sizeof g[0]);
      memcpy(g[26], kept, sizeof kept);
    }
    for (int d = 0; d < 27; d++)
      for (int i = 0; i < WIDE; i++) f[d * points + first + i] = g[d][i];
  }
}

void many_polynomials(int points, int steps, float *coefficient, float *x, float *y) {
#pragma omp parallel for simd
  for (int i = 0; i < points; i++) {
    float total = 0;
    for (int s = 0; s < steps; s++)
      for (int p = 0; p < 4; p++) {
        float value = coefficient[(12 * p + 11) * points + i];
        for (int d = 10; d >= 0; d--) value = value * x[s] + coefficient[(12 * p + d) * points + i];
        total += value;
      }
    y[i] = total;
  }
}

/* ---- small.cu ---- */

void column_cipher(int rounds, unsigned *keys, unsigned *box, unsigned *plain, unsigned *cipher) {
#pragma omp parallel for
  for (int at = 0; at < 4 << 15; at += 4) {
    unsigned state[4], next[4];
    for (int x = 0; x < 4; x++) state[x] = plain[at + x] ^ keys[x];
    for (int round = 1; round <= rounds; round++) {
      for (int x = 0; x < 4; x++)
        next[x] = box[state[x] & 255] ^ box[256 + (state[(x + 1) & 3] >> 8 & 255)] ^
                  box[512 + (state[(x + 2) & 3] >> 16 & 255)] ^ box[768 + (state[(x + 3) & 3] >> 24)] ^
                  keys[4 * round + x];
      memcpy(state, next, sizeof state);
    }
    memcpy(cipher + at, state, sizeof state);
  }
}

void align_tile(int penalty, int *score, int *table) {
#pragma omp parallel for
  for (int base = 0; base < 256 << 12; base += 256) {
    int tile[17][17];
    for (int x = 0; x < 17; x++) tile[0][x] = tile[x][0] = -penalty * x;
    for (int i = 0; i < 16; i++)
      for (int j = 0; j < 16; j++) {
        int best = most(tile[i][j] + score[base + 16 * i + j], tile[i][j + 1] - penalty);
        table[base + 16 * i + j] = tile[i + 1][j + 1] = most(best, tile[i + 1][j] - penalty);
      }
  }
}

void factor_tile(float *in, float *out) {
#pragma omp parallel for
  for (int base = 0; base < 256 << 12; base += 256) {
    float *a = out + base;
    memcpy(a, in + base, 256 * sizeof *a);
    for (int k = 0; k < 15; k++)
      for (int x = k + 1; x < 16; x++) {
        float factor = a[16 * x + k] / a[16 * k + k];
        for (int j = k + 1; j < 16; j++) a[16 * x + j] -= factor * a[16 * k + j];
        a[16 * x + k] = factor;
      }
  }
}

void transform_points(float *matrix, float *point, float *out) {
#pragma omp parallel for
  for (int at = 0; at < 4 << 18; at += 4)
    for (int x = 0; x < 4; x++) {
      float sum = 0;
      for (int k = 0; k < 4; k++) sum += matrix[4 * x + k] * point[at + k];
      out[at + x] = sum;
    }
}

void scan_eight(int *in, int *out) {
#pragma omp parallel for
  for (int at = 0; at < 8 << 15; at += 8)
    for (int x = 0, sum = 0; x < 8; x++) out[at + x] = sum += in[at + x];
}
