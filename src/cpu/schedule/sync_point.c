/* Marks, and what is built on them: events, waits across streams, holds. */
#include "sync_point.h"
#include "cpu/check/check.h"
#include "pool.h"
#include "stream.h"

#include <stdlib.h>

/* ---- marks ---- */

cpu_mark *cpu_mark_new(cpu_stream *stream) {
  cpu_mark *mark = mw_alloc(sizeof *mark);
  mark->refs = 1;
  mark->stream = stream;
  return mark;
}

cpu_mark *cpu_mark_take(cpu_mark *mark) {
  mark->refs++;
  return mark;
}

void cpu_mark_drop(cpu_mark *mark) {
  if (mark && --mark->refs == 0) free(mark);
}

void cpu_mark_finish(cpu_mark *mark) {
  cpu_stream *stream = mark->waiting, *next;
  mark->done = true;
  mark->time = mw_time();
  mark->waiting = NULL;
  cpu_mark_take(mark); /* a stream that continues drops its reference */
  for (; stream; stream = next) {
    next = stream->next_waiting;
    stream->next_waiting = NULL;
    stream->blocked = NULL;
    cpu_stream_advance(stream);
    if (stream->current && stream->current->active) cpu_pool_wake(stream->device->pool);
  }
  cpu_mark_drop(mark);
}

/* ---- events ---- */

typedef struct cpu_event {
  cpu_device *device;
  cpu_mark *mark; /* the last record, or NULL */
  bool timed;
} cpu_event;

int cpu_event_new(void *device, unsigned flags, void **out) {
  cpu_event *event = mw_alloc(sizeof *event);
  event->device = device;
  event->timed = !(flags & MW_EVENT_DISABLE_TIMING);
  *out = event;
  return MW_SUCCESS;
}

static pthread_mutex_t *lock_of(const cpu_event *event) { return &event->device->pool->lock; }

void cpu_event_free(void *handle) {
  cpu_event *event = handle;
  if (!event) return;
  mw_lock(lock_of(event));
  cpu_mark_drop(event->mark);
  cpu_check_freed(event->device, event);
  mw_unlock(lock_of(event));
  free(event);
}

int cpu_event_record(void *handle, void *where) {
  cpu_event *event = handle;
  cpu_stream *stream = where;
  mw_lock(lock_of(event));
  cpu_mark_drop(event->mark);
  if (stream->device->blocking > 0) cpu_stream_order(stream);
  event->mark = cpu_stream_mark(stream);
  cpu_check_recorded(stream, event);
  cpu_pool_unlock(event->device->pool);
  return MW_SUCCESS;
}

int cpu_event_query(void *handle) {
  cpu_event *event = handle;
  mw_lock(lock_of(event));
  cpu_random_yield(event->device->pool);
  bool done = !event->mark || event->mark->done;
  if (!done) cpu_pool_wake(event->device->pool);
  if (done) cpu_check_event_passed(event->device, event);
  cpu_pool_unlock(event->device->pool);
  return done ? MW_SUCCESS : MW_NOT_READY;
}

int cpu_event_synchronize(void *handle) {
  cpu_event *event = handle;
  int code = MW_SUCCESS;
  mw_lock(lock_of(event));
  cpu_mark *mark = event->mark;
  if (mark && !mark->done) {
    cpu_mark_take(mark);
    if (!cpu_stream_wait_until(mark->stream, mark->number)) code = cpu_stream_fail_held();
    cpu_mark_drop(mark);
  }
  if (code == MW_SUCCESS) cpu_check_event_passed(event->device, event);
  cpu_pool_unlock(event->device->pool);
  return code;
}

int cpu_event_elapsed(void *start, void *end, double *milliseconds) {
  cpu_event *events[2] = {start, end};
  double times[2];
  for (int i = 0; i < 2; i++) {
    static const char *const which[] = {"first", "second"};
    cpu_event *event = events[i];
    if (!event->timed) return fail(MW_INVALID_RESOURCE_HANDLE, "the %s event was made without timing", which[i]);
    mw_lock(lock_of(event));
    const cpu_mark *mark = event->mark;
    bool recorded = mark != NULL, done = recorded && mark->done;
    times[i] = done ? mark->time : 0;
    mw_unlock(lock_of(event));
    if (!recorded)
      return fail(MW_INVALID_RESOURCE_HANDLE, "the %s event was never recorded: record it in a stream", which[i]);
    if (!done)
      return fail(MW_NOT_READY, "the work before the %s event is not done: synchronise with the event", which[i]);
  }
  *milliseconds = (times[1] - times[0]) * 1e3;
  return MW_SUCCESS;
}

/* ---- waiting in a stream ---- */

int cpu_stream_wait(void *handle, void *other) {
  cpu_stream *stream = handle;
  cpu_event *event = other;
  cpu_pool *pool = stream->device->pool, *theirs = event->device->pool;
  mw_lock(&theirs->lock);
  cpu_mark *mark = event->mark && !event->mark->done ? cpu_mark_take(event->mark) : NULL;
  if (pool == theirs) cpu_check_waits(stream, event);
  if (mark && pool == theirs) {
    if (stream->device->blocking > 0) cpu_stream_order(stream);
    cpu_stream_wait_for(stream, mark);
    cpu_mark_drop(mark);
  }
  cpu_pool_unlock(theirs);
  if (!mark || pool == theirs) return MW_SUCCESS;
  /* Another device's pool has its own lock, so streams cannot wait across pools: the host waits. */
  mw_lock(&theirs->lock);
  bool reached = mark->done || cpu_stream_wait_until(mark->stream, mark->number);
  cpu_mark_drop(mark);
  cpu_pool_unlock(theirs);
  return reached ? MW_SUCCESS : cpu_stream_fail_held();
}

/* ---- holds ---- */

typedef struct cpu_hold {
  cpu_stream *stream;
  cpu_pool *pool; /* outlives the stream */
  cpu_mark *mark;
} cpu_hold;

int cpu_hold_new(void *handle, void **out) {
  cpu_stream *stream = handle;
  cpu_hold *hold = mw_alloc(sizeof *hold);
  hold->pool = stream->device->pool;
  hold->stream = stream;
  mw_lock(&hold->pool->lock);
  hold->mark = cpu_mark_new(NULL);
  hold->pool->device->holds++;
  if (hold->pool->device->blocking > 0) cpu_stream_order(stream);
  cpu_stream_wait_for(stream, hold->mark);
  cpu_pool_unlock(hold->pool);
  *out = hold;
  return MW_SUCCESS;
}

bool cpu_hold_reached(void *handle) {
  cpu_hold *hold = handle;
  mw_lock(&hold->pool->lock);
  bool reached = hold->mark->waiting != NULL;
  mw_unlock(&hold->pool->lock);
  return reached;
}

void cpu_hold_free(void *handle) {
  cpu_hold *hold = handle;
  if (!hold) return;
  mw_lock(&hold->pool->lock);
  hold->pool->device->holds--;
  cpu_mark_finish(hold->mark);
  cpu_mark_drop(hold->mark);
  cpu_pool_unlock(hold->pool);
  free(hold);
}
