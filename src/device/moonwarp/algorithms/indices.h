/* Gathers and scatters by index arrays. An index counts from 1, or from the end if it is negative.
 *
 * E is an element of any kind, known by its size alone; I the indices' type. Elements are outer x length x inner, and
 * index j of `count` selects along the length. */
#ifndef MOONWARP_ALGORITHMS_INDICES_H
#define MOONWARP_ALGORITHMS_INDICES_H

namespace moonwarp {

/* The place from 0 that an index names among n, or -1. */
template <typename I> __device__ inline long long place_of(I index, long long n) {
  if (sizeof(I) == 8 && I(-1) > I(0) && index > (I)n) return -1; /* too large for a signed one */
  long long at = (long long)index;
  at = at < 0 ? at + n : at - 1;
  return at >= 0 && at < n && index != I(0) ? at : -1;
}

/* *wrong becomes the least of the positions that are reported. */
__device__ inline void report(unsigned long long *wrong, long long position) {
  atomicMin(wrong, (unsigned long long)position);
}

template <bool CONDITION, typename A, typename B> struct choose {
  typedef A type;
};
template <typename A, typename B> struct choose<false, A, B> {
  typedef B type;
};

/* Whether an index names one of n; and its place from 0, or 0. This compiles to a comparison and a selection, in N's
   bits where the index has no more. */
template <typename N, typename I> __device__ inline bool is_inside(I index, N n, N &place) {
  typedef typename choose<(sizeof(I) > sizeof(N)), long long, N>::type wide;
  typedef typename choose<sizeof(wide) == 8, unsigned long long, unsigned>::type bits;
  bits at = (bits)(wide)index + (I(-1) < I(0) && index < I(0) ? (bits)n : ~(bits)0);
  bool inside = at < (bits)n;
  place = inside ? (N)at : N(0);
  return inside;
}

/* y[j] = x[index[j]]; N counts the elements of both. Every thread loads, and a wrong index reads the first element:
   loads under a mask take longer. */
template <typename N, typename E, typename I>
__device__ void take_flat(N length, N count, const E *x, const I *index, E *y, unsigned long long *wrong) {
  N j = (N)blockIdx.x * (N)blockDim.x + (N)threadIdx.x, at;
  if (j >= count) return;
  bool inside = is_inside(index[j], length, at);
  if (length > 0) y[j] = x[at];
  if (!inside) report(wrong, j);
}

/* y[o][j][i] = x[o][index[j]][i]; a thread for each (j, i), blockIdx.y the outer element. */
template <typename E, typename I>
__device__ void take(long long outer, long long length, long long inner, long long count, const E *x, const I *index,
                     E *y, unsigned long long *wrong) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x, at;
  if (t >= count * inner) return;
  long long j = inner == 1 ? t : t / inner, i = inner == 1 ? 0 : t % inner;
  bool inside = is_inside(index[j], length, at);
  if (length > 0)
    for (long long o = blockIdx.y; o < outer; o += gridDim.y)
      y[o * count * inner + t] = x[(o * length + at) * inner + i];
  if (!inside) report(wrong, j);
}

/* places[k] = the position that index k selects in the whole array. The indices have the array's dimensions except the
   one along which they select, which is `count` (outer x count x inner); flat ones are 1 x count x 1. */
template <typename I>
__device__ void places(long long outer, long long length, long long inner, long long count, const I *index,
                       long long *places, unsigned long long *wrong) {
  long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= outer * count * inner) return;
  long long at = place_of(index[k], length);
  if (at < 0) {
    report(wrong, k);
    return;
  }
  if (inner == 1 && outer == 1)
    places[k] = at;
  else
    places[k] = (k / inner / count * length + at) * inner + k % inner;
}

/* y[k] = x[places[k]] */
template <typename E> __device__ void gather(long long count, const long long *places, const E *x, E *y) {
  long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) y[k] = x[places[k]];
}

/* The owner of a place, who writes to it: the last index that names it, as 1 + its position. */
__device__ inline void claim(long long count, const long long *places, unsigned long long *owners) {
  long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) atomicMax(&owners[places[k]], (unsigned long long)k + 1);
}

/* x[o][places[j]][i] = v[o][j][i], by the owners; v repeats after `values` elements. */
template <typename E>
__device__ void put(long long outer, long long length, long long inner, long long count, const long long *places,
                    const unsigned long long *owners, long long values, const E *v, E *x) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count * inner) return;
  long long j = inner == 1 ? t : t / inner, i = inner == 1 ? 0 : t % inner, at = places[j];
  if (owners[at] != (unsigned long long)j + 1) return;
  for (long long o = blockIdx.y; o < outer; o += gridDim.y)
    x[(o * length + at) * inner + i] = v[(o * count * inner + t) % values];
}

} // namespace moonwarp

#endif
