/* Kernels that compute Sobol direction vectors from Joe and Kuo's numbers, and scramble them: each dimension is
 * multiplied by a random lower triangular matrix and begins at a random word (Matousek, "On the L2-discrepancy for
 * anchored boxes", 1998). Both are made from random words of the host. A module's source is MW_MAKE_VECTORS(name, word)
 * after this header. */
#ifndef MOONWARP_RANDOM_STREAMS_DIRECTION_VECTORS_H
#define MOONWARP_RANDOM_STREAMS_DIRECTION_VECTORS_H

#include <curand_kernel.h>

typedef unsigned long long ull;

/* (m - 1) / 2 of the first number m takes 0 bits, that of the second 1 bit, and so on. */
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
/* x times the matrix that has 1 on its diagonal and, left of it in row i, the upper bits of random word i. */
template <class W> __device__ W scrambled(const ull *rows, W x) {
  const int bits = sizeof(W) * 8;
  W y = 0;
  for (int i = 0; i < bits; i++) {
    W diagonal = (W)1 << (bits - 1 - i), row = (W)(rows[i] >> (64 - bits));
    row = (row & ~(diagonal | (diagonal - 1))) | diagonal;
    y |= __popcll(row & x) & 1 ? diagonal : 0;
  }
  return y;
}

/* `rows` are 64 random words a dimension, `constants` one; both are null for sequences that are not scrambled. */
template <class W>
__device__ void make_vectors(const unsigned *numbers, int dimensions, const ull *rows, const ull *constants, W *v,
                             W *begins) {
  const int bits = sizeof(W) * 8;
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= dimensions) return;
  v += d * bits;
  vectors(numbers + d * 6, v);
  begins[d] = 0;
  if (!rows) return;
  for (int i = 0; i < bits; i++) v[i] = scrambled(rows + d * 64, v[i]);
  begins[d] = (W)(constants[d] >> (64 - bits));
}

#define MW_MAKE_VECTORS(name, word)                                                                                    \
  extern "C" __global__ void name(const unsigned *numbers, int dimensions, const ull *rows, const ull *constants,      \
                                  word *v, word *begins) {                                                             \
    make_vectors(numbers, dimensions, rows, constants, v, begins);                                                     \
  }

#endif
