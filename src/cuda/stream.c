/* Streams: CUDA's own, each with a queue of the commands whose completions are still to be called (cuda.h). */
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A mark for so many commands; and no more commands than this without one being done. */
enum { MARK_EVERY = 256, QUEUE_MOST = 8192 };

/* ---- calling completions ---- */

/* Commands before `upto` are done. Called without the lock: a completion may take others. */
static void complete(cuda_stream *stream, uint64_t upto) {
  mw_completion some[64];
  for (size_t count = MW_COUNT(some); count == MW_COUNT(some);) {
    count = 0;
    pthread_mutex_lock(&stream->lock);
    for (; stream->first < upto && count < MW_COUNT(some); stream->first++) {
      const cuda_pending *pending = &stream->queue[stream->first % stream->capacity];
      if (pending->completion.done) some[count++] = pending->completion;
    }
    bool more = stream->first < upto;
    pthread_mutex_unlock(&stream->lock);
    for (size_t i = 0; i < count; i++) some[i].done(some[i].context);
    if (!more) break;
  }
}

/* The command that the marks that have passed come behind. Under the lock. */
static uint64_t passed_marks(cuda_stream *stream) {
  uint64_t upto = stream->first;
  while (stream->mark_count > 0 && cu.cuEventQuery(stream->marks[0].event) == 0) {
    upto = stream->marks[0].upto;
    CUevent used = stream->marks[0].event;
    memmove(stream->marks, stream->marks + 1, (CUDA_MARKS - 1) * sizeof *stream->marks);
    stream->marks[CUDA_MARKS - 1].event = used;
    stream->mark_count--;
  }
  return upto;
}

/* Under the lock. */
static void add_mark(cuda_stream *stream) {
  if (stream->mark_count == CUDA_MARKS) return;
  CUevent *event = &stream->marks[stream->mark_count].event;
  if (!*event && cu.cuEventCreate(event, CU_EVENT_NO_TIMING) != 0) *event = NULL;
  if (!*event || cu.cuEventRecord(*event, stream->handle) != 0) return;
  stream->marks[stream->mark_count++].upto = stream->marked = stream->end;
}

static void grow(cuda_stream *stream) {
  size_t capacity = stream->capacity ? 2 * stream->capacity : 128;
  cuda_pending *queue = mw_alloc(capacity * sizeof *queue);
  for (uint64_t i = stream->first; i < stream->end; i++) queue[i % capacity] = stream->queue[i % stream->capacity];
  free(stream->queue);
  stream->queue = queue;
  stream->capacity = capacity;
}

/* A script's path is worth more at its end. */
static void copy_site(char *out, const char *site) {
  size_t length = site ? strlen(site) : 0;
  if (length >= CUDA_SITE) site += length - CUDA_SITE + 1, length = CUDA_SITE - 1;
  if (length) memcpy(out, site, length);
  out[length] = '\0';
}

void cuda_stream_queued(cuda_stream *stream, const mw_completion *completion, const mw_kernel_info *kernel,
                        cuda_unit *unit, const char *site) {
  pthread_mutex_lock(&stream->lock);
  if (stream->end - stream->first == stream->capacity) grow(stream);
  cuda_pending *pending = &stream->queue[stream->end++ % stream->capacity];
  pending->completion = *completion;
  pending->kernel = kernel;
  pending->unit = unit;
  copy_site(pending->site, site);
  uint64_t upto = stream->first;
  CUevent full = NULL;
  if (stream->end - stream->marked >= MARK_EVERY) {
    upto = passed_marks(stream);
    add_mark(stream);
    if (stream->end - stream->first > QUEUE_MOST && stream->mark_count) full = stream->marks[0].event;
  }
  pthread_mutex_unlock(&stream->lock);
  complete(stream, upto);
  if (full && atomic_load(&stream->device->live_holds) == 0) cu.cuEventSynchronize(full);
}

/* ---- all streams ---- */

void cuda_streams_poll(cuda_device *device) {
  pthread_mutex_lock(&device->lock);
  for (cuda_stream *stream = device->streams; stream; stream = stream->next) {
    pthread_mutex_lock(&stream->lock);
    bool empty = stream->epoch == device->epoch && stream->handle && cu.cuStreamQuery(stream->handle) == 0;
    uint64_t upto = empty ? stream->end : passed_marks(stream);
    pthread_mutex_unlock(&stream->lock);
    complete(stream, upto);
  }
  pthread_mutex_unlock(&device->lock);
}

/* "launched at a.lua:3", or all that may have done it. */
static void tell(cuda_stream *stream, mw_text *story, const mw_kernel_info **one, int *launches) {
  for (uint64_t i = stream->first; i < stream->end; i++) {
    const cuda_pending *pending = &stream->queue[i % stream->capacity];
    if (!pending->kernel) continue;
    *one = ++*launches == 1 ? pending->kernel : *one == pending->kernel ? *one : NULL;
    if (*launches <= 4)
      mw_text_addf(story, "%s%s%s%s", *launches > 1 ? ", " : "", pending->kernel->name,
                   pending->site[0] ? " launched at " : "", pending->site);
  }
}

