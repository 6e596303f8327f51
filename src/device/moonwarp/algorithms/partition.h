/* A stable partition of places and values into buckets of 2^shift places each, and sums in the order of positions.
 *
 * Positions are cut into chunks. partition_count() counts, for each chunk and bucket, what the chunk has for it; the
 * inclusive scan of the counts, bucket by bucket, says where each chunk's end; partition_distribute() moves them there.
 * The values of a bucket then are in the order of their positions, and one thread adds them in that order: a sum that
 * is the same on every run.
 */
#ifndef MOONWARP_ALGORITHMS_PARTITION_H
#define MOONWARP_ALGORITHMS_PARTITION_H

namespace moonwarp {

/* counts[chunk][bucket], which begin as 0; a thread for each chunk. */
__device__ inline void partition_count(long long count, long long chunk, int chunks, int buckets, int shift,
                                       const long long *places, long long *counts) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= chunks) return;
  long long end = (c + 1) * chunk < count ? (c + 1) * chunk : count;
  long long *mine = counts + (long long)c * buckets;
  for (long long k = c * chunk; k < end; k++) mine[places[k] >> shift]++;
}

/* next[chunk][bucket]: where the chunk's first goes; it is used up. v repeats after `values`. */
template <typename T>
__device__ void partition_distribute(long long count, long long chunk, int chunks, int buckets, int shift,
                                     long long values, const long long *places, const T *v, long long *next,
                                     long long *places_out, T *values_out) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= chunks) return;
  long long end = (c + 1) * chunk < count ? (c + 1) * chunk : count;
  long long *mine = next + (long long)c * buckets;
  for (long long k = c * chunk; k < end; k++) {
    long long place = places[k], to = mine[place >> shift]++;
    places_out[to] = place;
    values_out[to] = v[values == 1 ? 0 : k];
  }
}

/* x[place] += value in the order of a bucket; ends[bucket]; a thread for each bucket. */
template <typename T>
__device__ void add_in_order(int buckets, const long long *ends, const long long *places, const T *v, T *x) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= buckets) return;
  long long end = ends[b];
  for (long long k = b > 0 ? ends[b - 1] : 0; k < end; k++) x[places[k]] += v[k];
}

} // namespace moonwarp

#endif
