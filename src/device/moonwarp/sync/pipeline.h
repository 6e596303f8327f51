/* cuda::pipeline: stages that producers fill and consumers read. (libcu++)
 *
 * Copies are synchronous, so a thread's own pipeline never waits. In a pipeline of a block, a consumer waits until all
 * producers have committed the stage, and a producer until all consumers have released it: at the block's barrier if
 * every thread is both, otherwise at two barriers of the stage. */
#ifndef MOONWARP_PIPELINE_H
#define MOONWARP_PIPELINE_H

#include "moonwarp/sync/async_copy.h"
#include "moonwarp/sync/block_barrier.h"

namespace cuda {

enum class pipeline_role { producer, consumer };

template <thread_scope Scope, unsigned char Stages> class pipeline_shared_state {
public:
  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state &) = delete;
  pipeline_shared_state &operator=(const pipeline_shared_state &) = delete;
  barrier<Scope> filled[Stages], emptied[Stages];
};

namespace details {
template <thread_scope Scope> struct pipeline_maker;
}

template <thread_scope Scope> class pipeline {
  enum kind { OWN, UNIFIED, PRODUCER, CONSUMER };

public:
  __mw_member pipeline() : what(OWN), stages(1), filled(nullptr), emptied(nullptr) {}
  pipeline(pipeline &&) = default;
  pipeline(const pipeline &) = delete;
  pipeline &operator=(const pipeline &) = delete;

  __mw_member void producer_acquire() {
    /* If every thread is both, all have waited for a stage before it is committed again; the barrier prevents that its
       data is overwritten while others read it. */
    if (what == UNIFIED && head >= stages) __syncthreads();
    if (what == PRODUCER) emptied[head % stages].wait_parity((head / stages + 1) % 2);
  }
  __mw_member void producer_commit() {
    __mw_report_commit();
    if (what == PRODUCER) {
      __mw_report_wait(0);
      (void)filled[head % stages].arrive();
    }
    head++;
  }
  __mw_member void consumer_wait() {
    if (what == OWN || what == UNIFIED) __mw_report_wait(head - tail - 1);
    if (what == UNIFIED) __syncthreads();
    if (what == CONSUMER) filled[tail % stages].wait_parity(tail / stages % 2);
  }
  template <typename Rep, typename Period> __mw_member bool consumer_wait_for(const Rep &, const Period &) {
    consumer_wait();
    return true;
  }
  __mw_member void consumer_release() {
    if (what == CONSUMER) (void)emptied[tail % stages].arrive();
    tail++;
  }
  __mw_member bool quit() { return true; }
  __mw_member void track() const {}
  __mw_member void wait_prior(unsigned int prior) const { __mw_report_wait(prior); }

private:
  friend struct details::pipeline_maker<Scope>;
  __mw_member pipeline(kind is, unsigned int depth, barrier<Scope> *full, barrier<Scope> *empty)
      : what(is), stages(depth), filled(full), emptied(empty) {}
  kind what;
  unsigned int stages, head = 0, tail = 0; /* of stages committed and released so far */
  barrier<Scope> *filled, *emptied;
};

namespace details {
template <thread_scope Scope> struct pipeline_maker {
  __mw_member static pipeline<Scope> unified(unsigned int stages) {
    return pipeline<Scope>(pipeline<Scope>::UNIFIED, stages, nullptr, nullptr);
  }
  template <unsigned char Stages, typename Group>
  __mw_member static pipeline<Scope> parted(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                            bool produces, unsigned int producers) {
    if (group.thread_rank() == 0)
      for (unsigned int i = 0; i < Stages; i++) {
        init(&state->filled[i], producers);
        init(&state->emptied[i], group.size() - producers);
      }
    group.sync();
    return pipeline<Scope>(produces ? pipeline<Scope>::PRODUCER : pipeline<Scope>::CONSUMER, Stages, state->filled,
                           state->emptied);
  }
};
} // namespace details

template <int = 0> __mw_device_template pipeline<thread_scope_thread> make_pipeline() {
  return pipeline<thread_scope_thread>();
}

/* Every thread of the block is both producer and consumer. */
template <typename Group, thread_scope Scope, unsigned char Stages>
__mw_device_template pipeline<Scope> make_pipeline(const Group &, pipeline_shared_state<Scope, Stages> *) {
  return details::pipeline_maker<Scope>::unified(Stages);
}
template <typename Group, thread_scope Scope, unsigned char Stages>
__mw_device_template pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                                   pipeline_role role) {
  bool produces = role == pipeline_role::producer;
  unsigned int producers = (unsigned int)__syncthreads_count(produces);
  return details::pipeline_maker<Scope>::parted(group, state, produces, producers);
}
/* The first `producers` threads are producers, the others are consumers. */
template <typename Group, thread_scope Scope, unsigned char Stages>
__mw_device_template pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                                   size_t producers) {
  return details::pipeline_maker<Scope>::parted(group, state, group.thread_rank() < producers, (unsigned int)producers);
}

/* Wait for the copies of all but the latest Prior stages. */
template <unsigned char Prior>
__mw_device_template void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &pipe) {
  pipe.wait_prior(Prior);
}
template <thread_scope Scope>
__mw_device_template void pipeline_producer_commit(pipeline<thread_scope_thread> &, barrier<Scope> &tracks) {
  tracks.track();
}

} // namespace cuda

#endif
