/* Stream capture: recording a stream's work as nodes of a graph.
 *
 * A captured stream has a `capture`, which all participating streams share, and the set of nodes that its next node
 * depends on (its tail). Functions that queue work call mw_capture_concerns first. The device counts captures, so that
 * calls that they forbid can fail at once. A stream's capture is changed by its own thread only, under the device's
 * stream_lock; other threads read it under that lock. */
#include "graph.h"
#include "capture.h"

#include <stdlib.h>
#include <string.h>

_Thread_local int mw_capture_own;

/* ---- tails: the nodes that a stream's next node depends on ---- */

static void tail_add(mw_tail *tail, size_t node) {
  for (size_t i = 0; i < tail->count; i++)
    if (tail->nodes[i] == node) return;
  tail->nodes = mw_realloc(tail->nodes, (tail->count + 1) * sizeof *tail->nodes);
  tail->nodes[tail->count++] = node;
}

void mw_tail_set(mw_tail *tail, const mw_tail *from) {
  mw_tail_clear(tail);
  for (size_t i = 0; i < from->count; i++) tail_add(tail, from->nodes[i]);
}

void mw_tail_clear(mw_tail *tail) {
  free(tail->nodes);
  *tail = (mw_tail){0};
}

/* ---- taking part ---- */

mw_capture *mw_capture_take(mw_capture *capture) {
  capture->refs++;
  return capture;
}

void mw_capture_drop(mw_capture *capture) {
  if (!capture || --capture->refs > 0) return;
  mw_graph_release(capture->graph);
  free(capture);
}

static void enter_capture(mw_stream *stream, mw_capture *capture) {
  mw_lock(&stream->device->stream_lock);
  stream->capture = mw_capture_take(capture);
  mw_unlock(&stream->device->stream_lock);
}

/* Under the lock; the caller drops the reference. */
static mw_capture *leave_capture(mw_stream *stream) {
  mw_capture *capture = stream->capture;
  stream->capture = NULL;
  mw_tail_clear(&stream->tail);
  return capture;
}

static void tally(const mw_capture *capture, int change) {
  mw_device *device = capture->graph->device;
  atomic_fetch_add(&device->captures, change);
  if (capture->mode == MW_CAPTURE_GLOBAL) atomic_fetch_add(&device->loud_captures, change);
  if (capture->meets_legacy) atomic_fetch_add(&device->legacy_captures, change);
  if (capture->mode == MW_CAPTURE_THREAD && pthread_equal(capture->thread, pthread_self())) mw_capture_own += change;
}

/* End the capture: the streams that joined leave it, its origin last. Under the lock. */
static void end(mw_capture *capture) {
  mw_stream *origin = capture->origin;
  for (mw_stream *other = origin->device->streams; other; other = other->next)
    if (other != origin && other->capture == capture) mw_capture_drop(leave_capture(other)); /* never the last */
  capture->ended = true;
  tally(capture, -1);
}

