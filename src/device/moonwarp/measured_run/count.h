/* The transactions of a warp's access, counted together by the lanes that make it. The counts are those of the CPU
 * device (src/cpu/watch/coalescing.c), whose numbers are in rules.h. */
#ifndef MOONWARP_MEASURED_COUNT_H
#define MOONWARP_MEASURED_COUNT_H

#include "moonwarp/measured_run/layout.h"
#include "moonwarp/measured_run/rules.h"

#define __mw_measured_inline static __attribute__((device, always_inline, nodebug)) inline

/* An access as one of its lanes sees it: all but the address and the lane is the same for all of them. */
struct __mw_measured_call {
  unsigned long long address;
  unsigned lanes, lane; /* lanes: those that make the access, all of which call the functions below */
  unsigned bytes, what; /* what: MW_MEASURED_… */
};

__mw_measured_inline bool __mw_measured_is_atomic(const __mw_measured_call &c) {
  return (c.what & MW_MEASURED_KIND) >= MW_FIRST_ATOMIC_KIND;
}
__mw_measured_inline unsigned __mw_measured_lowest(unsigned lanes) { return (unsigned)__ffs((int)lanes) - 1; }
__mw_measured_inline unsigned __mw_measured_count(const __mw_measured_call &c, bool is_so) {
  return (unsigned)__popc(__ballot_sync(c.lanes, is_so));
}

/* The greatest value, of those below 256, in lanes of which `among` is true. */
__mw_measured_inline unsigned __mw_measured_most(const __mw_measured_call &c, bool among, unsigned value) {
  unsigned most = 0;
  for (int bit = 7; bit >= 0; bit--) {
    bool has = among && (value >> bit & 1);
    if (!__ballot_sync(c.lanes, has)) continue;
    most |= 1u << bit;
    among = has;
  }
  return most;
}

/* ---- global memory ---- */

/* The sectors that lanes access from an address on, each of them once. */
__mw_measured_inline unsigned __mw_measured_sectors(const __mw_measured_call &c, unsigned long long at,
                                                    unsigned bytes) {
  unsigned long long first = at / MW_SECTOR_BYTES, last = (at + bytes - 1) / MW_SECTOR_BYTES;
  unsigned count = __mw_measured_count(c, __mw_measured_lowest(__match_any_sync(c.lanes, first)) == c.lane);
  for (unsigned rest = __ballot_sync(c.lanes, last != first); rest; rest &= rest - 1) {
    unsigned from = __mw_measured_lowest(rest);
    unsigned long long sector = __shfl_sync(c.lanes, last, (int)from);
    bool is_known = first == sector || (last == sector && c.lane < from);
    count += __ballot_sync(c.lanes, is_known) == 0;
  }
  return count;
}

/* Atomic operations: each sector once for each of the lanes at its busiest address. Where the address is the program's
   one place for all lanes, nvcc combines their values first. */
__mw_measured_inline unsigned __mw_measured_atomic_sectors(const __mw_measured_call &c, unsigned long long at,
                                                           unsigned same) {
  unsigned count = 0;
  unsigned long long sector = at / MW_SECTOR_BYTES;
  if (c.what & MW_MEASURED_UNIFORM) return 1;
  for (unsigned rest = c.lanes; rest;) {
    unsigned long long here = __shfl_sync(c.lanes, sector, (int)__mw_measured_lowest(rest));
    count += __mw_measured_most(c, sector == here, same);
    rest &= ~__ballot_sync(c.lanes, sector == here);
  }
  return count;
}

__mw_measured_inline void __mw_measured_strict(const __mw_measured_call &c, unsigned half, unsigned long long at,
                                               unsigned bytes, mw_measured_sums &s) {
  unsigned first = __mw_measured_lowest(half), count = (unsigned)__popc(half);
  unsigned long long base = __shfl_sync(c.lanes, at, (int)first) - (first % MW_HALF_WARP) * bytes;
  bool is_in = half >> c.lane & 1, fits = at == base + (c.lane % MW_HALF_WARP) * bytes;
  bool is_ordered = bytes >= 4 && base % (MW_HALF_WARP * bytes) == 0 && !__ballot_sync(c.lanes, is_in && !fits);
  s.sectors += mw_strict_transactions(is_ordered, bytes, count);
  s.moved += mw_strict_bytes(is_ordered, bytes, count);
}

