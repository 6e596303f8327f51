/* Transforms whose length has a large prime factor, by Bluestein's algorithm. FFTW has it too, but its planner, which
 * does not measure, makes transforms of 2025 numbers for one of 1009, and they take much longer than those of 2048. */
#ifndef CPU_CHIRP_H
#define CPU_CHIRP_H

#include "core/fourier/fourier.h"

typedef struct cpu_chirp cpu_chirp;

/* Whether lines of n numbers are transformed faster than by FFTW. */
bool cpu_chirp_suits(size_t n);
/* The tables for a kind of transform, which are kept; NULL if there is no memory or no plan. Given back by
   cpu_chirp_release, which takes NULL. */
cpu_chirp *cpu_chirp_for(mw_fourier_kind kind, bool is_double, size_t n);
void cpu_chirp_release(cpu_chirp *chirp);
/* The bytes of each of the two areas that a call needs, aligned to 64 bytes. */
size_t cpu_chirp_area(const cpu_chirp *chirp);
/* Transform a line. */
void cpu_chirp_run(const cpu_chirp *chirp, void *first_area, void *second_area, const void *from, void *to);

#endif
