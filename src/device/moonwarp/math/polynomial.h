/* c0 + c1 x + c2 x^2 + …, the highest power first.
 *
 * These are macros rather than nested functions. In unoptimised bitcode, functions store their coefficients to memory
 * until they are inlined: a thousand instructions for a long polynomial, which every compilation would generate and
 * delete. */
#ifndef MOONWARP_POLYNOMIAL_H
#define MOONWARP_POLYNOMIAL_H

#include "moonwarp/math/libm.h"

#define __mw_polynomial(x, ...)                                                                                        \
  ({                                                                                                                   \
    const double __mw_x = (x);                                                                                         \
    __mw_horner_of(__VA_ARGS__)(fma, __mw_x, __VA_ARGS__);                                                             \
  })
#define __mw_polynomialf(x, ...)                                                                                       \
  ({                                                                                                                   \
    const float __mw_x = (x);                                                                                          \
    __mw_horner_of(__VA_ARGS__)(fmaf, __mw_x, __VA_ARGS__);                                                            \
  })

/* The same on the CPU device in a loop: the vectors of a gang take each step together. Of an unrolled polynomial the
 * compiler makes one vector after the other, and each step waits for the one before. */
#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define __mw_polynomial_in_steps __mw_polynomial
#else
#define __mw_polynomial_in_steps(x, ...)                                                                               \
  ({                                                                                                                   \
    static const double __mw_coefficients[] = {__VA_ARGS__};                                                           \
    __mw_in_steps(x, __mw_coefficients);                                                                               \
  })
template <int n> __mw_device_template double __mw_in_steps(double x, const double (&coefficients)[n]) {
  double y = coefficients[n - 1];
#pragma unroll 1
  for (int i = n - 2; i >= 0; i--) y = fma(y, x, coefficients[i]);
  return y;
}
#endif

/* By the number of coefficients. */
#define __mw_horner_of(...)                                                                                            \
  __mw_horner_pick(__VA_ARGS__, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,    \
                   19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define __mw_horner_pick(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20,    \
                         c21, c22, c23, c24, c25, c26, c27, c28, c29, c30, c31, c32, c33, c34, c35, c36, c37, c38,     \
                         c39, c40, n, ...)                                                                             \
  __mw_horner_##n
#define __mw_horner_1(fma, x, c)       (c)
#define __mw_horner_2(fma, x, c, ...)  fma(x, __mw_horner_1(fma, x, __VA_ARGS__), c)
#define __mw_horner_3(fma, x, c, ...)  fma(x, __mw_horner_2(fma, x, __VA_ARGS__), c)
#define __mw_horner_4(fma, x, c, ...)  fma(x, __mw_horner_3(fma, x, __VA_ARGS__), c)
#define __mw_horner_5(fma, x, c, ...)  fma(x, __mw_horner_4(fma, x, __VA_ARGS__), c)
#define __mw_horner_6(fma, x, c, ...)  fma(x, __mw_horner_5(fma, x, __VA_ARGS__), c)
#define __mw_horner_7(fma, x, c, ...)  fma(x, __mw_horner_6(fma, x, __VA_ARGS__), c)
#define __mw_horner_8(fma, x, c, ...)  fma(x, __mw_horner_7(fma, x, __VA_ARGS__), c)
#define __mw_horner_9(fma, x, c, ...)  fma(x, __mw_horner_8(fma, x, __VA_ARGS__), c)
#define __mw_horner_10(fma, x, c, ...) fma(x, __mw_horner_9(fma, x, __VA_ARGS__), c)
#define __mw_horner_11(fma, x, c, ...) fma(x, __mw_horner_10(fma, x, __VA_ARGS__), c)
#define __mw_horner_12(fma, x, c, ...) fma(x, __mw_horner_11(fma, x, __VA_ARGS__), c)
#define __mw_horner_13(fma, x, c, ...) fma(x, __mw_horner_12(fma, x, __VA_ARGS__), c)
#define __mw_horner_14(fma, x, c, ...) fma(x, __mw_horner_13(fma, x, __VA_ARGS__), c)
#define __mw_horner_15(fma, x, c, ...) fma(x, __mw_horner_14(fma, x, __VA_ARGS__), c)
#define __mw_horner_16(fma, x, c, ...) fma(x, __mw_horner_15(fma, x, __VA_ARGS__), c)
#define __mw_horner_17(fma, x, c, ...) fma(x, __mw_horner_16(fma, x, __VA_ARGS__), c)
#define __mw_horner_18(fma, x, c, ...) fma(x, __mw_horner_17(fma, x, __VA_ARGS__), c)
#define __mw_horner_19(fma, x, c, ...) fma(x, __mw_horner_18(fma, x, __VA_ARGS__), c)
#define __mw_horner_20(fma, x, c, ...) fma(x, __mw_horner_19(fma, x, __VA_ARGS__), c)
#define __mw_horner_21(fma, x, c, ...) fma(x, __mw_horner_20(fma, x, __VA_ARGS__), c)
#define __mw_horner_22(fma, x, c, ...) fma(x, __mw_horner_21(fma, x, __VA_ARGS__), c)
#define __mw_horner_23(fma, x, c, ...) fma(x, __mw_horner_22(fma, x, __VA_ARGS__), c)
#define __mw_horner_24(fma, x, c, ...) fma(x, __mw_horner_23(fma, x, __VA_ARGS__), c)
#define __mw_horner_25(fma, x, c, ...) fma(x, __mw_horner_24(fma, x, __VA_ARGS__), c)
#define __mw_horner_26(fma, x, c, ...) fma(x, __mw_horner_25(fma, x, __VA_ARGS__), c)
#define __mw_horner_27(fma, x, c, ...) fma(x, __mw_horner_26(fma, x, __VA_ARGS__), c)
#define __mw_horner_28(fma, x, c, ...) fma(x, __mw_horner_27(fma, x, __VA_ARGS__), c)
#define __mw_horner_29(fma, x, c, ...) fma(x, __mw_horner_28(fma, x, __VA_ARGS__), c)
#define __mw_horner_30(fma, x, c, ...) fma(x, __mw_horner_29(fma, x, __VA_ARGS__), c)
#define __mw_horner_31(fma, x, c, ...) fma(x, __mw_horner_30(fma, x, __VA_ARGS__), c)
#define __mw_horner_32(fma, x, c, ...) fma(x, __mw_horner_31(fma, x, __VA_ARGS__), c)
#define __mw_horner_33(fma, x, c, ...) fma(x, __mw_horner_32(fma, x, __VA_ARGS__), c)
#define __mw_horner_34(fma, x, c, ...) fma(x, __mw_horner_33(fma, x, __VA_ARGS__), c)
#define __mw_horner_35(fma, x, c, ...) fma(x, __mw_horner_34(fma, x, __VA_ARGS__), c)
#define __mw_horner_36(fma, x, c, ...) fma(x, __mw_horner_35(fma, x, __VA_ARGS__), c)
#define __mw_horner_37(fma, x, c, ...) fma(x, __mw_horner_36(fma, x, __VA_ARGS__), c)
#define __mw_horner_38(fma, x, c, ...) fma(x, __mw_horner_37(fma, x, __VA_ARGS__), c)
#define __mw_horner_39(fma, x, c, ...) fma(x, __mw_horner_38(fma, x, __VA_ARGS__), c)
#define __mw_horner_40(fma, x, c, ...) fma(x, __mw_horner_39(fma, x, __VA_ARGS__), c)

#endif
