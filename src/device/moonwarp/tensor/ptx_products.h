/* Functions for PTX's mma.sync: mwcc calls them by the instruction's shape and types (src/mwcc/ptx/tensor.c). Registers
 * that a shape does not have are 0. Included at the end of sources that have such instructions, with a macro
 * __MW_TENSOR_… for each family of types that is wanted. */
#ifndef MOONWARP_TENSOR_PTX_PRODUCTS_H
#define MOONWARP_TENSOR_PTX_PRODUCTS_H

#include "moonwarp/tensor/warp_product.h"

typedef double __mw_tensor_doubles __attribute__((ext_vector_type(2)));

/* clang-format off */
#define __mw_mma_header(name)                                                                                          \
  extern "C" __attribute__((device, nodebug)) __mw_tensor_result __mw_ptx_mma_##name(                                  \
      unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1, unsigned c0, unsigned c1,          \
      unsigned c2, unsigned c3)
#define __mw_mma(name, ...)                                                                                            \
  __mw_mma_header(name) { return __mw_warp_apply(__VA_ARGS__, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3); }
#define __mw_mma_float(shape, left, right, Words)                                                                      \
  __mw_mma(shape##_f32_##left##_##right##_f32,                                                                         \
           __mw_tensor_multiply<__mw_tensor_##left, __mw_tensor_##right, __mw_tensor_to_float, __mw_tensor_to_float, Words>)
/* Sums in half are two a register. */
#define __mw_mma_half(shape, left, right, Words)                                                                       \
  __mw_mma_header(shape##_f16_##left##_##right##_f16) {                                                                \
    __mw_tensor_result d =                                                                                             \
        __mw_warp_apply(__mw_tensor_multiply<__mw_tensor_##left, __mw_tensor_##right, __mw_tensor_to_half, __mw_tensor_to_half, Words>, a0, \
                        a1, a2, a3, b0, b1, c0, c0 >> 16, c1, c1 >> 16);                                               \
    return {(d.low & 0xffffu) | (d.low >> 32 & 0xffffu) << 16 | (d.high & 0xffffu) << 32 |                             \
                (d.high >> 32 & 0xffffu) << 48,                                                                        \
            0};                                                                                                        \
  }
#ifdef __MW_TENSOR_F16
__mw_mma_float(m16n8k8, f16, f16, 1) __mw_mma_float(m16n8k16, f16, f16, 2)
__mw_mma_half(m16n8k8, f16, f16, 1) __mw_mma_half(m16n8k16, f16, f16, 2)
#endif
#ifdef __MW_TENSOR_BF16
__mw_mma_float(m16n8k8, bf16, bf16, 1) __mw_mma_float(m16n8k16, bf16, bf16, 2)
#endif
#ifdef __MW_TENSOR_TF32
__mw_mma_float(m16n8k4, tf32, tf32, 1) __mw_mma_float(m16n8k8, tf32, tf32, 2)
#endif
#define __mw_mma_bytes(left, right)                                                                                    \
  __mw_mma_float(m16n8k16, left, right, 1) __mw_mma_float(m16n8k32, left, right, 2)                                    \
  __mw_mma_half(m16n8k16, left, right, 1) __mw_mma_half(m16n8k32, left, right, 2)
#ifdef __MW_TENSOR_FP8
__mw_mma_bytes(e4m3, e4m3) __mw_mma_bytes(e4m3, e5m2) __mw_mma_bytes(e5m2, e4m3) __mw_mma_bytes(e5m2, e5m2)
#endif

#define __mw_mma_integer(shape, left, right, Rows, Words)                                                              \
  __mw_mma(shape##_s32_##left##_##right##_s32,                                                                         \
           __mw_tensor_multiply_integers<__mw_tensor_##left, __mw_tensor_##right, Rows, Words, false>)                 \
  __mw_mma(shape##_s32_##left##_##right##_s32_satfinite,                                                               \
           __mw_tensor_multiply_integers<__mw_tensor_##left, __mw_tensor_##right, Rows, Words, true>)
#define __mw_mma_integers(left, right, k1, k2)                                                                         \
  __mw_mma_integer(m8n8##k1, left, right, 1, 1) __mw_mma_integer(m16n8##k1, left, right, 2, 1)                         \
  __mw_mma_integer(m16n8##k2, left, right, 2, 2)
#ifdef __MW_TENSOR_BYTES
__mw_mma_integers(s8, s8, k16, k32) __mw_mma_integers(s8, u8, k16, k32)
__mw_mma_integers(u8, s8, k16, k32) __mw_mma_integers(u8, u8, k16, k32)
#endif
#ifdef __MW_TENSOR_NIBBLES
__mw_mma_integers(s4, s4, k32, k64) __mw_mma_integers(s4, u4, k32, k64)
__mw_mma_integers(u4, s4, k32, k64) __mw_mma_integers(u4, u4, k32, k64)
#endif

#define __mw_mma_bits(shape, Rows, Words)                                                                              \
  __mw_mma(shape##_s32_b1_b1_s32_xor_popc, __mw_tensor_multiply_bits<Rows, Words, false>)                              \
  __mw_mma(shape##_s32_b1_b1_s32_and_popc, __mw_tensor_multiply_bits<Rows, Words, true>)
#ifdef __MW_TENSOR_BITS
__mw_mma_bits(m8n8k128, 1, 1) __mw_mma_bits(m16n8k128, 2, 1) __mw_mma_bits(m16n8k256, 2, 2)
#endif
    /* clang-format on */

    extern "C" __attribute__((device, nodebug)) __mw_tensor_doubles
    __mw_ptx_mma_m8n8k4_f64(double a, double b, double c0, double c1) {
  double c[] = {c0, c1}, d[2];
  __mw_tensor_multiply_doubles(d, a, b, c);
  return {d[0], d[1]};
}

/* movmatrix: element (row, column) of 8 x 8 numbers of 16 bits is in lane 4 * row + column / 2. */
extern "C" __attribute__((device, nodebug)) unsigned __mw_ptx_movmatrix(unsigned a) {
  unsigned lane = __nvvm_read_ptx_sreg_laneid(), row = lane / 4, column = lane % 4 * 2;
  unsigned first = __shfl_sync(0xffffffffu, a, (int)(column * 4 + row / 2));
  unsigned second = __shfl_sync(0xffffffffu, a, (int)(column * 4 + 4 + row / 2));
  unsigned shift = row % 2 * 16;
  return (first >> shift & 0xffffu) | (second >> shift & 0xffffu) << 16;
}

/* ldmatrix and stmatrix: rows of 16 bytes of 8 x 8 numbers, whose addresses lanes 8 * matrix to 8 * matrix + 7 give. Lane l
   has the two numbers at 2 * (l % 4) of row l / 4, or, transposed, those of column l / 4 in rows 2 * (l % 4) and the next. */
__mw_device char *__mw_tensor_row(char *row, unsigned matrix, unsigned n) {
  unsigned long long address = __shfl_sync(0xffffffffu, (unsigned long long)row, (int)(8 * matrix + n));
  return (char *)address;
}
extern "C" __attribute__((device, nodebug)) unsigned __mw_ptx_ldmatrix(char *row, unsigned matrix) {
  unsigned lane = __nvvm_read_ptx_sreg_laneid();
  return *(const unsigned *)(__mw_tensor_row(row, matrix, lane / 4) + lane % 4 * 4);
}
extern "C" __attribute__((device, nodebug)) unsigned __mw_ptx_ldmatrix_trans(char *row, unsigned matrix) {
  unsigned lane = __nvvm_read_ptx_sreg_laneid(), first = lane % 4 * 2;
  unsigned low = *(const unsigned short *)(__mw_tensor_row(row, matrix, first) + lane / 4 * 2);
  unsigned high = *(const unsigned short *)(__mw_tensor_row(row, matrix, first + 1) + lane / 4 * 2);
  return low | high << 16;
}
extern "C" __attribute__((device, nodebug)) void __mw_ptx_stmatrix(char *row, unsigned matrix, unsigned value) {
  unsigned lane = __nvvm_read_ptx_sreg_laneid();
  *(unsigned *)(__mw_tensor_row(row, matrix, lane / 4) + lane % 4 * 4) = value;
}
extern "C" __attribute__((device, nodebug)) void __mw_ptx_stmatrix_trans(char *row, unsigned matrix, unsigned value) {
  unsigned lane = __nvvm_read_ptx_sreg_laneid(), first = lane % 4 * 2;
  *(unsigned short *)(__mw_tensor_row(row, matrix, first) + lane / 4 * 2) = (unsigned short)value;
  *(unsigned short *)(__mw_tensor_row(row, matrix, first + 1) + lane / 4 * 2) = (unsigned short)(value >> 16);
}

#undef __mw_mma_header
#undef __mw_mma
#undef __mw_mma_half
#undef __mw_mma_float
#undef __mw_mma_bytes
#undef __mw_mma_integer
#undef __mw_mma_integers
#undef __mw_mma_bits

#endif
