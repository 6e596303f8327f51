/* The types of tensor cores' operands and sums, in vectors of eight numbers, and of 16. */
#ifndef MOONWARP_TENSOR_NUMBERS_H
#define MOONWARP_TENSOR_NUMBERS_H

#include "moonwarp/tensor/lanes.h"
#include "moonwarp/tensor/truncated_sum.h"

typedef unsigned short __mw_ushort16 __attribute__((ext_vector_type(16)));
typedef unsigned short __mw_ushort32 __attribute__((ext_vector_type(32)));
typedef _Float16 __mw_half16 __attribute__((ext_vector_type(16)));

/* ---- factors ----
 *
 * A register has `in_word` of them. Those whose place in their registers, modulo `in_word`, is below `group` are summed
 * before the others, which follow in a sum of their own. `least` is the least normal number; `in` is the arithmetic in
 * which products are exact. */
/* Of types that have no numbers below the window of float_product.h. */
struct __mw_tensor_in_window {
  typedef int sizes;
  static __mw_member sizes most() { return 0; }
  static __mw_member sizes least_size(sizes, __mw_uint16) { return 0; }
  static __mw_member bool is_below(sizes) { return false; }
};
struct __mw_tensor_f16 : __mw_tensor_in_window {
  enum { in_word = 2, group = 2 };
  typedef __mw_tensor_in_float in;
  static __mw_member float least() { return 0x1p-14f; }
  static __mw_member __mw_float8 numbers(__mw_uint8 words, int n) {
    return __builtin_convertvector((__mw_half8) __builtin_convertvector(words >> 16 * n, __mw_ushort8), __mw_float8);
  }
  static __mw_member __mw_float16 numbers16(__mw_uint16 words, int n) {
    return __builtin_convertvector((__mw_half16) __builtin_convertvector(words >> 16 * n, __mw_ushort16), __mw_float16);
  }
};
struct __mw_tensor_bf16 {
  enum { in_word = 2, group = 2 };
  typedef __mw_tensor_in_double in;
  static __mw_member float least() { return 0x1p-126f; }
  static __mw_member __mw_float8 numbers(__mw_uint8 words, int n) {
    return (__mw_float8)(n == 0 ? words << 16 : words & 0xffff0000u);
  }
  static __mw_member __mw_float16 numbers16(__mw_uint16 words, int n) {
    return (__mw_float16)(n == 0 ? words << 16 : words & 0xffff0000u);
  }
  /* The least numbers' bits without signs, less 1: 0 has the greatest. */
  typedef __mw_ushort32 sizes;
  static __mw_member sizes most() { return 0xffff; }
  static __mw_member sizes least_size(sizes least, __mw_uint16 words) {
    sizes size = ((sizes)words << 1) - 1;
    return size < least ? size : least;
  }
  static __mw_member bool is_below(sizes least) { return __builtin_reduce_or(least < (sizes)((127 - 42) << 8) - 1); }
};
/* The low 13 bits of a float are not looked at. */
struct __mw_tensor_tf32 {
  enum { in_word = 1, group = 1 };
  typedef __mw_tensor_in_double in;
  static __mw_member float least() { return 0x1p-126f; }
  static __mw_member __mw_float8 numbers(__mw_uint8 words, int) { return (__mw_float8)(words & 0xffffe000u); }
  static __mw_member __mw_float16 numbers16(__mw_uint16 words, int) { return (__mw_float16)(words & 0xffffe000u); }
  typedef __mw_uint16 sizes;
  static __mw_member sizes most() { return 0xffffffffu; }
  static __mw_member sizes least_size(sizes least, __mw_uint16 words) {
    sizes size = ((words & 0xffffe000u) << 1) - 1;
    return size < least ? size : least;
  }
  static __mw_member bool is_below(sizes least) { return __builtin_reduce_or(least < ((127u - 42u) << 24) - 1); }
};
/* 8-bit numbers are converted to half, which has them all; they are multiplied in two steps. */
struct __mw_tensor_e5m2 : __mw_tensor_in_window {
  enum { in_word = 4, group = 2 };
  typedef __mw_tensor_in_float in;
  static __mw_member float least() { return 0x1p-14f; }
  static __mw_member __mw_float8 numbers(__mw_uint8 words, int n) {
    return __mw_tensor_f16::numbers((words >> 8 * n & 255) << 8, 0);
  }
  static __mw_member __mw_float16 numbers16(__mw_uint16 words, int n) {
    return __mw_tensor_f16::numbers16((words >> 8 * n & 255) << 8, 0);
  }
};
/* Its exponent and fraction, moved to float's place, are the number divided by 2^120; 0x7f is NaN. */
struct __mw_tensor_e4m3 : __mw_tensor_in_window {
  enum { in_word = 4, group = 2 };
  typedef __mw_tensor_in_float in;
  static __mw_member float least() { return 0x1p-14f; }
  static __mw_member __mw_float8 numbers(__mw_uint8 words, int n) {
    __mw_uint8 bits = words >> 8 * n, size = bits & 127;
    __mw_uint8 value = (__mw_uint8)((__mw_float8)(size << 20) * 0x1p120f);
    return (__mw_float8)((size == 127 ? (__mw_uint8)0x7fffffffu : value) | (bits & 128) << 24);
  }
  static __mw_member __mw_float16 numbers16(__mw_uint16 words, int n) {
    __mw_uint16 bits = words >> 8 * n, size = bits & 127;
    __mw_uint16 value = (size << 20) + (120u << 23);
    __mw_uint16 subnormal = (__mw_uint16)((__mw_float16)((size << 20) + (121u << 23)) - 0x1p-6f);
    value = size < 8 ? subnormal : value;
    return (__mw_float16)((size == 127 ? (__mw_uint16)0x7fffffffu : value) | (bits & 128) << 24);
  }
};

