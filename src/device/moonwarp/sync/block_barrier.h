/* cuda::barrier: a phase ends after a given number of arrivals, and threads that wait for it then continue. Not all
 * threads of a block need to participate, and arriving is separate from waiting. (libcu++)
 */
#ifndef MOONWARP_BLOCK_BARRIER_H
#define MOONWARP_BLOCK_BARRIER_H

#include "moonwarp/atomic/atomic_objects.h"
#include "moonwarp/sync/block_wait.h"
#include "moonwarp/sync/mbarrier.h"
#ifndef __MW_NVRTC__ /* std::move is built in there */
#include <utility>   /* tokens are moved */
#endif

namespace cuda {
namespace details {
struct nothing {
  __mw_member void operator()() const {}
};
} // namespace details

template <thread_scope Scope, typename Completion = details::nothing> class barrier {
public:
  class arrival_token {
    friend class barrier;
    unsigned int phase;
    __mw_member explicit arrival_token(unsigned int at) : phase(at) {}

  public:
    arrival_token() = default;
  };

  barrier() = default;
  __mw_member constexpr explicit barrier(ptrdiff_t count, Completion completion = Completion())
      : expected((unsigned int)count), pending((unsigned int)count), phase(0), complete(completion) {}
  barrier(const barrier &) = delete;
  barrier &operator=(const barrier &) = delete;

  __mw_member static constexpr ptrdiff_t max() { return (1 << 20) - 1; }

  __mw_member arrival_token arrive(ptrdiff_t count = 1) {
    arrival_token token(now());
    come((unsigned int)count);
    return token;
  }
  __mw_member void wait(arrival_token &&token) const { wait_behind(token.phase); }
  /* Phases are alternately even and odd. */
  __mw_member void wait_parity(bool odd) const { wait_while(1, odd); }
  __mw_member bool try_wait(arrival_token &&token) const { return try_while(~0u, token.phase); }
  __mw_member bool try_wait_parity(bool odd) const { return try_while(1, odd); }
  __mw_member void arrive_and_wait() { wait(arrive()); }
  /* The end of a phase is also that of the thread's copies so far. (async_copy.h) */
  __mw_member void track() const { __mw_report_track(&phase); }
  /* Arrive, and do not participate in later phases. */
  __mw_member void arrive_and_drop() {
    __atomic_fetch_sub(&expected, 1, __ATOMIC_RELAXED);
    come(1);
  }

private:
  /* Orders writes before an arrival becomes visible, and reads after another thread's arrival is seen. */
  __mw_member static void fence() {
    if (Scope == thread_scope_block || Scope == thread_scope_thread)
      __threadfence_block();
    else
      __threadfence();
  }
  __mw_member unsigned int now() const { return __atomic_load_n(&phase, __ATOMIC_RELAXED); }
  __mw_member void come(unsigned int count) {
    fence();
    if (__atomic_sub_fetch(&pending, count, __ATOMIC_RELAXED) != 0) return;
    fence();
    complete();
    __atomic_store_n(&pending, __atomic_load_n(&expected, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    fence();
    __atomic_fetch_add(&phase, 1, __ATOMIC_RELAXED);
  }
  /* Programs try in a loop: others have to run. */
  __mw_member bool try_while(unsigned int mask, unsigned int value) const {
    if ((now() & mask) == value) __mw_let_others_run();
    bool past = (now() & mask) != value;
    fence();
    return past;
  }
  __mw_member void wait_behind(unsigned int behind) const { wait_while(~0u, behind); }
  __mw_member void wait_while(unsigned int mask, unsigned int value) const {
    __mw_await_word(&phase, mask, value);
    fence();
  }

  unsigned int expected, pending, phase;
  [[no_unique_address]] Completion complete;
};

/* A block's barrier is a word, the hardware's where it can be, which counts bytes of copies as well. */
template <> class barrier<thread_scope_block, details::nothing> {
public:
  class arrival_token {
    friend class barrier;
    unsigned long long state;
    __mw_member explicit arrival_token(unsigned long long at) : state(at) {}

  public:
    arrival_token() = default;
    /* The token for the result of barrier_arrive_tx. */
    __mw_member static arrival_token of(unsigned long long at) { return arrival_token(at); }
  };

  barrier() = default;
  __mw_member explicit barrier(ptrdiff_t count, details::nothing = details::nothing()) {
    __mw_mbarrier_init(&word, (unsigned int)count);
  }
  barrier(const barrier &) = delete;
  barrier &operator=(const barrier &) = delete;

  __mw_member static constexpr ptrdiff_t max() { return (1 << 20) - 1; }

  __mw_member arrival_token arrive(ptrdiff_t count = 1) {
    return arrival_token(__mw_mbarrier_arrive(&word, (unsigned int)count));
  }
  __mw_member void wait(arrival_token &&token) const { __mw_mbarrier_wait(&word, token.state); }
  __mw_member void wait_parity(bool odd) const { __mw_mbarrier_wait_parity(&word, odd); }
  __mw_member bool try_wait(arrival_token &&token) const { return __mw_mbarrier_try(&word, token.state); }
  __mw_member bool try_wait_parity(bool odd) const { return __mw_mbarrier_try_parity(&word, odd); }
  __mw_member void arrive_and_wait() { wait(arrive()); }
  __mw_member void track() const { __mw_report_track(__mw_mbarrier_phase(&word)); }
  __mw_member void arrive_and_drop() { (void)__mw_mbarrier_drop(&word, 1); }
  __mw_member unsigned long long *native_handle() { return &word; }

private:
  unsigned long long word;
};

/* Arrivals and waits of a barrier of a block that counts the bytes of copies (transactions). */
namespace device {
using block_barrier = barrier<thread_scope_block>;
template <int = 0> __mw_device_template unsigned long long *barrier_native_handle(block_barrier &b) {
  return b.native_handle();
}
template <int = 0> __mw_device_template void barrier_expect_tx(block_barrier &b, ptrdiff_t bytes) {
  __mw_mbarrier_expect(b.native_handle(), (unsigned int)bytes);
}
template <int = 0>
__mw_device_template block_barrier::arrival_token barrier_arrive_tx(block_barrier &b, ptrdiff_t count,
                                                                    ptrdiff_t bytes) {
  __mw_mbarrier_expect(b.native_handle(), (unsigned int)bytes);
  return b.arrive(count);
}
} // namespace device

template <thread_scope Scope, typename Completion>
__mw_device_template void init(barrier<Scope, Completion> *made, ptrdiff_t count) {
  new (made) barrier<Scope, Completion>(count);
}

namespace std {
template <typename Completion = ::cuda::details::nothing>
using barrier = cuda::barrier<thread_scope_system, Completion>;
}

} // namespace cuda

#endif
