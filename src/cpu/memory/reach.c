/* How far compiled code may trust a pointer.
 *
 * A store through a pointer of the device's plus an offset needs no test while the offset stays below the margins at both
 * ends of the device's range (src/mwcc/lower/store_sandbox.c). These are as wide as the range allows, which is small where
 * the host's address space is limited. And a null pointer is nobody's: what an offset leads to from there is the host's where
 * the host has memory at low addresses, as programs have that are not position independent. */
#include "cpu/memory/reach.h"

#include <inttypes.h>
#include <stdio.h>

static unsigned whole_bits(uint64_t number) { return number ? 63 - (unsigned)__builtin_clzll(number) : 0; }

/* Where the host's memory begins; 0 where nobody tells. The list is in the order of addresses. */
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
