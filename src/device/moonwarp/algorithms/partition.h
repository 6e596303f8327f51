/* A stable partition of places and values into buckets of 2^shift places each, and sums in the order of positions.
 *
 * Positions are cut into chunks. partition_count() counts, for each chunk and bucket, the chunk's elements for the
 * bucket; the inclusive scan of the counts, bucket by bucket, says where each chunk's end; partition_distribute() moves
 * them there. The values of a bucket then are in the order of their positions, and one thread adds them in that order:
 * a sum that is the same on every run. */
#ifndef MOONWARP_ALGORITHMS_PARTITION_H
#define MOONWARP_ALGORITHMS_PARTITION_H

namespace moonwarp {

/* A value and its place. P is as wide as the places need. */
template <typename P, typename T> struct placed {
  P place;
  T value;
};

/* counts[chunk][bucket], which begin as 0; a thread for each chunk c. Where::place(index[k], length) is a place from 0,
   or -1 for a wrong index, of which the least position is reported. */
template <typename Where, typename I>
__device__ void partition_count(int c, long long count, long long chunk, int chunks, int buckets, int shift,
                                long long length, const I *index, long long *counts, unsigned long long *wrong) {
  if (c >= chunks) return;
  long long end = (c + 1) * chunk < count ? (c + 1) * chunk : count;
  long long *mine = counts + (long long)c * buckets;
  for (long long k = c * chunk; k < end; k++) {
    long long place = Where::place(index[k], length);
    if (place < 0)
      atomicMin(wrong, (unsigned long long)k);
    else
      mine[place >> shift]++;
  }
}

/* next[chunk][bucket]: the position of the chunk's first element in the bucket; it is overwritten. v repeats after
   `values`. */
template <typename Where, typename I, typename P, typename T>
__device__ void partition_distribute(int c, long long count, long long chunk, int chunks, int buckets, int shift,
                                     long long length, long long values, const I *index, const T *v, long long *next,
                                     placed<P, T> *out) {
  if (c >= chunks) return;
  long long end = (c + 1) * chunk < count ? (c + 1) * chunk : count;
  long long *mine = next + (long long)c * buckets;
  for (long long k = c * chunk; k < end; k++) {
    long long place = Where::place(index[k], length), to = mine[place >> shift]++;
    placed<P, T> one;
    one.place = (P)place;
    one.value = v[values == 1 ? 0 : k];
    out[to] = one;
  }
}

/* x[place] += value in the order of a bucket; ends[bucket]; a thread for each bucket b. */
template <typename P, typename T>
__device__ void add_in_order(int b, int buckets, const long long *ends, const placed<P, T> *from, T *x) {
  if (b >= buckets) return;
  long long end = ends[b];
  for (long long k = b > 0 ? ends[b - 1] : 0; k < end; k++) x[from[k].place] += from[k].value;
}

} // namespace moonwarp

#endif
