/* The time limit: a thread that stops kernels which run too long, if they can be stopped (failure_reports.c). It is
 * started when a limit is first set, and sleeps while no such kernel is in flight. An interrupt stops kernels in the
 * same way.
 *
 * The running launch of a stream is the last one that has reported its start; its time counts from when the thread
 * sees that report. */
#include "guard.h"

#include <signal.h>
#include <time.h>

static const double poll_interval = 0.01; /* seconds between two polls */

/* The launch that runs in the stream, or has just ended; NULL: none. Under the stream's lock. */
static cuda_pending *running(cuda_device *device, const cuda_stream *stream, uint64_t *at) {
  for (uint64_t i = stream->end; i-- > stream->first;) {
    cuda_pending *pending = &stream->queue[i & (stream->capacity - 1)];
    *at = i;
    if (pending->number && cuda_guard_has_begun(device, pending->number)) return pending;
  }
  return NULL;
}

static void stop(cuda_device *device, cuda_stream *stream, cuda_pending *pending, uint64_t at, bool interrupted) {
  if (cu.cuStreamQuery(stream->handle) != CUDA_NOT_READY) return;
  pending->interrupted = interrupted;
  cuda_guard_stop(device, pending->number);
  stream->ending = at + 1;
  stream->ending_since = mw_time();
}

/* Stops all running launches, or those that have run for `limit` seconds. */
static void stop_due(cuda_device *device, double limit, bool at_once) {
  double now = mw_time();
  mw_lock(&device->lock);
  for (cuda_stream *stream = device->streams; stream; stream = stream->next) {
    uint64_t at;
    mw_lock(&stream->lock);
    cuda_pending *pending = running(device, stream, &at);
    if (pending && pending->number != stream->watched) {
      stream->watched = pending->number;
      stream->watched_since = now;
    }
    bool is_due = pending && (at_once || now - stream->watched_since >= limit);
    if (is_due && stream->ending != at + 1) stop(device, stream, pending, at, at_once);
    mw_unlock(&stream->lock);
  }
  mw_unlock(&device->lock);
}

bool cuda_monitor_sees(cuda_device *device) {
  bool any = false;
  mw_lock(&device->lock);
  for (cuda_stream *stream = device->streams; stream && !any; stream = stream->next) {
    uint64_t at;
    mw_lock(&stream->lock);
    any = running(device, stream, &at) != NULL;
    mw_unlock(&stream->lock);
  }
  mw_unlock(&device->lock);
  return any;
}

static void sleep_until_poll(cuda_guard *guard) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_nsec += (long)(poll_interval * 1e9);
  if (time.tv_nsec >= 1000000000) {
    time.tv_nsec -= 1000000000;
    time.tv_sec++;
  }
  pthread_cond_timedwait(&guard->watch, &guard->watch_lock, &time);
}

static void *monitor(void *argument) {
  cuda_device *device = argument;
  cuda_guard *guard = device->guard;
  sigset_t every;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, NULL);
  pthread_setname_np(pthread_self(), "moonwarp-clock");
  mw_lock(&guard->watch_lock);
  while (!guard->closing) {
    double limit = device->limits[MW_LIMIT_TIME];
    if (limit <= 0 || atomic_load(&device->guarded) == 0) {
      pthread_cond_wait(&guard->watch, &guard->watch_lock);
      continue;
    }
    mw_unlock(&guard->watch_lock);
    if (cuda_enter_quietly(device)) stop_due(device, limit, false);
    mw_lock(&guard->watch_lock);
    sleep_until_poll(guard);
  }
  mw_unlock(&guard->watch_lock);
  return NULL;
}

int cuda_monitor_start(cuda_device *device) {
  cuda_guard *guard = device->guard;
  if (!guard->watching) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    mw_lock_init(&guard->watch_lock);
    pthread_cond_init(&guard->watch, &attributes);
    pthread_condattr_destroy(&attributes);
    guard->watching = !pthread_create(&guard->thread, NULL, monitor, device);
    if (!guard->watching) return fail(MW_OPERATING_SYSTEM, "could not start the thread that enforces the time limit");
  }
  cuda_monitor_wake(device);
  return MW_SUCCESS;
}

void cuda_monitor_wake(cuda_device *device) {
  cuda_guard *guard = device->guard;
  if (!guard->watching) return;
  mw_lock(&guard->watch_lock);
  pthread_cond_signal(&guard->watch);
  mw_unlock(&guard->watch_lock);
}

void cuda_monitor_close(cuda_device *device) {
  cuda_guard *guard = device->guard;
  if (!guard->watching) return;
  mw_lock(&guard->watch_lock);
  guard->closing = true;
  pthread_cond_signal(&guard->watch);
  mw_unlock(&guard->watch_lock);
  pthread_join(guard->thread, NULL);
  pthread_cond_destroy(&guard->watch);
  pthread_mutex_destroy(&guard->watch_lock);
}

void cuda_interrupt(void *handle) {
  cuda_device *device = handle;
  if (atomic_load(&device->guarded) > 0 && cuda_enter_quietly(device)) stop_due(device, 0, true);
}
