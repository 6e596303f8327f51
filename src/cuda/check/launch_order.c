/* Which launches of a checked run happen before which: those of a stream in order, and what events and waits of the host
 * add. Each stream has a clock that knows how far the others had come. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

void check_clock_free(check_clock *clock) {
  free(clock->at);
  *clock = (check_clock){0};
}

static void advance(check_clock *clock, size_t stream, unsigned number) {
  if (stream >= clock->count) {
    clock->at = mw_realloc(clock->at, (stream + 1) * sizeof *clock->at);
    memset(clock->at + clock->count, 0, (stream + 1 - clock->count) * sizeof *clock->at);
    clock->count = stream + 1;
  }
  if (clock->at[stream] < number) clock->at[stream] = number;
}

static void join(check_clock *clock, const check_clock *other) {
  for (size_t i = 0; i < other->count; i++) advance(clock, i, other->at[i]);
}

size_t check_stream_number(check_session *check, const cuda_stream *stream) {
  size_t i = 0;
  while (i < check->stream_count && check->streams[i].stream != stream) i++;
  if (i < check->stream_count) return i;
  check->streams = mw_realloc(check->streams, (i + 1) * sizeof *check->streams);
  check->streams[check->stream_count++] = (check_stream){.stream = stream};
  return i;
}

/* The legacy default stream and those that do not opt out wait for each other. */
static void join_legacy(check_session *check, size_t own) {
  const cuda_stream *stream = check->streams[own].stream;
  if (stream->flags & MW_STREAM_NON_BLOCKING) return;
  for (size_t i = 0; i < check->stream_count; i++) {
    const cuda_stream *other = check->streams[i].stream;
    bool waits = (stream->flags & MW_STREAM_LEGACY && !(other->flags & MW_STREAM_NON_BLOCKING)) ||
                 other->flags & MW_STREAM_LEGACY;
    if (i != own && waits) join(&check->streams[own].known, &check->streams[i].known);
  }
}

void check_queue(check_session *check, cuda_stream *stream, check_launch *launch) {
  size_t own = check_stream_number(check, stream);
  check_clock *known = &check->streams[own].known;
  join(known, &check->host);
  join_legacy(check, own);
  launch->stream = own;
  launch->number = (own < known->count ? known->at[own] : 0) + 1;
  join(&launch->known, known);
  advance(known, own, launch->number);
}

bool check_happens_before(const check_launch *first, const check_launch *second) {
  return first->stream < second->known.count && second->known.at[first->stream] >= first->number;
}

/* ---- events and waits ---- */

static check_session *locked(const cuda_device *device) {
  check_session *check = device->check;
  if (check) mw_lock(&check->lock);
  return check;
}

static check_event *event_of(check_session *check, const void *event, bool makes) {
  for (size_t i = 0; i < check->event_count; i++)
    if (check->events[i].event == event) return &check->events[i];
  if (!makes) return NULL;
  check->events = mw_realloc(check->events, (check->event_count + 1) * sizeof *check->events);
  check->events[check->event_count] = (check_event){.event = event};
  return &check->events[check->event_count++];
}

void cuda_check_recorded(cuda_stream *stream, const void *event) {
  check_session *check = locked(stream->device);
  if (!check) return;
  size_t own = check_stream_number(check, stream);
  join_legacy(check, own);
  check_event *e = event_of(check, event, true);
  check_clock_free(&e->known);
  join(&e->known, &check->streams[own].known);
  mw_unlock(&check->lock);
}

void cuda_check_waits(cuda_stream *stream, const void *event) {
  check_session *check = locked(stream->device);
  if (!check) return;
  size_t own = check_stream_number(check, stream);
  const check_event *e = event_of(check, event, false);
  if (e) join(&check->streams[own].known, &e->known);
  mw_unlock(&check->lock);
}

void cuda_check_synchronized(cuda_stream *stream) {
  check_session *check = locked(stream->device);
  if (!check) return;
  size_t own = check_stream_number(check, stream);
  join_legacy(check, own);
  join(&check->host, &check->streams[own].known);
  mw_unlock(&check->lock);
}

void cuda_check_passed(cuda_device *device, const void *event) {
  check_session *check = locked(device);
  if (!check) return;
  const check_event *e = event_of(check, event, false);
  if (e) join(&check->host, &e->known);
  mw_unlock(&check->lock);
}
