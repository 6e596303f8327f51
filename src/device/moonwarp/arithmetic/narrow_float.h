/* Arithmetic, comparisons and functions for __half and __nv_bfloat16, on single numbers and on pairs.
 *
 * They are computed in single precision and rounded: a float has more than 2p + 2 bits, with p those of the narrow
 * format, so that +, -, *, / and the square root are correctly rounded. A fused multiply-add rounds to odd first. The
 * types (cuda_fp16.h, cuda_bf16.h) specialise __mw_narrow_traits. */
#ifndef MOONWARP_NARROW_FLOAT_H
#define MOONWARP_NARROW_FLOAT_H

#include "moonwarp/arithmetic/arithmetic.h"
#include "moonwarp/math/math_overloads.h"
#include "moonwarp/math/roots.h"
#include "moonwarp/warp/warp.h"
#include "moonwarp/words.h"

/* number: the type itself, where it is a narrow number; pair: that of two of them; fma: x * y + z, rounded once */
template <typename T> struct __mw_narrow_traits {};
template <typename V> struct __mw_narrow_pair_traits {};
template <typename T> using __mw_narrow = typename __mw_narrow_traits<T>::number;

/* The number that an argument is taken for: itself, or what a program's class derives the bits of (Eigen's half). */
template <bool> struct __mw_derived {};
template <> struct __mw_derived<true> {
  typedef void yes;
};
template <typename T, typename = void> struct __mw_narrow_argument : __mw_narrow_traits<T> {};
template <typename T> using __mw_as_narrow = typename __mw_narrow_argument<T>::number;
template <typename V> using __mw_pair_of_narrow = typename __mw_narrow_pair_traits<V>::pair;

/* clang-format off */
/* A function of T, and the same for both numbers of a pair. */
#define __mw_narrow_unary(name, pair_name, expression)                                                                 \
  template <typename T> __mw_both_template __mw_as_narrow<T> name(T a) {                                               \
    float x = (float)__mw_as_narrow<T>(a);                                                                             \
    return __mw_as_narrow<T>(expression);                                                                              \
  }                                                                                                                    \
  template <typename V> __mw_both_template __mw_pair_of_narrow<V> pair_name(V a) { return V(name(a.x), name(a.y)); }
#define __mw_narrow_binary(name, pair_name, expression)                                                                \
  template <typename T> __mw_both_template __mw_as_narrow<T> name(T a, __mw_same<T> b) {                               \
    float x = (float)__mw_as_narrow<T>(a), y = (float)__mw_as_narrow<T>(b);                                            \
    return __mw_as_narrow<T>(expression);                                                                              \
  }                                                                                                                    \
  template <typename V> __mw_both_template __mw_pair_of_narrow<V> pair_name(V a, __mw_same<V> b) {                     \
    return V(name(a.x, b.x), name(a.y, b.y));                                                                          \
  }
__mw_narrow_binary(__hadd, __hadd2, __fadd_rn(x, y)) __mw_narrow_binary(__hadd_rn, __hadd2_rn, __fadd_rn(x, y))
__mw_narrow_binary(__hsub, __hsub2, __fsub_rn(x, y)) __mw_narrow_binary(__hsub_rn, __hsub2_rn, __fsub_rn(x, y))
__mw_narrow_binary(__hmul, __hmul2, __fmul_rn(x, y)) __mw_narrow_binary(__hmul_rn, __hmul2_rn, __fmul_rn(x, y))
__mw_narrow_binary(__hdiv, __h2div, __fdiv_rn(x, y))
__mw_narrow_binary(__hadd_sat, __hadd2_sat, __saturatef(__fadd_rn(x, y)))
__mw_narrow_binary(__hsub_sat, __hsub2_sat, __saturatef(__fsub_rn(x, y)))
__mw_narrow_binary(__hmul_sat, __hmul2_sat, __saturatef(__fmul_rn(x, y)))
/* If one is NaN, the other number; -0 is less than +0. */
__mw_narrow_binary(__hmax, __hmax2, x == y ? (signbit(x) ? y : x) : fmaxf(x, y))
__mw_narrow_binary(__hmin, __hmin2, x == y ? (signbit(x) ? x : y) : fminf(x, y))
__mw_narrow_binary(__hmax_nan, __hmax2_nan, x != x || y != y ? NAN : x == y ? (signbit(x) ? y : x) : fmaxf(x, y))
__mw_narrow_binary(__hmin_nan, __hmin2_nan, x != x || y != y ? NAN : x == y ? (signbit(x) ? x : y) : fminf(x, y))
__mw_narrow_unary(hsqrt, h2sqrt, sqrtf(x)) __mw_narrow_unary(hrsqrt, h2rsqrt, rsqrtf(x))
__mw_narrow_unary(hrcp, h2rcp, 1.0f / x)
__mw_narrow_unary(hexp, h2exp, expf(x)) __mw_narrow_unary(hexp2, h2exp2, exp2f(x))
__mw_narrow_unary(hexp10, h2exp10, exp10f(x))
__mw_narrow_unary(hlog, h2log, logf(x)) __mw_narrow_unary(hlog2, h2log2, log2f(x))
__mw_narrow_unary(hlog10, h2log10, log10f(x))
__mw_narrow_unary(hsin, h2sin, sinf(x)) __mw_narrow_unary(hcos, h2cos, cosf(x)) __mw_narrow_unary(htanh, h2tanh, tanhf(x))
__mw_narrow_unary(htanh_approx, h2tanh_approx, tanhf(x))
__mw_narrow_unary(hceil, h2ceil, ceilf(x)) __mw_narrow_unary(hfloor, h2floor, floorf(x))
__mw_narrow_unary(htrunc, h2trunc, truncf(x)) __mw_narrow_unary(hrint, h2rint, rintf(x))
#undef __mw_narrow_unary
#undef __mw_narrow_binary

