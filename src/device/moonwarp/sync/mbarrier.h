/* Barriers in a word of 64 bits that count arrivals and bytes of copies (PTX mbarrier): a phase ends when as many
 * threads have arrived as are expected, and all bytes that were announced have been copied.
 *
 * In shared memory of a GPU of compute capability 8.0 the word is the hardware's. Elsewhere it consists of, from bit 0:
 * 20 bits, the arrivals that are still missing; 20, those of a phase; 21, the bytes that are missing, plus 2^20; 3, the
 * number of the phase. */
#ifndef MOONWARP_MBARRIER_H
#define MOONWARP_MBARRIER_H

#include "moonwarp_device.h"
#ifdef __MW_NVRTC__
#include "moonwarp/atomic/atomic_builtins.h"
#endif
#include "moonwarp/sync/block_wait.h"

typedef unsigned long long __mw_mbarrier;

#define __MW_MBARRIER_NO_BYTES (1ull << 60) /* the field of bytes when none is missing */

/* ---- the word of software ---- */

__mw_member unsigned int __mw_mbarrier_pending(__mw_mbarrier word) { return (unsigned int)word & 0xfffff; }
__mw_member unsigned int *__mw_mbarrier_phase(const __mw_mbarrier *at) { return (unsigned int *)at + 1; }
__mw_member void __mw_mbarrier_start(__mw_mbarrier *at, unsigned int count) {
  *at = count | (__mw_mbarrier)count << 20 | __MW_MBARRIER_NO_BYTES;
}
/* After a change of the word: if it ended the phase, begin the next one. */
__mw_member void __mw_mbarrier_settle(__mw_mbarrier *at, __mw_mbarrier now) {
  if ((now & 0xfffff) != 0 || (now & 0x1ffffful << 40) != __MW_MBARRIER_NO_BYTES) return;
  __atomic_store_n(at, (now | (now >> 20 & 0xfffff)) + (1ull << 61), __ATOMIC_RELAXED);
}
__mw_member __mw_mbarrier __mw_mbarrier_change(__mw_mbarrier *at, __mw_mbarrier by) {
  __threadfence_block();
  __mw_report_atomic(8); /* relaxed: the initialisation of the barrier comes before */
  __mw_mbarrier old = __atomic_fetch_add(at, by, __ATOMIC_RELAXED);
  __threadfence_block();
  __mw_mbarrier_settle(at, old + by);
  return old;
}
/* Loads of the whole word: as an atomic variable it is what arrivals change. */
__mw_member bool __mw_mbarrier_is_past(const __mw_mbarrier *at, unsigned int mask, unsigned int value) {
  bool past = ((unsigned int)(__atomic_load_n(at, __ATOMIC_RELAXED) >> 32) & mask) != value;
  __threadfence_block();
  return past;
}
__mw_member void __mw_mbarrier_await(const __mw_mbarrier *at, unsigned int mask, unsigned int value) {
  __mw_await_word(__mw_mbarrier_phase(at), mask, value);
  __atomic_load_n(at, __ATOMIC_RELAXED);
  __threadfence_block();
}

/* ---- the instructions ---- */

#if (defined __MW_NVRTC__ && __CUDA_ARCH__ >= 900) || defined __MW_NVPTX__
#define __MW_NATIVE_MBARRIER 1
#define __mw_mbarrier_at(at) ((unsigned int)__cvta_generic_to_shared(at))
__mw_member bool __mw_mbarrier_is_native(const void *at) {
#ifdef __MW_NVPTX__
  if (__nvvm_reflect("__CUDA_ARCH") < 900) return false;
#endif
  return __isShared(at);
}
#else
__mw_member bool __mw_mbarrier_is_native(const void *) { return false; }
#endif

__mw_device void __mw_mbarrier_init(__mw_mbarrier *at, unsigned int count) {
#ifdef __MW_NATIVE_MBARRIER
  if (__mw_mbarrier_is_native(at)) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(__mw_mbarrier_at(at)), "r"(count) : "memory");
    return;
  }
#endif
  __mw_mbarrier_start(at, count);
}
/* The state before: what wait and test take, to wait for the end of that phase. */
__mw_device __mw_mbarrier __mw_mbarrier_arrive(__mw_mbarrier *at, unsigned int count) {
#ifdef __MW_NATIVE_MBARRIER
  if (__mw_mbarrier_is_native(at)) {
    __mw_mbarrier state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(__mw_mbarrier_at(at)), "r"(count)
                 : "memory");
    return state;
  }
