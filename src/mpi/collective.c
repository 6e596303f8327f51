/* Collective operations. All ranks of a communicator first agree that they have entered the same one: its description is
 * reduced by maximum together with its complement, which are each other's complement if all descriptions are the same.
 * Then libmpi's blocking function is called, which cannot wait for a rank that is elsewhere. */
#include "mpi/mpi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- agreement ---- */

static bool is_checked(void *context) {
  struct mw_mpi_comm *comm = context;
  mpi_progress();
  return mpi_tested(&comm->check, NULL);
}

int mw_mpi_agree(mw_mpi_comm *comm, const char *what, double seconds, int *agrees) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  if (!comm->is_checking) {
    mw_hash hash = mw_hash_start();
    mw_hash_add_text(&hash, what);
    comm->check_values[0] = hash.low;
    comm->check_values[1] = ~hash.low;
    comm->check = 0;
    code = mpi.Iallreduce((void *)(intptr_t)mpi.in_place, comm->check_values, 2, mpi.uint64, mpi.max, comm->head,
                          &comm->check);
    if (code != 0) return mpi_failed("MPI_Iallreduce", code);
    comm->is_checking = true;
  }
  if (!mpi_poll(is_checked, comm, seconds)) return MW_NOT_READY;
  comm->is_checking = false;
  mpi_completed++;
  *agrees = comm->check_values[0] == ~comm->check_values[1];
  return MW_SUCCESS;
}

int mw_mpi_compare(mw_mpi_comm *comm, const char *what, char *texts) {
  char own[MW_MPI_TEXT] = "";
  strncpy(own, what, sizeof own - 1);
  int code = mpi.Allgather(own, sizeof own, mpi.byte, texts, sizeof own, mpi.byte, comm->head);
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Allgather", code);
}

/* ---- operations ---- */

typedef struct counts {
  int *counts, *places;
} counts;

/* libmpi's counts, and where each rank's rows begin; `row` elements for each. */
static int take_counts(const size_t *rows, int size, size_t row, size_t available, counts *out) {
  size_t at = 0;
  out->counts = mw_alloc(2 * (size_t)size * sizeof(int));
  out->places = out->counts + size;
  for (int i = 0; i < size; i++) {
    if (rows[i] * row > INT_MAX || at > INT_MAX)
      return fail(MW_NOT_SUPPORTED, "a collective operation with more than 2^31 - 1 elements of a rank");
    out->counts[i] = (int)(rows[i] * row);
    out->places[i] = (int)at;
    at += rows[i] * row;
  }
  if (at > available)
    return fail(MW_INVALID_VALUE, "the ranks' parts have %zu elements, the array has %zu", at, available);
  return MW_SUCCESS;
}

static mpi_handle operator_of(mw_mpi_operator which) {
  const mpi_handle list[] = {mpi.sum,  mpi.prod, mpi.max, mpi.min,  mpi.land,   mpi.lor,
                             mpi.lxor, mpi.band, mpi.bor, mpi.bxor, mpi.replace};
  return list[which];
}

int mw_mpi_reduces(const mw_type *dtype, mw_mpi_operator which) {
  if (mpi_load() != MW_SUCCESS) return mw_error_clear(), 0;
  bool is_complex = mw_type_is_complex(dtype), is_float = dtype->kind == MW_TYPE_FLOAT;
  if (!mpi_reduced_type(dtype)) return 0;
  if (which >= MW_MPI_LAND) return !is_complex && !is_float;
  return !is_complex || which == MW_MPI_SUM || which == MW_MPI_PROD;
}

typedef struct work {
  mw_mpi_comm *comm;
  const mw_mpi_call *call;
  const void *in;
  void *out;
  size_t in_count, out_count; /* elements */
  size_t element;             /* bytes */
  counts sends, receives;
} work;

/* Reductions go in pieces that an int can count. */
static int reduce(work *w) {
  const size_t most = MPI_PIECE / 16;
  mpi_handle type = mpi_reduced_type(mw_array_dtype(w->call->in)), op = operator_of(w->call->op);
  mpi_handle comm = w->comm->data;
  void *in_place = (void *)(intptr_t)mpi.in_place;
  bool is_root = w->comm->rank == w->call->root;
  for (size_t at = 0; at < w->in_count; at += most) {
    int count = (int)(w->in_count - at < most ? w->in_count - at : most), code = 0;
    const void *in = (const char *)w->in + at * w->element;
    void *out = w->out ? (char *)w->out + at * w->element : NULL;
    const void *from = in == out ? in_place : in;
    switch (w->call->kind) {
    case MW_MPI_REDUCE: code = mpi.Reduce(is_root ? from : in, out, count, type, op, w->call->root, comm); break;
    case MW_MPI_ALLREDUCE: code = mpi.Allreduce(from, out, count, type, op, comm); break;
    case MW_MPI_SCAN: code = mpi.Scan(from, out, count, type, op, comm); break;
    default: code = mpi.Exscan(from, out, count, type, op, comm); break;
    }
    if (code != 0) return code;
  }
  return 0;
}

