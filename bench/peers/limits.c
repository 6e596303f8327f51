/* The machine's limits, with which kernels are compared: prints "copy GB/s" (bytes read plus bytes written, between
 * arrays larger than the caches) and "multiply-add GFLOP/s" (two operations each, in float), with all of OpenMP's
 * threads, the best of several runs. With --arithmetic only the latter; with --memcpy N the speed of memcpy for N
 * bytes, in GB/s copied. */
#include "problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  RUNS = 15,
  CHAINS = 12, /* independent sums, to hide latency: with two constants they fit in 16 registers */
#if defined __AVX512F__
  BYTES = 64
#elif defined __AVX__
  BYTES = 32
#else
  BYTES = 16
#endif
};
typedef float floats __attribute__((vector_size(BYTES)));

/* With non-temporal stores if the processor has them: other stores first read the lines that they overwrite. */
static void copy(floats *restrict to, const floats *restrict from, size_t count, bool past_caches) {
#if defined __AVX512F__ || defined __AVX__ || defined __SSE__
  if (past_caches) {
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
#if defined __AVX512F__
      __builtin_ia32_movntps512((float *)(to + i), from[i]);
#elif defined __AVX__
      __builtin_ia32_movntps256((float *)(to + i), from[i]);
#else
      __builtin_ia32_movntps((float *)(to + i), from[i]);
#endif
    return;
  }
#endif
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < count; i++) to[i] = from[i];
}

static double copy_speed(void) {
  const size_t bytes = (size_t)256 << 20;
  floats *from = allocate(bytes), *to = allocate(bytes);
  double best = 0;
  for (int run = 0; run < 2 * RUNS; run++) {
    double start = now_ms();
    copy(to, from, bytes / sizeof *to, run % 2);
    double speed = 2 * (double)bytes / (now_ms() - start) * 1e-6;
    if (speed > best) best = speed;
  }
  free(from);
  free(to);
  return best;
}

static float multiply_add(long rounds, float factor) {
  floats sums[CHAINS], scale = (floats){0} + factor, step = (floats){0} + (1 - factor);
  for (int i = 0; i < CHAINS; i++) sums[i] = (floats){0} + (float)i;
  for (long round = 0; round < rounds; round++)
    for (int i = 0; i < CHAINS; i++) sums[i] = sums[i] * scale + step;
  for (int i = 1; i < CHAINS; i++) sums[0] += sums[i];
  return sums[0][0];
}

static double arithmetic_speed(void) {
  const long rounds = 2000000;
  double best = 0;
  for (int run = 0; run < RUNS; run++) {
    int threads = 0;
    float sum = 0;
    double start = now_ms();
#pragma omp parallel reduction(+ : sum, threads)
    {
      sum += multiply_add(rounds, 0.5f + (float)run * 0x1p-20f);
      threads++;
    }
    double time = now_ms() - start;
    if (sum == 42) printf("#\n"); /* keeps the compiler from deleting the sums */
    double speed = 2.0 * (double)rounds * CHAINS * (BYTES / 4) * threads / time * 1e-6;
    if (speed > best) best = speed;
  }
  return best;
}

static double memcpy_speed(size_t bytes) {
  unsigned char *from = allocate(bytes), *to = allocate(bytes);
  double best = 0;
  memset(from, 1, bytes);
  for (int run = 0; run < RUNS; run++) {
    double start = now_ms();
    memcpy(to, from, bytes);
    double speed = (double)bytes / (now_ms() - start) * 1e-6;
    if (to[bytes / 2] == 1 && speed > best) best = speed;
  }
  free(from);
  free(to);
  return best;
}

int main(int count, char **arguments) {
  if (count == 3 && strcmp(arguments[1], "--memcpy") == 0) {
    printf("%.3f\n", memcpy_speed((size_t)atoll(arguments[2])));
    return 0;
  }
  if (count < 2 || strcmp(arguments[1], "--arithmetic") != 0) printf("%.3f ", copy_speed());
  printf("%.3f\n", arithmetic_speed());
  return 0;
}
