/* Products of matrices of floating-point numbers in vectors of 16 lanes (lanes.h).
 *
 * It is the arithmetic of truncated_sum.h for factors that are 0 or between 2^-42 and 2^43, whose products are exact and
 * normal in float. A term takes two multiplications (the product, and the shift to the common exponent), a conversion that
 * cuts it, and an addition. The largest exponent of a sum's products is found before, in bytes: those of four vectors of
 * sums are in one. Their order is that of lanes, and of 2 * row + half in each lane. */
#ifndef MOONWARP_TENSOR_FLOAT_PRODUCT_H
#define MOONWARP_TENSOR_FLOAT_PRODUCT_H

#include "moonwarp/tensor/lanes.h"
#include "moonwarp/tensor/numbers.h"

typedef signed char __mw_char64 __attribute__((ext_vector_type(64)));

/* Exponents of factors, and those of products that are least, in bytes. The exponent of 0 is so small that sums with it
   are less. C's are less than that of 2^-101 only if the whole sum is C. */
enum { __MW_TENSOR_WINDOW = 42, __MW_TENSOR_LEAST_PRODUCT = -2 * __MW_TENSOR_WINDOW, __MW_TENSOR_LEAST_POWER = -101 };

/* ---- exponents ---- */

/* float's exponents, with their bias, as float has them */
__mw_device __mw_uint16 __mw_tensor_biased(__mw_float16 x, int byte) {
  __mw_uint16 bits = (__mw_uint16)x;
  bits = byte == 3 ? bits << 1 : bits >> (23 - 8 * byte);
  return bits & 255u << 8 * byte;
}

/* As signed bytes: without the bias, at least that of `least`, and -127 for 0. */
__mw_device __mw_char64 __mw_tensor_powers(__mw_uint16 biased, float least) {
  __mw_uchar64 bytes = (__mw_uchar64)biased, lower = (unsigned char)(__float_as_int(least) >> 23);
  __mw_uchar64 raised = bytes > lower ? bytes : lower;
  return (__mw_char64)((bytes == 0 ? bytes : raised) - 127);
}

/* Byte n of each lane, four times. */
__mw_device __mw_uint16 __mw_tensor_repeat(__mw_char64 x, int n) {
#define __mw_four(l, n)    4 * (l) + n, 4 * (l) + n, 4 * (l) + n, 4 * (l) + n
#define __mw_sixteen(l, n) __mw_four(l, n), __mw_four(l + 1, n), __mw_four(l + 2, n), __mw_four(l + 3, n)
#define __mw_all(n)        __mw_sixteen(0, n), __mw_sixteen(4, n), __mw_sixteen(8, n), __mw_sixteen(12, n)
  return (__mw_uint16)(n == 0 ? __builtin_shufflevector(x, x, __mw_all(0))
                              : __builtin_shufflevector(x, x, __mw_all(1)));
#undef __mw_four
#undef __mw_sixteen
#undef __mw_all
}

__mw_device __mw_int16 __mw_tensor_power_of_sum(__mw_float16 c, float least) {
  __mw_int16 power = ((__mw_int16)c >> 23 & 255) - 127, lower = (__float_as_int(least) >> 23) - 127;
  if (least == 0x1p-126f) return power;
  return c == 0.0f ? power : power > lower ? power : lower;
}

/* ---- sums ---- */

/* Rounded towards zero: mwcc has an instruction for it (src/mwcc/machine/x86_tensor.c). */
__mw_device __mw_float16 __mw_toward_zero16(__mw_int16 x) {
  __mw_float16 high = __builtin_convertvector(x & ~255, __mw_float16);
  __mw_float16 low = __builtin_convertvector(x & 255, __mw_float16);
  __mw_float16 sum = high + low, error = low - (sum - high);
  return (__mw_float16)((__mw_int16)sum + (error * sum < 0.0f));
}

