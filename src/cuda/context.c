/* The context: the device's primary one, so that moonwarp and other users of the GPU in one process see the same
 * memory.
 *
 * After a fault in a kernel CUDA refuses every call in the context: the device is lost. Then all commands count as
 * done, and the message about the loss is saved. cuda_reset makes a new context, without the objects of the old one. */
#include "cuda/cuda.h"
#include "cuda/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool inside;

typedef struct cuda_deferred {
  struct cuda_deferred *next;
  cuda_ending *function;
  uint64_t handle;
  unsigned epoch;
  bool waits;
} cuda_deferred;

/* ---- deferred frees ---- */

void cuda_set_in_function(bool now) { inside = now; }

static void put_aside(cuda_device *device, cuda_deferred *item) {
  mw_lock(&device->lock);
  item->next = device->deferred;
  device->deferred = item;
  mw_unlock(&device->lock);
  atomic_fetch_add(&device->deferred_count, 1);
}

static bool is_held(const cuda_device *device) { return atomic_load(&device->live_holds) > 0; }

void cuda_end(cuda_device *device, cuda_ending *function, uint64_t handle, bool waits) {
  if (!inside && !(waits && is_held(device))) {
    function(device, handle);
    return;
  }
  cuda_deferred *item = mw_alloc(sizeof *item);
  *item = (cuda_deferred){.function = function, .handle = handle, .epoch = device->epoch, .waits = waits};
  put_aside(device, item);
}

static void free_deferred(cuda_device *device) {
  mw_lock(&device->lock);
  cuda_deferred *list = device->deferred;
  device->deferred = NULL;
  mw_unlock(&device->lock);
  for (cuda_deferred *next; list; list = next) {
    next = list->next;
    atomic_fetch_sub(&device->deferred_count, 1);
    if (list->epoch == device->epoch && list->waits && is_held(device)) {
      put_aside(device, list);
      continue;
    }
    if (list->epoch == device->epoch) list->function(device, list->handle);
    free(list);
  }
}

/* ---- entering ---- */

static int fail_lost(cuda_device *device) {
  int code = fail(cuda_code(atomic_load(&device->lost)),
                  "cuda:%d was lost in an earlier failure: %s. mw.device():reset() tries to restore it; "
                  "mw.use \"cpu\" continues without it",
                  device->ordinal, device->loss ? device->loss : "its context was destroyed");
  mw_error_kind("device");
  return code;
}

int cuda_enter(cuda_device *device) {
  if (atomic_load_explicit(&device->lost, memory_order_acquire)) return fail_lost(device);
  CUcontext now = NULL;
  if (cu.cuCtxGetCurrent(&now) != 0 || now != device->context) {
    CUresult result = cu.cuCtxSetCurrent(device->context);
    if (result != 0) return cuda_outcome(device, result, "making the context current");
  }
  if (atomic_load_explicit(&device->deferred_count, memory_order_relaxed) > 0) free_deferred(device);
  return MW_SUCCESS;
}

bool cuda_enter_quietly(cuda_device *device) {
  return !inside && !atomic_load(&device->lost) && cu.cuCtxSetCurrent(device->context) == 0;
}

/* ---- loss ---- */

static const char *what_happened(CUresult result) {
  switch (result) {
  case MW_ILLEGAL_ADDRESS: return "read or wrote memory that no array holds";
  case MW_ASSERT: return "failed an assertion (it printed which one)";
  case MW_HARDWARE_STACK_ERROR: return "ran out of stack, or damaged it";
  case MW_ILLEGAL_INSTRUCTION: return "executed an illegal instruction";
  case MW_MISALIGNED_ADDRESS: return "used a misaligned address";
  case MW_INVALID_PC: return "called a function at an address where there is none";
  case MW_LAUNCH_TIMEOUT: return "ran longer than the limit \"time\", or than the driver allows, and cannot be stopped";
  case 717: return "used an address that is not in the memory space of the instruction";
  default: return "failed: a trap, or another fault";
  }
}

/* A fault on one GPU may make all GPUs unusable for the process: the first loss explains the others. */
static struct {
  pthread_mutex_t lock;
  char story[512];
} first = {.lock = MW_LOCK_INITIALIZER};

/* The message about what happened on the device, or about an earlier loss if nothing of this device caused it. */
static void explain(const cuda_device *device, CUresult result, const char *name, const mw_text *story,
                    mw_text *message) {
  mw_lock(&first.lock);
  if (!story->length && first.story[0]) {
    mw_text_addf(message, "%s", first.story);
  } else {
    mw_text_addf(message, "%s%s %s", name ? "kernel " : "a kernel", name ? name : "", what_happened(result));
    if (story->length) mw_text_addf(message, "; %s", story->data);
    snprintf(first.story, sizeof first.story,
             "cuda:%d was lost before, and then CUDA gives up all devices of the process: %s", device->ordinal,
             message->data);
  }
  mw_unlock(&first.lock);
}

static int lose(cuda_device *device, CUresult result) {
  mw_text story = {0}, message = {0};
  char *name = NULL;
  atomic_store(&device->lost, result);
  cuda_streams_abandon(device, &story, &name);
  explain(device, result, name, &story, &message);
  mw_lock(&device->lock);
  free(device->loss);
  device->loss = mw_strdup(message.data);
  mw_unlock(&device->lock);
  int code = fail(cuda_code(result),
                  "%s. The device is lost. mw.device():reset() tries to restore it, without the arrays and "
                  "modules that it had",
                  message.data);
  mw_error_kind("kernel");
  if (name) mw_error_kernel(name, NULL, NULL);
  free(name);
  mw_text_free(&story);
  mw_text_free(&message);
  return code;
}

