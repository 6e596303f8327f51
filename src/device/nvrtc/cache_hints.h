/* Loads and stores with cache hints for types that NVRTC has none for: half precision, bfloat16, vectors of one and
 * three components, structs. They access words, for which NVRTC has functions. If NVRTC has one for the type itself,
 * that is preferred to these templates. */
#ifndef MOONWARP_NVRTC_CACHE_HINTS_H
#define MOONWARP_NVRTC_CACHE_HINTS_H

#include "moonwarp/words.h"

template <> struct __mw_word<16, 16> {
  typedef uint4 type;
};

/* clang-format off */
#define __mw_load(hint)                                                                                                \
  template <typename T> __mw_device_template T hint(const T *address) {                                                \
    typedef __mw_word_of<T> word;                                                                                      \
    T value;                                                                                                           \
    for (size_t i = 0; i < sizeof(T) / sizeof(word); i++) {                                                            \
      word part = hint((const word *)address + i);                                                                     \
      memcpy((word *)&value + i, &part, sizeof(word));                                                                 \
    }                                                                                                                  \
    return value;                                                                                                      \
  }
__mw_load(__ldg) __mw_load(__ldca) __mw_load(__ldcg) __mw_load(__ldcs) __mw_load(__ldlu) __mw_load(__ldcv)
#undef __mw_load

#define __mw_store(hint)                                                                                               \
  template <typename T> __mw_device_template void hint(T *address, __mw_same<T> value) {                               \
    typedef __mw_word_of<T> word;                                                                                      \
    for (size_t i = 0; i < sizeof(T) / sizeof(word); i++) {                                                            \
      word part;                                                                                                       \
      memcpy(&part, (const word *)&value + i, sizeof(word));                                                           \
      hint((word *)address + i, part);                                                                                 \
    }                                                                                                                  \
  }
__mw_store(__stwb) __mw_store(__stcg) __mw_store(__stcs) __mw_store(__stwt)
#undef __mw_store
/* clang-format on */

#endif
