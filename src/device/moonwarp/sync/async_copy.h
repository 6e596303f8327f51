/* cuda::memcpy_async and aligned_size_t: copies whose completion a barrier or a pipeline tracks. They are synchronous,
 * so that a wait for them only waits for the other threads that copy. (libcu++) */
#ifndef MOONWARP_ASYNC_COPY_H
#define MOONWARP_ASYNC_COPY_H

#include "moonwarp_device.h"

namespace cuda {

/* A size that is known to be a multiple of Alignment, as both addresses are. */
template <size_t Alignment> struct aligned_size_t {
  static_assert(Alignment > 0 && (Alignment & (Alignment - 1)) == 0, "an alignment is a power of two");
  static constexpr size_t align = Alignment;
  size_t value;
  __mw_member explicit constexpr aligned_size_t(size_t size) : value(size) {}
  __mw_member constexpr operator size_t() const { return value; }
};

namespace details {

template <typename Group, typename T>
__mw_device_template void copy_by(const Group &group, T *target, const T *source, size_t count) {
  for (size_t i = group.thread_rank(); i < count; i += group.size()) target[i] = source[i];
}

/* The threads of a group copy together. */
template <typename Group>
__mw_device_template void copy_bytes(const Group &group, void *target, const void *source, size_t bytes) {
  __mw_report_async(1);
  if (((size_t)target | (size_t)source | bytes) % 4 == 0)
    copy_by(group, (unsigned int *)target, (const unsigned int *)source, bytes / 4);
  else
    copy_by(group, (unsigned char *)target, (const unsigned char *)source, bytes);
  __mw_report_async(0);
}

struct one_thread {
  __mw_member static constexpr size_t size() { return 1; }
  __mw_member static constexpr size_t thread_rank() { return 0; }
};

} // namespace details

/* Sync: a barrier or a pipeline, whose track() makes it wait for the copy. Size: a size_t, or a size with a known
   alignment. */
template <typename Sync, typename Size>
__mw_device_template void memcpy_async(void *target, const void *source, Size bytes, Sync &sync) {
  details::copy_bytes(details::one_thread(), target, source, (size_t)bytes);
  sync.track();
}
template <typename Group, typename Sync, typename Size>
__mw_device_template void memcpy_async(const Group &group, void *target, const void *source, Size bytes, Sync &sync) {
  details::copy_bytes(group, target, source, (size_t)bytes);
  sync.track();
}
template <typename Group, typename T, typename Sync, typename Size>
__mw_device_template void memcpy_async(const Group &group, T *target, const T *source, Size bytes, Sync &sync) {
  details::copy_bytes(group, target, source, (size_t)bytes);
  sync.track();
}

} // namespace cuda

#endif
