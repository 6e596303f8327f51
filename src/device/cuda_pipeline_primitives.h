/* Asynchronous copies from global to shared memory by single threads (CUDA's pipeline primitives). They are synchronous
 * here. */
#ifndef _CUDA_PIPELINE_PRIMITIVES_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_

#include "moonwarp_device.h"

typedef unsigned long long __mbarrier_t;

#ifdef __MW_NVPTX__
typedef unsigned __mw_vector_of_16_bytes __attribute__((ext_vector_type(4), may_alias));
#endif

/* `bytes` is 4, 8 or 16, to which both addresses are aligned; the last `zeros` of them are not read, and become 0. */
__mw_device void __pipeline_memcpy_async(void *target, const void *source, size_t bytes, size_t zeros = 0) {
  __mw_report_async(1);
#ifdef __MW_NVPTX__
  if (zeros == 0 && bytes == 16)
    *(__mw_vector_of_16_bytes *)target = *(const __mw_vector_of_16_bytes *)source;
  else if (zeros == 0 && bytes == 8)
    *(unsigned long long *)target = *(const unsigned long long *)source;
  else if (zeros == 0 && bytes == 4)
    *(unsigned *)target = *(const unsigned *)source;
  else
#endif
    for (size_t i = 0; i < bytes; i++)
      ((unsigned char *)target)[i] = i < bytes - zeros ? ((const unsigned char *)source)[i] : 0;
  __mw_report_async(0);
}
/* The barrier is to wait for the thread's copies so far, which are done. */
__mw_device void __pipeline_arrive_on(__mbarrier_t *) {}
__mw_device void __pipeline_commit() { __mw_report_commit(); }
__mw_device void __pipeline_wait_prior(size_t prior) { __mw_report_wait(prior); }

#endif
