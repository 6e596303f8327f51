/* The table of services, which generated code calls through its frame. Files of their own have printf and assert
 * (device_printf.c), fibers (fiber.c, warp_scheduler.c) and malloc in kernels (device_malloc.c). */
#include "cluster.h"
#include "cooperative.h"
#include "cpu/check/check.h"
#include "cpu/children/children.h"
#include "services.h"
#include "cpu/watch/watch.h"
#include "worker.h"

#include <stdio.h>
#include <time.h>

/* ---- for services ---- */

void cpu_service_enter(mw_worker *base, void *return_address, void *frame) {
  cpu_worker *worker = (cpu_worker *)base;
  /* Minus 1: a call may be the last instruction of its line. */
  worker->call = (uintptr_t)return_address - 1;
  worker->call_frame = (uintptr_t)frame;
}

CPU_UNSANITIZED void cpu_service_leave(cpu_worker *worker) {
  atomic_signal_fence(memory_order_seq_cst);
  worker->in_service = 0;
  atomic_signal_fence(memory_order_seq_cst);
  if (!atomic_load(&worker->command->stop)) return;
  worker->fault = (cpu_fault){.kind = CPU_FAULT_CANCELLED, .pc = worker->call};
  cpu_worker_abandon(worker);
}

typedef struct call {
  cpu_worker *worker;
  void (*function)(void *);
  void *argument;
} call;

CPU_UNSANITIZED static void on_host_stack(void *argument) {
  call *c = argument;
  cpu_stack kernel;
  cpu_stack_arrive(c->worker->host_kept, &kernel);
  c->function(c->argument);
  cpu_stack_leave(&c->worker->host_kept, &kernel);
}

CPU_UNSANITIZED void cpu_service_call(mw_worker *base, void (*function)(void *), void *argument) {
  cpu_worker *worker = (cpu_worker *)base;
  call c = {worker, function, argument};
  void *kept = NULL;
  worker->in_service = 1;
  atomic_signal_fence(memory_order_seq_cst);
  cpu_stack_leave(&kept, &worker->host_stack);
  cpu_call_on(worker->host, on_host_stack, &c);
  cpu_stack_arrive(kept, NULL);
  cpu_service_leave(worker);
}

char *cpu_service_buffer(mw_worker *base) { return ((cpu_worker *)base)->buffer; }

_Noreturn void cpu_service_fail(mw_worker *base, int code, const char *file, int line, const char *what) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_fault *fault = &worker->fault;
  fault->code = code;
  fault->pc = worker->call;
  fault->file = file;
  fault->line = line;
  fault->address = 0;
  snprintf(fault->what, sizeof fault->what, "%s", what);
  fault->kind = CPU_FAULT_SERVICE;
  cpu_worker_abandon(worker);
}

const cpu_kernel *cpu_worker_kernel(const mw_worker *base) { return ((const cpu_worker *)base)->work->kernel; }

cpu_device *cpu_worker_device(const mw_worker *base) { return ((const cpu_worker *)base)->device; }

/* ---- services ---- */

static void service_trap(mw_worker *base, mw_trap trap) {
  CPU_SERVICE_ENTER(base);
  switch (trap) {
  case MW_TRAP_STACK:
    cpu_service_fail(base, MW_HARDWARE_STACK_ERROR, NULL, 0, "asked for more local memory than a thread has stack");
  case MW_TRAP_UNREACHABLE:
    cpu_service_fail(base, MW_LAUNCH_FAILURE, NULL, 0, "reached a place that its source says cannot be reached");
  default: cpu_service_fail(base, MW_LAUNCH_FAILURE, NULL, 0, "called __trap()");
  }
}

static uint64_t service_clock(mw_worker *base) {
  (void)base;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_within(const void *address, const void *start, size_t bytes) {
  return start && (uintptr_t)address - (uintptr_t)start < bytes;
}

static bool is_constant(const cpu_kernel_work *work, const void *address) {
  const mw_mwo *image = work->kernel->unit->image;
  for (size_t i = 0; i < image->variable_count; i++)
    if (image->variables[i].is_constant && is_within(address, work->frame.symbols[i], image->variables[i].size))
      return true;
  return false;
}

static uint32_t service_memory_kind(mw_worker *base, const void *address) {
  const cpu_worker *worker = (const cpu_worker *)base;
  const cpu_kernel_work *work = worker->work;
  const cpu_ring *ring = &worker->ring;
  if (is_within(address, base->shared, (size_t)(worker->shared_end - base->shared))) return MW_SPACE_SHARED;
  if (cpu_cluster_has(worker, address)) return MW_SPACE_CLUSTER;
  if (is_within(address, worker->stack.bottom, worker->stack.size)) return MW_SPACE_LOCAL;
  if (is_within(address, ring->area, ring->stride * ring->room)) return MW_SPACE_LOCAL;
  if (is_constant(work, address)) return MW_SPACE_CONSTANT;
  bool on_heap = is_within(address, (const void *)(uintptr_t)work->frame.heap_base, work->frame.heap_size);
  return on_heap ? MW_SPACE_GLOBAL : MW_SPACE_NONE;
}

const mw_services cpu_services = {
    .run_fibers = cpu_run_fibers,
    .barrier = cpu_barrier,
    .barrier_vote = cpu_barrier_vote,
    .run_warps = cpu_run_warps,
    .warp = cpu_warp,
    .warp_converge = cpu_warp_converge,
    .named_barrier = cpu_named_barrier,
    .wait_word = cpu_wait_word,
    .trap = service_trap,
    .assert_fail = cpu_services_assert,
    .print = cpu_services_print,
    .check_access = cpu_check_access,
    .check_event = cpu_check_event,
    .check_shadow = cpu_check_shadow,
    .clock = service_clock,
    .device_malloc = cpu_services_malloc,
    .device_free = cpu_services_free,
    .grid_wait = cpu_grid_wait,
    .memory_kind = service_memory_kind,
    .watch = cpu_watch_call,
    .watch_thread = cpu_watch_thread,
    .device_runtime = cpu_device_runtime,
    .watch_runs = cpu_watch_runs,
    .cluster_wait = cpu_cluster_wait,
    .bulk = cpu_bulk_copy,
    .wait_outside = cpu_wait_outside,
};
