/* Functions for PTX mbarrier instructions (src/mwcc/ptx/async.c), included as ptx_functions.h is, in sources that name them. */
#ifndef MOONWARP_PTX_MBARRIER_H
#define MOONWARP_PTX_MBARRIER_H

#include "moonwarp/sync/mbarrier.h"

#define __mw_ptx(name, type, parameters, expression)                                                                   \
  extern "C" __attribute__((device, nodebug)) type __mw_ptx_##name parameters { return expression; }
typedef __mw_mbarrier __mw_m;
__mw_ptx(mbarrier_init, void, (__mw_m * at, unsigned int count), __mw_mbarrier_init(at, count));
__mw_ptx(mbarrier_arrive, __mw_m, (__mw_m * at, unsigned int count), __mw_mbarrier_arrive(at, count));
__mw_ptx(mbarrier_arrive_drop, __mw_m, (__mw_m * at, unsigned int count), __mw_mbarrier_drop(at, count));
__mw_ptx(mbarrier_expect_tx, void, (__mw_m * at, unsigned int bytes), __mw_mbarrier_expect(at, bytes));
__mw_ptx(mbarrier_complete_tx, void, (__mw_m * at, unsigned int bytes), __mw_mbarrier_complete(at, bytes));
/* Programs test in a loop, so that other threads have to run here as well. */
__mw_ptx(mbarrier_test_wait, bool, (__mw_m * at, __mw_m state), __mw_mbarrier_try(at, state));
__mw_ptx(mbarrier_test_wait_parity, bool, (__mw_m * at, unsigned int odd), __mw_mbarrier_try_parity(at, odd));
__mw_ptx(mbarrier_try_wait, bool, (__mw_m * at, __mw_m state), __mw_mbarrier_try(at, state));
__mw_ptx(mbarrier_try_wait_parity, bool, (__mw_m * at, unsigned int odd), __mw_mbarrier_try_parity(at, odd));
__mw_ptx(mbarrier_await, void, (__mw_m * at, __mw_m state), __mw_mbarrier_wait(at, state));
__mw_ptx(mbarrier_await_parity, void, (__mw_m * at, unsigned int odd), __mw_mbarrier_wait_parity(at, odd));
__mw_ptx(mbarrier_pending_count, unsigned int, (__mw_m state), __mw_mbarrier_count(state));
#undef __mw_ptx

#endif
