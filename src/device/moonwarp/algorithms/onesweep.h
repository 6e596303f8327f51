/* A stable radix sort for GPUs, which reads and writes each key once a pass: Adinets and Merrill, "Onesweep: a faster
 * least significant digit radix sort for GPUs" (2022), with the decoupled look-back of Merrill and Garland (2016).
 *
 * onesweep_count counts the digits of all passes in one reading, onesweep_bases computes each digit's first place from
 * them; with few elements onesweep_begin does both, by one launch. In a pass, a block takes the next tile and publishes
 * how many of each digit it has. Then it ranks its keys and adds up what the tiles before it have published, so it knows
 * where each of its digits begins. Keys go to their places in the tile first, in shared memory: neighbours there have
 * neighbouring places in the result.
 *
 * A pass whose digit is the same in all keys would move nothing and is skipped, as are those of the high bits of small
 * integers. So a pass finds out from the counts which of the others run, and from that where keys are.
 *
 * Tiles are taken in order, so all earlier tiles are done or running, and waiting for them ends. */
#ifndef MOONWARP_ALGORITHMS_ONESWEEP_H
#define MOONWARP_ALGORITHMS_ONESWEEP_H

#include "moonwarp/algorithms/last_block.h"
#include "moonwarp/algorithms/radix_sort.h"

