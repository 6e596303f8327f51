/* CUDA threads as fibers: each thread of a block has a stack of its own, and a barrier switches to the next thread.
 *
 * The threads that have started and not returned form a ring in the order of their ids. A barrier is just a switch to
 * the next thread in the ring: when control returns to a thread, every other thread has arrived at its barrier or has
 * returned, whatever control flow, call or recursion contains the barrier. Threads that returned have left the ring, so
 * no thread waits for them. A thread starts when the one before it first waits or returns; a thread that returns
 * without having waited passes its stack on to the next.
 *
 * `phase` changes each time control passes the head of the ring, that is, when all have arrived. Votes are counted for
 * each phase: a count is complete when the phase has ended, and is cleared one phase later, when all threads have read
 * it.
 *
 * Threads that synchronise within warps also wait for other reasons: warp_scheduler.c. */
#include "fiber.h"
#include "cpu/memory/heap.h"

#include <stdio.h>

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13: a guard that needs no mapping of its own */
#endif

enum { GUARDS_MOST = 8000 }; /* guards of the process that are mappings: heap.c explains the limit */

extern void cpu_fiber_begin(void);

void *cpu_fiber_prepare(void *top, void (*function)(void *), void *argument) {
#if defined(__x86_64__)
  uintptr_t *place = (uintptr_t *)top - 7; /* r15 r14 r13 r12 rbx rbp, return address */
  place[3] = (uintptr_t)function;
  place[4] = (uintptr_t)argument;
  place[5] = 0;
  place[6] = (uintptr_t)cpu_fiber_begin;
#else
  uintptr_t *place = (uintptr_t *)top - 20; /* x29 x30 x19 … x28 d8 … d15 */
  place[0] = 0;
  place[1] = (uintptr_t)cpu_fiber_begin;
  place[2] = (uintptr_t)argument;
  place[3] = (uintptr_t)function;
#endif
  return place;
}

/* ---- stacks ---- */

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

cpu_stack cpu_ring_stack(const cpu_ring *ring, const cpu_fiber *fiber) {
  size_t index = (size_t)(fiber - ring->fibers);
  return (cpu_stack){ring->area + (index + 1) * ring->stride - ring->stack, ring->stack};
}

void cpu_ring_forget(const cpu_worker *worker) {
  const cpu_ring *ring = &worker->ring;
  cpu_stack all = {ring->area, ring->stride * ring->room};
  if (ring->area) cpu_stack_forget(&all);
}

void cpu_ring_free(cpu_worker *worker) {
  cpu_ring *ring = &worker->ring;
  cpu_ring_forget(worker);
  cpu_heap_unreserve(worker->device->heap, ring->area);
  ring->area = NULL;
  ring->opened = 0;
}

/* Set the size of stacks; they are allocated when a block first needs them. */
void cpu_ring_reset(cpu_worker *worker, size_t stack) {
  cpu_ring *ring = &worker->ring;
  size_t page = page_size();
  stack = (stack + CPU_STACK_MARGIN + page - 1) & ~(page - 1);
  if (ring->stack == stack) return;
  cpu_ring_free(worker);
  ring->stack = stack;
  ring->stride = stack + worker->guard;
}

/* Use guard markers if the operating system has them, else a mapping while there are not too many. */
static void make_guard(unsigned char *low, size_t bytes) {
  static atomic_bool no_markers;
  static atomic_int mappings;
  if (!atomic_load_explicit(&no_markers, memory_order_relaxed)) {
    if (!madvise(low, bytes, MADV_GUARD_INSTALL)) return;
    atomic_store(&no_markers, true);
  }
  if (atomic_fetch_add(&mappings, 1) < GUARDS_MOST) mprotect(low, bytes, PROT_NONE);
}

/* Reserve stacks for the most threads of a block or, if address space is scarce, for this block's. */
static bool reserve_stacks(cpu_worker *worker, uint32_t count) {
  cpu_ring *ring = &worker->ring;
  if (ring->area && count <= ring->room) return true;
  cpu_ring_free(worker);
  ring->room = CPU_MAX_THREADS;
  ring->area = cpu_heap_reserve(worker->device->heap, ring->stride * ring->room);
  if (ring->area) return true;
  ring->room = count;
  ring->area = cpu_heap_reserve(worker->device->heap, ring->stride * ring->room);
  return ring->area != NULL;
}

static bool open_stacks(cpu_worker *worker, uint32_t count) {
  cpu_ring *ring = &worker->ring;
  if (!reserve_stacks(worker, count)) return false;
  unsigned char *low = ring->area + ring->opened * ring->stride;
  if (mprotect(low, (count - ring->opened) * ring->stride, PROT_READ | PROT_WRITE)) return false;
  for (; ring->opened < count; ring->opened++, low += ring->stride) make_guard(low, ring->stride - ring->stack);
  return true;
}