template <typename T> __mw_both_template __mw_as_narrow<T> __habs(T a) {
  return __mw_as_narrow<T>::__mw_of_bits(__mw_as_narrow<T>(a).__x & 0x7fff);
}
template <typename T> __mw_both_template __mw_as_narrow<T> __hneg(T a) {
  return __mw_as_narrow<T>::__mw_of_bits(__mw_as_narrow<T>(a).__x ^ 0x8000);
}
template <typename V> __mw_both_template __mw_pair_of_narrow<V> __habs2(V a) { return V(__habs(a.x), __habs(a.y)); }
template <typename V> __mw_both_template __mw_pair_of_narrow<V> __hneg2(V a) { return V(__hneg(a.x), __hneg(a.y)); }

template <typename V> __mw_both_template __mw_pair_of_narrow<V> h2div(V a, __mw_same<V> b) { return __h2div(a, b); }

/* x * y + z; _sat clamps to [0, 1], _relu at 0. */
#define __mw_narrow_fma(suffix, expression)                                                                            \
  template <typename N> __mw_both_template __mw_as_narrow<N> __hfma##suffix(N a, __mw_same<N> b, __mw_same<N> c) {     \
    typedef __mw_as_narrow<N> T;                                                                                       \
    T sum = __mw_narrow_traits<T>::fma((float)T(a), (float)T(b), (float)T(c));                                         \
    return expression;                                                                                                 \
  }                                                                                                                    \
  template <typename V>                                                                                                \
  __mw_both_template __mw_pair_of_narrow<V> __hfma2##suffix(V a, __mw_same<V> b, __mw_same<V> c) {                     \
    return V(__hfma##suffix(a.x, b.x, c.x), __hfma##suffix(a.y, b.y, c.y));                                            \
  }
__mw_narrow_fma(, sum)
__mw_narrow_fma(_sat, T(__saturatef((float)sum)))
__mw_narrow_fma(_relu, __hmax_nan(sum, T(0.0f)))
#undef __mw_narrow_fma

/* (x + iy)(u + iv) + c, complex */
template <typename V> __mw_both_template __mw_pair_of_narrow<V> __hcmadd(V a, __mw_same<V> b, __mw_same<V> c) {
  return V(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

/* Comparisons: h.. of single numbers, h..2 gives a pair of 1 or 0, h..2_mask of 0xffff or 0, hb..2 whether both hold.
   The forms with u are unordered: true for NaN. */
#define __mw_narrow_compare(name, expression)                                                                          \
  template <typename T, typename N = __mw_as_narrow<T>> __mw_both_template bool __h##name(T a, __mw_same<T> b) {       \
    float x = (float)N(a), y = (float)N(b);                                                                            \
    return expression;                                                                                                 \
  }                                                                                                                    \
  template <typename V> __mw_both_template __mw_pair_of_narrow<V> __h##name##2(V a, __mw_same<V> b) {                  \
    return V(decltype(a.x)(__h##name(a.x, b.x) ? 1.0f : 0.0f), decltype(a.x)(__h##name(a.y, b.y) ? 1.0f : 0.0f));      \
  }                                                                                                                    \
  template <typename V, typename = __mw_pair_of_narrow<V>>                                                             \
  __mw_both_template unsigned __h##name##2_mask(V a, __mw_same<V> b) {                                                 \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);                            \
  }                                                                                                                    \
  template <typename V, typename = __mw_pair_of_narrow<V>>                                                             \
  __mw_both_template bool __hb##name##2(V a, __mw_same<V> b) {                                                         \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                                 \
  }
