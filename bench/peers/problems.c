/* Building problems argument by argument, digests of results, and measuring a peer. */
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

/* In huge pages if it is large, as moonwarp's heap does, so that only the kernels are compared. */
void *allocate(size_t bytes) {
  size_t page = bytes < HUGE_PAGE ? PAGE : HUGE_PAGE, size = (bytes + page - 1) / page * page;
  void *memory = aligned_alloc(page, size);
  if (!memory) {
    fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
    exit(1);
  }
  if (page == HUGE_PAGE) madvise(memory, size, MADV_HUGEPAGE);
  return memset(memory, 0, bytes);
}

float *uniform(size_t n, uint32_t seed, float low, float high) {
  float *out = allocate(n * sizeof *out);
  for (size_t i = 0; i < n; i++)
    out[i] = low + (high - low) * ((float)(hash((uint32_t)i, seed) >> 8) * (1.0f / 16777216.0f));
  return out;
}

uint32_t *bits(size_t n, uint32_t seed, int shift) {
  uint32_t *out = allocate(n * sizeof *out);
  for (size_t i = 0; i < n; i++) out[i] = hash((uint32_t)i, seed) >> shift;
  return out;
}

/* ---- building a problem argument by argument ---- */

void add_int(problem *p, int value) {
  p->arguments[p->argument_count++] = (argument){.kind = ARGUMENT_INT, .integer = value};
}

void add_float(problem *p, float value) {
  p->arguments[p->argument_count++] = (argument){.kind = ARGUMENT_FLOAT, .number = value};
}

void add_array(problem *p, void *data, size_t count) {
  p->arguments[p->argument_count++] = (argument){.kind = ARGUMENT_ARRAY, .data = data, .bytes = count * 4};
}

void add_output(problem *p, char digest, void *data, size_t count) {
  p->output = p->argument_count;
  p->digest = digest;
  add_array(p, data, count);
}

void launch(problem *p, size_t threads_x, size_t threads_y, size_t block_x, size_t block_y) {
  memcpy(p->threads, (size_t[3]){threads_x, threads_y, 1}, sizeof p->threads);
  memcpy(p->block, (size_t[3]){block_x, block_y, 1}, sizeof p->block);
}

size_t add_row_starts(problem *p, size_t rows) {
  uint32_t *lengths = bits(rows, 7, 28);
  int *start = allocate((rows + 1) * sizeof *start);
  for (size_t i = 0; i < rows; i++) start[i + 1] = start[i] + (int)lengths[i] + 1;
  add_array(p, start, rows + 1);
  return (size_t)start[rows];
}

/* ---- finding, checking, measuring ---- */

bool problem_make(const char *name, problem *out) {
  const maker *lists[] = {classics, fields, functions};
  *out = (problem){.name = name};
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
    for (const maker *m = lists[l]; m->name; m++) {
      if (strcmp(m->name, name) != 0) continue;
      m->make(out);
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
