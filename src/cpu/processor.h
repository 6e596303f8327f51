/* The processor that runs kernels: what it is called, and which instruction sets it has. */
#ifndef MW_CPU_PROCESSOR_H
#define MW_CPU_PROCESSOR_H

#include "base/base.h"

extern const char processor_architecture[]; /* as a target triple begins, "x86_64" */

void processor_name(char *out, size_t size); /* "AMD EPYC 9B14" */
int processor_clock_khz(void);               /* the highest; 0 where unknown */
/* Bytes that so many of the processors find again in the last caches; a guess where unknown. */
uint64_t processor_cached(int processors);

/* The first of the features in `list` ("avx2,fma") that the processor lacks, copied to `out`; false if it has all. */
bool processor_lacks(const char *list, char *out, size_t size);

/* All features that it has, one behind the other: whether code for one machine runs on another. */
void processor_features(mw_text *out);

#endif
