/* SIMD within a register: arithmetic of the two 16-bit or the four 8-bit elements of a 32-bit word (CUDA Math API,
 * "SIMD Intrinsics").
 *
 * All elements of a word are computed by a few 32-bit operations, so that a gang needs one 32-bit lane for each thread.
 * `high` has the top bit of each element set, which defines the elements' width: 0x80008000 or 0x80808080. Carries do
 * not cross elements: all bits except the top ones are added, and the top bits are combined by exclusive or. Conditions
 * are computed as top bits and extended to masks (H. S. Warren, Hacker's Delight, 2nd edition, section 2-18). */
#ifndef MOONWARP_SIMD_IN_WORD_H
#define MOONWARP_SIMD_IN_WORD_H

/* An element's bits but one: from its top bit to its lowest. */
__mw_both int __mw_packed_shift(unsigned int high) { return high == 0x80008000u ? 15 : 7; }
/* Element masks: all ones for elements whose top bit is set in `tops`, which has no other bits. */
__mw_both unsigned int __mw_packed_mask(unsigned int tops, unsigned int high) {
  return (tops - (tops >> __mw_packed_shift(high))) | tops;
}
__mw_both unsigned int __mw_packed_ones(unsigned int tops, unsigned int high) {
  return tops >> __mw_packed_shift(high);
}
__mw_both unsigned int __mw_packed_select(unsigned int mask, unsigned int a, unsigned int b) {
  return (a & mask) | (b & ~mask);
}

__mw_both unsigned int __mw_packed_add(unsigned int a, unsigned int b, unsigned int high) {
  return ((a & ~high) + (b & ~high)) ^ ((a ^ b) & high);
}
__mw_both unsigned int __mw_packed_sub(unsigned int a, unsigned int b, unsigned int high) {
  return ((a | high) - (b & ~high)) ^ ((a ^ ~b) & high);
}

/* Top bits of the elements for which a == b, and of those for which a < b. */
__mw_both unsigned int __mw_packed_eq(unsigned int a, unsigned int b, unsigned int high) {
  unsigned int x = a ^ b;
  return ~(((x & ~high) + ~high) | x) & high;
}
__mw_both unsigned int __mw_packed_ltu(unsigned int a, unsigned int b, unsigned int high) {
  return ((~a & b) | (~(a ^ b) & __mw_packed_sub(a, b, high))) & high;
}
/* Signed order is unsigned order with the top bits flipped. */
__mw_both unsigned int __mw_packed_lts(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_ltu(a ^ high, b ^ high, high);
}

/* The greatest or least number of the sign of `a`. */
__mw_both unsigned int __mw_packed_extreme(unsigned int a, unsigned int high) {
  return ~high + __mw_packed_ones(a & high, high);
}
__mw_both unsigned int __mw_packed_addss(unsigned int a, unsigned int b, unsigned int high) {
  unsigned int sum = __mw_packed_add(a, b, high), overflow = ~(a ^ b) & (a ^ sum) & high;
  return __mw_packed_select(__mw_packed_mask(overflow, high), __mw_packed_extreme(a, high), sum);
}
__mw_both unsigned int __mw_packed_subss(unsigned int a, unsigned int b, unsigned int high) {
  unsigned int difference = __mw_packed_sub(a, b, high), overflow = (a ^ b) & (a ^ difference) & high;
  return __mw_packed_select(__mw_packed_mask(overflow, high), __mw_packed_extreme(a, high), difference);
}
__mw_both unsigned int __mw_packed_addus(unsigned int a, unsigned int b, unsigned int high) {
  unsigned int sum = __mw_packed_add(a, b, high), carry = ((a & b) | ((a | b) & ~sum)) & high;
  return sum | __mw_packed_mask(carry, high);
}
__mw_both unsigned int __mw_packed_subus(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_sub(a, b, high) & ~__mw_packed_mask(__mw_packed_ltu(a, b, high), high);
}

/* |a|: the least number is its own; with saturation (ss) it becomes the greatest. */
__mw_both unsigned int __mw_packed_abs(unsigned int a, unsigned int high) {
  unsigned int negative = a & high, mask = __mw_packed_mask(negative, high);
  return (a ^ mask) + __mw_packed_ones(negative, high);
}
__mw_both unsigned int __mw_packed_absss(unsigned int a, unsigned int high) {
  unsigned int size = __mw_packed_abs(a, high);
  return size - __mw_packed_ones(size & high, high);
}
__mw_both unsigned int __mw_packed_neg(unsigned int a, unsigned int high) { return __mw_packed_sub(0, a, high); }
__mw_both unsigned int __mw_packed_negss(unsigned int a, unsigned int high) { return __mw_packed_subss(0, a, high); }

/* |a - b| as an unsigned number, which always fits; `less` has the top bits of the elements for which a < b. */
__mw_both unsigned int __mw_packed_distance(unsigned int a, unsigned int b, unsigned int less, unsigned int high) {
  return (__mw_packed_sub(a, b, high) ^ __mw_packed_mask(less, high)) + __mw_packed_ones(less, high);
}
__mw_both unsigned int __mw_packed_absdiffs(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_distance(a, b, __mw_packed_lts(a, b, high), high);
}
__mw_both unsigned int __mw_packed_absdiffu(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_distance(a, b, __mw_packed_ltu(a, b, high), high);
}
/* The sum of the elements, as unsigned numbers. */
__mw_both unsigned int __mw_packed_total(unsigned int a, unsigned int high) {
  if (high == 0x80808080u) a = (a & 0x00ff00ffu) + (a >> 8 & 0x00ff00ffu);
  return (a & 0xffff) + (a >> 16);
}
__mw_both unsigned int __mw_packed_sads(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_total(__mw_packed_absdiffs(a, b, high), high);
}
__mw_both unsigned int __mw_packed_sadu(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_total(__mw_packed_absdiffu(a, b, high), high);
}

