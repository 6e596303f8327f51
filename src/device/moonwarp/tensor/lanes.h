/* Vectors of 16 lanes of a warp, for products whose sums stay where the lanes have them.
 *
 * Half h of a warp is lanes 16h to 16h + 15. Where C's register r has row g, or g + 8, and column 2t + r % 2 in lane
 * 4g + t (warp_product.h), the factors of that sum are in the other lanes of the quad, for A, and in lanes
 * 4 * column to 4 * column + 3, for B. */
#ifndef MOONWARP_TENSOR_LANES_H
#define MOONWARP_TENSOR_LANES_H

typedef float __mw_float16 __attribute__((ext_vector_type(16)));
typedef int __mw_int16 __attribute__((ext_vector_type(16)));
typedef unsigned __mw_uint16 __attribute__((ext_vector_type(16)));
typedef float __mw_float4 __attribute__((ext_vector_type(4)));
typedef unsigned __mw_uint4 __attribute__((ext_vector_type(4)));
typedef short __mw_short32 __attribute__((ext_vector_type(32)));
typedef unsigned char __mw_uchar64 __attribute__((ext_vector_type(64)));

/* A function for 32 lanes at once, which reads `in` and writes `out` only. */
#define __mw_tensor_of_warp static __attribute__((device, noinline, nodebug))

enum { __MW_TENSOR_LEFT = 4, __MW_TENSOR_RIGHT = 2, __MW_TENSOR_SUMS = 4 }; /* registers of a lane */

/* The registers of 32 lanes: register r of lane l is at 32 * r + l, A's before B's before C's. */
struct __mw_tensor_lanes {
  const unsigned *all;
  __mw_member const unsigned *left(int r) const { return all + 32 * r; }
  __mw_member const unsigned *right(int r) const { return all + 32 * (__MW_TENSOR_LEFT + r); }
  __mw_member const unsigned *sums(int r) const { return all + 32 * (__MW_TENSOR_LEFT + __MW_TENSOR_RIGHT + r); }
};

__mw_device __mw_uint16 __mw_tensor_half(const unsigned *from, int half) {
  return *(const __mw_uint16 *)(from + 16 * half);
}

/* What lane t of its quad has. */
template <typename V> __mw_device_template V __mw_tensor_quad(V x, int t) {
#define __mw_quad(t)                                                                                                   \
  __builtin_shufflevector(x, x, t, t, t, t, 4 + t, 4 + t, 4 + t, 4 + t, 8 + t, 8 + t, 8 + t, 8 + t, 12 + t, 12 + t,    \
                          12 + t, 12 + t)
  return t == 0 ? __mw_quad(0) : t == 1 ? __mw_quad(1) : t == 2 ? __mw_quad(2) : __mw_quad(3);
#undef __mw_quad
}

/* What lane t of a column's lanes has, for the even columns 0, 2, 4, 6 or the odd ones: the same four in each quad. `low`
   and `high` are the halves of the warp. */
template <typename V> __mw_device_template V __mw_tensor_column(V low, V high, int t, int odd) {
#define __mw_column(n)                                                                                                 \
  __builtin_shufflevector(low, high, n, 8 + n, 16 + n, 24 + n, n, 8 + n, 16 + n, 24 + n, n, 8 + n, 16 + n, 24 + n, n,  \
                          8 + n, 16 + n, 24 + n)
  switch (4 * odd + t) {
  case 0: return __mw_column(0);
  case 1: return __mw_column(1);
  case 2: return __mw_column(2);
  case 3: return __mw_column(3);
  case 4: return __mw_column(4);
  case 5: return __mw_column(5);
  case 6: return __mw_column(6);
  default: return __mw_column(7);
  }
#undef __mw_column
}

/* What the lanes of even columns have, or those of odd ones, in the order of __mw_tensor_four. */
__mw_device __mw_uint16 __mw_tensor_turned(const unsigned *from, int odd) {
  __mw_uint16 low = __mw_tensor_half(from, 0), high = __mw_tensor_half(from, 1);
  return odd == 0 ? __builtin_shufflevector(low, high, 0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27)
                  : __builtin_shufflevector(low, high, 4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31);
}
/* What lane t of the columns' lanes has: the same four in each quad. x is in memory. */
template <typename Four, typename V> __mw_device_template V __mw_tensor_four(const V &x, int t) {
  Four four = ((const Four *)&x)[t];
  return __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
}

#endif
