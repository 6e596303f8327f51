/* Threefry of Random123, at any number of rounds: threefry2x32, threefry4x32, threefry2x64, threefry4x64.
 *
 *   #include <moonwarp/random/threefry.h>
 *   uint4 words = moonwarp::threefry4x32<20>(counter, key);   // 20 rounds if no number is given
 *
 * Threefish without its tweak: additions, rotations and exclusive or, and a part of the key every four rounds. It is
 * for processors with slow multiplication. 13 rounds (4x32 and 4x64: 12) are the fewest that pass BigCrush. (Salmon et
 * al., "Parallel random numbers: as easy as 1, 2, 3", 2011) */
#ifndef MOONWARP_RANDOM_THREEFRY_H
#define MOONWARP_RANDOM_THREEFRY_H

#include "moonwarp_device.h"

namespace moonwarp {
namespace threefry_details {

/* The rotation of round `round` mod 8, by comparisons, so that it is a constant when the loop is unrolled. */
__mw_device_template int of_eight(int round, int a, int b, int c, int d, int e, int f, int g, int h) {
  int n = round & 7;
  return n == 0 ? a : n == 1 ? b : n == 2 ? c : n == 3 ? d : n == 4 ? e : n == 5 ? f : n == 6 ? g : h;
}
__mw_device_template unsigned int rotated(unsigned int x, int bits) { return x << bits | x >> (32 - bits); }
__mw_device_template unsigned long long rotated(unsigned long long x, int bits) { return x << bits | x >> (64 - bits); }

template <class W> struct constants;
template <> struct constants<unsigned int> {
  static __mw_member unsigned int parity() { return 0x1bd11bdau; }
  static __mw_member int of_two(int round) { return of_eight(round, 13, 15, 26, 6, 17, 29, 16, 24); }
  static __mw_member int first_of_four(int round) { return of_eight(round, 10, 11, 13, 23, 6, 17, 25, 18); }
  static __mw_member int second_of_four(int round) { return of_eight(round, 26, 21, 27, 5, 20, 11, 10, 20); }
};
template <> struct constants<unsigned long long> {
  static __mw_member unsigned long long parity() { return 0x1bd11bdaa9fc1a22ull; }
  static __mw_member int of_two(int round) { return of_eight(round, 16, 42, 12, 31, 16, 32, 24, 21); }
  static __mw_member int first_of_four(int round) { return of_eight(round, 14, 52, 23, 5, 25, 46, 58, 32); }
  static __mw_member int second_of_four(int round) { return of_eight(round, 16, 57, 40, 37, 33, 12, 22, 32); }
};

template <int Rounds, class W, class V> __mw_device_template V two(V x, V key) {
  const W keys[3] = {key.x, key.y, constants<W>::parity() ^ key.x ^ key.y};
  x.x += keys[0];
  x.y += keys[1];
#pragma unroll
  for (int round = 0; round < Rounds; round++) {
    x.x += x.y;
    x.y = rotated(x.y, constants<W>::of_two(round)) ^ x.x;
    if (round % 4 == 3) {
      const int n = round / 4 + 1;
      x.x += keys[n % 3];
      x.y += keys[(n + 1) % 3] + (W)n;
    }
  }
  return x;
}

template <int Rounds, class W, class Q> __mw_device_template Q four(Q x, Q key) {
  const W keys[5] = {key.x, key.y, key.z, key.w, constants<W>::parity() ^ key.x ^ key.y ^ key.z ^ key.w};
  x.x += keys[0];
  x.y += keys[1];
  x.z += keys[2];
  x.w += keys[3];
#pragma unroll
  for (int round = 0; round < Rounds; round++) {
    W &left = round % 2 == 0 ? x.y : x.w, &right = round % 2 == 0 ? x.w : x.y; /* the words' pairing alternates */
    x.x += left;
    left = rotated(left, constants<W>::first_of_four(round)) ^ x.x;
    x.z += right;
    right = rotated(right, constants<W>::second_of_four(round)) ^ x.z;
    if (round % 4 == 3) {
      const int n = round / 4 + 1;
      x.x += keys[n % 5];
      x.y += keys[(n + 1) % 5];
      x.z += keys[(n + 2) % 5];
      x.w += keys[(n + 3) % 5] + (W)n;
    }
  }
  return x;
}

} // namespace threefry_details

template <int Rounds = 20> __mw_device_template uint2 threefry2x32(uint2 counter, uint2 key) {
  return threefry_details::two<Rounds, unsigned int>(counter, key);
}
template <int Rounds = 20> __mw_device_template uint4 threefry4x32(uint4 counter, uint4 key) {
  return threefry_details::four<Rounds, unsigned int>(counter, key);
}
template <int Rounds = 20> __mw_device_template ulonglong2 threefry2x64(ulonglong2 counter, ulonglong2 key) {
  return threefry_details::two<Rounds, unsigned long long>(counter, key);
}
template <int Rounds = 20> __mw_device_template ulonglong4 threefry4x64(ulonglong4 counter, ulonglong4 key) {
  return threefry_details::four<Rounds, unsigned long long>(counter, key);
}

} // namespace moonwarp

#endif
