/* Services that are implemented in files of their own, for the table in services.c. */
#ifndef MW_CPU_SERVICES_H
#define MW_CPU_SERVICES_H

#include "cpu/cpu.h"

/* device_malloc.c: the heap that kernels allocate from. */
typedef struct cpu_malloc cpu_malloc;
cpu_malloc *cpu_malloc_open(cpu_heap *heap);
void cpu_malloc_close(cpu_malloc *region);
/* Set the size of the region. MW_INVALID_VALUE while kernels hold memory of it. */
int cpu_malloc_limit(cpu_malloc *region, size_t bytes);
void *cpu_services_malloc(mw_worker *worker, uint64_t bytes);
void cpu_services_free(mw_worker *worker, void *memory);

/* bulk/bulk_copy.c: cp.async.bulk and tensor maps. */
void cpu_bulk_copy(mw_worker *worker, uint32_t call, uint64_t target, uint64_t source, uint64_t a, uint64_t b,
                   uint64_t c, uint64_t barrier);
/* check/initialised.c: for shadows of values. */
void cpu_check_shadow(mw_worker *worker, mw_shadow_operation what, uint64_t address, uint64_t bytes, void *memory);
/* bounds_check.c: before each access of code with memory checks. */
void cpu_check_access(mw_worker *worker, uint64_t object, uint64_t address, uint64_t bytes, uint64_t size,
                      const char *name, uint32_t is_store);
/* Before code with checks runs: fills worker->base.bounds. */
struct cpu_worker;
void cpu_bounds_find(struct cpu_worker *worker);

#endif
