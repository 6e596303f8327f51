/* Initialisation by itself: an access of whole words or within one is decided in line, by one load of the shadow, if
 * all of it is written. Others go to __mw_guard_follow, which decides again, exactly: it reads the shadow past the
 * caches. */
#ifndef MOONWARP_FOLLOW_WRITTEN_H
#define MOONWARP_FOLLOW_WRITTEN_H

#include "moonwarp/checked_run/cells.h"

/* Bits of the bytes that an access has in its word; 0: it is in several words. */
__mw_follow_inline __mw_u32 __mw_bytes_in_word(__mw_u64 address, __mw_u64 bytes) {
  __mw_u32 at = (__mw_u32)address & 3;
  return at + bytes > 4 ? 0 : ((1u << bytes) - 1) << at;
}

/* Shadow of so many whole words, as one number. */
template <class T> __mw_follow_inline bool __mw_is_whole(T *shadow, T all, __mw_u32 flags) {
  bool reads = flags & MW_FOLLOW_USED, is_whole = !reads || (*shadow & all) == all;
  if (flags & MW_FOLLOW_STORE && is_whole) *shadow = all;
  return is_whole;
}

/* The page, if it is at its first place. */
__mw_follow_inline const mw_follow_page *__mw_quick_page(__mw_u64 address) {
  const mw_follow_here *here = __mw_here();
  __mw_u64 number = address >> MW_FOLLOW_PAGE_SHIFT;
  const mw_follow_page *page = (const mw_follow_page *)here->pages + ((__mw_u32)number & (here->page_room - 1));
  return page->number == number ? page : 0;
}

__mw_follow_inline bool __mw_is_written_global(__mw_u64 address, __mw_u64 bytes, __mw_u32 flags) {
  const mw_follow_page *page = __mw_quick_page(address);
  if (!page || !page->written) return false;
  unsigned char *written = (unsigned char *)page->written + (address / 4 & (MW_FOLLOW_PAGE_WORDS - 1));
  if (bytes < 4) {
    __mw_u32 mine = __mw_bytes_in_word(address, bytes);
    return mine && (*written & mine) == mine;
  }
  if (address & (bytes - 1)) return false;
  if (bytes == 4) return __mw_is_whole(written, (unsigned char)15, flags);
  if (bytes == 8) return __mw_is_whole((unsigned short *)written, (unsigned short)0x0f0f, flags);
  return bytes == 16 && __mw_is_whole((__mw_u32 *)written, 0x0f0f0f0fu, flags);
}

__mw_follow_inline bool __mw_is_written_shared(__mw_u32 offset, __mw_u64 bytes, __mw_u32 flags) {
  const mw_follow_here *here = __mw_here();
  __mw_u32 run = here->run, word = offset / 4;
  if (bytes > 16 || word + 4 > here->shared_words) return false;
  __mw_u32 *written = (__mw_u32 *)here->written + word;
  if (bytes < 4) {
    __mw_u32 mine = __mw_bytes_in_word(offset, bytes);
    return mine && *written >> 4 == run && (*written & mine) == mine;
  }
  __mw_u32 all = run << 4 | 15;
  if (bytes & (bytes - 1) || offset & (bytes - 1)) return false;
  if (bytes == 16) written = (__mw_u32 *)__builtin_assume_aligned(written, 16);
  if (bytes == 8) written = (__mw_u32 *)__builtin_assume_aligned(written, 8);
  bool is_written = true;
#pragma unroll
  for (__mw_u32 k = 0; k < bytes / 4 && flags & MW_FOLLOW_USED; k++) is_written &= written[k] == all;
  if (!is_written) return false;
#pragma unroll
  for (__mw_u32 k = 0; k < bytes / 4 && flags & MW_FOLLOW_STORE; k++) written[k] = all;
  return true;
}

/* Whether all that the access reads is known to be written; what it writes then is. */
__mw_follow_inline bool __mw_is_written(const void *address, __mw_u64 bytes, __mw_u32 flags) {
  if (flags & MW_FOLLOW_IN_GLOBAL) return __mw_is_written_global((__mw_u64)address, bytes, flags);
  return flags & MW_FOLLOW_IN_SHARED && __mw_is_written_shared(__mw_follow_offset(address), bytes, flags);
}

/* mwcc calls it with constant bytes and flags, and inlines it. */
__mw_follow_quick void __mw_guard_follow_written(const void *address, __mw_u64 bytes, const void *object, __mw_u32 site,
                                                 __mw_u32 flags) {
  if (!__mw_here()->launch) return;
  if (__builtin_expect(!__mw_is_written(address, bytes, flags), 0))
    __mw_guard_follow(address, bytes, object, site, flags);
}

#endif
