/* Windows: arrays that other ranks read and write (one-sided access).
 *
 * An access is only allowed in an epoch, which is tracked here, since libraries differ in what they notice. The arrays of
 * an access are in use until the call that completes it. A window keeps its own array in use until it is freed, which
 * is collective: one that a script merely forgets is freed when the process ends. */
#include "mpi/window_locks.h"
#include "mpi/mpi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* An access that has not been completed. */
typedef struct pending {
  struct pending *next;
  int rank;
  mpi_operand origin, result, compare;
} pending;

struct mw_mpi_window {
  mw_refs refs;
  struct mw_mpi_window *next; /* among those that are not freed, the oldest first */
  struct mw_mpi_comm *comm;   /* retained */
  mpi_handle handle;          /* 0 once freed */
  mpi_operand memory;
  uint64_t *counts; /* elements of each rank's array */
  size_t element;
  const mw_type *dtype;
  pending *pending;
  mpi_window_locks *locks; /* NULL for a window of one rank */
  bool is_fenced, is_locked_all, is_posted;
  bool *is_open;      /* by rank: locked, or started */
  bool *is_exclusive; /* by rank: how it is locked */
  bool is_started;
};

static mw_mpi_window *windows;

/* The handle of a window of one rank, whose accesses are copies: Open MPI 4 makes no windows of one rank. */
static const mpi_handle ALONE = 1;

/* ---- life ---- */

static int gather_counts(mw_mpi_window *window, mw_array *array) {
  uint64_t own = mw_array_count(array);
  mpi_handle type;
  window->counts = mw_alloc((size_t)window->comm->size * sizeof *window->counts);
  window->is_open = mw_alloc(2 * (size_t)window->comm->size * sizeof *window->is_open);
  window->is_exclusive = window->is_open + window->comm->size;
  memset(window->is_open, 0, 2 * (size_t)window->comm->size * sizeof *window->is_open);
  int code = mpi_block_type(sizeof own, &type);
  if (code != MW_SUCCESS) return code;
  code = mpi.Allgather(&own, 1, type, window->counts, 1, type, window->comm->data);
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Allgather", code);
}

static int create(mw_mpi_window *window, mw_array *array) {
  int code = mpi_operand_open(&window->memory, array, true, true);
  bool is_device = window->memory.staging || (window->memory.is_device && window->comm->size == 1);
  if (code == MW_SUCCESS && is_device)
    code = fail(MW_NOT_SUPPORTED,
                "MPI cannot access the memory of this array: make the window of an array on the CPU device");
  /* All ranks must make the collective calls below, even a rank whose array is unsuitable. */
  int gathered = gather_counts(window, array);
  uint64_t all = code == MW_SUCCESS && gathered == MW_SUCCESS;
  int result = mpi.Allreduce((void *)(intptr_t)mpi.in_place, &all, 1, mpi.uint64, mpi.min, window->comm->data);
  if (code != MW_SUCCESS) return code;
  if (gathered != MW_SUCCESS) return gathered;
  if (result != 0) return mpi_failed("MPI_Allreduce", result);
  if (!all) return fail(MW_INVALID_VALUE, "another rank's array cannot be a window");
  if (window->comm->size == 1) return window->handle = ALONE, MW_SUCCESS;
  result = mpi.Win_create(window->memory.address, (intptr_t)window->memory.bytes, (int)window->element, mpi.info_null,
                          window->comm->data, &window->handle);
  if (result == 0) result = mpi.Win_set_errhandler(window->handle, mpi.errors_return);
  return result == 0 ? mpi_window_locks_open(window->comm, &window->locks) : mpi_failed("MPI_Win_create", result);
}

int mw_mpi_window_new(mw_mpi_comm *comm, mw_array *array, mw_mpi_window **out) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  mw_mpi_window *window = mw_alloc(sizeof *window);
  *window = (mw_mpi_window){
      .comm = mw_mpi_retain(comm), .dtype = mw_array_dtype(array), .element = mw_array_dtype(array)->size};
  mw_refs_init(&window->refs);
  code = create(window, array);
  if (code != MW_SUCCESS) {
    mpi_operand_close(&window->memory);
    window->handle = 0;
    mw_mpi_window_release(window);
    return code;
  }
  mw_refs_take(&window->refs); /* of the other ranks, until it is freed */
  mw_mpi_window **end = &windows;
  while (*end) end = &(*end)->next;
  *end = window;
  *out = window;
  return MW_SUCCESS;
}