namespace moonwarp {

/* On GPUs, arrays of a thread's keys stay in registers. On the CPU device, where these kernels are only tested, they
   need not, which shortens compilation. */
#if defined __MW_NVPTX__ || defined __MW_NVRTC__
enum { ONESWEEP_UNROLL = 32 };
#else
enum { ONESWEEP_UNROLL = 1 };
#endif

/* A pass's threads a block, blocks a multiprocessor, and the keys that a thread and a block have: the fastest of 26 on
   an H100. With positions a thread needs more registers than three blocks leave it. sort.lua has the numbers as well. */
template <typename K, bool POSITIONS> struct onesweep_tile {
  static constexpr int threads = POSITIONS ? 512 : 384, warps = threads / 32, blocks = POSITIONS ? 2 : 3;
  static constexpr int items = sizeof(K) == 8 ? (POSITIONS ? 8 : 11) : sizeof(K) == 4 ? (POSITIONS ? 14 : 18) : 14;
  static constexpr int size = items * threads;
};

/* A tile's published count of a digit. The two highest bits say whether it is the tile's own or includes all earlier
   tiles. W: an unsigned type with room for the number of keys beside these bits. */
template <typename W> struct onesweep_state {
  static constexpr int shift = 8 * (int)sizeof(W) - 2;
  static constexpr W own = (W)1 << shift, all = (W)2 << shift, count = own - 1;
};

/* The blocks that count n elements' digits; the most of them whose counts the last one adds up (onesweep_begin). */
enum { ONESWEEP_COUNTED = 8192, ONESWEEP_PARTS = 64 };

/* Memory for all passes over n keys: where digits begin, the next tile's number, whether the pass is skipped, and the
   published counts, which are zero before; then the counts of the blocks of onesweep_begin, and what passes write by
   turns: keys, and positions if those are sorted too. A block of onesweep_bases and a pass have a part each, `pass` being
   the number of the digit. sort.lua has the sizes as well. */
template <typename K, typename W, bool POSITIONS> struct onesweep_scratch {
  enum { DIGITS = (int)sizeof(K), ARRAYS = DIGITS > 2 ? 2 : DIGITS - 1, TILE = onesweep_tile<K, POSITIONS>::size };
  unsigned long long *at;
  long long n, tiles;
  __device__ onesweep_scratch(void *memory, long long n)
      : at((unsigned long long *)memory), n(n), tiles((n + TILE - 1) / TILE) {}
  __device__ static long long whole(long long bytes) { return (bytes + 255) & ~255ll; }
  __device__ unsigned *bases(int pass) const { return (unsigned *)at + pass * 256; }
  __device__ unsigned *next(int pass) const { return bases(DIGITS) + pass; }
  __device__ unsigned *skipped(int pass) const { return bases(DIGITS) + 8 + pass; }
  __device__ W *state(int pass) const { return (W *)(bases(DIGITS) + 16) + pass * tiles * 256; }
  __device__ unsigned *parts() const { return (unsigned *)at + whole((char *)state(DIGITS) - (char *)at) / 4; }
  __device__ char *arrays() const {
    long long blocks = (n + ONESWEEP_COUNTED - 1) / ONESWEEP_COUNTED;
    return (char *)(parts() + (blocks <= ONESWEEP_PARTS ? blocks * DIGITS * 256 : 0));
  }
  __device__ K *keys(int k) const { return (K *)(arrays() + k * whole(n * sizeof(K))); }
  __device__ unsigned *positions(int k) const {
    return (unsigned *)(arrays() + ARRAYS * whole(n * sizeof(K)) + k * whole(n * 4));
  }
};

/* Count the digits of a block's share of n elements. Blocks of 256 threads, any number. Lanes with equal digits do not
   wait for each other: GPUs count them in one operation, if what is added is a constant. */
template <typename O, typename K>
__device__ inline void onesweep_count_block(const K *x, long long n, unsigned (*count)[256]) {
  enum { DIGITS = (int)sizeof(K), LOADS = 4 };
  int t = threadIdx.x;
#pragma unroll ONESWEEP_UNROLL
  for (int d = 0; d < DIGITS; d++) count[d][t] = 0;
  __syncthreads();
  long long step = (long long)gridDim.x * 256;
  for (long long i = (long long)blockIdx.x * 256 + t; i < n; i += LOADS * step) {
    K key[LOADS];
#pragma unroll ONESWEEP_UNROLL
    for (int k = 0; k < LOADS; k++)
      if (i + k * step < n) key[k] = O::encode(x[i + k * step]);
#pragma unroll ONESWEEP_UNROLL
    for (int k = 0; k < LOADS; k++) {
      if (i + k * step >= n) continue;
#pragma unroll ONESWEEP_UNROLL
      for (int d = 0; d < DIGITS; d++) atomicAdd(&count[d][(unsigned)(key[k] >> 8 * d & 255)], 1u);
    }
  }
  __syncthreads();
}

/* Add the digits of n elements to counts[pass][digit]. */
template <typename O, typename K> __device__ inline void onesweep_count(const K *x, long long n, unsigned *counts) {
  enum { DIGITS = (int)sizeof(K) };
  __shared__ unsigned count[DIGITS][256];
  int t = threadIdx.x;
  onesweep_count_block<O, K>(x, n, count);
  for (int d = 0; d < DIGITS; d++)
    if (count[d][t]) atomicAdd(&counts[d * 256 + t], count[d][t]);
}

/* The exclusive sums of one value for each thread of a block. */
__device__ inline unsigned onesweep_sums(unsigned mine, unsigned *of_warps) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned sum = mine;
#pragma unroll ONESWEEP_UNROLL
  for (int distance = 1; distance < 32; distance *= 2) {
    unsigned below = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += below;
  }
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; w++) sum += of_warps[w];
  return sum - mine;
}

/* Turn the counts of a pass over n keys into the first place of each digit. Blocks of 256 threads. */
__device__ inline void onesweep_bases(unsigned *counts, long long n, unsigned *skipped) {
  __shared__ unsigned of_warps[8];
  unsigned *mine = counts + threadIdx.x;
  if (*mine == n) *skipped = 1;
  *mine = onesweep_sums(*mine, of_warps);
}

#if __CUDA_ARCH__ >= 350
/* What comes before the passes over n keys, in memory with any contents: zeros, and each digit's first place. At most
   ONESWEEP_PARTS blocks, one for each ONESWEEP_COUNTED keys. `done` and `ticket`: see last_block.h. */
