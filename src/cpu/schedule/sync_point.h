/* Marks (synchronisation points): positions in streams that other streams and host threads wait for.
 *
 * Recording an event pushes a mark into a stream; the mark is done when the work before it is done. A later record
 * makes another mark and does not affect waits for the earlier one. A hold is a mark outside of any stream, which the
 * host finishes. The pool's lock guards everything here. */
#ifndef MW_CPU_MARK_H
#define MW_CPU_MARK_H

#include "command.h"

typedef struct cpu_mark {
  int refs;
  bool done;
  double time;         /* when it was done, on mw_time's clock */
  cpu_stream *stream;  /* that contains it, valid while it is not done; NULL for a hold */
  uint64_t number;     /* of its command in the stream, counted from 1 */
  cpu_stream *waiting; /* streams that are blocked by it, linked by next_waiting */
} cpu_mark;

cpu_mark *cpu_mark_new(cpu_stream *stream);
cpu_mark *cpu_mark_take(cpu_mark *mark);
void cpu_mark_drop(cpu_mark *mark); /* NULL is allowed */
/* Mark it as done and advance the streams that are blocked by it. */
void cpu_mark_finish(cpu_mark *mark);

/* mw_driver's members of the same names. */
int cpu_event_new(void *device, unsigned flags, void **event);
void cpu_event_free(void *event);
int cpu_event_record(void *event, void *stream);
int cpu_event_query(void *event);
int cpu_event_synchronize(void *event);
int cpu_event_elapsed(void *start, void *end, double *milliseconds);
int cpu_stream_wait(void *stream, void *event);
int cpu_hold_new(void *stream, void **hold);
bool cpu_hold_reached(void *hold);
void cpu_hold_free(void *hold);

#endif
