/* A scan over the lanes of a warp, for accumulators of any type. */
#ifndef MOONWARP_ALGORITHMS_WARP_SCAN_H
#define MOONWARP_ALGORITHMS_WARP_SCAN_H

namespace moonwarp {

/* The words of an accumulator, which are shuffled one by one: of 8 bytes if its size is a multiple, since CPUs shuffle
   those directly. */
template <typename A, bool WIDE = sizeof(A) % 8 == 0> struct words {
  enum { COUNT = (sizeof(A) + 3) / 4 };
  unsigned word[COUNT];
};
template <typename A> struct words<A, true> {
  enum { COUNT = sizeof(A) / 8 };
  unsigned long long word[COUNT];
};

template <typename A> __device__ inline words<A> to_words(const A &a) {
  words<A> w;
  w.word[words<A>::COUNT - 1] = 0;
  memcpy(&w, &a, sizeof(A));
  return w;
}

template <typename A> __device__ inline A from_words(const words<A> &w) {
  A a;
  memcpy(&a, &w, sizeof(A));
  return a;
}

/* The value of the lane `distance` below; the lanes without one keep theirs. */
template <typename A> __device__ inline A shuffle_up(const A &a, int distance) {
  words<A> w = to_words(a);
#pragma unroll
  for (int k = 0; k < (int)words<A>::COUNT; k++) w.word[k] = __shfl_up_sync(~0u, w.word[k], distance);
  return from_words<A>(w);
}

/* The value of one lane, for all. */
template <typename A> __device__ inline A broadcast(const A &a, int lane) {
  words<A> w = to_words(a);
#pragma unroll
  for (int k = 0; k < (int)words<A>::COUNT; k++) w.word[k] = __shfl_sync(~0u, w.word[k], lane);
  return from_words<A>(w);
}

/* Each lane's value combined with those of all lanes below, in their order. */
template <typename Op> __device__ inline typename Op::A scan_warp(typename Op::A a) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    typename Op::A below = shuffle_up(a, distance);
    if (lane >= distance) a = Op::combine(below, a);
  }
  return a;
}

} // namespace moonwarp

#endif
