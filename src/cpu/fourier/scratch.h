/* Scratch memory of a command: each worker takes a pair of buffers and gives it back. */
#ifndef CPU_FOURIER_SCRATCH_H
#define CPU_FOURIER_SCRATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct cpu_scratch {
  struct cpu_scratch *next;
  char *from, *to;
} cpu_scratch;

typedef struct cpu_scratch_pool {
  size_t from_bytes, to_bytes;
  pthread_mutex_t lock; /* guards unused */
  cpu_scratch *unused;
} cpu_scratch_pool;

/* Areas of the given sizes in bytes, filled with zeros; either size may be 0. The first pair is made here: false if
   there is no memory for it. Closed by cpu_scratch_close, also then. */
bool cpu_scratch_open(cpu_scratch_pool *pool, size_t from_bytes, size_t to_bytes);
/* Workers that get no memory wait for a free one. */
cpu_scratch *cpu_scratch_take(cpu_scratch_pool *pool);
void cpu_scratch_give(cpu_scratch_pool *pool, cpu_scratch *buffers);
void cpu_scratch_close(cpu_scratch_pool *pool);

#endif
