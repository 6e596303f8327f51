/* A worker's stack and shared memory; entering and leaving kernels.
 *
 * Entering: cpu_worker_run saves the thread's own context in worker->host, switches to the worker's stack and calls the
 * kernel there. Leaving: the kernel returns or is abandoned, either by cpu_worker_abandon from a service, or by a
 * signal handler (signal.c) that makes the interrupted thread continue in cpu_leave. An abandoned kernel is not cleaned
 * up, and need not be, since everything that it holds lies in the device's address range. in_kernel is set and cleared
 * on the kernel's stack, so that a signal finds it set only while worker->host is valid. */
#include "worker.h"
#include "cpu/watch/watch.h"
#include "cpu/check/check.h"
#include "cpu/memory/heap.h"
#include "services.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

_Thread_local cpu_worker *cpu_worker_current __attribute__((tls_model("initial-exec")));

cpu_worker *cpu_worker_new(cpu_device *device) {
  cpu_worker *worker = mw_alloc(sizeof *worker);
  uint64_t base, size;
  cpu_heap_range(device->heap, &base, &size);
  worker->device = device;
  worker->base.thread = ~0u;
  worker->launching.pile = &worker->launching.own;
  /* A large frame can skip a small guard; address space is plentiful unless the system limits it. */
  worker->guard = size >> 34 ? (size_t)64 << 10 : (size_t)sysconf(_SC_PAGESIZE);
  (void)cpu_worker_equip(worker);
  return worker;
}

bool cpu_worker_equip(cpu_worker *worker) {
  static const char what[] = "a thread that runs kernels";
  if (!worker->buffer) worker->buffer = mw_try_alloc(CPU_SERVICE_BUFFER, what);
  stack_t *signals = &worker->signal_stack;
  if (!signals->ss_sp) *signals = (stack_t){.ss_sp = mw_try_alloc(CPU_SIGNAL_STACK, what), .ss_size = CPU_SIGNAL_STACK};
  if (!worker->ring.fibers) worker->ring.fibers = mw_try_alloc(CPU_MAX_THREADS * sizeof *worker->ring.fibers, what);
  bool all = worker->buffer && signals->ss_sp && worker->ring.fibers;
  if (all && !worker->warps) worker->warps = cpu_warps_new(); /* last: its presence means that all is allocated */
  if (worker->warps) return true;
  worker->fault = (cpu_fault){.kind = CPU_FAULT_SERVICE, .code = MW_MEMORY_ALLOCATION};
  snprintf(worker->fault.what, sizeof worker->fault.what, "found no host memory for %s", what);
  return false;
}

void cpu_worker_free(cpu_worker *worker) {
  if (!worker) return;
  cpu_worker_free(worker->launching.nested);
  cpu_ring_free(worker);
  cpu_checked_free(worker->checked);
  cpu_heap_unreserve(worker->device->heap, worker->area);
  free(worker->ring.fibers);
  free(worker->warps);
  free(worker->bounds);
  free(worker->closed);
  free(worker->signal_stack.ss_sp);
  free(worker->buffer);
  free(worker);
}

static bool prepare_area(cpu_worker *worker, size_t wanted) {
  if (worker->area && wanted <= worker->wanted) return true;
  cpu_heap *heap = worker->device->heap;
  cpu_heap_unreserve(heap, worker->area);
  size_t page = (size_t)sysconf(_SC_PAGESIZE), guard = worker->guard;
  size_t stack = (wanted + page - 1) & ~(page - 1);
  unsigned char *area = cpu_heap_reserve(heap, 3 * guard + stack + CPU_SHARED_ROOM);
  worker->area = area;
  worker->wanted = wanted;
  if (!area) return false;
  worker->stack = (cpu_stack){area + guard, stack};
  return !mprotect(area + guard, stack, PROT_READ | PROT_WRITE) &&
         !mprotect(area + 2 * guard + stack, CPU_SHARED_ROOM, PROT_READ | PROT_WRITE);
}

/* Watched code finds its tallies, also where it is not watched. */
static void prepare_watching(cpu_worker *worker) {
  cpu_watched *launch = worker->command->watched;
  size_t sites = worker->work->kernel->unit->image->site_count;
  worker->watching = launch ? cpu_watched_enter(launch, worker) : NULL;
  if (worker->watching) {
    worker->base.tallies = cpu_watched_tallies(worker->watching);
  } else if (sites) {
    free(worker->closed);
    worker->base.tallies = worker->closed = mw_alloc(sites * sizeof *worker->closed);
  }
}

bool cpu_worker_prepare(cpu_worker *worker, cpu_command *command, const cpu_kernel_work *work) {
  size_t wanted = work->stack > CPU_BLOCK_STACK ? work->stack : CPU_BLOCK_STACK;
  worker->command = command;
  worker->work = work;
  prepare_watching(worker);
  if (!worker->warps) return false; /* cpu_worker_equip has recorded the fault */
  if (!prepare_area(worker, wanted + CPU_STACK_MARGIN)) {
    worker->fault = (cpu_fault){.kind = CPU_FAULT_SERVICE, .code = MW_LAUNCH_OUT_OF_RESOURCES};
    snprintf(worker->fault.what, sizeof worker->fault.what, "found no address space for a stack of %zu bytes", wanted);
    cpu_heap_unreserve(worker->device->heap, worker->area);
    worker->area = NULL;
    return false;
  }
  unsigned char *end = worker->area + 2 * worker->guard + worker->stack.size + CPU_SHARED_ROOM;
  worker->shared_end = worker->room ? worker->room : end;
  /* Shared memory ends at a guard, so that accesses past its static and dynamic parts fault. */
  worker->base.shared = worker->shared_end - ((work->shared + 255) & ~(size_t)255);
  worker->base.shared_bytes = (uint32_t)work->shared;
  cpu_ring_reset(worker, work->stack);
  return true;
}