void mw_mpi_window_release(mw_mpi_window *window) {
  if (!window || !mw_refs_drop(&window->refs)) return;
  mw_mpi_release(window->comm);
  free(window->locks); /* closed, but after a failure */
  free(window->counts);
  free(window->is_open);
  free(window);
}

/* The accesses of a rank, or of all (-1), are done. */
static int complete(mw_mpi_window *window, int rank) {
  int code = MW_SUCCESS;
  for (pending **at = &window->pending; *at;) {
    pending *done = *at;
    if (rank >= 0 && done->rank != rank) {
      at = &done->next;
      continue;
    }
    *at = done->next;
    mpi_operand_close(&done->origin);
    mpi_operand_close(&done->compare);
    int closed = mpi_operand_close(&done->result);
    if (closed != MW_SUCCESS) code = closed;
    free(done);
  }
  return code;
}

static int check_open(const mw_mpi_window *window) {
  return window->handle ? MW_SUCCESS : fail(MW_INVALID_RESOURCE_HANDLE, "this window was freed");
}

int mw_mpi_window_free(mw_mpi_window *window) {
  int code = check_open(window);
  if (code != MW_SUCCESS) return code;
  mw_mpi_window **at = &windows;
  while (*at != window) at = &(*at)->next;
  *at = window->next;
  code = window->handle == ALONE ? 0 : mpi.Win_free(&window->handle);
  window->handle = 0;
  mpi_window_locks_close(window->locks);
  window->locks = NULL;
  complete(window, -1);
  mpi_operand_close(&window->memory);
  mw_mpi_window_release(window);
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Win_free", code);
}

/* Making one waits for the other ranks, so the order in which a rank made its windows suits all of them. */
void mpi_free_windows(void) {
  while (windows) mw_mpi_window_free(windows);
}

/* ---- accesses ---- */

static const char *const kind_names[] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

static int check_rank(const mw_mpi_window *window, int rank) {
  if (rank >= 0 && rank < window->comm->size) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "rank %d: this window has the ranks 0 to %d", rank, window->comm->size - 1);
}

static bool is_reachable(const mw_mpi_window *window, int rank) {
  return window->is_fenced || window->is_locked_all || window->is_open[rank];
}

static int check_array(const mw_mpi_window *window, mw_array *array, size_t count, const char *name) {
  if (!array) return MW_SUCCESS;
  if (strcmp(mw_type_dtype(mw_array_dtype(array)), mw_type_dtype(window->dtype)) != 0)
    return fail(MW_INVALID_VALUE, "%s of %s into a window of %s", name, mw_type_dtype(mw_array_dtype(array)),
                mw_type_dtype(window->dtype));
  if (mw_array_count(array) != count)
    return fail(MW_INVALID_VALUE, "%s: arrays of %zu and of %zu elements", name, count, mw_array_count(array));
  return MW_SUCCESS;
}

static int check_access(const mw_mpi_window *window, const mw_mpi_access *access, size_t count) {
  const char *name = kind_names[access->kind];
  int code = check_open(window);
  if (code == MW_SUCCESS) code = check_rank(window, access->rank);
  if (code == MW_SUCCESS) code = check_array(window, access->origin, count, name);
  if (code == MW_SUCCESS) code = check_array(window, access->result, count, name);
  if (code == MW_SUCCESS) code = check_array(window, access->compare, count, name);
  if (code != MW_SUCCESS) return code;
  if (!is_reachable(window, access->rank))
    return fail(MW_INVALID_VALUE,
                "%s outside of an epoch: call win:fence(), win:lock(%d), win:lock_all() or win:start { %d } before",
                name, access->rank, access->rank);
  uint64_t there = window->counts[access->rank];
  if (access->first > there || count > there - access->first)
    return fail(MW_INVALID_VALUE, "%s of %zu elements from element %zu on: rank %d's array has %llu", name, count,
                access->first + 1, access->rank, (unsigned long long)there);
  if (count > INT_MAX) return fail(MW_NOT_SUPPORTED, "%s of more than 2^31 - 1 elements", name);
  if (access->kind >= MW_MPI_FETCH_AND_OP && count != 1)
    return fail(MW_INVALID_VALUE, "%s takes one element, got %zu", name, count);
  bool is_integer = window->dtype->kind == MW_TYPE_INT || window->dtype->kind == MW_TYPE_UINT;
  if (access->kind == MW_MPI_COMPARE_AND_SWAP && !is_integer)
    return fail(MW_NOT_SUPPORTED, "compare_and_swap needs integers, and the elements of this window are %s",
                mw_type_dtype(window->dtype));
  if (access->kind >= MW_MPI_ACCUMULATE && access->kind <= MW_MPI_FETCH_AND_OP &&
      !mw_mpi_reduces(window->dtype, access->op))
    return fail(MW_NOT_SUPPORTED, "%s: MPI does not reduce %s by this operator", name, mw_type_dtype(window->dtype));
  return MW_SUCCESS;
}