static int broadcast(work *w) {
  size_t bytes = w->out_count * w->element;
  for (size_t at = 0; at < bytes; at += MPI_PIECE) {
    int size = (int)(bytes - at < MPI_PIECE ? bytes - at : MPI_PIECE);
    int code = mpi.Bcast((char *)w->out + at, size, mpi.byte, w->call->root, w->comm->data);
    if (code != 0) return code;
  }
  return 0;
}

static int exchange(work *w) {
  mpi_handle comm = w->comm->data, type;
  int size = w->comm->size, root = w->call->root;
  if (mpi_block_type(w->element, &type) != MW_SUCCESS) return -1;
  int in = (int)w->in_count, out = (int)w->out_count;
  const counts *s = &w->sends, *r = &w->receives;
  switch (w->call->kind) {
  case MW_MPI_ALLGATHER:
    if (!r->counts) return mpi.Allgather(w->in, in, type, w->out, in, type, comm);
    return mpi.Allgatherv(w->in, in, type, w->out, r->counts, r->places, type, comm);
  case MW_MPI_GATHER: return mpi.Gatherv(w->in, in, type, w->out, r->counts, r->places, type, root, comm);
  case MW_MPI_SCATTER: return mpi.Scatterv(w->in, s->counts, s->places, type, w->out, out, type, root, comm);
  default:
    if (!s->counts) return mpi.Alltoall(w->in, in / size, type, w->out, in / size, type, comm);
    return mpi.Alltoallv(w->in, s->counts, s->places, type, w->out, r->counts, r->places, type, comm);
  }
}

static int run(work *w) {
  switch (w->call->kind) {
  case MW_MPI_BROADCAST: return broadcast(w);
  case MW_MPI_REDUCE:
  case MW_MPI_ALLREDUCE:
  case MW_MPI_SCAN:
  case MW_MPI_EXSCAN: return reduce(w);
  case MW_MPI_REDUCE_SCATTER:
    return mpi.Reduce_scatter(w->in, w->out, w->sends.counts, mpi_reduced_type(mw_array_dtype(w->call->in)),
                              operator_of(w->call->op), w->comm->data);
  default: return exchange(w);
  }
}

static int check_sizes(const work *w) {
  const mw_mpi_call *call = w->call;
  if (call->in && call->out && call->in != call->out &&
      mw_array_dtype(call->in)->size != mw_array_dtype(call->out)->size)
    return fail(MW_INVALID_VALUE, "the two arrays of a collective operation have different dtypes");
  bool is_reduction = call->kind >= MW_MPI_REDUCE && call->kind <= MW_MPI_EXSCAN;
  if (is_reduction && call->out && w->in_count != w->out_count)
    return fail(MW_INVALID_VALUE, "the result of a reduction has %zu elements, its array %zu", w->out_count,
                w->in_count);
  if ((is_reduction || call->kind == MW_MPI_REDUCE_SCATTER) && !mw_mpi_reduces(mw_array_dtype(call->in), call->op))
    return fail(MW_NOT_SUPPORTED, "MPI does not reduce %s by this operator", mw_type_dtype(mw_array_dtype(call->in)));
  if (w->in_count > INT_MAX && !is_reduction && call->kind != MW_MPI_BROADCAST)
    return fail(MW_NOT_SUPPORTED, "a collective operation with more than 2^31 - 1 elements of a rank");
  return MW_SUCCESS;
}

int mw_mpi_collect(mw_mpi_comm *comm, const mw_mpi_call *call) {
  mpi_operand in = {0}, out = {0};
  work w = {.comm = comm, .call = call};
  mw_array *any = call->in ? call->in : call->out;
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  w.element = any ? mw_array_dtype(any)->size : 1;
  w.in_count = call->in ? mw_array_count(call->in) : 0;
  w.out_count = call->out ? mw_array_count(call->out) : 0;
  code = check_sizes(&w);
  if (code == MW_SUCCESS && call->send_rows)
    code = take_counts(call->send_rows, comm->size, call->row, call->in ? w.in_count : SIZE_MAX, &w.sends);
  if (code == MW_SUCCESS && call->receive_rows)
    code = take_counts(call->receive_rows, comm->size, call->row, call->out ? w.out_count : SIZE_MAX, &w.receives);
  bool is_both = call->in == call->out || call->kind == MW_MPI_BROADCAST;
  if (code == MW_SUCCESS && call->out) code = mpi_operand_open(&out, call->out, is_both, true);
  if (code == MW_SUCCESS && call->in && call->in != call->out) code = mpi_operand_open(&in, call->in, true, false);
  if (code == MW_SUCCESS) {
    w.out = out.address;
    w.in = call->in == call->out ? out.address : in.address;
    int result = run(&w);
    mpi_completed++;
    if (result != 0) code = result < 0 ? mw_error_last()->code : mpi_failed("the collective operation", result);
  }
  mpi_operand_close(&in);
  int closed = mpi_operand_close(&out);
  free(w.sends.counts);
  free(w.receives.counts);
  return code != MW_SUCCESS ? code : closed;
}