template <typename O, typename K, typename W, bool POSITIONS>
__device__ inline void onesweep_begin(const K *x, long long n, onesweep_scratch<K, W, POSITIONS> scratch,
                                      unsigned long long *done, unsigned ticket) {
  enum { DIGITS = (int)sizeof(K) };
  __shared__ unsigned count[DIGITS][256], of_warps[8];
  int t = threadIdx.x;
  onesweep_count_block<O, K>(x, n, count);
  for (int d = 0; d < DIGITS; d++) scratch.parts()[(blockIdx.x * DIGITS + d) * 256 + t] = count[d][t];
  unsigned *zeros = scratch.next(0), *end = (unsigned *)scratch.state(DIGITS);
  for (unsigned *at = zeros + blockIdx.x * 256 + t; at < end; at += gridDim.x * 256) *at = 0;
  if (!is_last_block(done, gridDim.x, ticket)) return;
  for (int d = 0; d < DIGITS; d++) {
    unsigned all = 0;
#pragma unroll 4
    for (unsigned b = 0; b < gridDim.x; b++) all += scratch.parts()[(b * DIGITS + d) * 256 + t];
    if (all == n) *scratch.skipped(d) = 1;
    scratch.bases(d)[t] = onesweep_sums(all, of_warps);
    __syncthreads();
  }
}
#endif

/* Number a warp's keys by their digits. next[digit]: the number of the digit's next key; met[digit]: the lanes that
   have it, 0 between calls. On an H100 this is faster than eight ballots; lanes that often have equal digits (skewed)
   would wait for each other, and __match_any_sync is fast just there. */
__device__ inline unsigned onesweep_rank(unsigned digit, int lane, unsigned *next, unsigned *met, bool skewed) {
  unsigned peers;
  if (skewed) {
    peers = __match_any_sync(~0u, digit);
  } else {
    atomicOr(&met[digit], 1u << lane);
    __syncwarp();
    peers = *(volatile unsigned *)&met[digit];
    __syncwarp();
  }
  unsigned before = __popc(peers & ((1u << lane) - 1)), base = 0;
  if (before == 0) {
    base = atomicAdd(&next[digit], (unsigned)__popc(peers));
    if (!skewed) *(volatile unsigned *)&met[digit] = 0;
  }
  __syncwarp();
  return __shfl_sync(~0u, base, __ffs((int)peers) - 1) + before;
}

/* The number of keys of a digit in the tiles before `tile`: counts of several tiles are loaded together. */
template <typename W> __device__ inline W onesweep_look_back(const volatile W *state, long long tile, int digit) {
  typedef onesweep_state<W> S;
  enum { LOADS = 4 };
  W sum = 0;
  for (long long before = tile - 1; before >= 0;) {
    W published[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++) published[k] = before - k >= 0 ? state[(before - k) * 256 + digit] : 0;
    bool open = true, found = false;
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
      open = open && published[k] != 0; /* those before an unpublished one are read again */
      if (!open) continue;
      sum += published[k] & S::count;
      before--;
      found = (published[k] & S::all) != 0;
      open = !found;
    }
    if (found) break;
  }
  return sum;
}

/* One pass over n keys, by the digit with the number `pass`. The first pass that is not skipped reads elements, the
   last writes elements, or, with POSITIONS, positions from 1. Others read and write the scratch's arrays by turns. */