#endif
  return __mw_mbarrier_change(at, 0 - (__mw_mbarrier)count);
}
/* Arrive, and do not take part in later phases. */
__mw_device __mw_mbarrier __mw_mbarrier_drop(__mw_mbarrier *at, unsigned int count) {
#ifdef __MW_NATIVE_MBARRIER
  if (__mw_mbarrier_is_native(at)) {
    __mw_mbarrier state;
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(__mw_mbarrier_at(at)), "r"(count)
                 : "memory");
    return state;
  }
#endif
  return __mw_mbarrier_change(at, 0 - (((__mw_mbarrier)count << 20) + count));
}
/* Announce bytes. */
__mw_device void __mw_mbarrier_expect(__mw_mbarrier *at, unsigned int bytes) {
#ifdef __MW_NATIVE_MBARRIER
  if (__mw_mbarrier_is_native(at)) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(__mw_mbarrier_at(at)), "r"(bytes)
                 : "memory");
    return;
  }
#endif
  __atomic_fetch_add(at, (__mw_mbarrier)bytes << 40, __ATOMIC_RELAXED);
}
/* Bytes have arrived. On a GPU only copies report that. */
__mw_device void __mw_mbarrier_complete(__mw_mbarrier *at, unsigned int bytes) {
  __mw_mbarrier_change(at, 0 - ((__mw_mbarrier)bytes << 40));
}
__mw_device bool __mw_mbarrier_test(const __mw_mbarrier *at, __mw_mbarrier state) {
#ifdef __MW_NATIVE_MBARRIER
  if (__mw_mbarrier_is_native(at)) {
    unsigned int past;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(past)
                 : "r"(__mw_mbarrier_at(at)), "l"(state)
                 : "memory");
    return past;
  }
#endif
  return __mw_mbarrier_is_past(at, 7u << 29, (unsigned int)(state >> 32) & 7u << 29);
}
__mw_device bool __mw_mbarrier_test_parity(const __mw_mbarrier *at, unsigned int odd) {
#ifdef __MW_NATIVE_MBARRIER
  if (__mw_mbarrier_is_native(at)) {
    unsigned int past;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(past)
                 : "r"(__mw_mbarrier_at(at)), "r"(odd)
                 : "memory");
    return past;
  }
#endif
  return __mw_mbarrier_is_past(at, 1u << 29, (odd & 1) << 29);
}
/* The same, after other threads have run. */
__mw_device bool __mw_mbarrier_try(const __mw_mbarrier *at, __mw_mbarrier state) {
  if (__mw_mbarrier_test(at, state)) return true;
  __mw_let_others_run();
  return __mw_mbarrier_test(at, state);
}
__mw_device bool __mw_mbarrier_try_parity(const __mw_mbarrier *at, unsigned int odd) {
  if (__mw_mbarrier_test_parity(at, odd)) return true;
  __mw_let_others_run();
  return __mw_mbarrier_test_parity(at, odd);
}
__mw_device void __mw_mbarrier_wait(const __mw_mbarrier *at, __mw_mbarrier state) {
#ifdef __MW_NATIVE_MBARRIER
  while (__mw_mbarrier_is_native(at) && !__mw_mbarrier_test(at, state)) __mw_poll();
  if (__mw_mbarrier_is_native(at)) return;
#endif
  __mw_mbarrier_await(at, 7u << 29, (unsigned int)(state >> 32) & 7u << 29);
}
__mw_device void __mw_mbarrier_wait_parity(const __mw_mbarrier *at, unsigned int odd) {
#ifdef __MW_NATIVE_MBARRIER
  while (__mw_mbarrier_is_native(at) && !__mw_mbarrier_test_parity(at, odd)) __mw_poll();
  if (__mw_mbarrier_is_native(at)) return;
#endif
  __mw_mbarrier_await(at, 1u << 29, (odd & 1) << 29);
}
__mw_device unsigned int __mw_mbarrier_count(__mw_mbarrier state) {
#ifdef __MW_NATIVE_MBARRIER
  unsigned int count;
  asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  return count;
#else
  return __mw_mbarrier_pending(state);
#endif
}

#endif
