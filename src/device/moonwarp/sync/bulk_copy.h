/* Bulk copies: cuda::device::memcpy_async_tx, and cuda::device::experimental's copies between shared and global memory, of
 * memory and of tensors (CUDA C++ Programming Guide, "Asynchronous data copies using the Tensor Memory Accelerator"). One
 * thread calls them for its block. */
#ifndef MOONWARP_BULK_COPY_H
#define MOONWARP_BULK_COPY_H

#include "moonwarp/sync/async_copy.h"
#include "moonwarp/sync/block_barrier.h"

#if !defined __MW_NVRTC__ && !defined __MW_NVPTX__
__mw_import void __mw_bulk(unsigned int call, unsigned long long target, unsigned long long source,
                           unsigned long long a, unsigned long long b, unsigned long long c,
                           unsigned long long barrier);
#endif

namespace cuda {
namespace device {
namespace details {
using bulk_word = unsigned long long;
template <typename P> __mw_device_template bulk_word word_of(P *pointer) { return (bulk_word)(size_t)pointer; }
__mw_member bulk_word two(int low, int high) { return (unsigned int)low | (bulk_word)(unsigned int)high << 32; }
} // namespace details

/* The bytes are those of the barrier's transaction; the caller has announced them. */
template <int = 0>
__mw_device_template void bulk_to_shared(void *target, const void *source, unsigned int bytes, block_barrier &b) {
#if defined __MW_NVRTC__ || defined __MW_NVPTX__
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"((unsigned int)__cvta_generic_to_shared(target)), "l"(__cvta_generic_to_global(source)), "r"(bytes),
                 "r"((unsigned int)__cvta_generic_to_shared(b.native_handle()))
               : "memory");
#else
  __mw_bulk(0, details::word_of(target), details::word_of(source), bytes, 0, 0, details::word_of(b.native_handle()));
#endif
}

template <typename T, typename Size>
__mw_device_template void memcpy_async_tx(T *target, const T *source, Size bytes, block_barrier &b) {
  static_assert(Size::align >= 16, "memcpy_async_tx copies a cuda::aligned_size_t<16>");
  bulk_to_shared(target, source, (unsigned int)(size_t)bytes, b);
}

namespace experimental {
template <int = 0>
__mw_device_template void cp_async_bulk_global_to_shared(void *target, const void *source, unsigned int bytes,
                                                         block_barrier &b) {
  bulk_to_shared(target, source, bytes, b);
}
template <int = 0>
__mw_device_template void cp_async_bulk_shared_to_global(void *target, const void *source, unsigned int bytes) {
#if defined __MW_NVRTC__ || defined __MW_NVPTX__
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(__cvta_generic_to_global(target)), "r"((unsigned int)__cvta_generic_to_shared(source)), "r"(bytes)
               : "memory");
#else
  __mw_bulk(0, details::word_of(target), details::word_of(source), bytes, 0, 0, 0);
#endif
}
template <int = 0> __mw_device_template void fence_proxy_async_shared_cta() {
#if defined __MW_NVRTC__ || defined __MW_NVPTX__
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
}
template <int = 0> __mw_device_template void cp_async_bulk_commit_group() {
#if defined __MW_NVRTC__ || defined __MW_NVPTX__
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
#else
  __mw_report_commit();
#endif
}
template <int Prior> __mw_device_template void cp_async_bulk_wait_group_read() {
#if defined __MW_NVRTC__ || defined __MW_NVPTX__
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(Prior) : "memory");
#else
  __mw_report_wait(Prior);
#endif
}
template <int Prior> __mw_device_template void cp_async_bulk_wait_group() {
#if defined __MW_NVRTC__ || defined __MW_NVPTX__
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(Prior) : "memory");
#else
  __mw_report_wait(Prior);
#endif
}

/* clang-format off */
#define __mw_values(...) __VA_ARGS__
#if defined __MW_NVRTC__ || defined __MW_NVPTX__
#define __mw_tensor_copies(n, parameters, list, load_end, operands, a, b, c)         \
  template <typename Map>                                                                                              \
  __mw_device_template void cp_async_bulk_tensor_##n##d_global_to_shared(void *target, const Map *map,                 \
                                                                         __mw_values parameters, block_barrier &bar) { \
    asm volatile("cp.async.bulk.tensor." #n "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "              \
                 "[%0], [%1, " list "], [" load_end "];"                                                               \
                 : : "r"((unsigned int)__cvta_generic_to_shared(target)), "l"(map), __mw_values operands,              \
                     "r"((unsigned int)__cvta_generic_to_shared(bar.native_handle())) : "memory");                     \
  }                                                                                                                    \
  template <typename Map>                                                                                              \
  __mw_device_template void cp_async_bulk_tensor_##n##d_shared_to_global(const Map *map, __mw_values parameters,       \
                                                                         const void *source) {                         \
    asm volatile("cp.async.bulk.tensor." #n "d.global.shared::cta.tile.bulk_group [%1, " list "], [%0];"               \
                 : : "r"((unsigned int)__cvta_generic_to_shared(source)), "l"(map), __mw_values operands : "memory");  \
  }
#else
#define __mw_tensor_copies(n, parameters, list, load_end, operands, a, b, c)         \
  template <typename Map>                                                                                              \
  __mw_device_template void cp_async_bulk_tensor_##n##d_global_to_shared(void *target, const Map *map,                 \
                                                                         __mw_values parameters, block_barrier &bar) { \
    __mw_bulk(2 | n << 8, details::word_of(target), details::word_of(map), a, b, c,                                    \
              details::word_of(bar.native_handle()));                                                                  \
  }                                                                                                                    \
  template <typename Map>                                                                                              \
  __mw_device_template void cp_async_bulk_tensor_##n##d_shared_to_global(const Map *map, __mw_values parameters,       \
                                                                         const void *source) {                         \
    __mw_bulk(3 | n << 8, details::word_of(map), details::word_of(source), a, b, c, 0);                                \
  }
#endif
__mw_tensor_copies(1, (int c0), "{%2}", "%3", ("r"(c0)), details::two(c0, 0), 0, 0)
__mw_tensor_copies(2, (int c0, int c1), "{%2, %3}", "%4", ("r"(c0), "r"(c1)), details::two(c0, c1), 0, 0)
__mw_tensor_copies(3, (int c0, int c1, int c2), "{%2, %3, %4}", "%5", ("r"(c0), "r"(c1), "r"(c2)),
                   details::two(c0, c1), details::two(c2, 0), 0)
__mw_tensor_copies(4, (int c0, int c1, int c2, int c3), "{%2, %3, %4, %5}", "%6",
                   ("r"(c0), "r"(c1), "r"(c2), "r"(c3)), details::two(c0, c1), details::two(c2, c3), 0)
__mw_tensor_copies(5, (int c0, int c1, int c2, int c3, int c4), "{%2, %3, %4, %5, %6}", "%7",
                   ("r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)), details::two(c0, c1), details::two(c2, c3),
                   details::two(c4, 0))
#undef __mw_tensor_copies
#undef __mw_values
/* clang-format on */

} // namespace experimental
} // namespace device
} // namespace cuda

#endif