__mw_narrow_compare(eq, x == y) __mw_narrow_compare(ne, x < y || x > y) __mw_narrow_compare(lt, x < y)
__mw_narrow_compare(gt, x > y) __mw_narrow_compare(le, x <= y) __mw_narrow_compare(ge, x >= y)
__mw_narrow_compare(equ, !(x < y || x > y)) __mw_narrow_compare(neu, x != y) __mw_narrow_compare(ltu, !(x >= y))
__mw_narrow_compare(gtu, !(x <= y)) __mw_narrow_compare(leu, !(x > y)) __mw_narrow_compare(geu, !(x < y))
#undef __mw_narrow_compare

template <typename T, typename N = __mw_as_narrow<T>> __mw_both_template bool __hisnan(T a) {
  return (float)N(a) != (float)N(a);
}
/* -1, 0 or 1 */
template <typename T, typename N = __mw_as_narrow<T>> __mw_both_template int __hisinf(T a) {
  float x = (float)N(a);
  return x == __builtin_inff() ? 1 : x == -__builtin_inff() ? -1 : 0;
}
template <typename V> __mw_both_template __mw_pair_of_narrow<V> __hisnan2(V a) {
  return V(decltype(a.x)(__hisnan(a.x) ? 1.0f : 0.0f), decltype(a.x)(__hisnan(a.y) ? 1.0f : 0.0f));
}

/* Operators for two operands of the type; with a float operand, the narrow number is converted to float. */
#define __mw_narrow_operator(sign, function, pair_function)                                                            \
  template <typename T> __mw_both_template __mw_narrow<T> operator sign(T a, T b) { return function(a, b); }           \
  template <typename V> __mw_both_template __mw_pair_of_narrow<V> operator sign(V a, V b) {                            \
    return pair_function(a, b);                                                                                        \
  }                                                                                                                    \
  template <typename T> __mw_both_template __mw_narrow<T> &operator sign##=(T &a, __mw_same<T> b) {                    \
    return a = function(a, b);                                                                                         \
  }                                                                                                                    \
  template <typename V> __mw_both_template __mw_pair_of_narrow<V> &operator sign##=(V &a, __mw_same<V> b) {            \
    return a = pair_function(a, b);                                                                                    \
  }
__mw_narrow_operator(+, __hadd, __hadd2) __mw_narrow_operator(-, __hsub, __hsub2)
__mw_narrow_operator(*, __hmul, __hmul2) __mw_narrow_operator(/, __hdiv, __h2div)
#undef __mw_narrow_operator

#define __mw_narrow_relation(sign, name)                                                                               \
  template <typename T, typename = __mw_narrow<T>> __mw_both_template bool operator sign(T a, T b) {                   \
    return __h##name(a, b);                                                                                            \
  }                                                                                                                    \
  template <typename V, typename = __mw_pair_of_narrow<V>, typename = void>                                            \
  __mw_both_template bool operator sign(V a, V b) {                                                                    \
    return __hb##name##2(a, b);                                                                                        \
  }
__mw_narrow_relation(==, eq) __mw_narrow_relation(!=, neu) __mw_narrow_relation(<, lt)
__mw_narrow_relation(>, gt) __mw_narrow_relation(<=, le) __mw_narrow_relation(>=, ge)
#undef __mw_narrow_relation