/* Averages without overflow: (a + b) / 2 rounded down (haddu), up (avgu), and to the nearest with halves away from zero
   (avgs). */
__mw_both unsigned int __mw_packed_haddu(unsigned int a, unsigned int b, unsigned int high) {
  return (a & b) + ((a ^ b) >> 1 & ~high);
}
__mw_both unsigned int __mw_packed_avgu(unsigned int a, unsigned int b, unsigned int high) {
  return (a | b) - ((a ^ b) >> 1 & ~high);
}
__mw_both unsigned int __mw_packed_avgs(unsigned int a, unsigned int b, unsigned int high) {
  unsigned int down = __mw_packed_haddu(a ^ high, b ^ high, high) ^ high;
  return down + ((a ^ b) & __mw_packed_ones(~down & high, high)); /* + 1 where the sum is odd and not negative */
}

__mw_both unsigned int __mw_packed_maxu(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_select(__mw_packed_mask(__mw_packed_ltu(a, b, high), high), b, a);
}
__mw_both unsigned int __mw_packed_minu(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_select(__mw_packed_mask(__mw_packed_ltu(a, b, high), high), a, b);
}
__mw_both unsigned int __mw_packed_maxs(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_select(__mw_packed_mask(__mw_packed_lts(a, b, high), high), b, a);
}
__mw_both unsigned int __mw_packed_mins(unsigned int a, unsigned int b, unsigned int high) {
  return __mw_packed_select(__mw_packed_mask(__mw_packed_lts(a, b, high), high), a, b);
}

/* ---- the functions by name, of halves (2) and of bytes (4) ---- */

#define __MW_PACKED_1(name)                                                                                            \
  __mw_both unsigned int __v##name##2(unsigned int a) { return __mw_packed_##name(a, 0x80008000u); }                   \
  __mw_both unsigned int __v##name##4(unsigned int a) { return __mw_packed_##name(a, 0x80808080u); }
#define __MW_PACKED_2(name)                                                                                            \
  __mw_both unsigned int __v##name##2(unsigned int a, unsigned int b) {                                                \
    return __mw_packed_##name(a, b, 0x80008000u);                                                                      \
  }                                                                                                                    \
  __mw_both unsigned int __v##name##4(unsigned int a, unsigned int b) { return __mw_packed_##name(a, b, 0x80808080u); }
/* A comparison gives all ones (cmp) or 1 (set) for true; `condition` makes top bits of a, b and high. */
#define __MW_PACKED_COMPARISON(name, condition)                                                                        \
  __mw_both unsigned int __mw_packed_cmp##name(unsigned int a, unsigned int b, unsigned int high) {                    \
    return __mw_packed_mask(condition, high);                                                                          \
  }                                                                                                                    \
  __mw_both unsigned int __mw_packed_set##name(unsigned int a, unsigned int b, unsigned int high) {                    \
    return __mw_packed_ones(condition, high);                                                                          \
  }                                                                                                                    \
  __MW_PACKED_2(cmp##name)                                                                                             \
  __MW_PACKED_2(set##name)

__MW_PACKED_1(abs)
__MW_PACKED_1(absss)
__MW_PACKED_1(neg)
__MW_PACKED_1(negss)
__MW_PACKED_2(add)
__MW_PACKED_2(addss)
__MW_PACKED_2(addus)
__MW_PACKED_2(sub)
__MW_PACKED_2(subss)
__MW_PACKED_2(subus)
__MW_PACKED_2(absdiffs)
__MW_PACKED_2(absdiffu)
__MW_PACKED_2(sads)
__MW_PACKED_2(sadu)
__MW_PACKED_2(avgs)
__MW_PACKED_2(avgu)
__MW_PACKED_2(haddu)
__MW_PACKED_2(maxs)
__MW_PACKED_2(maxu)
__MW_PACKED_2(mins)
__MW_PACKED_2(minu)
__MW_PACKED_COMPARISON(eq, __mw_packed_eq(a, b, high))
__MW_PACKED_COMPARISON(ne, __mw_packed_eq(a, b, high) ^ high)
__MW_PACKED_COMPARISON(lts, __mw_packed_lts(a, b, high))
__MW_PACKED_COMPARISON(ltu, __mw_packed_ltu(a, b, high))
__MW_PACKED_COMPARISON(gts, __mw_packed_lts(b, a, high))
__MW_PACKED_COMPARISON(gtu, __mw_packed_ltu(b, a, high))
__MW_PACKED_COMPARISON(les, __mw_packed_lts(b, a, high) ^ high)
__MW_PACKED_COMPARISON(leu, __mw_packed_ltu(b, a, high) ^ high)
__MW_PACKED_COMPARISON(ges, __mw_packed_lts(a, b, high) ^ high)
__MW_PACKED_COMPARISON(geu, __mw_packed_ltu(a, b, high) ^ high)

#undef __MW_PACKED_1
#undef __MW_PACKED_2
#undef __MW_PACKED_COMPARISON

#endif