#define __mw_low(x)  __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7)
#define __mw_high(x) __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)
template <typename V, typename Half> __mw_device_template V __mw_tensor_join(Half low, Half high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
template <typename T> __mw_device_template __mw_float16 __mw_tensor_numbers16(__mw_uint16 bits) {
  return __mw_tensor_join<__mw_float16>(T::numbers(__mw_low(bits)), T::numbers(__mw_high(bits)));
}
template <typename T> __mw_device_template __mw_uint16 __mw_tensor_nearest16(__mw_float16 x) {
  return __mw_tensor_join<__mw_uint16>(T::nearest(__mw_low(x)), T::nearest(__mw_high(x)));
}
template <typename T> __mw_device_template __mw_uint16 __mw_tensor_rounded16(__mw_float16 cut, __mw_int16 is_inexact) {
  return __mw_tensor_join<__mw_uint16>(T::rounded(__mw_low(cut), __mw_low(is_inexact)),
                                       T::rounded(__mw_high(cut), __mw_high(is_inexact)));
}

/* Whether numbers are whole, and the greatest of their sizes. An infinity or NaN is whole and the greatest. */
struct __mw_tensor_whole {
  __mw_uint16 differs, sizes;
  __mw_member __mw_tensor_whole() : differs(0), sizes(0) {}
  __mw_member void add(__mw_float16 x) {
    differs |= (__mw_uint16)x ^ (__mw_uint16)__builtin_elementwise_trunc(x);
    __mw_uint16 size = (__mw_uint16)x & 0x7fffffffu;
    sizes = size > sizes ? size : sizes;
  }
  __mw_member bool is_whole() const { return !__builtin_reduce_or(differs != 0u); }
  __mw_member float most() const { return __uint_as_float(__builtin_reduce_max(sizes)); }
};

/* The factors of a warp, and their exponents in bytes. Those of A are in the lanes that have them: number n of the words
   w, [2 * row + half]. Those of B are turned: of even and of odd columns, those of the lanes t of four columns. */
template <typename Left, typename Right, int Words> struct __mw_tensor_factors {
  enum { in_word = Left::in_word };
  __mw_float16 a[Words][in_word][4], b[Words][in_word][2];
  __mw_uint16 power_of_a[Words][in_word], power_of_b[Words][in_word][2];

  __mw_member void load(const __mw_tensor_lanes &lanes) {
#pragma unroll
    for (int w = 0; w < Words; w++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        __mw_uint16 words = __mw_tensor_half(lanes.left(2 * w + i / 2), i % 2);
#pragma unroll
        for (int n = 0; n < in_word; n++) a[w][n][i] = Left::numbers16(words, n);
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        __mw_uint16 words = __mw_tensor_turned(lanes.right(w), i);
#pragma unroll
        for (int n = 0; n < in_word; n++) b[w][n][i] = Right::numbers16(words, n);
      }
    }
  }

  /* Find the exponents. Returns whether all factors are in the window. */
  __mw_member bool find_powers(const __mw_tensor_lanes &lanes) {
    __mw_uchar64 most = 0;
    typename Left::sizes least_left = Left::most();
    typename Right::sizes least_right = Right::most();
#pragma unroll
    for (int w = 0; w < Words; w++) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        least_left = Left::least_size(least_left, __mw_tensor_half(lanes.left(2 * w + i / 2), i % 2));
#pragma unroll
      for (int i = 0; i < 2; i++) least_right = Right::least_size(least_right, __mw_tensor_half(lanes.right(w), i));
#pragma unroll
      for (int n = 0; n < in_word; n++) {
        __mw_uint16 of_left = 0, of_right = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) of_left |= __mw_tensor_biased(a[w][n][i], i);
#pragma unroll
        for (int i = 0; i < 2; i++) of_right |= __mw_tensor_biased(b[w][n][i], i);
        most = (__mw_uchar64)of_left > most ? (__mw_uchar64)of_left : most;
        most = (__mw_uchar64)of_right > most ? (__mw_uchar64)of_right : most;
        power_of_a[w][n] = (__mw_uint16)__mw_tensor_powers(of_left, Left::least());
        __mw_char64 both = __mw_tensor_powers(of_right, Right::least());
        power_of_b[w][n][0] = __mw_tensor_repeat(both, 0);
        power_of_b[w][n][1] = __mw_tensor_repeat(both, 1);
      }
    }
    return !(__builtin_reduce_or(most > (unsigned char)(127 + __MW_TENSOR_WINDOW)) || Left::is_below(least_left) ||
             Right::is_below(least_right));
  }

  /* If all factors are whole numbers, no sum of products is larger than this; else -1. */
  __mw_member float most_of_whole() const {
    __mw_tensor_whole left, right;
#pragma unroll
    for (int w = 0; w < Words; w++) {
#pragma unroll
      for (int n = 0; n < in_word; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) left.add(a[w][n][i]);
        right.add(b[w][n][0]);
        right.add(b[w][n][1]);
      }
    }
    return left.is_whole() && right.is_whole() ? 4 * Words * in_word * left.most() * right.most() : -1;
  }

  /* Sums that float holds exactly. */
  __mw_member void sum_whole(__mw_float16 (&sums)[2][4]) const {
    _Pragma("clang fp contract(fast)");
#pragma unroll
    for (int i = 0; i < 4; i++) sums[0][i] = sums[1][i] = 0;
#pragma clang loop unroll(disable)
    for (int w = 0; w < Words; w++) {
#pragma unroll
      for (int n = 0; n < in_word; n++) {
#pragma unroll
        for (int t = 0; t < 4; t++) {
          __mw_float16 even = __mw_tensor_four<__mw_float4>(b[w][n][0], t),
                       odd = __mw_tensor_four<__mw_float4>(b[w][n][1], t);
#pragma unroll
          for (int i = 0; i < 4; i++) {
            __mw_float16 left = __mw_tensor_quad(a[w][n][i], t);
            sums[0][i] = left * even + sums[0][i];
            sums[1][i] = left * odd + sums[1][i];
          }
        }
      }
    }
  }

  /* The largest exponents of products, of even and of odd columns: of the numbers `first` to `last` of words. */
  __mw_member void largest(__mw_char64 (&most)[2], int first, int last) const {
    most[0] = most[1] = -128;
#pragma clang loop unroll(disable)
    for (int w = 0; w < Words; w++) {
#pragma unroll
      for (int n = first; n <= last; n++) {
#pragma unroll
        for (int t = 0; t < 4; t++) {
          __mw_char64 left = (__mw_char64)__mw_tensor_quad(power_of_a[w][n], t);
#pragma unroll
          for (int odd = 0; odd < 2; odd++) {
            __mw_char64 right = (__mw_char64)__mw_tensor_four<__mw_uint4>(power_of_b[w][n][odd], t);
            __mw_char64 power = __builtin_elementwise_add_sat(left, right);
            most[odd] = power > most[odd] ? power : most[odd];
          }
        }
      }
    }
  }

  /* Sums of the products, cut after multiplication by `scale`: [odd][2 * row + half]. */
  __mw_member void sum(__mw_int16 (&sums)[2][4], const __mw_float16 (&scale)[2][4], int first, int last) const {
    __mw_exactly;
#pragma unroll
    for (int i = 0; i < 4; i++) sums[0][i] = sums[1][i] = 0;
#pragma clang loop unroll(disable)
    for (int w = 0; w < Words; w++) {
#pragma unroll
      for (int n = first; n <= last; n++) {
#pragma unroll
        for (int t = 0; t < 4; t++) {
          __mw_float16 even = __mw_tensor_four<__mw_float4>(b[w][n][0], t),
                       odd = __mw_tensor_four<__mw_float4>(b[w][n][1], t);
#pragma unroll
          for (int i = 0; i < 4; i++) {
            __mw_float16 left = __mw_tensor_quad(a[w][n][i], t);
            sums[0][i] += __builtin_convertvector(left * even * scale[0][i], __mw_int16);
            sums[1][i] += __builtin_convertvector(left * odd * scale[1][i], __mw_int16);
          }
        }
      }
    }
  }
};