CPU_UNSANITIZED static void kernel_main(void *argument) {
  cpu_worker *worker = argument;
  cpu_command *command = worker->command;
  cpu_stack_arrive(worker->ring.home.kept, &worker->host_stack);
  worker->ring.current = &worker->ring.home;
  worker->in_kernel = 1;
  atomic_signal_fence(memory_order_seq_cst);
  /* cpu_pool_stop sets `stop` and then sends the signal: either the signal finds in_kernel set, or `stop` is seen
     here. */
  if (!atomic_load(&command->stop)) {
    const cpu_kernel_work *work = worker->work;
    mw_block_function *run = work->instead ? work->instead : work->kernel->image->run;
    run(&work->frame, &worker->base, worker->first, worker->last);
  }
  atomic_signal_fence(memory_order_seq_cst);
  worker->in_kernel = 0;
  cpu_stack_leave(&worker->ring.home.kept, &worker->host_stack);
  /* A block that waited may have been resumed by another thread: leave to that thread, not to the one that entered
     first. */
  if (command->residents) cpu_leave(worker->host);
}

/* Continue with function(worker) below `top` of `stack`, until the kernel has ended, is suspended or is abandoned. */
CPU_UNSANITIZED static bool enter(cpu_worker *worker, const cpu_stack *stack, void *top, void (*function)(void *)) {
  worker->fault.kind = CPU_FAULT_NONE;
  cpu_check_enter(worker);
  cpu_bounds_find(worker);
  cpu_stack_leave(&worker->host_kept, stack);
  cpu_enter(&worker->host, top, function, worker);
  cpu_stack_arrive(worker->host_kept, NULL);
  cpu_check_leave(worker);
  if (worker->fault.kind == CPU_FAULT_NONE) return true;
  worker->in_service = 0;
  cpu_stack_forget(&worker->stack);
  cpu_ring_forget(worker);
  return false;
}

/* The block that the unit `at` of the block function's count belongs to. */
CPU_UNSANITIZED static uint64_t block_of(const cpu_kernel_work *work, uint64_t at) {
  const uint32_t *grid = work->frame.grid;
  return work->frame.iterations ? at % ((uint64_t)grid[0] * grid[1] * grid[2]) : at / cpu_kernel_gangs(work->kernel);
}

CPU_UNSANITIZED bool cpu_worker_run(cpu_worker *worker, uint64_t first, uint64_t last) {
  worker->first = first;
  worker->last = last;
  worker->base.block = block_of(worker->work, first);
  worker->base.thread = ~0u;
  worker->call = 0;
  if (worker->watching && worker->base.block == 0) cpu_watched_first_block(worker->watching);
  return enter(worker, &worker->stack, (char *)worker->stack.bottom + worker->stack.size, kernel_main);
}

CPU_UNSANITIZED _Noreturn void cpu_worker_abandon(cpu_worker *worker) {
  worker->in_kernel = 0;
  cpu_stack_leave(&worker->ring.current->kept, &worker->host_stack);
  cpu_leave(worker->host);
}

/* ---- suspended kernels ---- */

CPU_UNSANITIZED void cpu_worker_suspend(cpu_worker *worker) {
  void *kept = NULL;
  atomic_signal_fence(memory_order_seq_cst);
  worker->in_kernel = 0;
  cpu_stack_leave(&kept, &worker->host_stack);
  cpu_suspend(&worker->suspended, worker->host);
  cpu_stack_arrive(kept, &worker->host_stack);
  worker->in_kernel = 1;
  atomic_signal_fence(memory_order_seq_cst);
  if (!atomic_load(&worker->command->stop)) return;
  worker->fault = (cpu_fault){.kind = CPU_FAULT_CANCELLED, .pc = worker->call};
  cpu_worker_abandon(worker);
}

/* Runs below the suspended frames; its own frame is never returned to. */
CPU_UNSANITIZED CPU_ANY_FRAME static void resume_main(void *argument) {
  cpu_worker *worker = argument;
  void *unused, *place = worker->suspended;
  worker->suspended = NULL;
  cpu_switch(&unused, place);
}

CPU_UNSANITIZED bool cpu_worker_resume(cpu_worker *worker) {
  const cpu_ring *ring = &worker->ring;
  cpu_stack stack = ring->current == &ring->home ? worker->stack : cpu_ring_stack(ring, ring->current);
  void *top = (void *)(((uintptr_t)worker->suspended - 64) & ~(uintptr_t)15);
  return enter(worker, &stack, top, resume_main);
}

void cpu_worker_drop(cpu_worker *worker) {
  worker->suspended = NULL;
  worker->in_service = 0;
  cpu_stack_forget(&worker->stack);
  cpu_ring_free(worker);
}
