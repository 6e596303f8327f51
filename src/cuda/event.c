/* Events, host functions, and holds.
 *
 * A hold is a value of a word of pinned memory, for which its stream waits. The holds that block a stream are recorded
 * as they propagate, by events and by the legacy default stream's rule, so that no thread waits for work that waits for
 * the host. */
#include "cuda/cuda.h"
#include "cuda/check/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct cuda_hold {
  struct cuda_hold *next; /* in the device's list, while it is live */
  cuda_device *device;
  atomic_int refs; /* its owner, and the lists of streams and events that it blocks */
  atomic_bool live;
  atomic_bool reached;
  CUevent event;  /* recorded before it */
  size_t word;    /* among the device's */
  uint32_t value; /* that releases the stream: each word counts up, so that it can be reused at once */
  unsigned epoch;
} cuda_hold;

/* The holds that block a stream or an event. */
typedef struct cuda_waits {
  cuda_hold **holds;
  size_t count;
} cuda_waits;

typedef struct cuda_event {
  cuda_device *device;
  unsigned flags, epoch;
  CUevent handle;
  bool recorded;
  cuda_waits waits;
} cuda_event;

/* ---- the holds that block streams: under the device's lock ---- */

static void let_go(cuda_hold *hold) {
  if (atomic_fetch_sub(&hold->refs, 1) == 1) free(hold);
}

static void forget(cuda_waits *waits) {
  for (size_t i = 0; i < waits->count; i++) let_go(waits->holds[i]);
  free(waits->holds);
  *waits = (cuda_waits){0};
}

static void add_wait(cuda_waits *waits, cuda_hold *hold) {
  for (size_t i = 0; i < waits->count; i++)
    if (waits->holds[i] == hold) return;
  if (!atomic_load(&hold->live)) return;
  atomic_fetch_add(&hold->refs, 1);
  waits->holds = mw_realloc(waits->holds, (waits->count + 1) * sizeof *waits->holds);
  waits->holds[waits->count++] = hold;
}

static void add_waits(cuda_waits *waits, const cuda_waits *others) {
  for (size_t i = 0; others && i < others->count; i++) add_wait(waits, others->holds[i]);
}

static cuda_waits *waits_of(cuda_stream *stream) {
  if (!stream->waits) stream->waits = mw_alloc(sizeof *stream->waits);
  return stream->waits;
}

static bool any_live(const cuda_waits *waits) {
  for (size_t i = 0; waits && i < waits->count; i++)
    if (atomic_load(&waits->holds[i]->live)) return true;
  return false;
}

static void let_stream_go(cuda_hold *hold) {
  if (hold->epoch == hold->device->epoch && hold->device->words) hold->device->words[hold->word] = hold->value;
}

void cuda_stream_inherit_holds(cuda_stream *stream) {
  cuda_device *device = stream->device;
  if (atomic_load_explicit(&device->live_holds, memory_order_relaxed) == 0 || stream->flags & MW_STREAM_NON_BLOCKING)
    return;
  mw_lock(&device->lock);
  for (cuda_stream *other = device->streams; other; other = other->next) {
    bool related = (stream->flags | other->flags) & MW_STREAM_LEGACY && !(other->flags & MW_STREAM_NON_BLOCKING);
    if (other != stream && related) add_waits(waits_of(stream), other->waits);
  }
  mw_unlock(&device->lock);
}

void cuda_stream_forget_holds(cuda_stream *stream) {
  if (!stream->waits) return;
  cuda_waits *waits = stream->waits;
  for (size_t i = 0; i < waits->count; i++)
    if (atomic_load(&waits->holds[i]->live)) let_stream_go(waits->holds[i]);
  forget(waits);
  free(waits);
  stream->waits = NULL;
}

/* Waits until the work before the first of these holds is done: then the host may call its function. Holds are in the
   order in which they were made, and none is blocked by a later one. */
static void wait_before(cuda_device *device, cuda_waits *waits) {
  cuda_hold *hold = NULL;
  mw_lock(&device->lock);
  for (size_t i = 0; waits && i < waits->count && !hold; i++)
    if (atomic_load(&waits->holds[i]->live)) hold = waits->holds[i];
  if (hold) atomic_fetch_add(&hold->refs, 1);
  mw_unlock(&device->lock);
  if (!hold) return;
  while (atomic_load(&hold->live) && cu.cuEventQuery(hold->event) == CUDA_NOT_READY) usleep(20);
  let_go(hold);
}

static int fail_held(void) {
  return fail(MW_NOT_READY, "the stream is blocked until a host function has been called, and only the host can "
                            "do that");
}