static int open_operands(pending *self, const mw_mpi_access *access) {
  int code = MW_SUCCESS;
  if (access->origin) code = mpi_operand_open(&self->origin, access->origin, true, false);
  if (code == MW_SUCCESS && access->compare) code = mpi_operand_open(&self->compare, access->compare, true, false);
  if (code == MW_SUCCESS && access->result) code = mpi_operand_open(&self->result, access->result, false, true);
  return code;
}

static int access_own(mw_mpi_window *window, const mw_mpi_access *access, pending *self, int count) {
  char *target = (char *)window->memory.address + access->first * window->element;
  const void *origin = self->origin.address;
  size_t bytes = (size_t)count * window->element;
  bool writes = access->kind != MW_MPI_GET && access->op != MW_MPI_NO_OP;
  if (access->kind == MW_MPI_COMPARE_AND_SWAP) writes = memcmp(target, self->compare.address, bytes) == 0;
  if (access->result) memcpy(self->result.address, target, bytes);
  if (!writes) return MW_SUCCESS;
  bool combines = access->kind >= MW_MPI_ACCUMULATE && access->kind <= MW_MPI_FETCH_AND_OP;
  if (!combines || access->op == MW_MPI_REPLACE) return memcpy(target, origin, bytes), MW_SUCCESS;
  int code = mpi.Reduce_local(origin, target, count, mpi_reduced_type(window->dtype), mpi_operator(access->op));
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Reduce_local", code);
}

static int call_mpi(mw_mpi_window *window, const mw_mpi_access *access, pending *self, int count) {
  mpi_handle type = 0, op = mpi_operator(access->op), handle = window->handle;
  int rank = access->rank;
  intptr_t at = (intptr_t)access->first;
  const void *origin = self->origin.address;
  void *result = self->result.address;
  bool moves = access->kind <= MW_MPI_GET;
  int code = moves ? mpi_block_type(window->element, &type) : MW_SUCCESS;
  if (code != MW_SUCCESS) return code;
  if (!moves) type = mpi_reduced_type(window->dtype);
  switch (access->kind) {
  case MW_MPI_PUT: code = mpi.Put(origin, count, type, rank, at, count, type, handle); break;
  case MW_MPI_GET: code = mpi.Get(result, count, type, rank, at, count, type, handle); break;
  case MW_MPI_ACCUMULATE: code = mpi.Accumulate(origin, count, type, rank, at, count, type, op, handle); break;
  case MW_MPI_GET_ACCUMULATE:
    code = mpi.Get_accumulate(origin, count, type, result, count, type, rank, at, count, type, op, handle);
    break;
  case MW_MPI_FETCH_AND_OP: code = mpi.Fetch_and_op(origin, result, type, rank, at, op, handle); break;
  case MW_MPI_COMPARE_AND_SWAP:
    code = mpi.Compare_and_swap(origin, self->compare.address, result, type, rank, at, handle);
    break;
  }
  return code == 0 ? MW_SUCCESS : mpi_failed(kind_names[access->kind], code);
}

int mw_mpi_window_access(mw_mpi_window *window, const mw_mpi_access *access) {
  size_t count = mw_array_count(access->origin ? access->origin : access->result);
  int code = check_access(window, access, count);
  if (code != MW_SUCCESS || count == 0) return code;
  pending *self = mw_alloc(sizeof *self);
  *self = (pending){.next = window->pending, .rank = access->rank};
  window->pending = self;
  code = open_operands(self, access);
  if (code != MW_SUCCESS) return code;
  return window->handle == ALONE ? access_own(window, access, self, (int)count)
                                 : call_mpi(window, access, self, (int)count);
}

/* ---- epochs ---- */

