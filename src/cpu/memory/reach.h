/* How far compiled code may trust a pointer of the device's, and a null pointer. */
#ifndef MW_CPU_REACH_H
#define MW_CPU_REACH_H

#include "mwo.h"

/* Offsets of less than 2^n bytes lead to nothing of the host's. */
typedef struct cpu_reach {
  unsigned pointers, null;
} cpu_reach;

/* With margins of so many bytes, and the host as it is now. */
cpu_reach cpu_reach_of(uint64_t margin);

#endif
