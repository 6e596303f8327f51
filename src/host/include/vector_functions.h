/* make_float4(x, y, z, w) and its like, for host code. */
#ifndef MOONWARP_VECTOR_FUNCTIONS_H
#define MOONWARP_VECTOR_FUNCTIONS_H

#include "vector_types.h"

#define MW_MAKE_VECTORS(name, scalar)                                                                                  \
  static inline name##1 make_##name##1(scalar x) {                                                                     \
    name##1 v = {x};                                                                                                   \
    return v;                                                                                                          \
  }                                                                                                                    \
  static inline name##2 make_##name##2(scalar x, scalar y) {                                                           \
    name##2 v = {x, y};                                                                                                \
    return v;                                                                                                          \
  }                                                                                                                    \
  static inline name##3 make_##name##3(scalar x, scalar y, scalar z) {                                                 \
    name##3 v = {x, y, z};                                                                                             \
    return v;                                                                                                          \
  }                                                                                                                    \
  static inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) {                                       \
    name##4 v = {x, y, z, w};                                                                                          \
    return v;                                                                                                          \
  }

MW_MAKE_VECTORS(char, signed char)
MW_MAKE_VECTORS(uchar, unsigned char)
MW_MAKE_VECTORS(short, short)
MW_MAKE_VECTORS(ushort, unsigned short)
MW_MAKE_VECTORS(int, int)
MW_MAKE_VECTORS(uint, unsigned)
MW_MAKE_VECTORS(long, long)
MW_MAKE_VECTORS(ulong, unsigned long)
MW_MAKE_VECTORS(longlong, long long)
MW_MAKE_VECTORS(ulonglong, unsigned long long)
MW_MAKE_VECTORS(float, float)
MW_MAKE_VECTORS(double, double)
#undef MW_MAKE_VECTORS

#endif
