/* Functions that mwcc calls in kernels of a checked run on a GPU (src/mwcc/gpu/checked_run.c). They follow what each
 * thread does, and write findings for the host (src/cuda/check). */
#ifndef MOONWARP_FOLLOW_CALLS_H
#define MOONWARP_FOLLOW_CALLS_H

#include "moonwarp/checked_run/cells.h"
#include "moonwarp/checked_run/arrivals.h"

/* ---- a block ---- */

/* Take a slot that no other block has. There are as many as blocks can be resident. */
__mw_follow_function mw_follow_block *__mw_take_slot(const mw_follow_launch *launch) {
  __mw_u32 *taken = (__mw_u32 *)(launch + 1), words = (launch->slot_count + 31) / 32, at = __mw_follow_start() % words;
  for (;; at = (at + 1) % words) {
    __mw_u32 now = __mw_load(&taken[at]);
    if (at == words - 1 && launch->slot_count % 32) now |= ~0u << launch->slot_count % 32;
    while (~now) {
      __mw_u32 bit = 1u << __mw_lowest(~now), slot = 32 * at + __mw_lowest(~now);
      if (!(__mw_or(&taken[at], bit) & bit)) {
        mw_follow_block *block = (mw_follow_block *)(launch->slots + slot * launch->slot_bytes);
        block->slot = slot;
        return block;
      }
      now |= bit;
    }
    __mw_wait_a_little();
  }
}

/* All threads of the block clear the memory. */
__mw_follow_inline void __mw_clear(void *from, __mw_u64 bytes, const __mw_self *self) {
  for (__mw_u32 i = self->id; i < bytes / 4; i += self->launch->threads) ((volatile __mw_u32 *)from)[i] = 0;
}

__mw_follow_inline void __mw_clear_slot(const __mw_self *self) {
  mw_follow_block *block = self->block;
  __mw_u32 threads = self->launch->threads;
  __mw_clear(&block->grids, (__mw_u64)block->warps - (__mw_u64)&block->grids, self);
  if (__mw_follows(MW_FOLLOW_WARPS | MW_FOLLOW_ARRIVALS))
    __mw_clear(block->warps, (threads + 31) / 32 * sizeof *block->warps, self);
  if (__mw_follows(MW_FOLLOW_RACES | MW_FOLLOW_ARRIVALS))
    __mw_clear(block->threads, threads * sizeof *block->threads, self);
  if (self->launch->written_at)
    __mw_clear((char *)block + self->launch->written_at, self->launch->shared_words + 3, self);
}

__mw_follow_inline void __mw_set_here(const mw_follow_launch *launch, mw_follow_block *block) {
  mw_follow_here *here = __mw_here();
  here->launch = (__mw_u64)launch;
  here->slot = (__mw_u64)block;
  if (!launch || !__mw_follows(MW_FOLLOW_RACES | MW_FOLLOW_INITIALISATION)) return;
  const mw_follow_session *session = (const mw_follow_session *)launch->session;
  here->pages = session->pages;
  here->page_room = session->page_room;
  here->written = block && launch->written_at ? (__mw_u64)block + launch->written_at : 0;
  here->shared_words = launch->shared_words;
  here->run = launch->base + __mw_follow_block_id();
}

__mw_follow_called void __mw_guard_follow_begin(__mw_u64 address) {
  const mw_follow_launch *launch = (const mw_follow_launch *)address;
  mw_follow_here *here = __mw_here();
  bool takes = launch && launch->slot_count;
  if (!takes && !__mw_follows(MW_FOLLOW_BARRIERS)) { /* all write the same, so nobody has to wait */
    __mw_set_here(launch, 0);
    return;
  }
  if (__mw_follow_thread_id() == 0) {
    __mw_set_here(launch, takes ? __mw_take_slot(launch) : 0);
    here->gone = 0;
    __mw_order();
  }
  __mw_follow_meet();
  if (!takes) return;
  __mw_self self;
  if (!__mw_follow_self(&self)) return;
  __mw_clear_slot(&self);
  __mw_order();
  __mw_follow_meet();
}

__mw_follow_called void __mw_guard_follow_end() {
  __mw_self self;
  if (!__mw_follow_self(&self)) return;
  if (__mw_follows(MW_FOLLOW_BARRIERS)) *(volatile __mw_u32 *)&__mw_here()->gone_thread = self.id;
  if (!self.block) return;
  __mw_end_polls(&self);
  __mw_order();
  if (__mw_follows(MW_FOLLOW_WARPS)) __mw_or(&__mw_warp_of(&self)->exited, 1u << self.id % 32);
  __mw_u32 slot = self.block->slot, threads = self.launch->threads;
  __mw_u32 *taken = (__mw_u32 *)(self.launch + 1);
  __mw_order();
  if (__mw_follow_leave() != threads) return;
  if (__mw_follows(MW_FOLLOW_ARRIVALS)) __mw_add(&((mw_follow_launch *)self.launch)->ended, 1);
  __mw_and(&taken[slot / 32], ~(1u << slot % 32));
}