template <typename O, typename K, typename W, bool POSITIONS>
__device__ inline void onesweep_pass(long long n, int pass, onesweep_scratch<K, W, POSITIONS> scratch, const K *x, K *y,
                                     long long *order) {
  typedef onesweep_tile<K, POSITIONS> T;
  typedef onesweep_state<W> S;
  enum { ITEMS = T::items, WARPS = T::warps, DIGITS = (int)sizeof(K) };
  union shared_memory {
    struct {
      unsigned next[WARPS][256], met[WARPS][256];
    } warps;
    K key[T::size];
    unsigned position[T::size];
  };
  __shared__ shared_memory shared;
  __shared__ unsigned of_warps[WARPS], taken;
  __shared__ W place[256];    /* where a digit's keys begin in the result, less where they begin in the tile */
  int earlier = 0, later = 0; /* passes that run */
#pragma unroll ONESWEEP_UNROLL
  for (int d = 0; d < DIGITS; d++) {
    int runs = *scratch.skipped(d) == 0;
    earlier += d < pass ? runs : 0;
    later += d > pass ? runs : 0;
  }
  /* If all keys are equal, the last pass copies them. */
  if (*scratch.skipped(pass) != 0 && (pass < DIGITS - 1 || earlier > 0)) return;
  bool is_first = earlier == 0, is_last = later == 0, odd = earlier % 2 != 0;
  const K *from = is_first ? x : scratch.keys(!odd);
  const unsigned *was = scratch.positions(!odd);
  K *keys = is_last ? y : scratch.keys(odd);
  unsigned *positions = scratch.positions(odd);
  volatile W *state = scratch.state(pass);
  int t = threadIdx.x, warp = t / 32, lane = t % 32, shift = 8 * pass;
  if (t == 0) taken = atomicAdd(scratch.next(pass), 1u);
  for (int k = t; k < WARPS * 256; k += T::threads)
    shared.warps.next[k / 256][k % 256] = shared.warps.met[k / 256][k % 256] = 0;
  __syncthreads();
  long long tile = taken, begin = tile * T::size;
  int count = n - begin < T::size ? (int)(n - begin) : T::size, first = warp * (ITEMS * 32) + lane;

  K key[ITEMS];
  unsigned rank[ITEMS];
#pragma unroll ONESWEEP_UNROLL
  for (int k = 0; k < ITEMS; k++) {
    int i = first + k * 32;
    /* The keys that fill up the last tile come after all others, which have no greater digit. */
    key[k] = i < count ? from[begin + i] : (K) ~(K)0;
  }
  if (is_first) {
#pragma unroll ONESWEEP_UNROLL
    for (int k = 0; k < ITEMS; k++)
      if (first + k * 32 < count) key[k] = O::encode(key[k]);
  }
#pragma unroll ONESWEEP_UNROLL
  for (int k = 0; k < ITEMS; k++) atomicAdd(&shared.warps.next[warp][key[k] >> shift & 255], 1u);
  __syncthreads();
  /* Thread t has digit t. */
  unsigned own = 0;
  if (t < 256) {
    for (int w = 0; w < WARPS; w++) {
      unsigned mine = shared.warps.next[w][t];
      shared.warps.next[w][t] = own;
      own += mine;
    }
  }
  W published = (W)(t == 255 ? own - (unsigned)(T::size - count) : own);
  if (t < 256) state[tile * 256 + t] = published | (tile == 0 ? S::all : S::own);
  unsigned start = onesweep_sums(own, of_warps);
  for (int w = 0; t < 256 && w < WARPS; w++) shared.warps.next[w][t] += start;
  bool skewed = __syncthreads_or(t < 256 && own > T::size / 8) != 0;
#pragma unroll ONESWEEP_UNROLL
  for (int k = 0; k < ITEMS; k++)
    rank[k] =
        onesweep_rank((unsigned)(key[k] >> shift & 255), lane, shared.warps.next[warp], shared.warps.met[warp], skewed);
  __syncthreads();
#pragma unroll ONESWEEP_UNROLL
  for (int k = 0; k < ITEMS; k++) shared.key[rank[k]] = key[k];
  if (t < 256) {
    W before = onesweep_look_back<W>(state, tile, t);
    if (tile > 0) state[tile * 256 + t] = (before + published) | S::all;
    place[t] = (W)scratch.bases(pass)[t] + before - start;
  }
  __syncthreads();

  unsigned char digits[ITEMS];
#pragma unroll ONESWEEP_UNROLL
  for (int k = 0; k < ITEMS; k++) {
    int i = t + k * T::threads;
    K mine = shared.key[i];
    digits[k] = (unsigned char)(mine >> shift & 255);
    if (i < count && !(POSITIONS && is_last)) keys[(W)(place[digits[k]] + i)] = is_last ? O::decode(mine) : mine;
  }
  if (!POSITIONS) return;
  __syncthreads();
#pragma unroll ONESWEEP_UNROLL
  for (int k = 0; k < ITEMS; k++) {
    int i = first + k * 32;
    shared.position[rank[k]] = is_first ? (unsigned)(begin + i) : i < count ? was[begin + i] : 0;
  }
  __syncthreads();
#pragma unroll ONESWEEP_UNROLL
  for (int k = 0; k < ITEMS; k++) {
    int i = t + k * T::threads;
    if (i >= count) continue;
    W at = place[digits[k]] + i;
    if (is_last)
      order[at] = (long long)shared.position[i] + 1;
    else
      positions[at] = shared.position[i];
  }
}

} // namespace moonwarp

#endif
