/* Shadows of values in memory (src/mwcc/prepare/values): for each byte of shared and global memory whether something
 * has written it. Generated code computes the shadows of values, with a set bit for each bit that nothing has written,
 * and calls the functions here to load and store them, and to report uses of unwritten values.
 *
 * An access of whole words or within one is decided in line, by one load of memory's shadow, if all of it is written.
 * Others go to functions, which decide again, exactly: they read the shadow past the caches. Of the bits of a byte, all
 * or none are unwritten: some is none. */
#ifndef MOONWARP_FOLLOW_WRITTEN_H
#define MOONWARP_FOLLOW_WRITTEN_H

#include "moonwarp/checked_run/cells.h"

/* What a thread needs to find shadows, in registers. whole: bits of the kernel's first parameters, which point to
   arrays that are all written. */
typedef struct __mw_frame {
  __mw_u64 pages, shared;
  __mw_u32 page_mask, shared_words, whole;
} __mw_frame;

/* The thread's latest load of a value that is not written: of a site of the unit. */
typedef struct __mw_latest {
  __mw_u64 address, object;
  __mw_u32 site, bytes;
} __mw_latest;

__mw_follow_quick __mw_frame __mw_guard_shadow_frame() {
  const mw_follow_here *here = __mw_here();
  const mw_follow_launch *launch = (const mw_follow_launch *)here->launch;
  __mw_frame none = {(__mw_u64)&__mw_follow_no_page, 0, 0, 0, 0};
  if (!launch) return none;
  __mw_frame frame = {here->pages, here->written, here->page_room - 1, here->written ? here->shared_words : 0,
                      launch->whole};
  return frame;
}

/* ---- in line ---- */

#define __mw_frame_fields __mw_u64 pages, __mw_u64 shared, __mw_u32 page_mask, __mw_u32 shared_words
#define __mw_frame_given  pages, shared, page_mask, shared_words

/* Bits of the bytes that an access has in its word; 0: it is in several words. */
__mw_follow_inline __mw_u32 __mw_bytes_in_word(__mw_u64 address, __mw_u64 bytes) {
  __mw_u32 at = (__mw_u32)address & 3;
  return at + bytes > 4 ? 0 : ((1u << bytes) - 1) << at;
}

/* at: the address, or the offset in shared memory. False: where the shadow is has to be found exactly. */
__mw_follow_inline bool __mw_find_shadow(__mw_u64 at, __mw_u32 place, __mw_frame_fields, unsigned char **shadow) {
  if (place & MW_FOLLOW_IN_GLOBAL) {
    __mw_u64 number = at >> MW_FOLLOW_PAGE_SHIFT;
    const mw_follow_page *page = (const mw_follow_page *)pages + ((__mw_u32)number & page_mask);
    if (page->number != number) return false;
    unsigned char *written = (unsigned char *)page->written;
    *shadow = written + (at / 4 & (MW_FOLLOW_PAGE_WORDS - 1));
    return written != 0;
  }
  __mw_u32 word = (__mw_u32)at / 4;
  *shadow = (unsigned char *)shared + word;
  return place & MW_FOLLOW_IN_SHARED && word + 4 <= shared_words;
}

__mw_follow_inline bool __mw_shows_written(const unsigned char *shadow, __mw_u64 at, __mw_u64 bytes, __mw_u32 place) {
  if (bytes < 4) {
    __mw_u32 mine = __mw_bytes_in_word(at, bytes);
    return mine && (*shadow & mine) == mine;
  }
  if (!(place & MW_FOLLOW_ALIGNED) && at & (bytes - 1)) return false;
  if (bytes == 4) return *shadow == 15;
  if (bytes == 8) return *(const unsigned short *)shadow == 0x0f0f;
  return *(const __mw_u32 *)shadow == 0x0f0f0f0fu;
}

/* Mark as written; false: it is to be done by __mw_guard_shadow_set. */
__mw_follow_inline bool __mw_show_written(unsigned char *shadow, __mw_u64 at, __mw_u64 bytes, __mw_u32 place) {
  if (bytes < 4) return __mw_shows_written(shadow, at, bytes, place);
  if (!(place & MW_FOLLOW_ALIGNED) && at & (bytes - 1)) return false;
  if (bytes == 4) *shadow = 15;
  if (bytes == 8) *(unsigned short *)shadow = 0x0f0f;
  if (bytes == 16) *(__mw_u32 *)shadow = 0x0f0f0f0fu;
  return true;
}

/* ---- exactly ---- */

/* A word of memory with a shadow: of shared memory by offset. */
typedef struct __mw_memory {
  __mw_self self;
  __mw_u64 from; /* where it begins */
  bool is_shared;
} __mw_memory;

