/* Adjacent address ranges of devices, for peer access: the store sandbox (src/mwcc/entry/store_sandbox.c) tests
 * against one range, and with peer access that range extends from the lowest to the highest of several slots.
 *
 * This is correct only while no host memory lies between slots. So the lowest free slot is taken first, and the address
 * space of a returned slot stays reserved and inaccessible for the next device. If the system does not grant slots (a
 * limited address space, sanitizers), heap.c reserves a range anywhere, and there is no peer access. */
#include "address_slot.h"

#include <sys/mman.h>
#include <sys/resource.h>

/* Above the addresses that sanitizers and non-PIE programs use, and below those where the system places mappings. */
#define FIRST ((uintptr_t)17 << 40)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static pthread_mutex_t lock = MW_LOCK_INITIALIZER;
static unsigned reserved, taken; /* sets of slots */

static uintptr_t base_of(int slot) { return FIRST + (uintptr_t)slot * CPU_SLOT_SIZE; }

static bool map(int slot, int flags) {
  void *wanted = (void *)base_of(slot); /* NOLINT */
  void *got = mmap(wanted, CPU_SLOT_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, CPU_SLOT_SIZE);
  return false;
}

static bool is_limited(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

int cpu_slot_take(uintptr_t *base) {
  int slot = 0;
  if (is_limited()) return -1;
  mw_lock(&lock);
  while (slot < CPU_SLOTS && taken >> slot & 1) slot++;
  if (slot == CPU_SLOTS || !(reserved >> slot & 1 || map(slot, MAP_FIXED_NOREPLACE))) {
    slot = -1;
  } else {
    reserved |= 1u << slot;
    taken |= 1u << slot;
    *base = base_of(slot);
  }
  mw_unlock(&lock);
  return slot;
}

void cpu_slot_give(int slot) {
  mw_lock(&lock);
  /* Replace the contents by a new reservation. If that fails, the slot stays taken. */
  if (map(slot, MAP_FIXED)) taken &= ~(1u << slot);
  mw_unlock(&lock);
}

bool cpu_slots_adjoin(int a, int b) {
  int low = a < b ? a : b, high = a < b ? b : a;
  if (low < 0) return false;
  mw_lock(&lock);
  unsigned between = (2u << high) - (1u << low);
  bool all = (reserved & between) == between;
  mw_unlock(&lock);
  return all;
}

void cpu_slots_span(unsigned slots, uint64_t *base, uint64_t *size) {
  int low = __builtin_ctz(slots), high = 31 - __builtin_clz(slots);
  *base = base_of(low);
  *size = (uint64_t)(high - low + 1) * CPU_SLOT_SIZE;
}
