/* Products of a sparse matrix A and a matrix B by a warp on the CPU device, as PTX's mma.sp has them.
 *
 * Half of the numbers of each row of A are stored, spread over lanes and registers as those of a dense matrix
 * (warp_product.h). The metadata says which column each has: two bits for each of two numbers, or pairs of 4-bit
 * numbers, among four; for tf32 four bits for one number among two. Words have those of a row's stored numbers in
 * order, from the least bit on. A sum's terms are the stored numbers times those of B in their columns; what else is
 * in B, infinities and NaN too, does not matter. They are rounded as dense products are, with as many terms.
 *
 * Registers: those of a dense product, then B's third and fourth, the metadata, and the sparsity selector, which says
 * which lanes of a quad have the metadata. */
#ifndef MOONWARP_TENSOR_SPARSE_PRODUCT_H
#define MOONWARP_TENSOR_SPARSE_PRODUCT_H

#include "moonwarp/tensor/warp_product.h"

struct __mw_tensor_sparse_lanes {
  __mw_tensor_lanes dense, more;
  const unsigned *metadata, *selector;
  __mw_member __mw_tensor_sparse_lanes(const unsigned *in) {
    dense.all = in;
    more.all = in + 32 * (__MW_TENSOR_RIGHT + __MW_TENSOR_SUMS);
    metadata = in + 32 * 12;
    selector = metadata + 32;
  }
  /* Register `word` of B, of 0 to 3, of the lanes 4g + t: a part of each column. */
  __mw_member __mw_uint8 columns(int word, int t) const {
    return word < 2 ? __mw_tensor_columns(dense, word, t) : __mw_tensor_columns(more, word - 2, t);
  }
  /* A row's metadata: 16, 32 or 64 bits. Two lanes have 32 bits of both rows of a quad: each half of both rows if
     numbers have 16 bits or more, else each those of one row. */
  __mw_member unsigned long long of_row(int row, int bits, bool halves) const {
    const unsigned *quad = metadata + row % 8 * 4;
    int second = row / 8, from = (int)selector[0];
    if (bits == 16) return quad[from & 3] >> 16 * second & 0xffffu;
    if (bits == 64) return quad[second] | (unsigned long long)quad[2 + second] << 32;
    const unsigned *two = quad + (from & 1) * 2;
    if (!halves) return two[second];
    return (two[0] >> 16 * second & 0xffffu) | (two[1] >> 16 * second & 0xffffu) << 16;
  }
};

/* The column of a row's stored number. */
__mw_device int __mw_tensor_column_of(unsigned long long metadata, int stored, int size) {
  if (size == 32) return stored * 2 + (int)(metadata >> (4 * stored + 1) & 1);
  if (size == 4) return stored / 4 * 8 + (int)(metadata >> stored / 2 * 2 & 3) * 2 + stored % 2;
  return stored / 2 * 4 + (int)(metadata >> 2 * stored & 3);
}