template <typename T> __mw_both_template __mw_narrow<T> operator-(T a) { return __hneg(a); }
template <typename T> __mw_both_template __mw_narrow<T> operator+(T a) { return a; }
template <typename V> __mw_both_template __mw_pair_of_narrow<V> operator-(V a) { return __hneg2(a); }
template <typename V> __mw_both_template __mw_pair_of_narrow<V> operator+(V a) { return a; }
template <typename T> __mw_both_template __mw_narrow<T> &operator++(T &a) { return a = __hadd(a, T(1.0f)); }
template <typename T> __mw_both_template __mw_narrow<T> &operator--(T &a) { return a = __hsub(a, T(1.0f)); }
template <typename T> __mw_both_template __mw_narrow<T> operator++(T &a, int) {
  T old = a;
  ++a;
  return old;
}
template <typename T> __mw_both_template __mw_narrow<T> operator--(T &a, int) {
  T old = a;
  --a;
  return old;
}

/* Shuffles move the bits. */
#define __mw_narrow_shuffle(name, lane_type)                                                                           \
  template <typename T, typename N = __mw_as_narrow<T>>                                                                \
  __mw_device_template N name##_sync(unsigned mask, T value, lane_type lane, int width = 32) {                         \
    return N::__mw_of_bits((unsigned short)name##_sync(mask, (unsigned)N(value).__x, lane, width));                    \
  }                                                                                                                    \
  template <typename V>                                                                                                \
  __mw_device_template __mw_pair_of_narrow<V> name##_sync(unsigned mask, V value, lane_type lane, int width = 32) {    \
    return __builtin_bit_cast(V, name##_sync(mask, __builtin_bit_cast(unsigned, value), lane, width));                 \
  }
__mw_narrow_shuffle(__shfl, int) __mw_narrow_shuffle(__shfl_up, unsigned)
__mw_narrow_shuffle(__shfl_down, unsigned) __mw_narrow_shuffle(__shfl_xor, int);
#undef __mw_narrow_shuffle
/* clang-format on */

/* Atomic operations without instructions: compare and swap of the bits. */
template <typename T> __mw_device_template __mw_narrow<T> atomicAdd(T *address, __mw_same<T> value) {
  unsigned short *word = (unsigned short *)address, old = *(volatile unsigned short *)word, seen;
  for (;; old = seen) {
    seen = atomicCAS(word, old, __hadd(T::__mw_of_bits(old), value).__x);
    if (seen == old) return T::__mw_of_bits(old);
  }
}
/* As in CUDA, each of the two is atomic by itself. */
template <typename V> __mw_device_template __mw_pair_of_narrow<V> atomicAdd(V *address, __mw_same<V> value) {
  return V(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));
}

/* An exact value rounded to the narrow type T: `nearest`, or the next number in the rounding's direction. */
template <typename T> __mw_both_template T __mw_narrow_step(T nearest, bool away) {
  if ((nearest.__x & 0x7fff) == 0) return T::__mw_of_bits(away ? 1 : 0x8001);
  bool larger = (nearest.__x >> 15 == 0) == away; /* in magnitude; `away`: toward +infinity */
  return T::__mw_of_bits((unsigned short)(larger ? nearest.__x + 1 : nearest.__x - 1));
}
template <typename T> __mw_both_template T __mw_narrow_rz(double x) {
  T nearest(x);
  double back = (float)nearest;
  return fabs(back) > fabs(x) ? T::__mw_of_bits((unsigned short)(nearest.__x - 1)) : nearest;
}
template <typename T> __mw_both_template T __mw_narrow_ru(double x) {
  T nearest(x);
  return (double)(float)nearest < x ? __mw_narrow_step(nearest, true) : nearest;
}
template <typename T> __mw_both_template T __mw_narrow_rd(double x) {
  T nearest(x);
  return (double)(float)nearest > x ? __mw_narrow_step(nearest, false) : nearest;
}

/* A double rounded to odd in float, so that rounding it to a narrower type gives the same as rounding the double. */
__mw_both float __mw_float_to_odd(double x) {
  float f = (float)x;
  int bits = __float_as_int(f);
  double error = x - (double)f;
  if (f - f != 0.0f && x - x == 0.0) return f; /* out of float's range: infinite in any narrow type */
  bool lost = error != 0.0 && error == error && !(bits & 1);
  return lost ? __int_as_float((error > 0) == (f > 0) || f == 0 ? bits + 1 : bits - 1) : f;
}

/* x + y rounded to odd in single precision. */
__mw_both float __mw_sum_to_oddf(float x, float y) {
  __mw_exactly;
  float sum = x + y, other = sum - x, error = (x - (sum - other)) + (y - other);
  int bits = __float_as_int(sum);
  if ((error > 0 || error < 0) && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return __int_as_float(bits);
}

#endif
