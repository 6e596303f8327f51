/* Barriers and warp functions of checked runs. They wait in software, so that a wait which cannot end on the hardware
 * is detected and ended: threads at different barriers continue together, and a warp function continues without lanes
 * that have returned, wait at a barrier of the block, or wait in other warp functions while all lanes wait. */
#ifndef MOONWARP_FOLLOW_WAIT_H
#define MOONWARP_FOLLOW_WAIT_H

#include "moonwarp/checked_run/order.h"

__mw_follow_inline mw_follow_warp *__mw_warp_of(const __mw_self *self) { return &self->block->warps[self->id / 32]; }
__mw_follow_inline __mw_u32 __mw_lowest(__mw_u32 lanes) { return (__mw_u32)__builtin_ctz(lanes); }

/* The lanes of the thread's warp that the block has. */
__mw_follow_inline __mw_u32 __mw_existing(const __mw_self *self) {
  __mw_u32 left = self->launch->threads - self->id / 32 * 32;
  return left >= 32 ? ~0u : (1u << left) - 1;
}

/* ---- barriers of the block ---- */

/* Two places where threads wait that should wait at one. */
__mw_follow_function void __mw_found_two(const __mw_self *self, __mw_u32 kind, __mw_u32 site, __mw_u32 other,
                                         __mw_u32 thread) {
  mw_follow_end here = __mw_end_of(self, other, 0), mine = __mw_end_of(self, site, 0);
  here.thread = thread;
  bool mine_first = site < other;
  mw_follow_finding *f = __mw_found(self, kind, mine_first ? mine : here, mine_first ? here : mine, 0);
  if (f) f->ready = 1;
}

/* Wait for the block at the hardware's barrier, which lets threads at different barriers continue together and does not
   wait for those that have returned. Each arrival overwrites the place of those before, and all compare themselves with
   the latest. Returns how many threads there are. */
__mw_follow_inline __mw_u32 __mw_arrive(const __mw_self *self, __mw_u32 site) {
  mw_follow_here *here = __mw_here();
  __mw_u32 bit = 1u << self->id % 32;
  __mw_end_polls(self);
  if (__mw_follows(MW_FOLLOW_WARPS)) __mw_or(&__mw_warp_of(self)->waits, bit);
  if (__mw_follows(MW_FOLLOW_ARRIVALS)) __mw_add(&self->block->arrived, 1);
  *(volatile __mw_u64 *)&here->place = (__mw_u64)site << 32 | self->id;
  __mw_u32 arrived = __mw_follow_meet_count(true);
  __mw_u64 latest = *(volatile __mw_u64 *)&here->place;
  __mw_u32 thread = (__mw_u32)latest, other = (__mw_u32)(latest >> 32);
  if (__mw_follows(MW_FOLLOW_WARPS)) __mw_and(&__mw_warp_of(self)->waits, ~bit);
  if (__mw_follows(MW_FOLLOW_ARRIVALS)) __mw_add(&self->block->arrived, ~0u);
  if (other != site) __mw_found_two(self, MW_FOLLOW_DIVERGED, site, other, thread);
  if (thread == self->id && arrived != self->launch->threads)
    __mw_found_here(self, MW_FOLLOW_RETURNED, site, *(volatile __mw_u32 *)&here->gone_thread);
  return arrived;
}

/* Before a barrier: what the others know after it. */
__mw_follow_inline void __mw_reach_barrier(const __mw_self *self) {
  mw_follow_thread *t = self->thread;
  if (t->groups) *(volatile __mw_u32 *)&t->passed[(t->epoch + 1) & 1] = t->done;
}

__mw_follow_inline void __mw_pass_barrier(const __mw_self *self) {
  mw_follow_thread *t = self->thread;
  t->epoch++;
  t->step = t->floor = 0;
  if (!t->has_known) return;
  for (int i = 0; i < 32; i++) t->known[i] = 0;
  t->has_known = 0;
}

/* ---- lanes that call a warp function ---- */

/* The first to arrive says at which place; the others compare. */
__mw_follow_inline void __mw_compare_places(const __mw_self *self, __mw_u32 *site_at, __mw_u32 *thread_at,
                                            __mw_u32 site, __mw_u32 kind) {
  __mw_u32 first = __mw_cas(site_at, 0, site);
  if (!first)
    *(volatile __mw_u32 *)thread_at = self->id;
  else if (first != site)
    __mw_found_two(self, kind, site, first, __mw_load(thread_at));
}

/* How often a lane finds all lanes of its warp waiting before it gives up those of its mask that have not arrived. */
enum { MW_FOLLOW_PATIENCE = 20000 };

/* The mask's group; NULL: there is no room. */
__mw_follow_inline mw_follow_group *__mw_group_of(mw_follow_warp *w, __mw_u32 mask) {
  __mw_u32 at = mask * 0x9e3779b9u >> 27;
  for (int i = 0; i < MW_FOLLOW_LANES; i++, at++) {
    mw_follow_group *g = &w->groups[at % MW_FOLLOW_LANES];
    __mw_u32 found = __mw_load(&g->mask);
    if (!found) found = __mw_cas(&g->mask, 0, mask);
    if (!found || found == mask) return g;
  }
  return 0;
}

