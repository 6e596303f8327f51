/* Arithmetic intrinsics: single operations that are never merged into a fused multiply-add, with a stated rounding.
 *
 * Single precision with directed rounding is computed in double precision and then rounded. The result is correct
 * because the double is exact, or farther from any float than its error, or rounded to odd (the last bit is set if the
 * result is inexact), which makes the second rounding correct. Those of double precision, rare and slow, are in
 * arithmetic_double.h. */
#ifndef MOONWARP_ARITHMETIC_H
#define MOONWARP_ARITHMETIC_H

#include "moonwarp/arithmetic/conversions.h"

/* x + y rounded to odd. If the sum is exactly zero, its sign is up to the caller's rounding. */
__mw_both double __mw_sum_to_odd(double x, double y) {
  __mw_exactly;
  double sum = x + y, other = sum - x;
  double error = (x - (sum - other)) + (y - other);
  long long bits = __double_as_longlong(sum);
  /* With an infinite operand the error is NaN, and the sum stays as it is. */
  if ((error > 0 || error < 0) && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return __longlong_as_double(bits);
}

#ifdef __MW_NVPTX__
#include "../../nvptx/arithmetic.h"
#else

/* Hides a product from the optimiser, which would move the sign of a negated product into a factor, so that the product
   could be contracted into a fused multiply-add. */
__mw_import float __mw_alone_float(float product) __asm("llvm.arithmetic.fence.f32");
__mw_import double __mw_alone_double(double product) __asm("llvm.arithmetic.fence.f64");

/* clang-format off */
#define __mw_operation(name, T, parameters, expression)                                                                \
  __mw_both T name parameters {                                                                                        \
    __mw_exactly                                                                                                       \
    return expression;                                                                                                 \
  }
__mw_operation(__fadd_rn, float, (float x, float y), x + y)
__mw_operation(__fsub_rn, float, (float x, float y), x - y)
__mw_operation(__fmul_rn, float, (float x, float y), __mw_alone_float(x * y))
__mw_operation(__fdiv_rn, float, (float x, float y), x / y)
__mw_operation(__frcp_rn, float, (float x), 1.0f / x)
__mw_operation(__fsqrt_rn, float, (float x), sqrtf(x))
__mw_operation(__fmaf_rn, float, (float x, float y, float z), fmaf(x, y, z))
__mw_operation(__fmaf_ieee_rn, float, (float x, float y, float z), fmaf(x, y, z))
__mw_operation(__dadd_rn, double, (double x, double y), x + y)
__mw_operation(__dsub_rn, double, (double x, double y), x - y)
__mw_operation(__dmul_rn, double, (double x, double y), __mw_alone_double(x * y))
__mw_operation(__ddiv_rn, double, (double x, double y), x / y)
__mw_operation(__drcp_rn, double, (double x), 1.0 / x)
__mw_operation(__dsqrt_rn, double, (double x), sqrt(x))
__mw_operation(__fma_rn, double, (double x, double y, double z), fma(x, y, z));
/* clang-format on */

/* When rounding down, a sum of zero is -0 unless both operands are +0. */
__mw_both float __mw_sum_down(double x, double y) {
  double sum = __mw_sum_to_odd(x, y);
  if (sum == 0 && (__double_as_longlong(x) | __double_as_longlong(y)) != 0) return -0.0f;
  return __double2float_rd(sum);
}

/* clang-format off */
#define __mw_directed(name, parameters, value)                                                                         \
  __mw_operation(name##_rz, float, parameters, __double2float_rz(value))                                               \
  __mw_operation(name##_ru, float, parameters, __double2float_ru(value))                                               \
  __mw_operation(name##_rd, float, parameters, __double2float_rd(value))
__mw_directed(__fmul, (float x, float y), (double)x * y)
__mw_directed(__fdiv, (float x, float y), (double)x / y)
__mw_directed(__frcp, (float x), 1.0 / x)
__mw_directed(__fsqrt, (float x), sqrt((double)x))
__mw_operation(__fadd_rz, float, (float x, float y), __double2float_rz(__mw_sum_to_odd(x, y)))
__mw_operation(__fadd_ru, float, (float x, float y), __double2float_ru(__mw_sum_to_odd(x, y)))
__mw_operation(__fadd_rd, float, (float x, float y), __mw_sum_down(x, y))
__mw_operation(__fsub_rz, float, (float x, float y), __fadd_rz(x, -y))
__mw_operation(__fsub_ru, float, (float x, float y), __fadd_ru(x, -y))
__mw_operation(__fsub_rd, float, (float x, float y), __fadd_rd(x, -y))
__mw_operation(__fmaf_rz, float, (float x, float y, float z), __double2float_rz(__mw_sum_to_odd((double)x * y, z)))
__mw_operation(__fmaf_ru, float, (float x, float y, float z), __double2float_ru(__mw_sum_to_odd((double)x * y, z)))
__mw_operation(__fmaf_rd, float, (float x, float y, float z), __mw_sum_down((double)x * y, z))
__mw_operation(__fmaf_ieee_rz, float, (float x, float y, float z), __fmaf_rz(x, y, z))
__mw_operation(__fmaf_ieee_ru, float, (float x, float y, float z), __fmaf_ru(x, y, z))
__mw_operation(__fmaf_ieee_rd, float, (float x, float y, float z), __fmaf_rd(x, y, z));
#undef __mw_directed
#undef __mw_operation
/* clang-format on */

#endif

/* 1/sqrt(x), correctly rounded: rounding the double gives the right float unless the exact value is beyond a midpoint
   to a neighbour; comparing x * midpoint^2 with 1 shows on which side it is. Ties cannot occur. */
__mw_both float __frsqrt_rn(float x) {
  __mw_exactly;
  double root = 1.0 / sqrt((double)x);
  float nearest = (float)root;
  if (!(nearest > 0) || nearest == __builtin_inff()) return nearest;
  double above = ((double)nearest + __mw_next_up(nearest)) * 0.5,
         below = ((double)nearest + __mw_next_down(nearest)) * 0.5;
  if (fma(x * above, above, -1.0) < 0) return __mw_next_up(nearest);
  if (fma(x * below, below, -1.0) > 0) return __mw_next_down(nearest);
  return nearest;
}

#ifdef __MW_NVPTX__
__mw_both float __fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }
#else
__mw_both float __fdividef(float x, float y) { return x / y; }
#endif
__mw_both float fdividef(float x, float y) { return x / y; }
__mw_both double fdivide(double x, double y) { return x / y; }
/* x clamped to [0, 1]; NaN gives 0. */
__mw_both float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
__mw_both float saturate(float x) { return __saturatef(x); }

#endif
