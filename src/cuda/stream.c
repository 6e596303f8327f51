/* Streams: CUDA's own, each with a queue of commands whose completions have not been called yet (cuda.h). */
#include "cuda/cuda.h"
#include "cuda/check/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Commands between marks; the most commands in flight; launches that a message lists. */
enum { MARK_EVERY = 256, QUEUE_MOST = 8192, LAUNCHES_LISTED = 4 };

/* ---- calling completions ---- */

static cuda_pending *command_at(const cuda_stream *stream, uint64_t i) {
  return &stream->queue[i & (stream->capacity - 1)];
}

/* Calls the completions of the commands before `upto`; their failures were taken before. Called without the lock,
   because a completion may take other locks. */
static void complete(cuda_stream *stream, uint64_t upto) {
  struct {
    mw_completion completion;
    unsigned times;
  } some[64];
  for (size_t count = MW_COUNT(some); count == MW_COUNT(some);) {
    count = 0;
    mw_lock(&stream->lock);
    for (; stream->first < upto && count < MW_COUNT(some); stream->first++) {
      const cuda_pending *pending = command_at(stream, stream->first);
      if (pending->unit && pending->unit->guarded) atomic_fetch_sub(&stream->device->guarded, (int)pending->times);
      if (!pending->completion.done) continue;
      some[count].completion = pending->completion;
      some[count++].times = pending->times;
    }
    bool more = stream->first < upto;
    mw_unlock(&stream->lock);
    for (size_t i = 0; i < count; i++)
      while (some[i].times-- > 0) some[i].completion.done(some[i].completion.context);
    if (!more) break;
  }
}

/* The end of the commands before the marks that have passed. Under the lock. */
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
  stream->unmarked = 0;
}

static void grow(cuda_stream *stream) {
  size_t capacity = stream->capacity ? 2 * stream->capacity : 128;
  cuda_pending *queue = mw_alloc(capacity * sizeof *queue);
  for (uint64_t i = stream->first; i < stream->end; i++) queue[i & (capacity - 1)] = *command_at(stream, i);
  free(stream->queue);
  stream->queue = queue;
  stream->capacity = capacity;
}

/* The end of a script's path is worth more than its beginning. */
static const char *cut_site(const char *site) {
  size_t length = site ? strlen(site) : 0;
  return length == 0 ? "" : length < CUDA_SITE ? site : site + length - CUDA_SITE + 1;
}

/* Whether the launch repeats the last one, with no mark between them. */
static bool repeats(const cuda_stream *stream, const mw_kernel_info *kernel, const mw_launch_request *request) {
  const mw_completion *completion = &request->completion;
  if (!completion->done || stream->end == stream->first || stream->end == stream->marked) return false;
  const cuda_pending *last = command_at(stream, stream->end - 1);
  return last->completion.context == completion->context && last->completion.done == completion->done &&
         last->kernel == kernel && last->site_at == request->site && last->number == 0;
}

/* Under the lock. */
static cuda_pending *append(cuda_stream *stream, const mw_completion *completion) {
  if (stream->end - stream->first == stream->capacity) grow(stream);
  cuda_pending *pending = command_at(stream, stream->end++);
  *pending = (cuda_pending){.completion = *completion, .times = 1};
  return pending;
}

/* Under the lock. */
static cuda_pending *__attribute__((noinline)) append_launch(cuda_stream *stream, const mw_kernel_info *kernel,
                                                             const mw_launch_request *request) {
  cuda_pending *pending = append(stream, &request->completion);
  pending->kernel = kernel;
  pending->owner = request->owner;
  pending->site_at = request->site;
  strcpy(pending->site, cut_site(request->site));
  return pending;
}

/* Under the lock, which it releases. */
static void __attribute__((noinline)) mark(cuda_stream *stream) {
  CUevent full = NULL;
  uint64_t upto = passed_marks(stream);
  add_mark(stream);
  if (stream->end - stream->first > QUEUE_MOST && stream->mark_count) full = stream->marks[0].event;
  mw_unlock(&stream->lock);
  cuda_guard_take(stream->device);
  if (upto > 0) complete(stream, upto);
  if (full && atomic_load(&stream->device->live_holds) == 0) cu.cuEventSynchronize(full);
}

