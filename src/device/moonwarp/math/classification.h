/* The class of a number, and comparisons that NaN does not make invalid: functions, not C's macros, so that libraries
 * and programs may use the names for their own. */
#ifndef MOONWARP_CLASSIFICATION_H
#define MOONWARP_CLASSIFICATION_H

#define FP_NAN       0
#define FP_INFINITE  1
#define FP_ZERO      2
#define FP_SUBNORMAL 3
#define FP_NORMAL    4

#ifndef __MW_NVRTC__ /* which has these built in */
/* clang-format off */
#define __mw_classify(name, builtin)                                                                                   \
  __mw_both constexpr bool name(float x) { return builtin(x); }                                                        \
  __mw_both constexpr bool name(double x) { return builtin(x); }
__mw_classify(isnan, __builtin_isnan) __mw_classify(isinf, __builtin_isinf)
__mw_classify(isfinite, __builtin_isfinite) __mw_classify(isnormal, __builtin_isnormal);
#undef __mw_classify
/* clang-format on */
__mw_both bool signbit(float x) { return __builtin_signbitf(x); }
__mw_both bool signbit(double x) { return __builtin_signbit(x); }
#else
__mw_both bool isnormal(float x) { return fabsf(x) >= 1.17549435e-38f && !isinf(x); }
__mw_both bool isnormal(double x) { return fabs(x) >= 2.2250738585072014e-308 && !isinf(x); }
#endif

#define __mw_kind(T)                                                                                                   \
  __mw_both int fpclassify(T x) {                                                                                      \
    return isnan(x) ? FP_NAN : isinf(x) ? FP_INFINITE : x == 0 ? FP_ZERO : isnormal(x) ? FP_NORMAL : FP_SUBNORMAL;     \
  }
__mw_kind(float) __mw_kind(double)
#undef __mw_kind
    /* NVRTC has those of floats and doubles; of integers they are those of doubles. */
    template <typename T>
    __mw_both_template int fpclassify(T x) {
  return fpclassify((typename __mw_promote<T>::type)x);
}

#define __mw_compare(name, expression)                                                                                 \
  template <typename T, typename U> __mw_both_template bool name(T a, U b) {                                           \
    __mw_common<T, U> x = a, y = b;                                                                                    \
    return expression;                                                                                                 \
  }
__mw_compare(isgreater, x > y) __mw_compare(isgreaterequal, x >= y) __mw_compare(isless, x < y)
    __mw_compare(islessequal, x <= y) __mw_compare(islessgreater, x<y || x> y)
        __mw_compare(isunordered, x != x || y != y)
#undef __mw_compare

#endif
