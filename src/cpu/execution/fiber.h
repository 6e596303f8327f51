/* Fibers of a worker: their stacks, and switching between them. fiber.c runs blocks whose threads synchronise only at
 * barriers of the block, warp_scheduler.c those that also synchronise within warps. */
#ifndef MW_CPU_FIBER_H
#define MW_CPU_FIBER_H

#include "worker.h"

/* Allocate stacks for `count` fibers; the launch fails if there is no memory. In a service. */
void cpu_ring_open(cpu_worker *worker, uint32_t count);

/* warp_scheduler.c: the barriers of blocks where ring.sees_warps */
void cpu_warps_barrier(cpu_worker *worker);
uint32_t cpu_warps_vote(cpu_worker *worker, mw_vote vote, int32_t predicate);

#if CPU_ASAN
/* AddressSanitizer cannot be interrupted between leaving a stack and arriving on the next: in_service defers a
   cancelling signal meanwhile. */
CPU_UNSANITIZED static inline void cpu_fiber_depart(cpu_worker *worker, cpu_fiber *from, const cpu_fiber *to) {
  cpu_stack stack = to == &worker->ring.home ? worker->stack : cpu_ring_stack(&worker->ring, to);
  worker->in_service = 1;
  cpu_stack_leave(&from->kept, &stack);
}

CPU_UNSANITIZED static inline void cpu_fiber_arrive(cpu_worker *worker, const cpu_fiber *to) {
  cpu_stack_arrive(to->kept, NULL);
  cpu_service_leave(worker);
}
#else
static inline void cpu_fiber_depart(cpu_worker *worker, cpu_fiber *from, const cpu_fiber *to) {
  (void)worker, (void)from, (void)to;
}
static inline void cpu_fiber_arrive(cpu_worker *worker, const cpu_fiber *to) { (void)worker, (void)to; }
#endif

CPU_UNSANITIZED static inline void cpu_fiber_change(cpu_worker *worker, cpu_fiber *from, cpu_fiber *to) {
  worker->ring.current = to;
  worker->base.thread = to->thread;
  cpu_fiber_depart(worker, from, to);
  cpu_switch(&from->place, to->place);
  cpu_fiber_arrive(worker, from);
}

/* Prepare the fiber to start with function(worker). The fibers' stacks are a whole number of pages apart, so their tops
   are coloured: equal offsets within the page would map to the same few cache sets. */
static inline void cpu_fiber_reset(cpu_worker *worker, cpu_fiber *fiber, void (*function)(void *)) {
  cpu_ring *ring = &worker->ring;
  size_t index = (size_t)(fiber - ring->fibers), color = index * 448 % 4096;
  fiber->place = cpu_fiber_prepare(ring->area + (index + 1) * ring->stride - color, function, worker);
}

#endif
