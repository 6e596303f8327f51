/* A worker: the resources that a thread needs to run blocks. The part that generated code uses comes first. */
#ifndef MW_CPU_WORKER_H
#define MW_CPU_WORKER_H

#include "cpu/schedule/command.h"
#include "cpu/cpu.h"
#include "cpu/fault/fault.h"
#include "fiber_switch.h"

#include <signal.h>

typedef struct cpu_fiber cpu_fiber;
struct cpu_fiber {
  void *place; /* the context at which cpu_switch resumes it */
  cpu_fiber *next, *previous;
  uint32_t thread;
  void *kept; /* AddressSanitizer's state of its stack */
};

/* The threads of the current block that are alive and have started, in order of their ids (fiber.c). */
typedef struct cpu_ring {
  cpu_fiber *fibers; /* CPU_MAX_THREADS of them, each with its stack in `area` */
  cpu_fiber *current, *head;
  uint32_t started, count;
  mw_thread_function *function;
  const mw_frame *frame;
  uint32_t phase;             /* the number of barriers that the block has passed, modulo 2 */
  uint32_t zeros[2], ones[2]; /* votes, by phase */
  cpu_fiber home;             /* run_fibers' caller */
  unsigned char *area;
  size_t stack, stride;  /* bytes of a stack; the distance between stacks */
  uint32_t room, opened; /* number of stacks that fit into `area`; that are accessible */
  bool sees_warps;       /* the block's threads are scheduled by warps (warp_scheduler.c), not in a ring */
} cpu_ring;

/* Grids that kernels launched and that can start, and free memory for more (children.h). */
typedef struct cpu_pile {
  struct cpu_grid *ready;
  struct cpu_cell *cells, *last_cell;
} cpu_pile;

/* What a worker needs for launches from kernels (children.h). */
typedef struct cpu_launching {
  struct cpu_grid *grid;     /* the grid whose blocks it runs; NULL: the host's launch */
  struct cpu_scope *scope;   /* the launches of the block that it runs or has run; NULL: none */
  cpu_pile *pile, own;       /* its own, or that of the worker whose service runs this one */
  struct cpu_worker *nested; /* runs grids while a block of this worker's waits */
  int depth;                 /* of such workers */
} cpu_launching;

typedef struct cpu_warps cpu_warps; /* warp.h has it */

/* An allocation that bounds checks have looked up. */
typedef struct cpu_seen {
  uint64_t base;
  size_t bytes;
} cpu_seen;

enum { CPU_SEEN = 4 };

/* The latest access in bounds that reads, of checked code that follows each thread. */
typedef struct cpu_read {
  uint64_t address, bytes, object; /* object: where its array begins */
  const char *name;                /* the array's, or NULL */
} cpu_read;

typedef struct cpu_worker cpu_worker;
struct cpu_worker {
  mw_worker base;
  cpu_device *device;
  cpu_command *command;
  const cpu_kernel_work *work; /* the kernel that it runs: the command's, or one that its kernels launched */
  cpu_launching launching;
  uint64_t first, last; /* blocks being run */

  void *host;                       /* the host's context, to leave the kernel; valid while in_kernel */
  volatile sig_atomic_t in_kernel;  /* on a kernel's stack: a signal may abandon the kernel … */
  volatile sig_atomic_t in_service; /* … but not now */
  uintptr_t call, call_frame;       /* the address of the latest service call in the kernel, and the service's frame */
  cpu_fault fault;                  /* why the kernel was abandoned */

  cpu_stack stack, host_stack; /* the blocks' stack, without the guard below it; the thread's own */
  void *host_kept;             /* AddressSanitizer's state of host_stack */
  unsigned char *area;         /* guard, stack, guard, shared memory, guard */
  size_t guard, wanted;        /* bytes of a guard; bytes of stack that `area` was made for */
  unsigned char *shared_end;
  char *buffer;         /* cpu_service_buffer */
  stack_t signal_stack; /* for a helping host thread */
  cpu_ring ring;
  cpu_warps *warps;
  cpu_seen seen[CPU_SEEN];       /* bounds_check.c's, valid while the heap's changes equal seen_changes */
  struct cpu_watching *watching; /* of a watched launch (cpu/watch/watch.h), or NULL */
  mw_tally *closed;              /* base.tallies, where none is counted in */
  uint64_t seen_changes;
  unsigned next_seen;
  mw_bounds *bounds; /* base.bounds, and how many it has room for */
  size_t bounds_room;
  /* A checked run's (check/check.h): its session, or NULL; the current block; whether this worker holds the session's
     lock, as it does while it follows each thread; and what a failed service found, for cpu_check_keeps: its kind, or
     NULL. */
  struct cpu_check *session;
  struct cpu_checked *checked;
  cpu_read latest_read;
  bool holds_check;
  uint64_t random; /* of a checked run with a seed: the state of the block's random numbers; 0: threads run in order */
  uint32_t screened; /* the latest screened launch that it has run, and where its shared memory was */
  const unsigned char *screened_shared;
  const char *finding, *finding_array;
  bool finding_stores, finding_has_index;
  int64_t finding_index;
  struct cpu_cluster *cluster; /* that its block is of (cluster.h), or NULL */
  unsigned char *room;         /* the end of the block's shared memory in its cluster's; NULL: in `area` */
  void *suspended;             /* the context of a block that waits at the grid barrier, or NULL */
  cpu_worker *idle;            /* cooperative.c's: the next unused worker */
};

