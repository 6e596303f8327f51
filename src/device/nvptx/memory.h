/* Memory on a GPU: memory spaces of addresses, conversions between them, loads and stores with cache hints. */
#ifndef MOONWARP_NVPTX_MEMORY_H
#define MOONWARP_NVPTX_MEMORY_H

/* clang-format off */
#define __mw_memory_space(Name, name, number)                                                                          \
  __mw_device unsigned int __is##Name(const void *address) {                                                           \
    unsigned int is;                                                                                                   \
    asm("{\n\t.reg .pred p;\n\tisspacep." #name " p, %1;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(is) : "l"(address));    \
    return is;                                                                                                         \
  }                                                                                                                    \
  __mw_device size_t __cvta_generic_to_##name(const void *address) {                                                   \
    size_t there; /* not a cast, which LLVM cannot make of an address that it knows to be in another space */          \
    asm("cvta.to." #name ".u64 %0, %1;" : "=l"(there) : "l"(address));                                                 \
    return there;                                                                                                      \
  }                                                                                                                    \
  __mw_device void *__cvta_##name##_to_generic(size_t address) {                                                       \
    return (void *)(__attribute__((address_space(number))) void *)address;                                             \
  }
__mw_memory_space(Global, global, 1)
__mw_memory_space(Shared, shared, 3)
__mw_memory_space(Constant, const, 4)
__mw_memory_space(Local, local, 5)
#undef __mw_memory_space
__mw_device unsigned int __isCtaShared(const void *address) { return __isShared(address); }
/* Shared memory of any block of the cluster. */
__mw_device unsigned int __isClusterShared(const void *address) {
#if __CUDA_ARCH__ >= 900
  unsigned int is;
  asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is) : "l"(address));
  return is;
#else
  return __isShared(address);
#endif
}
__mw_device unsigned int __isGridConstant(const void *) { return 0; }
__mw_device size_t __cvta_generic_to_grid_constant(const void *address) { return (size_t)address; }
__mw_device void *__cvta_grid_constant_to_generic(size_t address) { return (void *)address; }
__mw_device size_t __cvta_generic_to_constant(const void *address) { return __cvta_generic_to_const(address); }
__mw_device void *__cvta_constant_to_generic(size_t address) { return __cvta_const_to_generic(address); }
/* clang-format on */

/* A value of 16 bytes is accessed by one instruction, others word by word. */
/* clang-format off */
#define __mw_load_word(name, qualifier, load, type, between, bits, constraint, ...)                                    \
  __mw_device type __mw_load_##name(const type *address) {                                                             \
    between value;                                                                                                     \
    asm qualifier(load "." #bits " %0, [%1];" : "=" constraint(value) : "l"(address) __VA_ARGS__);                     \
    return (type)value;                                                                                                \
  }
#define __mw_load(hint, name, qualifier, load, ...)                                                                    \
  __mw_load_word(name, qualifier, load, unsigned char, unsigned short, u8, "h", __VA_ARGS__)                           \
  __mw_load_word(name, qualifier, load, unsigned short, unsigned short, u16, "h", __VA_ARGS__)                         \
  __mw_load_word(name, qualifier, load, unsigned int, unsigned int, u32, "r", __VA_ARGS__)                             \
  __mw_load_word(name, qualifier, load, unsigned long long, unsigned long long, u64, "l", __VA_ARGS__)                 \
  template <typename T> __mw_device_template T hint(const T *address) {                                                \
    T value;                                                                                                           \
    if constexpr (sizeof(T) == 16 && alignof(T) == 16) {                                                               \
      unsigned int quad[4];                                                                                            \
      asm qualifier(load ".v4.u32 {%0, %1, %2, %3}, [%4];"                                                             \
                    : "=r"(quad[0]), "=r"(quad[1]), "=r"(quad[2]), "=r"(quad[3]) : "l"(address) __VA_ARGS__);          \
      __builtin_memcpy(&value, quad, 16);                                                                              \
    } else {                                                                                                           \
      typedef __mw_word_of<T> word;                                                                                    \
      for (size_t i = 0; i < sizeof(T) / sizeof(word); i++) {                                                          \
        word part = __mw_load_##name((const word *)address + i);                                                       \
        __builtin_memcpy((word *)&value + i, &part, sizeof(word));                                                     \
      }                                                                                                                \
    }                                                                                                                  \
    return value;                                                                                                      \
  }
__mw_load(__ldg, nc, , "ld.global.nc")
__mw_load(__ldca, ca, volatile, "ld.ca", : "memory")
__mw_load(__ldcg, cg, volatile, "ld.cg", : "memory")
__mw_load(__ldcs, cs, volatile, "ld.cs", : "memory")
__mw_load(__ldlu, lu, volatile, "ld.lu", : "memory")
__mw_load(__ldcv, cv, volatile, "ld.cv", : "memory")
#undef __mw_load
#undef __mw_load_word

#define __mw_store_word(name, store, type, between, bits, constraint)                                                  \
  __mw_device void __mw_store_##name(type *address, type value) {                                                      \
    asm volatile(store "." #bits " [%0], %1;" : : "l"(address), constraint((between)value) : "memory");                \
  }
#define __mw_store(hint, name, store)                                                                                  \
  __mw_store_word(name, store, unsigned char, unsigned short, u8, "h")                                                 \
  __mw_store_word(name, store, unsigned short, unsigned short, u16, "h")                                               \
  __mw_store_word(name, store, unsigned int, unsigned int, u32, "r")                                                   \
  __mw_store_word(name, store, unsigned long long, unsigned long long, u64, "l")                                       \
  template <typename T> __mw_device_template void hint(T *address, __mw_same<T> value) {                               \
    if constexpr (sizeof(T) == 16 && alignof(T) == 16) {                                                               \
      unsigned int quad[4];                                                                                            \
      __builtin_memcpy(quad, &value, 16);                                                                              \
      asm volatile(store ".v4.u32 [%0], {%1, %2, %3, %4};"                                                             \
                   : : "l"(address), "r"(quad[0]), "r"(quad[1]), "r"(quad[2]), "r"(quad[3]) : "memory");               \
    } else {                                                                                                           \
      typedef __mw_word_of<T> word;                                                                                    \
      for (size_t i = 0; i < sizeof(T) / sizeof(word); i++) {                                                          \
        word part;                                                                                                     \
        __builtin_memcpy(&part, (const word *)&value + i, sizeof(word));                                               \
        __mw_store_##name((word *)address + i, part);                                                                  \
      }                                                                                                                \
    }                                                                                                                  \
  }
__mw_store(__stwb, wb, "st.wb")
__mw_store(__stcg, cg, "st.cg")
__mw_store(__stcs, cs, "st.cs")
__mw_store(__stwt, wt, "st.wt")
#undef __mw_store
#undef __mw_store_word
/* clang-format on */

#endif
