/* Streams: a device's default stream, created streams, per-thread streams, and waiting for all of them.
 *
 * A released stream with unfinished work stays in its device's list, with a count of 0, until the work is done, since
 * waits for the device include it. It is destroyed by the next call that makes or releases a stream or closes the
 * device. A thread that waits pins the streams that it waits for, so that they are not destroyed meanwhile. */
#include "core/failure.h"
#include "core/graph/capture.h"
#include "core/graph/graph.h"

#include <stdlib.h>

_Thread_local mw_stream *mw_stream_current __attribute__((tls_model("initial-exec")));

typedef struct mw_thread_stream {
  pthread_t thread;
  mw_stream *stream;
  struct mw_thread_stream *next;
} mw_thread_stream;

static uint64_t next_id(void) {
  static _Atomic uint64_t last;
  return atomic_fetch_add(&last, 1) + 1;
}

/* ---- lifetime ---- */

int mw_streams_open(mw_device *device) {
  mw_stream *legacy = &device->legacy;
  legacy->device = device;
  legacy->flags = MW_STREAM_LEGACY;
  legacy->id = next_id();
  int code = device->driver->stream_new(device->state, MW_STREAM_LEGACY, 0, legacy, &legacy->state);
  device->stream = legacy->state;
  if (code == MW_SUCCESS) mw_lock_init(&device->stream_lock);
  return code;
}

/* Destroy streams that are released, not pinned and empty. Under the lock. */
static void reap(mw_device *device) {
  for (mw_stream **link = &device->streams, *stream; (stream = *link) != NULL;) {
    bool idle = atomic_load(&stream->refs) == 0 && stream->pins == 0 &&
                device->driver->stream_query(stream->state) == MW_SUCCESS;
    if (!idle) {
      link = &stream->next;
      continue;
    }
    *link = stream->next;
    device->driver->stream_free(stream->state);
    free(stream);
    atomic_fetch_sub(&device->stream_count, 1);
  }
}

void mw_streams_close(mw_device *device) {
  for (mw_stream *stream = device->streams, *next; stream; stream = next) {
    next = stream->next;
    device->driver->stream_free(stream->state);
    free(stream);
  }
  for (mw_thread_stream *entry = device->thread_streams, *next; entry; entry = next) {
    next = entry->next;
    free(entry);
  }
  device->driver->stream_free(device->stream);
  pthread_mutex_destroy(&device->stream_lock);
}

void mw_stream_priorities(mw_device *device, int *least, int *greatest) {
  device->driver->priorities(device->state, least, greatest);
}

int mw_stream_new(mw_device *device, unsigned flags, int priority, mw_stream **out) {
  if (flags & ~(unsigned)MW_STREAM_NON_BLOCKING)
    return fail(MW_INVALID_VALUE, "%u is not a valid set of stream flags: they are 0 and %d (non-blocking)", flags,
                MW_STREAM_NON_BLOCKING);
  int least, greatest;
  mw_stream_priorities(device, &least, &greatest);
  if (priority > least) priority = least;
  if (priority < greatest) priority = greatest;
  mw_stream *stream = mw_alloc(sizeof *stream);
  *stream = (mw_stream){.device = device, .flags = flags, .priority = priority, .id = next_id()};
  int code = device->driver->stream_new(device->state, flags, priority, stream, &stream->state);
  if (code != MW_SUCCESS) {
    free(stream);
    return code;
  }
  mw_refs_init(&stream->refs);
  mw_device_retain(device);
  mw_lock(&device->stream_lock);
  reap(device);
  stream->next = device->streams;
  device->streams = stream;
  atomic_fetch_add(&device->stream_count, 1);
  mw_unlock(&device->stream_lock);
  *out = stream;
  return MW_SUCCESS;
}

mw_stream *mw_stream_retain(mw_stream *stream) {
  if (stream->flags & MW_STREAM_LEGACY)
    mw_device_retain(stream->device);
  else
    mw_refs_take(&stream->refs);
  return stream;
}

void mw_stream_release(mw_stream *stream) {
  if (!stream) return;
  mw_device *device = stream->device;
  if (!(stream->flags & MW_STREAM_LEGACY)) {
    mw_lock(&device->stream_lock);
    bool last = mw_refs_drop(&stream->refs);
    mw_capture *abandoned = last ? mw_capture_abandon(stream) : NULL;
    if (last) reap(device);
    mw_unlock(&device->stream_lock);
    mw_capture_drop(abandoned);
    if (!last) return;
  }
  mw_device_release(device);
}

mw_stream *mw_device_stream(mw_device *device) { return &device->legacy; }

