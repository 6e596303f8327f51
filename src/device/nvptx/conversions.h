/* Saturating conversions between number types with a stated rounding, as instructions. They are inline PTX: LLVM treats
 * some of its intrinsics as plain conversions, which round differently. */
#ifndef MOONWARP_NVPTX_CONVERSIONS_H
#define MOONWARP_NVPTX_CONVERSIONS_H

/* clang-format off */
#define __mw_convert(name, F, from, T, to, instruction)                                                                \
  __mw_device T name(F x) {                                                                                            \
    T result;                                                                                                          \
    asm(instruction " %0, %1;" : "=" to(result) : from(x));                                                            \
    return result;                                                                                                     \
  }
/* For integers the rounding modifiers are rni, rzi, …: `i` is the suffix. */
#define __mw_converted(name, F, from, T, to, i, types)                                                                 \
  __mw_convert(name##_rn, F, from, T, to, "cvt.rn" i types)                                                            \
  __mw_convert(name##_rz, F, from, T, to, "cvt.rz" i types)                                                            \
  __mw_convert(name##_ru, F, from, T, to, "cvt.rp" i types)                                                            \
  __mw_convert(name##_rd, F, from, T, to, "cvt.rm" i types)
#define __mw_converted_kinds(F, from, name, kind)                                                                      \
  __mw_converted(__##name##2int, F, from, int, "r", "i", ".s32." kind)                                                 \
  __mw_converted(__##name##2uint, F, from, unsigned int, "r", "i", ".u32." kind)                                       \
  __mw_converted(__##name##2ll, F, from, long long, "l", "i", ".s64." kind)                                            \
  __mw_converted(__##name##2ull, F, from, unsigned long long, "l", "i", ".u64." kind)
__mw_converted_kinds(float, "f", float, "f32")
__mw_converted_kinds(double, "d", double, "f64")
__mw_converted(__int2float, int, "r", float, "f", "", ".f32.s32")
__mw_converted(__uint2float, unsigned int, "r", float, "f", "", ".f32.u32")
__mw_converted(__ll2float, long long, "l", float, "f", "", ".f32.s64")
__mw_converted(__ull2float, unsigned long long, "l", float, "f", "", ".f32.u64")
__mw_converted(__ll2double, long long, "l", double, "d", "", ".f64.s64")
__mw_converted(__ull2double, unsigned long long, "l", double, "d", "", ".f64.u64")
__mw_converted(__double2float, double, "d", float, "f", "", ".f32.f64");
#undef __mw_converted_kinds
#undef __mw_converted
#undef __mw_convert
/* clang-format on */

__mw_both double __int2double_rn(int x) { return x; }
__mw_both double __uint2double_rn(unsigned int x) { return x; }

#endif
