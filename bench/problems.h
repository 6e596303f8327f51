/* The benchmark's problems, for the two peers: each kernel's arguments in order, its launch and its result.
 * problems.lua holds the same for moonwarp; the digests show that all solved the same problem. */
#ifndef BENCH_PROBLEMS_H
#define BENCH_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct argument {
  enum { ARGUMENT_INT, ARGUMENT_FLOAT, ARGUMENT_ARRAY } kind;
  int integer;
  float number;
  void *data; /* of an array, aligned to a page */
  size_t bytes;
} argument;

typedef struct problem {
  const char *name;
  argument arguments[6];
  int argument_count;
  int output;  /* which argument is the result */
  char digest; /* its elements: 'f' float, 'i' int, 'u' unsigned */
  size_t threads[2], block[2];
} problem;

/* Fill in problem `name`; false if there is none. */
bool problem_make(const char *name, problem *out);

/* The result's weighted sum and, as the scale for comparing, the sum of the magnitudes; 0 where there is no result. */
void problem_digest(const problem *p, double *sum, double *scale);

double now_ms(void);

/* Run once for the digest, once more to warm up, then at least 7 times; print "name median_ms sum scale". */
void problem_measure(const problem *p, void (*run)(void *context), void *context);

#endif
