/* nvcuda::wmma on the CPU device: fragments are the operands of the warp's product (warp_product.h), in tiles.
 *
 * With 16 or 32 rows A is the left operand, in tiles of 16 rows, and B the right one, in tiles of 8 columns. With 8 rows
 * and 32 columns the transposed product is computed: B is the left operand. Small matrices of 8 rows and 8 columns are
 * one tile. */
#ifndef MOONWARP_TENSOR_FRAGMENT_LANES_H
#define MOONWARP_TENSOR_FRAGMENT_LANES_H

#include "moonwarp/tensor/fragment.h"
#include "moonwarp/tensor/warp_product.h"

namespace nvcuda {
namespace wmma {
namespace details {

template <typename T> struct factor;
template <> struct factor<__half> {
  typedef __mw_tensor_f16 type;
};
template <> struct factor<__nv_bfloat16> {
  typedef __mw_tensor_bf16 type;
};
template <> struct factor<precision::tf32> {
  typedef __mw_tensor_tf32 type;
};
template <> struct factor<signed char> {
  typedef __mw_tensor_s8 type;
};
template <> struct factor<unsigned char> {
  typedef __mw_tensor_u8 type;
};
template <> struct factor<experimental::precision::s4> {
  typedef __mw_tensor_s4 type;
};
template <> struct factor<experimental::precision::u4> {
  typedef __mw_tensor_u4 type;
};

/* The tiles of a product, and where a lane's numbers are. */
template <int m, int n, int k, int Bits> struct tiles {
  enum {
    in_word = Bits > 32 ? 1 : 32 / Bits,
    words = k / 4 / in_word, /* of a row, or a column, in a lane */
    swapped = m == 8 && n == 32,
    rows = m == 8 && n == 8 ? 1 : 2, /* of a lane, in the left operand's tile */
    left = swapped ? n / 16 : m / (8 * rows),
    right = (swapped ? m : n) / 8
  };
  struct position {
    int line, along; /* the row of the left operand, or the column of the right one, and the place in it */
  };
  static __mw_member position of_left(int word, int n_) {
    int lane = (int)__nvvm_read_ptx_sreg_laneid(), at = word % (rows * words);
    return {word / (rows * words) * 16 + lane / 4 + at % rows * 8, at / rows * 4 * in_word + lane % 4 * in_word + n_};
  }
  static __mw_member position of_right(int word, int n_) {
    int lane = (int)__nvvm_read_ptx_sreg_laneid();
    return {word / words * 8 + lane / 4, word % words * 4 * in_word + lane % 4 * in_word + n_};
  }
  /* Sum i, as {row, column}. */
  static __mw_member position of_sum(int i) {
    int lane = (int)__nvvm_read_ptx_sreg_laneid(), tile = i / (2 * rows), at = i % (2 * rows);
    int row = tile / right * 16 + lane / 4 + at / 2 * 8, column = tile % right * 8 + lane % 4 * 2 + at % 2;
    return {swapped ? column : row, swapped ? row : column};
  }
};

/* The registers of a fragment's factors. */
template <int Words, typename T> __mw_device_template void to_words(unsigned *words, const T *x) {
  static_assert(sizeof(T) <= 4, "");
#pragma unroll
  for (int w = 0; w < Words; w++) {
    words[w] = 0;
#pragma unroll
    for (int i = 0; i < (int)(4 / sizeof(T)); i++) {
      unsigned bits = 0;
      __builtin_memcpy(&bits, &x[w * (4 / sizeof(T)) + i], sizeof(T));
      words[w] |= bits << (8 * sizeof(T) * i) % 32;
    }
  }
}

/* A factor's element (line, k) in memory. */
__mw_device unsigned long long place(int line, int k, unsigned stride, bool along_lines) {
  return along_lines ? (unsigned long long)k * stride + line : (unsigned long long)line * stride + k;
}

template <int m, int n, int k, typename T, bool IsA, bool AlongLines, typename F>
__mw_device_template void load_factor(F &f, const typename element<T>::type *from, unsigned stride) {
  typedef tiles<m, n, k, element<T>::bits> shape;
  const bool is_left = IsA != (bool)shape::swapped;
  const int words = (is_left ? shape::left * shape::rows : shape::right) * shape::words;
#pragma unroll
  for (int w = 0; w < words; w++) {
#pragma unroll
    for (int i = 0; i < shape::in_word; i++) {
      typename shape::position at = is_left ? shape::of_left(w, i) : shape::of_right(w, i);
      f.x[w * shape::in_word + i] = from[place(at.line, at.along, stride, AlongLines)];
    }
  }
  const int held = words * shape::in_word;
#pragma unroll
  for (int i = held; i < (int)F::num_elements; i++) f.x[i] = f.x[i % held];
}

/* Packed numbers: a word is at a multiple of its size. The stride counts numbers. */
template <int m, int n, int k, int Bits, typename F>
__mw_device_template void load_packed(F &f, const void *from, unsigned stride) {
  unsigned lane = __nvvm_read_ptx_sreg_laneid();
  const char *line = (const char *)from + (unsigned long long)(lane / 4) * stride * Bits / 8;
  f.x[0] = ((const typename F::element_type *)line)[lane % 4];
}

/* Sums as registers: of a number each, a half in the low bits. */
__mw_device unsigned sum_bits(float x) { return __float_as_uint(x); }
__mw_device unsigned sum_bits(int x) { return (unsigned)x; }
__mw_device unsigned sum_bits(__half x) { return x.__x; }
__mw_device void set_sum(float &x, unsigned bits) { x = __uint_as_float(bits); }
__mw_device void set_sum(int &x, unsigned bits) { x = (int)bits; }
__mw_device void set_sum(__half &x, unsigned bits) { x = __half::__mw_of_bits((unsigned short)bits); }

template <typename T> struct sum;
template <> struct sum<float> {
  typedef __mw_tensor_to_float type;
};
template <> struct sum<__half> {
  typedef __mw_tensor_to_half type;
};

/* All tiles' products by one function of a warp, in steps along k. */
template <int m, int n, int k, typename T, int Steps, typename A, typename B, typename C, typename D>
__mw_device_template void multiply(void (*function)(const unsigned *, unsigned *), D &d, const A &a, const B &b,
                                   const C &c) {
  typedef tiles<m, n, k, element<T>::bits> shape;
  const int of_left = shape::rows * shape::words, of_right = shape::words, sums = 2 * shape::rows;
  const int in_a = shape::swapped ? shape::right * of_right : shape::left * of_left;
  const int in_b = shape::swapped ? shape::left * of_left : shape::right * of_right;
  unsigned words_of_a[in_a], words_of_b[in_b];
  to_words<in_a>(words_of_a, a.x);
  to_words<in_b>(words_of_b, b.x);
  const unsigned *left = shape::swapped ? words_of_b : words_of_a, *right = shape::swapped ? words_of_a : words_of_b;
#pragma unroll
  for (int row = 0; row < shape::left; row++) {
#pragma unroll
    for (int column = 0; column < shape::right; column++) {
      unsigned sum[sums];
      const int first = (row * shape::right + column) * sums;
#pragma unroll
      for (int i = 0; i < sums; i++) sum[i] = sum_bits(c.x[first + i]);
#pragma unroll
      for (int step = 0; step < Steps; step++)
        __mw_tensor_apply<of_left / Steps, of_right / Steps, sums>(
            function, sum, left + row * of_left + step * (of_left / Steps),
            right + column * of_right + step * (of_right / Steps), sum);
#pragma unroll
      for (int i = 0; i < sums; i++) set_sum(d.x[first + i], sum[i]);
    }
  }
}

} // namespace details

/* ---- memory ---- */

template <int m, int n, int k, typename T, typename Layout>
__mw_device_template void load_matrix_sync(fragment<matrix_a, m, n, k, T, Layout> &f,
                                           const typename details::element<T>::type *from, unsigned stride) {
  if constexpr (details::element<T>::bits < 8)
    details::load_packed<m, n, k, details::element<T>::bits>(f, from, stride);
  else
    details::load_factor<m, n, k, T, true, details::is_same<Layout, col_major>::value>(f, from, stride);
}
template <int m, int n, int k, typename T, typename Layout>
__mw_device_template void load_matrix_sync(fragment<matrix_b, m, n, k, T, Layout> &f,
                                           const typename details::element<T>::type *from, unsigned stride) {
  if constexpr (details::element<T>::bits < 8)
    details::load_packed<m, n, k, details::element<T>::bits>(f, from, stride);
  else
    details::load_factor<m, n, k, T, false, details::is_same<Layout, row_major>::value>(f, from, stride);
}
template <typename Use, int m, int n, int k, typename T, typename Layout>
__mw_device_template void load_matrix_sync(fragment<Use, m, n, k, T, Layout> &f, const void *from, unsigned stride) {
  static_assert(details::element<T>::bits < 8, "a matrix is loaded from a pointer to its type");
  details::load_packed<m, n, k, details::element<T>::bits>(f, from, stride);
}

template <int m, int n, int k, typename T>
__mw_device_template void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, const T *from, unsigned stride,
                                           layout_t layout) {
#pragma unroll
  for (int i = 0; i < (int)f.num_elements; i++) {
    auto at = details::tiles<m, n, k, 32>::of_sum(i);
    f.x[i] = from[details::place(at.line, at.along, stride, layout == mem_col_major)];
  }
}
template <int m, int n, int k, typename T>
__mw_device_template void store_matrix_sync(T *to, const fragment<accumulator, m, n, k, T> &f, unsigned stride,
                                            layout_t layout) {
#pragma unroll
  for (int i = 0; i < (int)f.num_elements; i++) {
    auto at = details::tiles<m, n, k, 32>::of_sum(i);
    to[details::place(at.line, at.along, stride, layout == mem_col_major)] = f.x[i];
  }
}

/* ---- products ---- */

/* Products of integers saturate if asked to. Those of tf32 are summed in two steps, as on the hardware. */
template <int m, int n, int k, typename T, typename LayoutA, typename LayoutB, typename D, typename C>
__mw_device_template void mma_sync(fragment<accumulator, m, n, k, D> &d,
                                   const fragment<matrix_a, m, n, k, T, LayoutA> &a,
                                   const fragment<matrix_b, m, n, k, T, LayoutB> &b,
                                   const fragment<accumulator, m, n, k, C> &c, bool saturates = false) {
  typedef details::tiles<m, n, k, details::element<T>::bits> shape;
  if constexpr (details::is_same<T, double>::value) {
    __mw_tensor_multiply_doubles(d.x, a.x[0], b.x[0], c.x);
  } else if constexpr (details::is_same<D, int>::value) {
    typedef typename details::factor<T>::type number;
    if (saturates)
      details::multiply<m, n, k, T, 1>(__mw_tensor_multiply_integers<number, number, shape::rows, shape::words, true>,
                                       d, a, b, c);
    else
      details::multiply<m, n, k, T, 1>(__mw_tensor_multiply_integers<number, number, shape::rows, shape::words, false>,
                                       d, a, b, c);
  } else {
    typedef typename details::factor<T>::type number;
    const int steps = details::is_same<T, precision::tf32>::value ? 2 : 1;
    details::multiply<m, n, k, T, steps>(__mw_tensor_multiply<number, number, typename details::sum<C>::type,
                                                              typename details::sum<D>::type, shape::words / steps>,
                                         d, a, b, c);
  }
}

template <int m, int n, int k>
__mw_device_template void bmma_sync(fragment<accumulator, m, n, k, int> &d,
                                    const fragment<matrix_a, m, n, k, experimental::precision::b1, row_major> &a,
                                    const fragment<matrix_b, m, n, k, experimental::precision::b1, col_major> &b,
                                    const fragment<accumulator, m, n, k, int> &c,
                                    experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
                                    experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  if (operation == experimental::bmmaBitOpAND)
    details::multiply<m, n, k, experimental::precision::b1, 1>(__mw_tensor_multiply_bits<1, 1, true>, d, a, b, c);
  else
    details::multiply<m, n, k, experimental::precision::b1, 1>(__mw_tensor_multiply_bits<1, 1, false>, d, a, b, c);
}

namespace experimental {
using wmma::bmma_sync;
}

} // namespace wmma
} // namespace nvcuda

#endif
