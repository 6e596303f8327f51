/* DPX: maxima and minima of two or three numbers and of a sum, for the inner loops of dynamic programming (CUDA
 * Programming Guide, "Dynamic programming eXtension"). Of 32-bit numbers and of the two 16-bit numbers in a word; sums
 * wrap; `relu` takes the greater of the result and 0; the functions with `b` also return whether the first argument was
 * chosen, as it is if both are equal. */
#ifndef MOONWARP_DYNAMIC_PROGRAMMING_H
#define MOONWARP_DYNAMIC_PROGRAMMING_H

#include "moonwarp/arithmetic/simd_in_word.h"

__mw_both int __mw_max_s32(int a, int b) { return a > b ? a : b; }
__mw_both int __mw_min_s32(int a, int b) { return a < b ? a : b; }
__mw_both int __mw_add_s32(int a, int b) { return (int)((unsigned int)a + (unsigned int)b); }
__mw_both unsigned int __mw_max_u32(unsigned int a, unsigned int b) { return a > b ? a : b; }
__mw_both unsigned int __mw_min_u32(unsigned int a, unsigned int b) { return a < b ? a : b; }
__mw_both unsigned int __mw_add_u32(unsigned int a, unsigned int b) { return a + b; }
__mw_both unsigned int __mw_max_s16x2(unsigned int a, unsigned int b) { return __vmaxs2(a, b); }
__mw_both unsigned int __mw_min_s16x2(unsigned int a, unsigned int b) { return __vmins2(a, b); }
__mw_both unsigned int __mw_add_s16x2(unsigned int a, unsigned int b) { return __vadd2(a, b); }
__mw_both unsigned int __mw_max_u16x2(unsigned int a, unsigned int b) { return __vmaxu2(a, b); }
__mw_both unsigned int __mw_min_u16x2(unsigned int a, unsigned int b) { return __vminu2(a, b); }
__mw_both unsigned int __mw_add_u16x2(unsigned int a, unsigned int b) { return __vadd2(a, b); }

#define __MW_DPX_KIND(type, kind)                                                                                      \
  __mw_both type __vimax3_##kind(type a, type b, type c) { return __mw_max_##kind(__mw_max_##kind(a, b), c); }         \
  __mw_both type __vimin3_##kind(type a, type b, type c) { return __mw_min_##kind(__mw_min_##kind(a, b), c); }         \
  __mw_both type __viaddmax_##kind(type a, type b, type c) { return __mw_max_##kind(__mw_add_##kind(a, b), c); }       \
  __mw_both type __viaddmin_##kind(type a, type b, type c) { return __mw_min_##kind(__mw_add_##kind(a, b), c); }
#define __MW_DPX_RELU(type, kind)                                                                                      \
  __mw_both type __vimax_##kind##_relu(type a, type b) { return __vimax3_##kind(a, b, 0); }                            \
  __mw_both type __vimin_##kind##_relu(type a, type b) { return __mw_max_##kind(__mw_min_##kind(a, b), 0); }           \
  __mw_both type __vimax3_##kind##_relu(type a, type b, type c) {                                                      \
    return __mw_max_##kind(__vimax3_##kind(a, b, c), 0);                                                               \
  }                                                                                                                    \
  __mw_both type __vimin3_##kind##_relu(type a, type b, type c) {                                                      \
    return __mw_max_##kind(__vimin3_##kind(a, b, c), 0);                                                               \
  }                                                                                                                    \
  __mw_both type __viaddmax_##kind##_relu(type a, type b, type c) {                                                    \
    return __mw_max_##kind(__viaddmax_##kind(a, b, c), 0);                                                             \
  }                                                                                                                    \
  __mw_both type __viaddmin_##kind##_relu(type a, type b, type c) {                                                    \
    return __mw_max_##kind(__viaddmin_##kind(a, b, c), 0);                                                             \
  }
#define __MW_DPX_CHOICE_32(type, kind)                                                                                 \
  __mw_both type __vibmax_##kind(type a, type b, bool *first) {                                                        \
    *first = a >= b;                                                                                                   \
    return a >= b ? a : b;                                                                                             \
  }                                                                                                                    \
  __mw_both type __vibmin_##kind(type a, type b, bool *first) {                                                        \
    *first = a <= b;                                                                                                   \
    return a <= b ? a : b;                                                                                             \
  }
#define __MW_DPX_CHOICE_16(kind, sign)                                                                                 \
  __mw_both unsigned int __vibmax_##kind(unsigned int a, unsigned int b, bool *high_first, bool *low_first) {          \
    unsigned int mask = __vcmpge##sign##2(a, b);                                                                       \
    *high_first = mask >> 31;                                                                                          \
    *low_first = mask & 1;                                                                                             \
    return (a & mask) | (b & ~mask);                                                                                   \
  }                                                                                                                    \
  __mw_both unsigned int __vibmin_##kind(unsigned int a, unsigned int b, bool *high_first, bool *low_first) {          \
    unsigned int mask = __vcmple##sign##2(a, b);                                                                       \
    *high_first = mask >> 31;                                                                                          \
    *low_first = mask & 1;                                                                                             \
    return (a & mask) | (b & ~mask);                                                                                   \
  }

__MW_DPX_KIND(int, s32)
__MW_DPX_KIND(unsigned int, u32)
__MW_DPX_KIND(unsigned int, s16x2)
__MW_DPX_KIND(unsigned int, u16x2)
__MW_DPX_RELU(int, s32)
__MW_DPX_RELU(unsigned int, s16x2)
__MW_DPX_CHOICE_32(int, s32)
__MW_DPX_CHOICE_32(unsigned int, u32)
__MW_DPX_CHOICE_16(s16x2, s)
__MW_DPX_CHOICE_16(u16x2, u)

#undef __MW_DPX_KIND
#undef __MW_DPX_RELU
#undef __MW_DPX_CHOICE_32
#undef __MW_DPX_CHOICE_16

#endif