int cuda_outcome(cuda_device *device, CUresult result, const char *what) {
  if (result == 0) return MW_SUCCESS;
  if (!cuda_is_fatal(result)) return cuda_check(result, "%s", what);
  int none = 0;
  /* The first thread reports the loss; others find a lost device. */
  if (!atomic_compare_exchange_strong(&device->lost, &none, result)) return fail_lost(device);
  return lose(device, result);
}

/* ---- creation ---- */

static int make_side(cuda_device *device) {
  CUmemoryPool pool;
  size_t available = 0, total = 0;
  int least = 0;
  device->urgent = 0;
  int code = cuda_check(cu.cuCtxGetStreamPriorityRange(&least, &device->urgent), "making a context");
  if (code == MW_SUCCESS)
    code = cuda_check(cu.cuStreamCreateWithPriority(&device->side, CU_STREAM_FLAG_NON_BLOCKING, device->urgent),
                      "making a stream");
  if (code == MW_SUCCESS) code = cuda_check(cu.cuEventCreate(&device->order, CU_EVENT_NO_TIMING), "making an event");
  if (code != MW_SUCCESS || !device->pools) return code;
  /* The pool keeps freed memory of up to a quarter of the device's, and returns the rest to the system at the next
     wait: mapping memory again takes longer than a kernel that fills it. The free lists keep half as much of it. */
  cu.cuMemGetInfo(&available, &total);
  uint64_t keep = total / 4;
  device->cached_most = total / 8;
  if (cu.cuDeviceGetDefaultMemPool(&pool, device->id) != 0 ||
      cu.cuMemPoolSetAttribute(pool, CU_POOL_RELEASE_THRESHOLD, &keep) != 0)
    device->pools = false;
  return MW_SUCCESS;
}

int cuda_context_open(cuda_device *device) {
  int code = cuda_check(cu.cuDevicePrimaryCtxRetain(&device->context, device->id), "making a context on cuda:%d",
                        device->ordinal);
  if (code != MW_SUCCESS) return code;
  code = cuda_check(cu.cuCtxSetCurrent(device->context), "making the context current");
  if (code == MW_SUCCESS) code = make_side(device);
  if (code != MW_SUCCESS) cuda_context_close(device);
  return code;
}

void cuda_context_close(cuda_device *device) {
  if (!device->context) return;
  if (cuda_enter_quietly(device)) {
    free_deferred(device);
    if (device->side) cu.cuStreamDestroy(device->side);
    if (device->order) cu.cuEventDestroy(device->order);
    if (device->words) cu.cuMemFreeHost((void *)device->words);
  }
  device->side = NULL;
  device->order = NULL;
  device->context = NULL;
  cu.cuCtxSetCurrent(NULL);
  if (atomic_load(&device->lost) != MW_LAUNCH_TIMEOUT) cu.cuDevicePrimaryCtxRelease(device->id);
}

/* Some drivers, such as 580, give a process no new context after a fault, and report it here. */
static int fail_reset(cuda_device *device) {
  char *why = mw_strdup(mw_error_last()->message);
  int code =
      fail(cuda_code(atomic_load(&device->lost)),
           "cuda:%d cannot be restored in this process: the driver gives it no new context after the fault (%s). "
           "Start the program again, or continue with mw.use \"cpu\"",
           device->ordinal, why);
  mw_error_kind("device");
  free(why);
  return code;
}

int cuda_context_limit(mw_limit limit) {
  return limit == MW_LIMIT_STACK  ? CU_LIMIT_STACK
         : limit == MW_LIMIT_HEAP ? CU_LIMIT_MALLOC_HEAP
                                  : CU_LIMIT_PENDING_LAUNCHES;
}

int cuda_reset(void *handle) {
  cuda_device *device = handle;
  /* Destroying a context waits for what runs in it, which may never end. */
  if (atomic_load(&device->lost) == MW_LAUNCH_TIMEOUT) return fail_lost(device);
  mw_text story = {0};
  char *name = NULL;
  cuda_streams_abandon(device, &story, &name);
  free(name);
  mw_text_free(&story);
  cuda_check_leave(device);
  cuda_guard_forget(device); /* its pinned memory is freed with the context */
  cu.cuCtxSetCurrent(NULL);
  int code = cuda_check(cu.cuDevicePrimaryCtxReset(device->id), "resetting cuda:%d", device->ordinal);
  if (code != MW_SUCCESS) return code;
  cu.cuDevicePrimaryCtxRelease(device->id);
  cuda_heap_forget(device->heap);
  cuda_staging_forget(device->staging);
  device->context = NULL;
  device->side = NULL;
  device->order = NULL;
  device->words = NULL;
  device->epoch++;
  code = cuda_context_open(device);
  if (code != MW_SUCCESS) return fail_reset(device);
  mw_lock(&device->lock);
  free(device->loss);
  device->loss = NULL;
  mw_unlock(&device->lock);
  mw_lock(&first.lock);
  first.story[0] = '\0';
  mw_unlock(&first.lock);
  atomic_store(&device->lost, 0);
  static const mw_limit limits[] = {MW_LIMIT_STACK, MW_LIMIT_HEAP, MW_LIMIT_LAUNCHES};
  for (size_t i = 0; i < MW_COUNT(limits); i++)
    if (device->limits[limits[i]] > 0)
      cu.cuCtxSetLimit(cuda_context_limit(limits[i]), (size_t)device->limits[limits[i]]);
  cuda_check_go_on(device);
  return MW_SUCCESS;
}
