/* Waiting for a word in memory to change, while other threads of the block run.
 *
 * On the CPU device, a wait that all threads of a block reach is a barrier of the block. Otherwise the threads are
 * fibers, and a thread that waits yields to the others. A GPU's threads make progress independently. */
#ifndef MOONWARP_BLOCK_WAIT_H
#define MOONWARP_BLOCK_WAIT_H

#include "moonwarp_device.h"

#if defined __MW_NVRTC__ || defined __MW_NVPTX__
__mw_member void __mw_block_wait(const unsigned int *phase, unsigned int mask, unsigned int value) {
  while ((*(const volatile unsigned int *)phase & mask) == value) __mw_poll();
}
__mw_member void __mw_check_wait(bool) {}
#else
/* Wait until phase & mask has another value. If all threads of the block reach it together, it is a barrier of the block,
   after which the phase has ended, unless the barrier's count is another. */
__mw_import void __mw_block_wait(const unsigned int *phase, unsigned int mask, unsigned int value);
extern "C" __attribute__((host, device, noreturn)) void __assertfail(const char *message, const char *file,
                                                                     unsigned int line, const char *function,
                                                                     __SIZE_TYPE__ character_size);
__mw_device_template void __mw_check_wait(bool has_ended) {
  if (!has_ended)
    __assertfail("all threads of the block wait for a cuda::barrier that counts more of them", "cuda/barrier", 1,
                 "wait", 1);
}
#endif

#endif
