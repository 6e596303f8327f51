/* Who may access the arrays of a window: locks and posts that are tried, not waited for. All functions but the first
 * return libmpi's codes. */
#ifndef MW_MPI_ADMISSION_H
#define MW_MPI_ADMISSION_H

#include "mpi/mpi.h"

typedef struct mpi_admission mpi_admission;

/* Collective. *out is yours, after a failure too. */
int mpi_admission_open(struct mw_mpi_comm *comm, mpi_admission **out);
/* Collective; NULL is fine. */
void mpi_admission_close(mpi_admission *self);

/* Lock a rank, or all for sharing, unless somebody is in the way: *locked is false then, and nothing is held. */
int mpi_admission_lock(mpi_admission *self, int rank, bool exclusive, bool *locked);
int mpi_admission_unlock(mpi_admission *self, int rank, bool exclusive);
int mpi_admission_lock_all(mpi_admission *self, bool *locked);
int mpi_admission_unlock_all(mpi_admission *self);

/* Tell ranks that this one has posted. */
int mpi_admission_post(mpi_admission *self, const int *ranks, int count);
/* Use up one post of each rank, unless one of them has not posted: *posted is false then, and nothing is used up. */
int mpi_admission_start(mpi_admission *self, const int *ranks, int count, bool *posted);

#endif
