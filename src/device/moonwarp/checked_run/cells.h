/* The latest accesses to each word of global and shared memory, and races between them; which bytes are written.
 *
 * An access puts its record in the place of an older one, and then compares itself with the others. Both of two
 * accesses at the same time do so, and at least one sees the other. A record that was displaced by an access which it
 * does not happen before is lost, except for one reader. */
#ifndef MOONWARP_FOLLOW_CELLS_H
#define MOONWARP_FOLLOW_CELLS_H

#include "moonwarp/checked_run/copies.h"

typedef struct __mw_touch {
  __mw_self self;
  __mw_u64 address, object, bytes; /* of the whole access */
  __mw_u32 site, flags;
  bool is_shared, is_copy;
} __mw_touch;

__mw_follow_inline __mw_u32 __mw_run_of(__mw_u64 who) { return (__mw_u32)(who >> 32); }
__mw_follow_inline __mw_u32 __mw_epoch_of(__mw_u64 who) { return (__mw_u32)who >> 14; }
__mw_follow_inline __mw_u32 __mw_thread_of(__mw_u64 who) { return (__mw_u32)who >> 4 & 1023; }
__mw_follow_inline __mw_u32 __mw_step_of(__mw_u64 what) { return (__mw_u32)(what >> 32) & 4095; }

__mw_follow_inline __mw_u32 __mw_record_flags(const __mw_touch &a) {
  return (a.flags & 127 & ~MW_FOLLOW_USED) | (a.is_copy ? MW_FOLLOW_COPY : 0);
}

/* Whether it happens before the access, but for fences and atomics. */
__mw_follow_function bool __mw_precedes(const __mw_touch &a, __mw_u64 who, __mw_u64 what) {
  const mw_follow_block *block = a.self.block;
  const mw_follow_launch *launch = a.self.launch;
  __mw_u32 run = __mw_run_of(who), thread = __mw_thread_of(who);
  if (run == __mw_run(&a.self)) {
    if (what & MW_FOLLOW_COPY) return __mw_copy_precedes(&a.self, thread, __mw_step_of(what), a.is_copy);
    if (thread == a.self.id || __mw_epoch_of(who) < (a.self.thread->epoch & 0x3ffff)) return true;
    return thread / 32 == a.self.id / 32 && __mw_knows_lane(a.self.thread, thread % 32, __mw_step_of(what));
  }
  if (a.is_shared || run < launch->floor) return true;
  return run - launch->base < launch->blocks && ((__mw_u32)what >> 16) < __mw_load(&block->grids);
}

/* Store the access in a new finding; NULL: there is no new one. */
__mw_follow_inline void __mw_store_access(const __mw_touch &a, mw_follow_finding *f) {
  if (!f) return;
  f->address = a.address;
  f->object = a.object;
  f->bytes = a.bytes;
  f->is_shared = a.is_shared;
  __mw_order();
  f->ready = 1;
}

__mw_follow_function void __mw_report_race(const __mw_touch &a, __mw_u64 who, __mw_u64 what) {
  mw_follow_end here = __mw_end_of(&a.self, a.site, __mw_record_flags(a));
  mw_follow_end other = {(__mw_u32)(what >> 44), __mw_run_of(who),   __mw_thread_of(who),
                         __mw_epoch_of(who),     __mw_step_of(what), (__mw_u32)what & 127};
  mw_follow_session *session = a.self.session;
  if (__mw_load(&a.self.block->learnt)) {
    __mw_u32 number = __mw_add(&session->pair_count, 1);
    if (number < session->pair_room) {
      mw_follow_pair pair = {here, other, a.address, a.object, a.bytes, a.is_shared, __mw_load(&session->log_count)};
      ((mw_follow_pair *)session->pairs)[number] = pair;
    } else {
      __mw_note(session, MW_FOLLOW_LIST_FULL);
    }
    return;
  }
  __mw_store_access(a, __mw_found(&a.self, MW_FOLLOW_RACE, here, other, 0));
}

