/* Failures of kernels that were not reported yet, in a device's list.
 *
 * A kernel fails while other code runs, so its failure is raised by a later call that waits. Several users may share
 * a device (Lua states of one process, and the C program around them), and only the user that launched a kernel can
 * handle its failure. So a launch has an owner, its module's, and only the owner's waits raise it. Of one owner's
 * launches in one stream, only the first failure is recorded. */
#include "failure.h"

#include <stdlib.h>

#define ANY_OWNER UINT64_MAX /* as an owner: the next wait raises it, whichever owner waits */

struct mw_failure {
  uint64_t stream, owner;
  mw_error *error;
  struct mw_failure *next;
};

/* ---- owners ---- */

static _Thread_local uint64_t current;

uint64_t mw_owner_new(void) {
  static _Atomic uint64_t last;
  return atomic_fetch_add(&last, 1) + 1;
}

void mw_owner_use(uint64_t owner) { current = owner; }
uint64_t mw_owner_current(void) { return current; }

/* ---- the list ---- */

void mw_failures_open(mw_device *device) { mw_lock_init(&device->failure_lock); }

void mw_failures_clear(mw_device *device) {
  mw_lock(&device->failure_lock);
  mw_failure *failure = device->failures;
  device->failures = NULL;
  atomic_store(&device->failure_count, 0);
  mw_unlock(&device->failure_lock);
  for (mw_failure *next; failure; failure = next) {
    next = failure->next;
    mw_error_free(failure->error);
    free(failure);
  }
}

void mw_failures_close(mw_device *device) {
  mw_failures_clear(device);
  pthread_mutex_destroy(&device->failure_lock);
}

static void add(mw_device *device, uint64_t stream, uint64_t owner, mw_error *error) {
  mw_failure *failure = mw_alloc(sizeof *failure);
  *failure = (mw_failure){.stream = stream, .owner = owner, .error = error};
  mw_lock(&device->failure_lock);
  mw_failure **link = &device->failures;
  while (*link && ((*link)->stream != stream || (*link)->owner != owner)) link = &(*link)->next;
  bool first = !*link;
  if (first) {
    *link = failure;
    atomic_fetch_add(&device->failure_count, 1);
  }
  mw_unlock(&device->failure_lock);
  if (first) return;
  mw_error_free(error);
  free(failure);
}

void mw_stream_fail(mw_stream *stream, uint64_t owner, mw_error *error) {
  add(stream->device, stream->id, owner, error);
}

void mw_failure_defer(mw_device *device) {
  add(device, 0, ANY_OWNER, mw_error_copy(mw_error_last()));
  mw_error_clear();
}

static bool concerns(const mw_failure *failure, const mw_stream *stream, uint64_t owner) {
  if (failure->owner == ANY_OWNER) return !stream;
  return failure->owner == owner && (!stream || failure->stream == stream->id);
}

int mw_failure_raise(mw_device *device, const mw_stream *stream, uint64_t owner) {
  if (mw_likely(atomic_load_explicit(&device->failure_count, memory_order_acquire) == 0)) return MW_SUCCESS;
  mw_failure *taken = NULL, **last = &taken;
  mw_lock(&device->failure_lock);
  for (mw_failure **link = &device->failures; *link;) {
    mw_failure *failure = *link;
    if (!concerns(failure, stream, owner)) {
      link = &failure->next;
      continue;
    }
    *link = failure->next;
    failure->next = NULL;
    *last = failure;
    last = &failure->next;
    atomic_fetch_sub(&device->failure_count, 1);
  }
  mw_unlock(&device->failure_lock);
  int code = taken ? mw_error_raise(taken->error) : MW_SUCCESS;
  for (mw_failure *next; taken; taken = next) {
    next = taken->next;
    mw_error_free(taken->error);
    free(taken);
  }
  return code;
}