/* Counts one more command. Under the lock, which it releases. */
static inline void count(cuda_stream *stream) {
  if (mw_likely(++stream->unmarked < MARK_EVERY))
    mw_unlock(&stream->lock);
  else
    mark(stream);
}

void cuda_stream_queued(cuda_stream *stream, const mw_completion *completion) {
  mw_lock(&stream->lock);
  append(stream, completion);
  count(stream);
}

/* A repeated launch touches only the last entry, which is in the cache. */
void cuda_stream_launched(cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *request) {
  mw_lock(&stream->lock);
  if (mw_likely(repeats(stream, &kernel->info, request)))
    command_at(stream, stream->end - 1)->times++;
  else
    append_launch(stream, &kernel->info, request)->unit = kernel->unit;
  count(stream);
}

void cuda_stream_launched_numbered(cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *request,
                                   unsigned number) {
  mw_lock(&stream->lock);
  cuda_pending *pending = append_launch(stream, &kernel->info, request);
  pending->unit = kernel->unit;
  pending->number = number;
  count(stream);
}

/* ---- all streams ---- */

void cuda_streams_poll(cuda_device *device) {
  cuda_guard_take(device);
  mw_lock(&device->lock);
  for (cuda_stream *stream = device->streams; stream; stream = stream->next) {
    mw_lock(&stream->lock);
    bool empty = stream->epoch == device->epoch && stream->handle && cu.cuStreamQuery(stream->handle) == 0;
    uint64_t upto = empty ? stream->end : passed_marks(stream);
    mw_unlock(&stream->lock);
    complete(stream, upto);
  }
  mw_unlock(&device->lock);
}

/* With CUDA_LAUNCH_BLOCKING=1 CUDA waits in each launch, so a fault is that of the current launch: all earlier ones
   are done. */
void cuda_stream_blames(cuda_stream *stream, const mw_kernel_info *kernel, const char *site) {
  const mw_launch_request blamed = {.site = site};
  const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
  cuda_device *device = stream->device;
  if (!blocking || atoi(blocking) == 0) return;
  mw_lock(&device->lock);
  for (cuda_stream *other = device->streams; other; other = other->next) complete(other, other->end);
  mw_unlock(&device->lock);
  mw_lock(&stream->lock);
  append_launch(stream, kernel, &blamed);
  mw_unlock(&stream->lock);
}

/* Adds "launched at a.lua:3", or all launches that may have failed. */
static void list_launch(cuda_stream *stream, mw_text *story, const mw_kernel_info **one, int *listed,
                        unsigned *launches) {
  for (uint64_t i = stream->first; i < stream->end; i++) {
    const cuda_pending *pending = command_at(stream, i);
    if (!pending->kernel) continue;
    *one = *listed == 0 || *one == pending->kernel ? pending->kernel : NULL;
    if (*listed < LAUNCHES_LISTED) {
      mw_text_addf(story, "%s%s%s%s", *listed > 0 ? ", " : "", pending->kernel->name,
                   pending->site[0] ? " launched at " : "", pending->site);
      if (pending->times > 1) mw_text_addf(story, " (%u times)", pending->times);
    }
    *listed += 1;
    *launches += pending->times;
  }
}

void cuda_streams_abandon(cuda_device *device, mw_text *story, char **name) {
  int listed = 0;
  unsigned launches = 0;
  mw_text list = {0};
  const mw_kernel_info *one = NULL;
  mw_lock(&device->lock);
  for (cuda_stream *stream = device->streams; stream; stream = stream->next) {
    mw_lock(&stream->lock);
    list_launch(stream, &list, &one, &listed, &launches);
    mw_unlock(&stream->lock);
  }
  *name = one ? mw_strdup(one->name) : NULL; /* the launch may hold the last reference to its module */
  for (cuda_stream *stream = device->streams; stream; stream = stream->next) {
    mw_lock(&stream->lock);
    stream->mark_count = 0;
    for (int i = 0; i < CUDA_MARKS; i++) stream->marks[i].event = NULL;
    uint64_t upto = stream->end;
    mw_unlock(&stream->lock);
    complete(stream, upto);
    cuda_stream_forget_holds(stream);
  }
  mw_unlock(&device->lock);
  if (launches == 1)
    mw_text_addf(story, "%s", list.data);
  else if (launches > 1)
    mw_text_addf(story,
                 "it is one of the %u that were running: %s%s (with CUDA_LAUNCH_BLOCKING=1 in the environment each "
                 "is waited for, and the one that fails is known)",
                 launches, list.data, listed > LAUNCHES_LISTED ? ", …" : "");
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

int cuda_stream_new(void *handle, unsigned flags, int priority, mw_stream *core, void **out) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  cuda_stream *stream = mw_alloc(sizeof *stream);
  stream->device = device;
  stream->core = core;
  stream->flags = flags;
  stream->priority = priority;
  code = make(stream);
  if (code != MW_SUCCESS) {
    free(stream);
    return code;
  }
  mw_lock_init(&stream->lock);
  mw_lock(&device->lock);
  stream->next = device->streams;
  device->streams = stream;
  mw_unlock(&device->lock);
  *out = stream;
  return MW_SUCCESS;
}

