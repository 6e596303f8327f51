/* Stream capture: the interface for functions that queue work or wait for it. */
#ifndef MW_CAPTURE_H
#define MW_CAPTURE_H

#include "core/core.h"

struct mw_work;

/* Whether a capture affects work queued in `stream`: then call mw_capture_check, and mw_capture_add if the stream is
   captured. */
static inline bool mw_capture_concerns(const mw_stream *stream) {
  const mw_device *device = stream->device;
  return atomic_load_explicit(&device->captures, memory_order_relaxed) > 0 &&
         (stream->capture || ((stream->flags & MW_STREAM_LEGACY) &&
                              atomic_load_explicit(&device->legacy_captures, memory_order_relaxed) > 0));
}
int mw_capture_check(mw_stream *stream);
/* Add the work as a node, which takes over its references. */
int mw_capture_add(mw_stream *stream, const struct mw_work *work);
/* A stream waits for an event, and one of them is captured. capture: the event's, or NULL. */
int mw_capture_wait(mw_stream *stream, mw_capture *capture, const mw_tail *tail);
mw_capture *mw_capture_take(mw_capture *capture);
void mw_capture_drop(mw_capture *capture); /* NULL is allowed */
/* The stream is destroyed, which ends a capture that it began. Under the device's stream_lock. The caller drops the
   result (may be NULL) after unlocking: it may hold the last reference to the graph, and the graph to other objects. */
mw_capture *mw_capture_abandon(mw_stream *stream);

void mw_tail_set(mw_tail *tail, const mw_tail *from);
void mw_tail_clear(mw_tail *tail);

/* Fail a call that would wait for the device, and invalidate the captures that forbid it. */
int mw_capture_refuse(mw_device *device);
/* The number of captures that forbid waits of the calling thread only. */
extern _Thread_local int mw_capture_own __attribute__((tls_model("initial-exec")));
static inline int mw_capture_refuse_wait(mw_device *device) {
  bool met = atomic_load_explicit(&device->captures, memory_order_relaxed) > 0 &&
             (atomic_load_explicit(&device->loud_captures, memory_order_relaxed) > 0 || mw_capture_own > 0);
  return met ? mw_capture_refuse(device) : MW_SUCCESS;
}
/* The same for a wait for a stream: a captured stream itself forbids it. */
int mw_capture_refuse_stream(mw_stream *stream);

#endif
