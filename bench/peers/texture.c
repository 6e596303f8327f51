/* The peer "C" of bench/texture.lua: bilinear fetches with a texture unit's arithmetic
 * (docs/build/texture_arithmetic.md), clamped to the edge, in optimised C: GCC's vector types, and gathers if the
 * machine has them.
 *   texture NAME...   measure; one line for each problem: name median_ms digest scale */
#include "problems.h"
#include "vectors.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 2048, WALKS = 1 << 18, STEPS = 32 };
typedef uint32_t bits32 __attribute__((vector_size(4 * LANES)));

#define PARALLEL _Pragma("omp parallel for schedule(static)")

static floats gather(const float *base, ints index) {
#if defined __AVX512F__
  return (floats)_mm512_i32gather_ps((__m512i)index, base, 4);
#elif defined __AVX2__
  return (floats)_mm256_i32gather_ps(base, (__m256i)index, 4);
#else
  floats v;
  for (int i = 0; i < LANES; i++) v[i] = base[index[i]];
  return v;
#endif
}

#if defined __AVX512F__
static ints least(ints a, ints b) { return (ints)_mm512_min_epi32((__m512i)a, (__m512i)b); }
static ints most(ints a, ints b) { return (ints)_mm512_max_epi32((__m512i)a, (__m512i)b); }
#elif defined __AVX2__
static ints least(ints a, ints b) { return (ints)_mm256_min_epi32((__m256i)a, (__m256i)b); }
static ints most(ints a, ints b) { return (ints)_mm256_max_epi32((__m256i)a, (__m256i)b); }
#else
static ints choose(ints condition, ints a, ints b) { return (condition & a) | (~condition & b); }
static ints least(ints a, ints b) { return choose(a < b, a, b); }
static ints most(ints a, ints b) { return choose(a > b, a, b); }
#endif

static floats whole(floats v) {
#if defined __AVX512F__
  return (floats)_mm512_floor_ps((__m512)v);
#elif defined __AVX2__
  return (floats)_mm256_floor_ps((__m256)v);
#else
  floats cut = __builtin_convertvector(__builtin_convertvector(v, ints), floats);
  return cut + __builtin_convertvector(cut > v, floats); /* true is -1 */
#endif
}

/* Two neighbouring texels on an axis, and the weight of the second. */
typedef struct axis {
  ints first, second;
  floats weight;
} axis;

static axis address(floats x) {
  ints fine = __builtin_convertvector(whole(x * 512), ints);
  ints at = least(most((fine >> 1) + (fine & 1) - 128, (ints){0}), (ints){0} + (SIZE - 1) * 256);
  ints first = at >> 8;
  return (axis){first, least(first + 1, (ints){0} + SIZE - 1), __builtin_convertvector(at & 255, floats) * 0x1p-8f};
}

static floats fetch(const float *restrict image, floats u, floats v) {
  axis x = address(u), y = address(v);
  ints low = y.first * SIZE, high = y.second * SIZE;
  floats both = whole(x.weight * y.weight * 256 + 0.5f) * 0x1p-8f, left_high = y.weight - both;
  return gather(image, low + x.first) * (1 - x.weight - left_high) + gather(image, low + x.second) * (x.weight - both) +
         gather(image, high + x.first) * left_high + gather(image, high + x.second) * both;
}

static const float *image;
static floats lane;

static void turn(const problem *p) {
  const float right = p->arguments[1].number, down = p->arguments[2].number;
  const float from_x = p->arguments[3].number, from_y = p->arguments[4].number;
  float *restrict out = p->arguments[5].data;
  PARALLEL for (int y = 0; y < SIZE; y++) for (int x = 0; x < SIZE; x += LANES) {
    floats at = lane + (float)x;
    floats v = fetch(image, from_x + right * at - down * (float)y, from_y + down * at + right * (float)y);
    memcpy(out + y * SIZE + x, &v, sizeof v);
  }
}

static void walk(const problem *p) {
  const float *restrict from_x = p->arguments[1].data, *restrict from_y = p->arguments[2].data;
  const uint32_t *restrict seeds = p->arguments[3].data;
  float *restrict out = p->arguments[4].data;
  PARALLEL for (int i = 0; i < WALKS; i += LANES) {
    floats u, v, sum = {0};
    bits32 state;
    memcpy(&u, from_x + i, sizeof u);
    memcpy(&v, from_y + i, sizeof v);
    memcpy(&state, seeds + i, sizeof state);
    for (int n = 0; n < STEPS; n++) {
      sum += fetch(image, u, v);
      state = state * 1664525u + 1013904223u;
      u += __builtin_convertvector((ints)(state >> 24), floats) * 0.0625f - 8;
      v += __builtin_convertvector((ints)(state >> 16 & 255), floats) * 0.0625f - 8;
    }
    memcpy(out + i, &sum, sizeof sum);
  }
}

static void make_turn(problem *p) {
  add_int(p, SIZE);
  add_float(p, 0.82f);
  add_float(p, 0.31f);
  add_float(p, 400.25f);
  add_float(p, -150.5f);
  add_output(p, 'f', allocate(SIZE * SIZE * sizeof(float)), SIZE * SIZE);
}

static void make_walk(problem *p) {
  add_int(p, STEPS);
  add_array(p, uniform(WALKS, 21, 0, SIZE), WALKS);
  add_array(p, uniform(WALKS, 22, 0, SIZE), WALKS);
  add_array(p, bits(WALKS, 23, 0), WALKS);
  add_output(p, 'f', allocate(WALKS * sizeof(float)), WALKS);
}

static const struct solver {
  const char *name;
  void (*make)(problem *p);
  void (*solve)(const problem *p);
} SOLVERS[] = {{"turn", make_turn, turn}, {"walk", make_walk, walk}};

typedef struct run {
  const problem *problem;
  const struct solver *by;
} run;

static void run_once(void *context) {
  const run *r = context;
  r->by->solve(r->problem);
}

int main(int count, char **arguments) {
  for (int i = 0; i < LANES; i++) lane[i] = (float)i;
  image = uniform((size_t)SIZE * SIZE, 20, -1, 1);
  for (int i = 1; i < count; i++)
    for (size_t k = 0; k < sizeof SOLVERS / sizeof *SOLVERS; k++) {
      if (strcmp(SOLVERS[k].name, arguments[i]) != 0) continue;
      problem p = {.name = SOLVERS[k].name};
      SOLVERS[k].make(&p);
      run r = {&p, &SOLVERS[k]};
      problem_measure(&p, run_once, &r);
    }
  return 0;
}
