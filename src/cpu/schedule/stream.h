/* Streams: commands in order. driver.c hands most of these out as mw_cpu_driver's members of the same names. */
#ifndef MW_CPU_STREAM_H
#define MW_CPU_STREAM_H

#include "command.h"
#include "sync_point.h"

enum { CPU_QUEUE_MOST = 1024 }; /* commands that may wait in a stream */

struct cpu_stream {
  cpu_device *device;
  unsigned flags;       /* mw_stream_flags */
  int priority;         /* smaller goes first */
  pthread_cond_t moved; /* commands retired, while somebody waits */
  /* Guarded by the pool's lock: */
  cpu_command *first, *last; /* not retired: finished, running or waiting */
  cpu_command *current;      /* the first that still has blocks to run; NULL: none waits */
  cpu_command *unused;
  cpu_mark *blocked;        /* `current` waits for it, or NULL */
  cpu_stream *next_waiting; /* that waits for the same */
  cpu_stream *next;         /* of the device */
  uint64_t ordered;         /* so many of its commands has the legacy stream waited for */
  uint64_t ordered_legacy;  /* and so many of the legacy stream's has it waited for */
  int pins;                 /* host threads that wait for it */
  bool closing;             /* and one for them */
  mw_error *error;          /* the first failure not reported yet */
  uint64_t issued;          /* commands so far */
  uint64_t awaited;         /* the least `retired` that a sleeping thread waits for, or UINT64_MAX */
  _Atomic uint64_t retired; /* of these, the ones that are finished, and all before them; read without the lock too */
};

int cpu_stream_new(void *device, unsigned flags, int priority, void **stream);
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
int cpu_list_run(void *stream, void *list, mw_completion completion);

/* What a launch is but for its arguments, whose addresses are tested (its frame points to the request's), and where it was
   made; refused where the device cannot run it. */
int cpu_launch_prepare(cpu_device *device, const mw_launch_request *request, cpu_kernel_work *out);
/* How many of what a command counts: blocks, gangs of them or rounds. */
uint64_t cpu_launch_blocks(const cpu_kernel_work *work);
/* How many bytes (of the alignment of 8) are kept of a request while its kernel runs, at most; and keeping them, for the
   kernel that was found for it. */
size_t cpu_launch_bytes(const mw_launch_request *request);
void cpu_launch_keep(const cpu_kernel *kernel, const mw_launch_request *request, unsigned char *bytes, mw_frame *frame);

/* ---- stream_order.c: all with the pool's lock held ---- */

/* A command to fill and push; it never waits. */
cpu_command *cpu_stream_command(cpu_stream *stream, cpu_command_kind kind, mw_completion completion);
void cpu_stream_push(cpu_stream *stream, cpu_command *command);
/* The current command's turn has come: activate it, or do what it is if it has no blocks, up to one that has some. */
void cpu_stream_advance(cpu_stream *stream);
/* The default stream's rule: have what is queued now wait for what the legacy stream, or for it the others, have. Needed
   only where there are other streams that take part (device->blocking); and whether it would wait for anything. */
void cpu_stream_order(cpu_stream *stream);
bool cpu_stream_ordered(const cpu_stream *stream);
/* For the pool: the command's last block is done and nobody runs it. Its completion is called with the lock released
   meanwhile. */
void cpu_stream_finish(cpu_command *command);

/* Put a mark into the stream: a reference, the caller's. */
cpu_mark *cpu_stream_mark(cpu_stream *stream);
/* Have the stream wait for a mark. */
void cpu_stream_wait_for(cpu_stream *stream, cpu_mark *mark);
/* The hold that the stream waits for in the end, or NULL. */
cpu_mark *cpu_stream_hold_of(cpu_stream *stream);

/* ---- stream.c, likewise ---- */

/* Wait until so many of the stream's commands have retired, and run the blocks that this takes meanwhile. False: the
   stream is held. */
bool cpu_stream_wait_until(cpu_stream *stream, uint64_t target);
/* What is to be said then. */
int cpu_stream_fail_held(void);
/* A kernel failed: the stream keeps the error if it is the first, else frees it. */
void cpu_stream_fail(cpu_stream *stream, mw_error *error);

#endif
