/* Locks and posts of a window, which decide whether a rank may access its arrays. A call never waits. All functions
 * except the first return libmpi's codes. */
#ifndef MW_MPI_WINDOW_LOCKS_H
#define MW_MPI_WINDOW_LOCKS_H

#include "mpi/mpi.h"

typedef struct mpi_window_locks mpi_window_locks;

/* Collective. *out is yours, after a failure too. */
int mpi_window_locks_open(struct mw_mpi_comm *comm, mpi_window_locks **out);
/* Collective; NULL is fine. */
void mpi_window_locks_close(mpi_window_locks *self);

/* Lock a rank, or all ranks for sharing. If another rank prevents it, *locked is false and nothing is held. */
int mpi_window_locks_lock(mpi_window_locks *self, int rank, bool exclusive, bool *locked);
int mpi_window_locks_unlock(mpi_window_locks *self, int rank, bool exclusive);
int mpi_window_locks_lock_all(mpi_window_locks *self, bool *locked);
int mpi_window_locks_unlock_all(mpi_window_locks *self);

/* Tell ranks that this one has posted. */
int mpi_window_locks_post(mpi_window_locks *self, const int *ranks, int count);
/* Consume one post of each rank. If one of them has not posted, *posted is false and no post is consumed. */
int mpi_window_locks_start(mpi_window_locks *self, const int *ranks, int count, bool *posted);

#endif