/* Whether the memory at the address has a shadow. */
__mw_follow_inline bool __mw_find_memory(__mw_memory *m, const void *address, __mw_u32 place) {
  if (!__mw_follow_self(&m->self)) return false;
  m->is_shared = !(place & MW_FOLLOW_IN_GLOBAL) && (place & MW_FOLLOW_IN_SHARED || __mw_follow_is_shared(address));
  if (!m->is_shared && !(place & MW_FOLLOW_IN_GLOBAL) && !__mw_follow_is_global(address)) return false;
  if (m->is_shared && (!m->self.block || !m->self.launch->written_at)) return false;
  m->from = m->is_shared ? __mw_follow_offset(address) : (__mw_u64)address;
  return true;
}

/* NULL: the word has none. */
__mw_follow_inline unsigned char *__mw_shadow_at(const __mw_memory &m, __mw_u64 word) {
  const mw_follow_launch *launch = m.self.launch;
  if (m.is_shared) return word < launch->shared_words ? (unsigned char *)m.self.block + launch->written_at + word : 0;
  const mw_follow_page *page = __mw_page_of(m.self.session, word * 4);
  return page && page->written ? (unsigned char *)page->written + (word & (MW_FOLLOW_PAGE_WORDS - 1)) : 0;
}

/* Bits of the word's bytes that something has written; all of what has no shadow. */
__mw_follow_function __mw_u32 __mw_written_bytes(const __mw_memory &m, __mw_u64 word) {
  if (__mw_load(&m.self.session->notes) & MW_FOLLOW_STORES) return 15;
  if (m.is_shared && __mw_load(&m.self.block->unfollowed)) return 15;
  const unsigned char *shadow = __mw_shadow_at(m, word);
  return shadow ? *(const volatile unsigned char *)shadow : 15;
}

/* Of the word's bytes some are written now, and others hold what nothing has written. */
__mw_follow_function void __mw_mark_bytes(const __mw_memory &m, __mw_u64 word, __mw_u32 written, __mw_u32 unwritten) {
  unsigned char *shadow = __mw_shadow_at(m, word);
  if (!shadow) return;
  __mw_u32 old = *(volatile unsigned char *)shadow, shift = (__mw_u32)((__mw_u64)shadow & 3) * 8;
  __mw_u32 *four = (__mw_u32 *)((__mw_u64)shadow & ~3ull);
  if (written & ~old) __mw_or(four, written << shift);
  if (unwritten & old) __mw_and(four, ~(unwritten << shift));
}

__mw_follow_inline __mw_u32 __mw_is_byte_written(const __mw_memory &m, __mw_u64 at) {
  return __mw_written_bytes(m, at / 4) >> (at & 3) & 1;
}

__mw_follow_inline void __mw_remember(const __mw_memory &m, __mw_latest *latest, __mw_u64 address, __mw_u64 object,
                                      __mw_u64 bytes, __mw_u32 site) {
  latest->address = address;
  latest->object = object;
  latest->bytes = (__mw_u32)bytes;
  latest->site = site;
}

/* The shadow of up to 8 bytes. */
__mw_follow_called __mw_u64 __mw_guard_shadow_find(const void *address, __mw_u64 bytes, const void *object,
                                                   __mw_u32 site, __mw_u32 place, __mw_latest *latest) {
  __mw_memory m;
  __mw_u64 shadow = 0;
  if (!__mw_find_memory(&m, address, place)) return 0;
  for (__mw_u64 k = 0; k < bytes; k++)
    if (!__mw_is_byte_written(m, m.from + k)) shadow |= 255ull << 8 * k;
  if (shadow) __mw_remember(m, latest, (__mw_u64)address, (__mw_u64)object, bytes, site);
  return shadow;
}

/* A value of up to 8 bytes with that shadow is stored. */
__mw_follow_called void __mw_guard_shadow_set(const void *address, __mw_u64 bytes, __mw_u64 shadow, __mw_u32 place) {
  __mw_memory m;
  if (!__mw_find_memory(&m, address, place)) return;
  for (__mw_u64 k = 0; k < bytes;) {
    __mw_u64 word = (m.from + k) / 4;
    __mw_u32 written = 0, unwritten = 0;
    for (; k < bytes && (m.from + k) / 4 == word; k++) {
      __mw_u32 bit = 1u << ((m.from + k) & 3);
      if (k < 8 && (shadow >> 8 * k & 255) == 255)
        unwritten |= bit;
      else
        written |= bit;
    }
    __mw_mark_bytes(m, word, written, unwritten);
  }
}

