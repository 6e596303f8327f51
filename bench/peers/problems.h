/* The benchmark's problems, for the two peers: each kernel's arguments in order, its launch and its result.
 * problems.lua holds the same for moonwarp; the digests show that all solved the same problem. */
#ifndef BENCH_PROBLEMS_H
#define BENCH_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct argument {
  enum { ARGUMENT_INT, ARGUMENT_FLOAT, ARGUMENT_ARRAY } kind;
  int integer;
  float number;
  void *data; /* of an array, aligned to a page */
  size_t bytes;
} argument;

typedef struct problem {
  const char *name;
  argument arguments[8];
  int argument_count;
  int output;  /* which argument is the result */
  char digest; /* its elements: 'f' float, 'i' int, 'u' unsigned */
  size_t threads[3], block[3];
} problem;

typedef struct maker {
  const char *name; /* NULL: the list's end */
  void (*make)(problem *p);
} maker;

extern const maker classics[], fields[], functions[];

/* ---- for makers ---- */

/* `bytes` of zeros, and arrays of n numbers made from their index; data.cu makes the same. They are never freed. */
void *allocate(size_t bytes);
float *uniform(size_t n, uint32_t seed, float low, float high);
uint32_t *bits(size_t n, uint32_t seed, int shift);
/* The kernel's arguments, in order. An array's `count` is of 4-byte elements. */
void add_int(problem *p, int value);
void add_float(problem *p, float value);
void add_array(problem *p, void *data, size_t count);
void add_output(problem *p, char digest, void *data, size_t count);
void launch(problem *p, size_t threads_x, size_t threads_y, size_t block_x, size_t block_y);
/* Rows of 1 to 16 elements: the start of each and the end of the last, as an argument. Returns the number of
 * elements. */
size_t add_row_starts(problem *p, size_t rows);

/* ---- for peers ---- */

/* Fill in problem `name`; false if there is none. */
bool problem_make(const char *name, problem *out);

/* The result's weighted sum and, as the scale for comparing, the sum of the magnitudes; 0 if there is no result. */
void problem_digest(const problem *p, double *sum, double *scale);

double now_ms(void);

/* Run once for the digest, once more to warm up, then at least 7 times; print "name median_ms sum scale". */
void problem_measure(const problem *p, void (*run)(void *context), void *context);

#endif
