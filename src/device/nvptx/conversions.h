/* Conversions between number types with a stated rounding, as instructions: what is out of range is held. */
#ifndef MOONWARP_NVPTX_CONVERSIONS_H
#define MOONWARP_NVPTX_CONVERSIONS_H

/* clang-format off */
#define __mw_converted(from, F, to, T, builtin)                                                                        \
  __mw_both T __##from##2##to##_rn(F x) { return (T)__nvvm_##builtin##_rn(x); }                                        \
  __mw_both T __##from##2##to##_rz(F x) { return (T)__nvvm_##builtin##_rz(x); }                                        \
  __mw_both T __##from##2##to##_ru(F x) { return (T)__nvvm_##builtin##_rp(x); }                                        \
  __mw_both T __##from##2##to##_rd(F x) { return (T)__nvvm_##builtin##_rm(x); }
__mw_converted(float, float, int, int, f2i)
__mw_converted(float, float, uint, unsigned int, f2ui)
__mw_converted(float, float, ll, long long, f2ll)
__mw_converted(float, float, ull, unsigned long long, f2ull)
__mw_converted(double, double, int, int, d2i)
__mw_converted(double, double, uint, unsigned int, d2ui)
__mw_converted(double, double, ll, long long, d2ll)
__mw_converted(double, double, ull, unsigned long long, d2ull)
__mw_converted(int, int, float, float, i2f)
__mw_converted(uint, unsigned int, float, float, ui2f)
__mw_converted(ll, long long, float, float, ll2f)
__mw_converted(ull, unsigned long long, float, float, ull2f)
__mw_converted(ll, long long, double, double, ll2d)
__mw_converted(ull, unsigned long long, double, double, ull2d)
__mw_converted(double, double, float, float, d2f);
#undef __mw_converted
/* clang-format on */

__mw_both double __int2double_rn(int x) { return x; }
__mw_both double __uint2double_rn(unsigned int x) { return x; }

#endif
