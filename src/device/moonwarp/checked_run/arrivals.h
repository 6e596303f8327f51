/* Waits for arrivals in checked runs: at barriers of a part of a block (PTX bar.sync with a number), at barriers in
 * shared memory that count (PTX mbarrier, cuda::barrier), and of blocks at barriers of the grid. A wait that cannot
 * end is detected and ended. */
#ifndef MOONWARP_FOLLOW_ARRIVALS_H
#define MOONWARP_FOLLOW_ARRIVALS_H

#include "moonwarp/checked_run/wait.h"

/* Whether all threads of the block wait or have returned. */
__mw_follow_function bool __mw_all_wait(const __mw_self *self) {
  const mw_follow_block *b = self->block;
  if (__mw_load(&b->unfollowed)) return false;
  __mw_u32 threads = self->launch->threads, count = __mw_load(&__mw_here()->gone) + __mw_load(&b->arrived);
  count += __mw_load(&b->stalled);
  for (__mw_u32 w = 0; w * 32 < threads && count < threads; w++)
    count += (__mw_u32)__builtin_popcount(__mw_load(&b->warps[w].gathers));
  return count >= threads;
}

/* A poll of the thread's wait. Returns whether the wait cannot end: for long, all threads waited, and none arrived. */
__mw_follow_function bool __mw_is_stuck(const __mw_self *self) {
  mw_follow_thread *t = self->thread;
  __mw_u32 progress = __mw_load(&self->block->progress);
  if (t->polls == 0) __mw_add(&self->block->stalled, 1);
  bool goes_on = t->polls == 0 || t->progress != progress || !__mw_all_wait(self);
  t->polls = goes_on ? 1 : t->polls + 1;
  t->progress = progress;
  return t->polls > MW_FOLLOW_PATIENCE;
}

/* ---- what arrivals pass on ---- */

__mw_follow_inline void __mw_arrive_at(const __mw_self *self, __mw_u64 key) {
  __mw_add(&self->block->progress, 1);
  if (!(__mw_follows(MW_FOLLOW_RACES))) return;
  __mw_fence_for(self, 1);
  __mw_publish(self, key);
}

__mw_follow_inline void __mw_leave_from(const __mw_self *self, __mw_u64 key) {
  if (__mw_follows(MW_FOLLOW_RACES)) __mw_learn(self, key, false);
}

/* ---- barriers with a number ---- */

/* Of a word's key (order.h), offsets in shared memory are below 2^20. */
__mw_follow_inline __mw_u64 __mw_named_key(const __mw_self *self, __mw_u32 number, __mw_u32 generation) {
  return (__mw_u64)1 << 63 | (__mw_u64)__mw_run(self) << 24 | 1u << 20 | (generation & 255) << 4 | number;
}

/* The barrier counts whole warps, also those that the block fills in part. */
__mw_follow_inline __mw_u32 __mw_counted(const __mw_self *self) {
  __mw_u32 existing = __mw_existing(self);
  return self->id % 32 ? 1 : 33 - (__mw_u32)__builtin_popcount(existing);
}

/* count: the threads that are to arrive; 0: all of the block. */
__mw_follow_function void __mw_meet_at(const __mw_self *self, __mw_u32 number, __mw_u32 count, bool waits,
                                       __mw_u32 site) {
  mw_follow_named *n = &self->block->named[number % MW_FOLLOW_NUMBERS];
  __mw_u32 generation = __mw_load(&n->generation), mine = __mw_counted(self);
  __mw_u64 key = __mw_named_key(self, number % MW_FOLLOW_NUMBERS, generation);
  if (!count) count = (self->launch->threads + 31) / 32 * 32;
  __mw_arrive_at(self, key);
  __mw_order();
  if (__mw_add(&n->arrived, mine) + mine == count) {
    __mw_add(&n->arrived, 0 - count);
    __mw_order();
    __mw_add(&n->generation, 1);
  }
  if (!waits) return;
  while (__mw_load(&n->generation) == generation) {
    if (__mw_is_stuck(self) && __mw_cas(&n->generation, generation, generation + 1) == generation) {
      __mw_found_here(self, MW_FOLLOW_STUCK, site, 0);
      *(volatile __mw_u32 *)&n->arrived = 0;
    }
    __mw_wait_a_little();
  }
  __mw_end_polls(self);
  __mw_order();
  __mw_leave_from(self, key);
}

/* ---- the grid ---- */

/* One thread of each block calls it, while the others wait for it. */
__mw_follow_function void __mw_wait_for_grid(const __mw_self *self, __mw_u32 site) {
  mw_follow_launch *launch = (mw_follow_launch *)self->launch;
  __mw_u32 generation = __mw_load(&launch->grid_generation);
  __mw_order();
  if (__mw_add(&launch->grid_arrived, 1) + 1 == launch->blocks) {
    *(volatile __mw_u32 *)&launch->grid_arrived = 0;
    __mw_order();
    __mw_add(&launch->grid_generation, 1);
  }
  while (__mw_load(&launch->grid_generation) == generation) {
    __mw_u32 ended = __mw_load(&launch->ended);
    if (ended && __mw_load(&launch->grid_arrived) + ended == launch->blocks) {
      __mw_found_here(self, MW_FOLLOW_GRID, site, 0);
      __mw_stop_grid();
      return;
    }
    __mw_wait_a_little();
  }
}

#endif