/* Atomic and volatile accesses do not race, unless the scope of one is too small; but volatile ones do not keep the
   lanes of a warp in step in shared memory. */
__mw_follow_inline bool __mw_conflict(const __mw_touch &a, __mw_u64 who, __mw_u64 what) {
  __mw_u32 mine = a.flags, theirs = (__mw_u32)what;
  const __mw_u32 strong = MW_FOLLOW_ATOMIC | MW_FOLLOW_VOLATILE;
  if (!((mine | theirs) & MW_FOLLOW_STORE)) return false;
  if (!(mine & strong) || !(theirs & strong)) return true;
  bool same = __mw_run_of(who) == __mw_run(&a.self);
  if ((mine | theirs) & MW_FOLLOW_BLOCK && !same) return true;
  return a.is_shared && same && __mw_thread_of(who) / 32 == a.self.id / 32 && !((mine | theirs) & MW_FOLLOW_ATOMIC);
}

/* The contents of the record at `place`. Of readers in one warp the halves may be from two lanes in step, whose second
   halves are the same but for the thread. If it is incomplete otherwise, both accesses happen at the same time, mostly
   at one place of the code, and `place` stands for the missing fields. */
__mw_follow_inline __mw_u64 __mw_record_at(const __mw_touch &a, __mw_u64 who, __mw_u64 what, int place) {
  __mw_u64 thread = __mw_thread_of(who) & 511, other = what >> 7 & 511;
  if (other == thread && what >> 44) return what;
  if ((place == MW_FOLLOW_READ || place == MW_FOLLOW_READ_TOO) && other / 32 == thread / 32 && what >> 44)
    return (what & ~(511ull << 7)) | thread << 7;
  __mw_u32 strong = a.flags & (MW_FOLLOW_ATOMIC | MW_FOLLOW_VOLATILE);
  __mw_u32 flags = place == MW_FOLLOW_WRITE    ? MW_FOLLOW_STORE
                   : place != MW_FOLLOW_UPDATE ? (strong ? MW_FOLLOW_VOLATILE : 0) /* a poll, for an atomic access */
                   : a.flags & MW_FOLLOW_STORE ? a.flags & ~MW_FOLLOW_VOLATILE | MW_FOLLOW_ATOMIC
                                               : MW_FOLLOW_VOLATILE;
  return (__mw_u64)a.site << 44 | (__mw_u64)(a.self.thread->step & 4095) << 32 |
         (__mw_load(&a.self.block->grids) & 0xffff) << 16 | thread << 7 | (flags & 127 & ~MW_FOLLOW_COPY);
}

__mw_follow_inline void __mw_compare(const __mw_touch &a, const mw_follow_cell *cell, int which, __mw_u32 bytes) {
  __mw_u64 who = __mw_load64(&cell->who[which]);
  if (!(who & bytes)) return;
  __mw_u64 what = __mw_record_at(a, who, __mw_load64(&cell->what[which]), which);
  if (__mw_conflict(a, who, what) && !__mw_precedes(a, who, what)) __mw_report_race(a, who, what);
}

/* Whether the word has two other readers of the block in this epoch, so that one more makes no difference. */
__mw_follow_inline bool __mw_is_read(__mw_u64 first, __mw_u64 second, __mw_u64 mine) {
  return first == mine ||
         (first >> 14 == mine >> 14 && second >> 14 == mine >> 14 && (first & mine & 15) == (mine & 15) &&
          (second & mine & 15) == (mine & 15) && first != second);
}

/* Lanes in step exchange the first half of a record one after the other, and store the second half at once, which need
   not be that of the lane that came last: that lane stores it again. */
__mw_follow_inline void __mw_complete(mw_follow_cell *cell, int place, __mw_u64 who, __mw_u64 what) {
  if (__mw_load64(&cell->what[place]) == what || __mw_load64(&cell->who[place]) != who) return;
  *(volatile __mw_u64 *)&cell->what[place] = what;
  __mw_order();
}

