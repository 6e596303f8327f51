/* Rare numbers that take long, and others that are not made as the common ones are, made after those.
 *
 * A gang makes a rare number whenever one of its lanes has one: if one number in 16 is rare, 32 lanes do for nearly all
 * of their numbers. So a warp makes the common ones of its next 2048 numbers first, and lists the rest, of which then
 * each lane makes one at a time: first the others, then the rare ones. Until then the first step of a number (draws.h) is
 * in its place. */
#ifndef MOONWARP_RANDOM_STREAMS_RARE_NUMBERS_H
#define MOONWARP_RANDOM_STREAMS_RARE_NUMBERS_H

#include <moonwarp/random/distributions/draws.h>

/* Number j of 64 of each lane; lanes' numbers are neighbours, from to + j % near * inner + j / near * outer on, where
 * near is a power of 2. All lanes of a warp call these functions with the same j; `at` is the place of a lane's number,
 * if it has one. */
template <class Draw, bool = made_in_steps<Draw>::value> struct warp_numbers {
  template <class W, class Out> __device__ void put(int j, bool has_one, W x, double a, double b, Out *at) {
    if (has_one) *at = Draw::make(x, a, b);
  }
  template <class Out> __device__ void finish(double a, double b, Out *to, int near, int inner, int outer) {}
};
template <class Draw> struct warp_numbers<Draw, true> {
  int others = 0, rare = 2048; /* the list has others before the first of these, and rare ones from the second on */

  /* Of a block of up to 128 threads. */
  static __device__ unsigned short *list() {
    __shared__ unsigned short lists[4 * 2048];
    return lists + (threadIdx.x >> 5) * 2048;
  }
  template <class W> __device__ void put(int j, bool has_one, W x, double a, double b, double *at) {
    double first = Draw::begin(x);
    bool is_common = Draw::is_common(first);
    if (has_one) *at = is_common ? Draw::common(first, a, b) : first;
    unsigned short *listed = list();
    unsigned are_rare = __ballot_sync(~0u, Draw::is_rare(first));
    bool is_first = (threadIdx.x & 31) == 0;
    for (unsigned lanes = __ballot_sync(~0u, has_one && !is_common); lanes != 0; lanes &= lanes - 1) {
      int lane = __ffs(lanes) - 1, is_rare = are_rare >> lane & 1;
      rare -= is_rare;
      if (is_first) listed[is_rare ? rare : others] = (unsigned short)(j * 32 + lane);
      others += 1 - is_rare;
    }
  }
  __device__ void finish(double a, double b, double *to, int near, int inner, int outer) {
    const unsigned short *listed = list();
    int lane = threadIdx.x & 31;
    __syncwarp();
    for (int i = lane; i < others; i += 32) {
      double *at = place(listed[i], to, near, inner, outer);
      *at = Draw::other(*at, a, b);
    }
    for (int i = rare + lane; i < 2048; i += 32) {
      double *at = place(listed[i], to, near, inner, outer);
      *at = Draw::rare(*at, a, b);
    }
    __syncwarp();
    others = 0;
    rare = 2048;
  }
  static __device__ double *place(int number, double *to, int near, int inner, int outer) {
    int j = number >> 5;
    return to + ((number & 31) + (j & near - 1) * inner + j / near * (long long)outer);
  }
};

#endif
