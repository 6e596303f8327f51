/* Products of matrices of 8- and 4-bit integers, and of bits, in vectors of 16 lanes (lanes.h).
 *
 * Processors multiply four unsigned bytes with four signed ones and add the products to a sum. Where both factors are
 * signed, 128 is added to those of A, and 128 times the sum of B's is subtracted; where neither is, 128 is subtracted
 * from A's. */
#ifndef MOONWARP_TENSOR_INTEGER_PRODUCT_H
#define MOONWARP_TENSOR_INTEGER_PRODUCT_H

#include "moonwarp/tensor/lanes.h"

/* ---- factors: a register has `parts` words of four bytes ---- */

struct __mw_tensor_s8 {
  enum { parts = 1, is_signed = 1 };
  static __mw_member __mw_uint16 bytes(__mw_uint16 words, int) { return words; }
};
struct __mw_tensor_u8 {
  enum { parts = 1, is_signed = 0 };
  static __mw_member __mw_uint16 bytes(__mw_uint16 words, int) { return words; }
};
struct __mw_tensor_u4 {
  enum { parts = 2, is_signed = 0 };
  static __mw_member __mw_uint16 bytes(__mw_uint16 words, int part) { return words >> 4 * part & 0x0f0f0f0fu; }
};
struct __mw_tensor_s4 {
  enum { parts = 2, is_signed = 1 };
  static __mw_member __mw_uint16 bytes(__mw_uint16 words, int part) {
    __mw_uint16 biased = __mw_tensor_u4::bytes(words, part) ^ 0x08080808u;
    return (__mw_uint16)((__mw_uchar64)biased - 8);
  }
};

/* ---- sums of a few products: mwcc replaces the bodies on processors that have instructions for them
        (src/mwcc/machine/x86_dot.c) ---- */

/* Of two signed numbers of 16 bits in each lane. */
__mw_device __mw_int16 __mw_dot_pairs(__mw_int16 sum, __mw_int16 a, __mw_int16 b) {
  return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
}
/* Of four bytes in each lane, `a`'s unsigned, `b`'s signed. */
__mw_device __mw_int16 __mw_dot_bytes(__mw_int16 sum, __mw_int16 a, __mw_int16 b) {
  sum = __mw_dot_pairs(sum, a & 0x00ff00ff, (__mw_int16)((__mw_short32)b << 8 >> 8));
  return __mw_dot_pairs(sum, (__mw_int16)((__mw_short32)a >> 8) & 0x00ff00ff, (__mw_int16)((__mw_short32)b >> 8));
}

__mw_import __mw_uint16 __mw_count_bits(__mw_uint16) __asm("llvm.ctpop.v16i32");

/* ---- products ---- */

/* Sums wrap, or with Saturates end at the least and the greatest integer. */
template <typename Left, typename Right, int Rows, int Words, bool Saturates>
__mw_tensor_of_warp void __mw_tensor_multiply_integers(const unsigned *in, unsigned *out) {
  const __mw_tensor_lanes lanes = {in};
  const bool is_biased = (bool)Left::is_signed == (bool)Right::is_signed;
  __mw_int16 sums[Rows][2][2], of_b[2] = {0, 0}; /* [row][odd][half] */
#pragma unroll
  for (int row = 0; row < Rows; row++) sums[row][0][0] = sums[row][0][1] = sums[row][1][0] = sums[row][1][1] = 0;
#pragma clang loop unroll(disable)
  for (int w = 0; w < Words; w++) {
#pragma unroll
    for (int part = 0; part < Left::parts; part++) {
      __mw_uint16 a[Rows][2], low = Right::bytes(__mw_tensor_half(lanes.right(w), 0), part),
                              high = Right::bytes(__mw_tensor_half(lanes.right(w), 1), part);
#pragma unroll
      for (int row = 0; row < Rows; row++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          a[row][half] = Left::bytes(__mw_tensor_half(lanes.left(Rows * w + row), half), part);
          if (is_biased) a[row][half] ^= 0x80808080u;
        }
      }
#pragma unroll
      for (int t = 0; t < 4; t++) {
        __mw_int16 b[2];
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
          b[odd] = (__mw_int16)__mw_tensor_column(low, high, t, odd);
          if (!is_biased) continue;
          const __mw_int16 ones = 0x01010101;
          of_b[odd] =
              Right::is_signed ? __mw_dot_bytes(of_b[odd], ones, b[odd]) : __mw_dot_bytes(of_b[odd], b[odd], ones);
        }
#pragma unroll
        for (int row = 0; row < Rows; row++) {
#pragma unroll
          for (int half = 0; half < 2; half++) {
            __mw_int16 factor = (__mw_int16)__mw_tensor_quad(a[row][half], t);
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
              __mw_int16 &sum = sums[row][odd][half];
              sum = Right::is_signed ? __mw_dot_bytes(sum, factor, b[odd]) : __mw_dot_bytes(sum, b[odd], factor);
            }
          }
        }
      }
    }
  }
#pragma unroll
  for (int row = 0; row < Rows; row++) {
#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        __mw_int16 sum = sums[row][odd][half], c = (__mw_int16)__mw_tensor_half(lanes.sums(2 * row + odd), half);
        if (is_biased) sum = Right::is_signed ? sum - (of_b[odd] << 7) : sum + (of_b[odd] << 7);
        /* A sum of products is far from the ends: only C can take it there. */
        __mw_int16 total = (__mw_int16)((__mw_uint16)sum + (__mw_uint16)c);
        if (Saturates) total = ((sum ^ total) & (c ^ total)) < 0 ? c >> 31 ^ 0x7fffffff : total;
        *(__mw_uint16 *)(out + 32 * (2 * row + odd) + 16 * half) = (__mw_uint16)total;
      }
    }
  }
}

template <int Rows, int Words, bool And>
__mw_tensor_of_warp void __mw_tensor_multiply_bits(const unsigned *in, unsigned *out) {
  const __mw_tensor_lanes lanes = {in};
  __mw_uint16 sums[Rows][2][2];
#pragma unroll
  for (int row = 0; row < Rows; row++) {
#pragma unroll
    for (int n = 0; n < 4; n++) sums[row][n / 2][n % 2] = __mw_tensor_half(lanes.sums(2 * row + n / 2), n % 2);
  }
#pragma clang loop unroll(disable)
  for (int w = 0; w < Words; w++) {
    __mw_uint16 low = __mw_tensor_half(lanes.right(w), 0), high = __mw_tensor_half(lanes.right(w), 1);
#pragma unroll
    for (int t = 0; t < 4; t++) {
#pragma unroll
      for (int row = 0; row < Rows; row++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          __mw_uint16 a = __mw_tensor_quad(__mw_tensor_half(lanes.left(Rows * w + row), half), t);
#pragma unroll
          for (int odd = 0; odd < 2; odd++) {
            __mw_uint16 b = __mw_tensor_column(low, high, t, odd);
            sums[row][odd][half] += __mw_count_bits(And ? a & b : a ^ b);
          }
        }
      }
    }
  }
#pragma unroll
  for (int row = 0; row < Rows; row++) {
#pragma unroll
    for (int n = 0; n < 4; n++) *(__mw_uint16 *)(out + 32 * (2 * row + n / 2) + 16 * (n % 2)) = sums[row][n / 2][n % 2];
  }
}

#endif
