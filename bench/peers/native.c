/* The peer "C": the same problems in C that is optimised for this machine: GCC's vector types, as wide as its
 * registers, or loops that GCC vectorises, blocked for caches and registers, OpenMP over the cores, -O3 -march=native
 * -ffast-math.
 *   native NAME...   measure; one line for each problem: name median_ms digest scale */
#include "problems.h"
#include "vectors.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARALLEL _Pragma("omp parallel for schedule(static)")
#define SIMD     _Pragma("omp simd")

static int integer(const problem *p, int i) { return p->arguments[i].integer; }
static void *array(const problem *p, int i) { return p->arguments[i].data; }

static void saxpy(const problem *p) {
  const int n = integer(p, 0);
  const float a = p->arguments[1].number;
  const float *restrict x = array(p, 2);
  float *restrict y = array(p, 3);
  PARALLEL for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

/* Sum b of 1024 has the same elements as the kernel's block b: 256 consecutive ones at distances of 262144. */
static void reduce(const problem *p) {
  const int n = integer(p, 0);
  const float *restrict x = array(p, 1);
  float *restrict out = array(p, 2);
  PARALLEL for (int half = 0; half < 16; half++) {
    float sums[64] = {0};
    for (int start = half * 64 * 256; start < n; start += 1024 * 256)
      for (int b = 0; b < 64; b++) {
        float sum = 0;
        SIMD for (int i = 0; i < 256; i++) sum += x[start + b * 256 + i];
        sums[b] += sum;
      }
    memcpy(out + half * 64, sums, sizeof sums);
  }
}

static void scan(const problem *p) {
  const int n = integer(p, 0);
  const float *restrict x = array(p, 1);
  float *restrict out = array(p, 2);
  PARALLEL for (int b = 0; b < n; b += 256) {
    float carry = 0;
    for (int i = b; i < b + 256; i += LANES) {
      floats v = scan_vector(load(x + i), carry);
      store(out + i, v);
      carry = v[LANES - 1];
    }
  }
}

/* Four tables for each thread, so that equal neighbours do not depend on each other. */
static void histogram(const problem *p) {
  const int n = integer(p, 0);
  const uint32_t *restrict x = array(p, 1);
  uint32_t *restrict bins = array(p, 2);
#pragma omp parallel
  {
    uint32_t counts[4][256] = {{0}};
#pragma omp for schedule(static)
    for (int i = 0; i < n; i += 4)
      for (int k = 0; k < 4; k++) counts[k][x[i + k] & 255]++;
#pragma omp critical
    for (int i = 0; i < 256; i++) bins[i] += counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
  }
}

/* 16 rows at a time, so that whole cache lines of `out` are written. */
static void transpose(const problem *p) {
  const int n = integer(p, 0);
  const float *restrict in = array(p, 1);
  float *restrict out = array(p, 2);
  PARALLEL for (int y = 0; y < n; y += 16) for (int x = 0; x < n; x += LANES) for (int k = 0; k < 16; k += LANES)
      transpose_tile(in + (size_t)(y + k) * n + x, out + (size_t)x * n + y + k, n);
}

static int clamp(int value, int high) { return value < 0 ? 0 : value > high ? high : value; }

static float conv2d_edge(const float *image, const float *filter, int width, int height, int x, int y) {
  float sum = 0;
  for (int j = -3; j <= 3; j++)
    for (int i = -3; i <= 3; i++)
      sum += image[(size_t)clamp(y + j, height - 1) * width + clamp(x + i, width - 1)] * filter[(j + 3) * 7 + i + 3];
  return sum;
}

/* Computes BAND rows and PIXELS columns of `out` at a time, in registers: each loaded vector of the image contributes
 * to up to BAND rows. rows[r] is the image's row r - 3, relative to the band's first, at its first column. */
enum {
#if defined __AVX512F__
  BAND = 1,
  PIXELS = 4 * LANES
#else
  BAND = 4,
  PIXELS = 2 * LANES
#endif
};

static inline void conv2d_tile(const float *const *rows, const float *filter, int x, int width, float *out) {
  floats sums[BAND][PIXELS / LANES] = {{{0}}};
#pragma GCC unroll 16
  for (int r = 0; r < BAND + 6; r++)
#if !defined __AVX512F__
#pragma GCC unroll 1 /* otherwise GCC reorders the additions, and makes more of them */
#endif
    for (int i = 0; i < 7; i++)
      for (int k = 0; k < PIXELS / LANES; k++) {
        floats pixels = BAND == 1 ? load(rows[r] + x + i - 3 + k * LANES) : load_once(rows[r] + x + i - 3 + k * LANES);
        for (int o = r < 7 ? 0 : r - 6; o < BAND && o <= r; o++) sums[o][k] += pixels * filter[(r - o) * 7 + i];
      }
  for (int o = 0; o < BAND; o++)
    for (int k = 0; k < PIXELS / LANES; k++) store(out + (size_t)o * width + x + k * LANES, sums[o][k]);
}

static void conv2d(const problem *p) {
  const int width = integer(p, 0), height = integer(p, 1);
  const float *restrict image = array(p, 2), *restrict filter = array(p, 3);
  float *restrict out = array(p, 4);
  PARALLEL for (int y = 0; y < height; y += BAND) {
    float *row = out + (size_t)y * width;
    const float *rows[BAND + 6];
    int x = 3;
    for (int r = 0; r < BAND + 6; r++) rows[r] = image + (size_t)clamp(y + r - 3, height - 1) * width;
    if (y + BAND <= height && width >= PIXELS + 6)
      for (; x < width - 3; x += PIXELS) {
        if (x > width - 3 - PIXELS) x = width - 3 - PIXELS; /* the last tile repeats some pixels */
        conv2d_tile(rows, filter, x, width, row);
      }
    for (int o = 0; o < BAND && y + o < height; o++, row += width) {
      for (int edge = 0; edge < 3; edge++) row[edge] = conv2d_edge(image, filter, width, height, edge, y + o);
      for (int edge = x; edge < width; edge++) row[edge] = conv2d_edge(image, filter, width, height, edge, y + o);
    }
  }
}

/* ROWS rows by two vectors of c in registers, with room for a row of the panel and a factor. */
enum { ROWS = REGISTERS == 32 ? 8 : 6, PANEL = 2 * LANES };

static inline __attribute__((always_inline)) void sgemm_tile(int rows, int n, const float *a, const float *panel,
                                                             float *c) {
  floats sums[ROWS][2] = {{{0}}};
  for (int k = 0; k < n; k++) {
    floats left = load(panel + (size_t)k * PANEL), right = load(panel + (size_t)k * PANEL + LANES);
    for (int i = 0; i < rows; i++) {
      float factor = a[(size_t)i * n + k];
      sums[i][0] += factor * left;
      sums[i][1] += factor * right;
    }
  }
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < 2; k++) store(c + (size_t)i * n + k * LANES, sums[i][k]);
}

