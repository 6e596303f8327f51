/* Asynchronous copies in checked runs: between its issue and its end, a copy's accesses are nobody's. They are
 * recorded as the issuing thread's, with the number of the copy's group in place of a step, and happen before what
 * comes after a wait for that group. */
#ifndef MOONWARP_FOLLOW_COPIES_H
#define MOONWARP_FOLLOW_COPIES_H

#include "moonwarp/checked_run/order.h"

/* Numbers of groups in records are modulo 4096. */
__mw_follow_inline bool __mw_covers(__mw_u32 done, __mw_u32 group) { return ((done - group) & 4095) < 2048; }

/* The group of a copy that the thread issues. */
__mw_follow_inline __mw_u32 __mw_open_group(const mw_follow_thread *t) { return (t->groups + 1) & 4095; }

/* Whether a copy of the block happens before an access of this thread. is_copy: which is a copy too. */
__mw_follow_function bool __mw_copy_precedes(const __mw_self *self, __mw_u32 thread, __mw_u32 group, bool is_copy) {
  const mw_follow_thread *t = &self->block->threads[thread];
  if (thread == self->id) return __mw_covers(t->done, group) || (is_copy && group == __mw_open_group(t));
  if (__mw_covers(__mw_load(&t->passed[self->thread->epoch & 1]), group)) return true;
  bool has_met = thread / 32 == self->id / 32 && __mw_knows_lane(self->thread, thread % 32, 0);
  return has_met && __mw_covers(__mw_load(&t->joined), group);
}

/* The copies so far end before the word's barrier does, by which threads learn of it. */
__mw_follow_function void __mw_track_copies(const __mw_self *self, __mw_u64 address) {
  mw_follow_event event = {MW_FOLLOW_RELEASED};
  event.copies = ++self->thread->groups;
  for (__mw_u64 at = address;; at &= ~7ull) { /* of a barrier of the hardware, the address is that of its second half */
    mw_follow_head *head = __mw_head_of(self->session, __mw_word_key(self, (const void *)at), true);
    __mw_u32 number = head ? __mw_log(self, event) : 0;
    if (number) __mw_put_first(self->session, head, number);
    if (at % 8 == 0) break;
  }
}

__mw_follow_function void __mw_report_copies(const __mw_self *self, __mw_u32 report, __mw_u64 value) {
  mw_follow_thread *t = self->thread;
  if (report == MW_FOLLOW_ASYNC) t->copies = (__mw_u32)value;
  if (report == MW_FOLLOW_COMMIT) t->groups++;
  if (report == MW_FOLLOW_COPIED && t->groups > value && t->groups - value > t->done)
    t->done = t->groups - (__mw_u32)value;
  if (report == MW_FOLLOW_TRACK && __mw_follows(MW_FOLLOW_RACES)) __mw_track_copies(self, value);
}

#endif