/* ---- products ---- */

/* c + products, as bits: [odd][2 * row + half]. Returns whether no sum was too large for an integer. */
template <typename To, typename Factors>
__mw_device_template bool __mw_tensor_add_products(const Factors &factors, __mw_uint16 (&d)[2][4],
                                                   const __mw_float16 (&c)[2][4], float least, int first, int last) {
  __mw_exactly;
  __mw_char64 most[2];
  __mw_float16 scale[2][4];
  __mw_int16 sums[2][4], is_beyond = 0;
  factors.largest(most, first, last);
#pragma unroll
  for (int odd = 0; odd < 2; odd++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      __mw_int16 power = (__mw_int16)most[odd] << (24 - 8 * i) >> 24, of_c = __mw_tensor_power_of_sum(c[odd][i], least);
      __mw_int16 largest = power > of_c ? power : of_c, lower = __MW_TENSOR_LEAST_POWER;
      largest = largest > lower ? largest : lower;
      scale[odd][i] = (__mw_float16)((127 + (int)__MW_TENSOR_FRACTION - largest) << 23);
    }
  }
  factors.sum(sums, scale, first, last);
#pragma unroll
  for (int odd = 0; odd < 2; odd++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      __mw_float16 x = c[odd][i];
      __mw_int16 of_c = __builtin_convertvector(x * scale[odd][i], __mw_int16), products = sums[odd][i];
      __mw_int16 total = (__mw_int16)((__mw_uint16)products + (__mw_uint16)of_c);
      is_beyond |= (products ^ total) & (of_c ^ total);
      __mw_float16 cut = __mw_toward_zero16(total);
      __mw_int16 has_products = ((__mw_int16)most[odd] << (24 - 8 * i) >> 24) >= (int)__MW_TENSOR_LEAST_PRODUCT;
      __mw_int16 is_inexact =
          To::is_narrow ? has_products & (__builtin_convertvector(cut, __mw_int16) != total) : (__mw_int16)0;
      cut *= (__mw_float16)((254 << 23) - (__mw_int16)scale[odd][i]);
      /* Where only c is other than 0 it is the sum; -0 becomes 0. */
      cut = has_products ? cut : x + 0.0f;
      d[odd][i] = __mw_tensor_rounded16<To>(cut, is_inexact);
    }
  }
  return !__builtin_reduce_or(is_beyond < 0);
}

