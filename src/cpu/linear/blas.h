/* BLAS and LAPACK, found at run time: OpenBLAS, or the library that MOONWARP_BLAS names. */
#ifndef CPU_BLAS_H
#define CPU_BLAS_H

#include "core/linear/linear.h"
#include "cpu/cpu.h"

/* Routines by their Fortran interface, which is the same for the four types of elements: everything is passed by
   address, matrices are in column-major order, and the lengths of strings (one character each) are not read.
   (netlib.org/blas, netlib.org/lapack) */
typedef enum cpu_routine {
  CPU_GEMM,
  CPU_GEMV,
  CPU_GETRF,
  CPU_GESV,
  CPU_POTRF,
  CPU_GEQRF,
  CPU_ORGQR,
  CPU_SYEVD,
  CPU_GESDD,
  CPU_GEEV,
  CPU_ROUTINES
} cpu_routine;

typedef void cpu_routine_code(void);

/* The routine for elements of a letter (s d c z); NULL if the library has none. After cpu_blas_load. */
cpu_routine_code *cpu_blas_routine(cpu_routine routine, char letter);

/* Load the library, once a process. MW_NOT_SUPPORTED says what was looked for and what to install. */
int cpu_blas_load(void);
/* The same, and whether it has LAPACK's routines. */
int cpu_lapack_load(void);
/* Let the library use as many threads as the device, from now on. */
void cpu_blas_use_threads(const cpu_device *device);

/* The libraries' names, for mw_linear_library. */
int cpu_blas_name(void *device, mw_text *out);
int cpu_lapack_name(void *device, mw_text *out);
/* Lines for mw_doctor. */
void cpu_linear_report(mw_text *out);

/* product.c */
extern const mw_driver_linear cpu_linear;

/* factor.c: factor matrices first .. last - 1; the routines exist. */
void cpu_factor(const mw_factorisation *f, size_t first, size_t last);

#endif
