/* Philox of Random123, at any number of rounds: philox2x32, philox4x32, philox2x64, philox4x64.
 *
 *   #include <moonwarp/random/philox.h>
 *   uint4 words = moonwarp::philox4x32<10>(counter, key);     // 10 rounds if no number is given
 *
 * A bijection of counters for each key: incrementing the counter yields a stream, without other state. Fewer rounds are
 * faster; of the four-word kinds, 7 are the fewest that pass BigCrush. (Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3", 2011) */
#ifndef MOONWARP_RANDOM_PHILOX_H
#define MOONWARP_RANDOM_PHILOX_H

#include "moonwarp_device.h"

namespace moonwarp {
namespace philox_details {

/* The high and low half of a product. */
__mw_device_template uint2 product(unsigned int x, unsigned int y) {
  unsigned long long z = (unsigned long long)x * y;
  return make_uint2((unsigned int)(z >> 32), (unsigned int)z);
}
__mw_device_template ulonglong2 product(unsigned long long x, unsigned long long y) {
  return make_ulonglong2(__umul64hi(x, y), x * y);
}

/* For two words: W is a word, V a vector of two. `step` is added to the key between rounds. */
template <int Rounds, class W, class V> __mw_device_template V two(V counter, W key, W factor, W step) {
#pragma unroll
  for (int round = 0; round < Rounds; round++) {
    V z = product(factor, counter.x);
    counter.x = z.x ^ key ^ counter.y;
    counter.y = z.y;
    key += step;
  }
  return counter;
}

/* For four words: Q is a vector of them. */
template <int Rounds, class W, class V, class Q>
__mw_device_template Q four(Q counter, V key, W factor0, W factor1, W step0, W step1) {
#pragma unroll
  for (int round = 0; round < Rounds; round++) {
    V u = product(factor0, counter.x), v = product(factor1, counter.z);
    counter.x = v.x ^ counter.y ^ key.x;
    counter.y = v.y;
    counter.z = u.x ^ counter.w ^ key.y;
    counter.w = u.y;
    key.x += step0;
    key.y += step1;
  }
  return counter;
}

/* philox4x32 whose words stay in the lower halves of 64 bits, where vector products of 32 bits leave and want them: what is
 * above is not used. */
template <int Rounds>
__mw_device_template uint4 four_in_64_bits(unsigned long long x, unsigned long long y, unsigned long long z,
                                           unsigned long long w, uint2 key) {
  const unsigned long long low = 0xffffffffull;
  unsigned long long k = key.x, l = key.y;
#pragma unroll
  for (int round = 0; round < Rounds; round++) {
    unsigned long long u = (x & low) * 0xd2511f53u, v = (z & low) * 0xcd9e8d57u;
    x = v >> 32 ^ y ^ k;
    y = v;
    z = u >> 32 ^ w ^ l;
    w = u;
    k += 0x9e3779b9u;
    l += 0xbb67ae85u;
  }
  return make_uint4((unsigned int)x, (unsigned int)y, (unsigned int)z, (unsigned int)w);
}

} // namespace philox_details

template <int Rounds = 10> __mw_device_template uint2 philox2x32(uint2 counter, unsigned int key) {
  return philox_details::two<Rounds>(counter, key, 0xd256d193u, 0x9e3779b9u);
}
template <int Rounds = 10> __mw_device_template uint4 philox4x32(uint4 counter, uint2 key) {
#if defined __MW_NVPTX__ || defined __MW_NVRTC__
  return philox_details::four<Rounds>(counter, key, 0xd2511f53u, 0xcd9e8d57u, 0x9e3779b9u, 0xbb67ae85u);
#else
  return philox_details::four_in_64_bits<Rounds>(counter.x, counter.y, counter.z, counter.w, key);
#endif
}
template <int Rounds = 10> __mw_device_template ulonglong2 philox2x64(ulonglong2 counter, unsigned long long key) {
  return philox_details::two<Rounds>(counter, key, 0xd2b74407b1ce6e93ull, 0x9e3779b97f4a7c15ull);
}
template <int Rounds = 10> __mw_device_template ulonglong4 philox4x64(ulonglong4 counter, ulonglong2 key) {
  return philox_details::four<Rounds>(counter, key, 0xd2e7470ee14c6c93ull, 0xca5a826395121157ull, 0x9e3779b97f4a7c15ull,
                                      0xbb67ae8584caa73bull);
}

} // namespace moonwarp

#endif
