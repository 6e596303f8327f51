/* Compaction: the positions of the elements that are not 0, in their order.
 *
 * A warp counts a chunk by ballots, the inclusive scan of the counts says where each chunk's positions go, and warps
 * write them there. A block is a warp, and blockIdx.x its chunk.
 */
#ifndef MOONWARP_ALGORITHMS_COMPACT_H
#define MOONWARP_ALGORITHMS_COMPACT_H

namespace moonwarp {

template <typename T> __device__ void compact_count(long long count, long long chunk, const T *x, long long *counts) {
  long long first = blockIdx.x * chunk, end = first + chunk < count ? first + chunk : count;
  int lane = threadIdx.x % 32, found = 0;
  for (long long k = first; k < end; k += 32) {
    long long at = k + lane;
    bool is_set = at < end && x[at] != T(0);
    found += __popc(__ballot_sync(~0u, is_set));
  }
  if (lane == 0) counts[blockIdx.x] = found;
}

/* ends: the inclusive scan of the counts. Positions count from 1. */
template <typename T>
__device__ void compact(long long count, long long chunk, const T *x, const long long *ends, long long *positions) {
  long long first = blockIdx.x * chunk, end = first + chunk < count ? first + chunk : count;
  long long to = blockIdx.x > 0 ? ends[blockIdx.x - 1] : 0;
  int lane = threadIdx.x % 32;
  for (long long k = first; k < end; k += 32) {
    long long at = k + lane;
    bool is_set = at < end && x[at] != T(0);
    unsigned set = __ballot_sync(~0u, is_set);
    if (is_set) positions[to + __popc(set & ((1u << lane) - 1))] = at + 1;
    to += __popc(set);
  }
}

} // namespace moonwarp

#endif
