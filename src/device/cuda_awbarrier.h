/* nvcuda::experimental::awbarrier, the barrier before cuda::barrier, and its primitives. */
#ifndef _CUDA_AWBARRIER_H_
#define _CUDA_AWBARRIER_H_

#include "cuda_awbarrier_primitives.h"

namespace nvcuda {
namespace experimental {

class awbarrier {
public:
  class arrival_token {
  public:
    arrival_token() = default;
    __mw_member unsigned int pending_count() const { return __mw_mbarrier_count(state); }

  private:
    friend class awbarrier;
    __mw_member explicit arrival_token(unsigned long long at) : state(at) {}
    unsigned long long state;
  };
  awbarrier() = default;
  awbarrier(const awbarrier &) = delete;
  awbarrier &operator=(const awbarrier &) = delete;
  __mw_member arrival_token arrive() { return arrival_token(__mw_mbarrier_arrive(&word, 1)); }
  __mw_member arrival_token arrive_and_drop() { return arrival_token(__mw_mbarrier_drop(&word, 1)); }
  __mw_member bool timed_wait(arrival_token token, unsigned int = ~0u) { return __mw_mbarrier_try(&word, token.state); }
  __mw_member bool timed_wait_parity(bool odd, unsigned int = ~0u) { return __mw_mbarrier_try_parity(&word, odd); }
  __mw_member void wait(arrival_token token) { __mw_mbarrier_wait(&word, token.state); }
  __mw_member void arrive_and_wait() { wait(arrive()); }
  __mw_member bool try_wait(arrival_token token, unsigned int = 0) { return __mw_mbarrier_try(&word, token.state); }
  __mw_member static constexpr unsigned int max() { return (1 << 20) - 1; }
  __mw_member unsigned long long *native() { return &word; }

private:
  unsigned long long word;
};

__mw_device_template void init(awbarrier *made, unsigned int expected) { __mw_mbarrier_init(made->native(), expected); }

} // namespace experimental
} // namespace nvcuda

#endif
