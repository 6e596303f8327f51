/* cooperative_groups::reduce over the threads of a tile or of coalesced threads; all get the result. */
#ifndef _CG_REDUCE_H_
#define _CG_REDUCE_H_

#include "../moonwarp/warp/group_functors.h"

namespace cooperative_groups {
namespace details {

/* Instructions reduce 32-bit integers over lanes of a warp: __mw_whole(operator, reduce function, unsigned). */
template <typename T, typename F> struct whole_warp {
  enum { is_known = 0 };
};
#define __mw_whole(T, functor, function)                                                                               \
  template <> struct whole_warp<T, functor<T>> {                                                                       \
    enum { is_known = 1 };                                                                                             \
    __mw_member static T reduce(unsigned int mask, T value) { return (T)function(mask, value); }                       \
  };                                                                                                                   \
  template <> struct whole_warp<T, functor<void>> : whole_warp<T, functor<T>> {};
#if __CUDA_ARCH__ >= 800 /* before, there are none: lanes exchange values */
__mw_whole(int, plus, __reduce_add_sync) __mw_whole(unsigned int, plus, __reduce_add_sync)
    __mw_whole(int, less, __reduce_min_sync) __mw_whole(unsigned int, less, __reduce_min_sync)
        __mw_whole(int, greater, __reduce_max_sync) __mw_whole(unsigned int, greater, __reduce_max_sync)
            __mw_whole(unsigned int, bit_and, __reduce_and_sync) __mw_whole(unsigned int, bit_or, __reduce_or_sync)
                __mw_whole(unsigned int, bit_xor, __reduce_xor_sync)
#endif
#undef __mw_whole

} // namespace details

template <unsigned int Size, typename Parent, typename T, typename F>
__mw_device_template T reduce(const thread_block_tile<Size, Parent> &tile, T value, F op) {
  if constexpr (Size > 32) {
    return tile.over_warps(reduce(thread_block_tile<32>(), value, op), op);
  } else if constexpr (Size == 32 && details::whole_warp<T, F>::is_known) {
    return details::whole_warp<T, F>::reduce(tile.lanes(), value);
  } else {
    for (unsigned int bit = Size / 2; bit > 0; bit /= 2) value = op(value, tile.shfl_xor(value, (int)bit));
    return value;
  }
}

/* A reduction over any threads of a warp: neighbouring runs of 1, 2, 4, … lanes are combined, some of which have no
   thread of the group. All threads of a run have its sum, so that of the other run is any of its threads'. */
template <typename T, typename F> __mw_device_template T reduce(const coalesced_group &group, T value, F op) {
  if constexpr (details::whole_warp<T, F>::is_known) {
    return details::whole_warp<T, F>::reduce(group.lanes(), value);
  } else {
    unsigned int lanes = group.lanes(), lane = details::lane_number();
#pragma unroll
    for (unsigned int run = 1; run < 32; run *= 2) {
      unsigned int first = (lane & ~(run - 1)) ^ run, others = lanes & (((1u << run) - 1) << first);
      int from = others ? __ffs((int)others) - 1 : (int)lane;
      T other = details::by_words(value, [=](auto word) { return __shfl_sync(lanes, word, from); });
      if (others) value = first < lane ? op(other, value) : op(value, other);
    }
    return value;
  }
}

/* The result into a cuda::atomic or atomic_ref: stored, or combined with what is there. Threads may continue before. */
template <typename Group, typename Atomic, typename T, typename F>
__mw_device_template void reduce_store_async(const Group &group, Atomic &target, T value, F op) {
  T result = reduce(group, value, op);
  if (group.thread_rank() == 0) target.store(result);
}
template <typename Group, typename Atomic, typename T, typename F>
__mw_device_template void reduce_update_async(const Group &group, Atomic &target, T value, F op) {
  T result = reduce(group, value, op);
  if (group.thread_rank() == 0) details::update(target, result, op);
}

} // namespace cooperative_groups

#endif
