/* Vectors of 16 rows: the sums of a column at once, in float.
 *
 * It is the arithmetic of truncated_sum.h for factors that are 0 or between 2^-50 and 2^51, whose products are exact and
 * normal in float. Powers are exponents as in float's bits; that of 0 is less than any other. A term takes two
 * multiplications, a conversion, and three additions and comparisons of integers, of 16 rows each. */
#ifndef MOONWARP_TENSOR_ROWS_H
#define MOONWARP_TENSOR_ROWS_H

#include "moonwarp/tensor/lanes.h"
#include "moonwarp/tensor/numbers.h"

typedef unsigned __mw_uint32 __attribute__((ext_vector_type(32)));

/* Powers below that of 2^-101 are of no product, and of no C that products are added to. */
enum { __MW_TENSOR_NO_POWER = -1000, __MW_TENSOR_LEAST_POWER = 127 - 101 };

/* ---- lanes' registers as vectors ---- */

/* The words of the lanes 4g + t, g from 0 on: of `low`, rows 0 to 7, before those of `high`, rows 8 to 15. */
__mw_device __mw_uint16 __mw_tensor_rows(const unsigned *low, const unsigned *high, int t) {
  __mw_uint32 a = *(const __mw_uint32 *)low, b = *(const __mw_uint32 *)high;
#define __mw_rows(t)                                                                                                   \
  __builtin_shufflevector(a, b, t, 4 + t, 8 + t, 12 + t, 16 + t, 20 + t, 24 + t, 28 + t, 32 + t, 36 + t, 40 + t,       \
                          44 + t, 48 + t, 52 + t, 56 + t, 60 + t)
  return t == 0 ? __mw_rows(0) : t == 1 ? __mw_rows(1) : t == 2 ? __mw_rows(2) : __mw_rows(3);
#undef __mw_rows
}
__mw_device __mw_uint8 __mw_tensor_column_words(const unsigned *from, int t) {
  __mw_uint16 all = __mw_tensor_rows(from, from, t);
  return __builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Columns of 16 rows, back: columns 2t and 2t + 1 of row g are in registers 0 and 1 of lane 4g + t, those of row g + 8 in
   registers 2 and 3. */
__mw_device void __mw_tensor_put_rows(unsigned *out, const __mw_uint16 *columns) {
#pragma unroll
  for (int odd = 0; odd < 2; odd++) {
    __mw_uint32 even =
        __builtin_shufflevector(columns[odd], columns[2 + odd], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                                8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    __mw_uint32 next =
        __builtin_shufflevector(columns[4 + odd], columns[6 + odd], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
                                23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    *(__mw_uint32 *)(out + 32 * odd) =
        __builtin_shufflevector(even, next, 0, 1, 32, 33, 2, 3, 34, 35, 4, 5, 36, 37, 6, 7, 38, 39, 8, 9, 40, 41, 10,
                                11, 42, 43, 12, 13, 44, 45, 14, 15, 46, 47);
    *(__mw_uint32 *)(out + 64 + 32 * odd) =
        __builtin_shufflevector(even, next, 16, 17, 48, 49, 18, 19, 50, 51, 20, 21, 52, 53, 22, 23, 54, 55, 24, 25, 56,
                                57, 26, 27, 58, 59, 28, 29, 60, 61, 30, 31, 62, 63);
  }
}

/* ---- numbers ---- */

#define __mw_join(low, high) __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define __mw_low(x)          __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7)
#define __mw_high(x)         __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)

template <typename T> __mw_device_template __mw_float16 __mw_tensor_numbers16(__mw_uint16 words, int n) {
  return __mw_join(T::numbers(__mw_low(words), n), T::numbers(__mw_high(words), n));
}
template <typename T> __mw_device_template __mw_float16 __mw_tensor_numbers16(__mw_uint16 bits) {
  return __mw_join(T::numbers(__mw_low(bits)), T::numbers(__mw_high(bits)));
}
template <typename T> __mw_device_template __mw_uint16 __mw_tensor_nearest16(__mw_float16 x) {
  return __mw_join(T::nearest(__mw_low(x)), T::nearest(__mw_high(x)));
}

__mw_device __mw_int16 __mw_tensor_power(__mw_float16 x, float least) {
  __mw_int16 power = (__mw_int16)x >> 23 & 255, lower = __float_as_int(least) >> 23;
  power = power > lower ? power : lower;
  return x == 0.0f ? (__mw_int16)__MW_TENSOR_NO_POWER : power;
}
/* Whether it is other than 0 and not between 2^-50 and 2^51, or not a finite number: lanes of 0 and -1. */
__mw_device __mw_int16 __mw_tensor_is_beyond(__mw_float16 x) {
  __mw_uint16 size = (__mw_uint16)x & 0x7fffffffu;
  return size - ((127u - 50u) << 23) >= (101u << 23) & size != 0u;
}

/* ---- the sum ---- */

/* c + the sum of `terms` products of a[k] and b[8 * k], rounded to `To`, as bits. */
template <typename To>
__mw_device_template __mw_uint16 __mw_tensor_sum16(const __mw_float16 *a, const __mw_int16 *power_of_a, const float *b,
                                                   const int *power_of_b, int terms, __mw_float16 c, float least) {
  __mw_exactly;
  __mw_int16 largest = __MW_TENSOR_NO_POWER;
#pragma unroll
  for (int k = 0; k < terms; k++) {
    __mw_int16 power = power_of_a[k] + power_of_b[8 * k];
    largest = power > largest ? power : largest;
  }
  __mw_int16 of_c = __mw_tensor_power(c, least), none = __MW_TENSOR_LEAST_POWER;
  largest -= 127;
  largest = largest > of_c ? largest : of_c;
  __mw_int16 has_products = largest >= none;
  largest = largest > none ? largest : none;
  __mw_float16 scale = (__mw_float16)((254 + (int)__MW_TENSOR_FRACTION - largest) << 23);
  __mw_int16 terms_of_c = __builtin_convertvector(c * scale, __mw_int16);
  /* The sum is 256 * high + low: eight terms fit an int, all of them may not. */
  __mw_int16 high = terms_of_c >> 8, low = terms_of_c & 255;
#pragma unroll
  for (int first = 0; first < terms; first += 8) {
    __mw_int16 eight = 0;
#pragma unroll
    for (int k = first; k < first + 8 && k < terms; k++)
      eight += __builtin_convertvector(a[k] * b[8 * k] * scale, __mw_int16);
    high += eight >> 8, low += eight & 255;
  }
  high += low >> 8, low &= 255;
  /* Towards zero: one less where rounding to the nearest increased the size. */
  __mw_float16 x = __builtin_convertvector(high, __mw_float16) * 256.0f, y = __builtin_convertvector(low, __mw_float16);
  __mw_float16 sum = x + y, error = y - (sum - x);
  sum = (__mw_float16)((__mw_int16)sum + (error * sum < 0.0f));
  sum *= (__mw_float16)((largest - (int)__MW_TENSOR_FRACTION) << 23);
  /* Where only c is other than 0 it is the sum; -0 becomes 0. */
  sum = has_products ? sum : c + 0.0f;
  __mw_int16 is_inexact = has_products & error != 0.0f;
  return __mw_join(To::rounded(__mw_low(sum), __mw_low(is_inexact)),
                   To::rounded(__mw_high(sum), __mw_high(is_inexact)));
}

#endif
