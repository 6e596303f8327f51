/* Worker slots, and the threads that fill them.
 *
 * A slot (cpu_worker) is what it takes to run blocks; there are as many as the device has workers, so never more blocks
 * run at once. The pool's threads take slots, and so does a host thread while it waits for a stream: a launch that is
 * waited for at once needs no other thread. */
#ifndef MW_CPU_POOL_H
#define MW_CPU_POOL_H

#include "cpu/command.h"
#include "cpu/services.h"
#include "cpu/worker.h"

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
  int thread;           /* busy: the kernel's id of the thread that has it */
  cpu_command *command; /* busy: what it runs */
} cpu_slot;

struct cpu_pool {
  cpu_device *device;
  cpu_malloc *region;   /* kernels' own heap */
  pthread_mutex_t lock; /* guards what follows, and the streams */
  pthread_cond_t work;  /* for sleeping threads */
  int slots, free_slots;
  cpu_slot slot[CPU_WORKERS_MOST];
  int threads, sleepers, spinners, next_slot;
  pthread_t thread[CPU_WORKERS_MOST];
  bool closing;
  cpu_command *first, *last; /* active: with blocks left to take */
  atomic_int ready;          /* how many those are */
  atomic_uint activations;   /* how many there have been */

  /* monitor.c */
  pthread_t monitor;
  bool monitored, monitor_idle; /* the thread exists; it waits for a command with a deadline */
  pthread_cond_t watch;
};

int cpu_pool_open(cpu_device *device, cpu_pool **out);
void cpu_pool_close(cpu_pool *pool); /* every stream is gone */

/* All of these with the lock held: */

/* The command is its stream's turn: its blocks can be taken. wake: no thread that calls this will take them at once. */
void cpu_pool_activate(cpu_pool *pool, cpu_command *command, bool wake);
/* Take part in a command of the stream, if it has blocks and there is a slot. The lock is released meanwhile. */
bool cpu_pool_help(cpu_pool *pool, cpu_stream *stream);
/* A thread that helped goes back to the host: others take what is left. */
void cpu_pool_wake(cpu_pool *pool);
/* Stop a kernel: no more of its blocks are taken, and threads leave those that run. */
void cpu_pool_stop(cpu_pool *pool, cpu_command *command);

/* monitor.c */
int cpu_monitor_start(cpu_pool *pool);
void cpu_monitor_close(cpu_pool *pool);
/* A kernel starts: with a time limit set, it has a deadline from now on. The lock is held. */
void cpu_monitor_watch(cpu_pool *pool, cpu_command *command);

#endif
