/* Barriers in a word by functions (CUDA C++ Programming Guide, "Asynchronous Barrier", primitives). */
#ifndef _CUDA_AWBARRIER_PRIMITIVES_H_
#define _CUDA_AWBARRIER_PRIMITIVES_H_

#include "moonwarp/sync/mbarrier.h"

typedef unsigned long long __mbarrier_t;
typedef unsigned long long __mbarrier_token_t;

__mw_device unsigned int __mbarrier_maximum_count() { return (1 << 20) - 1; }
__mw_device void __mbarrier_init(__mbarrier_t *barrier, unsigned int expected) {
  __mw_mbarrier_init(barrier, expected);
}
__mw_device void __mbarrier_inval(__mbarrier_t *) {}
__mw_device __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *barrier) { return __mw_mbarrier_arrive(barrier, 1); }
__mw_device __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *barrier) {
  return __mw_mbarrier_drop(barrier, 1);
}
__mw_device bool __mbarrier_test_wait(__mbarrier_t *barrier, __mbarrier_token_t token) {
  return __mw_mbarrier_try(barrier, token);
}
__mw_device bool __mbarrier_test_wait_parity(__mbarrier_t *barrier, bool odd) {
  return __mw_mbarrier_try_parity(barrier, odd);
}
__mw_device bool __mbarrier_try_wait(__mbarrier_t *barrier, __mbarrier_token_t token, unsigned int = 0) {
  return __mw_mbarrier_try(barrier, token);
}
__mw_device bool __mbarrier_try_wait_parity(__mbarrier_t *barrier, bool odd, unsigned int = 0) {
  return __mw_mbarrier_try_parity(barrier, odd);
}
__mw_device unsigned int __mbarrier_token_pending_count(__mbarrier_token_t token) { return __mw_mbarrier_count(token); }

#endif