__mw_device __mw_int16 __mw_tensor_is_finite(__mw_float16 x) { return ((__mw_int16)x & 0x7f800000) != 0x7f800000; }

__mw_device void __mw_tensor_put(unsigned *out, const __mw_uint16 (&d)[2][4]) {
#pragma unroll
  for (int i = 0; i < 8; i++) *(__mw_uint16 *)(out + 32 * (i % 4 / 2 * 2 + i / 4) + 16 * (i % 2)) = d[i / 4][i % 4];
}

/* Whether the product may be one of whole numbers: some of the first are. */
template <typename Left, typename Right, typename To>
__mw_device_template bool __mw_tensor_may_be_whole(const unsigned *in) {
  if (Left::in_word > Left::group && To::is_narrow) return false; /* which is rounded in between */
  const __mw_tensor_lanes lanes = {in};
  __mw_tensor_whole some;
  some.add(Left::numbers16(__mw_tensor_half(lanes.left(0), 0), 0));
  some.add(Right::numbers16(__mw_tensor_half(lanes.right(0), 0), 0));
  return some.is_whole();
}

/* The product of whole numbers whose sums float holds: integers below 2^24, for which the order of additions and the place
   where terms are cut do not matter. With types of two groups C is added last, rounded to the nearest, as it always is. */
