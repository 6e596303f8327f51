/* nvcuda::wmma on NVIDIA GPUs: PTX's wmma instructions. (PTX ISA, "Warp Level Matrix Instructions") */
#ifndef MOONWARP_TENSOR_FRAGMENT_PTX_H
#define MOONWARP_TENSOR_FRAGMENT_PTX_H

#include "moonwarp/tensor/fragment.h"

namespace nvcuda {
namespace wmma {

/* Numbers of two bytes and fewer are read and written by the words that hold them. */
#if defined __clang__
typedef unsigned __attribute__((may_alias)) __mw_register_word;
#else
typedef unsigned __mw_register_word;
#endif

/* clang-format off */
/* A fragment's registers, as words, floats or doubles, and as operands of asm. */
#define __mw_words(f)       ((__mw_register_word *)f.x)
#define __mw_floats(f)      ((float *)f.x)
#define __mw_doubles(f)     ((double *)f.x)
#define __mw_out_words(x)   "=r"(x)
#define __mw_out_floats(x)  "=f"(x)
#define __mw_out_doubles(x) "=d"(x)
#define __mw_in_words(x)    "r"(x)
#define __mw_in_floats(x)   "f"(x)
#define __mw_in_doubles(x)  "d"(x)
#define __mw_registers1(how, x) how(x[0])
#define __mw_registers2(how, x) how(x[0]), how(x[1])
#define __mw_registers4(how, x) __mw_registers2(how, x), how(x[2]), how(x[3])
#define __mw_registers8(how, x) __mw_registers4(how, x), how(x[4]), how(x[5]), how(x[6]), how(x[7])

#define __mw_load_as(text, operands, count, kind, f, from, stride)                                                     \
  asm volatile(text operands : __mw_registers##count(__mw_out_##kind, __mw_##kind(f)) : "l"(from), "r"(stride) : "memory")
#define __mw_load_1(text, kind, f, from, stride) __mw_load_as(text, " {%0}, [%1], %2;", 1, kind, f, from, stride)
#define __mw_load_2(text, kind, f, from, stride) __mw_load_as(text, " {%0,%1}, [%2], %3;", 2, kind, f, from, stride)
#define __mw_load_4(text, kind, f, from, stride)                                                                       \
  __mw_load_as(text, " {%0,%1,%2,%3}, [%4], %5;", 4, kind, f, from, stride)
#define __mw_load_8(text, kind, f, from, stride)                                                                       \
  __mw_load_as(text, " {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;", 8, kind, f, from, stride)
#define __mw_store_as(text, operands, count, kind, f, to, stride)                                                      \
  asm volatile(text operands : : __mw_registers##count(__mw_in_##kind, __mw_##kind(f)), "l"(to), "r"(stride) : "memory")
#define __mw_store_2(text, kind, f, to, stride) __mw_store_as(text, " [%2], {%0,%1}, %3;", 2, kind, f, to, stride)
#define __mw_store_4(text, kind, f, to, stride)                                                                        \
  __mw_store_as(text, " [%4], {%0,%1,%2,%3}, %5;", 4, kind, f, to, stride)
#define __mw_store_8(text, kind, f, to, stride)                                                                        \
  __mw_store_as(text, " [%8], {%0,%1,%2,%3,%4,%5,%6,%7}, %9;", 8, kind, f, to, stride)

/* ---- factors ---- */

#define __mw_factor(use, letter, layout, m, n, k, T, P, type, count, kind)                                             \
  __mw_device void load_matrix_sync(fragment<use, m, n, k, T, layout##_major> &f, const P *from, unsigned stride) {    \
    __mw_load_##count("wmma.load." letter ".sync.aligned." #layout ".m" #m "n" #n "k" #k "." type, kind, f, from,      \
                      stride);                                                                                         \
  }
#define __mw_factors(m, n, k, T, P, type, count_a, count_b, kind)                                                      \
  __mw_factor(matrix_a, "a", row, m, n, k, T, P, type, count_a, kind)                                                  \
  __mw_factor(matrix_a, "a", col, m, n, k, T, P, type, count_a, kind)                                                  \
  __mw_factor(matrix_b, "b", row, m, n, k, T, P, type, count_b, kind)                                                  \
  __mw_factor(matrix_b, "b", col, m, n, k, T, P, type, count_b, kind)
#define __mw_packed(k, T, type)                                                                                        \
  __mw_factor(matrix_a, "a", row, 8, 8, k, experimental::precision::T, void, type, 1, words)                           \
  __mw_factor(matrix_b, "b", col, 8, 8, k, experimental::precision::T, void, type, 1, words)
#if __CUDA_ARCH__ >= 700
__mw_factors(16, 16, 16, __half, __half, "f16", 8, 8, words)
__mw_factors(32, 8, 16, __half, __half, "f16", 8, 8, words)
__mw_factors(8, 32, 16, __half, __half, "f16", 8, 8, words)
#endif
#if __CUDA_ARCH__ >= 750
__mw_factors(16, 16, 16, signed char, signed char, "s8", 2, 2, words)
__mw_factors(32, 8, 16, signed char, signed char, "s8", 4, 1, words)
__mw_factors(8, 32, 16, signed char, signed char, "s8", 1, 4, words)
__mw_factors(16, 16, 16, unsigned char, unsigned char, "u8", 2, 2, words)
__mw_factors(32, 8, 16, unsigned char, unsigned char, "u8", 4, 1, words)
__mw_factors(8, 32, 16, unsigned char, unsigned char, "u8", 1, 4, words)
__mw_packed(32, u4, "u4")
__mw_packed(32, s4, "s4")
__mw_packed(128, b1, "b1")
#endif
#if __CUDA_ARCH__ >= 800
__mw_factors(16, 16, 16, __nv_bfloat16, __nv_bfloat16, "bf16", 4, 4, words)
__mw_factors(32, 8, 16, __nv_bfloat16, __nv_bfloat16, "bf16", 8, 2, words)
__mw_factors(8, 32, 16, __nv_bfloat16, __nv_bfloat16, "bf16", 2, 8, words)
__mw_factors(16, 16, 8, precision::tf32, float, "tf32", 4, 4, words)
__mw_factors(8, 8, 4, double, double, "f64", 1, 1, doubles)
#endif

/* ---- sums ---- */

#define __mw_sum(m, n, k, T, type, count, kind)                                                                        \
  __mw_device void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, const T *from, unsigned stride,              \
                                    layout_t layout) {                                                                 \
    if (layout == mem_row_major)                                                                                       \
      __mw_load_##count("wmma.load.c.sync.aligned.row.m" #m "n" #n "k" #k "." type, kind, f, from, stride);            \
    else                                                                                                               \
      __mw_load_##count("wmma.load.c.sync.aligned.col.m" #m "n" #n "k" #k "." type, kind, f, from, stride);            \
  }                                                                                                                    \
  __mw_device void store_matrix_sync(T *to, const fragment<accumulator, m, n, k, T> &f, unsigned stride,               \
                                     layout_t layout) {                                                                \
    if (layout == mem_row_major)                                                                                       \
      __mw_store_##count("wmma.store.d.sync.aligned.row.m" #m "n" #n "k" #k "." type, kind, f, to, stride);            \
    else                                                                                                               \
      __mw_store_##count("wmma.store.d.sync.aligned.col.m" #m "n" #n "k" #k "." type, kind, f, to, stride);            \
  }
#define __mw_sums(m, n, k) __mw_sum(m, n, k, float, "f32", 8, floats) __mw_sum(m, n, k, __half, "f16", 4, words)
#if __CUDA_ARCH__ >= 700
__mw_sums(16, 16, 16)
__mw_sums(32, 8, 16)
__mw_sums(8, 32, 16)
#endif
#if __CUDA_ARCH__ >= 750
__mw_sum(16, 16, 16, int, "s32", 8, words)
__mw_sum(32, 8, 16, int, "s32", 8, words)
__mw_sum(8, 32, 16, int, "s32", 8, words)
__mw_sum(8, 8, 32, int, "s32", 2, words)
__mw_sum(8, 8, 128, int, "s32", 2, words)
#endif
#if __CUDA_ARCH__ >= 800
__mw_sum(16, 16, 8, float, "f32", 8, floats)
__mw_sum(8, 8, 4, double, "f64", 2, doubles)
#endif

/* ---- products ----
 *
 * The operands of asm, by the numbers of registers: D's, A's, B's and C's. */
#define __mw_operands_8_8_8_8 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, " \
  "{%16,%17,%18,%19,%20,%21,%22,%23}, {%24,%25,%26,%27,%28,%29,%30,%31};"
#define __mw_operands_4_8_8_4 \
  " {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, " \
  "{%12,%13,%14,%15,%16,%17,%18,%19}, {%20,%21,%22,%23};"
#define __mw_operands_8_8_8_4 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, " \
  "{%16,%17,%18,%19,%20,%21,%22,%23}, {%24,%25,%26,%27};"
#define __mw_operands_4_8_8_8 \
  " {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, " \
  "{%12,%13,%14,%15,%16,%17,%18,%19}, {%20,%21,%22,%23,%24,%25,%26,%27};"
#define __mw_operands_8_4_4_8 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, " \
  "{%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23};"
#define __mw_operands_8_8_2_8 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, " \
  "{%16,%17}, {%18,%19,%20,%21,%22,%23,%24,%25};"
#define __mw_operands_8_2_8_8 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, " \
  "{%10,%11,%12,%13,%14,%15,%16,%17}, {%18,%19,%20,%21,%22,%23,%24,%25};"
#define __mw_operands_8_2_2_8 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, " \
  "{%10,%11}, {%12,%13,%14,%15,%16,%17,%18,%19};"
#define __mw_operands_8_4_1_8 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, " \
  "{%12}, {%13,%14,%15,%16,%17,%18,%19,%20};"
#define __mw_operands_8_1_4_8 \
  " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8}, " \
  "{%9,%10,%11,%12}, {%13,%14,%15,%16,%17,%18,%19,%20};"
#define __mw_operands_2_1_1_2 \
  " {%0,%1}, {%2}, " \
  "{%3}, {%4,%5};"

#define __mw_multiply(text, of_d, kind_d, of_a, of_b, kind, of_c, kind_c)                                              \
  asm volatile(text __mw_operands_##of_d##_##of_a##_##of_b##_##of_c                                                    \
               : __mw_registers##of_d(__mw_out_##kind_d, __mw_##kind_d(d))                                             \
               : __mw_registers##of_a(__mw_in_##kind, __mw_##kind(a)),                                                 \
                 __mw_registers##of_b(__mw_in_##kind, __mw_##kind(b)),                                                 \
                 __mw_registers##of_c(__mw_in_##kind_c, __mw_##kind_c(c)))
#define __mw_product_of(m, n, k, T, la, lb, TD, TC)                                                                    \
  __mw_device void mma_sync(                                                                                           \
      fragment<accumulator, m, n, k, TD> &d, const fragment<matrix_a, m, n, k, T, la##_major> &a,                      \
      const fragment<matrix_b, m, n, k, T, lb##_major> &b, const fragment<accumulator, m, n, k, TC> &c,                \
      bool saturates = false)
#define __mw_product(m, n, k, T, la, lb, types, TD, of_d, kind_d, TC, of_c, kind_c, of_a, of_b, kind)                  \
  __mw_product_of(m, n, k, T, la, lb, TD, TC) {                                                                        \
    (void)saturates;                                                                                                   \
    __mw_multiply("wmma.mma.sync.aligned." #la "." #lb ".m" #m "n" #n "k" #k "." types, of_d, kind_d, of_a, of_b,      \
                  kind, of_c, kind_c);                                                                                 \
  }
#define __mw_integer_product(m, n, k, T, la, lb, types, of_a, of_b, of_c)                                              \
  __mw_product_of(m, n, k, T, la, lb, int, int) {                                                                      \
    if (saturates)                                                                                                     \
      __mw_multiply("wmma.mma.sync.aligned." #la "." #lb ".m" #m "n" #n "k" #k "." types ".satfinite", of_c, words,    \
                    of_a, of_b, words, of_c, words);                                                                   \
    else                                                                                                               \
      __mw_multiply("wmma.mma.sync.aligned." #la "." #lb ".m" #m "n" #n "k" #k "." types, of_c, words, of_a, of_b,     \
                    words, of_c, words);                                                                               \
  }
#define __mw_layouts(product, m, n, k, T, ...)                                                                         \
  product(m, n, k, T, row, row, __VA_ARGS__) product(m, n, k, T, row, col, __VA_ARGS__)                                \
  product(m, n, k, T, col, row, __VA_ARGS__) product(m, n, k, T, col, col, __VA_ARGS__)
#define __mw_half_products(m, n, k)                                                                                    \
  __mw_layouts(__mw_product, m, n, k, __half, "f32.f32", float, 8, floats, float, 8, floats, 8, 8, words)              \
  __mw_layouts(__mw_product, m, n, k, __half, "f16.f16", __half, 4, words, __half, 4, words, 8, 8, words)              \
  __mw_layouts(__mw_product, m, n, k, __half, "f32.f16", float, 8, floats, __half, 4, words, 8, 8, words)              \
  __mw_layouts(__mw_product, m, n, k, __half, "f16.f32", __half, 4, words, float, 8, floats, 8, 8, words)
#define __mw_byte_products(m, n, k, of_a, of_b)                                                                        \
  __mw_layouts(__mw_integer_product, m, n, k, signed char, "s32.s8.s8.s32", of_a, of_b, 8)                             \
  __mw_layouts(__mw_integer_product, m, n, k, unsigned char, "s32.u8.u8.s32", of_a, of_b, 8)
#define __mw_bfloat_products(m, n, k, of_a, of_b)                                                                      \
  __mw_layouts(__mw_product, m, n, k, __nv_bfloat16, "f32.bf16.bf16.f32", float, 8, floats, float, 8, floats, of_a,    \
               of_b, words)
#if __CUDA_ARCH__ >= 700
__mw_half_products(16, 16, 16)
__mw_half_products(32, 8, 16)
__mw_half_products(8, 32, 16)
#endif
#if __CUDA_ARCH__ >= 750
__mw_byte_products(16, 16, 16, 2, 2)
__mw_byte_products(32, 8, 16, 4, 1)
__mw_byte_products(8, 32, 16, 1, 4)
__mw_integer_product(8, 8, 32, experimental::precision::s4, row, col, "s32.s4.s4.s32", 1, 1, 2)
__mw_integer_product(8, 8, 32, experimental::precision::u4, row, col, "s32.u4.u4.s32", 1, 1, 2)
#endif
#if __CUDA_ARCH__ >= 800
__mw_bfloat_products(16, 16, 16, 4, 4)
__mw_bfloat_products(32, 8, 16, 8, 2)
__mw_bfloat_products(8, 32, 16, 2, 8)
__mw_layouts(__mw_product, 16, 16, 8, precision::tf32, "f32.tf32.tf32.f32", float, 8, floats, float, 8, floats, 4, 4,
             words)
__mw_layouts(__mw_product, 8, 8, 4, double, "f64.f64.f64.f64", double, 2, doubles, double, 2, doubles, 1, 1, doubles)
#endif

#if __CUDA_ARCH__ >= 750
__mw_device void bmma_sync(fragment<accumulator, 8, 8, 128, int> &d,
                           const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> &a,
                           const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> &b,
                           const fragment<accumulator, 8, 8, 128, int> &c,
                           experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
                           experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
#if __CUDA_ARCH__ >= 800
  if (operation == experimental::bmmaBitOpAND) {
    __mw_multiply("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 2, words, 1, 1, words, 2, words);
    return;
  }
#endif
  __mw_multiply("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 2, words, 1, 1, words, 2, words);
}
namespace experimental {
using wmma::bmma_sync;
}
#endif
/* clang-format on */

} // namespace wmma
} // namespace nvcuda

#endif