/* b in panels of PANEL columns packed once. */
static void sgemm(const problem *p) {
  const int n = integer(p, 0), whole = 16 % ROWS == 0 ? n : n / ROWS * ROWS;
  const float *restrict a = array(p, 1), *restrict b = array(p, 2);
  float *restrict c = array(p, 3);
  PARALLEL for (int column = 0; column < n; column += PANEL) {
    float *panel = aligned_alloc(64, (size_t)n * PANEL * sizeof *panel);
    for (int k = 0; k < n; k++) memcpy(panel + (size_t)k * PANEL, b + (size_t)k * n + column, PANEL * sizeof *panel);
    for (int row = 0; row < whole; row += ROWS)
      sgemm_tile(ROWS, n, a + (size_t)row * n, panel, c + (size_t)row * n + column);
    if (16 % ROWS != 0)
      for (int row = whole; row < n; row++) sgemm_tile(1, n, a + (size_t)row * n, panel, c + (size_t)row * n + column);
    free(panel);
  }
}

static void nbody(const problem *p) {
  enum { MOST = 8192 };
  static float xs[MOST], ys[MOST], zs[MOST], masses[MOST];
  const int n = integer(p, 0);
  const float *restrict bodies = array(p, 1);
  float *restrict out = array(p, 2);
  for (int i = 0; i < n; i++) {
    xs[i] = bodies[4 * i], ys[i] = bodies[4 * i + 1], zs[i] = bodies[4 * i + 2], masses[i] = bodies[4 * i + 3];
  }
  PARALLEL for (int i = 0; i < n; i++) {
    const float x = xs[i], y = ys[i], z = zs[i];
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int j = 0; j < n; j++) {
      float dx = xs[j] - x, dy = ys[j] - y, dz = zs[j] - z;
      float r = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
      float s = masses[j] * r * r * r;
      ax += dx * s;
      ay += dy * s;
      az += dz * s;
    }
    memcpy(out + 4 * i, (float[4]){ax, ay, az, 0}, 16);
  }
}

