/* Functions for PTX instructions without a counterpart in LLVM: arithmetic rounded toward zero, up and down, and
 * approximate functions. Included at the end of sources with asm statements. mwcc calls them by the instruction's name
 * (src/mwcc/ptx/float.c) and deletes those that are not called. */
#ifndef MOONWARP_PTX_FUNCTIONS_H
#define MOONWARP_PTX_FUNCTIONS_H

/* clang-format off */
#define __mw_ptx(name, type, parameters, expression)                                                                   \
  extern "C" __attribute__((device, nodebug)) type __mw_ptx_##name parameters { return expression; }

#define __mw_ptx_float(name, parameters, arguments, function)                                                          \
  __mw_ptx(name##_rz_f32, float, parameters, function##_rz arguments)                                                  \
  __mw_ptx(name##_rm_f32, float, parameters, function##_rd arguments)                                                  \
  __mw_ptx(name##_rp_f32, float, parameters, function##_ru arguments)
#define __mw_ptx_double(name, parameters, arguments, function)                                                         \
  __mw_ptx(name##_rz_f64, double, parameters, function##_rz arguments)                                                 \
  __mw_ptx(name##_rm_f64, double, parameters, function##_rd arguments)                                                 \
  __mw_ptx(name##_rp_f64, double, parameters, function##_ru arguments)
__mw_ptx(fns, unsigned int, (unsigned int mask, unsigned int base, int n), __fns(mask, base, n))
__mw_ptx_float(add, (float x, float y), (x, y), __fadd)
__mw_ptx_float(sub, (float x, float y), (x, y), __fsub)
__mw_ptx_float(mul, (float x, float y), (x, y), __fmul)
__mw_ptx_float(div, (float x, float y), (x, y), __fdiv)
__mw_ptx_float(fma, (float x, float y, float z), (x, y, z), __fmaf)
__mw_ptx_float(rcp, (float x), (x), __frcp)
__mw_ptx_float(sqrt, (float x), (x), __fsqrt)
__mw_ptx_double(add, (double x, double y), (x, y), __dadd)
__mw_ptx_double(sub, (double x, double y), (x, y), __dsub)
__mw_ptx_double(mul, (double x, double y), (x, y), __dmul)
__mw_ptx_double(div, (double x, double y), (x, y), __ddiv)
__mw_ptx_double(fma, (double x, double y, double z), (x, y, z), __fma)
__mw_ptx_double(rcp, (double x), (x), __drcp)
__mw_ptx_double(sqrt, (double x), (x), __dsqrt)

/* cvt: the destination's type precedes the source's */
#define __mw_ptx_convert(to, T, from, F, function)                                                                     \
  __mw_ptx(cvt_rz_##to##_##from, T, (F x), function##_rz(x))                                                           \
  __mw_ptx(cvt_rm_##to##_##from, T, (F x), function##_rd(x))                                                           \
  __mw_ptx(cvt_rp_##to##_##from, T, (F x), function##_ru(x))
__mw_ptx_convert(f32, float, f64, double, __double2float)
__mw_ptx_convert(f32, float, s32, int, __int2float)
__mw_ptx_convert(f32, float, u32, unsigned int, __uint2float)
__mw_ptx_convert(f32, float, s64, long long, __ll2float)
__mw_ptx_convert(f32, float, u64, unsigned long long, __ull2float)
__mw_ptx_convert(f64, double, s64, long long, __ll2double)
__mw_ptx_convert(f64, double, u64, unsigned long long, __ull2double)

/* As accurate as CUDA C's fast functions, which are these instructions on a GPU. */
__mw_ptx(ex2_approx_f32, float, (float x), __mw_fast_exp2(x, 1.0f))
__mw_ptx(lg2_approx_f32, float, (float x), __log2f(x))
__mw_ptx(sin_approx_f32, float, (float x), __sinf(x))
__mw_ptx(cos_approx_f32, float, (float x), __cosf(x))
__mw_ptx(tanh_approx_f32, float, (float x), tanhf(x))

__mw_ptx(atom_inc_u32, unsigned int, (unsigned int *at, unsigned int limit), atomicInc(at, limit))
__mw_ptx(atom_dec_u32, unsigned int, (unsigned int *at, unsigned int limit), atomicDec(at, limit))

/* Copies whose bytes past the first `given` are 0. */
template <unsigned int Size> __mw_device_template void __mw_copy_given(char *to, const char *from, unsigned int given) {
  __mw_report_async(1);
  if (given >= Size)
    memcpy(__builtin_assume_aligned(to, Size), __builtin_assume_aligned(from, Size), Size);
  else
    for (unsigned int i = 0; i < Size; i++) to[i] = i < given ? from[i] : 0;
  __mw_report_async(0);
}
__mw_ptx(cp_async_4, void, (char *to, const char *from, unsigned int given), __mw_copy_given<4>(to, from, given))
__mw_ptx(cp_async_8, void, (char *to, const char *from, unsigned int given), __mw_copy_given<8>(to, from, given))
__mw_ptx(cp_async_16, void, (char *to, const char *from, unsigned int given), __mw_copy_given<16>(to, from, given))
#undef __mw_ptx
#undef __mw_ptx_float
#undef __mw_ptx_double
#undef __mw_ptx_convert
/* clang-format on */

#endif