__mw_follow_called void __mw_guard_follow_unknown(__mw_u32 what) {
  __mw_self self;
  if (!__mw_follow_self(&self)) return;
  __mw_note(self.session, what);
  if (self.block) *(volatile __mw_u32 *)&self.block->unfollowed = 1;
}

/* ---- memory of malloc ---- */

__mw_follow_function mw_follow_malloc *__mw_malloc_of(mw_follow_session *session, __mw_u64 address, bool makes) {
  mw_follow_malloc *list = (mw_follow_malloc *)session->mallocs;
  __mw_u64 at = __mw_hash(address);
  for (__mw_u32 tries = 0; tries < 64; tries++, at++) {
    mw_follow_malloc *m = &list[at & (session->malloc_room - 1)];
    __mw_u64 found = __mw_load64(&m->address);
    if (!found && makes) found = __mw_cas64(&m->address, 0, address);
    if (found == address || (!found && makes)) return m;
    if (!found) return 0;
  }
  return 0;
}

/* An access outside of all arrays, by a pointer that malloc may have returned: whether it stays in the allocated
   memory, which has not been freed. */
__mw_follow_called void __mw_guard_follow_outside(const void *address, __mw_u64 bytes, const void *object,
                                                  __mw_u32 site, __mw_u32 flags) {
  __mw_touch a;
  if (!__mw_follow_self(&a.self) || !__mw_load(&a.self.session->malloc_count)) return;
  a.is_shared = false;
  a.address = (__mw_u64)address;
  a.object = (__mw_u64)object;
  a.bytes = bytes;
  a.site = a.self.launch->first_site + site;
  a.flags = flags;
  const mw_follow_malloc *m = __mw_malloc_of(a.self.session, a.object, false);
  if (!m) return;
  __mw_u32 kind = __mw_load(&m->is_freed)                                           ? MW_FOLLOW_FREED_BLOCK
                  : a.address - a.object > m->bytes - a.bytes || a.bytes > m->bytes ? MW_FOLLOW_PAST_BLOCK
                                                                                    : 0;
  if (!kind) return;
  mw_follow_end here = __mw_end_of(&a.self, a.site, a.flags), none = {};
  __mw_store_access(a, __mw_found(&a.self, kind, here, none, m->bytes));
  __mw_stop_grid();
}

/* ---- accesses ---- */

__mw_follow_called void __mw_guard_follow(const void *address, __mw_u64 bytes, const void *object, __mw_u32 site,
                                          __mw_u32 flags) {
  __mw_touch a;
  if (!__mw_follow_self(&a.self)) return;
  a.is_shared = !(flags & MW_FOLLOW_IN_GLOBAL) && (flags & MW_FOLLOW_IN_SHARED || __mw_follow_is_shared(address));
  if (!a.is_shared && !(flags & MW_FOLLOW_IN_GLOBAL) && !__mw_follow_is_global(address)) return;
  a.address = (__mw_u64)address;
  a.object = (__mw_u64)object;
  a.bytes = bytes;
  a.site = a.self.launch->first_site + site;
  a.flags = flags;
  a.is_copy = flags & MW_FOLLOW_COPIES && a.self.thread->copies;
  __mw_follow_bytes(a);
  if (!__mw_follows(MW_FOLLOW_RACES)) return;
  bool strong = flags & (MW_FOLLOW_ATOMIC | MW_FOLLOW_VOLATILE);
  if (flags & MW_FOLLOW_RELEASE) __mw_fence_for(&a.self, flags & MW_FOLLOW_BLOCK ? 1 : 0);
  if (strong && flags & MW_FOLLOW_STORE) __mw_publish(&a.self, __mw_word_key(&a.self, address));
}

__mw_follow_quick __mw_u32 __mw_guard_follow_read_only() {
  const mw_follow_launch *launch = (const mw_follow_launch *)__mw_here()->launch;
  return launch ? launch->read_only : ~0u;
}

/* A read of an array; read_only: to which nothing writes at that time. mwcc inlines it. */
__mw_follow_quick void __mw_guard_follow_read(const void *address, __mw_u64 bytes, const void *object, __mw_u32 site,
                                              __mw_u32 flags, __mw_u32 read_only) {
  if (!read_only) __mw_guard_follow(address, bytes, object, site, flags);
}

/* After an atomic access or a volatile load. */
__mw_follow_called void __mw_guard_follow_after(const void *address, __mw_u32 flags) {
  __mw_self self;
  if (__mw_follow_self(&self)) __mw_learn(&self, __mw_word_key(&self, address), flags & MW_FOLLOW_RELAXED);
}

