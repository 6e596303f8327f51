/* Which launches, copies and fills of a checked run happen before which: vector clocks, one for each stream.
 *
 * Order is what the program asked for: the order within a stream, events, the legacy default stream's rule, and waits
 * of the host. It does not depend on what had ended when something was queued. Both drivers use this; each has a lock
 * around the calls. */
#ifndef MW_STREAM_CLOCKS_H
#define MW_STREAM_CLOCKS_H

#include "base/base.h"

typedef struct mw_clock {
  uint32_t *at; /* by the stream's number: how many of its commands are known to happen before */
  size_t count;
} mw_clock;

typedef struct mw_ordered_command {
  size_t stream;   /* the stream's number */
  uint32_t number; /* in its stream, from 1 on */
  mw_clock known;
} mw_ordered_command;

typedef struct mw_stream_clocks {
  struct mw_known_stream *streams;
  size_t stream_count;
  struct mw_known_event *events;
  size_t event_count;
  mw_clock host;
} mw_stream_clocks;

void mw_clocks_close(mw_stream_clocks *c);
void mw_clock_free(mw_clock *clock);
/* The number of a stream, of these MW_STREAM_… flags; a new one gets the next number. */
size_t mw_clocks_stream(mw_stream_clocks *c, const void *stream, unsigned flags);
/* A command is queued in the stream; *out is the caller's: mw_clock_free(&out->known). */
void mw_clocks_queue(mw_stream_clocks *c, size_t stream, mw_ordered_command *out);
bool mw_happens_before(const mw_ordered_command *first, const mw_ordered_command *second);
void mw_clocks_record(mw_stream_clocks *c, size_t stream, const void *event);
/* The stream waits for the event; that has not been recorded in the run: for nothing. */
void mw_clocks_wait(mw_stream_clocks *c, size_t stream, const void *event);
/* The host has waited for the stream, or for the event. */
void mw_clocks_synchronized(mw_stream_clocks *c, size_t stream);
void mw_clocks_passed(mw_stream_clocks *c, const void *event);
/* The stream or event is freed, and another one may lie at its address later. */
void mw_clocks_forget(mw_stream_clocks *c, const void *stream_or_event);

#endif