__mw_follow_function void __mw_end_gathering(const __mw_self *self, mw_follow_group *g, __mw_u32 mask, __mw_u32 arrived,
                                             __mw_u32 site) {
  __mw_u32 missing = mask & ~arrived;
  if (missing) __mw_found_here(self, MW_FOLLOW_NEVER, site, mask | (__mw_u64)__mw_lowest(missing) << 32);
  __mw_and(&__mw_warp_of(self)->gathers, ~arrived);
  *(volatile __mw_u32 *)&g->takes_part = arrived;
  *(volatile __mw_u32 *)&g->site = 0;
  __mw_order();
  *(volatile __mw_u32 *)&g->generation = g->generation + 1;
}

/* Wait until all lanes of the mask have arrived, or those that have not can no longer. */
__mw_follow_function void __mw_wait_for_lanes(const __mw_self *self, mw_follow_group *g, __mw_u32 mask, __mw_u32 site,
                                              bool compares) {
  mw_follow_warp *w = __mw_warp_of(self);
  __mw_u32 bit = 1u << self->id % 32, generation = __mw_load(&g->generation), stuck = 0;
  if (compares) __mw_compare_places(self, &g->site, &g->lane, site, MW_FOLLOW_OTHER_CALL);
  __mw_or(&g->arrived, bit);
  __mw_or(&w->gathers, bit);
  while (__mw_load(&g->generation) == generation) {
    __mw_u32 arrived = __mw_load(&g->arrived), gone = __mw_load(&w->exited) | __mw_load(&w->waits);
    bool all = (mask & ~(arrived | gone)) == 0;
    stuck = (__mw_existing(self) & ~(gone | __mw_load(&w->gathers))) == 0 ? stuck + 1 : 0;
    if ((all || stuck > MW_FOLLOW_PATIENCE) && arrived & bit && __mw_cas(&g->arrived, arrived, 0) == arrived)
      __mw_end_gathering(self, g, mask, arrived, site);
    else
      __mw_wait_a_little();
  }
  __mw_order();
}

/* Wait for the lanes of the mask; returns those that do call. compares: they have to make the same call. */
__mw_follow_function __mw_u32 __mw_gather(const __mw_self *self, __mw_u32 mask, __mw_u32 site, bool compares) {
  __mw_u32 bit = 1u << self->id % 32;
  mask &= __mw_existing(self);
  if (!(mask & bit)) {
    __mw_found_here(self, MW_FOLLOW_OWN_LANE, site, mask);
    return bit;
  }
  mw_follow_group *g = __mw_group_of(__mw_warp_of(self), mask);
  if (!g) {
    __mw_note(self->session, MW_FOLLOW_MASKS);
    return mask;
  }
  __mw_end_polls(self);
  __mw_wait_for_lanes(self, g, mask, site, compares);
  __mw_u32 takes_part = __mw_load(&g->takes_part);
  __mw_follow_converge(takes_part);
  return takes_part;
}

/* ---- __syncwarp ---- */

__mw_follow_inline __mw_u32 __mw_most(__mw_u32 a, __mw_u32 b) { return a > b ? a : b; }

/* The lanes have arrived: each now knows what the others did and know. */
__mw_follow_function void __mw_join_lanes(const __mw_self *self, __mw_u32 lanes) {
  mw_follow_thread *mine = self->thread, *all = self->block->threads + self->id / 32 * 32;
  __mw_u32 live = __mw_existing(self) & ~__mw_load(&__mw_warp_of(self)->exited), step = 0, floor = mine->floor;
  bool has_all = (live & ~lanes) == 0;
  if (mine->groups) *(volatile __mw_u32 *)&mine->joined = mine->done;
  unsigned short known[32];
  for (int k = 0; k < 32 && !has_all; k++) known[k] = mine->has_known ? mine->known[k] : 0;
  for (__mw_u32 left = lanes; left; left &= left - 1) {
    const mw_follow_thread *t = &all[__mw_lowest(left)];
    step = __mw_most(step, __mw_load(&t->step));
    if (has_all) continue;
    __mw_u32 other = __mw_load(&t->floor);
    bool knows = __mw_load(&t->has_known);
    for (int k = 0; k < 32; k++) {
      __mw_u32 value = knows ? __mw_most(*(const volatile unsigned short *)&t->known[k], other) : other;
      if (value > known[k]) known[k] = (unsigned short)value;
    }
  }
  step++;
  __mw_follow_converge(lanes);
  mine->step = step;
  if (has_all) {
    mine->floor = step;
  } else {
    for (int k = 0; k < 32; k++) mine->known[k] = lanes >> k & 1 ? (unsigned short)step : known[k];
    mine->has_known = 1;
    mine->floor = floor;
  }
  __mw_order();
  __mw_follow_converge(lanes);
}

#endif