static inline float cumulative(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228040143267794f * expf(-0.5f * d * d) * poly;
  return d > 0 ? 1.0f - tail : tail;
}

static void blackscholes(const problem *p) {
  const float rate = 0.02f, volatility = 0.30f;
  const int n = integer(p, 0);
  const float *restrict price = array(p, 1), *restrict strike = array(p, 2), *restrict years = array(p, 3);
  float *restrict call = array(p, 4), *restrict put = array(p, 5);
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; i++) {
    float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float c1 = cumulative(d1), c2 = cumulative(d2), discount = expf(-rate * t);
    call[i] = s * c1 - x * discount * c2;
    put[i] = x * discount * (1.0f - c2) - s * (1.0f - c1);
  }
}

/* One step for several vectors of pixels, whose dependency chains are independent. */
enum { VECTORS = 4 };
typedef struct points {
  floats x[VECTORS], y[VECTORS], cx[VECTORS];
  ints count[VECTORS], inside;
} points;

static inline void mandelbrot_step(points *p, float cy) {
  p->inside = (ints){0};
  for (int k = 0; k < VECTORS; k++) {
    floats xx = p->x[k] * p->x[k], yy = p->y[k] * p->y[k];
    ints here = less(xx + yy, (floats){0} + 4.0f);
    p->count[k] -= here;
    p->inside |= here;
    p->y[k] = 2 * p->x[k] * p->y[k] + cy;
    p->x[k] = xx - yy + p->cx[k];
  }
}

/* Tests only in every fourth step whether all are done. */
static void mandelbrot(const problem *p) {
  const int width = integer(p, 0), height = integer(p, 1), limit = integer(p, 2);
  int32_t *restrict out = array(p, 3);
#pragma omp parallel for schedule(dynamic, 8)
  for (int py = 0; py < height; py++) {
    const float cy = -1.5f + 3.0f * (float)py / (float)height;
    for (int px = 0; px < width; px += VECTORS * LANES) {
      points at = {.inside = ~(ints){0}};
      int step = 0;
      for (int k = 0; k < VECTORS; k++)
        for (int i = 0; i < LANES; i++) at.cx[k][i] = -2.0f + 3.0f * (float)(px + k * LANES + i) / (float)width;
      for (; step + 4 <= limit && any(at.inside); step += 4)
        for (int next = 0; next < 4; next++) mandelbrot_step(&at, cy);
      for (; step < limit && any(at.inside); step++) mandelbrot_step(&at, cy);
      memcpy(out + (size_t)py * width + px, at.count, sizeof at.count);
    }
  }
}

static void spmv(const problem *p) {
  const int rows = integer(p, 0);
  const int *restrict start = array(p, 1), *restrict column = array(p, 2);
  const float *restrict value = array(p, 3), *restrict x = array(p, 4);
  float *restrict y = array(p, 5);
  PARALLEL for (int row = 0; row < rows; row++) {
    float sum = 0;
    for (int k = start[row]; k < start[row + 1]; k++) {
      sum += value[k] * x[column[k]];
#if !defined __AVX512F__
      __asm__(""); /* prevents vectorisation: rows are too short for gathers, which are scalar loads */
#endif
    }
    y[row] = sum;
  }
}

static void bitonic(const problem *p) {
  const int n = integer(p, 0), distance = integer(p, 1), run = integer(p, 2);
  uint32_t *restrict data = array(p, 3);
  PARALLEL for (int first = 0; first < n; first += 2 * distance) {
    const uint32_t flip = (first & run) == 0 ? 0 : ~0u; /* sorting downwards: order the complements */
    uint32_t *restrict left = data + first, *restrict right = left + distance;
    SIMD for (int i = 0; i < distance; i++) {
      uint32_t a = left[i] ^ flip, b = right[i] ^ flip, low = a < b ? a : b, high = a < b ? b : a;
      left[i] = low ^ flip;
      right[i] = high ^ flip;
    }
  }
}

/* ---- mathematical functions, by libmvec ---- */

