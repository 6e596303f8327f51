/* 6-bit floating-point numbers of CUDA's two formats, in the low bits of a byte, and their conversions.
 *
 *   format  exponent  fraction  least   largest
 *   e2m3    2 bits    3 bits    0.125   7.5
 *   e3m2    3 bits    2 bits    0.0625  28
 *
 * (CUDA Math API, "FP6 Intrinsics"; Open Compute Project, "Microscaling Formats", 2023) */
#pragma once

#include "cuda_fp8.h"

typedef __nv_fp8_storage_t __nv_fp6_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp6x2_storage_t;
typedef __nv_fp8x4_storage_t __nv_fp6x4_storage_t;
typedef enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 } __nv_fp6_interpretation_t;

__mw_both __nv_fp6_storage_t __mw_fp6_of(double x, __nv_fp6_interpretation_t format, bool nearest = true) {
  return format == __NV_E2M3 ? __mw_small_float_of(x, 3, 1, 0x1f, nearest)
                             : __mw_small_float_of(x, 2, 3, 0x1f, nearest);
}
__mw_both __half_raw __nv_cvt_fp6_to_halfraw(__nv_fp6_storage_t x, __nv_fp6_interpretation_t format) {
  return format == __NV_E2M3 ? __mw_small_float_to_half(x & 0x3f, 3, 1, 0x1f)
                             : __mw_small_float_to_half(x & 0x3f, 2, 3, 0x1f);
}
__mw_small_float_functions(fp6, __nv_fp6_interpretation_t, __nv_fp6_storage_t, __nv_fp6x2_storage_t, 8)

    /* clang-format off */
__mw_byte_float(__nv_fp6_e2m3, __mw_fp6_of, __nv_cvt_fp6_to_halfraw, __NV_E2M3);
__mw_byte_float(__nv_fp6_e3m2, __mw_fp6_of, __nv_cvt_fp6_to_halfraw, __NV_E3M2);
__mw_byte_float_pair(__nv_fp6x2_e2m3, __nv_fp6_e2m3, __nv_fp6x2_storage_t, 8);
__mw_byte_float_pair(__nv_fp6x2_e3m2, __nv_fp6_e3m2, __nv_fp6x2_storage_t, 8);
__mw_byte_float_four(__nv_fp6x4_e2m3, __nv_fp6x2_e2m3, __nv_fp6x4_storage_t, 16);
__mw_byte_float_four(__nv_fp6x4_e3m2, __nv_fp6x2_e3m2, __nv_fp6x4_storage_t, 16);
/* clang-format on */
