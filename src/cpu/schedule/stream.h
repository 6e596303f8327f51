/* Streams: queues of commands. Most of these are mw_cpu_driver's members of the same names (driver.c). */
#ifndef MW_CPU_STREAM_H
#define MW_CPU_STREAM_H

#include "command.h"
#include "sync_point.h"

enum { CPU_QUEUE_MOST = 1024 }; /* commands that may wait in a stream */

struct cpu_stream {
  cpu_device *device;
  mw_stream *handle;    /* the core's */
  unsigned flags;       /* mw_stream_flags */
  int priority;         /* smaller values have precedence */
  pthread_cond_t moved; /* signalled when commands retire, if a thread waits for that */
  /* Guarded by the pool's lock: */
  cpu_command *first, *last; /* not retired: finished, running or waiting */
  cpu_command *current;      /* the first that still has blocks to run; NULL: none */
  cpu_command *unused;
  cpu_mark *blocked;        /* the mark that `current` waits for, or NULL */
  cpu_stream *next_waiting; /* in the list of streams that wait for that mark */
  cpu_stream *next;         /* in the device's list */
  uint64_t ordered;         /* the number of its commands that the legacy stream has waited for */
  uint64_t ordered_legacy;  /* the number of the legacy stream's commands that it has waited for */
  int pins;                 /* the number of host threads that wait for it */
  bool closing;             /* a thread frees it, and waits for those */
  uint64_t wanted;          /* the `retired` that the latest of these waits for */
  uint64_t awaited;         /* the least `retired` that a sleeping thread waits for, or UINT64_MAX */
  /* Also read without the lock: */
  _Atomic uint64_t issued;  /* the number of commands so far */
  _Atomic uint64_t retired; /* how many are finished, with all before them */
};

int cpu_stream_new(void *device, unsigned flags, int priority, mw_stream *handle, void **stream);
void cpu_stream_free(void *stream);
int cpu_stream_synchronize(void *stream);
int cpu_stream_query(void *stream);
int cpu_stream_launch(void *stream, const mw_launch_request *request);
int cpu_stream_copy(void *stream, uint64_t target, uint64_t source, size_t bytes, mw_completion completion);
int cpu_stream_fill(void *stream, uint64_t target, const void *pattern, size_t size, size_t count,
                    mw_completion completion);
int cpu_stream_copy_box(void *stream, const mw_box *box, mw_completion completion);
int cpu_stream_fill_box(void *stream, const mw_box *box, const void *pattern, size_t size, mw_completion completion);
int cpu_stream_write(void *stream, uint64_t target, const void *source, size_t bytes);
int cpu_stream_read(void *stream, uint64_t source, void *target, size_t bytes);
int cpu_stream_call(void *stream, mw_completion function);
/* A command that calls function(context, first, last) for ranges of blocks, on several workers at once. */
int cpu_stream_function(cpu_stream *stream, void (*function)(void *context, uint64_t first, uint64_t last),
                        void *context, uint64_t blocks, mw_completion completion);
int cpu_list_run(void *stream, void *list, mw_completion completion);

/* Prepare a launch: choose the kernel, fill the frame (whose `params` still point to the request's), and check pointer
   arguments and limits. Sets neither the stored parameters nor the site. Fails if the device cannot run the launch. */
int cpu_launch_prepare(cpu_device *device, const mw_launch_request *request, cpu_kernel_work *out);
/* The same without the check of pointers. */
int cpu_launch_configure(cpu_device *device, const mw_launch_request *request, cpu_kernel_work *out);
/* The number of units that the command counts: blocks, gangs or iterations of blocks. */
uint64_t cpu_launch_blocks(const cpu_kernel_work *work);
/* The most bytes (8-byte aligned) that a request's parameters need while its kernel runs; and storing them, for the
   kernel that cpu_launch_prepare chose. */
size_t cpu_launch_bytes(const mw_launch_request *request);
void cpu_launch_keep(const cpu_kernel *kernel, const mw_launch_request *request, unsigned char *bytes, mw_frame *frame);

/* ---- stream_order.c: all with the pool's lock held ---- */

/* A command to fill and push; does not wait. */
cpu_command *cpu_stream_command(cpu_stream *stream, cpu_command_kind kind, mw_completion completion);
void cpu_stream_push(cpu_stream *stream, cpu_command *command);
/* Start the current command: activate it; or, if it has no blocks, execute it and continue with the next. */
void cpu_stream_advance(cpu_stream *stream);
/* The legacy default stream's rule: make the command queued next wait for the legacy stream's work or, in the legacy
   stream, for the other streams' work. Needed only if other streams take part (device->blocking). cpu_stream_ordered:
   whether there is nothing to wait for. */
void cpu_stream_order(cpu_stream *stream);
bool cpu_stream_ordered(const cpu_stream *stream);
/* For the pool: the command's last block is done and no thread runs it. The lock is released while its completion is
   called. */
void cpu_stream_finish(cpu_command *command);

/* Push a mark; the reference is the caller's. */
cpu_mark *cpu_stream_mark(cpu_stream *stream);
/* Push a wait for a mark. */
void cpu_stream_wait_for(cpu_stream *stream, cpu_mark *mark);
/* The hold that the stream waits for, directly or through other streams, or NULL. */
cpu_mark *cpu_stream_hold_of(cpu_stream *stream);

/* ---- stream.c, likewise ---- */

/* Wait until `target` of the stream's commands have retired, and run the necessary blocks meanwhile. False: a hold
   blocks the stream. */
bool cpu_stream_wait_until(cpu_stream *stream, uint64_t target);
/* The failure in that case: MW_NOT_READY. */
int cpu_stream_fail_held(void);
/* The command's kernel failed. The error becomes the core's. */
void cpu_stream_fail(const cpu_command *command, mw_error *error);

#endif