template <typename Left, typename Right, typename From, typename To, int Words>
__mw_tensor_of_warp void __mw_tensor_multiply_sparse(const unsigned *in, unsigned *out) {
  __mw_exactly;
  typedef typename Left::in arithmetic;
  typedef typename arithmetic::number number;
  typedef typename arithmetic::vector vector;
  enum {
    in_word = Left::in_word,
    in_group = Left::group,
    groups = in_word / in_group,
    size = 32 / in_word,
    stored = 4 * Words * in_word,
    terms = 4 * Words * in_group
  };
  const __mw_tensor_sparse_lanes lanes(in);
  vector a[2][Words][in_word][4], power_of_a[2][Words][in_word][4], b[2 * stored], power_of_b[2 * stored];
  for (int w = 0; w < 2 * Words; w++) {
#pragma unroll
    for (int n = 0; n < in_word; n++) {
      for (int l = 0; l < 4; l++) {
        vector left = arithmetic::narrow(Left::numbers(__mw_tensor_load(lanes.dense.left(w) + 8 * l), n));
        a[w % 2][w / 2][n][l] = left;
        power_of_a[w % 2][w / 2][n][l] = arithmetic::power(left, Left::least());
        vector right = arithmetic::narrow(Right::numbers(lanes.columns(w, l), n));
        b[(w * 4 + l) * in_word + n] = right;
        power_of_b[(w * 4 + l) * in_word + n] = arithmetic::power(right, Right::least());
      }
    }
  }
  for (int row = 0; row < 16; row++) {
    unsigned long long metadata = lanes.of_row(row, stored * (size == 32 ? 4 : 2), size >= 16);
    __mw_uint8 c = __mw_tensor_sums(lanes.dense, row), sum = groups == 1 ? c : (__mw_uint8)0;
#pragma unroll
    for (int group = 0; group < groups; group++) {
      const number *factors[terms], *powers[terms];
      vector some[terms], power_of_some[terms];
#pragma unroll
      for (int k = 0; k < terms; k++) {
        int w = k / in_group / 4, t = k / in_group % 4, n = group * in_group + k % in_group, lane = row % 8 * 4 + t;
        int column = __mw_tensor_column_of(metadata, (w * 4 + t) * in_word + n, size);
        factors[k] = (const number *)a[row / 8][w][n] + lane;
        powers[k] = (const number *)power_of_a[row / 8][w][n] + lane;
        some[k] = b[column];
        power_of_some[k] = power_of_b[column];
      }
      vector before = arithmetic::narrow(groups == 1 ? From::numbers(sum) : To::numbers(sum));
      float least = groups == 1 ? From::least() : To::least();
      sum = To::rounded(
          __mw_tensor_sum<arithmetic>(factors, powers, some, power_of_some, before, arithmetic::power(before, least)));
    }
    if (groups > 1) sum = To::nearest(To::numbers(sum) + From::numbers(c));
    __mw_tensor_put(out, row, sum);
  }
}

/* Integers of `Size` bits. */
template <int Size, bool Left, bool Right, int Words, bool Saturates>
__mw_tensor_of_warp void __mw_tensor_multiply_sparse_integers(const unsigned *in, unsigned *out) {
  enum { in_word = 32 / Size, stored = 4 * Words * in_word };
  const __mw_tensor_sparse_lanes lanes(in);
  __mw_int8 b[2 * stored];
  for (int w = 0; w < 2 * Words; w++) {
    for (int t = 0; t < 4; t++) {
      __mw_uint8 words = lanes.columns(w, t);
#pragma unroll
      for (int n = 0; n < in_word; n++) {
        __mw_uint8 high = words << (32 - Size - Size * n);
        b[(w * 4 + t) * in_word + n] = Right ? (__mw_int8)high >> (32 - Size) : (__mw_int8)(high >> (32 - Size));
      }
    }
  }
  for (int row = 0; row < 16; row++) {
    unsigned long long metadata = lanes.of_row(row, stored * (Size == 4 ? 1 : 2), false);
    __mw_int8 sum = 0;
    for (int w = 0; w < Words; w++) {
      for (int t = 0; t < 4; t++) {
        unsigned word = lanes.dense.left(2 * w + row / 8)[row % 8 * 4 + t];
#pragma unroll
        for (int n = 0; n < in_word; n++) {
          unsigned high = word << (32 - Size - Size * n);
          int a = Left ? (int)high >> (32 - Size) : (int)(high >> (32 - Size));
          sum += a * b[__mw_tensor_column_of(metadata, (w * 4 + t) * in_word + n, Size)];
        }
      }
    }
    /* A sum of products is far from the ends: only C can take it there. */
    __mw_int8 c = (__mw_int8)__mw_tensor_sums(lanes.dense, row), total = (__mw_int8)((__mw_uint8)sum + (__mw_uint8)c);
    if (Saturates) total = ((sum ^ total) & (c ^ total)) < 0 ? c >> 31 ^ 0x7fffffff : total;
    __mw_tensor_put(out, row, (__mw_uint8)total);
  }
}

/* ---- functions for PTX's mma.sp: mwcc calls them by the instruction's shape and types (src/mwcc/ptx/tensor.c) ---- */

__mw_import __mw_tensor_result __mw_warp_apply_sparse(void (*)(const unsigned *, unsigned *), unsigned, unsigned,
                                                      unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                                      unsigned, unsigned, unsigned, unsigned, unsigned, unsigned);

/* clang-format off */
#define __mw_sparse_header(name)                                                                                       \
  extern "C" __attribute__((device, nodebug)) __mw_tensor_result __mw_ptx_mma_sp_##name(                               \
      unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1, unsigned b2, unsigned b3,          \
      unsigned c0, unsigned c1, unsigned c2, unsigned c3, unsigned metadata, unsigned selector)
