/* Capturing, for the functions that queue work or wait for it. */
#ifndef MW_CAPTURE_H
#define MW_CAPTURE_H

#include "core/core.h"

struct mw_work;

/* Whether a capture concerns what is queued in `stream`: then mw_capture_check, and mw_capture_add where it captures. */
static inline bool mw_capture_concerns(const mw_stream *stream) {
  const mw_device *device = stream->device;
  return atomic_load_explicit(&device->captures, memory_order_relaxed) > 0 &&
         (stream->capture || ((stream->flags & MW_STREAM_LEGACY) &&
                              atomic_load_explicit(&device->legacy_captures, memory_order_relaxed) > 0));
}
int mw_capture_check(mw_stream *stream);
/* The work becomes a node; its references are the node's. */
int mw_capture_add(mw_stream *stream, const struct mw_work *work);
/* A stream waits for what an event stands for, where one of them captures. capture: the event's, or NULL. */
int mw_capture_wait(mw_stream *stream, mw_capture *capture, const mw_tail *tail);
mw_capture *mw_capture_take(mw_capture *capture);
void mw_capture_drop(mw_capture *capture); /* NULL is fine */
/* The stream goes, and with it what it began to capture. Under the device's stream_lock; what it returns (may be NULL) is to
   be dropped after that: a capture's graph may be the last to hold what is in it. */
mw_capture *mw_capture_abandon(mw_stream *stream);

void mw_tail_set(mw_tail *tail, const mw_tail *from);
void mw_tail_clear(mw_tail *tail);

/* The failure of what would wait for the device; it spoils the captures that are in the way. */
int mw_capture_refuse(mw_device *device);
/* Captures of the calling thread that are in its own way only. */
extern _Thread_local int mw_capture_own __attribute__((tls_model("initial-exec")));
static inline int mw_capture_refuse_wait(mw_device *device) {
  bool met = atomic_load_explicit(&device->captures, memory_order_relaxed) > 0 &&
             (atomic_load_explicit(&device->loud_captures, memory_order_relaxed) > 0 || mw_capture_own > 0);
  return met ? mw_capture_refuse(device) : MW_SUCCESS;
}
/* The same of a stream: one that captures is in the way itself. */
int mw_capture_refuse_stream(mw_stream *stream);

#endif
