/* Events: positions in streams, for waiting and for timing. */
#include "core/core.h"
#include "core/graph/capture.h"
#include "core/graph/graph.h"

#include <stdlib.h>

struct mw_event {
  mw_refs refs;
  mw_device *device;
  void *state;         /* the driver's */
  mw_capture *capture; /* in which it was last recorded, or NULL */
  mw_tail tail;        /* the nodes that it stands for in the capture */
};

static int check_captured(const mw_event *event) {
  return event->capture ? fail(MW_CAPTURED_EVENT, "the event was recorded while a graph was captured: it stands for "
                                                  "nodes of the graph, and for nothing that has run")
                        : MW_SUCCESS;
}

static void forget_capture(mw_event *event) {
  mw_capture_drop(event->capture);
  event->capture = NULL;
  mw_tail_clear(&event->tail);
}

int mw_event_new(mw_device *device, unsigned flags, mw_event **out) {
  const unsigned known = MW_EVENT_BLOCKING_SYNC | MW_EVENT_DISABLE_TIMING | MW_EVENT_INTERPROCESS;
  if (flags & ~known) return fail(MW_INVALID_VALUE, "%u is not a sum of event flags, which are 1, 2 and 4", flags);
  if (flags & MW_EVENT_INTERPROCESS)
    return flags & MW_EVENT_DISABLE_TIMING
               ? fail(MW_NOT_SUPPORTED, "%s has no events that processes share", mw_device_name(device))
               : fail(MW_INVALID_VALUE, "an event that processes share has no timing: add cudaEventDisableTiming (2)");
  void *state;
  int code = device->driver->event_new(device->state, flags, &state);
  if (code != MW_SUCCESS) return code;
  mw_event *event = mw_alloc(sizeof *event);
  mw_refs_init(&event->refs);
  event->device = mw_device_retain(device);
  event->state = state;
  *out = event;
  return MW_SUCCESS;
}

mw_event *mw_event_retain(mw_event *event) {
  mw_refs_take(&event->refs);
  return event;
}

void mw_event_release(mw_event *event) {
  if (!event || !mw_refs_drop(&event->refs)) return;
  forget_capture(event);
  event->device->driver->event_free(event->state);
  mw_device_release(event->device);
  free(event);
}

mw_device *mw_event_device(const mw_event *event) { return event->device; }

int mw_event_record(mw_event *event, mw_stream *stream) {
  if (event->device != stream->device)
    return fail(MW_INVALID_RESOURCE_HANDLE, "an event of %s cannot be recorded in a stream of %s", event->device->name,
                stream->device->name);
  forget_capture(event);
  if (mw_capture_concerns(stream)) {
    int code = mw_capture_check(stream);
    if (code != MW_SUCCESS) return code;
    event->capture = mw_capture_take(stream->capture);
    mw_tail_set(&event->tail, &stream->tail);
    return MW_SUCCESS;
  }
  return event->device->driver->event_record(event->state, stream->state);
}

int mw_event_query(mw_event *event) {
  int code = check_captured(event);
  return code ? code : event->device->driver->event_query(event->state);
}

int mw_event_synchronize(mw_event *event) {
  int code = check_captured(event);
  return code ? code : event->device->driver->event_synchronize(event->state);
}

int mw_event_elapsed(mw_event *start, mw_event *end, double *milliseconds) {
  int code = check_captured(start);
  if (code == MW_SUCCESS) code = check_captured(end);
  if (code != MW_SUCCESS) return code;
  if (start->device != end->device)
    return fail(MW_INVALID_RESOURCE_HANDLE, "the time between an event of %s and one of %s: they have different clocks",
                start->device->name, end->device->name);
  return start->device->driver->event_elapsed(start->state, end->state, milliseconds);
}

int mw_stream_wait(mw_stream *stream, mw_event *event) {
  if (event->capture || stream->capture) return mw_capture_wait(stream, event->capture, &event->tail);
  if (stream->device->driver == event->device->driver)
    return stream->device->driver->stream_wait(stream->state, event->state);
  return mw_event_synchronize(event); /* devices of different drivers: the host waits */
}
