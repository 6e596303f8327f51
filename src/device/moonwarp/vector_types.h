/* CUDA's built-in vector types and dim3. Sizes and alignments are those of CUDA's programming
   guide (built-in vector types); all are plain structs, so they may stand in unions, arrays and shared memory. */
#ifndef MOONWARP_VECTOR_TYPES_H
#define MOONWARP_VECTOR_TYPES_H

struct char1 {
  signed char x;
};
struct __align__(2) char2 {
  signed char x, y;
};
struct char3 {
  signed char x, y, z;
};
struct __align__(4) char4 {
  signed char x, y, z, w;
};

struct uchar1 {
  unsigned char x;
};
struct __align__(2) uchar2 {
  unsigned char x, y;
};
struct uchar3 {
  unsigned char x, y, z;
};
struct __align__(4) uchar4 {
  unsigned char x, y, z, w;
};

struct short1 {
  short x;
};
struct __align__(4) short2 {
  short x, y;
};
struct short3 {
  short x, y, z;
};
struct __align__(8) short4 {
  short x, y, z, w;
};

struct ushort1 {
  unsigned short x;
};
struct __align__(4) ushort2 {
  unsigned short x, y;
};
struct ushort3 {
  unsigned short x, y, z;
};
struct __align__(8) ushort4 {
  unsigned short x, y, z, w;
};

struct int1 {
  int x;
};
struct __align__(8) int2 {
  int x, y;
};
struct int3 {
  int x, y, z;
};
struct __align__(16) int4 {
  int x, y, z, w;
};

struct uint1 {
  unsigned int x;
};
struct __align__(8) uint2 {
  unsigned int x, y;
};
struct uint3 {
  unsigned int x, y, z;
};
struct __align__(16) uint4 {
  unsigned int x, y, z, w;
};

struct long1 {
  long x;
};
struct __align__(16) long2 {
  long x, y;
};
struct long3 {
  long x, y, z;
};
struct __align__(16) long4 {
  long x, y, z, w;
};

struct ulong1 {
  unsigned long x;
};
struct __align__(16) ulong2 {
  unsigned long x, y;
};
struct ulong3 {
  unsigned long x, y, z;
};
struct __align__(16) ulong4 {
  unsigned long x, y, z, w;
};

struct longlong1 {
  long long x;
};
struct __align__(16) longlong2 {
  long long x, y;
};
struct longlong3 {
  long long x, y, z;
};
struct __align__(16) longlong4 {
  long long x, y, z, w;
};

struct ulonglong1 {
  unsigned long long x;
};
struct __align__(16) ulonglong2 {
  unsigned long long x, y;
};
struct ulonglong3 {
  unsigned long long x, y, z;
};
struct __align__(16) ulonglong4 {
  unsigned long long x, y, z, w;
};

struct float1 {
  float x;
};
struct __align__(8) float2 {
  float x, y;
};
struct float3 {
  float x, y, z;
};
struct __align__(16) float4 {
  float x, y, z, w;
};

struct double1 {
  double x;
};
struct __align__(16) double2 {
  double x, y;
};
struct double3 {
  double x, y, z;
};
struct __align__(16) double4 {
  double x, y, z, w;
};

/* CUDA 13's names for the vectors of 32 bytes with their alignment. */
#define __mw_aligned_vector(name, type, alignment)                                                                     \
  struct __align__(alignment) name##_##alignment##a {                                                                  \
    type x, y, z, w;                                                                                                   \
  }
__mw_aligned_vector(double4, double, 16);
__mw_aligned_vector(double4, double, 32);
__mw_aligned_vector(long4, long, 16);
__mw_aligned_vector(long4, long, 32);
__mw_aligned_vector(ulong4, unsigned long, 16);
__mw_aligned_vector(ulong4, unsigned long, 32);
__mw_aligned_vector(longlong4, long long, 16);
__mw_aligned_vector(longlong4, long long, 32);
__mw_aligned_vector(ulonglong4, unsigned long long, 16);
__mw_aligned_vector(ulonglong4, unsigned long long, 32);
#undef __mw_aligned_vector

/* Grid and block sizes; components that are left out are 1. */
struct dim3 {
  unsigned int x, y, z;
  __mw_member constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
  __mw_member constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __mw_member constexpr operator uint3() const { return {x, y, z}; }
};

#endif