/* All bytes of a range: `to` gets their shadow. */
__mw_follow_called void __mw_guard_shadow_fetch(const void *address, __mw_u64 bytes, const void *object, __mw_u32 site,
                                                unsigned char *to, __mw_latest *latest) {
  __mw_memory m;
  bool has = __mw_find_memory(&m, address, 0), found = false;
  for (__mw_u64 k = 0; k < bytes; k++) {
    bool unwritten = has && !__mw_is_byte_written(m, m.from + k);
    to[k] = unwritten ? 255 : 0;
    if (unwritten && !found) __mw_remember(m, latest, (__mw_u64)address, (__mw_u64)object, bytes, site);
    found |= unwritten;
  }
}

/* from: their new shadow; NULL: all are written. */
__mw_follow_called void __mw_guard_shadow_put(const void *address, __mw_u64 bytes, const unsigned char *from) {
  __mw_memory m;
  if (!__mw_find_memory(&m, address, 0)) return;
  for (__mw_u64 k = 0; k < bytes;) {
    __mw_u64 word = (m.from + k) / 4;
    __mw_u32 written = 0, unwritten = 0;
    for (; k < bytes && (m.from + k) / 4 == word; k++) {
      if (from && from[k] == 255)
        unwritten |= 1u << ((m.from + k) & 3);
      else
        written |= 1u << ((m.from + k) & 3);
    }
    __mw_mark_bytes(m, word, written, unwritten);
  }
}

/* PTX that mwcc does not read may write anything. */
__mw_follow_called void __mw_guard_shadow_unknown() {
  __mw_self self;
  if (__mw_follow_self(&self)) __mw_note(self.session, MW_FOLLOW_STORES);
}

/* Bytes are copied in memory; the ranges may overlap. */
__mw_follow_called void __mw_guard_shadow_move(const void *to, const void *from, __mw_u64 bytes) {
  __mw_memory target, source;
  if (!__mw_find_memory(&target, to, 0)) return;
  bool has = __mw_find_memory(&source, from, 0), upwards = (__mw_u64)to <= (__mw_u64)from;
  for (__mw_u64 n = 0; n < bytes; n++) {
    __mw_u64 k = upwards ? n : bytes - 1 - n, at = target.from + k;
    bool is_written = !has || __mw_is_byte_written(source, source.from + k);
    __mw_u32 bit = 1u << (at & 3);
    __mw_mark_bytes(target, at / 4, is_written ? bit : 0, is_written ? 0 : bit);
  }
}

/* Whether the thread's latest shuffle read a lane that takes no part: all bits, or none. */
__mw_follow_called __mw_u64 __mw_guard_shadow_absent() {
  __mw_self self;
  if (!__mw_follow_self(&self) || !self.block) return 0;
  mw_follow_warp *warp = __mw_warp_of(&self);
  __mw_u32 bit = 1u << self.id % 32;
  if (!(__mw_load(&warp->absent) & bit)) return 0;
  __mw_and(&warp->absent, ~bit);
  return ~0ull;
}

/* ---- shuffles ---- */

__mw_follow_inline __mw_u64 __mw_follow_from_lane(__mw_u32 lanes, __mw_u64 value, __mw_u32 from) {
  __mw_u64 high = __mw_follow_from(lanes, (__mw_u32)(value >> 32), from);
  return high << 32 | __mw_follow_from(lanes, (__mw_u32)value, from);
}

/* What a shuffle gave the lane, of four bytes: the shadow in the lane that it read, where that lane takes part; and that
   lane's latest load of an unwritten value becomes this one's. origin: where the unwritten bits of `shadow` are from, as for
   __mw_guard_unwritten. */
__mw_follow_called __mw_u32 __mw_guard_shadow_of_lane(__mw_u32 mask, __mw_u32 by, __mw_u32 clamp, __mw_u32 mode,
                                                      __mw_u32 shadow, __mw_u32 origin, __mw_latest *latest) {
  __mw_u32 lanes = __mw_follow_together(), unwritten = __mw_follow_ballot(lanes, shadow != 0);
  __mw_u32 lane = __mw_follow_thread_id() % 32, from = __mw_source_lane(lane, by, clamp, mode);
  bool has_load = !origin && shadow; /* else what `latest` has besides the site is of another value, or of none */
  __mw_latest moved;
  moved.site = __mw_follow_from(lanes, origin ? origin : latest->site, from);
  moved.bytes = __mw_follow_from(lanes, has_load ? latest->bytes : 0, from);
  moved.address = __mw_follow_from_lane(lanes, has_load ? latest->address : 0, from);
  moved.object = __mw_follow_from_lane(lanes, has_load ? latest->object : 0, from);
  shadow = __mw_follow_from(lanes, shadow, from);
  bool takes_part = mask >> lane & mask >> from & unwritten >> from & 1;
  if (!takes_part) return 0;
  *latest = moved;
  return shadow;
}

