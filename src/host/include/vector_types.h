/* CUDA's vector types for host code, with CUDA's alignments, so that structs have the layout that kernels see. */
#ifndef MOONWARP_VECTOR_TYPES_H
#define MOONWARP_VECTOR_TYPES_H

#define MW_VECTOR_TYPES(name, scalar, align2, align4)                                                                  \
  typedef struct name##1 { scalar x; }                                                                                 \
  name##1;                                                                                                             \
  typedef struct __attribute__((aligned(align2))) name##2 { scalar x, y; }                                             \
  name##2;                                                                                                             \
  typedef struct name##3 { scalar x, y, z; }                                                                           \
  name##3;                                                                                                             \
  typedef struct __attribute__((aligned(align4))) name##4 { scalar x, y, z, w; }                                       \
  name##4;

MW_VECTOR_TYPES(char, signed char, 2, 4)
MW_VECTOR_TYPES(uchar, unsigned char, 2, 4)
MW_VECTOR_TYPES(short, short, 4, 8)
MW_VECTOR_TYPES(ushort, unsigned short, 4, 8)
MW_VECTOR_TYPES(int, int, 8, 16)
MW_VECTOR_TYPES(uint, unsigned, 8, 16)
MW_VECTOR_TYPES(long, long, 16, 16)
MW_VECTOR_TYPES(ulong, unsigned long, 16, 16)
MW_VECTOR_TYPES(longlong, long long, 16, 16)
MW_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
MW_VECTOR_TYPES(float, float, 8, 16)
MW_VECTOR_TYPES(double, double, 16, 16)
#undef MW_VECTOR_TYPES

/* In C++ dim3(4) and plain numbers work as in CUDA C. In C write make_dim3(4, 1, 1), or {4, 1, 1}. */
#ifdef __cplusplus
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1) : x(width), y(height), z(depth) {}
  dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  operator uint3() const {
    uint3 v = {x, y, z};
    return v;
  }
};
static inline dim3 make_dim3(unsigned x, unsigned y, unsigned z) { return dim3(x, y, z); }
#else
typedef struct dim3 {
  unsigned x, y, z;
} dim3;
static inline dim3 make_dim3(unsigned x, unsigned y, unsigned z) {
  dim3 v = {x, y, z};
  return v;
}
#endif

#endif
