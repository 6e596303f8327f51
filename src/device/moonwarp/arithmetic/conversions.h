/* Conversions between number types with a stated rounding, and between numbers and their bits.
 *
 * _rn to the nearest (ties to even), _rz toward zero, _ru up, _rd down. Conversions to integers saturate; as on the
 * hardware, so do plain casts (by mwcc's retarget pass). */
#ifndef MOONWARP_CONVERSIONS_H
#define MOONWARP_CONVERSIONS_H

#include "moonwarp/math/libm.h"

__mw_both int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__mw_both unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
__mw_both float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__mw_both float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
__mw_both long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__mw_both double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__mw_both int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__mw_both int __double2loint(double x) { return (int)__double_as_longlong(x); }
__mw_both double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)high << 32 | (unsigned int)low));
}

/* The neighbours of a number in its format: of infinity the largest finite number, of zero the smallest subnormal. */
__mw_both float __mw_next_up(float x) {
  int bits = __float_as_int(x);
  return __int_as_float(x == 0 ? 1 : bits < 0 ? bits - 1 : bits + 1);
}
__mw_both float __mw_next_down(float x) {
  int bits = __float_as_int(x);
  return __int_as_float(x == 0 ? (int)0x80000001 : bits < 0 ? bits + 1 : bits - 1);
}
__mw_both double __mw_next_up(double x) {
  long long bits = __double_as_longlong(x);
  return __longlong_as_double(x == 0 ? 1 : bits < 0 ? bits - 1 : bits + 1);
}
__mw_both double __mw_next_down(double x) {
  long long bits = __double_as_longlong(x);
  return __longlong_as_double(x == 0 ? (long long)0x8000000000000001 : bits < 0 ? bits + 1 : bits - 1);
}
/* `nearest` is the exact value rounded to the nearest; `error` has the sign of exact - nearest. */
template <typename T, typename E> __mw_both_template T __mw_round_up(T nearest, E error) {
  return error > 0 ? __mw_next_up(nearest) : nearest;
}
template <typename T, typename E> __mw_both_template T __mw_round_down(T nearest, E error) {
  return error < 0 ? __mw_next_down(nearest) : nearest;
}
template <typename T, typename E> __mw_both_template T __mw_round_to_zero(T nearest, E error) {
  if (nearest == 0) return nearest;
  return nearest > 0 ? __mw_round_down(nearest, error) : __mw_round_up(nearest, error);
}

#ifdef __MW_NVPTX__
#include "../../nvptx/conversions.h"
#else

/* clang-format off */
#define __mw_to_integer(from, F, to, T, round_nearest, up, down)                                                       \
  __mw_both T __##from##2##to##_rn(F x) { return (T)round_nearest(x); }                                                \
  __mw_both T __##from##2##to##_rz(F x) { return (T)x; }                                                               \
  __mw_both T __##from##2##to##_ru(F x) { return (T)up(x); }                                                           \
  __mw_both T __##from##2##to##_rd(F x) { return (T)down(x); }
__mw_to_integer(float, float, int, int, rintf, ceilf, floorf)
__mw_to_integer(float, float, uint, unsigned int, rintf, ceilf, floorf)
__mw_to_integer(float, float, ll, long long, rintf, ceilf, floorf)
__mw_to_integer(float, float, ull, unsigned long long, rintf, ceilf, floorf)
__mw_to_integer(double, double, int, int, rint, ceil, floor)
__mw_to_integer(double, double, uint, unsigned int, rint, ceil, floor)
__mw_to_integer(double, double, ll, long long, rint, ceil, floor)
__mw_to_integer(double, double, ull, unsigned long long, rint, ceil, floor);
#undef __mw_to_integer

/* From 64 bits (and 32 to float): exact - nearest is computed in the integer's type. If nearest is 2^63 or 2^64, which
   does not fit, the exact value is smaller. */
#define __mw_error(T, limit, x, nearest)                                                                               \
  ((nearest) >= (limit) ? -1 : (x) > (T)(nearest) ? 1 : (x) < (T)(nearest) ? -1 : 0)
#define __mw_from_integer(from, T, to, F, limit)                                                                       \
  __mw_both F __##from##2##to##_rn(T x) { return (F)x; }                                                               \
  __mw_both F __##from##2##to##_rz(T x) { return __mw_round_to_zero((F)x, __mw_error(T, limit, x, (F)x)); }            \
  __mw_both F __##from##2##to##_ru(T x) { return __mw_round_up((F)x, __mw_error(T, limit, x, (F)x)); }                 \
  __mw_both F __##from##2##to##_rd(T x) { return __mw_round_down((F)x, __mw_error(T, limit, x, (F)x)); }
__mw_from_integer(int, int, float, float, 0x1p31f)
__mw_from_integer(uint, unsigned int, float, float, 0x1p32f)
__mw_from_integer(ll, long long, float, float, 0x1p63f)
__mw_from_integer(ull, unsigned long long, float, float, 0x1p64f)
__mw_from_integer(ll, long long, double, double, 0x1p63)
__mw_from_integer(ull, unsigned long long, double, double, 0x1p64);
#undef __mw_from_integer
#undef __mw_error
/* clang-format on */

__mw_both double __int2double_rn(int x) { return x; }
__mw_both double __uint2double_rn(unsigned int x) { return x; }

__mw_both float __double2float_rn(double x) { return (float)x; }
__mw_both float __double2float_rz(double x) { return __mw_round_to_zero((float)x, x - (double)(float)x); }
__mw_both float __double2float_ru(double x) { return __mw_round_up((float)x, x - (double)(float)x); }
__mw_both float __double2float_rd(double x) { return __mw_round_down((float)x, x - (double)(float)x); }

#endif

#endif
