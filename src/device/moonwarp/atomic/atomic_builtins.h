/* The compiler's atomic built-ins that moonwarp/atomic/atomic_objects.h uses, for NVRTC, which does not have them: by
 * CUDA's atomic functions. All have system scope and are between two fences, and so are sequentially consistent. */
#ifndef MOONWARP_ATOMIC_BUILTINS_H
#define MOONWARP_ATOMIC_BUILTINS_H

#include "moonwarp/words.h"

#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5

template <class T> struct __mw_integer {
  static constexpr bool value = false;
};
#define __mw_integers(T)                                                                                               \
  template <> struct __mw_integer<T> {                                                                                 \
    static constexpr bool value = true;                                                                                \
  };
__mw_integers(bool) __mw_integers(char) __mw_integers(signed char) __mw_integers(unsigned char) __mw_integers(short)
    __mw_integers(unsigned short) __mw_integers(int) __mw_integers(unsigned int) __mw_integers(long)
        __mw_integers(unsigned long) __mw_integers(long long) __mw_integers(unsigned long long)
#undef __mw_integers
#define __is_integral(T) __mw_integer<T>::value

    /* Compare and exchange of 1, 2, 4 or 8 bytes; returns the old value. A byte is exchanged as part of a word. */
    template <class T>
    __mw_device_template T __mw_swap_if(T *cell, T expected, T desired) {
  if constexpr (sizeof(T) == 8) {
    return (T)atomicCAS_system((unsigned long long *)cell, (unsigned long long)expected, (unsigned long long)desired);
  } else if constexpr (sizeof(T) == 4) {
    return (T)atomicCAS_system((unsigned int *)cell, (unsigned int)expected, (unsigned int)desired);
  } else if constexpr (sizeof(T) == 2) {
    return (T)atomicCAS_system((unsigned short *)cell, (unsigned short)expected, (unsigned short)desired);
  } else {
    unsigned int *word = (unsigned int *)((unsigned long)cell & ~3ul), shift = ((unsigned long)cell & 3) * 8;
    unsigned int mask = 0xffu << shift, old = *(volatile unsigned int *)word;
    while ((T)(old >> shift) == expected) {
      unsigned int made = (old & ~mask) | (unsigned int)(unsigned char)desired << shift;
      unsigned int found = atomicCAS_system(word, old, made);
      if (found == old) break;
      old = found;
    }
    return (T)(old >> shift);
  }
}

template <class T> __mw_device_template T __atomic_load_n(const T *cell, int) {
  T value = *(const volatile T *)cell;
  __threadfence_system();
  return value;
}
template <class T>
__mw_device_template bool __atomic_compare_exchange_n(T *cell, T *expected, T desired, bool, int, int) {
  __threadfence_system();
  T old = __mw_swap_if(cell, *expected, desired);
  __threadfence_system();
  bool done = old == *expected;
  *expected = old;
  return done;
}
/* Stores F of the old value. */
template <class T, class F> __mw_device_template T __mw_change(T *cell, F make) {
  T old = *(const volatile T *)cell;
  while (!__atomic_compare_exchange_n(cell, &old, make(old), false, 0, 0)) continue;
  return old;
}
#define __mw_atomic(name, result)                                                                                      \
  template <class T> __mw_device_template T name(T *cell, __mw_same<T> with, int) {                                    \
    return __mw_change(cell, [=](T old) { return (T)(result); });                                                      \
  }
#define __mw_atomic_native(name, function, result)                                                                     \
  template <class T> __mw_device_template T name(T *cell, __mw_same<T> with, int) {                                    \
    if constexpr (sizeof(T) < 4) return __mw_change(cell, [=](T old) { return (T)(result); });                         \
    __threadfence_system();                                                                                            \
    T old;                                                                                                             \
    if constexpr (sizeof(T) == 4)                                                                                      \
      old = (T)function((unsigned int *)cell, (unsigned int)with);                                                     \
    else                                                                                                               \
      old = (T)function((unsigned long long *)cell, (unsigned long long)with);                                         \
    __threadfence_system();                                                                                            \
    return old;                                                                                                        \
  }
__mw_atomic_native(__atomic_fetch_add, atomicAdd_system, old + with)
    __mw_atomic_native(__atomic_exchange_n, atomicExch_system, with)
        __mw_atomic_native(__atomic_fetch_and, atomicAnd_system, old &with)
            __mw_atomic_native(__atomic_fetch_or, atomicOr_system, old | with)
                __mw_atomic_native(__atomic_fetch_xor, atomicXor_system, old ^ with)
                    __mw_atomic(__atomic_fetch_min, with < old ? with : old)
                        __mw_atomic(__atomic_fetch_max, old < with ? with : old)
#undef __mw_atomic
#undef __mw_atomic_native
                            template <class T>
                            __mw_device_template T __atomic_fetch_sub(T *cell, __mw_same<T> with, int order) {
  return __atomic_fetch_add(cell, (T)(0 - with), order);
}
template <class T> __mw_device_template T __atomic_sub_fetch(T *cell, __mw_same<T> with, int order) {
  return __atomic_fetch_add(cell, (T)(0 - with), order) - with;
}
template <class T> __mw_device_template void __atomic_store_n(T *cell, __mw_same<T> value, int order) {
  __atomic_exchange_n(cell, value, order);
}
template <int = 0> __mw_device_template void __atomic_thread_fence(int) { __threadfence_system(); }

#endif
