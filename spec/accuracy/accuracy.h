/* Declarations of the accuracy program: one row of its table per function. */
#ifndef ACCURACY_H
#define ACCURACY_H

#include <mpfr.h>
#include <stdbool.h>

/* The exact value of a function, rounded as asked to out's precision; the ternary value, as MPFR has it. */
typedef int reference(mpfr_t out, mpfr_t *x, mpfr_rnd_t rounding);

typedef enum rule {
  UNITS,   /* at most `bound` units in the last place */
  GROWS,   /* at most bound + floor(|extra x|) units */
  NEAR,    /* |error| at most `extra` for low <= x <= high, else `bound` units */
  WITHIN,  /* |error| at most `extra` for low <= x <= high; nothing is promised elsewhere */
  BEYOND,  /* `bound` units for |x| < 8, else |error| at most `extra` */
  ROUNDED, /* the one right value in the rounding mode `mode` */
} rule;

typedef struct function {
  const char *name;
  int arguments;
  bool is_double;
  rule rule;
  double bound, extra;
  double low, high; /* where a third of the arguments lie, evenly */
  reference *exact;
  mpfr_rnd_t mode;       /* of ROUNDED */
  double hole, hole_end; /* arguments between these are left out */
  bool any_zero;         /* a zero may have either sign: C leaves it open */
} function;

extern const function functions[];
extern const int function_count;

#endif
