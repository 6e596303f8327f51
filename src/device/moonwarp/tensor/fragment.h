/* Fragments of nvcuda::wmma: what a lane has of a matrix that a warp holds together.
 *
 * The numbers of elements are CUDA's; which elements of the matrix a lane has is not specified, and differs between
 * devices. (CUDA C++ Programming Guide, "Warp Matrix Functions") */
#ifndef MOONWARP_TENSOR_FRAGMENT_H
#define MOONWARP_TENSOR_FRAGMENT_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32;
}
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
} // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental

namespace details {

template <typename T, typename U> struct is_same {
  enum { value = 0 };
};
template <typename T> struct is_same<T, T> {
  enum { value = 1 };
};

/* How elements are held, and how many bits of a matrix in memory each is. */
template <typename T> struct element {
  typedef T type;
  enum { bits = 8 * sizeof(T) };
};
template <> struct element<precision::tf32> {
  typedef float type;
  enum { bits = 32 };
};
template <> struct element<experimental::precision::u4> {
  typedef unsigned type;
  enum { bits = 4 };
};
template <> struct element<experimental::precision::s4> {
  typedef int type;
  enum { bits = 4 };
};
template <> struct element<experimental::precision::b1> {
  typedef unsigned type;
  enum { bits = 1 };
};

/* Whether there are products of that shape with factors, or with sums, of type T. */
template <int m, int n, int k, typename T> struct shape {
  enum {
    usual = (m == 16 && n == 16 && k == 16) || (m == 32 && n == 8 && k == 16) || (m == 8 && n == 32 && k == 16),
    tf32 = m == 16 && n == 16 && k == 8,
    doubles = m == 8 && n == 8 && k == 4,
    nibbles = m == 8 && n == 8 && k == 32,
    bits = m == 8 && n == 8 && k == 128,
    has_factors = is_same<T, __half>::value || is_same<T, __nv_bfloat16>::value || is_same<T, signed char>::value ||
                          is_same<T, unsigned char>::value
                      ? usual
                  : is_same<T, precision::tf32>::value ? tf32
                  : is_same<T, double>::value          ? doubles
                  : is_same<T, experimental::precision::u4>::value || is_same<T, experimental::precision::s4>::value
                      ? nibbles
                  : is_same<T, experimental::precision::b1>::value ? bits
                                                                   : 0,
    has_sums = is_same<T, __half>::value   ? usual
               : is_same<T, float>::value  ? usual || tf32
               : is_same<T, double>::value ? doubles
               : is_same<T, int>::value    ? usual || nibbles || bits
                                           : 0
  };
};

/* Elements of a lane. Half factors are held twice, as they are on the first GPUs with tensor cores. */
template <typename Use, int m, int n, int k, typename T> struct count {
  enum {
    is_a = is_same<Use, matrix_a>::value,
    is_sum = is_same<Use, accumulator>::value,
    all = is_sum ? m * n
          : is_a ? m * k
                 : k * n,
    packed = element<T>::bits < 8,
    value = packed                                 ? all * element<T>::bits / 32 / 32
            : !is_sum && is_same<T, __half>::value ? 16
                                                   : all / 32,
    exists = is_sum ? shape<m, n, k, T>::has_sums : shape<m, n, k, T>::has_factors
  };
};

} // namespace details

template <typename Use, int m, int n, int k, typename T, typename Layout = void> struct fragment {
  static_assert(details::count<Use, m, n, k, T>::exists, "tensor cores have no matrices of this shape and type");
  enum { num_elements = details::count<Use, m, n, k, T>::value, num_storage_elements = num_elements };
  typedef typename details::element<T>::type element_type;
  typedef element_type storage_element_type;
  element_type x[num_elements];
};

template <typename Use, int m, int n, int k, typename T, typename Layout, typename V>
__mw_device_template void fill_fragment(fragment<Use, m, n, k, T, Layout> &f, const V &value) {
#pragma unroll
  for (int i = 0; i < (int)f.num_elements; i++) f.x[i] = value;
}

/* To tf32, which has a fraction of 10 bits: to the nearest, ties away from 0. */
__mw_device float __float_to_tf32(float x) {
  unsigned bits = __float_as_uint(x);
  bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
  return __uint_as_float(is_finite ? (bits + 0x1000u) & 0xffffe000u : x == x ? bits : 0x7fffffffu);
}

} // namespace wmma
} // namespace nvcuda

#endif
