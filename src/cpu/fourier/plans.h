/* FFTW's functions, and plans: made without measuring, and kept. */
#ifndef CPU_FOURIER_PLANS_H
#define CPU_FOURIER_PLANS_H

#include "core/fourier/fourier.h"

typedef void cpu_execute(void *plan, void *from, void *to);

/* Why the library of a precision is missing; NULL if it is there. The other functions are called after this one. */
const char *cpu_fftw_problem(bool is_double);
const char *cpu_fftw_path(bool is_double);
/* The function that runs a plan of that kind. */
cpu_execute *cpu_fftw_function(mw_fourier_kind kind, bool is_double);
/* Plans run only at addresses of the alignment that they were made for. */
int cpu_fftw_alignment(bool is_double, void *address);

typedef struct cpu_plan_key {
  mw_fourier_kind kind;
  bool is_double;
  int from_alignment, to_alignment;
  size_t count, n, inner;    /* count transforms in a piece */
  size_t from_line, to_line; /* numbers from one to the next */
} cpu_plan_key;

typedef struct cpu_plan {
  struct cpu_plan *next; /* the one used before */
  cpu_plan_key key;
  void *plan;
  int users;
} cpu_plan;

/* A plan for a piece at these addresses; NULL if FFTW has none. Given back by cpu_plan_release, which takes NULL. */
cpu_plan *cpu_plan_for(const cpu_plan_key *key, void *from, void *to);
void cpu_plan_release(cpu_plan *plan);

#endif
