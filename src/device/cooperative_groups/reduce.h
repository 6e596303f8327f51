/* cooperative_groups::reduce over the threads of a tile or of coalesced threads; all get the result. */
#ifndef _CG_REDUCE_H_
#define _CG_REDUCE_H_

#include "../moonwarp/warp/group_functors.h"

namespace cooperative_groups {
namespace details {

/* Instructions reduce 32-bit integers over lanes of a warp: __mw_whole(operator, reduce function, unsigned). */
template <typename T, typename F> struct whole_warp {
  static constexpr bool is_known = false;
};
#define __mw_whole(T, functor, function)                                                                               \
  template <> struct whole_warp<T, functor<T>> {                                                                       \
    static constexpr bool is_known = true;                                                                             \
    __mw_member static T reduce(unsigned int mask, T value) { return (T)function(mask, value); }                       \
  };                                                                                                                   \
  template <> struct whole_warp<T, functor<void>> : whole_warp<T, functor<T>> {};
__mw_whole(int, plus, __reduce_add_sync) __mw_whole(unsigned int, plus, __reduce_add_sync)
    __mw_whole(int, less, __reduce_min_sync) __mw_whole(unsigned int, less, __reduce_min_sync)
        __mw_whole(int, greater, __reduce_max_sync) __mw_whole(unsigned int, greater, __reduce_max_sync)
            __mw_whole(unsigned int, bit_and, __reduce_and_sync) __mw_whole(unsigned int, bit_or, __reduce_or_sync)
                __mw_whole(unsigned int, bit_xor, __reduce_xor_sync)
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

/* For any number of threads: after step k, rank r has the sum of 2^k ranks from r on, or of those up to the last. */
template <typename T, typename F> __mw_device_template T reduce(const coalesced_group &group, T value, F op) {
  if constexpr (details::whole_warp<T, F>::is_known) {
    return details::whole_warp<T, F>::reduce(group.lanes(), value);
  } else {
    unsigned int rank = group.thread_rank(), size = group.size();
    for (unsigned int distance = 1; distance < size; distance *= 2) {
      T other = group.shfl_down(value, distance);
      if (rank + distance < size) value = op(value, other);
    }
    return group.shfl(value, 0);
  }
}

} // namespace cooperative_groups

#endif
