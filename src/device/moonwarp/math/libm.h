/* The C library's mathematical functions in single and double precision, under C's names.
 *
 * This file has declarations only: of functions that are an instruction, and of rare ones that call libm for each lane
 * in turn: the gamma functions of double precision, Bessel functions, sine and cosine of huge doubles (the list is in
 * docs/build/accuracy.md). All others are arithmetic that vectorises: float_*.h and double_*.h, number_parts.h,
 * remainders.h, roots.h, pi_trigonometry.h, error_functions.h and bessel.h. C++'s overloads are in math_overloads.h. */
#ifndef MOONWARP_LIBM_H
#define MOONWARP_LIBM_H

#define __mw_pure __mw_libm __attribute__((const, nothrow))

#define __mw_libm1_double(name) __mw_pure double name(double x);
#define __mw_libm1(name)                                                                                               \
  __mw_pure double name(double x);                                                                                     \
  __mw_pure float name##f(float x);
#define __mw_libm2(name)                                                                                               \
  __mw_pure double name(double x, double y);                                                                           \
  __mw_pure float name##f(float x, float y);

/* clang-format off */
#ifndef __MW_NVPTX__
__mw_libm1_double(tgamma)
#endif
__mw_libm1(sqrt) __mw_libm1(fabs)
__mw_libm1(ceil) __mw_libm1(floor) __mw_libm1(trunc) __mw_libm1(round) __mw_libm1(rint) __mw_libm1(nearbyint)
__mw_libm2(fmin) __mw_libm2(fmax) __mw_libm2(copysign);
#undef __mw_libm1
#undef __mw_libm2
#undef __mw_libm1_double
/* clang-format on */

__mw_pure double fma(double x, double y, double z);
__mw_pure float fmaf(float x, float y, float z);
#ifdef __MW_NVPTX__
__mw_both long long llrint(double x) { return __nvvm_d2ll_rn(x); }
__mw_both long long llrintf(float x) { return __nvvm_f2ll_rn(x); }
__mw_both long lrint(double x) { return llrint(x); }
__mw_both long lrintf(float x) { return llrintf(x); }
#else
__mw_pure long lrint(double x);
__mw_pure long lrintf(float x);
__mw_pure long long llrint(double x);
__mw_pure long long llrintf(float x);
#endif

__mw_libm int abs(int x);
__mw_libm long labs(long x);
__mw_libm long long llabs(long long x);

/* A NaN with the payload that the text has: kernels pass "" or a number. */
__mw_both double nan(const char *) { return __builtin_nan(""); }
__mw_both float nanf(const char *) { return __builtin_nanf(""); }

/* A GPU has no C library; these are in double_gamma.h, bessel_far.h and angle_reduction.h. */
#ifndef __MW_NVPTX__
__mw_pure double jn(int n, double x);
__mw_pure float jnf(int n, float x);
__mw_pure double yn(int n, double x);
__mw_pure float ynf(int n, float x);

/* Writes libm's signgam. */
__mw_libm double lgamma(double x);

/* For double_trigonometry.h: angles that are too large for its vectorised reduction. */
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
#endif

#undef __mw_pure
#endif
