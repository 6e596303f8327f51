/* The address range of a device's memory: reserved whole when the device opens, without memory yet. */
#ifndef MW_CPU_ADDRESS_RANGE_H
#define MW_CPU_ADDRESS_RANGE_H

#include "heap.h"

#define CPU_RANGE_MOST ((size_t)4 << 40) /* bytes, without a slot */

/* Memory of the machine or of the container, whichever is less. */
size_t cpu_machine_memory(void);

/* *slot is address_slot.h's, or -1. MW_MEMORY_ALLOCATION if the system grants too few addresses. */
int cpu_range_reserve(uintptr_t *base, size_t *size, int *slot);
void cpu_range_release(uintptr_t base, size_t size, int slot);

#endif