enum {
  CPU_STACK_MARGIN = 12 << 10, /* beyond what a kernel needs: services, libm, colouring */
  CPU_BLOCK_STACK = 8 << 20,   /* least size of the stack that loop kernels run on */
  CPU_SIGNAL_STACK = 64 << 10,
  CPU_SHARED_ROOM = 256 << 10 /* address space for a block's shared memory */
};

cpu_worker *cpu_worker_new(cpu_device *device);
void cpu_worker_free(cpu_worker *worker);
/* Get what memory of the host's it still lacks, before cpu_worker_prepare; false as there. */
bool cpu_worker_equip(cpu_worker *worker);
/* Make the worker fit for the command's kernel, by the thread that holds it. False: worker->fault says why not. */
bool cpu_worker_prepare(cpu_worker *worker, cpu_command *command, const cpu_kernel_work *work);
/* Run the blocks first..last-1 of the kernel it is prepared for. False where the launch was abandoned: worker->fault
   says why. */
bool cpu_worker_run(cpu_worker *worker, uint64_t first, uint64_t last);
/* In a service: leave the kernel as it stands. cpu_worker_run or cpu_worker_resume returns true then, with
   worker->suspended set; cpu_worker_resume, by any thread, continues it, or abandons it if its command was
   stopped. */
void cpu_worker_suspend(cpu_worker *worker);
bool cpu_worker_resume(cpu_worker *worker);
/* Forget a suspended kernel. */
void cpu_worker_drop(cpu_worker *worker);
/* A linear block or thread index as x, y, z. (report.c) */
void cpu_unfold(uint64_t index, const uint32_t extent[3], unsigned out[3]);
/* Leave the kernel from inside, with worker->fault filled. */
_Noreturn void cpu_worker_abandon(cpu_worker *worker);

/* End what in_service began; a cancelling signal that came meanwhile takes effect now. */
void cpu_service_leave(cpu_worker *worker);

/* The worker whose kernel the calling thread runs, or NULL. Good in signal handlers. */
extern _Thread_local cpu_worker *cpu_worker_current __attribute__((tls_model("initial-exec")));

/* fiber.c */
void cpu_ring_reset(cpu_worker *worker, size_t stack);
void cpu_ring_free(cpu_worker *worker);
void cpu_ring_forget(const cpu_worker *worker); /* frames on its stacks were abandoned */
void cpu_run_fibers(const mw_frame *frame, mw_worker *base, mw_thread_function *function, uint32_t count);
void cpu_barrier(mw_worker *base);
uint32_t cpu_barrier_vote(mw_worker *base, mw_vote vote, int32_t predicate);
/* The stack that the worker's kernel runs on now. */
cpu_stack cpu_ring_stack(const cpu_ring *ring, const cpu_fiber *fiber);

/* warp_scheduler.c */
cpu_warps *cpu_warps_new(void);
void cpu_run_warps(const mw_frame *frame, mw_worker *base, mw_thread_function *function, uint32_t count);
uint64_t cpu_warp(mw_worker *base, mw_warp_call call, uint32_t mask, uint64_t value, uint32_t lane, uint32_t segments);
uint32_t cpu_warp_converge(mw_worker *base, uint32_t site);

/* named_barrier.c */
enum { CPU_NAMED_BARRIERS = 16 };
void cpu_named_barrier(mw_worker *base, uint32_t id, uint32_t wanted, uint32_t waits);
void cpu_wait_word(mw_worker *base, const uint32_t *word, uint32_t mask, uint32_t value);

#endif
