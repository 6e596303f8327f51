/* 4-bit floating-point numbers, e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; and their conversions. One is in
 * the low bits of a byte; pairs fill a byte. (CUDA Math API, "FP4 Intrinsics"; Open Compute Project, "Microscaling
 * Formats", 2023) */
#pragma once

#include "cuda_fp6.h"

typedef __nv_fp8_storage_t __nv_fp4_storage_t;
typedef __nv_fp8_storage_t __nv_fp4x2_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp4x4_storage_t;
typedef enum __nv_fp4_interpretation_t { __NV_E2M1 } __nv_fp4_interpretation_t;

__mw_both __nv_fp4_storage_t __mw_fp4_of(double x, __nv_fp4_interpretation_t, bool nearest = true) {
  return __mw_small_float_of(x, 1, 1, 0x7, nearest);
}
__mw_both __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t x, __nv_fp4_interpretation_t) {
  return __mw_small_float_to_half(x & 0xf, 1, 1, 0x7);
}
__mw_small_float_functions(fp4, __nv_fp4_interpretation_t, __nv_fp4_storage_t, __nv_fp4x2_storage_t, 4)

    /* clang-format off */
__mw_byte_float(__nv_fp4_e2m1, __mw_fp4_of, __nv_cvt_fp4_to_halfraw, __NV_E2M1);
__mw_byte_float_pair(__nv_fp4x2_e2m1, __nv_fp4_e2m1, __nv_fp4x2_storage_t, 4);
__mw_byte_float_four(__nv_fp4x4_e2m1, __nv_fp4x2_e2m1, __nv_fp4x4_storage_t, 8);
/* clang-format on */