__mw_measured_inline void __mw_measured_segments(const __mw_measured_call &c, unsigned half, unsigned long long at,
                                                 unsigned bytes, mw_measured_sums &s) {
  unsigned size = mw_segment_bytes(bytes), distance = (unsigned)(at % size);
  unsigned long long segment = at / size;
  for (unsigned rest = half; rest;) {
    unsigned long long here = __shfl_sync(c.lanes, segment, (int)__mw_measured_lowest(rest));
    bool is_in = (half >> c.lane & 1) && segment == here;
    unsigned first = 255 - __mw_measured_most(c, is_in, 255 - distance);
    unsigned last = __mw_measured_most(c, is_in, distance + bytes - 1);
    s.sectors++;
    s.moved += mw_segment_width(size, first, last);
    rest &= ~__ballot_sync(c.lanes, is_in);
  }
}

__mw_measured_inline void __mw_measured_part(const __mw_measured_call &c, unsigned rules, unsigned offset,
                                             unsigned bytes, mw_measured_sums &s) {
  unsigned long long at = c.address + offset;
  unsigned same = __match_any_sync(c.lanes, at), count = (unsigned)__popc(c.lanes);
  unsigned distinct = __mw_measured_count(c, __mw_measured_lowest(same) == c.lane);
  s.requests++;
  s.bytes += count * bytes;
  s.used += distinct * bytes;
  if (__mw_measured_is_atomic(c)) s.collisions += count - distinct;
  if (rules == MW_RULES_TODAY) {
    unsigned sectors = __mw_measured_is_atomic(c) ? __mw_measured_atomic_sectors(c, at, (unsigned)__popc(same))
                                                  : __mw_measured_sectors(c, at, bytes);
    s.sectors += sectors;
    s.moved += sectors * MW_SECTOR_BYTES;
    s.ideal += mw_divided(distinct * bytes, MW_SECTOR_BYTES);
    return;
  }
  for (unsigned which = 0; which < 2; which++) {
    unsigned half = c.lanes & (which ? 0xffff0000u : 0xffffu);
    if (!half) continue;
    if (rules == MW_RULES_1_0)
      __mw_measured_strict(c, half, at, bytes, s);
    else
      __mw_measured_segments(c, half, at, bytes, s);
    bool is_first = (half >> c.lane & 1) && __mw_measured_lowest(same & half) == c.lane;
    s.ideal += mw_divided(__mw_measured_count(c, is_first) * bytes, MW_LONGEST_TRANSACTION);
  }
}

__mw_measured_inline unsigned __mw_measured_part_bytes(const __mw_measured_call &c, unsigned at) {
  return c.bytes - at < MW_WIDEST_ACCESS ? c.bytes - at : MW_WIDEST_ACCESS;
}

__mw_measured_inline void __mw_measured_global(const __mw_measured_call &c, unsigned rules, mw_measured_sums &s) {
  for (unsigned at = 0; at < c.bytes; at += MW_WIDEST_ACCESS)
    __mw_measured_part(c, rules, at, __mw_measured_part_bytes(c, at), s);
}

/* ---- shared memory ---- */

/* Words across which accesses that are not aligned lie, at most. */
enum { MW_MEASURED_WORDS = MW_WIDEST_ACCESS / MW_WORD_BYTES + 1 };

/* Of the words from `first` to `last` of this lane, those that no lower one of `group` accesses: a bit for each. */
__mw_measured_inline unsigned __mw_measured_new_words(const __mw_measured_call &c, unsigned group,
                                                      unsigned long long first, unsigned long long last) {
  unsigned heads = group >> c.lane & 1 ? (1u << (last - first + 1)) - 1 : 0;
  for (unsigned rest = group; rest; rest &= rest - 1) {
    unsigned other = __mw_measured_lowest(rest);
    unsigned long long from = __shfl_sync(c.lanes, first, (int)other), to = __shfl_sync(c.lanes, last, (int)other);
    for (unsigned k = 0; k < MW_MEASURED_WORDS && other < c.lane; k++)
      if (first + k >= from && first + k <= to) heads &= ~(1u << k);
  }
  return heads;
}

