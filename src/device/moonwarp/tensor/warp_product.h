/* Products of small matrices by a warp on the CPU device: D = A * B + C, where each lane holds some elements of each.
 *
 * The rows of A, 16 or 8, and the columns of B, 8, are spread as PTX's mma.sync spreads them (PTX ISA, "Matrix fragments
 * for mma"). With g = lane / 4 and t = lane % 4:
 *
 *   A   registers 0, Rows, 2 Rows, …: a part of row g, in lanes 4g to 4g + 3; with Rows = 2, those between: row g + 8
 *   B   registers 0, 1, …: a part of column g
 *   C   0 and 1: row g, columns 2t and 2t + 1; with Rows = 2, registers 2 and 3: row g + 8
 *
 * Numbers at the same place of a row and a column are multiplied; which place that is in the whole matrix does not matter
 * to an exact sum.
 *
 * One call of a function computes a whole warp's product: mwcc stores the lanes' registers one after the other, calls it,
 * and loads the results (__mw_warp_apply; src/mwcc/widen/calls/warp_helper.c). So the product is code of its own, in
 * vectors, however many products a kernel has. */
#ifndef MOONWARP_TENSOR_WARP_PRODUCT_H
#define MOONWARP_TENSOR_WARP_PRODUCT_H

#include "moonwarp/tensor/float_product.h"
#include "moonwarp/tensor/integer_product.h"

__mw_device __mw_uint8 __mw_tensor_load(const unsigned *from) { return *(const __mw_uint8 *)from; }

/* Register `word` of B of the lanes 4g + t, g from 0 on: a part of each column. */
__mw_device __mw_uint8 __mw_tensor_columns(const __mw_tensor_lanes &lanes, int word, int t) {
  const unsigned *from = lanes.right(word) + t;
  return (__mw_uint8){from[0], from[4], from[8], from[12], from[16], from[20], from[24], from[28]};
}

/* Row `row` of C: columns 2t and 2t + 1 are in lane 4g + t. */
__mw_device __mw_uint8 __mw_tensor_sums(const __mw_tensor_lanes &lanes, int row) {
  const unsigned *even = lanes.sums(row / 8 * 2) + row % 8 * 4, *odd = even + 32;
  return (__mw_uint8){even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]};
}
__mw_device void __mw_tensor_put(unsigned *out, int row, __mw_uint8 sums) {
  unsigned *even = out + 32 * (row / 8 * 2) + row % 8 * 4, *odd = even + 32;
#pragma unroll
  for (int t = 0; t < 4; t++) {
    even[t] = sums[2 * t];
    odd[t] = sums[2 * t + 1];
  }
}

/* ---- floating point ---- */

