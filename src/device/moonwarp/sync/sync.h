/* Barriers and memory fences. __syncthreads() itself is clang's built-in. */
#ifndef MOONWARP_SYNC_H
#define MOONWARP_SYNC_H

__mw_device void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }

#ifdef __MW_NVPTX__
#include "../../nvptx/sync.h"
#else

/* mwcc recognises these by name: the intrinsics of clang's built-ins for them change between releases. */
__mw_import int __mw_barrier_popc(int predicate) __asm("__mw_barrier.popc");
__mw_import int __mw_barrier_and(int predicate) __asm("__mw_barrier.and");
__mw_import int __mw_barrier_or(int predicate) __asm("__mw_barrier.or");
__mw_device int __syncthreads_count(int predicate) { return __mw_barrier_popc(predicate); }
__mw_device int __syncthreads_and(int predicate) { return __mw_barrier_and(predicate); }
__mw_device int __syncthreads_or(int predicate) { return __mw_barrier_or(predicate); }

/* Named barriers (PTX bar.sync, 0 to 15): `threads` of the block meet at `barrier`. */
__mw_device void __barrier_sync(unsigned int barrier) { __nvvm_barrier_sync(barrier); }
__mw_import void __mw_barrier_sync_count(unsigned int barrier, unsigned int threads);
__mw_device void __barrier_sync_count(unsigned int barrier, unsigned int threads) {
  __mw_barrier_sync_count(barrier, threads);
}

/* On the CPU device, a block's threads run on one host thread, so that for __threadfence_block an acquire-release fence
   suffices, which is cheap; wider fences are sequentially consistent. */
__mw_device void __threadfence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
__mw_device void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__mw_device void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif

#endif