__mw_follow_called void __mw_guard_follow_fence(__mw_u32 scope) {
  __mw_self self;
  if (__mw_follows(MW_FOLLOW_RACES) && __mw_follow_self(&self)) __mw_fence_for(&self, scope);
}

/* What the headers say of asynchronous copies. */
__mw_follow_called void __mw_guard_follow_event(__mw_u32 report, __mw_u64 value) {
  __mw_self self;
  if (__mw_follows(MW_FOLLOW_RACES) && __mw_follow_self(&self)) __mw_report_copies(&self, report, value);
}

/* A barrier of the hardware that counts arrivals, at an offset in shared memory. is_past: the result of a test of it. */
__mw_follow_called void __mw_guard_follow_word(__mw_u32 offset, __mw_u32 arrives, __mw_u32 is_past, __mw_u32 site) {
  __mw_self self;
  if (!__mw_follows(MW_FOLLOW_RACES | MW_FOLLOW_BARRIERS) || !__mw_follow_self(&self)) return;
  __mw_u64 key = (__mw_u64)1 << 63 | (__mw_u64)__mw_run(&self) << 24 | offset;
  if (arrives) {
    __mw_arrive_at(&self, key);
  } else if (is_past) {
    __mw_end_polls(&self);
    __mw_leave_from(&self, key);
  } else if (__mw_is_stuck(&self)) {
    __mw_found_here(&self, MW_FOLLOW_STUCK, self.launch->first_site + site, 0);
    __mw_stop_grid();
  }
}

/* ---- waiting ---- */

__mw_follow_called void __mw_guard_follow_barrier(__mw_u32 site) {
  __mw_self self;
  bool follows = __mw_follow_self(&self);
  if (follows && __mw_follows(MW_FOLLOW_RACES)) __mw_reach_barrier(&self);
  if (follows && __mw_follows(MW_FOLLOW_BARRIERS)) __mw_arrive(&self, self.launch->first_site + site);
  __mw_follow_meet();
  if (follows && __mw_follows(MW_FOLLOW_RACES)) __mw_pass_barrier(&self);
}

__mw_follow_called int __mw_guard_follow_vote(int predicate, __mw_u32 what, __mw_u32 site) {
  __mw_self self;
  bool follows = __mw_follow_self(&self);
  if (follows && __mw_follows(MW_FOLLOW_RACES)) __mw_reach_barrier(&self);
  __mw_u32 there = follows && __mw_follows(MW_FOLLOW_BARRIERS) ? __mw_arrive(&self, self.launch->first_site + site)
                                                               : __mw_follow_meet_count(true);
  __mw_u32 count = __mw_follow_meet_count(predicate);
  if (follows && __mw_follows(MW_FOLLOW_RACES)) __mw_pass_barrier(&self);
  return what == MW_FOLLOW_COUNT ? (int)count : what == MW_FOLLOW_OR ? count != 0 : count == there;
}

__mw_follow_called __mw_u32 __mw_guard_follow_mask(__mw_u32 mask, __mw_u32 site) {
  __mw_self self;
  return __mw_follow_self(&self) ? __mw_gather(&self, mask, self.launch->first_site + site, true) : mask;
}

__mw_follow_called void __mw_guard_follow_warp(__mw_u32 mask, __mw_u32 site) {
  __mw_self self;
  if (!__mw_follow_self(&self)) {
    __mw_follow_converge(mask);
    return;
  }
  if (__mw_follows(MW_FOLLOW_BARRIERS))
    mask = __mw_gather(&self, mask, self.launch->first_site + site, false);
  else
    __mw_follow_converge(mask);
  if (!__mw_follows(MW_FOLLOW_RACES)) return;
  __mw_join_lanes(&self, mask & __mw_existing(&self) & ~__mw_load(&__mw_warp_of(&self)->exited));
}

/* The lane that a shuffle reads. (PTX ISA, shfl.sync) */
__mw_follow_inline __mw_u32 __mw_source_lane(__mw_u32 lane, __mw_u32 by, __mw_u32 clamp, __mw_u32 mode) {
  __mw_u32 segment = clamp >> 8 & 31, most = (lane & segment) | (clamp & 31 & ~segment), least = lane & segment;
  __mw_u32 from;
  by &= 31;
  if (mode == 1) return (int)lane - (int)by >= (int)most ? lane - by : lane;
  from = mode == 2 ? lane + by : mode == 3 ? lane ^ by : least | (by & ~segment);
  return from <= most ? from : lane;
}