static int with_group(mw_mpi_window *window, const int *ranks, int count, int (*begin)(mpi_handle, int, mpi_handle)) {
  mpi_handle all = 0, some = 0;
  int code = mpi.Comm_group(window->comm->data, &all);
  if (code == 0) code = mpi.Group_incl(all, count, ranks, &some);
  if (code == 0) code = begin(some, 0, window->handle);
  if (some) mpi.Group_free(&some);
  if (all) mpi.Group_free(&all);
  return code;
}

static int refuse(const char *what) { return fail(MW_INVALID_VALUE, "%s", what); }

static bool has_locks(const mw_mpi_window *window) {
  for (int rank = 0; rank < window->comm->size; rank++)
    if (window->is_open[rank]) return true;
  return window->is_locked_all;
}

static int check_epoch(const mw_mpi_window *window, mw_mpi_epoch what, const int *ranks, int count) {
  int code = check_open(window);
  for (int i = 0; i < count && code == MW_SUCCESS; i++) code = check_rank(window, ranks[i]);
  if (code != MW_SUCCESS) return code;
  bool locks = has_locks(window);
  switch (what) {
  case MW_MPI_FENCE:
  case MW_MPI_LAST_FENCE: return locks ? refuse("win:fence with locks held: win:unlock(rank) before") : MW_SUCCESS;
  case MW_MPI_LOCK_SHARED:
  case MW_MPI_LOCK_EXCLUSIVE:
    if (window->is_open[ranks[0]] || window->is_locked_all) return refuse("win:lock: this rank is locked already");
    /* fall through */
  case MW_MPI_LOCK_ALL:
  case MW_MPI_START:
    if (what != MW_MPI_LOCK_SHARED && what != MW_MPI_LOCK_EXCLUSIVE && locks)
      return refuse("an epoch of all ranks, or of those that post, with locks held");
    if (window->is_started) return refuse("win:start was called before: win:complete() ends that");
    return window->is_fenced ? refuse("between fences there are no other epochs: win:fence(true) ends them")
                             : MW_SUCCESS;
  case MW_MPI_UNLOCK:
    if (!window->is_open[ranks[0]] || window->is_started) return refuse("win:unlock of a rank that is not locked");
    return MW_SUCCESS;
  case MW_MPI_UNLOCK_ALL: return window->is_locked_all ? MW_SUCCESS : refuse("win:unlock_all without win:lock_all");
  case MW_MPI_FLUSH:
    if (window->is_started || (count ? !window->is_open[ranks[0]] && !window->is_locked_all : !locks))
      return refuse("win:flush is of ranks that are locked");
    return MW_SUCCESS;
  case MW_MPI_COMPLETE: return window->is_started ? MW_SUCCESS : refuse("win:complete without win:start");
  case MW_MPI_POST:
    if (window->is_posted) return refuse("win:post was called before: win:wait() ends that");
    return window->is_fenced ? refuse("between fences there are no other epochs: win:fence(true) ends them")
                             : MW_SUCCESS;
  case MW_MPI_TEST: return window->is_posted ? MW_SUCCESS : refuse("win:wait without win:post");
  }
  return MW_SUCCESS;
}

/* An epoch of a window of several ranks, which other ranks may have to release first. */
typedef struct entry {
  mw_mpi_window *window;
  mw_mpi_epoch what;
  const int *ranks;
  int count, code;
} entry;

static bool is_entered(void *context) {
  entry *self = context;
  mpi_window_locks *locks = self->window->locks;
  bool is_free = true;
  int done = 0;
  mpi_progress();
  switch (self->what) {
  case MW_MPI_LOCK_SHARED:
  case MW_MPI_LOCK_EXCLUSIVE:
    self->code = mpi_window_locks_lock(locks, self->ranks[0], self->what == MW_MPI_LOCK_EXCLUSIVE, &is_free);
    break;
  case MW_MPI_LOCK_ALL: self->code = mpi_window_locks_lock_all(locks, &is_free); break;
  case MW_MPI_START: self->code = mpi_window_locks_start(locks, self->ranks, self->count, &is_free); break;
  case MW_MPI_TEST:
    self->code = mpi.Win_test(self->window->handle, &done);
    is_free = done != 0;
    break;
  default: break;
  }
  return is_free || self->code != 0;
}

