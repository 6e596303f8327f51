/* A collective operation with its operands, for the blocking form (collective.c) and for the nonblocking one
 * (nonblocking_collective.c). */
#ifndef MW_MPI_COLLECTIVE_H
#define MW_MPI_COLLECTIVE_H

#include "mpi/mpi.h"

enum { MPI_PIECES = 64 };

typedef struct mpi_counts {
  int *counts, *places;
} mpi_counts;

typedef struct mpi_collective {
  struct mw_mpi_comm *comm; /* not retained */
  mw_mpi_call call;         /* its rows are not valid after mpi_collective_open */
  bool is_in_place;
  mpi_operand in, out;
  size_t in_count, out_count; /* elements */
  size_t element;             /* bytes */
  mpi_counts sends, receives;
  mpi_handle requests[MPI_PIECES]; /* of the form that begins */
  size_t begun;
} mpi_collective;

/* Check the call and open its operands; on failure nothing is open. */
int mpi_collective_open(mpi_collective *work, struct mw_mpi_comm *comm, const mw_mpi_call *call);
/* Call libmpi. `blocks` or not, in which case the requests are to be tested. */
int mpi_collective_run(mpi_collective *work, bool blocks);
int mpi_collective_close(mpi_collective *work);

/* agreement.c: of descriptions, in two words for a maximum. */
void mpi_describe(const char *what, uint64_t out[2]);
int mpi_begin_agreement(struct mw_mpi_comm *comm, uint64_t values[2], mpi_handle *request);
static inline bool mpi_agrees(const uint64_t values[2]) { return values[0] == ~values[1]; }
int mpi_begin_comparison(struct mw_mpi_comm *comm, const char *own, char *texts, mpi_handle *request);

#endif