void cuda_stream_free(void *handle) {
  cuda_stream *stream = handle;
  cuda_device *device = stream->device;
  cuda_stream_forget_holds(stream);
  if (cuda_stream_synchronize(stream) != MW_SUCCESS) mw_error_clear();
  mw_lock(&device->lock);
  for (cuda_stream **link = &device->streams; *link; link = &(*link)->next)
    if (*link == stream) {
      *link = stream->next;
      break;
    }
  mw_unlock(&device->lock);
  cuda_check_freed(device, stream);
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

/* The watchdog stops kernels that can be stopped. CUDA cannot stop others: past the limit "time" the host gives up the
   device and continues without it. The same applies to a kernel that does not end although it should, because one of
   its threads failed and others wait for that thread without polling. */
static CUresult wait_watching(cuda_stream *stream, double seconds) {
  CUresult result;
  cuda_device *device = stream->device;
  double start = mw_time();
  while ((result = cu.cuStreamQuery(stream->handle)) == CUDA_NOT_READY) {
    double passed = mw_time() - start;
    if (passed > 1e-3) usleep(100);
    if (atomic_load(&device->guarded) == 0 && (seconds <= 0 || passed < seconds)) continue;
    cuda_guard_take(device);
    if (seconds > 0 && passed >= seconds && !cuda_monitor_sees(device)) return MW_LAUNCH_TIMEOUT;
    if (cuda_guard_gives_up(device)) return MW_LAUNCH_TIMEOUT;
  }
  return result;
}

CUresult cuda_stream_wait_done(cuda_stream *stream) {
  cuda_device *device = stream->device;
  double limit = device->limits[MW_LIMIT_TIME];
  CUresult result = limit > 0 || atomic_load(&device->guarded) > 0 ? wait_watching(stream, limit)
                                                                   : cu.cuStreamSynchronize(stream->handle);
  cuda_guard_take(device);
  return result;
}

int cuda_stream_synchronize(void *handle) {
  cuda_stream *stream = handle;
  int code = cuda_stream_enter(stream);
  /* Waiting for the default stream also waits for the holds of other streams. */
  if (code == MW_SUCCESS && stream->flags & MW_STREAM_LEGACY) cuda_stream_inherit_holds(stream);
  if (code == MW_SUCCESS) code = cuda_stream_held(stream);
  if (code != MW_SUCCESS) return code;
  mw_lock(&stream->lock);
  uint64_t upto = stream->end;
  mw_unlock(&stream->lock);
  code = cuda_outcome(stream->device, cuda_stream_wait_done(stream), "waiting for a stream");
  if (code == MW_SUCCESS) complete(stream, upto);
  if (code == MW_SUCCESS) cuda_check_synchronized(stream);
  return code;
}

int cuda_stream_query(void *handle) {
  cuda_stream *stream = handle;
  int code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) {
    mw_error_clear(); /* nothing runs on a lost device */
    return MW_SUCCESS;
  }
  mw_lock(&stream->lock);
  uint64_t upto = stream->end;
  mw_unlock(&stream->lock);
  CUresult result = cu.cuStreamQuery(stream->handle);
  if (result == CUDA_NOT_READY) return MW_NOT_READY;
  if (result != 0) return MW_SUCCESS; /* a waiting thread reports the failure */
  cuda_guard_take(stream->device);
  complete(stream, upto);
  return MW_SUCCESS;
}
