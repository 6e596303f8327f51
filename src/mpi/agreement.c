/* The agreement of ranks on the collective operation that they enter: its description is reduced by maximum together with
 * its complement, which are each other's complement if all descriptions are the same. If they are not, the ranks
 * exchange where each of them is. */
#include "mpi/collective.h"

#include <math.h>
#include <string.h>

void mpi_describe(const char *what, uint64_t out[2]) {
  mw_hash hash = mw_hash_start();
  mw_hash_add_text(&hash, what);
  out[0] = hash.low;
  out[1] = ~hash.low;
}

int mpi_begin_agreement(struct mw_mpi_comm *comm, uint64_t values[2], mpi_handle *request) {
  *request = 0;
  int code = mpi.Iallreduce((void *)(intptr_t)mpi.in_place, values, 2, mpi.uint64, mpi.max, comm->head, request);
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Iallreduce", code);
}

/* `own` and each of `texts` have MW_MPI_TEXT bytes. */
int mpi_begin_comparison(struct mw_mpi_comm *comm, const char *own, char *texts, mpi_handle *request) {
  *request = 0;
  int code = mpi.Iallgather(own, MW_MPI_TEXT, mpi.byte, texts, MW_MPI_TEXT, mpi.byte, comm->data, request);
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Iallgather", code);
}

/* What was begun on the communicator before has started too, so that libmpi sees one order on all ranks. */
static bool is_checked(void *context) {
  struct mw_mpi_comm *comm = context;
  mpi_progress();
  return mpi_tested(&comm->check, NULL) && comm->started == comm->begun;
}

int mw_mpi_agree(mw_mpi_comm *comm, const char *what, double seconds, int *agrees) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  if (!comm->is_checking) {
    mpi_describe(what, comm->check_values);
    code = mpi_begin_agreement(comm, comm->check_values, &comm->check);
    if (code != MW_SUCCESS) return code;
    comm->is_checking = true;
  }
  if (!mpi_poll(is_checked, comm, seconds)) return MW_NOT_READY;
  comm->is_checking = false;
  mpi_completed++;
  *agrees = mpi_agrees(comm->check_values);
  return MW_SUCCESS;
}

static bool is_compared(void *request) {
  mpi_progress();
  return mpi_tested(request, NULL);
}

/* Some ranks may have called the nonblocking form, which compares by the same function. */
int mw_mpi_compare(mw_mpi_comm *comm, const char *what, char *texts) {
  char own[MW_MPI_TEXT] = "";
  strncpy(own, what, sizeof own - 1);
  mpi_handle request;
  int code = mpi_begin_comparison(comm, own, texts, &request);
  if (code == MW_SUCCESS) mpi_poll(is_compared, &request, HUGE_VAL);
  return code;
}
