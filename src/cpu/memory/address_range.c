/* The address range of a device's memory. See address_range.h. */
#include "address_range.h"
#include "address_slot.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define RANGE_LEAST ((size_t)256 << 20)

static size_t read_number(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file) return SIZE_MAX;
  size_t number = SIZE_MAX;
  if (fscanf(file, "%zu", &number) != 1) number = SIZE_MAX; /* "max" */
  fclose(file);
  return number;
}

/* Memory of the machine or of the container, whichever is less. */
size_t cpu_machine_memory(void) {
  size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  for (size_t i = 0; i < MW_COUNT(limits); i++) {
    size_t limit = read_number(limits[i]);
    if (limit < bytes) bytes = limit;
  }
  return bytes;
}

/* Half of a limited address space at most: the host needs the other half. */
static size_t range_most(void) {
  struct rlimit limit;
  size_t most = CPU_RANGE_MOST;
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return most;
  while (most > limit.rlim_cur / 2) most /= 2;
  return most;
}

/* A slot next to other devices' ranges, or as much as the system grants anywhere. */
int cpu_range_reserve(uintptr_t *base, size_t *size, int *slot) {
  *slot = cpu_slot_take(base);
  *size = *slot < 0 ? range_most() : CPU_SLOT_SIZE;
  for (; *slot < 0 && *size >= RANGE_LEAST; *size /= 2) {
    void *range = mmap(NULL, *size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    *base = (uintptr_t)range;
    return MW_SUCCESS;
  }
  if (*slot >= 0) return MW_SUCCESS;
  return fail(MW_MEMORY_ALLOCATION,
              "the cpu device needs %zu MiB of address space for its memory, and the system grants less (ulimit -v)",
              RANGE_LEAST >> 20);
}

void cpu_range_release(uintptr_t base, size_t size, int slot) {
  if (slot >= 0)
    cpu_slot_give(slot);
  else
    munmap((void *)base, size); /* NOLINT */
}

_Static_assert(RANGE_LEAST / 8 >= 1u << MW_REACH_LEAST, "the least range has margins of the least reach");
