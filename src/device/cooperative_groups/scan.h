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

/* The first thread gets T{}. */
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
