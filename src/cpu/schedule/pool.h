/* The thread pool: worker slots, and the threads that take them.
 *
 * A slot holds a worker, which a thread needs to run blocks. The number of slots limits the number of blocks that run
 * at once. The pool's threads take slots, and so does a host thread while it waits for a stream: a launch that is
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
  cpu_worker *worker; /* made when the slot is first taken */
  bool busy;
  int thread;                     /* busy: the operating system's id of the thread that has taken it */
  _Atomic(cpu_command *) command; /* busy: the command that it runs; valid under the lock */
} cpu_slot;

typedef struct cpu_thread {
  cpu_pool *pool;
  pthread_t id;
  pthread_cond_t work;
  void *signals;      /* the stack of its signal handlers */
  int home;           /* the core that it is pinned to, negative: any */
  bool asleep, woken; /* it waits for `work`; `work` was or will be signalled */
  atomic_bool spins;  /* it polls for work with the lock released */
} cpu_thread;

enum { CPU_WAKES = 2 /* threads that one thread wakes at a time */ };

struct cpu_pool {
  cpu_device *device;
  cpu_malloc *region;   /* kernels' own heap */
  pthread_mutex_t lock; /* guards what follows, and the streams */
  int slots;
  atomic_int free_slots; /* read without the lock too, as are `ready` to `spinners` */
  cpu_slot slot[CPU_WORKERS_MOST];
  bool closing;
  cpu_command *first, *last; /* active commands: with blocks left to take */
  atomic_int ready;          /* the number of active commands that are not gated */
  atomic_int urgent;         /* the least (most urgent) priority among the active ones, or INT_MAX */
  atomic_uint activations;   /* the number of activations so far */

  /* threads.c */
  atomic_int host_core; /* the core of the last host thread that launched */
  int cores;            /* the number of cores if each thread can have its own, else 0 */
  int core[CPU_WORKERS_MOST];
  int threads, waking; /* waking: the number that have been woken but are still asleep */
  atomic_int spinners; /* threads that poll for work, each with a slot, or run a gated command that they found so */
  atomic_int dormant;  /* threads that could be woken or started */
  bool sentinel;       /* one of the sleeping threads checks for work periodically */
  cpu_thread *wake[CPU_WAKES]; /* the first `wakes`: to be signalled when the lock is released */
  int wakes;
  cpu_thread thread[CPU_WORKERS_MOST];

  cpu_gate gate;

  /* random_streams.c */
  cpu_command *drawn; /* the command that runs, drawn at random, or NULL */
  double drawn_since;

  /* cooperative.c */
  cpu_worker *idle; /* workers that no block uses */
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
void cpu_pool_close(cpu_pool *pool); /* all streams have been freed */

/* Release the lock, then wake the threads in `wake`: earlier they would only wait for the lock. */
void cpu_pool_unlock(cpu_pool *pool);
/* Wait, with the lock held, for a stream's condition. */
void cpu_pool_wait(cpu_pool *pool, pthread_cond_t *condition);

/* Without the lock: the number of threads that will see work at once. This is a lower bound, since threads inside the
   gate need not have been spinners: waking one thread too many is better than waking none. */
static inline int cpu_pool_spinning(const cpu_pool *pool) {
  return atomic_load_explicit(&pool->spinners, memory_order_relaxed) - cpu_gate_inside(&pool->gate);
}

/* Without the lock: run blocks of the gated command. False: there were none. */
bool cpu_pool_pass(cpu_pool *pool, cpu_slot *slot);

/* All of these with the lock held: */

/* A slot: `preferred` if it is free, since its stacks are in the caches of the thread that used it last. NULL: none is
   free. */
cpu_slot *cpu_pool_take_slot(cpu_pool *pool, int preferred);
void cpu_pool_give_slot(cpu_pool *pool, cpu_slot *slot);

/* The command is the first unfinished one in its stream: let threads take its blocks. */
void cpu_pool_activate(cpu_pool *pool, cpu_command *command);
/* A host thread pushed `command` and may not wait for it: ensure that the stream's current command is started. */
void cpu_pool_begin(cpu_pool *pool, const cpu_stream *stream, const cpu_command *command);
/* Run blocks of a command of the stream, if it has any and a slot is free. The lock is released meanwhile. */
bool cpu_pool_help(cpu_pool *pool, cpu_stream *stream);
/* For a thread of the pool: run blocks while there are any, in the slot `preferred` if it is free. False: there was
   nothing to run, or no slot. */
bool cpu_pool_take_part(cpu_pool *pool, int preferred);
/* A kernel of the command failed on this worker. Without the lock. */
void cpu_pool_fail(cpu_pool *pool, cpu_worker *worker, cpu_command *command);
/* threads.c: wake another thread; wake two. */
void cpu_pool_wake(cpu_pool *pool);
void cpu_pool_wake_others(cpu_pool *pool);
/* Stop a kernel: no more of its blocks are taken, and threads abandon the running ones. */
void cpu_pool_stop(cpu_pool *pool, cpu_command *command);

/* random_streams.c: the order of commands in a checked run with a seed. */
/* Whether commands wait to be drawn. */
bool cpu_streams_are_random(const cpu_pool *pool);
/* Draw and start a command, unless a drawn one runs. Returns its stream; NULL if no command can run. */
cpu_stream *cpu_random_start(cpu_pool *pool);
/* A command is done: draw the next one if a host thread waits. */
void cpu_random_finish(cpu_pool *pool, const cpu_command *command);
/* Wait for a stream's condition for a short time. If the drawn command takes long, start another one. */
void cpu_random_wait(cpu_pool *pool, pthread_cond_t *condition);
/* Before the host continues: run a random number of commands. */
void cpu_random_yield(cpu_pool *pool);

/* threads.c, without the lock */
void cpu_threads_open(cpu_pool *pool);
void cpu_threads_close(cpu_pool *pool);

/* watchdog.c */
int cpu_monitor_start(cpu_pool *pool);
void cpu_monitor_close(cpu_pool *pool);
/* Stop the running kernels. */
void cpu_monitor_interrupt(cpu_pool *pool);
/* A kernel starts: if there is a time limit, set its deadline. The lock is held. */
void cpu_monitor_watch(cpu_pool *pool, cpu_command *command);

#endif
