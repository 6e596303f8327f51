/* Functions that mwcc calls in instrumented GPU code (--stoppable, --check-memory). The source's last line includes
 * this file; src/mwcc/gpu/instrument.c inserts the calls. */
#ifndef MOONWARP_GUARD_CALLS_H
#define MOONWARP_GUARD_CALLS_H

#include "moonwarp/guard.h"

#define __mw_called extern "C" __attribute__((device, noinline, nodebug, used))

__mw_cold_function void __mw_report_begun(unsigned long long number) {
  if (!__mw_guard.words) return;
  volatile unsigned long long *begun = &((mw_guard_host *)__mw_guard.host)->begun[number % MW_GUARD_LAUNCHES].grid;
  begun[0] = __mw_grid_id();
  asm volatile("membar.sys;" : : : "memory");
  begun[1] = number;
}

/* Inlined at the start of every kernel, with the host's number of the launch. */
extern "C" __attribute__((device, nodebug, used)) void __mw_guard_begin(unsigned long long number) {
  if ((blockIdx.x | blockIdx.y | blockIdx.z | threadIdx.x | threadIdx.y | threadIdx.z) == 0) __mw_report_begun(number);
}

/* The poll in loops. */
__mw_called void __mw_guard_poll() { __mw_poll(); }

__mw_called void __mw_guard_trap(const char *file, unsigned int line) { __mw_fail_trap(file, line, 0); }

/* ---- memory ---- */

struct __mw_extent {
  unsigned long long base, bytes;
};

/* The table's extent that contains the address. */
__mw_device bool __mw_find(unsigned long long address, __mw_extent *found) {
  const mw_guard_table *table = (const mw_guard_table *)__mw_guard.table;
  unsigned long long low = 0, high = table ? table->count : 0;
  while (low < high) {
    unsigned long long middle = (low + high) / 2;
    if (table->extents[middle].base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return false;
  found->base = table->extents[low - 1].base;
  found->bytes = table->extents[low - 1].bytes;
  return address - found->base < found->bytes;
}

__mw_device bool __mw_is_given(unsigned long long address) {
  volatile mw_guard_words *words = __mw_guard_shared();
  return address >= words->heap_first && address <= words->heap_last;
}

/* The extent of the array that a pointer points into: everything if it does not point to global memory, nothing if
   there is no such array. */
__mw_called __mw_extent __mw_guard_extent(const void *pointer) {
  __mw_extent found = {0, ~0ull};
  unsigned long long address = (unsigned long long)pointer;
  if (!__mw_guard.words || !__isGlobal(pointer)) return found;
  if (__mw_find(address, &found)) return found;
  found.base = found.bytes = 0;
  return found;
}

/* An access outside of its extent: returns if it lies in an array nevertheless. */
__mw_called void __mw_guard_refuse(const void *object, const void *address, unsigned long long bytes,
                                   unsigned int alignment, const char *name, const char *file, unsigned int line,
                                   unsigned int is_store) {
  unsigned long long from = (unsigned long long)object, at = (unsigned long long)address;
  __mw_failure what = {MW_GUARD_OUTSIDE, name, file, 0, line, is_store, from, at, bytes};
  __mw_extent found;
  bool inside;
  if (bytes == 0) return;
  if (__mw_find(from, &found)) {
    inside = at - found.base <= found.bytes && at - found.base + bytes <= found.bytes;
    what.size = found.base + found.bytes - from;
  } else {
    inside = __mw_find(at, &found) ? at - found.base + bytes <= found.bytes : !__isGlobal(address) || __mw_is_given(at);
    what.kind = MW_GUARD_NOWHERE;
  }
  if (inside && !(at & (alignment - 1))) return;
  if (inside) what.kind = MW_GUARD_MISALIGNED;
  __mw_fail(what);
}

/* An access outside of a variable, shared memory or a local array, at `distance` from its start. */
__mw_called __attribute__((noreturn)) void __mw_guard_refuse_known(unsigned long long distance,
                                                                   unsigned long long bytes, unsigned long long size,
                                                                   const char *name, const char *file,
                                                                   unsigned int line, unsigned int is_store) {
  __mw_failure what = {MW_GUARD_OUTSIDE, name, file, 0, line, is_store, 0, distance, bytes, size};
  if (distance <= size && distance + bytes <= size) what.kind = MW_GUARD_MISALIGNED;
  __mw_fail(what);
}

/* Record an allocation of malloc in a kernel, which is not in the table. */
__mw_called void __mw_guard_given(const void *pointer, unsigned long long bytes) {
  if (!__mw_guard.words || !pointer) return;
  unsigned long long first = (unsigned long long)pointer, last = first + bytes;
  mw_guard_words *words = __mw_guard_shared();
  asm volatile("red.min.u64 [%0], %1;" : : "l"(&words->heap_first), "l"(first) : "memory");
  asm volatile("red.max.u64 [%0], %1;" : : "l"(&words->heap_last), "l"(last) : "memory");
}

#endif
