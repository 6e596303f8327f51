/* Stable radix sorts by digits of eight bits, the lowest first.
 *
 * Elements are sorted by keys, unsigned numbers in the elements' order: radix_order converts an element's bits to a key
 * and back. With POSITIONS, each key carries the position that it had.
 *
 * A thread sorts lines alone (sort_line), or many blocks sort one line, a thread of each walking a chunk (…_chunk, for
 * CPUs, whose threads have caches for 256 streams): they count the digits of each chunk, scan the counts in the order
 * digit, chunk, and move each element to its place. For GPUs see onesweep.h. */
#ifndef MOONWARP_ALGORITHMS_RADIX_SORT_H
#define MOONWARP_ALGORITHMS_RADIX_SORT_H

namespace moonwarp {

enum { RADIX_UNSIGNED, RADIX_SIGNED, RADIX_FLOAT, RADIX_BFLOAT };

/* K holds the bits of an element of a KIND. NaNs have the greatest key, whatever the direction. MERGE: the zeros of
   both signs have one key. */
template <typename K, int KIND, bool DESCENDING, bool MERGE> struct radix_order {
  static constexpr K most = (K) ~(K)0, sign = (K)(most ^ most >> 1);
  static constexpr K infinity = (K)(sizeof(K) == 8         ? 0x7ff0000000000000ull
                                    : sizeof(K) == 4       ? 0x7f800000ull
                                    : KIND == RADIX_BFLOAT ? 0x7f80ull
                                                           : 0x7c00ull);
  static constexpr K quiet = (K)((infinity & (K) - (K)infinity) >> 1); /* the highest bit of the fraction: a NaN */
  __device__ static inline K encode(K u) {
    if (KIND >= RADIX_FLOAT) {
      if ((K)(u & (K)~sign) > infinity) return most;
      if (MERGE && (K)(u & (K)~sign) == 0) u = 0;
      u = (K)(u & sign ? ~u : u | sign);
    } else if (KIND == RADIX_SIGNED) {
      u ^= sign;
    }
    return DESCENDING ? (K)~u : u;
  }
  __device__ static inline K decode(K k) {
    if (KIND >= RADIX_FLOAT && k == most) return (K)(infinity | quiet);
    if (DESCENDING) k = (K)~k;
    if (KIND >= RADIX_FLOAT) return (K)(k & sign ? k ^ sign : ~k);
    return KIND == RADIX_SIGNED ? (K)(k ^ sign) : k;
  }
};

/* ---- a thread for each line ---- */

/* Sort n elements x to y (or, with POSITIONS, their positions from 1 to `order`); a and b have room for n keys, p and q
   for n positions. */
template <typename O, typename K, bool POSITIONS>
__device__ inline void sort_line(const K *x, long long n, K *a, K *b, unsigned *p, unsigned *q, K *y,
                                 long long *order) {
  if (n <= 40) {
    for (long long i = 0; i < n; i++) {
      K k = O::encode(x[i]);
      long long at = i;
      for (; at > 0 && a[at - 1] > k; at--) {
        a[at] = a[at - 1];
        if (POSITIONS) p[at] = p[at - 1];
      }
      a[at] = k;
      if (POSITIONS) p[at] = (unsigned)i;
    }
  } else {
    __shared__ unsigned counts[sizeof(K)][256];
    for (int d = 0; d < (int)sizeof(K); d++)
      for (int i = 0; i < 256; i++) counts[d][i] = 0;
    for (long long i = 0; i < n; i++) {
      K k = O::encode(x[i]);
      a[i] = k;
      if (POSITIONS) p[i] = (unsigned)i;
      for (int d = 0; d < (int)sizeof(K); d++) counts[d][k >> 8 * d & 255]++;
    }
    for (int d = 0; d < (int)sizeof(K); d++) {
      unsigned *count = counts[d], sum = 0;
      if (count[a[0] >> 8 * d & 255] == n) continue; /* all have the same digit */
      for (int i = 0; i < 256; i++) {
        unsigned mine = count[i];
        count[i] = sum;
        sum += mine;
      }
      for (long long i = 0; i < n; i++) {
        K k = a[i];
        unsigned at = count[k >> 8 * d & 255]++;
        b[at] = k;
        if (POSITIONS) q[at] = p[i];
      }
      K *keys = a;
      a = b;
      b = keys;
      unsigned *positions = p;
      p = q;
      q = positions;
    }
  }
  for (long long i = 0; i < n; i++) {
    if (POSITIONS)
      order[i] = (long long)p[i] + 1;
    else
      y[i] = O::decode(a[i]);
  }
}

/* ---- many blocks for one line ---- */

/* The state of a pass: FIRST reads elements, others keys; LAST writes elements or positions from 1. */
template <typename O, typename K, bool FIRST> __device__ inline K radix_key(const K *from, long long i) {
  return FIRST ? O::encode(from[i]) : from[i];
}

template <typename O, typename K, bool POSITIONS, bool LAST>
__device__ inline void radix_put(long long at, K key, unsigned position, K *keys, unsigned *positions,
                                 long long *order) {
  if (LAST && POSITIONS) {
    order[at] = (long long)position + 1;
    return;
  }
  keys[at] = LAST ? O::decode(key) : key;
  if (POSITIONS) positions[at] = position;
}

/* Exclusive sums of n counts in place, by one block of THREADS threads. */
template <int THREADS> __device__ inline void radix_scan(unsigned *counts, int n) {
  __shared__ unsigned sums[THREADS];
  int t = threadIdx.x, each = (n + THREADS - 1) / THREADS, first = t * each;
  int end = first + each < n ? first + each : n;
  unsigned sum = 0;
  for (int i = first; i < end; i++) sum += counts[i];
  sums[t] = sum;
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2) {
    unsigned before = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += before;
    __syncthreads();
  }
  sum = t > 0 ? sums[t - 1] : 0;
  for (int i = first; i < end; i++) {
    unsigned mine = counts[i];
    counts[i] = sum;
    sum += mine;
  }
}

/* ---- a thread walks a chunk: blocks of one thread ---- */

template <typename O, typename K, bool FIRST>
__device__ inline void radix_count_chunk(const K *from, long long n, long long chunk, int shift, unsigned *counts) {
  __shared__ unsigned count[256];
  for (int d = 0; d < 256; d++) count[d] = 0;
  long long first = blockIdx.x * chunk, end = first + chunk < n ? first + chunk : n;
  for (long long i = first; i < end; i++) count[radix_key<O, K, FIRST>(from, i) >> shift & 255]++;
  for (int d = 0; d < 256; d++) counts[d * gridDim.x + blockIdx.x] = count[d];
}

template <typename O, typename K, bool POSITIONS, bool FIRST, bool LAST>
__device__ inline void radix_move_chunk(const K *from, const unsigned *was, long long n, long long chunk, int shift,
                                        const unsigned *counts, K *keys, unsigned *positions, long long *order) {
  __shared__ unsigned place[256];
  for (int d = 0; d < 256; d++) place[d] = counts[d * gridDim.x + blockIdx.x];
  long long first = blockIdx.x * chunk, end = first + chunk < n ? first + chunk : n;
  for (long long i = first; i < end; i++) {
    K key = radix_key<O, K, FIRST>(from, i);
    unsigned at = place[key >> shift & 255]++;
    radix_put<O, K, POSITIONS, LAST>(at, key, !POSITIONS ? 0 : FIRST ? (unsigned)i : was[i], keys, positions, order);
  }
}

} // namespace moonwarp

#endif
