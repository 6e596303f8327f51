/* Device memory: one address range, reserved when the device opens, in which everything lies that a kernel may touch:
 * arrays, module variables, shared memory and stacks. What is not allocated is inaccessible. */
#ifndef MW_CPU_HEAP_H
#define MW_CPU_HEAP_H

#include "cpu/cpu.h"

/* The range is as large as the system grants, up to 16 TiB. */
int cpu_heap_open(cpu_heap **out);
void cpu_heap_close(cpu_heap *heap);
/* Bytes at either end of the range that are never accessible. */
size_t cpu_heap_margin(const cpu_heap *heap);
/* What kernels may write to: the heap's own range, and those of others that it was let reach. */
void cpu_heap_range(const cpu_heap *heap, uint64_t *base, uint64_t *size);
/* Whether it can be let reach the other; letting it, and no more. */
bool cpu_heap_adjoins(const cpu_heap *heap, const cpu_heap *other);
void cpu_heap_reach(cpu_heap *heap, const cpu_heap *other, bool on);
void cpu_heap_usage(cpu_heap *heap, mw_memory *out);
/* The most that allocations may take together; 0: what the machine has. */
void cpu_heap_limit(cpu_heap *heap, size_t bytes);

/* Make what was freed inaccessible to kernels. Called before blocks run; costs nothing when nothing was freed. */
void cpu_heap_settle(cpu_heap *heap);

/* The live allocation that `address` lies in; false where there is none. */
bool cpu_heap_find(cpu_heap *heap, uint64_t address, uint64_t *base, size_t *bytes);

/* A number that is another one whenever allocations were made or freed. */
uint64_t cpu_heap_changes(const cpu_heap *heap);
/* Whether an address is of those that allocations get, in use or not: no stack's, no shared memory's, nobody else's. */
bool cpu_heap_is_for_arrays(const cpu_heap *heap, uint64_t address);

/* Say in `out` how `address` lies to the allocations around it: "4 bytes past the end of an array of 400 bytes",
   "which no array holds". Not in a signal handler. */
void cpu_heap_describe(cpu_heap *heap, uintptr_t address, char *out, size_t size);

/* Address space for stacks and shared memory, far from the arrays: whole pages, inaccessible until the caller opens
   parts of it (mprotect). NULL where the range is used up. */
unsigned char *cpu_heap_reserve(cpu_heap *heap, size_t bytes);
void cpu_heap_unreserve(cpu_heap *heap, unsigned char *area);

#endif