/* ---- sums: numbers from the low bits of registers, and back; there is one NaN ---- */

struct __mw_tensor_to_float {
  enum { is_narrow = 0 };
  static __mw_member float least() { return 0x1p-126f; }
  static __mw_member __mw_float8 numbers(__mw_uint8 bits) { return (__mw_float8)bits; }
  static __mw_member __mw_uint8 nearest(__mw_float8 x) { return x == x ? (__mw_uint8)x : (__mw_uint8)0x7fffffffu; }
  static __mw_member __mw_uint8 rounded(__mw_double8 sum) {
    __mw_int8 is_inexact;
    return nearest(__mw_tensor_cut(sum, &is_inexact));
  }
  /* A sum that was rounded towards zero, and is not NaN. */
  static __mw_member __mw_uint8 rounded(__mw_float8 cut, __mw_int8) { return (__mw_uint8)cut; }
};
struct __mw_tensor_to_half {
  enum { is_narrow = 1 };
  static __mw_member float least() { return 0x1p-14f; }
  static __mw_member __mw_float8 numbers(__mw_uint8 bits) { return __mw_tensor_f16::numbers(bits, 0); }
  /* The sum of two halves has the same nearest half whether float holds it first or not. */
  static __mw_member __mw_uint8 nearest(__mw_float8 x) {
    __mw_uint8 bits = __builtin_convertvector((__mw_ushort8) __builtin_convertvector(x, __mw_half8), __mw_uint8);
    return x == x ? bits : (__mw_uint8)0x7fffu;
  }
  static __mw_member __mw_uint8 rounded(__mw_double8 sum) {
    __mw_int8 is_inexact;
    __mw_float8 cut = __mw_tensor_cut(sum, &is_inexact);
    return rounded(cut, is_inexact);
  }
  /* Rounding to odd first keeps what decides about the rounding to nearest after it. */
  static __mw_member __mw_uint8 rounded(__mw_float8 cut, __mw_int8 is_inexact) {
    __mw_uint8 bits = nearest((__mw_float8)((__mw_int8)cut | (is_inexact & 1)));
    return bits == 0x8000u ? (__mw_uint8)0u : bits; /* no sum is -0 */
  }
};

#endif
