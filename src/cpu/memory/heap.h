/* Device memory: one address range, reserved when the device is opened, contains everything that a kernel may access:
 * arrays, module variables, shared memory and stacks. The rest of the range is inaccessible. */
#ifndef MW_CPU_HEAP_H
#define MW_CPU_HEAP_H

#include "cpu/cpu.h"

/* The range is as large as the system grants, up to 16 TiB. */
int cpu_heap_open(cpu_heap **out);
void cpu_heap_close(cpu_heap *heap);
/* Bytes at either end of the range that are never accessible. */
size_t cpu_heap_margin(const cpu_heap *heap);
/* The range that kernels may write to: the heap's own, extended by peers with access enabled. */
void cpu_heap_range(const cpu_heap *heap, uint64_t *base, uint64_t *size);
/* Whether peer access from the heap to the other is possible; enabling and disabling it. */
bool cpu_heap_adjoins(const cpu_heap *heap, const cpu_heap *other);
void cpu_heap_reach(cpu_heap *heap, const cpu_heap *other, bool on);
void cpu_heap_usage(cpu_heap *heap, mw_memory *out);
/* Limit the total size of allocations; 0: the machine's memory. */
void cpu_heap_limit(cpu_heap *heap, size_t bytes);

/* Make freed memory inaccessible to kernels. Called before blocks run; costs nothing if nothing was freed. */
void cpu_heap_settle(cpu_heap *heap);

/* The live allocation that contains `address`; false if there is none. */
bool cpu_heap_find(cpu_heap *heap, uint64_t address, uint64_t *base, size_t *bytes);

/* A counter that changes whenever an allocation is made or freed. */
uint64_t cpu_heap_changes(const cpu_heap *heap);
/* Whether the address lies in the part of the range for allocations, in use or not; not in a stack, in shared memory or
   outside. */
bool cpu_heap_is_for_arrays(const cpu_heap *heap, uint64_t address);

/* Describe `address` relative to the allocations around it: "4 bytes past the end of an array of 400 bytes", "which no
   array holds". Not in a signal handler. */
void cpu_heap_describe(cpu_heap *heap, uintptr_t address, char *out, size_t size);

/* Reserve address space for stacks and shared memory, far from the arrays: whole pages, inaccessible until the caller
   opens parts of it (mprotect). NULL if the range is exhausted. */
unsigned char *cpu_heap_reserve(cpu_heap *heap, size_t bytes);
void cpu_heap_unreserve(cpu_heap *heap, unsigned char *area);

#endif