void cuda_streams_abandon(cuda_device *device, mw_text *story, const mw_kernel_info **one) {
  int launches = 0;
  mw_text list = {0};
  *one = NULL;
  pthread_mutex_lock(&device->lock);
  for (cuda_stream *stream = device->streams; stream; stream = stream->next) {
    pthread_mutex_lock(&stream->lock);
    tell(stream, &list, one, &launches);
    stream->mark_count = 0;
    for (int i = 0; i < CUDA_MARKS; i++) stream->marks[i].event = NULL;
    uint64_t upto = stream->end;
    pthread_mutex_unlock(&stream->lock);
    complete(stream, upto);
    cuda_stream_forget_holds(stream);
  }
  pthread_mutex_unlock(&device->lock);
  if (launches == 1)
    mw_text_addf(story, "%s", list.data);
  else if (launches > 1)
    mw_text_addf(story,
                 "it is one of the %d that were running: %s%s (with CUDA_LAUNCH_BLOCKING=1 in the environment each "
                 "is waited for, and the one that fails is known)",
                 launches, list.data, launches > 4 ? ", …" : "");
  mw_text_free(&list);
}

/* ---- lifetime ---- */

static int make(cuda_stream *stream) {
  cuda_device *device = stream->device;
  stream->epoch = device->epoch;
  if (stream->flags & MW_STREAM_LEGACY) {
    stream->handle = CU_STREAM_LEGACY;
    return MW_SUCCESS;
  }
  unsigned flags = stream->flags & MW_STREAM_NON_BLOCKING ? CU_STREAM_FLAG_NON_BLOCKING : 0;
  return cuda_outcome(device, cu.cuStreamCreateWithPriority(&stream->handle, flags, stream->priority),
                      "making a stream");
}

int cuda_stream_enter(cuda_stream *stream) {
  int code = cuda_enter(stream->device);
  return code || stream->epoch == stream->device->epoch ? code : make(stream);
}

int cuda_stream_new(void *handle, unsigned flags, int priority, void **out) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  cuda_stream *stream = mw_alloc(sizeof *stream);
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  code = make(stream);
  if (code != MW_SUCCESS) {
    free(stream);
    return code;
  }
  pthread_mutex_init(&stream->lock, NULL);
  pthread_mutex_lock(&device->lock);
  stream->next = device->streams;
  device->streams = stream;
  pthread_mutex_unlock(&device->lock);
  *out = stream;
  return MW_SUCCESS;
}

void cuda_stream_free(void *handle) {
  cuda_stream *stream = handle;
  cuda_device *device = stream->device;
  cuda_stream_forget_holds(stream);
  if (cuda_stream_synchronize(stream) != MW_SUCCESS) mw_error_clear();
  pthread_mutex_lock(&device->lock);
  for (cuda_stream **link = &device->streams; *link; link = &(*link)->next)
    if (*link == stream) {
      *link = stream->next;
      break;
    }
  pthread_mutex_unlock(&device->lock);
  if (stream->epoch == device->epoch && cuda_enter_quietly(device)) {
    for (int i = 0; i < CUDA_MARKS; i++)
      if (stream->marks[i].event) cu.cuEventDestroy(stream->marks[i].event);
    if (stream->handle != CU_STREAM_LEGACY) cu.cuStreamDestroy(stream->handle);
  }
  pthread_mutex_destroy(&stream->lock);
  free(stream->queue);
  free(stream);
}

/* ---- waiting ---- */

/* CUDA cannot stop a kernel. Past the limit "time" the host gives the device up and goes on without it. */
static CUresult wait_limited(cuda_stream *stream, double seconds) {
  CUresult result;
  double start = mw_time(), passed;
  while ((result = cu.cuStreamQuery(stream->handle)) == CUDA_NOT_READY && (passed = mw_time() - start) < seconds)
    if (passed > 1e-3) usleep(100);
  return result == CUDA_NOT_READY ? MW_LAUNCH_TIMEOUT : result;
}

int cuda_stream_synchronize(void *handle) {
  cuda_stream *stream = handle;
  int code = cuda_stream_enter(stream);
  if (code == MW_SUCCESS) code = cuda_stream_held(stream);
  if (code != MW_SUCCESS) return code;
  pthread_mutex_lock(&stream->lock);
  uint64_t upto = stream->end;
  pthread_mutex_unlock(&stream->lock);
  double limit = stream->device->limits[MW_LIMIT_TIME];
  CUresult result = limit > 0 ? wait_limited(stream, limit) : cu.cuStreamSynchronize(stream->handle);
  code = cuda_outcome(stream->device, result, "waiting for a stream");
  if (code == MW_SUCCESS) complete(stream, upto);
  return code;
}

int cuda_stream_query(void *handle) {
  cuda_stream *stream = handle;
  int code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) {
    mw_error_clear(); /* nothing runs on a device that is lost */
    return MW_SUCCESS;
  }
  pthread_mutex_lock(&stream->lock);
  uint64_t upto = stream->end;
  pthread_mutex_unlock(&stream->lock);
  CUresult result = cu.cuStreamQuery(stream->handle);
  if (result == CUDA_NOT_READY) return MW_NOT_READY;
  if (result != 0) return MW_SUCCESS; /* the failure is told by whoever waits */
  complete(stream, upto);
  return MW_SUCCESS;
}