int cuda_stream_held(cuda_stream *stream) {
  if (atomic_load(&stream->device->live_holds) == 0) return MW_SUCCESS;
  mw_lock(&stream->device->lock);
  bool held = any_live(stream->waits);
  mw_unlock(&stream->device->lock);
  if (!held) return MW_SUCCESS;
  wait_before(stream->device, stream->waits);
  return fail_held();
}

/* ---- holds ---- */

/* Takes a word of pinned memory that no live hold uses. */
static int take_word(cuda_device *device, cuda_hold *hold) {
  if (!device->words) {
    void *memory = NULL;
    size_t bytes = CUDA_HOLDS * sizeof(uint32_t);
    int code =
        cuda_outcome(device, cu.cuMemHostAlloc(&memory, bytes, CU_HOST_PORTABLE | CU_HOST_MAPPED), "making a hold");
    if (code != MW_SUCCESS) return code;
    memset(memory, 0, bytes);
    memset(device->word_values, 0, sizeof device->word_values);
    memset(device->word_taken, 0, sizeof device->word_taken);
    device->words = memory;
  }
  mw_lock(&device->lock);
  size_t i = 0;
  while (i < CUDA_HOLDS && device->word_taken[i]) i++;
  if (i < CUDA_HOLDS) {
    device->word_taken[i] = true;
    hold->word = i;
    hold->value = ++device->word_values[i];
  }
  mw_unlock(&device->lock);
  if (i < CUDA_HOLDS) return MW_SUCCESS;
  return fail(MW_MEMORY_ALLOCATION, "%d functions of the host's wait to be called: let some of them run first",
              CUDA_HOLDS);
}

int cuda_hold_new(void *handle, void **out) {
  cuda_stream *stream = handle;
  cuda_device *device = stream->device;
  int code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  cuda_hold *hold = mw_alloc(sizeof *hold);
  hold->device = device;
  hold->epoch = device->epoch;
  code = take_word(device, hold);
  if (code != MW_SUCCESS) {
    free(hold);
    return code;
  }
  atomic_init(&hold->refs, 1);
  atomic_init(&hold->live, true);
  atomic_fetch_add(&device->live_holds, 1);
  cuda_stream_inherit_holds(stream);
  CUdeviceptr word = (CUdeviceptr)(uintptr_t)&device->words[hold->word];
  CUresult result = cu.cuEventCreate(&hold->event, CU_EVENT_NO_TIMING);
  if (result == 0) result = cu.cuEventRecord(hold->event, stream->handle);
  if (result == 0) result = cu.cuStreamWaitValue32(stream->handle, word, hold->value, CU_WAIT_AT_LEAST);
  code = cuda_outcome(device, result, "making a hold");
  if (code != MW_SUCCESS) {
    cuda_hold_free(hold);
    return code;
  }
  mw_lock(&device->lock);
  add_wait(waits_of(stream), hold);
  hold->next = device->holds;
  device->holds = hold;
  mw_unlock(&device->lock);
  *out = hold;
  return MW_SUCCESS;
}

bool cuda_hold_reached(void *handle) {
  cuda_hold *hold = handle;
  if (hold->epoch != hold->device->epoch || !cuda_enter_quietly(hold->device)) return true;
  return cu.cuEventQuery(hold->event) != CUDA_NOT_READY;
}

void cuda_hold_free(void *handle) {
  cuda_hold *hold = handle;
  cuda_device *device = hold->device;
  atomic_store(&hold->live, false);
  atomic_fetch_sub(&device->live_holds, 1);
  mw_lock(&device->lock);
  for (cuda_hold **link = &device->holds; *link; link = &(*link)->next)
    if (*link == hold) {
      *link = hold->next;
      break;
    }
  if (hold->epoch == device->epoch) device->word_taken[hold->word] = false;
  mw_unlock(&device->lock);
  let_stream_go(hold);
  if (hold->epoch == device->epoch && cuda_enter_quietly(device) && hold->event) cu.cuEventDestroy(hold->event);
  let_go(hold);
}

/* ---- functions ---- */

static void call_function(void *context) {
  mw_completion *function = context;
  cuda_set_in_function(true);
  function->done(function->context);
  cuda_set_in_function(false);
  free(function);
}

int cuda_stream_call(void *handle, mw_completion function) {
  cuda_stream *stream = handle;
  int code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  mw_completion *copy = mw_alloc(sizeof *copy);
  *copy = function;
  cuda_stream_inherit_holds(stream);
  code = cuda_outcome(stream->device, cu.cuLaunchHostFunc(stream->handle, call_function, copy), "calling a function");
  if (code != MW_SUCCESS) free(copy);
  return code;
}