__mw_follow_function void __mw_follow_word_of(const __mw_touch &a, mw_follow_cell *cell, __mw_u32 bytes) {
  const mw_follow_thread *t = a.self.thread;
  __mw_u32 step = a.is_copy ? __mw_open_group(t) : t->step > 4095 ? 4095 : t->step;
  __mw_u64 who = (__mw_u64)__mw_run(&a.self) << 32 | (t->epoch & 0x3ffff) << 14 | a.self.id << 4 | bytes;
  __mw_u64 what = (__mw_u64)a.site << 44 | (__mw_u64)step << 32 | (__mw_load(&a.self.block->grids) & 0xffff) << 16 |
                  ((a.self.id & 511) << 7 | __mw_record_flags(a));
  bool strong = a.flags & (MW_FOLLOW_ATOMIC | MW_FOLLOW_VOLATILE), stores = a.flags & MW_FOLLOW_STORE;
  int place = strong ? MW_FOLLOW_UPDATE : stores ? MW_FOLLOW_WRITE : MW_FOLLOW_READ;
  if (place == MW_FOLLOW_READ &&
      __mw_is_read(__mw_load64(&cell->who[MW_FOLLOW_READ]), __mw_load64(&cell->who[MW_FOLLOW_READ_TOO]), who))
    return;
  __mw_u64 old = __mw_xchg(&cell->who[place], who),
           old_what = __mw_record_at(a, old, __mw_load64(&cell->what[place]), place);
  *(volatile __mw_u64 *)&cell->what[place] = what;
  /* A read in the place of another keeps that one; volatile ones are in the place of updates. */
  bool keeps = place == MW_FOLLOW_READ || (!stores && !(old_what & MW_FOLLOW_STORE));
  if (keeps && old && __mw_thread_of(old) != a.self.id && !__mw_precedes(a, old, old_what)) {
    *(volatile __mw_u64 *)&cell->who[MW_FOLLOW_READ_TOO] = old;
    *(volatile __mw_u64 *)&cell->what[MW_FOLLOW_READ_TOO] = old_what;
  }
  __mw_order();
  __mw_complete(cell, place, who, what);
  if (place != MW_FOLLOW_READ && old & bytes && __mw_conflict(a, old, old_what) && !__mw_precedes(a, old, old_what))
    __mw_report_race(a, old, old_what);
  if (place != MW_FOLLOW_WRITE) __mw_compare(a, cell, MW_FOLLOW_WRITE, bytes);
  if (place != MW_FOLLOW_UPDATE) __mw_compare(a, cell, MW_FOLLOW_UPDATE, bytes);
  if (!stores) return;
  __mw_compare(a, cell, MW_FOLLOW_READ, bytes);
  __mw_compare(a, cell, MW_FOLLOW_READ_TOO, bytes);
}

/* ---- written bytes ---- */

/* A byte for each word, with a bit for each of its bytes. */
__mw_follow_inline bool __mw_write_bytes(const __mw_touch &a, unsigned char *written, __mw_u32 bytes) {
  __mw_u32 old = *(volatile unsigned char *)written;
  bool unwritten = a.flags & MW_FOLLOW_USED && (old & bytes) != bytes;
  if (a.flags & MW_FOLLOW_STORE && (old & bytes) != bytes) {
    if (bytes == 15) {
      *(volatile unsigned char *)written = 15;
    } else {
      __mw_u64 at = (__mw_u64)written;
      __mw_or((__mw_u32 *)(at & ~3ull), bytes << (at & 3) * 8);
    }
  }
  return unwritten;
}

/* ---- pages ---- */

__mw_follow_inline const mw_follow_page *__mw_page_of(const mw_follow_session *session, __mw_u64 address) {
  const mw_follow_page *pages = (const mw_follow_page *)session->pages;
  __mw_u64 number = address >> MW_FOLLOW_PAGE_SHIFT, at = number;
  for (__mw_u32 tries = 0; tries < session->page_room; tries++, at++) {
    const mw_follow_page *page = &pages[at & (session->page_room - 1)];
    if (page->number == number) return page;
    if (!page->number) break;
  }
  return 0;
}