static void softmax(const problem *p) {
  const int columns = integer(p, 0), rows = (int)(p->arguments[1].bytes / 4 / (size_t)columns);
  PARALLEL for (int r = 0; r < rows; r++) {
    const float *restrict x = (const float *)array(p, 1) + (size_t)r * columns;
    float *restrict y = (float *)array(p, 2) + (size_t)r * columns;
    float largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest)
    for (int c = 0; c < columns; c++) largest = x[c] > largest ? x[c] : largest;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < columns; c++) sum += y[c] = expf(x[c] - largest);
    const float factor = 1 / sum;
    SIMD for (int c = 0; c < columns; c++) y[c] *= factor;
  }
}

static void gelu(const problem *p) {
  const int n = integer(p, 0);
  const float *restrict x = array(p, 1);
  float *restrict y = array(p, 2);
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; i++) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}

static void gelu_tanh(const problem *p) {
  const int n = integer(p, 0);
  const float *restrict x = array(p, 1);
  float *restrict y = array(p, 2);
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; i++)
    y[i] = 0.5f * x[i] * (1.0f + tanhf(0.79788456f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

static inline float chance(uint32_t i, uint32_t seed) {
  uint32_t h = i * 2654435761u + seed;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return (float)((h ^ h >> 16) >> 8) * (1.0f / 16777216.0f) + 0.5f / 16777216.0f;
}

/* Two vectors of paths at a time, which fit in registers. The cosine is a shifted sine: GCC merges the sine and cosine
 * of one angle into a call of sincos, which it does not vectorise. */
static void montecarlo(const problem *p) {
  enum { PATHS = 2 * LANES };
  const float rate = 0.02f, volatility = 0.30f, spot = 100;
  const int paths = integer(p, 0), steps = integer(p, 1);
  const float strike = p->arguments[2].number;
  float *restrict payoff = array(p, 3);
  const float time = 1.0f / (float)steps, drift = (rate - 0.5f * volatility * volatility) * time;
  const float spread = volatility * sqrtf(time);
  PARALLEL for (int first = 0; first < paths; first += PATHS) {
    float level[PATHS] = {0}, sum[PATHS] = {0};
    for (int step = 0; step < steps; step += 2) {
      SIMD for (int i = 0; i < PATHS; i++) {
        float radius = spread * sqrtf(-2 * logf(chance((uint32_t)(first + i), (uint32_t)step)));
        float angle = 6.2831853f * chance((uint32_t)(first + i), (uint32_t)step + 1);
        float middle = level[i] + drift + radius * sinf(angle + 1.57079633f),
              end = middle + drift + radius * sinf(angle);
        sum[i] += expf(middle) + expf(end);
        level[i] = end;
      }
    }
    SIMD for (int i = 0; i < PATHS; i++) {
      float gain = spot * sum[i] / (float)steps - strike;
      payoff[first + i] = expf(-rate) * powf(gain > 0 ? gain : 0, 1.1f);
    }
  }
}

static const struct {
  const char *name;
  void (*solve)(const problem *p);
} SOLVERS[] = {
    {"saxpy", saxpy},
    {"reduce", reduce},
    {"scan", scan},
    {"histogram", histogram},
    {"transpose", transpose},
    {"conv2d", conv2d},
    {"sgemm_naive", sgemm},
    {"sgemm_tiled", sgemm},
    {"nbody", nbody},
    {"blackscholes", blackscholes},
    {"mandelbrot", mandelbrot},
    {"spmv", spmv},
    {"bitonic", bitonic},
    {"softmax", softmax},
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"montecarlo", montecarlo},
};

typedef struct run {
  const problem *problem;
  void (*solve)(const problem *p);
} run;

static void run_once(void *context) {
  const run *r = context;
  r->solve(r->problem);
}

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++) {
    run r = {0};
    for (size_t k = 0; k < sizeof SOLVERS / sizeof *SOLVERS; k++)
      if (strcmp(SOLVERS[k].name, arguments[i]) == 0) r.solve = SOLVERS[k].solve;
    problem p;
    if (!r.solve || !problem_make(arguments[i], &p)) {
      fprintf(stderr, "native: no problem is called %s\n", arguments[i]);
      return 1;
    }
    r.problem = &p;
    problem_measure(&p, run_once, &r);
  }
  return 0;
}
