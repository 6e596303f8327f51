/* cooperative_groups::inclusive_scan and exclusive_scan, in the order of ranks. */
#ifndef _CG_SCAN_H_
#define _CG_SCAN_H_

#include "../moonwarp/warp/group_functors.h"

namespace cooperative_groups {

template <typename Group, typename T, typename F>
__mw_device_template T inclusive_scan(const Group &group, T value, F op) {
  unsigned int rank = group.thread_rank(), size = group.size();
  for (unsigned int distance = 1; distance < size; distance *= 2) {
    T other = group.shfl_up(value, distance);
    if (rank >= distance) value = op(other, value);
  }
  return value;
}

template <unsigned int Size, typename Parent, typename T, typename F>
__mw_device_template T inclusive_scan(const thread_block_tile<Size, Parent, true> &tile, T value, F op) {
  T own = inclusive_scan(thread_block_tile<32>(), value, op), before = tile.before_warp(own, op);
  return tile.thread_rank() < 32 ? own : op(before, own);
}

/* The first thread gets T{}. */
template <unsigned int Size, typename Parent, typename T, typename F>
__mw_device_template T exclusive_scan(const thread_block_tile<Size, Parent, true> &tile, T value, F op) {
  thread_block_tile<32> warp;
  unsigned int rank = tile.thread_rank();
  T sum = inclusive_scan(warp, value, op), own = warp.shfl_up(sum, 1), before = tile.before_warp(sum, op);
  if (rank < 32) return rank == 0 ? T{} : own;
  return rank % 32 == 0 ? before : op(before, own);
}
template <typename Group, typename T, typename F>
__mw_device_template T exclusive_scan(const Group &group, T value, F op) {
  T before = group.shfl_up(inclusive_scan(group, value, op), 1);
  return group.thread_rank() == 0 ? T{} : before;
}

template <typename Group, typename T> __mw_device_template T inclusive_scan(const Group &group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <typename Group, typename T> __mw_device_template T exclusive_scan(const Group &group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

/* The same from what a cuda::atomic or atomic_ref holds, which the group's sum is added to. */
namespace details {
template <typename Group, typename Atomic, typename T, typename F>
__mw_device_template T before_update(const Group &group, Atomic &target, T inclusive, F op) {
  unsigned int last = group.size() - 1;
  T before = inclusive;
  if (group.thread_rank() == last) before = update(target, inclusive, op);
  return group.shfl(before, (int)last);
}
} // namespace details
template <typename Group, typename Atomic, typename T, typename F>
__mw_device_template T inclusive_scan_update(const Group &group, Atomic &target, T value, F op) {
  T sum = inclusive_scan(group, value, op);
  return op(details::before_update(group, target, sum, op), sum);
}
template <typename Group, typename Atomic, typename T, typename F>
__mw_device_template T exclusive_scan_update(const Group &group, Atomic &target, T value, F op) {
  T sum = inclusive_scan(group, value, op), before = details::before_update(group, target, sum, op);
  T other = group.shfl_up(sum, 1);
  return group.thread_rank() == 0 ? before : op(before, other);
}
template <typename Group, typename Atomic, typename T>
__mw_device_template T inclusive_scan_update(const Group &group, Atomic &target, T value) {
  return inclusive_scan_update(group, target, value, plus<T>());
}
template <typename Group, typename Atomic, typename T>
__mw_device_template T exclusive_scan_update(const Group &group, Atomic &target, T value) {
  return exclusive_scan_update(group, target, value, plus<T>());
}

} // namespace cooperative_groups

#endif
