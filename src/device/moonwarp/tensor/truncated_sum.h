/* The sum of products as tensor cores of compute capability 9.0 round it, for eight columns at once.
 *
 *   d = c + a[0] * b[0] + … + a[n] * b[n]
 *
 * Each term is cut, towards zero, to 25 fraction bits below the largest exponent among them, where a product's exponent
 * is the sum of its factors' exponents. The sum of the cut terms is exact; rounding it is up to the caller. The model was
 * found by comparing with an H100: all of 256 random and adversarial samples of each kind are equal, bit by bit
 * (docs/notes/tensor.md).
 *
 * A number is given with its power, 2^exponent, which is 0 for 0, and for subnormal numbers that of the least normal one.
 * Products are exact, and in range, in float for half and 8-bit types, in double for bfloat16 and tf32. */
#ifndef MOONWARP_TENSOR_TRUNCATED_SUM_H
#define MOONWARP_TENSOR_TRUNCATED_SUM_H

enum { __MW_TENSOR_FRACTION = 25 };

typedef float __mw_float8 __attribute__((ext_vector_type(8)));
typedef double __mw_double8 __attribute__((ext_vector_type(8)));
typedef int __mw_int8 __attribute__((ext_vector_type(8)));
typedef unsigned __mw_uint8 __attribute__((ext_vector_type(8)));
typedef long long __mw_long8 __attribute__((ext_vector_type(8)));
typedef unsigned short __mw_ushort8 __attribute__((ext_vector_type(8)));
typedef _Float16 __mw_half8 __attribute__((ext_vector_type(8)));

/* ---- what depends on the type of products ---- */

struct __mw_tensor_in_float {
  typedef float number;
  typedef __mw_float8 vector;
  static __mw_member vector power(vector x, number least) {
    vector power = (vector)((__mw_int8)x & 0x7f800000);
    power = power > least ? power : least;
    return x == 0.0f ? (vector)0.0f : power;
  }
  /* 2^25 / power; a power below 2^-66 is taken for that: no product is so small. */
  static __mw_member vector scale(vector power) {
    __mw_int8 biased = (__mw_int8)power >> 23;
    biased = biased > 61 ? biased : 61;
    return (vector)((254 + __MW_TENSOR_FRACTION - biased) << 23);
  }
  static __mw_member __mw_double8 wide(vector x) { return __builtin_convertvector(x, __mw_double8); }
  static __mw_member vector narrow(__mw_float8 x) { return x; }
  /* Where only c is other than 0 it is the sum, and may be smaller than products are; -0 becomes 0. */
  static __mw_member __mw_double8 sum(__mw_double8 sum, vector largest, vector c) {
    return __builtin_convertvector(largest < 0x1p-60f, __mw_long8) ? wide(c) + 0.0 : sum;
  }
};
struct __mw_tensor_in_double {
  typedef double number;
  typedef __mw_double8 vector;
  static __mw_member vector power(vector x, number least) {
    vector power = (vector)((__mw_long8)x & 0x7ff0000000000000ll);
    power = power > least ? power : least;
    return x == 0.0 ? (vector)0.0 : power;
  }
  static __mw_member vector scale(vector power) { /* from 2^-300 on */
    __mw_long8 biased = (__mw_long8)power >> 52;
    biased = biased > 723 ? biased : 723;
    return (vector)((2046 + __MW_TENSOR_FRACTION - biased) << 52);
  }
  static __mw_member __mw_double8 wide(vector x) { return x; }
  static __mw_member vector narrow(__mw_float8 x) { return __builtin_convertvector(x, __mw_double8); }
  static __mw_member __mw_double8 sum(__mw_double8 sum, vector, vector) { return sum; }
};

/* ---- the sum ---- */

/* Term k is a[k * step] times the k-th vector of b. Terms are below 2^27, so that eight of them fit an int. With an
   infinity or NaN the sum is IEEE 754's. */
template <typename In, int Terms>
__mw_device_template __mw_double8 __mw_tensor_sum(const typename In::number *const (&a)[Terms],
                                                  const typename In::number *const (&power_of_a)[Terms],
                                                  const typename In::vector *b, const typename In::vector *power_of_b,
                                                  typename In::vector c, typename In::vector power_of_c) {
  __mw_exactly;
  typedef typename In::vector vector;
  vector largest = power_of_c, plain = 0;
#pragma unroll
  for (int k = 0; k < Terms; k++) {
    vector power = *power_of_a[k] * power_of_b[k];
    largest = power > largest ? power : largest;
    plain += *a[k] * b[k]; /* finite if all factors are */
  }
  vector scale = In::scale(largest);
  __mw_double8 sum = __builtin_convertvector(__builtin_convertvector(c * scale, __mw_int8), __mw_double8);
#pragma unroll
  for (int first = 0; first < Terms; first += 8) {
    __mw_int8 eight = 0;
#pragma unroll
    for (int k = first; k < first + 8 && k < Terms; k++)
      eight += __builtin_convertvector(*a[k] * b[k] * scale, __mw_int8);
    sum += __builtin_convertvector(eight, __mw_double8);
  }
  sum *= (__mw_double8)((2046ll << 52) - (__mw_long8)In::wide(scale));
  sum = In::sum(sum, largest, c);
  __mw_double8 other = In::wide(plain) + In::wide(c),
               unit = In::wide(plain) - In::wide(plain) + (In::wide(c) - In::wide(c));
  return unit == 0.0 ? sum : other;
}

/* ---- rounding ---- */

/* Towards zero, as sums are rounded to float. A sum of 2^128 and more is infinite. *is_inexact: lanes of 0 and -1. */
__mw_device __mw_float8 __mw_tensor_cut(__mw_double8 sum, __mw_int8 *is_inexact) {
  __mw_exactly;
  __mw_float8 rounded = __builtin_convertvector(sum, __mw_float8);
  __mw_double8 back = __builtin_convertvector(rounded, __mw_double8);
  __mw_double8 size = (__mw_double8)((__mw_long8)sum & 0x7fffffffffffffffll);
  __mw_double8 size_back = (__mw_double8)((__mw_long8)back & 0x7fffffffffffffffll);
  __mw_int8 is_beyond = __builtin_convertvector(size_back > size && size < 0x1p128, __mw_int8);
  *is_inexact = __builtin_convertvector(size_back != size, __mw_int8);
  return (__mw_float8)((__mw_int8)rounded + is_beyond);
}

#endif
