/* Communicators: opening, splitting, aborting and closing. */
#include "nccl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t nccl_lock = MW_LOCK_INITIALIZER;
int nccl_open_groups;

static nccl_config config(void) {
  return (nccl_config){.size = sizeof(nccl_config),
                       .magic = 0xcafebeef,
                       .version = 21800,
                       .cga_cluster_size = INT_MIN,
                       .min_ctas = INT_MIN,
                       .max_ctas = INT_MIN,
                       .split_share = INT_MIN,
                       .unused = INT_MIN};
}

static int fail_aborted(const nccl_communicator *c) {
  int code = fail(MW_UNKNOWN, "rank %d of %d: this communicator was aborted: %s. Make a new one", c->rank, c->size,
                  c->reason ? c->reason : "it was not opened");
  mw_error_kind("device");
  return code;
}

static int enter(nccl_communicator *c) {
  int code = nccl_load();
  if (code == MW_SUCCESS) code = cuda_enter(c->device);
  if (code == MW_SUCCESS && c->epoch != c->device->epoch)
    code = fail(MW_INVALID_RESOURCE_HANDLE, "the communicator was lost when cuda:%d was reset", c->device->ordinal);
  if (code != MW_SUCCESS) return code;
  return c->handle || nccl_in_group() ? MW_SUCCESS : fail_aborted(c);
}

void nccl_end(nccl_communicator *c, const char *reason) {
  if (!c->reason) c->reason = mw_strdup(reason);
  if (c->handle) nccl.ncclCommAbort(c->handle);
  c->handle = NULL;
}

/* What NCCL says of the calls made so far: in progress, done or failed. */
static int state_of(nccl_communicator *c) {
  int result = NCCL_SUCCESS;
  mw_lock(&nccl_lock);
  int called = c->handle ? nccl.ncclCommGetAsyncError(c->handle, &result) : NCCL_SUCCESS;
  mw_unlock(&nccl_lock);
  return called != NCCL_SUCCESS ? called : result;
}

int nccl_settle(nccl_communicator *c, const char *what) {
  double start = mw_time();
  int result;
  while ((result = state_of(c)) == NCCL_IN_PROGRESS) {
    double passed = mw_time() - start;
    if (c->seconds > 0 && passed > c->seconds) break;
    if (passed > 1e-3) usleep(200);
  }
  if (!c->handle) return fail_aborted(c);
  if (result == NCCL_SUCCESS) return MW_SUCCESS;
  int code;
  if (result == NCCL_IN_PROGRESS) {
    code = fail(MW_LAUNCH_TIMEOUT, "rank %d: %s waited for the other ranks for %g s, the time limit", c->rank, what,
                c->seconds);
    mw_error_kind("device");
  } else {
    code = nccl_failed(result, c->handle, what);
  }
  mw_lock(&nccl_lock);
  nccl_end(c, mw_error_last()->message);
  mw_unlock(&nccl_lock);
  return code;
}

static nccl_communicator *make(cuda_device *device, int rank, int size, double seconds) {
  nccl_communicator *c = mw_alloc(sizeof *c);
  *c = (nccl_communicator){.device = device, .rank = rank, .size = size, .seconds = seconds, .epoch = device->epoch};
  return c;
}

static void end(nccl_communicator *c) {
  free(c->reason);
  free(c);
}

int nccl_id_new(void *handle, char *id) {
  nccl_id new;
  int code = nccl_load();
  if (code == MW_SUCCESS) code = cuda_enter(handle);
  if (code != MW_SUCCESS) return code;
  int result = nccl.ncclGetUniqueId(&new);
  if (result != NCCL_SUCCESS) return nccl_failed(result, NULL, "making an id for communicators");
  memcpy(id, new.bytes, sizeof new.bytes);
  return MW_SUCCESS;
}

int nccl_open(void *handle, const char *text, int size, int rank, double seconds, void **out) {
  int code = nccl_load();
  if (code == MW_SUCCESS) code = cuda_enter(handle);
  if (code != MW_SUCCESS) return code;
  nccl_communicator *c = make(handle, rank, size, seconds);
  nccl_config settings = config();
  nccl_id id;
  memcpy(id.bytes, text, sizeof id.bytes);
  mw_lock(&nccl_lock);
  int result = nccl.ncclCommInitRankConfig(&c->handle, size, id, rank, &settings);
  mw_unlock(&nccl_lock);
  if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS)
    code = nccl_failed(result, NULL, "opening a communicator");
  else if (nccl_in_group())
    nccl_group_opens(c);
  else
    code = nccl_settle(c, "opening a communicator");
  if (code != MW_SUCCESS) {
    end(c);
    return code;
  }
  *out = c;
  return MW_SUCCESS;
}

int nccl_split(void *state, int color, int key, void **out) {
  nccl_communicator *c = state, *part;
  int code = enter(c);
  if (code != MW_SUCCESS) return code;
  part = make(c->device, 0, 0, c->seconds);
  nccl_config settings = config();
  mw_lock(&nccl_lock);
  int result = nccl.ncclCommSplit(c->handle, color < 0 ? -1 : color, key, &part->handle, &settings);
  mw_unlock(&nccl_lock);
  *out = color < 0 ? NULL : part;
  if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS) {
    code = nccl_failed(result, c->handle, "splitting a communicator");
  } else if (nccl_in_group()) {
    nccl_group_opens(c);
    if (color >= 0) nccl_group_opens(part);
  } else {
    code = nccl_settle(c, "splitting a communicator");
    if (code == MW_SUCCESS && color >= 0) code = nccl_settle(part, "splitting a communicator");
  }
  if (code != MW_SUCCESS || color < 0) end(part);
  return code;
}

int nccl_rank(void *state, int *rank, int *size) {
  nccl_communicator *c = state;
  if (c->size == 0) {
    int code = enter(c);
    if (code != MW_SUCCESS) return code;
    int result = nccl.ncclCommUserRank(c->handle, &c->rank);
    if (result == NCCL_SUCCESS) result = nccl.ncclCommCount(c->handle, &c->size);
    if (result != NCCL_SUCCESS) return nccl_failed(result, c->handle, "asking for the rank");
  }
  *rank = c->rank;
  *size = c->size;
  return MW_SUCCESS;
}

void nccl_limit(void *state, double seconds) { ((nccl_communicator *)state)->seconds = seconds; }

int nccl_abort(void *state, const char *reason) {
  nccl_communicator *c = state;
  if (cuda_enter(c->device) != MW_SUCCESS) mw_error_clear();
  mw_lock(&nccl_lock);
  nccl_end(c, reason);
  mw_unlock(&nccl_lock);
  return MW_SUCCESS;
}

/* NCCL waits for what is in flight. A message that never ends does so by its time limit. */
void nccl_close(void *state) {
  nccl_communicator *c = state;
  nccl_unwatch(c);
  if (c->handle && c->epoch == c->device->epoch && cuda_enter_quietly(c->device)) {
    mw_lock(&nccl_lock);
    nccl.ncclCommDestroy(c->handle);
    mw_unlock(&nccl_lock);
  }
  end(c);
}
