/* Races: a plain load makes no difference if the shadow says that it is known already, by two readers of the block since
 * its last barrier, or by this thread. That is decided in line. Other loads go to __mw_guard_follow.
 *
 * The shadow may be read from caches: what is old in them was true when a write that came later was compared. */
#ifndef MOONWARP_FOLLOW_READS_H
#define MOONWARP_FOLLOW_READS_H

#include "moonwarp/checked_run/written.h"

/* The records of the word at the address; NULL: they are not to be found quickly. */
__mw_follow_inline const mw_follow_cell *__mw_cells_of(const void *address, __mw_u64 bytes, __mw_u32 flags) {
  const mw_follow_here *here = __mw_here();
  if ((__mw_u64)address & 3 || bytes > 16) return 0;
  if (flags & MW_FOLLOW_IN_SHARED) {
    __mw_u32 word = __mw_follow_offset(address) / 4;
    return word + 4 > here->shared_words ? 0 : (const mw_follow_cell *)here->cells + word;
  }
  __mw_u64 word = (__mw_u64)address / 4 & (MW_FOLLOW_PAGE_WORDS - 1);
  const mw_follow_page *page = __mw_quick_page((__mw_u64)address);
  if (!page || !page->cells || word + bytes / 4 > MW_FOLLOW_PAGE_WORDS) return 0;
  return (const mw_follow_cell *)page->cells + word;
}

__mw_follow_inline bool __mw_is_known_read(const void *address, __mw_u64 bytes, __mw_u32 flags) {
  const mw_follow_here *here = __mw_here();
  const mw_follow_cell *cell = __mw_cells_of(address, bytes, flags);
  if (!cell) return false;
  __mw_u32 id = __mw_follow_thread_id(), epoch = ((const mw_follow_block *)here->slot)->threads[id].epoch;
  __mw_u64 mine = (__mw_u64)here->run << 32 | (epoch & 0x3ffff) << 14 | id << 4 | 15;
  bool is_known = true;
#pragma unroll
  for (__mw_u32 k = 0; k < bytes / 4; k++) {
    const mw_follow_cell *at = (const mw_follow_cell *)__builtin_assume_aligned(cell + k, 64);
    is_known &= __mw_is_read(at->who[MW_FOLLOW_READ], at->who[MW_FOLLOW_READ_TOO], mine);
  }
  return is_known;
}

/* mwcc calls it with constant bytes and flags, and inlines it. */
__mw_follow_quick void __mw_guard_follow_read(const void *address, __mw_u64 bytes, const void *object, __mw_u32 site,
                                              __mw_u32 flags) {
  if (!__mw_here()->launch) return;
  bool is_written =
      !__mw_follows(MW_FOLLOW_INITIALISATION) || !(flags & MW_FOLLOW_USED) || __mw_is_written(address, bytes, flags);
  if (__builtin_expect(!is_written || !__mw_is_known_read(address, bytes, flags), 0))
    __mw_guard_follow(address, bytes, object, site, flags);
}

#endif