/* With types of two groups C is added last, to a sum that was rounded, as the hardware does. */
template <typename Left, typename Right, typename From, typename To, int Words>
__mw_tensor_of_warp void __mw_tensor_multiply_any(const unsigned *in, unsigned *out) {
  __mw_exactly;
  typedef typename Left::in arithmetic;
  typedef typename arithmetic::number number;
  typedef typename arithmetic::vector vector;
  enum { in_word = Left::in_word, in_group = Left::group, groups = in_word / in_group, terms = 4 * Words * in_group };
  const __mw_tensor_lanes lanes = {in};
  /* number n of word w of lane l, for row l / 4 and, at [1], row 8 + l / 4 */
  vector a[2][Words][in_word][4], power_of_a[2][Words][in_word][4];
  vector b[groups][terms], power_of_b[groups][terms];
  for (int w = 0; w < Words; w++) {
#pragma unroll
    for (int n = 0; n < in_word; n++) {
      for (int half = 0; half < 2; half++) {
        for (int l = 0; l < 4; l++) {
          vector numbers = arithmetic::narrow(Left::numbers(__mw_tensor_load(lanes.left(2 * w + half) + 8 * l), n));
          a[half][w][n][l] = numbers;
          power_of_a[half][w][n][l] = arithmetic::power(numbers, Left::least());
        }
      }
      for (int t = 0; t < 4; t++) {
        vector numbers = arithmetic::narrow(Right::numbers(__mw_tensor_columns(lanes, w, t), n));
        int at = (w * 4 + t) * in_group + n % in_group;
        b[n / in_group][at] = numbers;
        power_of_b[n / in_group][at] = arithmetic::power(numbers, Right::least());
      }
    }
  }
  for (int row = 0; row < 16; row++) {
    __mw_uint8 c = __mw_tensor_sums(lanes, row), sum = groups == 1 ? c : (__mw_uint8)0;
#pragma unroll
    for (int group = 0; group < groups; group++) {
      const number *factors[terms], *powers[terms];
#pragma unroll
      for (int k = 0; k < terms; k++) {
        int w = k / in_group / 4, t = k / in_group % 4, n = group * in_group + k % in_group, lane = row % 8 * 4 + t;
        factors[k] = (const number *)a[row / 8][w][n] + lane;
        powers[k] = (const number *)power_of_a[row / 8][w][n] + lane;
      }
      vector before = arithmetic::narrow(groups == 1 ? From::numbers(sum) : To::numbers(sum));
      float least = groups == 1 ? From::least() : To::least();
      sum = To::rounded(__mw_tensor_sum<arithmetic>(factors, powers, b[group], power_of_b[group], before,
                                                    arithmetic::power(before, least)));
    }
    if (groups > 1) sum = To::nearest(To::numbers(sum) + From::numbers(c));
    __mw_tensor_put(out, row, sum);
  }
}

/* The usual cases in vectors of 16 lanes, in float. */
template <typename Left, typename Right, typename From, typename To, int Words>
__mw_tensor_of_warp void __mw_tensor_multiply(const unsigned *in, unsigned *out) {
  if (__mw_tensor_may_be_whole<Left, Right, To>(in) &&
      __mw_tensor_multiply_whole<Left, Right, From, To, Words>(in, out))
    return;
  if (!__mw_tensor_multiply_floats<Left, Right, From, To, Words>(in, out))
    __mw_tensor_multiply_any<Left, Right, From, To, Words>(in, out);
}

/* ---- doubles ---- */

/* 8 x 8 by 4, of doubles: a chain of fused multiply-adds. */
__mw_device void __mw_tensor_multiply_doubles(double *d, double left, double right, const double *c) {
  unsigned lane = __nvvm_read_ptx_sreg_laneid(), quad = lane & ~3u, column = lane % 4 * 8;
  double first = c[0], second = c[1];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    double a = __shfl_sync(0xffffffffu, left, (int)(quad + k));
    first = fma(a, __shfl_sync(0xffffffffu, right, (int)(column + k)), first);
    second = fma(a, __shfl_sync(0xffffffffu, right, (int)(column + 4 + k)), second);
  }
  d[0] = first;
  d[1] = second;
}

/* ---- a warp's call ---- */

/* Four registers: 0 and 1 in `low`. */
struct __mw_tensor_result {
  unsigned long long low, high;
};
__mw_import __mw_tensor_result __mw_warp_apply(void (*)(const unsigned *, unsigned *), unsigned, unsigned, unsigned,
                                               unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned);

/* d = the function of a, b and c, which have as many registers as stated; others are 0. */
template <int Left, int Right, int Sums>
__mw_device_template void __mw_tensor_apply(void (*function)(const unsigned *, unsigned *), unsigned *d,
                                            const unsigned *a, const unsigned *b, const unsigned *c) {
  __mw_tensor_result result =
      __mw_warp_apply(function, a[0], Left > 1 ? a[1] : 0, Left > 2 ? a[2] : 0, Left > 3 ? a[3] : 0, b[0],
                      Right > 1 ? b[1] : 0, c[0], c[1], Sums > 2 ? c[2] : 0, Sums > 2 ? c[3] : 0);
  d[0] = (unsigned)result.low;
  d[1] = (unsigned)(result.low >> 32);
  if (Sums > 2) {
    d[2] = (unsigned)result.high;
    d[3] = (unsigned)(result.high >> 32);
  }
}

#endif
