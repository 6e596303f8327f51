/* Functions that mwcc calls in kernels of a measured run on a GPU (src/mwcc/gpu/measured_run.c). They count what warps
 * do, in memory that the host reads (src/cuda/measure). */
#ifndef MOONWARP_MEASURED_CALLS_H
#define MOONWARP_MEASURED_CALLS_H

#include "moonwarp/measured_run/count.h"

#define __mw_measured_called extern "C" __attribute__((device, noinline, nodebug, used))

/* ---- the launch ---- */

/* The launch, for functions that are not inlined, where a kernel's parameter is not available. */
static __attribute__((shared)) unsigned long long __mw_measured_now;

__mw_measured_called void __mw_guard_measured_begin(unsigned long long launch) {
  *(volatile unsigned long long *)&__mw_measured_now = launch;
}
__mw_measured_called unsigned long long __mw_guard_measured_launch() {
  return *(volatile unsigned long long *)&__mw_measured_now;
}

__mw_measured_inline unsigned __mw_measured_lane() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__mw_measured_inline mw_measured_sums *__mw_measured_sums_of(const mw_measured_launch *launch, unsigned site,
                                                             unsigned space) {
  unsigned multiprocessor;
  asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  unsigned long long at = multiprocessor % MW_MEASURED_COPIES * (unsigned long long)launch->site_count + site;
  return (mw_measured_sums *)launch->sums + at * MW_MEASURED_SPACES + space;
}
__mw_measured_inline void __mw_measured_add(unsigned long long *to, unsigned long long number) {
  if (number) asm volatile("red.add.u64 [%0], %1;" : : "l"(to), "l"(number) : "memory");
}
__mw_measured_inline unsigned __mw_measured_exchange(unsigned *at, unsigned value) {
  unsigned old;
  asm volatile("atom.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
__mw_measured_inline unsigned __mw_measured_next(unsigned *at) {
  unsigned old;
  asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(at) : "memory");
  return old;
}
__mw_measured_inline bool __mw_measured_is_drawn() { return (blockIdx.x | blockIdx.y | blockIdx.z) == 0; }

/* ---- barriers, warp functions, fences, branches, basic blocks ---- */

__mw_measured_inline void __mw_measured_event(unsigned long long launch, unsigned site, bool is_full, bool diverges,
                                              unsigned lanes) {
  if (__mw_measured_lane() != __mw_measured_lowest(lanes)) return;
  mw_measured_sums *s = __mw_measured_sums_of((const mw_measured_launch *)launch, site, 0);
  __mw_measured_add(&s->executed, 1);
  __mw_measured_add(&s->lanes, (unsigned)__popc(lanes));
  __mw_measured_add(&s->full, is_full);
  __mw_measured_add(&s->divergent, diverges);
}

/* The lanes that begin a kernel together, and those that the hardware runs together. */
__mw_measured_called unsigned __mw_guard_measured_warp() {
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned rest = blockDim.x * blockDim.y * blockDim.z - thread / 32 * 32;
  return rest < 32 ? (1u << rest) - 1 : ~0u;
}
__mw_measured_called unsigned __mw_guard_measured_active() { return __activemask(); }

__mw_measured_called void __mw_guard_measured_event(unsigned long long launch, unsigned site, unsigned lanes) {
  if (launch) __mw_measured_event(launch, site, lanes == ~0u, false, lanes);
  __syncwarp(lanes);
}

/* Those of `lanes` that take the branch. */
__mw_measured_called unsigned __mw_guard_measured_branch(unsigned long long launch, unsigned site, unsigned lanes,
                                                         unsigned takes) {
  unsigned taken = __ballot_sync(lanes, takes != 0);
  if (launch && site != MW_MEASURED_NO_SITE)
    __mw_measured_event(launch, site, taken == lanes, taken && taken != lanes, lanes);
  __syncwarp(lanes);
  return taken;
}

__mw_measured_inline void __mw_measured_step_of(mw_measured_launch *launch, unsigned site, unsigned lanes) {
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if (!__mw_measured_is_drawn() || thread >= 32 || __mw_measured_lane() != __mw_measured_lowest(lanes)) return;
  unsigned step = *(volatile unsigned *)&launch->step_count;
  if (step >= MW_MEASURED_STEPS) return;
  step = __mw_measured_next(&launch->step_count);
  if (step < MW_MEASURED_STEPS) launch->steps[step] = (mw_measured_step){site, lanes};
}

/* A basic block, at which `mask` meets: those of its lanes that come. For one that goes elsewhere the result is not
   used. All of this is one function, so that lanes at several places wait for each other at one instruction. */
__mw_measured_called unsigned __mw_guard_measured_code(unsigned long long launch, unsigned site, unsigned mask,
                                                       unsigned how) {
  if (how == MW_MEASURED_STAYS) return 0;
  unsigned lanes = __ballot_sync(mask, how == MW_MEASURED_COMES);
  if (how == MW_MEASURED_GOES) return 0;
  if (launch && site != MW_MEASURED_NO_SITE) {
    __mw_measured_event(launch, site, lanes == ~0u, false, lanes);
    __mw_measured_step_of((mw_measured_launch *)launch, site, lanes);
  }
  __syncwarp(lanes);
  return lanes;
}

/* ---- accesses ---- */

/* The first one in the launch's first block. */
__mw_measured_inline void __mw_measured_take_sample(const mw_measured_launch *launch, unsigned site,
                                                    const __mw_measured_call &c) {
  mw_measured_sample *sample = (mw_measured_sample *)launch->samples + site;
  unsigned leader = __mw_measured_lowest(c.lanes), is_taken = 1;
  if (c.lane == leader && !*(volatile unsigned *)&sample->lanes)
    is_taken = __mw_measured_exchange(&sample->is_taken, 1);
  if (__shfl_sync(c.lanes, is_taken, (int)leader)) return;
  sample->at[c.lane] = c.address;
  if (c.lane == leader) sample->lanes = c.lanes;
}

/* The space of a generic address, as mw_site.space. */
__mw_measured_inline unsigned __mw_measured_space(unsigned long long address) {
  const void *pointer = (const void *)address;
  return __isShared(pointer) ? 3 : __isLocal(pointer) ? 5 : __isConstant(pointer) ? 4 : 1;
}

__mw_measured_called void __mw_guard_measured_access(unsigned long long address, unsigned site, unsigned lanes,
                                                     unsigned what, unsigned bytes, unsigned long long at) {
  const mw_measured_launch *launch = (const mw_measured_launch *)address;
  enum { SHARED = 3 };
  if (!launch) return;
  __mw_measured_call c = {at, lanes, __mw_measured_lane(), bytes, what};
  mw_measured_sums s = {};
  unsigned space = what >> MW_MEASURED_SPACE & 15;
  if (!space) space = __shfl_sync(c.lanes, __mw_measured_space(at), (int)__mw_measured_lowest(c.lanes));
  if (__mw_measured_is_drawn()) __mw_measured_take_sample(launch, site, c);
  if (space == SHARED)
    __mw_measured_shared(c, launch->rules, s);
  else
    __mw_measured_global(c, launch->rules, s);
  s.executed = 1;
  s.lanes = (unsigned)__popc(c.lanes);
  s.full = c.lanes == ~0u;
  if (c.lane == __mw_measured_lowest(c.lanes)) {
    unsigned long long *to =
        (unsigned long long *)__mw_measured_sums_of(launch, site, space < MW_MEASURED_SPACES ? space : 0);
    const unsigned long long *from = (const unsigned long long *)&s;
    for (unsigned i = 0; i < sizeof s / sizeof *from; i++) __mw_measured_add(to + i, from[i]);
  }
  __syncwarp(c.lanes);
}

#endif