/* The passes that the banks need for the lanes of `group`: the most distinct words of one bank. */
__mw_measured_inline unsigned __mw_measured_passes(const __mw_measured_call &c, unsigned group, unsigned long long at,
                                                   unsigned bytes, unsigned banks) {
  unsigned long long first = at / MW_WORD_BYTES, last = (at + bytes - 1) / MW_WORD_BYTES;
  unsigned heads = __mw_measured_new_words(c, group, first, last), most = 0;
  unsigned in_bank[MW_MEASURED_WORDS] = {0, 0, 0, 0, 0};
  for (unsigned rest = group; rest; rest &= rest - 1) {
    unsigned other = __mw_measured_lowest(rest);
    unsigned from = (unsigned)__shfl_sync(c.lanes, first, (int)other), has = __shfl_sync(c.lanes, heads, (int)other);
    for (unsigned n = 0; n < MW_MEASURED_WORDS; n++)
      for (unsigned k = 0; k < MW_MEASURED_WORDS; k++)
        in_bank[k] += (has >> n & 1) && (from + n) % banks == ((unsigned)first + k) % banks;
  }
  for (unsigned k = 0; k < MW_MEASURED_WORDS; k++)
    if ((heads >> k & 1) && in_bank[k] > most) most = in_bank[k];
  return __mw_measured_most(c, heads != 0, most);
}

/* The same for aligned words of up to 4 bytes, which are in one bank each. */
__mw_measured_inline unsigned __mw_measured_word_passes(const __mw_measured_call &c, unsigned group,
                                                        unsigned long long at, unsigned banks) {
  unsigned long long word = at / MW_WORD_BYTES;
  unsigned in_bank = 0;
  bool is_head = false;
  if (group >> c.lane & 1) {
    is_head = __mw_measured_lowest(__match_any_sync(group, word)) == c.lane;
    unsigned heads = __ballot_sync(group, is_head);
    if (is_head) in_bank = (unsigned)__popc(__match_any_sync(heads, (unsigned)(word % banks)));
  }
  return __mw_measured_most(c, is_head, in_bank);
}

__mw_measured_inline unsigned __mw_measured_any_passes(const __mw_measured_call &c, unsigned group,
                                                       unsigned long long at, unsigned bytes, unsigned banks) {
  bool crosses = at % MW_WORD_BYTES + bytes > MW_WORD_BYTES;
  if (__ballot_sync(c.lanes, crosses)) return __mw_measured_passes(c, group, at, bytes, banks);
  return __mw_measured_word_passes(c, group, at, banks);
}

/* A loop around compare-and-swap: in each iteration one lane succeeds at each address. */
__mw_measured_inline void __mw_measured_rounds(const __mw_measured_call &c, unsigned same, mw_measured_sums &s) {
  unsigned before = (unsigned)__popc(same & ((1u << c.lane) - 1));
  for (unsigned round = 0, group; (group = __ballot_sync(c.lanes, before >= round)) != 0; round++) {
    s.rounds++;
    s.round_wavefronts += __mw_measured_any_passes(c, group, c.address, c.bytes, MW_BANKS_TODAY);
  }
}

__mw_measured_inline void __mw_measured_shared(const __mw_measured_call &c, unsigned rules, mw_measured_sums &s) {
  bool is_old = rules != MW_RULES_TODAY;
  unsigned together = mw_lanes_together(is_old, c.bytes), count = (unsigned)__popc(c.lanes);
  unsigned same = __match_any_sync(c.lanes, c.address);
  unsigned distinct = __mw_measured_count(c, __mw_measured_lowest(same) == c.lane);
  s.requests++;
  s.bytes += (unsigned long long)count * c.bytes;
  s.used += (unsigned long long)distinct * c.bytes;
  if (__mw_measured_is_atomic(c)) s.collisions += count - distinct;
  if (!is_old && c.what & MW_MEASURED_SWAPPED) __mw_measured_rounds(c, same, s);
  for (unsigned at = 0; at < c.bytes; at += MW_WIDEST_ACCESS) {
    for (unsigned first = 0; first < 32; first += together) {
      unsigned group = c.lanes & ((together == 32 ? ~0u : (1u << together) - 1) << first);
      if (!group) continue;
      s.wavefronts += __mw_measured_any_passes(c, group, c.address + at, __mw_measured_part_bytes(c, at),
                                               is_old ? MW_BANKS_OLD : MW_BANKS_TODAY);
      s.least++;
    }
  }
}

#endif
