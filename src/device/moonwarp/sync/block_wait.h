/* Waiting for a word in memory to have another value of its bits in a mask, while other threads of the block run.
 *
 * On the CPU device, a wait that all threads of a block reach is a barrier of the block. Otherwise the threads are
 * fibers, and a thread that waits yields to the others. A GPU's threads make progress independently. */
#ifndef MOONWARP_BLOCK_WAIT_H
#define MOONWARP_BLOCK_WAIT_H

#include "moonwarp_device.h"

#if defined __MW_NVRTC__ || defined __MW_NVPTX__
__mw_member void __mw_await_word(const unsigned int *word, unsigned int mask, unsigned int value) {
  while ((*(const volatile unsigned int *)word & mask) == value) __mw_poll();
}
__mw_member void __mw_let_others_run() { __mw_poll(); }
#else
/* If all threads of the block reach it together, it is a barrier of the block, after which the word has changed, unless
   other blocks of the cluster are to change it. */
__mw_import void __mw_block_wait(const unsigned int *word, unsigned int mask, unsigned int value);
__mw_import void __mw_wait_outside(const unsigned int *word, unsigned int mask, unsigned int value);
/* On fibers: the threads that wait for a word that is not there run after all others. */
__mw_import void __mw_wait_word(const unsigned int *word, unsigned int mask, unsigned int value);
__mw_member void __mw_await_word(const unsigned int *word, unsigned int mask, unsigned int value) {
  __mw_block_wait(word, mask, value);
  if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) == value) __mw_wait_outside(word, mask, value);
}
__mw_member void __mw_let_others_run() { __mw_wait_word(nullptr, 0, 0); }
#endif

#endif