/* A use of a value that nothing has written, at the site `own`. origin: the site of the load or of a shuffle
   (MW_FOLLOW_FROM_SHUFFLE); 0: it is from memory, and the latest such load counts as its. */
__mw_follow_called void __mw_guard_unwritten(__mw_u32 origin, __mw_u32 own, const __mw_latest *latest) {
  __mw_self self;
  if (!__mw_follow_self(&self)) return;
  if (!origin) origin = latest->site ? latest->site : own;
  __mw_u32 site = origin & ~MW_FOLLOW_FROM_SHUFFLE, kind = site == origin ? MW_FOLLOW_UNWRITTEN : MW_FOLLOW_USED_ABSENT;
  mw_follow_end here = __mw_end_of(&self, self.launch->first_site + site, 0), none = {};
  mw_follow_finding *f = __mw_found(&self, kind, here, none, 0);
  if (!f) return;
  if (latest->site == origin) {
    f->address = latest->address;
    f->object = latest->object;
    f->bytes = latest->bytes;
  }
  __mw_order();
  f->ready = 1;
}

/* ---- what mwcc calls: with constant bytes and place, and inlined ---- */

/* The shadow of 1, 2, 4 or 8 bytes. at: the address, or the offset in shared memory; whole: its array is all
   written. */
__mw_follow_quick __mw_u64 __mw_guard_shadow_load(const void *address, __mw_u64 at, __mw_u64 bytes, const void *object,
                                                  __mw_u32 site, __mw_u32 place, __mw_u32 whole, __mw_latest *latest,
                                                  __mw_frame_fields) {
  if (whole) return 0;
  unsigned char *shadow;
  if (__builtin_expect(__mw_find_shadow(at, place, __mw_frame_given, &shadow), 1) &&
      __builtin_expect(__mw_shows_written(shadow, at, bytes, place), 1))
    return 0;
  return __mw_guard_shadow_find(address, bytes, object, site, place, latest);
}

typedef struct __mw_shadow_pair {
  __mw_u64 low, high;
} __mw_shadow_pair;

/* Of 16 bytes. */
__mw_follow_quick __mw_shadow_pair __mw_guard_shadow_load_pair(const void *address, __mw_u64 at, const void *object,
                                                               __mw_u32 site, __mw_u32 place, __mw_u32 whole,
                                                               __mw_latest *latest, __mw_frame_fields) {
  __mw_shadow_pair pair = {0, 0};
  if (whole) return pair;
  unsigned char *shadow;
  if (__builtin_expect(__mw_find_shadow(at, place, __mw_frame_given, &shadow), 1) &&
      __builtin_expect(__mw_shows_written(shadow, at, 16, place), 1))
    return pair;
  pair.high = __mw_guard_shadow_find((const char *)address + 8, 8, object, site, place, latest);
  pair.low = __mw_guard_shadow_find(address, 8, object, site, place, latest);
  return pair;
}

/* After a shuffle: the shadow of what it gives. It moves among the lanes that the hardware runs together, as lanes that
   have just met in a shuffle are: a warp function for the mask would wait forever for lanes that are in another one. */
__mw_follow_quick __mw_u32 __mw_guard_shadow_shuffle(__mw_u32 mask, __mw_u32 by, __mw_u32 clamp, __mw_u32 mode,
                                                     __mw_u32 shadow, __mw_u32 origin, __mw_latest *latest) {
  if (__builtin_expect(!__mw_follow_ballot(__mw_follow_together(), shadow != 0), 1)) return 0;
  return __mw_guard_shadow_of_lane(mask, by, clamp, mode, shadow, origin, latest);
}

/* A value of 1, 2, 4 or 8 bytes is stored, or of 16 that are written. */
__mw_follow_quick void __mw_guard_shadow_store(const void *address, __mw_u64 at, __mw_u64 bytes, __mw_u64 shadow,
                                               __mw_u32 place, __mw_u32 whole, __mw_frame_fields) {
  unsigned char *at_shadow;
  if (!shadow && whole) return;
  if (__builtin_expect(!shadow, 1) && __builtin_expect(__mw_find_shadow(at, place, __mw_frame_given, &at_shadow), 1) &&
      __mw_show_written(at_shadow, at, bytes, place))
    return;
  __mw_guard_shadow_set(address, bytes, shadow, place);
}

#endif
