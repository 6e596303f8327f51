/* Vector clocks of streams. */
#include "core/launch/stream_clocks.h"

#include <stdlib.h>
#include <string.h>

struct mw_known_stream {
  const void *stream; /* NULL: freed; its commands are still compared with */
  unsigned flags;
  uint32_t issued;
  mw_clock known;
};

struct mw_known_event {
  const void *event; /* NULL: freed */
  mw_clock known;
};

/* ---- clocks ---- */

void mw_clock_free(mw_clock *clock) {
  free(clock->at);
  *clock = (mw_clock){0};
}

static void extend(mw_clock *clock, size_t count) {
  if (clock->count >= count) return;
  clock->at = mw_realloc(clock->at, count * sizeof *clock->at);
  memset(clock->at + clock->count, 0, (count - clock->count) * sizeof *clock->at);
  clock->count = count;
}

static void join(mw_clock *into, const mw_clock *from) {
  extend(into, from->count);
  for (size_t i = 0; i < from->count; i++)
    if (into->at[i] < from->at[i]) into->at[i] = from->at[i];
}

/* ---- streams ---- */

size_t mw_clocks_stream(mw_stream_clocks *c, const void *stream, unsigned flags) {
  for (size_t i = 0; i < c->stream_count; i++)
    if (c->streams[i].stream == stream) return i;
  c->streams = mw_realloc(c->streams, (c->stream_count + 1) * sizeof *c->streams);
  c->streams[c->stream_count] = (struct mw_known_stream){.stream = stream, .flags = flags};
  return c->stream_count++;
}

/* The legacy default stream waits for the others, and they for it, but for non-blocking ones. */
static bool waits_for(unsigned flags, unsigned other) {
  if ((flags | other) & MW_STREAM_NON_BLOCKING) return false;
  return (flags | other) & MW_STREAM_LEGACY;
}

/* What work that is queued in the stream now happens after. */
static mw_clock *arrive(mw_stream_clocks *c, size_t number) {
  struct mw_known_stream *own = &c->streams[number];
  join(&own->known, &c->host);
  for (size_t i = 0; i < c->stream_count; i++)
    if (i != number && waits_for(own->flags, c->streams[i].flags)) join(&own->known, &c->streams[i].known);
  return &own->known;
}

void mw_clocks_queue(mw_stream_clocks *c, size_t stream, mw_ordered_command *out) {
  mw_clock *known = arrive(c, stream);
  *out = (mw_ordered_command){.stream = stream, .number = ++c->streams[stream].issued};
  join(&out->known, known);
  extend(known, stream + 1);
  known->at[stream] = out->number;
}

bool mw_happens_before(const mw_ordered_command *first, const mw_ordered_command *second) {
  return first->stream < second->known.count && second->known.at[first->stream] >= first->number;
}

void mw_clocks_synchronized(mw_stream_clocks *c, size_t stream) { join(&c->host, arrive(c, stream)); }

/* ---- events ---- */

static struct mw_known_event *find_event(mw_stream_clocks *c, const void *event) {
  for (size_t i = 0; i < c->event_count; i++)
    if (c->events[i].event == event) return &c->events[i];
  return NULL;
}

void mw_clocks_record(mw_stream_clocks *c, size_t stream, const void *event) {
  struct mw_known_event *e = find_event(c, event);
  if (!e) {
    c->events = mw_realloc(c->events, (c->event_count + 1) * sizeof *c->events);
    e = &c->events[c->event_count++];
    *e = (struct mw_known_event){.event = event};
  }
  e->known.count = 0;
  join(&e->known, arrive(c, stream));
}

void mw_clocks_wait(mw_stream_clocks *c, size_t stream, const void *event) {
  const struct mw_known_event *e = find_event(c, event);
  if (e) join(&c->streams[stream].known, &e->known);
}

void mw_clocks_passed(mw_stream_clocks *c, const void *event) {
  const struct mw_known_event *e = find_event(c, event);
  if (e) join(&c->host, &e->known);
}

/* ---- the end ---- */

void mw_clocks_forget(mw_stream_clocks *c, const void *stream_or_event) {
  for (size_t i = 0; i < c->stream_count; i++)
    if (c->streams[i].stream == stream_or_event) c->streams[i].stream = NULL;
  struct mw_known_event *e = find_event(c, stream_or_event);
  if (e) e->event = NULL;
}

void mw_clocks_close(mw_stream_clocks *c) {
  for (size_t i = 0; i < c->stream_count; i++) mw_clock_free(&c->streams[i].known);
  for (size_t i = 0; i < c->event_count; i++) mw_clock_free(&c->events[i].known);
  free(c->streams);
  free(c->events);
  mw_clock_free(&c->host);
}
