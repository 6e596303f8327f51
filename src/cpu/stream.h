/* Streams: commands in order. driver.c hands most of these out as mw_cpu_driver's members of the same names. */
#ifndef MW_CPU_STREAM_H
#define MW_CPU_STREAM_H

#include "cpu/command.h"

enum { CPU_QUEUE_MOST = 1024 }; /* commands that may wait in a stream */

struct cpu_stream {
  cpu_device *device;
  pthread_cond_t moved; /* commands retired, while somebody waits */
  /* Guarded by the pool's lock: */
  cpu_command *first, *last; /* not retired: finished, running or waiting */
  cpu_command *current;      /* the first that still has blocks to run; NULL: none waits */
  cpu_command *unused;
  mw_error *error;          /* the first failure not reported yet */
  uint64_t issued;          /* commands so far */
  uint64_t awaited;         /* the least `retired` that a sleeping thread waits for, or UINT64_MAX */
  _Atomic uint64_t retired; /* of these, the ones that are finished, and all before them; read without the lock too */
};

int cpu_stream_new(void *device, void **stream);
void cpu_stream_free(void *stream);
int cpu_stream_synchronize(void *stream);
int cpu_stream_query(void *stream);
int cpu_stream_launch(void *stream, const mw_launch_request *request);
int cpu_stream_copy(void *stream, uint64_t target, uint64_t source, size_t bytes, mw_completion completion);
int cpu_stream_fill(void *stream, uint64_t target, const void *pattern, size_t size, size_t count,
                    mw_completion completion);
int cpu_stream_write(void *stream, uint64_t target, const void *source, size_t bytes);
int cpu_stream_read(void *stream, uint64_t source, void *target, size_t bytes);

/* For the pool, which holds its lock: the command's last block is done and nobody runs it. Its completion is called
   with the lock released meanwhile. */
void cpu_stream_finish(cpu_command *command);
/* A kernel failed: the stream keeps the error if it is the first, else frees it. */
void cpu_stream_fail(cpu_stream *stream, mw_error *error);

#endif
