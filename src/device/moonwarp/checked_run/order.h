/* A thread's knowledge of other threads' accesses, and the part of it that is logged: fences and atomics. */
#ifndef MOONWARP_FOLLOW_ORDER_H
#define MOONWARP_FOLLOW_ORDER_H

#ifndef MOONWARP_FOLLOW_MACHINE
#include "moonwarp/checked_run/machine.h"
#endif

/* The calling thread. */
typedef struct __mw_self {
  mw_follow_block *block;   /* NULL if the launch has no slots */
  mw_follow_thread *thread; /* likewise; only for races */
  const mw_follow_launch *launch;
  mw_follow_session *session;
  __mw_u32 id;
} __mw_self;

__mw_follow_inline bool __mw_follow_self(__mw_self *self) {
  const mw_follow_here *here = __mw_here();
  self->launch = (const mw_follow_launch *)here->launch;
  if (!self->launch) return false;
  self->block = (mw_follow_block *)here->slot;
  self->id = __mw_follow_thread_id();
  self->thread = &self->block->threads[self->id];
  self->session = (mw_follow_session *)self->launch->session;
  return true;
}

__mw_follow_inline bool __mw_follows(__mw_u32 what) { return __mw_guard_follow_uses() & what; }
__mw_follow_inline __mw_u32 __mw_run(const __mw_self *self) { return self->launch->base + __mw_follow_block_id(); }

__mw_follow_inline __mw_u32 __mw_load(const __mw_u32 *at) { return *(const volatile __mw_u32 *)at; }
__mw_follow_inline __mw_u64 __mw_load64(const __mw_u64 *at) { return *(const volatile __mw_u64 *)at; }

__mw_follow_inline void __mw_note(mw_follow_session *session, __mw_u32 what) {
  if ((__mw_load(&session->notes) & what) != what) __mw_or(&session->notes, what);
}

__mw_follow_inline mw_follow_end __mw_end_of(const __mw_self *self, __mw_u32 site, __mw_u32 flags) {
  mw_follow_end end = {site, __mw_run(self), self->id, 0, 0, flags};
  if (__mw_follows(MW_FOLLOW_RACES)) end.epoch = self->thread->epoch, end.step = self->thread->step;
  return end;
}

/* The thread no longer waits for arrivals (arrivals.h). */
__mw_follow_inline void __mw_end_polls(const __mw_self *self) {
  if (!__mw_follows(MW_FOLLOW_ARRIVALS)) return;
  if (self->thread->polls) __mw_add(&self->block->stalled, ~0u);
  self->thread->polls = 0;
}

/* Whether the thread knows of an access by a lane of its warp, in this epoch. */
__mw_follow_inline bool __mw_knows_lane(const mw_follow_thread *self, __mw_u32 lane, __mw_u32 step) {
  return step < self->floor || (self->has_known && step < self->known[lane]);
}

/* ---- the log ---- */

__mw_follow_inline __mw_u64 __mw_hash(__mw_u64 key) { return key * 0x9e3779b97f4a7c15ull >> 32; }

/* The entry of a word; NULL: there is none, or no room. */
__mw_follow_function mw_follow_head *__mw_head_of(mw_follow_session *session, __mw_u64 key, bool makes) {
  mw_follow_head *heads = (mw_follow_head *)session->heads;
  __mw_u64 at = __mw_hash(key);
  for (__mw_u32 tries = 0; tries < 64; tries++, at++) {
    mw_follow_head *head = &heads[at & (session->head_room - 1)];
    __mw_u64 found = __mw_load64(&head->key);
    if (found == key) return head;
    if (found) continue;
    if (!makes) return 0;
    found = __mw_cas64(&head->key, 0, key);
    if (found == 0 || found == key) return head;
  }
  if (makes) __mw_note(session, MW_FOLLOW_LOG_FULL);
  return 0;
}

/* The number of the new entry, from 1; 0: there is no room. */
__mw_follow_function __mw_u32 __mw_log(const __mw_self *self, mw_follow_event event) {
  mw_follow_session *session = self->session;
  __mw_u32 number = __mw_add(&session->log_count, 1);
  if (number >= session->log_room) {
    __mw_note(session, MW_FOLLOW_LOG_FULL);
    return 0;
  }
  event.run = __mw_run(self);
  event.thread = self->id;
  event.epoch = self->thread->epoch;
  event.step = self->thread->step;
  ((mw_follow_event *)session->log)[number] = event;
  __mw_order();
  return number + 1;
}

