/* The C library's mathematics, single and double precision, under C's names.
 *
 * Only declarations: the compiler knows these functions, folds and vectorises what it can, and calls libm for the rest.
 * Most of single precision is in the headers named float_*, for lanes, what double precision uses most in double_*; functions of CUDA that libm lacks are in roots.h,
 * pi_trigonometry.h, error_functions.h and bessel.h, C++ overloads in math_overloads.h. */
#ifndef MOONWARP_LIBM_H
#define MOONWARP_LIBM_H

#define __mw_pure __mw_libm __attribute__((const, nothrow))

#define __mw_libm1_double(name) __mw_pure double name(double x);
#define __mw_libm1(name)                                                                                               \
  __mw_pure double name(double x);                                                                                     \
  __mw_pure float name##f(float x);
#define __mw_libm2_double(name) __mw_pure double name(double x, double y);
#define __mw_libm2(name)                                                                                               \
  __mw_pure double name(double x, double y);                                                                           \
  __mw_pure float name##f(float x, float y);

/* clang-format off */
__mw_libm1_double(acos) __mw_libm1_double(asin) __mw_libm1_double(atan)
__mw_libm1_double(acosh) __mw_libm1_double(asinh) __mw_libm1_double(atanh)
__mw_libm1_double(cosh) __mw_libm1_double(sinh) __mw_libm1_double(expm1)
__mw_libm1_double(erf) __mw_libm1_double(erfc)
__mw_libm2_double(atan2) __mw_libm2_double(pow) __mw_libm2_double(hypot)
__mw_libm1(logb) __mw_libm1(sqrt) __mw_libm1(fabs)
__mw_libm1(ceil) __mw_libm1(floor) __mw_libm1(trunc) __mw_libm1(round) __mw_libm1(rint) __mw_libm1(nearbyint)
__mw_libm1(tgamma)
__mw_libm2(fmod) __mw_libm2(remainder) __mw_libm2(fmin)
__mw_libm2(fmax) __mw_libm2(fdim) __mw_libm2(copysign) __mw_libm2(nextafter);
#undef __mw_libm1
#undef __mw_libm2
#undef __mw_libm1_double
#undef __mw_libm2_double
/* clang-format on */

__mw_pure double fma(double x, double y, double z);
__mw_pure float fmaf(float x, float y, float z);
__mw_pure double jn(int n, double x);
__mw_pure float jnf(int n, float x);
__mw_pure double yn(int n, double x);
__mw_pure float ynf(int n, float x);
__mw_pure double ldexp(double x, int exponent);
__mw_pure float ldexpf(float x, int exponent);
__mw_pure double scalbn(double x, int exponent);
__mw_pure float scalbnf(float x, int exponent);
__mw_pure double scalbln(double x, long exponent);
__mw_pure float scalblnf(float x, long exponent);
__mw_pure int ilogb(double x);
__mw_pure int ilogbf(float x);
__mw_pure long lround(double x);
__mw_pure long lroundf(float x);
__mw_pure long long llround(double x);
__mw_pure long long llroundf(float x);
__mw_pure long lrint(double x);
__mw_pure long lrintf(float x);
__mw_pure long long llrint(double x);
__mw_pure long long llrintf(float x);

/* These write: through their pointer, or libm's signgam. */
__mw_libm double lgamma(double x);
__mw_libm float lgammaf(float x);
__mw_libm double frexp(double x, int *exponent);
__mw_libm float frexpf(float x, int *exponent);
__mw_libm double modf(double x, double *integral);
__mw_libm float modff(float x, float *integral);
__mw_libm double remquo(double x, double y, int *quotient);
__mw_libm float remquof(float x, float y, int *quotient);

__mw_libm int abs(int x);
__mw_libm long labs(long x);
__mw_libm long long llabs(long long x);

/* The payload of a NaN from text: CUDA's kernels pass "" or a number. */
__mw_both double nan(const char *) { return __builtin_nan(""); }
__mw_both float nanf(const char *) { return __builtin_nanf(""); }

/* For angles too large to be reduced on lanes: double_trigonometry.h. */
__mw_pure double __mw_libm_sin(double x) __asm__("sin");
__mw_pure double __mw_libm_cos(double x) __asm__("cos");
__mw_pure double __mw_libm_tan(double x) __asm__("tan");
/* For bessel.h. */
__mw_pure double __mw_libm_j0(double x) __asm__("j0");
__mw_pure double __mw_libm_j1(double x) __asm__("j1");
__mw_pure double __mw_libm_y0(double x) __asm__("y0");
__mw_pure double __mw_libm_y1(double x) __asm__("y1");
__mw_pure float j0f(float x);
__mw_pure float j1f(float x);
__mw_pure float y0f(float x);
__mw_pure float y1f(float x);

#undef __mw_pure
#endif
