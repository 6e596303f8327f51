/* Which launches, copies and fills happen before which: a vector clock of streams.
 *
 * Order is what the program asked for: the order within a stream, events, the legacy default stream's rule, and waits
 * of the host. It does not depend on what had ended when something was queued. */
#include "session.h"

#include "cpu/schedule/stream.h"

#include <stdlib.h>
#include <string.h>

typedef struct known_stream {
  const cpu_stream *stream; /* NULL: freed, and another one may lie at its address now */
  unsigned flags;
  uint32_t issued;
  check_clock known;
} known_stream;

typedef struct known_event {
  const void *event;
  check_clock known;
} known_event;

typedef struct check_streams {
  known_stream *items;
  known_event *events;
  uint32_t count, event_count;
  check_clock host;
} check_streams;

void check_order_open(cpu_check *check) {
  mw_lock_init(&check->order_lock);
  check->streams = mw_alloc(sizeof *check->streams);
  check->launch_count = 1;
  check->launch_capacity = 16;
  check->launches = mw_alloc(check->launch_capacity * sizeof(check_launch *));
}

void check_order_close(cpu_check *check) {
  check_streams *s = check->streams;
  for (uint32_t i = 0; i < s->count; i++) free(s->items[i].known.at);
  for (uint32_t i = 0; i < s->event_count; i++) free(s->events[i].known.at);
  for (uint32_t i = 1; i < check->launch_count; i++) {
    free(check->launches[i]->known.at);
    free(check->launches[i]);
  }
  free(s->items);
  free(s->events);
  free(s->host.at);
  free(s);
  free(check->launches);
  pthread_mutex_destroy(&check->order_lock);
}

static void join(check_clock *into, const check_clock *from) {
  if (into->count < from->count) {
    into->at = mw_realloc(into->at, from->count * sizeof *into->at);
    memset(into->at + into->count, 0, (from->count - into->count) * sizeof *into->at);
    into->count = from->count;
  }
  for (uint32_t i = 0; i < from->count; i++)
    if (into->at[i] < from->at[i]) into->at[i] = from->at[i];
}

static uint32_t number_of(check_streams *s, const cpu_stream *stream) {
  for (uint32_t i = 0; i < s->count; i++)
    if (s->items[i].stream == stream) return i;
  s->items = mw_realloc(s->items, (s->count + 1) * sizeof *s->items);
  s->items[s->count] = (known_stream){.stream = stream, .flags = stream->flags};
  return s->count++;
}

static check_clock *clock_of_event(check_streams *s, const void *event) {
  for (uint32_t i = 0; i < s->event_count; i++)
    if (s->events[i].event == event) return &s->events[i].known;
  s->events = mw_realloc(s->events, (s->event_count + 1) * sizeof *s->events);
  s->events[s->event_count] = (known_event){.event = event};
  return &s->events[s->event_count++].known;
}

/* What work queued in the stream now happens after. */
static check_clock *arrive(check_streams *s, const cpu_stream *stream, uint32_t number) {
  check_clock *known = &s->items[number].known;
  join(known, &s->host);
  if (stream->flags & MW_STREAM_NON_BLOCKING) return known;
  bool legacy = stream->flags & MW_STREAM_LEGACY;
  for (uint32_t i = 0; i < s->count; i++) {
    unsigned flags = s->items[i].flags;
    if (i == number || flags & MW_STREAM_NON_BLOCKING) continue;
    if (legacy || flags & MW_STREAM_LEGACY) join(known, &s->items[i].known);
  }
  return known;
}

static void advance(check_clock *known, uint32_t number, uint32_t issued) {
  uint32_t *at = mw_alloc((number + 1) * sizeof *at);
  at[number] = issued;
  join(known, &(check_clock){at, number + 1});
  free(at);
}

uint32_t cpu_check_queued(cpu_stream *stream) {
  cpu_check *check = cpu_check_of(stream->device);
  if (!check) return 0;
  mw_lock(&check->order_lock);
  check_streams *s = check->streams;
  uint32_t number = number_of(s, stream), launch = check->launch_count++;
  check_clock *known = arrive(s, stream, number);
  if (check->launch_count > check->launch_capacity) {
    check->launch_capacity *= 2;
    check->launches = mw_realloc(check->launches, check->launch_capacity * sizeof(check_launch *));
  }
  check_launch *made = check->launches[launch] = mw_alloc(sizeof *made);
  *made = (check_launch){.stream = number, .number = ++s->items[number].issued};
  join(&made->known, known);
  advance(known, number, made->number);
  mw_unlock(&check->order_lock);
  return launch;
}

void cpu_check_recorded(cpu_stream *stream, const void *event) {
  cpu_check *check = cpu_check_of(stream->device);
  if (!check) return;
  mw_lock(&check->order_lock);
  check_clock *into = clock_of_event(check->streams, event);
  into->count = 0;
  join(into, arrive(check->streams, stream, number_of(check->streams, stream)));
  mw_unlock(&check->order_lock);
}

void cpu_check_waits(cpu_stream *stream, const void *event) {
  cpu_check *check = cpu_check_of(stream->device);
  if (!check) return;
  mw_lock(&check->order_lock);
  uint32_t number = number_of(check->streams, stream);
  join(&check->streams->items[number].known, clock_of_event(check->streams, event));
  mw_unlock(&check->order_lock);
}

void cpu_check_synchronized(cpu_stream *stream) {
  cpu_check *check = cpu_check_of(stream->device);
  if (!check) return;
  mw_lock(&check->order_lock);
  join(&check->streams->host, arrive(check->streams, stream, number_of(check->streams, stream)));
  mw_unlock(&check->order_lock);
}

void cpu_check_event_passed(cpu_device *device, const void *event) {
  cpu_check *check = cpu_check_of(device);
  if (!check) return;
  mw_lock(&check->order_lock);
  join(&check->streams->host, clock_of_event(check->streams, event));
  mw_unlock(&check->order_lock);
}

void cpu_check_stream_freed(const cpu_stream *stream) {
  cpu_check *check = cpu_check_of(stream->device);
  if (!check) return;
  mw_lock(&check->order_lock);
  check_streams *s = check->streams;
  for (uint32_t i = 0; i < s->count; i++)
    if (s->items[i].stream == stream) s->items[i].stream = NULL;
  mw_unlock(&check->order_lock);
}

void cpu_check_event_freed(cpu_device *device, const void *event) {
  cpu_check *check = cpu_check_of(device);
  if (!check) return;
  mw_lock(&check->order_lock);
  check_streams *s = check->streams;
  for (uint32_t i = 0; i < s->event_count; i++)
    if (s->events[i].event == event) s->events[i].event = NULL;
  mw_unlock(&check->order_lock);
}

static bool knows(const check_launch *launch, const check_launch *other) {
  return other->stream < launch->known.count && launch->known.at[other->stream] >= other->number;
}

bool check_launch_before(cpu_check *check, uint32_t first, uint32_t second) {
  mw_lock(&check->order_lock);
  bool before = first == second || knows(check->launches[second], check->launches[first]);
  mw_unlock(&check->order_lock);
  return before;
}

check_launch *check_launch_at(cpu_check *check, uint32_t launch) {
  mw_lock(&check->order_lock);
  check_launch *found = launch && launch < check->launch_count ? check->launches[launch] : NULL;
  mw_unlock(&check->order_lock);
  return found;
}
