#include "problems.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { RUNS = 9, PAGE = 4096, HUGE_PAGE = 2 << 20 };

static uint32_t hash(uint32_t i, uint32_t seed) {
  uint32_t h = i * 2654435761u + seed;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

/* In huge pages where it is large, as moonwarp's heap has it: what is compared are the kernels. */
static void *allocate(size_t bytes) {
  size_t page = bytes < HUGE_PAGE ? PAGE : HUGE_PAGE, size = (bytes + page - 1) / page * page;
  void *memory = aligned_alloc(page, size);
  if (!memory) {
    fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
    exit(1);
  }
  if (page == HUGE_PAGE) madvise(memory, size, MADV_HUGEPAGE);
  return memset(memory, 0, bytes);
}

static float *uniform(size_t n, uint32_t seed, float low, float high) {
  float *out = allocate(n * sizeof *out);
  for (size_t i = 0; i < n; i++)
    out[i] = low + (high - low) * ((float)(hash((uint32_t)i, seed) >> 8) * (1.0f / 16777216.0f));
  return out;
}

static uint32_t *bits(size_t n, uint32_t seed, int shift) {
  uint32_t *out = allocate(n * sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = hash((uint32_t)i, seed) >> shift;
  return out;
}

/* ---- building a problem argument by argument ---- */

static void add_int(problem *p, int value) {
  p->arguments[p->argument_count++] = (argument){.kind = ARGUMENT_INT, .integer = value};
}

static void add_float(problem *p, float value) {
  p->arguments[p->argument_count++] = (argument){.kind = ARGUMENT_FLOAT, .number = value};
}

static void add_array(problem *p, void *data, size_t count) {
  p->arguments[p->argument_count++] = (argument){.kind = ARGUMENT_ARRAY, .data = data, .bytes = count * 4};
}

static void add_output(problem *p, char digest, void *data, size_t count) {
  p->output = p->argument_count;
  p->digest = digest;
  add_array(p, data, count);
}

static void launch(problem *p, size_t threads_x, size_t threads_y, size_t block_x, size_t block_y) {
  p->threads[0] = threads_x, p->threads[1] = threads_y;
  p->block[0] = block_x, p->block[1] = block_y;
}

static void add_sparse_matrix(problem *p, int rows) {
  uint32_t *lengths = bits((size_t)rows, 7, 28);
  int *start = allocate(((size_t)rows + 1) * sizeof *start);
  for (int i = 0; i < rows; i++) start[i + 1] = start[i] + (int)lengths[i] + 1;
  free(lengths);
  size_t nonzeros = (size_t)start[rows];
  add_array(p, start, (size_t)rows + 1);
  add_array(p, bits(nonzeros, 8, 12), nonzeros);
  add_array(p, uniform(nonzeros, 9, 0, 1), nonzeros);
}

/* ---- the problems ---- */

enum { N = 1 << 24 };

static void make_saxpy(problem *p) {
  add_int(p, N), add_float(p, 2), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', uniform(N, 2, 0, 1), N);
  launch(p, N, 1, 256, 1);
}

static void make_reduce(problem *p) {
  add_int(p, N), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', allocate(1024 * 4), 1024);
  launch(p, 1024 * 256, 1, 256, 1);
}

static void make_scan(problem *p) {
  add_int(p, N), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', allocate(N * 4ul), N);
  launch(p, N, 1, 256, 1);
}

static void make_histogram(problem *p) {
  add_int(p, N), add_array(p, bits(N, 1, 0), N);
  add_output(p, 'u', allocate(256 * 4), 256);
  launch(p, 256 * 256, 1, 256, 1);
}

static void make_transpose(problem *p) {
  add_int(p, 4096), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', allocate(N * 4ul), N);
  launch(p, 4096, 4096, 16, 16);
}

static void make_conv2d(problem *p) {
  const size_t pixels = 2048 * 2048;
  add_int(p, 2048), add_int(p, 2048), add_array(p, uniform(pixels, 1, 0, 1), pixels);
  add_array(p, uniform(49, 2, 0, 1), 49);
  add_output(p, 'f', allocate(pixels * 4), pixels);
  launch(p, 2048, 2048, 16, 16);
}

static void make_sgemm(problem *p) {
  const size_t cells = 1024 * 1024;
  add_int(p, 1024), add_array(p, uniform(cells, 1, -1, 1), cells), add_array(p, uniform(cells, 2, -1, 1), cells);
  add_output(p, 'f', allocate(cells * 4), cells);
  launch(p, 1024, 1024, 16, 16);
}

static void make_nbody(problem *p) {
  const size_t numbers = 8192 * 4;
  add_int(p, 8192), add_array(p, uniform(numbers, 1, -1, 1), numbers);
  add_output(p, 'f', allocate(numbers * 4), numbers);
  launch(p, 8192, 1, 256, 1);
}

static void make_blackscholes(problem *p) {
  const size_t n = 1 << 22;
  add_int(p, (int)n), add_array(p, uniform(n, 1, 5, 30), n), add_array(p, uniform(n, 2, 1, 100), n);
  add_array(p, uniform(n, 3, 0.25f, 10), n);
  add_output(p, 'f', allocate(n * 4), n), add_array(p, allocate(n * 4), n);
  launch(p, n, 1, 256, 1);
}

static void make_mandelbrot(problem *p) {
  add_int(p, 2048), add_int(p, 2048), add_int(p, 256);
  add_output(p, 'i', allocate(2048 * 2048 * 4), 2048 * 2048);
  launch(p, 2048, 2048, 32, 8);
}

static void make_spmv(problem *p) {
  const size_t rows = 1 << 20;
  add_int(p, (int)rows), add_sparse_matrix(p, (int)rows), add_array(p, uniform(rows, 10, 0, 1), rows);
  add_output(p, 'f', allocate(rows * 4), rows);
  launch(p, rows, 1, 256, 1);
}

static void make_bitonic(problem *p) {
  add_int(p, N), add_int(p, 64), add_int(p, 1024), add_output(p, 'u', bits(N, 1, 0), N);
  launch(p, N, 1, 256, 1);
}

static void make_empty(problem *p) { launch(p, 32, 1, 32, 1); }

static const struct {
  const char *name;
  void (*make)(problem *p);
} MAKERS[] = {
    {"saxpy", make_saxpy},
    {"reduce", make_reduce},
    {"scan", make_scan},
    {"histogram", make_histogram},
    {"transpose", make_transpose},
    {"conv2d", make_conv2d},
    {"sgemm_naive", make_sgemm},
    {"sgemm_tiled", make_sgemm},
    {"nbody", make_nbody},
    {"blackscholes", make_blackscholes},
    {"mandelbrot", make_mandelbrot},
    {"spmv", make_spmv},
    {"bitonic", make_bitonic},
    {"empty", make_empty},
};

bool problem_make(const char *name, problem *out) {
  *out = (problem){.name = name};
  for (size_t i = 0; i < sizeof MAKERS / sizeof *MAKERS; i++) {
    if (strcmp(MAKERS[i].name, name) != 0) continue;
    MAKERS[i].make(out);
    return true;
  }
  return false;
}

void problem_digest(const problem *p, double *sum, double *scale) {
  const argument *result = &p->arguments[p->output];
  *sum = *scale = 0;
  for (size_t i = 0; i < result->bytes / 4; i++) {
    double value = p->digest == 'f'   ? (double)((float *)result->data)[i]
                   : p->digest == 'i' ? (double)((int *)result->data)[i]
                                      : (double)((uint32_t *)result->data)[i];
    value *= (double)(1 + i % 251);
    *sum += value;
    *scale += fabs(value);
  }
}

double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void problem_measure(const problem *p, void (*run)(void *context), void *context) {
  double sum, scale, times[RUNS];
  run(context);
  problem_digest(p, &sum, &scale);
  run(context);
  for (int i = 0; i < RUNS; i++) {
    double start = now_ms();
    run(context);
    times[i] = now_ms() - start;
  }
  qsort(times, RUNS, sizeof *times, by_size);
  printf("%s %.6f %.17g %.17g\n", p->name, times[RUNS / 2], sum, scale);
}
