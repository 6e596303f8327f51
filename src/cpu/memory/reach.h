/* The offsets within which compiled code may trust a device pointer, and a null pointer. */
#ifndef MW_CPU_REACH_H
#define MW_CPU_REACH_H

#include "mwo.h"

/* Offsets of less than 2^n bytes never lead to host memory; n for device pointers and for null. */
typedef struct cpu_reach {
  unsigned pointers, null;
} cpu_reach;

/* For margins of so many bytes, and the host's current mappings. */
cpu_reach cpu_reach_of(uint64_t margin);

#endif
