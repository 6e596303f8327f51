/* Warp functions: shuffles, votes, matches and reductions over the lanes of `mask`.
 *
 * All lanes in `mask` have to execute the same call. `width` divides a warp into groups of 2, 4, 8, 16 or 32 lanes; a
 * lane whose source is outside of its group gets its own value. */
#ifndef MOONWARP_WARP_H
#define MOONWARP_WARP_H

/* The instruction's operand for groups: the bits that identify a group, and the last (for up, the first) source
   lane. */
#define __mw_segment(width, clamp) ((32 - (width)) << 8 | (clamp))

__mw_device unsigned int __activemask() { return __nvvm_activemask(); }

/* GPUs have no instruction for 64 bits; the CPU device shuffles them at once. */
#ifdef __MW_NVPTX__
#define __mw_shuffle_wide(builtin)                                                                                     \
  __mw_device unsigned long long __mw_shfl_sync_##builtin##_i64(unsigned int mask, unsigned long long value, int lane, \
                                                                int segment) {                                         \
    unsigned int low = (unsigned int)__nvvm_shfl_sync_##builtin##_i32(mask, (int)value, lane, segment);                \
    unsigned int high = (unsigned int)__nvvm_shfl_sync_##builtin##_i32(mask, (int)(value >> 32), lane, segment);       \
    return (unsigned long long)high << 32 | low;                                                                       \
  }
__mw_shuffle_wide(idx) __mw_shuffle_wide(up) __mw_shuffle_wide(down) __mw_shuffle_wide(bfly)
#undef __mw_shuffle_wide
#else
__mw_import unsigned long long __mw_shfl_sync_idx_i64(unsigned int, unsigned long long, int, int);
__mw_import unsigned long long __mw_shfl_sync_up_i64(unsigned int, unsigned long long, int, int);
__mw_import unsigned long long __mw_shfl_sync_down_i64(unsigned int, unsigned long long, int, int);
__mw_import unsigned long long __mw_shfl_sync_bfly_i64(unsigned int, unsigned long long, int, int);
#endif

/* clang-format off */
#define __mw_shuffle(name, builtin, lane_type, clamp)                                                                  \
  __mw_device int name##_sync(unsigned int mask, int value, lane_type lane, int width = 32) {                          \
    return __nvvm_shfl_sync_##builtin##_i32(mask, value, lane, __mw_segment(width, clamp));                            \
  }                                                                                                                    \
  __mw_device unsigned int name##_sync(unsigned int mask, unsigned int value, lane_type lane, int width = 32) {        \
    return name##_sync(mask, (int)value, lane, width);                                                                 \
  }                                                                                                                    \
  __mw_device float name##_sync(unsigned int mask, float value, lane_type lane, int width = 32) {                      \
    return __nvvm_shfl_sync_##builtin##_f32(mask, value, lane, __mw_segment(width, clamp));                            \
  }                                                                                                                    \
  __mw_device unsigned long long name##_sync(unsigned int mask, unsigned long long value, lane_type lane,              \
                                             int width = 32) {                                                         \
    return __mw_shfl_sync_##builtin##_i64(mask, value, lane, __mw_segment(width, clamp));                              \
  }                                                                                                                    \
  __mw_device long long name##_sync(unsigned int mask, long long value, lane_type lane, int width = 32) {              \
    return (long long)name##_sync(mask, (unsigned long long)value, lane, width);                                       \
  }                                                                                                                    \
  __mw_device unsigned long name##_sync(unsigned int mask, unsigned long value, lane_type lane, int width = 32) {      \
    return (unsigned long)name##_sync(mask, (unsigned long long)value, lane, width);                                   \
  }                                                                                                                    \
  __mw_device long name##_sync(unsigned int mask, long value, lane_type lane, int width = 32) {                        \
    return (long)name##_sync(mask, (unsigned long long)value, lane, width);                                            \
  }                                                                                                                    \
  __mw_device double name##_sync(unsigned int mask, double value, lane_type lane, int width = 32) {                    \
    unsigned long long bits = __builtin_bit_cast(unsigned long long, value);                                           \
    return __builtin_bit_cast(double, name##_sync(mask, bits, lane, width));                                           \
  }                                                                                                                    \
  /* The old form without a mask: the active lanes. */                                                                 \
  template <typename T> __mw_device_template T name(T value, lane_type lane, int width = 32) {                         \
    return name##_sync(__nvvm_activemask(), value, lane, width);                                                       \
  }
__mw_shuffle(__shfl, idx, int, 31)
__mw_shuffle(__shfl_up, up, unsigned int, 0)
__mw_shuffle(__shfl_down, down, unsigned int, 31)
__mw_shuffle(__shfl_xor, bfly, int, 31);
#undef __mw_shuffle
/* clang-format on */

__mw_device int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate); }
__mw_device int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate); }
__mw_device int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate); }
__mw_device unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate);
}
__mw_device int __all(int predicate) { return __all_sync(__nvvm_activemask(), predicate); }
__mw_device int __any(int predicate) { return __any_sync(__nvvm_activemask(), predicate); }
__mw_device unsigned int __ballot(int predicate) { return __ballot_sync(__nvvm_activemask(), predicate); }

/* The lanes with the same bits as this one; match_all: `mask` if all lanes have them (then *same is true), otherwise
   0. */
/* clang-format off */
#define __mw_match(T, bits, U)                                                                                         \
  __mw_device unsigned int __match_any_sync(unsigned int mask, T value) {                                              \
    return __nvvm_match_any_sync_i##bits(mask, __builtin_bit_cast(U, value));                                          \
  }                                                                                                                    \
  __mw_device unsigned int __match_all_sync(unsigned int mask, T value, int *same) {                                   \
    return __nvvm_match_all_sync_i##bits##p(mask, __builtin_bit_cast(U, value), same);                                 \
  }
__mw_match(int, 32, unsigned int) __mw_match(unsigned int, 32, unsigned int) __mw_match(float, 32, unsigned int)
__mw_match(long, 64, unsigned long long) __mw_match(unsigned long, 64, unsigned long long)
__mw_match(long long, 64, unsigned long long) __mw_match(unsigned long long, 64, unsigned long long)
__mw_match(double, 64, unsigned long long);
#undef __mw_match
/* clang-format on */

__mw_device int __reduce_add_sync(unsigned int mask, int value) { return __nvvm_redux_sync_add(value, mask); }
__mw_device int __reduce_min_sync(unsigned int mask, int value) { return __nvvm_redux_sync_min(value, mask); }
__mw_device int __reduce_max_sync(unsigned int mask, int value) { return __nvvm_redux_sync_max(value, mask); }
__mw_device unsigned int __reduce_add_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_add(value, mask);
}
__mw_device unsigned int __reduce_min_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_umin(value, mask);
}
__mw_device unsigned int __reduce_max_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_umax(value, mask);
}
__mw_device unsigned int __reduce_and_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_and(value, mask);
}
__mw_device unsigned int __reduce_or_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_or(value, mask);
}
__mw_device unsigned int __reduce_xor_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_xor(value, mask);
}

#undef __mw_segment

#endif
