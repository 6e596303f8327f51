/* Kernels that make Sobol's direction vectors out of Joe and Kuo's numbers, and what scrambles them: each dimension is
 * multiplied by a random lower triangular matrix and begins at a random word. (Matousek, "On the L2-discrepancy for
 * anchored boxes", 1998) Philox makes those of the seed. MW_MAKE_VECTORS(name, word) after this header is a module's text. */
#ifndef MOONWARP_RANDOM_DIRECTION_VECTORS_H
#define MOONWARP_RANDOM_DIRECTION_VECTORS_H

#include <curand_kernel.h>

typedef unsigned long long ull;

/* (m - 1) / 2 of the first number m, the second, … stand in 0, 1, … bits. */
__device__ inline unsigned packed(const unsigned *words, int at, int bits) {
  ull two = words[at >> 5] | (at >> 5 < 4 ? (ull)words[(at >> 5) + 1] << 32 : 0);
  return (unsigned)(two >> (at & 31)) & ((1u << bits) - 1);
}

/* m[k] * 2^(bits - 1 - k), and the recurrence of the polynomial. */
template <class W> __device__ void vectors(const unsigned *numbers, W *v) {
  const int bits = sizeof(W) * 8;
  unsigned polynomial = numbers[0];
  int degree = polynomial == 1 ? 0 : 31 - __clz((int)polynomial);
  for (int k = 0, at = 0; k < bits; k++) {
    if (degree == 0) {
      v[k] = (W)1 << (bits - 1 - k);
    } else if (k < degree) {
      v[k] = (W)(2 * packed(numbers + 1, at, k) + 1) << (bits - 1 - k);
      at += k;
    } else {
      W x = v[k - degree] ^ v[k - degree] >> degree;
      for (int i = 1; i < degree; i++)
        if (polynomial >> (degree - i) & 1) x ^= v[k - i];
      v[k] = x;
    }
  }
}
template <class W> __device__ W random_word(unsigned low, unsigned high, int dimension, int n) {
  uint4 x = curand_Philox4x32_10(make_uint4(n, dimension, 0, 0x50b01), make_uint2(low, high));
  return (W)((ull)x.y << 32 | x.x);
}
template <class W>
__device__ void make_vectors(const unsigned *numbers, int dimensions, int scrambled, unsigned low, unsigned high, W *v,
                             W *begins) {
  const int bits = sizeof(W) * 8;
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= dimensions) return;
  v += d * bits;
  vectors(numbers + d * 6, v);
  begins[d] = 0;
  if (!scrambled) return;
  W columns[sizeof(W) * 8]; /* of the matrix: 1 at a bit, anything below it */
  for (int k = 0; k < bits; k++) {
    W bit = (W)1 << k;
    columns[k] = bit | (random_word<W>(low, high, d, k) & (bit - 1));
  }
  for (int i = 0; i < bits; i++) {
    W x = 0;
    for (int k = 0; k < bits; k++) x ^= v[i] >> k & 1 ? columns[k] : 0;
    v[i] = x;
  }
  begins[d] = random_word<W>(low, high, d, bits);
}

#define MW_MAKE_VECTORS(name, word)                                                                                    \
  extern "C" __global__ void name(const unsigned *numbers, int dimensions, int scrambled, unsigned low, unsigned high, \
                                  word *v, word *begins) {                                                             \
    make_vectors(numbers, dimensions, scrambled, low, high, v, begins);                                                \
  }

#endif
