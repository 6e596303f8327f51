/* Who may access the arrays of a window: locks, and the ranks that posted.
 *
 * libmpi waits for them inside its own calls, where the waiting line of the script is unknown and a deadlock cannot be
 * detected. So each rank has words in a second window, which stays open to all ranks and is changed by atomic
 * operations only: the state of its lock, and how often each rank has posted to it. An attempt to take a lock does not
 * wait. libmpi's function is called only after the attempt has succeeded: for a shared lock, or for ranks that have
 * posted, so that it never waits. */
#include "mpi/window_locks.h"

#include <stdlib.h>
#include <string.h>

/* The words of a rank. */
enum { LOCK, POSTS };
/* LOCK is a sum: each rank that holds the lock, or tries to take it, adds SHARED or EXCLUSIVE. If the value before
   shows that the lock is taken, the rank subtracts its addend again. */
static const int64_t SHARED = 1, EXCLUSIVE = 1LL << 32;

struct mpi_window_locks {
  mpi_handle handle;
  int rank, size;
  int64_t words[]; /* LOCK, then for each rank the number of its posts that no start has used */
};

int mpi_window_locks_open(struct mw_mpi_comm *comm, mpi_window_locks **out) {
  size_t bytes = (POSTS + (size_t)comm->size) * sizeof(int64_t);
  mpi_window_locks *self = mw_alloc(sizeof *self + bytes);
  *self = (mpi_window_locks){.rank = comm->rank, .size = comm->size};
  memset(self->words, 0, bytes);
  *out = self;
  int code =
      mpi.Win_create(self->words, (intptr_t)bytes, sizeof *self->words, mpi.info_null, comm->data, &self->handle);
  if (code == 0) code = mpi.Win_set_errhandler(self->handle, mpi.errors_return);
  if (code == 0) code = mpi.Win_lock_all(0, self->handle);
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Win_create", code);
}

void mpi_window_locks_close(mpi_window_locks *self) {
  if (!self) return;
  if (self->handle) {
    mpi.Win_unlock_all(self->handle);
    mpi.Win_free(&self->handle);
  }
  free(self);
}

/* ---- words ---- */

/* Add to a word of a rank; *before is what it was. */
static int add(mpi_window_locks *self, int rank, int place, int64_t value, int64_t *before) {
  mpi_handle op = mpi_operator(value ? MW_MPI_SUM : MW_MPI_NO_OP);
  int code = mpi.Fetch_and_op(&value, before, mpi.int64, rank, place, op, self->handle);
  return code == 0 ? mpi.Win_flush(rank, self->handle) : code;
}

/* ---- locks ---- */

int mpi_window_locks_lock(mpi_window_locks *self, int rank, bool exclusive, bool *locked) {
  int64_t own = exclusive ? EXCLUSIVE : SHARED, before;
  *locked = false;
  int code = add(self, rank, LOCK, own, &before);
  if (code != 0) return code;
  *locked = exclusive ? before == 0 : before < EXCLUSIVE;
  return *locked ? 0 : add(self, rank, LOCK, -own, &before);
}

int mpi_window_locks_unlock(mpi_window_locks *self, int rank, bool exclusive) {
  int64_t before;
  return add(self, rank, LOCK, exclusive ? -EXCLUSIVE : -SHARED, &before);
}

int mpi_window_locks_lock_all(mpi_window_locks *self, bool *locked) {
  int code = 0, rank = 0;
  *locked = true;
  for (; rank < self->size && code == 0 && *locked; rank++) code = mpi_window_locks_lock(self, rank, false, locked);
  if (*locked && code == 0) return 0;
  /* Release the locks taken so far: a rank that waits for more of them could deadlock with another. */
  for (rank--; rank-- > 0;) {
    int result = mpi_window_locks_unlock(self, rank, false);
    if (code == 0) code = result;
  }
  *locked = false;
  return code;
}

int mpi_window_locks_unlock_all(mpi_window_locks *self) {
  int code = 0;
  for (int rank = 0; rank < self->size && code == 0; rank++) code = mpi_window_locks_unlock(self, rank, false);
  return code;
}

/* ---- posts ---- */

int mpi_window_locks_post(mpi_window_locks *self, const int *ranks, int count) {
  int64_t before;
  int code = 0;
  for (int i = 0; i < count && code == 0; i++) code = add(self, ranks[i], POSTS + self->rank, 1, &before);
  return code;
}

int mpi_window_locks_start(mpi_window_locks *self, const int *ranks, int count, bool *posted) {
  int64_t before = 0;
  int code = 0;
  *posted = true;
  for (int i = 0; i < count && code == 0 && *posted; i++) {
    code = add(self, self->rank, POSTS + ranks[i], 0, &before);
    *posted = before > 0;
  }
  for (int i = 0; i < count && code == 0 && *posted; i++) code = add(self, self->rank, POSTS + ranks[i], -1, &before);
  return code;
}
