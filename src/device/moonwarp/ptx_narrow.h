/* Functions for PTX instructions of bfloat16, tf32 and numbers of 8 bits (src/mwcc/ptx/narrow.c), included as
 * ptx_functions.h is. `relu`: negative results are 0. */
#ifndef MOONWARP_PTX_NARROW_H
#define MOONWARP_PTX_NARROW_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

/* clang-format off */
#define __mw_ptx(name, type, parameters, expression)                                                                   \
  extern "C" __attribute__((device, nodebug)) type __mw_ptx_##name parameters { return expression; }

__mw_device float __mw_ptx_relu(float x, int relu) { return relu && x <= 0 ? 0.0f : x; } /* no -0, as an H100's */
__mw_device float __mw_ptx_wide(unsigned short bits) { return __bfloat162float(__ushort_as_bfloat16(bits)); }
__mw_device unsigned short __mw_ptx_bf16(float x) { return __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
__mw_device unsigned short __mw_ptx_bf16_rz(float x) { return __bfloat16_as_ushort(__float2bfloat16_rz(x)); }
__mw_device unsigned short __mw_ptx_f16(float x) { return __half_as_ushort(__float2half_rn(x)); }
__mw_device unsigned short __mw_ptx_f16_rz(float x) { return __half_as_ushort(__float2half_rz(x)); }

#define __mw_ptx_from_f32(rounds, type, function)                                                                      \
  __mw_ptx(cvt_##rounds##_##type##_f32, unsigned short, (float x, int relu), function(__mw_ptx_relu(x, relu)))         \
  __mw_ptx(cvt_##rounds##_##type##x2_f32, unsigned int, (float high, float low, int relu),                             \
           function(__mw_ptx_relu(low, relu)) | (unsigned int)function(__mw_ptx_relu(high, relu)) << 16)
__mw_ptx_from_f32(rn, bf16, __mw_ptx_bf16)
__mw_ptx_from_f32(rz, bf16, __mw_ptx_bf16_rz)
__mw_ptx_from_f32(rn, f16, __mw_ptx_f16)
__mw_ptx_from_f32(rz, f16, __mw_ptx_f16_rz)
__mw_ptx(cvt_rn_f32_bf16, float, (unsigned short x, int), __mw_ptx_wide(x))

/* tf32 has 10 bits of the fraction; halves are rounded away from zero. NaN loses its last bits, as on an H100, where it may
   become infinity. */
__mw_device unsigned int __mw_ptx_tf32(float x) {
  unsigned int bits = __float_as_uint(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits & ~0x1fffu;
  return (bits + 0x1000u) & ~0x1fffu;
}
__mw_ptx(cvt_rna_tf32_f32, unsigned int, (float x, int), __mw_ptx_tf32(x))

#define __mw_ptx_1(name, expression)                                                                                   \
  __mw_ptx(name, unsigned short, (unsigned short a), __mw_ptx_bf16(expression(__mw_ptx_wide(a))))
#define __mw_ptx_2(name, expression)                                                                                   \
  __mw_ptx(name, unsigned short, (unsigned short a, unsigned short b),                                                 \
           __mw_ptx_bf16(expression(__mw_ptx_wide(a), __mw_ptx_wide(b))))
/* A product may be too large for a float where the sum is not. */
#define __mw_ptx_of_three(name, function)                                                                               \
  __mw_ptx(name, unsigned short, (unsigned short a, unsigned short b, unsigned short c),                               \
           __bfloat16_as_ushort(                                                                                       \
               function(__ushort_as_bfloat16(a), __ushort_as_bfloat16(b), __ushort_as_bfloat16(c))))
#define __mw_ptx_of_two(name, function)                                                                                 \
  __mw_ptx(name, unsigned short, (unsigned short a, unsigned short b),                                                 \
           __bfloat16_as_ushort(function(__ushort_as_bfloat16(a), __ushort_as_bfloat16(b))))
__mw_ptx_2(add_bf16, __fadd_rn) __mw_ptx_2(sub_bf16, __fsub_rn) __mw_ptx_2(mul_bf16, __fmul_rn)
__mw_ptx_of_two(min_bf16, __hmin) __mw_ptx_of_two(max_bf16, __hmax)
__mw_ptx_of_two(min_bf16_nan, __hmin_nan) __mw_ptx_of_two(max_bf16_nan, __hmax_nan)
__mw_ptx_of_three(fma_bf16, __hfma) __mw_ptx_of_three(fma_bf16_relu, __hfma_relu)
__mw_ptx_1(tanh_bf16, tanhf) __mw_ptx_1(ex2_bf16, exp2f)
__mw_ptx(neg_bf16, unsigned short, (unsigned short a), (unsigned short)(a ^ 0x8000u))
__mw_ptx(abs_bf16, unsigned short, (unsigned short a), (unsigned short)(a & 0x7fffu))

#ifdef __MW_PTX_FP8
#include "cuda_fp8.h"
#define __mw_ptx_fp8(name, format)                                                                                     \
  __mw_ptx(cvt_rn_##name##_f32, unsigned short, (float high, float low, int relu),                                     \
           __nv_cvt_float2_to_fp8x2(make_float2(__mw_ptx_relu(low, relu), __mw_ptx_relu(high, relu)), __NV_SATFINITE,  \
                                    format))                                                                           \
  __mw_ptx(cvt_rn_##name##_f16x2, unsigned short, (unsigned int x, int relu),                                          \
           __mw_ptx_cvt_rn_##name##_f32(__half2float(__ushort_as_half((unsigned short)(x >> 16))),                     \
                                        __half2float(__ushort_as_half((unsigned short)x)), relu))                      \
  __mw_ptx(cvt_rn_f16x2_##name, unsigned int, (unsigned short x, int relu), __mw_ptx_halves(x, format, relu))
__mw_device unsigned int __mw_ptx_halves(unsigned short x, __nv_fp8_interpretation_t format, int relu) {
  __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(x, format);
  if (relu && raw.x & 0x8000) raw.x = 0;
  if (relu && raw.y & 0x8000) raw.y = 0;
  return raw.x | (unsigned int)raw.y << 16;
}
__mw_ptx_fp8(e4m3x2, __NV_E4M3)
__mw_ptx_fp8(e5m2x2, __NV_E5M2)
#endif
#undef __mw_ptx
/* clang-format on */

#endif
