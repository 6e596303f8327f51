/* Collective operations that begin and are waited for later.
 *
 * A rank cannot wait for the others when it begins, so the agreement is a part of the request: libmpi's operation starts
 * once all ranks have begun the same one. Those of a communicator start in the order in which they were begun, each in
 * its turn, and the blocking operations after them; so libmpi sees one order on all ranks. */
#include "mpi/collective.h"

#include <stdlib.h>
#include <string.h>

typedef enum phase { AGREEING, COMPARING, RUNNING } phase;

typedef struct collective {
  struct mw_mpi_request base;
  phase phase;
  unsigned turn; /* it starts when so many have */
  bool is_checked;
  mpi_handle check;
  uint64_t values[2];
  char where[MW_MPI_TEXT], *texts; /* of all ranks, in a comparison */
  mpi_collective work;
} collective;

static void destroy(struct mw_mpi_request *request) {
  collective *self = (collective *)request;
  mpi_collective_close(&self->work);
  free(self->texts);
  free(self);
}

static void finish(collective *self) {
  if (self->phase == RUNNING && self->is_checked) mpi_transfers--;
  if (mpi_collective_close(&self->work) != MW_SUCCESS) mpi_keep_failure(&self->base);
  mpi_finish(&self->base);
}

static void start(collective *self) {
  self->base.comm->started++;
  self->phase = RUNNING;
  if (self->is_checked) mpi_transfers++;
  if (mpi_collective_run(&self->work, false) == MW_SUCCESS) return;
  mpi_keep_failure(&self->base);
  finish(self);
}

static void compare(collective *self) {
  struct mw_mpi_comm *comm = self->base.comm;
  comm->started++;
  self->phase = COMPARING;
  self->texts = mw_alloc((size_t)comm->size * MW_MPI_TEXT);
  if (mpi_begin_comparison(comm, self->where, self->texts, &self->check) == MW_SUCCESS) return;
  mpi_keep_failure(&self->base);
  finish(self);
}

static void tell_difference(collective *self) {
  mw_text text = {0};
  mw_text_addf(&text, "the ranks call different collective operations");
  for (int rank = 0; rank < self->base.comm->size; rank++)
    mw_text_addf(&text, "\n  rank %d: %s", rank, self->texts + (size_t)rank * MW_MPI_TEXT);
  fail(MW_INVALID_VALUE, "%s", text.data);
  mw_text_free(&text);
  mpi_keep_failure(&self->base);
  finish(self);
}

static void run(collective *self) {
  for (mpi_collective *work = &self->work; work->begun > 0; work->begun--) {
    int is_done = 0, status[MPI_STATUS_INTS], code = mpi_test(&work->requests[work->begun - 1], &is_done, status);
    if (code != 0) {
      mpi_failed("the collective operation", code);
      mpi_keep_failure(&self->base);
    } else if (!is_done) {
      return;
    }
  }
  finish(self);
}

static void advance(struct mw_mpi_request *request) {
  collective *self = (collective *)request;
  switch (self->phase) {
  case AGREEING:
    if (self->is_checked && !mpi_tested(&self->check, NULL)) return;
    if (request->comm->started != self->turn) return;
    if (self->is_checked && !mpi_agrees(self->values))
      compare(self);
    else
      start(self);
    return;
  case COMPARING:
    if (mpi_tested(&self->check, NULL)) tell_difference(self);
    return;
  case RUNNING: run(self); return;
  }
}

static const mpi_request_kind kind = {.advance = advance, .destroy = destroy};

int mw_mpi_begin(mw_mpi_comm *comm, const mw_mpi_call *call, const char *what, const char *where,
                 mw_mpi_request **out) {
  collective *self = mw_alloc(sizeof *self);
  memset(self, 0, offsetof(collective, work));
  int code = mpi_collective_open(&self->work, comm, call);
  if (code == MW_SUCCESS && what) {
    mpi_describe(what, self->values);
    strncpy(self->where, where, sizeof self->where - 1);
    self->is_checked = true;
    code = mpi_begin_agreement(comm, self->values, &self->check);
    if (code != MW_SUCCESS) mpi_collective_close(&self->work);
  }
  if (code != MW_SUCCESS) return free(self), code;
  mpi_request_init(&self->base, &kind, comm);
  self->turn = comm->begun++;
  mpi_begin(&self->base);
  advance(&self->base);
  *out = &self->base;
  return MW_SUCCESS;
}
