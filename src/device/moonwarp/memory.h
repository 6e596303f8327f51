/* Memory functions of device code: the device heap, memcpy and memset, and loads and stores with cache hints. */
#ifndef MOONWARP_MEMORY_H
#define MOONWARP_MEMORY_H

/* Allocation from the device heap (mw.limit "heap"); malloc returns NULL if it is exhausted. */
__mw_import void *malloc(size_t bytes);
__mw_import void free(void *memory);

#ifdef __MW_NVPTX__ /* host and device: clang then treats them as built-ins, and there is nothing to call */
#define __mw_bytes __mw_libm
#else
#define __mw_bytes __mw_import
#endif
__mw_bytes void *memcpy(void *to, const void *from, size_t bytes) noexcept;
__mw_bytes void *memmove(void *to, const void *from, size_t bytes) noexcept;
__mw_bytes void *memset(void *to, int value, size_t bytes) noexcept;
#undef __mw_bytes
__mw_device int memcmp(const void *a, const void *b, size_t bytes) {
  const unsigned char *p = (const unsigned char *)a, *q = (const unsigned char *)b;
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != q[i]) return p[i] - q[i];
  return 0;
}

#define __mw_operator __inline__ __attribute__((device, always_inline, nodebug))
/* new returns NULL if the heap is exhausted; mwcc passes -fcheck-new, so that tests for it are not optimised away. */
__mw_operator void *operator new(size_t bytes) { return malloc(bytes); }
__mw_operator void *operator new[](size_t bytes) { return malloc(bytes); }
__mw_operator void operator delete(void *memory) noexcept { free(memory); }
__mw_operator void operator delete[](void *memory) noexcept { free(memory); }
__mw_operator void operator delete(void *memory, size_t) noexcept { free(memory); }
__mw_operator void operator delete[](void *memory, size_t) noexcept { free(memory); }

/* Placement new, as <new> declares it for the host. */
__mw_operator void *operator new(size_t, void *place) noexcept { return place; }
__mw_operator void *operator new[](size_t, void *place) noexcept { return place; }
__mw_operator void operator delete(void *, void *) noexcept {}
__mw_operator void operator delete[](void *, void *) noexcept {}
#undef __mw_operator

#include "words.h"
#ifdef __MW_NVPTX__
#include "../nvptx/memory.h"
#else

/* The memory space of a generic address: 1 global, 3 shared, 4 constant, 5 local, 0 none. As on an H100, addresses in
   none of the others count as global, including NULL. */
__mw_import unsigned int __mw_memory_kind(const void *address);
__mw_device unsigned int __isGlobal(const void *address) { return __mw_memory_kind(address) <= 1; }
__mw_device unsigned int __isShared(const void *address) { return __mw_memory_kind(address) == 3; }
__mw_device unsigned int __isConstant(const void *address) { return __mw_memory_kind(address) == 4; }
__mw_device unsigned int __isLocal(const void *address) { return __mw_memory_kind(address) == 5; }
__mw_device unsigned int __isCtaShared(const void *address) { return __isShared(address); }
/* Shared memory of any block of the cluster. */
__mw_device unsigned int __isClusterShared(const void *address) {
  unsigned int kind = __mw_memory_kind(address);
  return kind == 3 || kind == 7;
}
/* Kernel parameters are copied to the stack of those that take their address. */
__mw_device unsigned int __isGridConstant(const void *) { return 0; }

/* Conversions between generic pointers and addresses of one memory space for inline PTX, which are the same here. Those
   of shared memory may be truncated to 32 bits. */
__mw_device size_t __cvta_generic_to_shared(const void *address) { return (size_t)address; }
__mw_device size_t __cvta_generic_to_global(const void *address) { return (size_t)address; }
__mw_device size_t __cvta_generic_to_local(const void *address) { return (size_t)address; }
__mw_device size_t __cvta_generic_to_constant(const void *address) { return (size_t)address; }
__mw_device size_t __cvta_generic_to_grid_constant(const void *address) { return (size_t)address; }
__mw_device void *__cvta_shared_to_generic(size_t address) { return (void *)address; }
__mw_device void *__cvta_global_to_generic(size_t address) { return (void *)address; }
__mw_device void *__cvta_local_to_generic(size_t address) { return (void *)address; }
__mw_device void *__cvta_constant_to_generic(size_t address) { return (void *)address; }
__mw_device void *__cvta_grid_constant_to_generic(size_t address) { return (void *)address; }

/* Loads and stores with cache hints (read-only cache, level, streaming, volatile) are plain accesses here. Volatile
   ones access words, since classes have no volatile copies. */
/* clang-format off */
#define __mw_load(hint)                                                                                                \
  template <typename T> __mw_device_template T hint(const T *address) { return *address; }
__mw_load(__ldg) __mw_load(__ldca) __mw_load(__ldcg) __mw_load(__ldcs) __mw_load(__ldlu)
#undef __mw_load
template <typename T> __mw_device_template T __ldcv(const T *address) {
  typedef __mw_word_of<T> word;
  T value;
  for (size_t i = 0; i < sizeof(T) / sizeof(word); i++) {
    word part = ((const volatile word *)address)[i];
    __builtin_memcpy((word *)&value + i, &part, sizeof(word));
  }
  return value;
}

#define __mw_store(hint)                                                                                               \
  template <typename T> __mw_device_template void hint(T *address, __mw_same<T> value) {                               \
    *address = value;                                                                                                  \
  }
__mw_store(__stwb) __mw_store(__stcg) __mw_store(__stcs)
#undef __mw_store
template <typename T> __mw_device_template void __stwt(T *address, __mw_same<T> value) {
  typedef __mw_word_of<T> word;
  for (size_t i = 0; i < sizeof(T) / sizeof(word); i++) {
    word part;
    __builtin_memcpy(&part, (const word *)&value + i, sizeof(word));
    ((volatile word *)address)[i] = part;
  }
}
/* clang-format on */

#endif

#endif
