/* Rare numbers that take long, made after the others.
 *
 * A gang makes a rare number whenever one of its lanes has one: if one number in 16 is rare, 32 lanes do for nearly all
 * of their numbers. So a warp makes the common ones of its next 2048 numbers first, and lists the rare ones, of which
 * then each lane makes one at a time. Until then the first step of a rare number (draws.h) is in its place. */
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
  int found = 0;

  /* Of a block of up to 128 threads. */
  static __device__ unsigned short *list() {
    __shared__ unsigned short lists[4 * 2048];
    return lists + (threadIdx.x >> 5) * 2048;
  }
  template <class W> __device__ void put(int j, bool has_one, W x, double a, double b, double *at) {
    double first = Draw::begin(x);
    bool is_rare = Draw::is_rare(first);
    if (has_one) *at = is_rare ? first : Draw::common(first, a, b);
    unsigned short *rare = list();
    int lane = threadIdx.x & 31;
    for (unsigned lanes = __ballot_sync(~0u, has_one && is_rare); lanes != 0; lanes &= lanes - 1) {
      if (lane == 0) rare[found] = (unsigned short)(j * 32 + __ffs(lanes) - 1);
      found++;
    }
  }
  __device__ void finish(double a, double b, double *to, int near, int inner, int outer) {
    const unsigned short *rare = list();
    __syncwarp();
    for (int i = threadIdx.x & 31; i < found; i += 32) {
      int number = rare[i], j = number >> 5;
      double *at = to + ((number & 31) + (j & near - 1) * inner + j / near * (long long)outer);
      *at = Draw::rare(*at, a, b);
    }
    __syncwarp();
    found = 0;
  }
};

#endif