/* The device owns a per-thread stream, without a handle; the first handle that is requested counts as its first. */
int mw_stream_per_thread(mw_device *device, mw_stream **out) {
  mw_lock(&device->stream_lock);
  mw_thread_stream *entry = device->thread_streams;
  while (entry && !pthread_equal(entry->thread, pthread_self())) entry = entry->next;
  if (entry && atomic_fetch_add(&entry->stream->refs, 1) == 0) mw_device_retain(device);
  mw_unlock(&device->stream_lock);
  if (!entry) {
    mw_stream *stream;
    int code = mw_stream_new(device, MW_STREAM_DEFAULT, 0, &stream);
    if (code != MW_SUCCESS) return code;
    entry = mw_alloc(sizeof *entry);
    entry->thread = pthread_self();
    entry->stream = stream;
    mw_lock(&device->stream_lock);
    stream->pins++; /* for good: it is never destroyed before the device */
    entry->next = device->thread_streams;
    device->thread_streams = entry;
    mw_unlock(&device->stream_lock);
  }
  *out = entry->stream;
  return MW_SUCCESS;
}

/* ---- facts ---- */

mw_device *mw_stream_device(const mw_stream *stream) { return stream->device; }
unsigned mw_stream_flags_of(const mw_stream *stream) { return stream->flags; }
int mw_stream_priority(const mw_stream *stream) { return stream->priority; }
uint64_t mw_stream_id(const mw_stream *stream) { return stream->id; }

/* ---- waiting ---- */

/* Querying a captured stream, or waiting for it, fails: it has run nothing. */
static int refuse_capturing(mw_stream *stream) {
  return mw_capture_concerns(stream) ? mw_capture_refuse_stream(stream) : MW_SUCCESS;
}

/* What the host has seen to be done has happened before what it does next; a checked run learns that from the wait. */
int mw_stream_query(mw_stream *stream) {
  mw_device *device = stream->device;
  int code = refuse_capturing(stream);
  if (code == MW_SUCCESS) code = device->driver->stream_query(stream->state);
  bool is_seen = code == MW_SUCCESS && atomic_load(&device->checking);
  return is_seen ? device->driver->stream_synchronize(stream->state) : code;
}

int mw_stream_synchronize(mw_stream *stream) {
  int code = refuse_capturing(stream);
  if (code == MW_SUCCESS) code = stream->device->driver->stream_synchronize(stream->state);
  if (code == MW_NOT_READY) return code;
  int failure = mw_failure_raise(stream->device, stream, mw_owner_current());
  return failure ? failure : code;
}

/* The stream after `stream` in the list (NULL: the first); pins it and unpins `stream`. */
static mw_stream *next_pinned(mw_device *device, mw_stream *stream) {
  mw_lock(&device->stream_lock);
  mw_stream *next = stream ? stream->next : device->streams;
  if (next) next->pins++;
  if (stream) stream->pins--;
  mw_unlock(&device->stream_lock);
  return next;
}

int mw_streams_wait(mw_device *device) {
  int result = MW_SUCCESS;
  for (mw_stream *stream = NULL; (stream = next_pinned(device, stream)) != NULL;) {
    int code = device->driver->stream_synchronize(stream->state);
    if (code == MW_NOT_READY)
      result = code;
    else if (code != MW_SUCCESS)
      mw_failure_defer(device);
  }
  mw_lock(&device->stream_lock);
  reap(device);
  mw_unlock(&device->stream_lock);
  return result;
}

int mw_stream_use(mw_stream *stream, mw_stream **previous) {
  mw_stream *old = mw_stream_current;
  mw_stream_current = stream ? mw_stream_retain(stream) : NULL;
  if (previous)
    *previous = old;
  else
    mw_stream_release(old);
  return MW_SUCCESS;
}

/* ---- functions of the host's ---- */

int mw_stream_call(mw_stream *stream, void (*function)(void *context), void *context) {
  if (!function) return fail(MW_INVALID_VALUE, "a stream was given no function to call");
  if (mw_capture_concerns(stream)) {
    const mw_work work = {.kind = MW_WORK_CALL, .function = function, .context = context};
    int code = mw_capture_check(stream);
    return code ? code : mw_capture_add(stream, &work);
  }
  return stream->device->driver->stream_call(stream->state, (mw_completion){function, context});
}

struct mw_hold {
  mw_device *device;
  void *state;
  bool entered;
};

static _Thread_local int entered; /* the number of holds that this thread has entered */

bool mw_stream_in_function(void) { return entered > 0; }

void mw_hold_enter(mw_hold *hold) {
  if (!hold->entered) entered++;
  hold->entered = true;
}

int mw_stream_hold(mw_stream *stream, mw_hold **out) {
  void *state;
  if (mw_capture_concerns(stream)) {
    const mw_work work = {.kind = MW_WORK_HOLD};
    int captured = mw_capture_check(stream);
    if (captured == MW_SUCCESS) captured = mw_capture_add(stream, &work);
    if (captured == MW_SUCCESS) *out = NULL;
    return captured;
  }
  int code = stream->device->driver->hold_new(stream->state, &state);
  if (code != MW_SUCCESS) return code;
  mw_hold *hold = mw_alloc(sizeof *hold);
  hold->device = mw_device_retain(stream->device);
  hold->state = state;
  *out = hold;
  return MW_SUCCESS;
}

int mw_hold_reached(const mw_hold *hold) { return hold->device->driver->hold_reached(hold->state); }

void mw_hold_release(mw_hold *hold) {
  if (!hold) return;
  if (hold->entered) entered--;
  hold->device->driver->hold_free(hold->state);
  mw_device_release(hold->device);
  free(hold);
}