static int begin_or_end(mw_mpi_window *window, mw_mpi_epoch what, const int *ranks, int count, double seconds,
                        bool *is_done) {
  mpi_handle handle = window->handle;
  int code;
  if (handle == ALONE) {
    if (what == MW_MPI_TEST) *is_done = !window->is_started;
    return 0;
  }
  entry attempt = {.window = window, .what = what, .ranks = ranks, .count = count};
  if (!mpi_poll(is_entered, &attempt, seconds)) return *is_done = false, 0;
  if (attempt.code != 0) return attempt.code;
  switch (what) {
  case MW_MPI_FENCE: return mpi.Win_fence(0, handle);
  case MW_MPI_LAST_FENCE: return mpi.Win_fence(mpi.mode_nosucceed, handle);
  case MW_MPI_LOCK_SHARED:
  case MW_MPI_LOCK_EXCLUSIVE: return mpi.Win_lock(mpi.lock_shared, ranks[0], 0, handle);
  case MW_MPI_UNLOCK:
    code = mpi.Win_unlock(ranks[0], handle);
    return code ? code : mpi_window_locks_unlock(window->locks, ranks[0], window->is_exclusive[ranks[0]]);
  case MW_MPI_LOCK_ALL: return mpi.Win_lock_all(0, handle);
  case MW_MPI_UNLOCK_ALL:
    code = mpi.Win_unlock_all(handle);
    return code ? code : mpi_window_locks_unlock_all(window->locks);
  case MW_MPI_FLUSH: return count ? mpi.Win_flush(ranks[0], handle) : mpi.Win_flush_all(handle);
  case MW_MPI_START: return with_group(window, ranks, count, mpi.Win_start);
  case MW_MPI_COMPLETE: return mpi.Win_complete(handle);
  case MW_MPI_POST:
    code = with_group(window, ranks, count, mpi.Win_post);
    return code ? code : mpi_window_locks_post(window->locks, ranks, count);
  case MW_MPI_TEST: break;
  }
  return 0;
}

static void note(mw_mpi_window *window, mw_mpi_epoch what, const int *ranks, int count) {
  switch (what) {
  case MW_MPI_FENCE: window->is_fenced = true; break;
  case MW_MPI_LAST_FENCE: window->is_fenced = false; break;
  case MW_MPI_LOCK_SHARED:
  case MW_MPI_LOCK_EXCLUSIVE:
    window->is_open[ranks[0]] = true;
    window->is_exclusive[ranks[0]] = what == MW_MPI_LOCK_EXCLUSIVE;
    break;
  case MW_MPI_UNLOCK: window->is_open[ranks[0]] = false; break;
  case MW_MPI_LOCK_ALL: window->is_locked_all = true; break;
  case MW_MPI_UNLOCK_ALL: window->is_locked_all = false; break;
  case MW_MPI_FLUSH: break;
  case MW_MPI_START:
    for (int i = 0; i < count; i++) window->is_open[ranks[i]] = true;
    window->is_started = true;
    break;
  case MW_MPI_COMPLETE:
    memset(window->is_open, 0, (size_t)window->comm->size * sizeof *window->is_open);
    window->is_started = false;
    break;
  case MW_MPI_POST: window->is_posted = true; break;
  case MW_MPI_TEST: window->is_posted = false; break;
  }
}

/* What kernels wrote into the window's array is there before another rank may read it. */
static int settle(mw_mpi_window *window) {
  return mw_device_synchronize(mw_buffer_device(mw_array_buffer(window->memory.array)));
}

int mw_mpi_window_epoch(mw_mpi_window *window, mw_mpi_epoch what, const int *ranks, int count, double seconds) {
  int code = check_epoch(window, what, ranks, count);
  if (code == MW_SUCCESS) code = settle(window);
  if (code != MW_SUCCESS) return code;
  bool is_done = true;
  int result = begin_or_end(window, what, ranks, count, seconds, &is_done);
  if (result != 0) return mpi_failed("an epoch of a window", result);
  if (!is_done) return MW_NOT_READY;
  mpi_completed++;
  note(window, what, ranks, count);
  switch (what) {
  case MW_MPI_FENCE:
  case MW_MPI_LAST_FENCE:
  case MW_MPI_UNLOCK_ALL:
  case MW_MPI_COMPLETE: return complete(window, -1);
  case MW_MPI_UNLOCK: return complete(window, ranks[0]);
  case MW_MPI_FLUSH: return complete(window, count ? ranks[0] : -1);
  default: return MW_SUCCESS;
  }
}
