/* Groups of threads of one warp (cooperative groups): their collective operations, by rank.
 *
 * A group is a set of lanes, `mask`; rank r is its r-th lane in ascending order. The lanes of a tile are consecutive,
 * so that ranks and lanes differ by a constant; in a coalesced group they are arbitrary. Values of any type up to 32
 * bytes are exchanged as words. */
#ifndef MOONWARP_GROUP_LANES_H
#define MOONWARP_GROUP_LANES_H

#include "moonwarp_device.h"

namespace cooperative_groups {
namespace details {

__mw_device_template unsigned int lane_number() { return __nvvm_read_ptx_sreg_laneid(); }
__mw_device_template unsigned int lanes_below() { return (1u << lane_number()) - 1; }

/* The lane with rank `rank` of a set, by binary search in five steps. (__fns counts one by one.) */
__mw_device_template unsigned int lane_of_rank(unsigned int mask, unsigned int rank) {
  unsigned int lane = 0;
  if (mask == 0xffffffffu) return rank;
  for (unsigned int half = 16; half > 0; half /= 2) {
    unsigned int low = __popc(mask & ((1u << half) - 1));
    bool above = rank >= low;
    rank -= above ? low : 0;
    lane += above ? half : 0;
    mask >>= above ? half : 0;
  }
  return lane & 31;
}

/* Bits by lane as bits by rank: those at `mask` compressed. (Hacker's Delight, 7-4) */
__mw_device_template unsigned int bits_by_rank(unsigned int bits, unsigned int mask) {
  bits &= mask;
  if (mask == 0xffffffffu) return bits;
  unsigned int before = ~mask << 1;
  for (int i = 0; i < 5; i++) {
    unsigned int parity = before ^ before << 1;
    parity ^= parity << 2;
    parity ^= parity << 4;
    parity ^= parity << 8;
    parity ^= parity << 16;
    unsigned int move = parity & mask;
    mask = (mask ^ move) | move >> (1 << i);
    unsigned int moved = bits & move;
    bits = (bits ^ moved) | moved >> (1 << i);
    before &= ~parity;
  }
  return bits;
}

/* `exchange` exchanges one word, an unsigned int or unsigned long long. */
template <typename T, typename F> __mw_device_template T by_words(const T &value, F exchange) {
  static_assert(__is_trivially_copyable(T) && sizeof(T) <= 32,
                "a value that groups shuffle has to be trivially copyable, of 32 bytes at most");
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, exchange(__builtin_bit_cast(unsigned int, value)));
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, exchange(__builtin_bit_cast(unsigned long long, value)));
  } else {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    unsigned int words[WORDS] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int i = 0; i < WORDS; i++) words[i] = exchange(words[i]);
    T result = value;
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
  }
}

/* The common base of tiles and coalesced groups. Derived has lanes(), a mask. */
template <typename Derived> class lane_group {
public:
  __mw_member void sync() const { __syncwarp(lanes()); }
  __mw_member int any(int predicate) const { return __any_sync(lanes(), predicate); }
  __mw_member int all(int predicate) const { return __all_sync(lanes(), predicate); }
  __mw_member unsigned int ballot(int predicate) const { return by_rank(__ballot_sync(lanes(), predicate)); }
  template <typename T> __mw_member unsigned int match_any(T value) const {
    return by_rank(__match_any_sync(lanes(), value));
  }
  template <typename T> __mw_member unsigned int match_all(T value, int &same) const {
    return by_rank(__match_all_sync(lanes(), value, &same));
  }

private:
  __mw_member unsigned int lanes() const { return static_cast<const Derived *>(this)->lanes(); }
  __mw_member unsigned int by_rank(unsigned int bits) const { return bits_by_rank(bits, lanes()); }
};

} // namespace details
} // namespace cooperative_groups

#endif