#define __mw_sparse(name, ...)                                                                                         \
  __mw_sparse_header(name) {                                                                                           \
    return __mw_warp_apply_sparse(__VA_ARGS__, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3, b2, b3, metadata, selector);    \
  }
#define __mw_sparse_float(shape, left, right, Words)                                                                   \
  __mw_sparse(shape##_f32_##left##_##right##_f32,                                                                      \
              __mw_tensor_multiply_sparse<__mw_tensor_##left, __mw_tensor_##right, __mw_tensor_to_float,               \
                                          __mw_tensor_to_float, Words>)
/* Sums in half are two a register. */
#define __mw_sparse_half(shape, Words)                                                                                 \
  __mw_sparse_header(shape##_f16_f16_f16_f16) {                                                                        \
    __mw_tensor_result d = __mw_warp_apply_sparse(                                                                     \
        __mw_tensor_multiply_sparse<__mw_tensor_f16, __mw_tensor_f16, __mw_tensor_to_half, __mw_tensor_to_half, Words>,\
        a0, a1, a2, a3, b0, b1, c0, c0 >> 16, c1, c1 >> 16, b2, b3, metadata, selector);                               \
    return {(d.low & 0xffffu) | (d.low >> 32 & 0xffffu) << 16 | (d.high & 0xffffu) << 32 |                             \
                (d.high >> 32 & 0xffffu) << 48, 0};                                                                    \
  }
#ifdef __MW_TENSOR_F16
__mw_sparse_float(m16n8k16, f16, f16, 1) __mw_sparse_float(m16n8k32, f16, f16, 2)
__mw_sparse_half(m16n8k16, 1) __mw_sparse_half(m16n8k32, 2)
#endif
#ifdef __MW_TENSOR_BF16
__mw_sparse_float(m16n8k16, bf16, bf16, 1) __mw_sparse_float(m16n8k32, bf16, bf16, 2)
#endif
#ifdef __MW_TENSOR_TF32
__mw_sparse_float(m16n8k8, tf32, tf32, 1) __mw_sparse_float(m16n8k16, tf32, tf32, 2)
#endif
#ifdef __MW_TENSOR_FP8
__mw_sparse_float(m16n8k64, e4m3, e4m3, 2) __mw_sparse_float(m16n8k64, e4m3, e5m2, 2)
__mw_sparse_float(m16n8k64, e5m2, e4m3, 2) __mw_sparse_float(m16n8k64, e5m2, e5m2, 2)
#endif
#define __mw_sparse_integer(shape, left, right, Size, Left, Right, Words)                                              \
  __mw_sparse(shape##_s32_##left##_##right##_s32,                                                                      \
              __mw_tensor_multiply_sparse_integers<Size, Left, Right, Words, false>)                                   \
  __mw_sparse(shape##_s32_##left##_##right##_s32_satfinite,                                                            \
              __mw_tensor_multiply_sparse_integers<Size, Left, Right, Words, true>)
#define __mw_sparse_integers(Size, one, two)                                                                           \
  __mw_sparse_integer(one, s##Size, s##Size, Size, true, true, 1)                                                      \
  __mw_sparse_integer(two, s##Size, s##Size, Size, true, true, 2)                                                      \
  __mw_sparse_integer(one, s##Size, u##Size, Size, true, false, 1)                                                     \
  __mw_sparse_integer(two, s##Size, u##Size, Size, true, false, 2)                                                     \
  __mw_sparse_integer(one, u##Size, s##Size, Size, false, true, 1)                                                     \
  __mw_sparse_integer(two, u##Size, s##Size, Size, false, true, 2)                                                     \
  __mw_sparse_integer(one, u##Size, u##Size, Size, false, false, 1)                                                    \
  __mw_sparse_integer(two, u##Size, u##Size, Size, false, false, 2)
#ifdef __MW_TENSOR_BYTES
__mw_sparse_integers(8, m16n8k32, m16n8k64)
#endif
#ifdef __MW_TENSOR_NIBBLES
__mw_sparse_integers(4, m16n8k64, m16n8k128)
#endif
/* clang-format on */

#undef __mw_sparse_header
#undef __mw_sparse
#undef __mw_sparse_float
#undef __mw_sparse_half
#undef __mw_sparse_integer
#undef __mw_sparse_integers

#endif