__mw_follow_called __mw_u32 __mw_guard_follow_shuffle(__mw_u32 mask, __mw_u32 by, __mw_u32 clamp, __mw_u32 mode,
                                                      __mw_u32 site) {
  __mw_self self;
  if (!__mw_follow_self(&self)) return mask;
  site += self.launch->first_site;
  __mw_u32 lanes = __mw_gather(&self, mask, site, true), from = __mw_source_lane(self.id % 32, by, clamp, mode);
  bool is_absent = !(lanes >> from & 1);
  if (__mw_follows(MW_FOLLOW_INITIALISATION)) { /* reported if the value is used */
    __mw_u32 *absent = &__mw_warp_of(&self)->absent, bit = 1u << self.id % 32;
    if (is_absent)
      __mw_or(absent, bit);
    else if (__mw_load(absent) & bit)
      __mw_and(absent, ~bit);
  } else if (is_absent && __mw_existing(&self) >> from & 1) {
    __mw_found_here(&self, MW_FOLLOW_ABSENT, site, from);
  }
  return lanes;
}

__mw_follow_called void __mw_guard_follow_named(__mw_u32 number, __mw_u32 count, __mw_u32 waits, __mw_u32 site) {
  __mw_self self;
  if (__mw_follow_self(&self))
    __mw_meet_at(&self, number, count, waits, self.launch->first_site + site);
  else
    __mw_follow_meet_at(number, count, waits);
}

/* One thread of each block waits for the grid. */
__mw_follow_called void __mw_guard_follow_grid_wait(__mw_u32 site) {
  __mw_self self;
  if (__mw_follow_is_cooperative() && __mw_follow_self(&self))
    __mw_wait_for_grid(&self, self.launch->first_site + site);
}

/* All blocks of the grid have arrived; one thread of the block calls it. */
__mw_follow_called void __mw_guard_follow_grid() {
  __mw_self self;
  if (__mw_follows(MW_FOLLOW_RACES) && __mw_follow_self(&self)) __mw_add(&self.block->grids, 1);
}

/* ---- malloc and free ---- */

/* All bytes of a block of malloc are written, or none; it begins at a multiple of 16. */
__mw_follow_function void __mw_set_block(const __mw_self *self, __mw_u64 address, __mw_u64 bytes, bool is_written) {
  for (__mw_u64 at = address & ~15ull, end = address + bytes, next; at < end; at = next) {
    next = (at | ((1ull << MW_FOLLOW_PAGE_SHIFT) - 1)) + 1;
    if (!is_written) __mw_make_page(self->session, at);
    const mw_follow_page *page = __mw_page_of(self->session, at);
    unsigned char *written = page ? (unsigned char *)__mw_load64(&page->written) : 0;
    for (; written && at < end && at < next; at += 16)
      *(volatile __mw_u32 *)(written + (at / 4 & (MW_FOLLOW_PAGE_WORDS - 1))) = is_written ? 0x0f0f0f0fu : 0;
  }
  __mw_order();
}

__mw_follow_called void __mw_guard_follow_given(void *pointer, __mw_u64 bytes, __mw_u32 site) {
  __mw_self self;
  if (!pointer || !__mw_follow_self(&self)) return;
  if (__mw_follows(MW_FOLLOW_INITIALISATION)) __mw_set_block(&self, (__mw_u64)pointer, bytes, false);
  mw_follow_malloc *m = __mw_malloc_of(self.session, (__mw_u64)pointer, true);
  if (!m) {
    __mw_note(self.session, MW_FOLLOW_LIST_FULL);
    return;
  }
  if (!__mw_load(&self.session->malloc_count)) __mw_or(&self.session->malloc_count, 1);
  m->bytes = (__mw_u32)bytes;
  m->site = self.launch->first_site + site;
  m->run = __mw_run(&self);
  m->thread = self.id;
  __mw_order();
  *(volatile __mw_u32 *)&m->is_freed = 0;
}

__mw_follow_called void __mw_guard_follow_free(void *pointer, __mw_u32 site) {
  __mw_self self;
  if (!pointer) return;
  if (!__mw_follow_self(&self)) {
    free(pointer);
    return;
  }
  mw_follow_malloc *m = __mw_malloc_of(self.session, (__mw_u64)pointer, false);
  site += self.launch->first_site;
  if (!m) {
    bool unknown = __mw_load(&self.session->notes) & MW_FOLLOW_LIST_FULL;
    if (!unknown) __mw_found_here(&self, MW_FOLLOW_NOT_MALLOC, site, (__mw_u64)pointer);
    if (unknown) free(pointer);
  } else if (__mw_cas(&m->is_freed, 0, 1) != 0) {
    __mw_found_here(&self, MW_FOLLOW_FREED_TWICE, site, (__mw_u64)pointer);
  } else {
    if (__mw_follows(MW_FOLLOW_INITIALISATION)) __mw_set_block(&self, (__mw_u64)pointer, m->bytes, true);
    free(pointer);
  }
}

#include "moonwarp/checked_run/written.h"

#endif