/* ---- events ---- */

static int make(cuda_event *event) {
  unsigned flags = (event->flags & MW_EVENT_BLOCKING_SYNC ? CU_EVENT_BLOCKING_SYNC : 0) |
                   (event->flags & MW_EVENT_DISABLE_TIMING ? CU_EVENT_NO_TIMING : 0);
  event->epoch = event->device->epoch;
  event->recorded = false;
  return cuda_outcome(event->device, cu.cuEventCreate(&event->handle, flags), "making an event");
}

int cuda_event_new(void *device, unsigned flags, void **out) {
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  cuda_event *event = mw_alloc(sizeof *event);
  event->device = device;
  event->flags = flags;
  code = make(event);
  if (code == MW_SUCCESS)
    *out = event;
  else
    free(event);
  return code;
}

void cuda_event_free(void *handle) {
  cuda_event *event = handle;
  if (event->epoch == event->device->epoch && cuda_enter_quietly(event->device)) cu.cuEventDestroy(event->handle);
  mw_lock(&event->device->lock);
  forget(&event->waits);
  mw_unlock(&event->device->lock);
  cuda_check_freed(event->device, event);
  free(event);
}

int cuda_event_record(void *handle, void *to) {
  cuda_event *event = handle;
  cuda_stream *stream = to;
  int code = cuda_stream_enter(stream);
  if (code == MW_SUCCESS && event->epoch != event->device->epoch) code = make(event);
  if (code != MW_SUCCESS) return code;
  cuda_stream_inherit_holds(stream);
  code = cuda_outcome(stream->device, cu.cuEventRecord(event->handle, stream->handle), "recording an event");
  if (code != MW_SUCCESS) return code;
  mw_lock(&stream->device->lock);
  forget(&event->waits);
  if (atomic_load(&stream->device->live_holds) > 0) add_waits(&event->waits, stream->waits);
  event->recorded = true;
  mw_unlock(&stream->device->lock);
  cuda_check_recorded(stream, event);
  return MW_SUCCESS;
}

static bool is_past(const cuda_event *event) { return !event->recorded || event->epoch != event->device->epoch; }

int cuda_event_query(void *handle) {
  cuda_event *event = handle;
  if (is_past(event) || !cuda_enter_quietly(event->device)) return MW_SUCCESS;
  if (cu.cuEventQuery(event->handle) == CUDA_NOT_READY) return MW_NOT_READY;
  cuda_check_passed(event->device, event);
  return MW_SUCCESS;
}

int cuda_event_synchronize(void *handle) {
  cuda_event *event = handle;
  if (is_past(event)) return MW_SUCCESS;
  mw_lock(&event->device->lock);
  bool held = any_live(&event->waits);
  mw_unlock(&event->device->lock);
  if (held) {
    wait_before(event->device, &event->waits);
    return fail_held();
  }
  /* A kernel's failure is its stream's to report. */
  if (cuda_enter_quietly(event->device)) cu.cuEventSynchronize(event->handle);
  cuda_check_passed(event->device, event);
  return MW_SUCCESS;
}

int cuda_event_elapsed(void *start, void *end, double *milliseconds) {
  cuda_event *from = start, *to = end;
  float time;
  int code = cuda_enter(from->device);
  if (code != MW_SUCCESS) return code;
  if ((from->flags | to->flags) & MW_EVENT_DISABLE_TIMING)
    return fail(MW_INVALID_RESOURCE_HANDLE, "an event that was made without timing has no time");
  if (is_past(from) || is_past(to))
    return fail(MW_INVALID_RESOURCE_HANDLE, "the %s event was never recorded: record it in a stream",
                is_past(from) ? "first" : "second");
  CUresult result = cu.cuEventElapsedTime(&time, from->handle, to->handle);
  if (result == CUDA_NOT_READY) return fail(MW_NOT_READY, "an event is not done yet: wait for it first");
  code = cuda_outcome(from->device, result, "taking the time between events");
  if (code == MW_SUCCESS) *milliseconds = time;
  return code;
}

int cuda_stream_wait(void *handle, void *on) {
  cuda_stream *stream = handle;
  cuda_event *event = on;
  if (is_past(event)) return MW_SUCCESS;
  int code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  if (atomic_load(&event->device->live_holds) > 0) {
    mw_lock(&event->device->lock);
    add_waits(waits_of(stream), &event->waits);
    mw_unlock(&event->device->lock);
  }
  cuda_check_waits(stream, event);
  return cuda_outcome(stream->device, cu.cuStreamWaitEvent(stream->handle, event->handle, 0), "waiting for an event");
}