template <typename Left, typename Right, typename From, typename To, int Words>
__mw_tensor_of_warp bool __mw_tensor_multiply_whole(const unsigned *in, unsigned *out) {
  __mw_exactly;
  enum { groups = Left::in_word / Left::group };
  const __mw_tensor_lanes lanes = {in};
  __mw_tensor_factors<Left, Right, Words> factors;
  factors.load(lanes);
  float most = factors.most_of_whole();
  if (!(most >= 0)) return false;
  __mw_float16 c[2][4], sums[2][4];
  __mw_uint16 d[2][4];
  __mw_tensor_whole of_c;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    c[i / 4][i % 4] = __mw_tensor_numbers16<From>(__mw_tensor_half(lanes.sums(i % 4 / 2 * 2 + i / 4), i % 2));
    if (groups == 1) of_c.add(c[i / 4][i % 4]);
  }
  if (!of_c.is_whole() || !(most + of_c.most() < 0x1p24f)) return false;
  factors.sum_whole(sums);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    __mw_float16 sum = sums[i / 4][i % 4] + c[i / 4][i % 4];
    d[i / 4][i % 4] = groups == 1 ? __mw_tensor_rounded16<To>(sum, 0) : __mw_tensor_nearest16<To>(sum);
  }
  __mw_tensor_put(out, d);
  return true;
}

/* The product if all factors are in the window and no sum is too large for an integer. */
template <typename Left, typename Right, typename From, typename To, int Words>
__mw_device_template bool __mw_tensor_multiply_floats(const unsigned *in, unsigned *out) {
  __mw_exactly;
  enum { in_group = Left::group, groups = Left::in_word / in_group };
  const __mw_tensor_lanes lanes = {in};
  __mw_tensor_factors<Left, Right, Words> factors;
  __mw_float16 c[2][4];
  __mw_uint16 d[2][4];
  __mw_uint16 size_of_c = 0;
#pragma unroll
  for (int odd = 0; odd < 2; odd++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      c[odd][i] = __mw_tensor_numbers16<From>(__mw_tensor_half(lanes.sums(i / 2 * 2 + odd), i % 2));
      __mw_uint16 size = (__mw_uint16)c[odd][i] & 0x7fffffffu;
      size_of_c = size > size_of_c ? size : size_of_c;
    }
  }
  factors.load(lanes);
  if (!factors.find_powers(lanes)) return false;
  if (groups == 1) {
    /* Where C is infinite or NaN, so is the sum. */
    bool has_special = __builtin_reduce_or(size_of_c >= 0x7f800000u);
    __mw_float16 finite[2][4];
#pragma unroll
    for (int i = 0; i < 8; i++) finite[i / 4][i % 4] = c[i / 4][i % 4];
    if (has_special) {
#pragma unroll
      for (int i = 0; i < 8; i++)
        finite[i / 4][i % 4] = __mw_tensor_is_finite(c[i / 4][i % 4]) ? c[i / 4][i % 4] : (__mw_float16)0.0f;
    }
    if (!__mw_tensor_add_products<To>(factors, d, finite, From::least(), 0, in_group - 1)) return false;
    if (has_special) {
#pragma unroll
      for (int i = 0; i < 8; i++) {
        __mw_uint16 special = __mw_tensor_nearest16<To>(c[i / 4][i % 4]);
        d[i / 4][i % 4] = __mw_tensor_is_finite(c[i / 4][i % 4]) ? d[i / 4][i % 4] : special;
      }
    }
  } else {
    __mw_float16 sum[2][4];
    __mw_uint16 size_of_sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) sum[i / 4][i % 4] = 0;
#pragma unroll
    for (int group = 0; group < groups; group++) {
      if (!__mw_tensor_add_products<To>(factors, d, sum, To::least(), group * in_group,
                                        group * in_group + in_group - 1))
        return false;
#pragma unroll
      for (int i = 0; i < 8; i++) {
        sum[i / 4][i % 4] = __mw_tensor_numbers16<To>(d[i / 4][i % 4]);
        __mw_uint16 size = (__mw_uint16)sum[i / 4][i % 4] & 0x7fffffffu;
        size_of_sum = size > size_of_sum ? size : size_of_sum;
      }
      if (__builtin_reduce_or(size_of_sum >= 0x7f800000u)) return false;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) d[i / 4][i % 4] = __mw_tensor_nearest16<To>(sum[i / 4][i % 4] + c[i / 4][i % 4]);
  }
  __mw_tensor_put(out, d);
  return true;
}

#undef __mw_low
#undef __mw_high

#endif
