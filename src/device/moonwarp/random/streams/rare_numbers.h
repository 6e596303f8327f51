/* Rare numbers that take long, and others that are not made as the common ones are, made after those.
 *
 * A gang makes a rare number whenever one of its lanes has one: if one number in 16 is rare, 32 lanes do for nearly all
 * of their numbers. So a warp makes the common ones of its next 2048 numbers first, and lists the rest, of which then
 * each lane makes one at a time: first the others, then the rare ones. Until then the first step of a number (draws.h)
 * is in its place. How many of 32 numbers are listed cannot be predicted: so lists grow without branches. */
#ifndef MOONWARP_RANDOM_STREAMS_RARE_NUMBERS_H
#define MOONWARP_RANDOM_STREAMS_RARE_NUMBERS_H

#include <moonwarp/random/distributions/draws.h>

typedef unsigned long long ull;

/* Number j of 64 of each lane; lanes' numbers are neighbours, from to + j % near * inner + j / near * outer on, where
 * near is a power of 2. All lanes of a warp call these functions with the same j; `at` is the place of a lane's number,
 * if it has one. */
template <class Draw, bool = made_in_steps<Draw>::value> struct warp_numbers {
  template <class W, class Out> __device__ void put(int j, bool has_one, W x, double a, double b, Out *at) {
    if (has_one) *at = Draw::make(x, a, b);
  }
  template <class Out> __device__ void finish(double a, double b, Out *to, int near, int inner, int outer) {}
};
/* For each byte, the numbers of its bits, from the lowest on, as words of 16 bits. */
struct bit_lists {
  ull of_byte[256][2];
  constexpr bit_lists() : of_byte() {
    for (int byte = 0; byte < 256; byte++)
      for (int bit = 0, n = 0; bit < 8; bit++)
        if (byte >> bit & 1) of_byte[byte][n >> 2] |= (ull)bit << 16 * (n & 3), n++;
  }
};
template <class Draw> struct warp_numbers<Draw, true> {
  static const int room = 2048 + 64;
  int others = 0, rare = room; /* the list has others before the first of these, and rare ones from the second on */

  /* Of a block of up to 128 threads. What is between the others and the rare ones may be written. The shuffles tell the
   * compiler that lanes have the same addresses, so that one lane's store is no scatter. */
  static __device__ unsigned short *list() {
    __shared__ unsigned short lists[4 * room];
    return lists + __shfl_sync(~0u, threadIdx.x >> 5, 0) * room;
  }
  template <class W> __device__ void put(int j, bool has_one, W x, double a, double b, double *at) {
    typedef ull four __attribute__((aligned(2), may_alias));
    static constexpr bit_lists lists;
    const ull each = 0x0001000100010001;
    double first = Draw::begin(x);
    bool is_common = Draw::is_common(first), is_rare = Draw::is_rare(first), is_first = (threadIdx.x & 31) == 0;
    double made = Draw::common(first, a, b);
    if (has_one) *at = is_common ? made : first;
    unsigned short *to_others = list() + __shfl_sync(~0u, others, 0), *to_rare = list() + __shfl_sync(~0u, rare, 0);
    unsigned are_rare = __ballot_sync(~0u, has_one && is_rare);
    unsigned are_other = __ballot_sync(~0u, has_one && !is_common) & ~are_rare;
    ull number = (unsigned)(j * 32) * each;
#pragma unroll
    for (int k = 0; k < 4; k++) { /* what is written past a byte's bits is overwritten */
      const ull *bits = lists.of_byte[are_other >> 8 * k & 255];
      if (is_first) {
        *(four *)to_others = bits[0] + number;
        *(four *)(to_others + 4) = bits[1] + number;
      }
      to_others += __popc(are_other >> 8 * k & 255);
      number += 8 * each;
    }
    others += __popc(are_other);
    rare -= __popc(are_rare);
#pragma unroll
    for (int k = 0; k < 4; k++) { /* more are in one gang of 20 */
      to_rare--;
      if (is_first) *to_rare = (unsigned short)(j * 32 + __ffs(are_rare | 1u << 31) - 1);
      are_rare &= are_rare - 1;
    }
    for (; are_rare != 0; are_rare &= are_rare - 1) {
      to_rare--;
      if (is_first) *to_rare = (unsigned short)(j * 32 + __ffs(are_rare) - 1);
    }
  }
  /* Each list is filled up with a number that it has, so that all lanes read and make one at a time. */
  __device__ void finish(double a, double b, double *to, int near, int inner, int outer) {
    unsigned short *listed = list();
    int lane = threadIdx.x & 31;
    __syncwarp();
    if (others > 0) listed[others + lane] = listed[others - 1];
    if (rare < room) listed[rare - 1 - lane] = listed[rare];
    __syncwarp();
    for (int i = 0; i < others; i += 32) {
      double *at = place(listed[i + lane], to, near, inner, outer), x = *at;
      __syncwarp();
      double made = Draw::other(x, a, b);
      if (i + lane < others) *at = made;
    }
    for (int i = room - 32; i > rare - 32; i -= 32) {
      double *at = place(listed[i + lane], to, near, inner, outer), x = *at;
      __syncwarp();
      double made = Draw::rare(x, a, b);
      if (i + lane >= rare) *at = made;
    }
    __syncwarp();
    others = 0;
    rare = room;
  }
  static __device__ double *place(int number, double *to, int near, int inner, int outer) {
    int j = number >> 5;
    int turns = (unsigned)j >> (__ffs(near) - 1);
    return to + ((number & 31) + (j & near - 1) * inner + turns * (long long)outer);
  }
};

#endif
