/* The processor that runs kernels: its name and its instruction sets. */
#ifndef MW_CPU_PROCESSOR_H
#define MW_CPU_PROCESSOR_H

#include "base/base.h"

extern const char processor_architecture[]; /* the first part of the target triple, "x86_64" */

void processor_name(char *out, size_t size); /* "AMD EPYC 9B14" */
int processor_clock_khz(void);               /* the highest; 0 where unknown */
/* The bytes that so many processors can expect to retain in the last-level caches; a guess if unknown. */
uint64_t processor_cached(int processors);

/* The first of the features in `list` ("avx2,fma") that the processor lacks, copied to `out`; false if it has all. */
bool processor_lacks(const char *list, char *out, size_t size);

/* The highest level of instruction sets that the processor has all features of, as mwcc --mcpu names it; NULL: none. */
const char *processor_level(void);

/* All its features as a list: determines whether code for one machine runs on another. */
void processor_features(mw_text *out);

#endif
