/* cooperative_groups::memcpy_async: the threads of a group copy together. Nothing is left to wait for but each other. */
#ifndef _CG_MEMCPY_ASYNC_H_
#define _CG_MEMCPY_ASYNC_H_

#include "../cooperative_groups.h"

namespace cuda {
/* A size that is known to be a multiple of Alignment, as both addresses are. */
template <size_t Alignment> struct aligned_size_t {
  static constexpr size_t align = Alignment;
  size_t value;
  __mw_member explicit constexpr aligned_size_t(size_t size) : value(size) {}
  __mw_member constexpr operator size_t() const { return value; }
};
} // namespace cuda

namespace cooperative_groups {
namespace details {

template <typename Group, typename T>
__mw_device_template void copy_by(const Group &group, T *target, const T *source, size_t count) {
  for (size_t i = group.thread_rank(); i < count; i += group.size()) target[i] = source[i];
}

template <typename Group>
__mw_device_template void copy_bytes(const Group &group, void *target, const void *source, size_t bytes) {
  if (((size_t)target | (size_t)source | bytes) % 4 == 0)
    copy_by(group, (unsigned int *)target, (const unsigned int *)source, bytes / 4);
  else
    copy_by(group, (unsigned char *)target, (const unsigned char *)source, bytes);
}

} // namespace details

/* `bytes` of memory; or, with two layouts, as many elements as both have. */
template <typename Group, typename T, typename Source>
__mw_device_template void memcpy_async(const Group &group, T *target, const Source *source, size_t bytes) {
  details::copy_bytes(group, target, source, bytes);
}
template <typename Group, typename T, typename Source, size_t Alignment>
__mw_device_template void memcpy_async(const Group &group, T *target, const Source *source,
                                       const cuda::aligned_size_t<Alignment> &bytes) {
  details::copy_bytes(group, target, source, bytes.value);
}
template <typename Group, typename T, typename TargetLayout, typename SourceLayout>
__mw_device_template void memcpy_async(const Group &group, T *target, const TargetLayout &room, const T *source,
                                       const SourceLayout &length) {
  size_t most = (size_t)room, count = (size_t)length;
  details::copy_bytes(group, target, source, sizeof(T) * (count < most ? count : most));
}

template <typename Group> __mw_device_template void wait(const Group &group) { group.sync(); }
/* All but the last N copies; here, all. */
template <unsigned int N, typename Group> __mw_device_template void wait_prior(const Group &group) { group.sync(); }

} // namespace cooperative_groups

#endif
