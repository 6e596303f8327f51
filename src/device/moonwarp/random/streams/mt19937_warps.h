/* MT19937's host stream on GPUs: a warp has four states, which it keeps in shared memory during a launch, eight lanes a
 * state. Words depend on those 227 and 624 before them, so that the parts of a turn that begin at 227 and 454 follow
 * the others. A part is words that stand between blocks, and blocks of 56 (mt19937.h); a lane makes seven neighbours
 * of a block, so that the lanes' first, second, … ones are rows, and the 32 numbers that a warp stores are neighbours
 * too. */
#ifndef MOONWARP_RANDOM_STREAMS_MT19937_WARPS_H
#define MOONWARP_RANDOM_STREAMS_MT19937_WARPS_H

#define MW_MT_WARPS  4   /* of a block */
#define MW_MT_LINE   632 /* words from a state to the next one: lanes' neighbours are in different banks */
#define MW_MT_BOUNDS __launch_bounds__(32 * MW_MT_WARPS, 4)

/* Whether numbers are so cheap that they are made with the words, and not by a loop of their own. */
template <class Draw> struct mt_cheap {
  static const bool value = false;
};
template <> struct mt_cheap<draw_rows_bits> {
  static const bool value = true;
};
template <> struct mt_cheap<draw_rows_uniform> {
  static const bool value = true;
};
template <> struct mt_cheap<draw_rows_uniform_double> {
  static const bool value = true;
};

/* Where a lane stores the numbers of a turn: number i to to[i], if it belongs to the call. Caches evict numbers first,
 * so that they keep the states for the next call. */
template <class Draw, class Out> struct mt_target {
  Out *to;
  int low, high;
  double a, b;
  template <bool whole> __device__ void put(int i, unsigned word) const {
    if (whole || i >= low && i < high) __stcs(to + i, Draw::make(__mw_mt_tempered(word), a, b));
  }
};
/* A lane's state, and its place among the eight lanes. */
struct mt_lane {
  unsigned *state;
  int place, at; /* and that of its first number in a row */
};

/* Which words are made, and whether they are stored: all of them, or those that belong to the call. */
enum mt_stored { mt_none, mt_some, mt_all };

/* A lane's words of a block, the next ones if `advance`. */
template <bool advance, mt_stored stored, int part, class Target>
__device__ inline void block_of_words(mt_lane lane, int block, const Target &target) {
  int first = part * 227 + block * 57 + (part == 0 && block == 0), at = first + 7 * lane.place;
  unsigned words[8];
#pragma unroll
  for (int q = 0; q < 7; q++) words[q] = lane.state[at + q];
  if (advance) {
    words[7] = lane.state[part == 2 && at + 7 == __mw_mt_words ? 0 : at + 7];
#pragma unroll
    for (int q = 0; q < 7; q++)
      words[q] = __mw_mt_next(words[q], words[q + 1], lane.state[at + q + (part == 0 ? 397 : -227)]);
    __syncwarp(); /* all have read their neighbour's first word */
#pragma unroll
    for (int q = 0; q < 7; q++) lane.state[at + q] = words[q];
  }
  if (stored == mt_none) return;
  int row = 1 + 7 * (4 * part + block);
#pragma unroll
  for (int q = 0; q < 7; q++) target.template put<stored == mt_all>((row + q) * __mw_mt_row + lane.at, words[q]);
}

template <bool advance, mt_stored stored, int part, class Target>
__device__ inline void part_of_words(mt_lane lane, const Target &target) {
  const int count = part < 2 ? 3 : 2; /* words between blocks */
  int between = (part == 0 ? 56 : part == 1 ? 283 : 510) + 57 * lane.place;
  if (part == 0 && lane.place == 0) between = 0;
  unsigned word = 0;
  if (lane.place < count) {
    word = lane.state[between];
    if (advance) word = __mw_mt_next(word, lane.state[between + 1], lane.state[between + (part == 0 ? 397 : -227)]);
  }
  __syncwarp();
#pragma unroll 1
  for (int block = 0; block < (part < 2 ? 4 : 3); block++) block_of_words<advance, stored, part>(lane, block, target);
  if (lane.place < count) {
    if (advance) lane.state[between] = word;
    if (stored != mt_none) target.template put<stored == mt_all>(lane.at + 3 * part, word);
  }
  __syncwarp();
}
template <bool advance, mt_stored stored, class Target>
__device__ inline void turn_of_words(mt_lane lane, const Target &target) {
  part_of_words<advance, stored, 0>(lane, target);
  part_of_words<advance, stored, 1>(lane, target);
  part_of_words<advance, stored, 2>(lane, target);
}

/* The numbers of a turn, row by row. The code of one is long. */
template <class Target> __device__ inline void put_rows(mt_lane lane, const Target &target) {
  target.template put<false>(lane.at, lane.state[__mw_mt_place(0, lane.place)]);
#pragma unroll 1
  for (int block = 0; block < 11; block++) {
    int part = block >> 2, first = part * 227 + (block & 3) * 57 + (block == 0);
    const unsigned *words = lane.state + first + 7 * lane.place;
    int i = (1 + 7 * block) * __mw_mt_row;
    if (i + 7 * __mw_mt_row <= target.low || i >= target.high) continue;
#pragma unroll 1
    for (int q = 0; q < 7; q++) target.template put<false>(i + q * __mw_mt_row + lane.at, words[q]);
  }
}

/* Four states from global memory to shared memory or back, by 16 bytes. */
template <bool load> __device__ inline void move_states(unsigned *four, unsigned *lines) {
  for (int chunk = threadIdx.x; chunk < __mw_mt_words; chunk += 32) {
    uint4 *there = (uint4 *)four + chunk;
    uint4 *here = (uint4 *)(lines + chunk / 156 * MW_MT_LINE) + chunk % 156;
    if (load)
      *here = *there;
    else
      *there = *here;
  }
}

/* `advances` turns are left out, and then `turns` drawn from, the first of which is that of the states as they are. */
template <class Draw, class Out>
__device__ inline void fill_rows(unsigned *words, int advances, int turns, long long from, long long end, double a,
                                 double b, Out *out) {
  const int length = 78 * __mw_mt_row;
  __shared__ __align__(16) unsigned lines[MW_MT_WARPS * 4 * MW_MT_LINE];
  int group = blockIdx.x * MW_MT_WARPS + threadIdx.y;
  unsigned *mine = lines + threadIdx.y * (4 * MW_MT_LINE), *four = words + group * (4 * __mw_mt_words);
  mt_lane lane = {mine + (threadIdx.x >> 3) * MW_MT_LINE, (int)threadIdx.x & 7, 32 * group + (int)threadIdx.x};
  mt_target<Draw, Out> target = {out, 0, 0, a, b};
  move_states<true>(four, mine);
  __syncwarp();
  for (int i = 0; i < advances; i++) turn_of_words<true, mt_none>(lane, target);
  for (int turn = 0; turn < turns; turn++) {
    long long start = (long long)turn * length;
    target.to = out + (start - from);
    target.low = (int)max(from - start, 0ll);
    target.high = (int)min(end - start, (long long)length);
    if (!mt_cheap<Draw>::value) {
      if (turn > 0) turn_of_words<true, mt_none>(lane, target);
      put_rows(lane, target);
    } else if (turn == 0) {
      turn_of_words<false, mt_some>(lane, target);
    } else if (target.high < length) {
      turn_of_words<true, mt_some>(lane, target);
    } else {
      turn_of_words<true, mt_all>(lane, target);
    }
  }
  __syncwarp();
  move_states<false>(four, mine);
}

#endif