/* Give the page a shadow, if there is one left. */
__mw_follow_inline void __mw_take_spare(mw_follow_session *session, mw_follow_page *page) {
  __mw_u32 number = __mw_add(&session->spare_count, 1);
  if (number >= session->spare_room) return;
  *(volatile __mw_u64 *)&page->written = session->spare + (__mw_u64)number * MW_FOLLOW_PAGE_WORDS;
  __mw_order();
}

/* The page of memory that malloc has returned gets a shadow, unless it has one. */
__mw_follow_function void __mw_make_page(mw_follow_session *session, __mw_u64 address) {
  enum { PATIENCE = 1000 };
  mw_follow_page *pages = (mw_follow_page *)session->pages;
  __mw_u64 number = address >> MW_FOLLOW_PAGE_SHIFT, at = number;
  for (__mw_u32 tries = 0; tries < session->page_room; tries++, at++) {
    mw_follow_page *page = &pages[at & (session->page_room - 1)];
    __mw_u64 found = __mw_load64(&page->number);
    if (!found) found = __mw_cas64(&page->number, 0, number);
    if (!found) __mw_take_spare(session, page);
    for (__mw_u32 waits = 0; found == number && waits < PATIENCE && !__mw_load64(&page->written); waits++)
      __mw_wait_a_little();
    if (!found || found == number) return;
  }
}

/* ---- accesses ---- */

__mw_follow_function bool __mw_follow_shared_word(const __mw_touch &a, __mw_u64 word, __mw_u32 bytes) {
  const mw_follow_launch *launch = a.self.launch;
  char *slot = (char *)a.self.block;
  if (word >= launch->shared_words) return false;
  mw_follow_cell *cells = (mw_follow_cell *)(slot + launch->cells_at);
  if (launch->cells_at && !__mw_load(&a.self.block->unfollowed)) {
    if (!__mw_follows(MW_FOLLOW_BYTES)) __mw_follow_word_of(a, cells + word, bytes);
    for (__mw_u32 k = 0; k < 4 && __mw_follows(MW_FOLLOW_BYTES); k++)
      if (bytes >> k & 1) __mw_follow_word_of(a, cells + 4 * word + k, 15);
  }
  if (a.flags & MW_FOLLOW_SHADOWED) return false;
  bool unwritten = launch->written_at && __mw_write_bytes(a, (unsigned char *)slot + launch->written_at + word, bytes);
  return unwritten && !__mw_load(&a.self.block->unfollowed);
}

__mw_follow_function bool __mw_follow_global_word(const __mw_touch &a, __mw_u64 word, __mw_u32 bytes) {
  const mw_follow_page *page = __mw_page_of(a.self.session, word * 4);
  __mw_u64 at = word & (MW_FOLLOW_PAGE_WORDS - 1);
  if (!page) return false;
  if (page->cells) __mw_follow_word_of(a, (mw_follow_cell *)page->cells + at, bytes);
  if (a.flags & MW_FOLLOW_SHADOWED) return false;
  return page->written && __mw_write_bytes(a, (unsigned char *)page->written + at, bytes);
}

__mw_follow_function void __mw_follow_bytes(const __mw_touch &a) {
  __mw_u64 from = a.is_shared ? __mw_follow_offset((const void *)a.address) : a.address, end = from + a.bytes;
  bool unwritten = false;
  for (__mw_u64 word = from / 4; word * 4 < end; word++) {
    __mw_u32 bytes = 15;
    if (word * 4 < from) bytes &= 15u << (from - word * 4);
    if (end - word * 4 < 4) bytes &= (1u << (end - word * 4)) - 1;
    unwritten |= a.is_shared ? __mw_follow_shared_word(a, word, bytes) : __mw_follow_global_word(a, word, bytes);
  }
  if (!unwritten) return;
  mw_follow_end here = __mw_end_of(&a.self, a.site, a.flags), none = {};
  __mw_store_access(a, __mw_found(&a.self, MW_FOLLOW_UNWRITTEN, here, none, 0));
}

#endif
