/* Vectors as wide as the registers of the machine for which the compiler generates code, and functions of the C peers
 * on them. */
#ifndef BENCH_VECTORS_H
#define BENCH_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined __AVX512F__
enum { LANES = 16, REGISTERS = 32 };
#elif defined __AVX2__
enum { LANES = 8, REGISTERS = 16 };
#elif defined __aarch64__
enum { LANES = 4, REGISTERS = 32 };
#else
enum { LANES = 4, REGISTERS = 16 };
#endif
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

static inline floats load(const float *p) {
  floats v;
  memcpy(&v, p, sizeof v);
  return v;
}
/* Load into a register: otherwise GCC makes each use of `load` a memory operand where an instruction can take one. */
static inline floats load_once(const float *p) {
  floats v = load(p);
#ifdef __x86_64__
  __asm__("" : "+x"(v));
#endif
  return v;
}
static inline void store(float *p, floats v) { memcpy(p, &v, sizeof v); }

static inline bool any(ints mask) {
  int32_t some = 0;
  for (int i = 0; i < LANES; i++) some |= mask[i];
  return some != 0;
}

/* a < b, also false for NaNs: -ffast-math would let the compiler test !(a >= b) instead, which is true for them. */
static inline ints less(floats a, floats b) {
#if defined __AVX2__ && !defined __AVX512F__
  return (ints)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ);
#elif defined __SSE2__ && !defined __AVX512F__
  return (ints)_mm_cmplt_ps((__m128)a, (__m128)b);
#else
  return a < b;
#endif
}

/* The lanes of v moved up by `by`, which is a constant; zeros come in. */
static inline floats lanes_up(floats v, int by) {
  ints from;
  for (int i = 0; i < LANES; i++) from[i] = i < by ? LANES : i - by;
  return __builtin_shuffle(v, (floats){0}, from);
}

/* One vector's prefix sums by shifted additions; `carry` is the sum so far. */
static inline floats scan_vector(floats v, float carry) {
  v += lanes_up(v, 1);
  v += lanes_up(v, 2);
  if (LANES > 4) v += lanes_up(v, 4);
  if (LANES > 8) v += lanes_up(v, 8);
  return v + carry;
}

#if defined __AVX512F__
/* 16 rows of 16 in registers: interleaving rows 8, 4, 2 and 1 apart, in four steps, transposes them. */
static inline void transpose_tile(const float *in, float *out, int n) {
  const ints low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
  const ints high = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  floats a[16], b[16];
  for (int i = 0; i < 16; i++) a[i] = load(in + (size_t)i * n);
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 8; i++) {
      b[2 * i] = __builtin_shuffle(a[i], a[i + 8], low);
      b[2 * i + 1] = __builtin_shuffle(a[i], a[i + 8], high);
    }
    memcpy(a, b, sizeof a);
  }
  for (int i = 0; i < 16; i++) store(out + (size_t)i * n, a[i]);
}
#else
/* Shuffles that stay within 128 bits are the cheap ones: rows four apart exchange halves first, which leaves squares of
 * 4 by 4 to transpose, one in each 128 bits. */
static inline void transpose_tile(const float *in, float *out, int n) {
  ints lower, upper; /* halves of two vectors */
  ints low, high;    /* of each four lanes of two vectors, the lower two or the upper two alternately */
  floats a[LANES], b[4];
  for (int i = 0; i < LANES; i++) {
    lower[i] = i % 4 + i / 4 * LANES;
    upper[i] = lower[i] + 4;
    low[i] = i / 4 * 4 + i % 4 / 2 + i % 2 * LANES;
    high[i] = low[i] + 2;
  }
  for (int i = 0; i < LANES; i++) a[i] = load(in + (size_t)i * n);
  for (int i = 0; i < LANES - 4; i++) {
    floats above = a[i], below = a[i + 4];
    a[i] = __builtin_shuffle(above, below, lower);
    a[i + 4] = __builtin_shuffle(above, below, upper);
  }
  for (int square = 0; square < LANES; square += 4) {
    for (int i = 0; i < 2; i++) {
      b[2 * i] = __builtin_shuffle(a[square + i], a[square + i + 2], low);
      b[2 * i + 1] = __builtin_shuffle(a[square + i], a[square + i + 2], high);
    }
    for (int i = 0; i < 2; i++) {
      store(out + (size_t)(square + 2 * i) * n, __builtin_shuffle(b[i], b[i + 2], low));
      store(out + (size_t)(square + 2 * i + 1) * n, __builtin_shuffle(b[i], b[i + 2], high));
    }
  }
}
#endif

#endif
