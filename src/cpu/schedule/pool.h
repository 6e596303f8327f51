/* Worker slots, and the threads that fill them.
 *
 * A slot (cpu_worker) is what it takes to run blocks; there are as many as the device has workers, so never more blocks
 * run at once. The pool's threads take slots, and so does a host thread while it waits for a stream: a launch that is
 * waited for at once needs no other thread. */
#ifndef MW_CPU_POOL_H
#define MW_CPU_POOL_H

#include "command.h"
#include "entry_gate.h"
#include "cpu/execution/services.h"
#include "cpu/execution/worker.h"

enum { CPU_WORKERS_MOST = 256 };

/* For loops that wait for another thread. */
static inline void cpu_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); /* yield does nothing on most cores */
#endif
}

typedef struct cpu_slot {
  cpu_worker *worker; /* made when first taken */
  bool busy;
  int thread;                     /* busy: the kernel's id of the thread that has it */
  _Atomic(cpu_command *) command; /* busy: what it runs, which under the lock stays what it is */
} cpu_slot;

typedef struct cpu_thread {
  cpu_pool *pool;
  pthread_t id;
  pthread_cond_t work;
  void *signals;      /* the stack of its signal handlers */
  int home;           /* the core that it keeps to, negative: any */
  bool asleep, woken; /* it waits for `work`; which was or will be signalled */
  atomic_bool spins;  /* it looks for work with the lock released */
} cpu_thread;

enum { CPU_WAKES = 2 /* threads that one wakes at a time */ };

struct cpu_pool {
  cpu_device *device;
  cpu_malloc *region;   /* kernels' own heap */
  pthread_mutex_t lock; /* guards what follows, and the streams */
  int slots;
  atomic_int free_slots; /* read without the lock too, as are `ready` to `spinners` */
  cpu_slot slot[CPU_WORKERS_MOST];
  bool closing;
  cpu_command *first, *last; /* active: with blocks left to take */
  atomic_int ready;          /* how many those are that are not gated */
  atomic_int urgent;         /* the least priority among them, or INT_MAX */
  atomic_uint activations;   /* how many there have been */

  /* threads.c */
  atomic_int host_core; /* on which a host thread was that launched last */
  int cores;            /* with one for each thread: how many, or 0 */
  int core[CPU_WORKERS_MOST];
  int threads, waking; /* waking: asleep, but woken */
  atomic_int spinners; /* threads that look for work, each with a slot, or run what they found behind the gate */
  atomic_int dormant;  /* threads that could be woken or started */
  bool sentinel;       /* one of the sleepers looks for work from time to time */
  cpu_thread *wake[CPU_WAKES]; /* so many as `wakes`, to be signalled when the lock is released */
  int wakes;
  cpu_thread thread[CPU_WORKERS_MOST];

  cpu_gate gate;

  /* cooperative.c */
  cpu_worker *idle; /* workers that no block has */
  int idle_count;

  /* watchdog.c */
  pthread_t monitor;
  bool monitored, monitor_idle; /* the thread exists; it waits for a command with a deadline */
  pthread_cond_t watch;
};

/* Without the lock: whether there may be blocks to take. */
static inline bool cpu_pool_has_work(const cpu_pool *pool) {
  return atomic_load(&pool->ready) > 0 || cpu_gate_is_open(&pool->gate);
}

int cpu_pool_open(cpu_device *device, cpu_pool **out);
void cpu_pool_close(cpu_pool *pool); /* every stream is gone */

/* Release the lock, and wake who should be: not before, or the thread woken would wait for the lock. */
void cpu_pool_unlock(cpu_pool *pool);
/* Wait, with the lock held, for a condition of a stream's. */
void cpu_pool_wait(cpu_pool *pool, pthread_cond_t *condition);

/* Without the lock: threads that will see work at once. Of those inside some may not have been among the spinners: rather
   one too many is woken than none. */
static inline int cpu_pool_spinning(const cpu_pool *pool) {
  return atomic_load_explicit(&pool->spinners, memory_order_relaxed) - cpu_gate_inside(&pool->gate);
}

/* Without the lock: run blocks of the command that has the gate. False: there were none. */
bool cpu_pool_pass(cpu_pool *pool, cpu_slot *slot);

/* All of these with the lock held: */

/* A slot, `preferred` if it is free: its stacks are in the caches of the thread that had it. NULL: none is free. */
cpu_slot *cpu_pool_take_slot(cpu_pool *pool, int preferred);
void cpu_pool_give_slot(cpu_pool *pool, cpu_slot *slot);

/* It is the command's turn in its stream: its blocks can be taken. */
void cpu_pool_activate(cpu_pool *pool, cpu_command *command);
/* A host thread pushed `command` and need not come back: see to it that the stream's current one is begun. */
void cpu_pool_begin(cpu_pool *pool, const cpu_stream *stream, const cpu_command *command);
/* Take part in a command of the stream, if it has blocks and there is a slot. The lock is released meanwhile. */
bool cpu_pool_help(cpu_pool *pool, cpu_stream *stream);
/* What a thread of the pool's does: run blocks while there are any, in the slot `preferred` if it is free. False: there
   was nothing to run, or no slot. */
bool cpu_pool_take_part(cpu_pool *pool, int preferred);
/* threads.c: let another thread take part; or two. */
void cpu_pool_wake(cpu_pool *pool);
void cpu_pool_wake_others(cpu_pool *pool);
/* Stop a kernel: no more of its blocks are taken, and threads leave those that run. */
void cpu_pool_stop(cpu_pool *pool, cpu_command *command);

/* threads.c, without the lock */
void cpu_threads_open(cpu_pool *pool);
void cpu_threads_close(cpu_pool *pool);

/* watchdog.c */
int cpu_monitor_start(cpu_pool *pool);
void cpu_monitor_close(cpu_pool *pool);
/* Stop the kernels that run. */
void cpu_monitor_interrupt(cpu_pool *pool);
/* A kernel starts: with a time limit set, it has a deadline from now on. The lock is held. */
void cpu_monitor_watch(cpu_pool *pool, cpu_command *command);

#endif