int mw_graph_capture(mw_graph *graph, mw_stream *stream, const size_t *after, size_t after_count,
                     mw_capture_mode mode) {
  if ((unsigned)mode > MW_CAPTURE_RELAXED) return fail(MW_INVALID_VALUE, "%d is not a capture mode", (int)mode);
  if (stream->flags & MW_STREAM_LEGACY)
    return fail(MW_STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot be captured: make one with mw.stream()");
  if (stream->device != graph->device)
    return fail(MW_INVALID_VALUE, "a graph of %s cannot take work of a stream of %s", graph->device->name,
                stream->device->name);
  if (stream->capture) return fail(MW_INVALID_VALUE, "the stream is being captured already: end that capture first");
  for (size_t i = 0; i < after_count; i++)
    if (after[i] >= graph->count)
      return fail(MW_INVALID_VALUE, "there is no node %zu (counted from 0): the graph has %zu", after[i], graph->count);
  mw_capture *capture = mw_alloc(sizeof *capture);
  capture->graph = mw_graph_retain(graph);
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = pthread_self();
  capture->meets_legacy = mode == MW_CAPTURE_GLOBAL || !(stream->flags & MW_STREAM_NON_BLOCKING);
  enter_capture(stream, capture);
  for (size_t i = 0; i < after_count; i++) tail_add(&stream->tail, after[i]);
  tally(capture, 1);
  return MW_SUCCESS;
}

/* Whether other nodes, or the stream's next one, depend on the node. */
static bool is_joined(const mw_graph *graph, const mw_tail *tail, size_t node) {
  for (size_t i = 0; i < tail->count; i++)
    if (tail->nodes[i] == node) return true;
  for (size_t k = node + 1; k < graph->count; k++)
    for (size_t i = 0; i < graph->nodes[k].after_count; i++)
      if (graph->nodes[k].after[i] == node) return true;
  return false;
}

static bool all_joined(mw_stream *stream) {
  const mw_capture *capture = stream->capture;
  mw_lock(&stream->device->stream_lock);
  bool joined = true;
  for (mw_stream *other = stream->device->streams; other && joined; other = other->next)
    if (other != stream && other->capture == capture)
      for (size_t i = 0; i < other->tail.count; i++)
        joined &= is_joined(capture->graph, &stream->tail, other->tail.nodes[i]);
  mw_unlock(&stream->device->stream_lock);
  return joined;
}

int mw_graph_capture_end(mw_stream *stream, size_t *last) {
  mw_capture *capture = stream->capture;
  if (!capture) return fail(MW_INVALID_VALUE, "the stream is not being captured");
  if (capture->origin != stream)
    return fail(MW_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream, and is ended there");
  if (capture->mode != MW_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
    return fail(MW_STREAM_CAPTURE_WRONG_THREAD, "the capture began in another thread, which ends it");
  mw_device *device = stream->device;
  int code = MW_SUCCESS;
  if (capture->spoilt)
    code = fail(MW_STREAM_CAPTURE_INVALIDATED, "the capture failed: an earlier call in it could not be captured");
  else if (!all_joined(stream))
    code = fail(MW_STREAM_CAPTURE_UNJOINED,
                "another stream has captured work that this one does not wait for: end with s:wait(other)");
  if (last) *last = stream->tail.count ? stream->tail.nodes[stream->tail.count - 1] : SIZE_MAX;
  mw_lock(&device->stream_lock);
  end(capture);
  leave_capture(stream);
  mw_unlock(&device->stream_lock);
  mw_capture_drop(capture);
  return code;
}

mw_graph *mw_stream_capturing(const mw_stream *stream, int *spoilt) {
  if (spoilt) *spoilt = stream->capture && stream->capture->spoilt;
  return stream->capture ? stream->capture->graph : NULL;
}

mw_capture *mw_capture_abandon(mw_stream *stream) {
  mw_capture *capture = stream->capture;
  if (!capture) return NULL;
  if (capture->origin == stream) end(capture);
  return leave_capture(stream);
}

/* Invalidate the captures that forbid the call: work in the default stream, or a wait for the device. */
static void spoil(mw_device *device, bool legacy) {
  mw_lock(&device->stream_lock);
  for (mw_stream *stream = device->streams; stream; stream = stream->next) {
    mw_capture *c = stream->capture;
    if (!c) continue;
    bool own = c->mode == MW_CAPTURE_THREAD && pthread_equal(c->thread, pthread_self());
    if (legacy ? c->meets_legacy : c->mode == MW_CAPTURE_GLOBAL || own) c->spoilt = true;
  }
  mw_unlock(&device->stream_lock);
}

/* ---- taking work ---- */

/* The call is for work in the default stream, which would have to wait for the captured streams. */
static int refuse_implicit(mw_device *device) {
  spoil(device, true);
  return fail(MW_STREAM_CAPTURE_IMPLICIT,
              "work in the default stream while a graph is captured: queue it in the captured stream");
}

int mw_capture_check(mw_stream *stream) {
  if (stream->flags & MW_STREAM_LEGACY) return refuse_implicit(stream->device);
  if (stream->capture && stream->capture->spoilt)
    return fail(MW_STREAM_CAPTURE_INVALIDATED, "the capture failed: an earlier call in it could not be captured");
  return MW_SUCCESS;
}

int mw_capture_add(mw_stream *stream, const mw_work *work) {
  size_t node = mw_graph_add(stream->capture->graph, work, stream->tail.nodes, stream->tail.count);
  mw_tail_clear(&stream->tail);
  tail_add(&stream->tail, node);
  return MW_SUCCESS;
}

int mw_capture_wait(mw_stream *stream, mw_capture *capture, const mw_tail *tail) {
  if (!capture) {
    stream->capture->spoilt = true;
    return fail(MW_STREAM_CAPTURE_ISOLATION, "a captured stream cannot wait for work that is not captured");
  }
  if (capture->ended)
    return fail(MW_CAPTURED_EVENT, "the event was recorded while a graph was captured, and that has ended");
  if (stream->flags & MW_STREAM_LEGACY) return refuse_implicit(stream->device);
  if (!stream->capture) enter_capture(stream, capture);
  if (stream->capture != capture) {
    stream->capture->spoilt = capture->spoilt = true;
    return fail(MW_STREAM_CAPTURE_MERGE,
                "a stream cannot join a second capture: the streams are captured into different graphs");
  }
  for (size_t i = 0; i < tail->count; i++) tail_add(&stream->tail, tail->nodes[i]);
  return MW_SUCCESS;
}

int mw_capture_refuse_stream(mw_stream *stream) {
  if (stream->capture) stream->capture->spoilt = true;
  return mw_capture_refuse(stream->device);
}

int mw_capture_refuse(mw_device *device) {
  spoil(device, false);
  return fail(MW_STREAM_CAPTURE_UNSUPPORTED,
              "this waits for the device, and a graph is being captured: nothing has run yet that could be waited for. "
              "Read and write arrays before the capture or after the graph was launched");
}
