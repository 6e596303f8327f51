/* The offsets within which compiled code may trust a pointer.
 *
 * A store through a device pointer plus an offset needs no test if the offset is smaller than the margins at both ends
 * of the device's range (src/mwcc/entry/store_sandbox.c). The margins grow with the range, which is small if the host's
 * address space is limited. An offset from a null pointer leads to host memory if the host has memory at low addresses,
 * as programs have that are not position independent. */
#include "cpu/memory/reach.h"

#include <inttypes.h>
#include <stdio.h>

static unsigned whole_bits(uint64_t number) { return number ? 63 - (unsigned)__builtin_clzll(number) : 0; }

/* The lowest address of the host's memory; 0 if unknown. The list is sorted by address. */
static uint64_t lowest_mapping(void) {
  uint64_t lowest = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return 0;
  if (fscanf(maps, "%" SCNx64, &lowest) != 1) lowest = 0;
  fclose(maps);
  return lowest;
}

cpu_reach cpu_reach_of(uint64_t margin) {
  cpu_reach reach = {whole_bits(margin), whole_bits(lowest_mapping())};
  if (reach.pointers > MW_REACH_MOST) reach.pointers = MW_REACH_MOST;
  if (reach.null > reach.pointers) reach.null = reach.pointers;
  return reach;
}
