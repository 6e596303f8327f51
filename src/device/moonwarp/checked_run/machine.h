/* The GPU's registers and instructions for the functions of checked runs. */
#ifndef MOONWARP_FOLLOW_MACHINE_H
#define MOONWARP_FOLLOW_MACHINE_H

#include "moonwarp/checked_run/layout.h"
#include "moonwarp/guard.h"

#define __mw_follow_function template <int = 0> static __attribute__((device, noinline, nodebug))
#define __mw_follow_inline   static __attribute__((device, always_inline, nodebug)) inline
#define __mw_follow_quick    extern "C" __attribute__((device, always_inline, nodebug, used))
#define __mw_follow_called   extern "C" __attribute__((device, noinline, nodebug, used))

typedef unsigned int __mw_u32;
typedef unsigned long long __mw_u64;

/* mwcc defines it, for what the unit follows (mw_follow_uses). */
extern "C" __attribute__((device)) __mw_u32 __mw_guard_follow_uses();

static __attribute__((shared)) mw_follow_here __mw_follow_state;
static __attribute__((device)) mw_follow_page __mw_follow_no_page; /* for kernels outside of checked runs */

__mw_follow_inline mw_follow_here *__mw_here() { return &__mw_follow_state; }
__mw_follow_inline __mw_u32 __mw_follow_thread_id() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__mw_follow_inline __mw_u32 __mw_follow_block_id() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
__mw_follow_inline __mw_u32 __mw_follow_start() {
  __mw_u32 id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}
__mw_follow_inline void __mw_follow_meet() { asm volatile("barrier.sync 0;" : : : "memory"); }
__mw_follow_inline void __mw_follow_meet_at(__mw_u32 number, __mw_u32 count, bool waits) {
  if (!count) count = (blockDim.x * blockDim.y * blockDim.z + 31) / 32 * 32;
  if (waits)
    asm volatile("barrier.sync %0, %1;" : : "r"(number), "r"(count) : "memory");
  else
    asm volatile("barrier.arrive %0, %1;" : : "r"(number), "r"(count) : "memory");
}
__mw_follow_inline bool __mw_follow_is_cooperative() {
  __mw_u32 low, high;
  asm("mov.u32 %0, %%envreg1;" : "=r"(low));
  asm("mov.u32 %0, %%envreg2;" : "=r"(high));
  return low | high;
}
/* The block's barrier; returns for how many threads the predicate holds. Does not wait for threads that have returned.
 */
__mw_follow_inline __mw_u32 __mw_follow_meet_count(bool predicate) {
  __mw_u32 count;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; barrier.red.popc.u32 %0, 0, p; }"
               : "=r"(count)
               : "r"((__mw_u32)predicate)
               : "memory");
  return count;
}
__mw_follow_inline void __mw_follow_converge(__mw_u32 lanes) { __nvvm_bar_warp_sync(lanes); }
/* The lanes that the hardware runs together here: a warp function for these does not wait. */
__mw_follow_inline __mw_u32 __mw_follow_together() {
  __mw_u32 lanes;
  asm volatile("activemask.b32 %0;" : "=r"(lanes) : : "memory");
  return lanes;
}
/* Of those lanes: for which the predicate holds, and the value of lane `from`. */
__mw_follow_inline __mw_u32 __mw_follow_ballot(__mw_u32 lanes, bool predicate) {
  return __nvvm_vote_ballot_sync(lanes, predicate);
}
__mw_follow_inline __mw_u32 __mw_follow_from(__mw_u32 lanes, __mw_u32 value, __mw_u32 from) {
  return (__mw_u32)__nvvm_shfl_sync_idx_i32(lanes, (int)value, (int)from, 31);
}
__mw_follow_inline __mw_u64 __mw_xchg(__mw_u64 *at, __mw_u64 value) {
  __mw_u64 old;
  asm volatile("atom.exch.b64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(value) : "memory");
  return old;
}
__mw_follow_inline __mw_u64 __mw_cas64(__mw_u64 *at, __mw_u64 old, __mw_u64 value) {
  __mw_u64 found;
  asm volatile("atom.cas.b64 %0, [%1], %2, %3;" : "=l"(found) : "l"(at), "l"(old), "l"(value) : "memory");
  return found;
}
__mw_follow_inline __mw_u32 __mw_cas(__mw_u32 *at, __mw_u32 old, __mw_u32 value) {
  __mw_u32 found;
  asm volatile("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(found) : "l"(at), "r"(old), "r"(value) : "memory");
  return found;
}
__mw_follow_inline __mw_u32 __mw_add(__mw_u32 *at, __mw_u32 value) {
  __mw_u32 old;
  asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
__mw_follow_inline __mw_u32 __mw_or(__mw_u32 *at, __mw_u32 value) {
  __mw_u32 old;
  asm volatile("atom.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
__mw_follow_inline __mw_u32 __mw_and(__mw_u32 *at, __mw_u32 value) {
  __mw_u32 old;
  asm volatile("atom.and.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
/* The calling thread returns; how many of the block have, in one thread of those that return together, else 0. */
__mw_follow_inline __mw_u32 __mw_follow_leave() {
  __mw_u32 lanes, lane;
  asm volatile("activemask.b32 %0;" : "=r"(lanes));
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  if (lanes & ((1u << lane) - 1)) return 0;
  __mw_u32 count = (__mw_u32)__builtin_popcount(lanes);
  return __mw_add(&__mw_here()->gone, count) + count;
}
__mw_follow_inline void __mw_order() { asm volatile("membar.gl;" : : : "memory"); }
/* End the thread, and all of its grid when they poll. */
__mw_follow_inline void __mw_stop_grid() {
  __mw_u64 grid = __mw_grid_id();
  __mw_exchange(&__mw_guard_shared()->stops[grid % MW_GUARD_LAUNCHES], (__mw_u32)grid << 1);
  __mw_end_thread();
}
__mw_follow_inline void __mw_wait_a_little() { __mw_poll(); }
__mw_follow_inline bool __mw_follow_is_shared(const void *address) { return __isShared(address); }
__mw_follow_inline bool __mw_follow_is_global(const void *address) { return __isGlobal(address); }
/* In assembly: LLVM would fold the conversion for a function's copy of constant arguments, and not know it there. */
__mw_follow_inline __mw_u32 __mw_follow_offset(const void *address) {
  __mw_u64 offset;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(offset) : "l"(address));
  return (__mw_u32)offset;
}

#endif