typedef struct need {
  cpu_worker *worker;
  uint32_t count;
  bool met;
} need;

static void meet_need(void *argument) {
  need *n = argument;
  n->met = n->count <= CPU_MAX_THREADS && open_stacks(n->worker, n->count);
}

void cpu_ring_open(cpu_worker *worker, uint32_t count) {
  if (count <= worker->ring.opened) return;
  need n = {worker, count, false};
  cpu_service_call(&worker->base, meet_need, &n);
  if (n.met) return;
  char what[160];
  snprintf(what, sizeof what, "found no memory for %u stacks of %zu bytes, one for each thread", count,
           worker->ring.stack);
  cpu_service_fail(&worker->base, MW_LAUNCH_OUT_OF_RESOURCES, NULL, 0, what);
}

/* ---- running ---- */

/* The fiber after `fiber`. When control reaches the head of the ring, all threads have arrived. */
static inline cpu_fiber *pass(cpu_ring *ring, const cpu_fiber *fiber) {
  if (fiber->next == ring->head) {
    ring->phase ^= 1;
    ring->zeros[ring->phase] = ring->ones[ring->phase] = 0;
  }
  return fiber->next;
}

/* Remove a thread that has returned; the result is the next one to run. */
static cpu_fiber *exit_ring(cpu_ring *ring, cpu_fiber *fiber) {
  if (fiber->next == fiber) return &ring->home;
  cpu_fiber *next = pass(ring, fiber);
  fiber->previous->next = next;
  next->previous = fiber->previous;
  if (ring->head == fiber) ring->head = next;
  return next;
}

CPU_UNSANITIZED static void fiber_main(void *argument) {
  cpu_worker *worker = argument;
  cpu_ring *ring = &worker->ring;
  cpu_fiber_arrive(worker, ring->current);
  for (;;) {
    cpu_fiber *self = ring->current;
    ring->function(ring->frame, &worker->base, self->thread);
    if (ring->started < ring->count) {
      worker->base.thread = self->thread = ring->started++;
    } else {
      cpu_fiber_change(worker, self, exit_ring(ring, self));
    }
  }
}

/* A fiber for the next thread, at the tail of the ring. */
CPU_UNSANITIZED static cpu_fiber *start(cpu_worker *worker, cpu_fiber *tail) {
  cpu_ring *ring = &worker->ring;
  cpu_fiber *fiber = tail ? tail + 1 : ring->fibers;
  fiber->thread = ring->started++;
  cpu_fiber_reset(worker, fiber, fiber_main);
  if (!tail) tail = ring->head = fiber;
  fiber->previous = tail;
  fiber->next = ring->head;
  tail->next = fiber;
  ring->head->previous = fiber;
  return fiber;
}

CPU_UNSANITIZED void cpu_run_fibers(const mw_frame *frame, mw_worker *base, mw_thread_function *function,
                                    uint32_t count) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_ring *ring = &worker->ring;
  if (count == 0) return;
  if (count > ring->opened) {
    CPU_SERVICE_ENTER(base);
    cpu_ring_open(worker, count);
  }
  ring->function = function;
  ring->frame = frame;
  ring->started = 0;
  ring->count = count;
  ring->sees_warps = false;
  ring->phase = 0;
  ring->zeros[0] = ring->ones[0] = 0;
  ring->home.thread = ~0u;
  cpu_fiber_change(worker, &ring->home, start(worker, NULL));
}

CPU_UNSANITIZED static inline void wait(cpu_worker *worker) {
  cpu_ring *ring = &worker->ring;
  cpu_fiber *self = ring->current;
  if (self == &ring->home) return; /* outside of run_fibers: a single thread need not wait */
  cpu_fiber *next = ring->started < ring->count ? start(worker, self) : pass(ring, self);
  if (next != self) cpu_fiber_change(worker, self, next);
}

CPU_UNSANITIZED void cpu_barrier(mw_worker *base) {
  cpu_worker *worker = (cpu_worker *)base;
  if (worker->ring.sees_warps) {
    CPU_SERVICE_ENTER(base);
    cpu_warps_barrier(worker);
  } else {
    wait(worker);
  }
}

CPU_UNSANITIZED uint32_t cpu_barrier_vote(mw_worker *base, mw_vote vote, int32_t predicate) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_ring *ring = &worker->ring;
  uint32_t phase = ring->phase;
  if (ring->sees_warps) {
    CPU_SERVICE_ENTER(base);
    return cpu_warps_vote(worker, vote, predicate);
  }
  if (predicate)
    ring->ones[phase]++;
  else
    ring->zeros[phase]++;
  wait(worker);
  switch (vote) {
  case MW_VOTE_AND: return ring->zeros[phase] == 0;
  case MW_VOTE_OR: return ring->ones[phase] != 0;
  default: return ring->ones[phase];
  }
}
