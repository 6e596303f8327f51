/* Requests: messages and collective operations in flight. A wait for one of them advances all of them. */
#include "mpi/mpi.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

static struct mw_mpi_request *first, *last; /* the oldest first */
uint64_t mpi_completed;
int mpi_transfers;

/* ---- waiting ---- */

static unsigned tests; /* how many calls of MPI_Test so far */

int mpi_test(mpi_handle *request, int *is_done, int *status) {
  tests++;
  return mpi.Test(request, is_done, status);
}

bool mpi_tested(mpi_handle *request, int *status) {
  int is_done = 0, own[MPI_STATUS_INTS];
  if (mpi_test(request, &is_done, status ? status : own) != 0) return true;
  return is_done != 0;
}

/* Of this thread, on a processor. */
static double used_seconds(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* A wait gives the processor away once nothing has happened for a moment (at once if it is the only one, which mpirun
   may bind each rank to: a kernel that runs meanwhile needs it), but not while libmpi copies: some copy a piece
   of a long message in each call of MPI_Test (MPICH 512 KiB), and a sleep between two pieces only delays the rest. A
   call that finds nothing to do takes less than `idle_call`. */
enum { TURNS = 64 /* between two looks at the clock */ };
static const double idle_call = 5e-6, yielding_after = 50e-6, sleeping_after = 20e-3;

bool mpi_poll(bool (*done)(void *), void *context, double seconds) {
  static double idle; /* since something has happened, over all waits */
  static int processors;
  if (!processors) processors = mw_processors();
  double began = 0, looked = 0, used = 0;
  for (unsigned turn = 1, before = tests;; turn++) {
    if (done(context)) return idle = 0, true;
    if (turn % TURNS != 0) continue;
    double now = mw_time(), used_now = used_seconds();
    if (began == 0)
      began = now;
    else if (used_now - used > idle_call * (TURNS + (tests - before)))
      idle = 0;
    else
      idle += now - looked;
    looked = now;
    used = used_now;
    before = tests;
    if (now - began >= seconds) return false;
    if (idle > sleeping_after) /* a sleep takes up to 0.15 ms: late by less than 1 % */
      nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    else if (idle > yielding_after || processors == 1)
      sched_yield(); /* ranks that share a core wait for each other's turn */
  }
}

/* ---- life ---- */

void mpi_request_init(struct mw_mpi_request *request, const mpi_request_kind *kind, struct mw_mpi_comm *comm) {
  *request = (struct mw_mpi_request){.refs = 1, .kind = kind, .comm = mw_mpi_retain(comm)};
}

void mw_mpi_request_release(mw_mpi_request *request) {
  if (!request || --request->refs > 0) return;
  mw_mpi_release(request->comm);
  mw_error_free(request->failure);
  request->kind->destroy(request);
}

void mpi_begin(struct mw_mpi_request *request) {
  request->refs++;
  request->before = last;
  if (last)
    last->next = request;
  else
    first = request;
  last = request;
}

void mpi_keep_failure(struct mw_mpi_request *request) {
  if (!request->failure) request->failure = mw_error_copy(mw_error_last());
}

void mpi_finish(struct mw_mpi_request *request) {
  if (request->before)
    request->before->next = request->next;
  else
    first = request->next;
  if (request->next)
    request->next->before = request->before;
  else
    last = request->before;
  request->is_done = true;
  mpi_completed++;
  mw_mpi_request_release(request);
}

/* ---- progress ---- */

void mpi_progress(void) {
  for (struct mw_mpi_request *at = first, *next; at; at = next) {
    next = at->next;
    at->kind->advance(at);
  }
}

static bool is_done(void *context) {
  mpi_progress();
  return ((struct mw_mpi_request *)context)->is_done;
}

int mw_mpi_wait(mw_mpi_request *request, double seconds) {
  if (!request->is_done && !mpi_poll(is_done, request, seconds)) return MW_NOT_READY;
  return request->failure ? mw_error_raise(request->failure) : MW_SUCCESS;
}
