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

} // namespace cooperative_groups

#endif