/* Make the event, of that number, the latest release at a word. Several threads may do so at once: each has to stay in
   the list. */
__mw_follow_function void __mw_put_first(const mw_follow_session *session, mw_follow_head *head, __mw_u32 number) {
  __mw_u32 *link = &((mw_follow_event *)session->log)[number - 1].link;
  for (__mw_u32 latest = __mw_load(&head->latest), found;; latest = found) {
    *(volatile __mw_u32 *)link = latest;
    __mw_order();
    found = __mw_cas(&head->latest, latest, number);
    if (found == latest) break;
  }
}

__mw_follow_function void __mw_publish(const __mw_self *self, __mw_u64 key) {
  const mw_follow_thread *t = self->thread;
  if (!t->fenced) return;
  mw_follow_head *head = __mw_head_of(self->session, key, true);
  if (!head) return;
  mw_follow_event event = {MW_FOLLOW_RELEASED};
  event.fenced = t->fenced;
  event.copies = t->done;
  for (int i = 0; i < 2; i++) event.fenced_epoch[i] = t->fenced_epoch[i], event.fenced_step[i] = t->fenced_step[i];
  __mw_u32 number = __mw_log(self, event);
  if (number) __mw_put_first(self->session, head, number);
}

/* is_relaxed: it counts from the next fence on. */
__mw_follow_function void __mw_learn(const __mw_self *self, __mw_u64 key, bool is_relaxed) {
  mw_follow_head *head = __mw_head_of(self->session, key, false);
  __mw_u32 latest = head ? __mw_load(&head->latest) : 0;
  mw_follow_thread *t = self->thread;
  if (!latest || latest == t->seen || (is_relaxed && latest == t->saw)) return;
  mw_follow_event event = {MW_FOLLOW_LEARNT};
  event.link = latest;
  event.fenced = is_relaxed;
  if (is_relaxed)
    t->saw = latest;
  else
    t->seen = latest;
  __mw_log(self, event);
  self->block->learnt = 1;
}

__mw_follow_inline void __mw_fence_for(const __mw_self *self, __mw_u32 scope) {
  mw_follow_thread *t = self->thread;
  if (t->saw) {
    mw_follow_event event = {MW_FOLLOW_FENCED};
    __mw_log(self, event);
    t->saw = 0;
  }
  for (; scope < 2; scope++) {
    t->fenced |= 1u << scope;
    t->fenced_epoch[scope] = t->epoch;
    t->fenced_step[scope] = t->step;
  }
  t->step++;
}

__mw_follow_inline __mw_u64 __mw_word_key(const __mw_self *self, const void *address) {
  if (!__mw_follow_is_shared(address)) return (__mw_u64)address;
  return (__mw_u64)1 << 63 | (__mw_u64)__mw_run(self) << 24 | __mw_follow_offset(address);
}

/* ---- findings ---- */

__mw_follow_function mw_follow_finding *__mw_found(const __mw_self *self, __mw_u32 kind, const mw_follow_end &here,
                                                   const mw_follow_end &other, __mw_u64 value) {
  mw_follow_session *session = self->session;
  mw_follow_finding *list = (mw_follow_finding *)session->findings;
  __mw_u64 key = (__mw_u64)kind << 48 | (__mw_u64)here.site << 24 | other.site, at = __mw_hash(key);
  for (__mw_u32 tries = 0; tries < 64; tries++, at++) {
    mw_follow_finding *f = &list[at & (session->finding_room - 1)];
    __mw_u64 found = __mw_load64(&f->key);
    if (!found) found = __mw_cas64(&f->key, 0, key);
    if (found == key) {
      __mw_add(&f->count, 1);
      return 0;
    }
    if (found) continue;
    __mw_add(&f->count, 1);
    f->kind = kind;
    f->here = here;
    f->other = other;
    f->value = value;
    return f;
  }
  __mw_note(session, MW_FOLLOW_LIST_FULL);
  return 0;
}

__mw_follow_function void __mw_found_here(const __mw_self *self, __mw_u32 kind, __mw_u32 site, __mw_u64 value) {
  mw_follow_end none = {};
  mw_follow_finding *f = __mw_found(self, kind, __mw_end_of(self, site, 0), none, value);
  if (f) f->ready = 1;
}

#endif
