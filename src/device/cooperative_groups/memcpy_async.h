/* cooperative_groups::memcpy_async: a copy by the threads of a group. It is synchronous, so that waiting for it is
 * waiting for the other threads. */
#ifndef _CG_MEMCPY_ASYNC_H_
#define _CG_MEMCPY_ASYNC_H_

#include "../cooperative_groups.h"
#include "../moonwarp/sync/async_copy.h"

namespace cooperative_groups {

/* Copies `bytes`; or, with two layouts, as many elements as both have. */
template <typename Group, typename T, typename Source>
__mw_device_template void memcpy_async(const Group &group, T *target, const Source *source, size_t bytes) {
  cuda::details::copy_bytes(group, target, source, bytes);
  __mw_report_commit();
}
template <typename Group, typename T, typename Source, size_t Alignment>
__mw_device_template void memcpy_async(const Group &group, T *target, const Source *source,
                                       const cuda::aligned_size_t<Alignment> &bytes) {
  cuda::details::copy_bytes(group, target, source, bytes.value);
  __mw_report_commit();
}
template <typename Group, typename T, typename TargetLayout, typename SourceLayout>
__mw_device_template void memcpy_async(const Group &group, T *target, const TargetLayout &room, const T *source,
                                       const SourceLayout &length) {
  size_t most = (size_t)room, count = (size_t)length;
  cuda::details::copy_bytes(group, target, source, sizeof(T) * (count < most ? count : most));
  __mw_report_commit();
}

template <typename Group> __mw_device_template void wait(const Group &group) {
  __mw_report_wait(0);
  group.sync();
}
/* Wait for all but the last N copies; here, for all. */
template <unsigned int N, typename Group> __mw_device_template void wait_prior(const Group &group) {
  __mw_report_wait(N);
  group.sync();
}

} // namespace cooperative_groups

#endif
