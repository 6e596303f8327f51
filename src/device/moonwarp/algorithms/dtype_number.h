/* The numbers by which a kernel reports a type's dtype to the host; lua/moonwarp/array/accumulators.lua has the
   list. */
#ifndef MOONWARP_ALGORITHMS_DTYPE_NUMBER_H
#define MOONWARP_ALGORITHMS_DTYPE_NUMBER_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <moonwarp/algorithms/complex.h>

namespace moonwarp {

template <typename T> struct dtype_number {
  static const int value = 0; /* none of these */
};

#define __mw_number(type, number)                                                                                      \
  template <> struct dtype_number<type> {                                                                              \
    static const int value = number;                                                                                   \
  };
__mw_number(bool, 1) __mw_number(char, 2) __mw_number(signed char, 2) __mw_number(unsigned char, 3)
    __mw_number(short, 4) __mw_number(unsigned short, 5) __mw_number(int, 6) __mw_number(unsigned, 7)
        __mw_number(long, 8) __mw_number(unsigned long, 9) __mw_number(long long, 8) __mw_number(unsigned long long, 9)
            __mw_number(__half, 10) __mw_number(__nv_bfloat16, 11) __mw_number(float, 12) __mw_number(double, 13)
                __mw_number(complex<float>, 14) __mw_number(complex<double>, 15)
#undef __mw_number

    /* Whether two types are the same. */
    template <typename T, typename U>
    struct is_type {
  static const bool value = false;
};
template <typename T> struct is_type<T, T> {
  static const bool value = true;
};

} // namespace moonwarp

#endif
