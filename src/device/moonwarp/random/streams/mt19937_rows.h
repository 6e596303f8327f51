/* MT19937's host stream on the CPU device: a warp has a tile of four states, eight lanes a state. A tile is 78 rows of 32
 * words, in the order of the stream, so that rows are loaded, made and stored by whole vectors. Lane p of a state's
 * eight has words 7 p to 7 p + 6 of each block of 56 (mt19937.h), so that the word after one is in the next row of the
 * same lane, but for a block's last row, where the next lane has it. */
#ifndef MOONWARP_RANDOM_STREAMS_MT19937_ROWS_H
#define MOONWARP_RANDOM_STREAMS_MT19937_ROWS_H

#include <moonwarp/random/streams/rare_numbers.h>

#define MW_MT_BOUNDS
#define MW_MT_TILES 8 /* of a block */

/* The next words of the first row, which depend on each other: those of places 4 to 6 on places 1 to 3, that of place 7
 * on place 4. */
__device__ inline unsigned next_first_row(const unsigned *tile, unsigned word) {
  int lane = threadIdx.x, place = lane & 7;
  unsigned next = tile[(1 + 7 * (int)(0xa9765320u >> 4 * place & 15u)) * 32 + lane - place]; /* by the block after it */
  unsigned word_56 =
      __mw_mt_next(tile[7 * 32 + lane], __shfl_sync(~0u, tile[8 * 32 + lane], 0, 8), tile[56 * 32 + lane]);
  unsigned middle = __shfl_down_sync(~0u, word, 5, 8), for_third = __shfl_sync(~0u, word_56, 7, 8);
  unsigned made = __mw_mt_next(word, next, place == 3 ? for_third : middle);
  unsigned later = __mw_mt_next(word, next, __shfl_up_sync(~0u, made, 3, 8));
  if (place > 3) made = later;
  later = __mw_mt_next(word, next, __shfl_up_sync(~0u, made, 3, 8));
  return place > 6 ? later : made;
}

/* The next 624 words of each of the four states, in place. */
__device__ inline void advance_tile(unsigned *tile) {
  int lane = threadIdx.x, place = lane & 7;
  __syncwarp();
  unsigned *own = tile + lane, first = own[0], made = next_first_row(tile, first);
  __syncwarp(); /* the lanes have read each other's words, which they write now */
#pragma unroll 1
  for (int block = 0; block < 11; block++) {
    unsigned *row = own + (1 + 7 * block) * 32, words[8];
#pragma unroll
    for (int q = 0; q < 7; q++) words[q] = row[q * 32];
    /* the word after the block is the first one of the next block, or in the first row */
    int after = (int)(0x07605430210ull >> 4 * block & 15u);
    unsigned last = __shfl_sync(~0u, block == 10 ? made : first, after, 8);
    if (block == 0 || block == 3 || block == 7) last = __shfl_sync(~0u, row[7 * 32], 0, 8);
    unsigned rotated = __shfl_down_sync(~0u, words[0], 1, 8);
    words[7] = place == 7 ? last : rotated;
    /* 227 words before block 4 are block 0's but for one place */
    const unsigned *middle = block < 4 ? row + 49 * 32 : block > 4 ? row - 28 * 32 : own;
    unsigned before = middle[0];
    if (block == 4) {
      unsigned moved = __shfl_up_sync(~0u, own[7 * 32], 1, 8);
      before = place == 0 ? made : moved;
    }
    row[0] = __mw_mt_next(words[0], words[1], before);
#pragma unroll
    for (int q = 1; q < 7; q++) row[q * 32] = __mw_mt_next(words[q], words[q + 1], middle[q * 32]);
  }
  own[0] = made;
  __syncwarp();
}

/* A row of the block's tiles, as far as it belongs to the numbers `from` up to `end`; the first of it is number `start`,
 * and number `first` of the lanes'. */
template <class Draw, class Out>
__device__ inline void put_row(warp_numbers<Draw> &numbers, int first, const unsigned *row, long long start,
                               long long from, long long end, double a, double b, Out *out) {
  bool whole = start >= from && start + 32 * MW_MT_TILES <= end;
  for (int k = 0; k < MW_MT_TILES; k++) {
    long long i = start + 32 * k + threadIdx.x;
    unsigned word = __mw_mt_tempered(row[k * __mw_mt_tile + threadIdx.x]);
    if (whole)
      numbers.put(first + k, true, word, a, b, out + (i - from));
    else
      numbers.put(first + k, i >= from && i < end, word, a, b, out + (i - from));
  }
}

/* `advances` turns are left out, and then `turns` drawn from, the first of which is that of the states as they are. */
template <class Draw, class Out>
__device__ inline void fill_rows(unsigned *words, int advances, int turns, long long from, long long end, double a,
                                 double b, Out *out) {
  unsigned *tiles = words + blockIdx.x * (MW_MT_TILES * __mw_mt_tile);
  for (int turn = 0; turn < turns; turn++) {
    for (int k = 0; k < MW_MT_TILES; k++)
      for (int i = turn > 0 ? 1 : advances; i > 0; i--) advance_tile(tiles + k * __mw_mt_tile);
    for (int eight = 0; eight < 78; eight += 8) {
      warp_numbers<Draw> numbers;
      long long begin = (long long)(turn * 78 + eight) * __mw_mt_row + blockIdx.x * (32 * MW_MT_TILES);
      for (int row = 0; row < min(8, 78 - eight); row++) {
        long long start = begin + row * __mw_mt_row;
        if (start + 32 * MW_MT_TILES > from && start < end)
          put_row<Draw>(numbers, row * MW_MT_TILES, tiles + (eight + row) * 32, start, from, end, a, b, out);
      }
      numbers.finish(a, b, out + (begin - from), MW_MT_TILES, 32, __mw_mt_row);
    }
  }
}

#endif
