/* Collective operations. All ranks of a communicator first agree that they have entered the same one (agreement.c). Then
 * libmpi's function is called: the blocking one, which cannot wait for a rank that is elsewhere, or the one that begins
 * the operation (nonblocking_collective.c). */
#include "mpi/collective.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- operations ---- */

/* libmpi's counts, and where each rank's rows begin; `row` elements for each. */
static int take_counts(const size_t *rows, int size, size_t row, size_t available, mpi_counts *out) {
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

mpi_handle mpi_operator(mw_mpi_operator which) {
  const mpi_handle list[] = {mpi.sum,  mpi.prod, mpi.max, mpi.min,  mpi.land,    mpi.lor,
                             mpi.lxor, mpi.band, mpi.bor, mpi.bxor, mpi.replace, mpi.no_op};
  return list[which];
}

int mw_mpi_reduces(const mw_type *dtype, mw_mpi_operator which) {
  if (mpi_load() != MW_SUCCESS) return mw_error_clear(), 0;
  bool is_complex = mw_type_is_complex(dtype), is_float = dtype->kind == MW_TYPE_FLOAT;
  if (!mpi_reduced_type(dtype)) return 0;
  if (which >= MW_MPI_REPLACE) return 1;
  if (which >= MW_MPI_LAND) return !is_complex && !is_float;
  return !is_complex || which == MW_MPI_SUM || which == MW_MPI_PROD;
}

/* Where the handle of the next operation that is begun goes; NULL: the blocking function is to be called. */
static mpi_handle *next_request(mpi_collective *w) {
  w->requests[w->begun] = 0;
  return &w->requests[w->begun++];
}

/* Reductions go in pieces that an int can count. */
static int reduce(mpi_collective *w, bool blocks) {
  const size_t most = MPI_PIECE / 16;
  mpi_handle type = mpi_reduced_type(mw_array_dtype(w->call.in)), op = mpi_operator(w->call.op);
  mpi_handle comm = w->comm->data;
  void *in_place = (void *)(intptr_t)mpi.in_place;
  int root = w->call.root;
  for (size_t at = 0; at < w->in_count; at += most) {
    int count = (int)(w->in_count - at < most ? w->in_count - at : most), code = 0;
    const void *in = (const char *)w->in.address + at * w->element;
    void *out = w->out.address ? (char *)w->out.address + at * w->element : NULL;
    if (w->is_in_place) in = w->call.kind == MW_MPI_REDUCE && w->comm->rank != root ? out : in_place;
    switch (w->call.kind) {
    case MW_MPI_REDUCE:
      code = blocks ? mpi.Reduce(in, out, count, type, op, root, comm)
                    : mpi.Ireduce(in, out, count, type, op, root, comm, next_request(w));
      break;
    case MW_MPI_ALLREDUCE:
      code = blocks ? mpi.Allreduce(in, out, count, type, op, comm)
                    : mpi.Iallreduce(in, out, count, type, op, comm, next_request(w));
      break;
    case MW_MPI_SCAN:
      code = blocks ? mpi.Scan(in, out, count, type, op, comm)
                    : mpi.Iscan(in, out, count, type, op, comm, next_request(w));
      break;
    default:
      code = blocks ? mpi.Exscan(in, out, count, type, op, comm)
                    : mpi.Iexscan(in, out, count, type, op, comm, next_request(w));
      break;
    }
    if (code != 0) return code;
  }
  return 0;
}

static int broadcast(mpi_collective *w, bool blocks) {
  size_t bytes = w->out_count * w->element;
  int root = w->call.root;
  for (size_t at = 0; at < bytes; at += MPI_PIECE) {
    int size = (int)(bytes - at < MPI_PIECE ? bytes - at : MPI_PIECE);
    void *out = (char *)w->out.address + at;
    int code = blocks ? mpi.Bcast(out, size, mpi.byte, root, w->comm->data)
                      : mpi.Ibcast(out, size, mpi.byte, root, w->comm->data, next_request(w));
    if (code != 0) return code;
  }
  return 0;
}

static int reduce_scatter(mpi_collective *w, bool blocks) {
  mpi_handle type = mpi_reduced_type(mw_array_dtype(w->call.in)), op = mpi_operator(w->call.op);
  const void *in = w->in.address;
  void *out = w->out.address;
  return blocks ? mpi.Reduce_scatter(in, out, w->sends.counts, type, op, w->comm->data)
                : mpi.Ireduce_scatter(in, out, w->sends.counts, type, op, w->comm->data, next_request(w));
}

static int gather(mpi_collective *w, mpi_handle type, bool blocks) {
  mpi_handle comm = w->comm->data;
  const mpi_counts *r = &w->receives;
  const void *in = w->in.address;
  void *out = w->out.address;
  int count = (int)w->in_count, root = w->call.root;
  if (w->call.kind == MW_MPI_GATHER)
    return blocks ? mpi.Gatherv(in, count, type, out, r->counts, r->places, type, root, comm)
                  : mpi.Igatherv(in, count, type, out, r->counts, r->places, type, root, comm, next_request(w));
  if (r->counts)
    return blocks ? mpi.Allgatherv(in, count, type, out, r->counts, r->places, type, comm)
                  : mpi.Iallgatherv(in, count, type, out, r->counts, r->places, type, comm, next_request(w));
  return blocks ? mpi.Allgather(in, count, type, out, count, type, comm)
                : mpi.Iallgather(in, count, type, out, count, type, comm, next_request(w));
}

static int exchange(mpi_collective *w, mpi_handle type, bool blocks) {
  mpi_handle comm = w->comm->data;
  const mpi_counts *s = &w->sends, *r = &w->receives;
  const void *in = w->in.address;
  void *out = w->out.address;
  int count = (int)w->in_count / w->comm->size, root = w->call.root;
  if (w->call.kind == MW_MPI_SCATTER)
    return blocks ? mpi.Scatterv(in, s->counts, s->places, type, out, (int)w->out_count, type, root, comm)
                  : mpi.Iscatterv(in, s->counts, s->places, type, out, (int)w->out_count, type, root, comm,
                                  next_request(w));
  if (s->counts)
    return blocks
               ? mpi.Alltoallv(in, s->counts, s->places, type, out, r->counts, r->places, type, comm)
               : mpi.Ialltoallv(in, s->counts, s->places, type, out, r->counts, r->places, type, comm, next_request(w));
  return blocks ? mpi.Alltoall(in, count, type, out, count, type, comm)
                : mpi.Ialltoall(in, count, type, out, count, type, comm, next_request(w));
}

static int call_mpi(mpi_collective *w, bool blocks) {
  mpi_handle type;
  switch (w->call.kind) {
  case MW_MPI_BARRIER: return 0;
  case MW_MPI_BROADCAST: return broadcast(w, blocks);
  case MW_MPI_REDUCE:
  case MW_MPI_ALLREDUCE:
  case MW_MPI_SCAN:
  case MW_MPI_EXSCAN: return reduce(w, blocks);
  case MW_MPI_REDUCE_SCATTER: return reduce_scatter(w, blocks);
  default: break;
  }
  if (mpi_block_type(w->element, &type) != MW_SUCCESS) return -1;
  bool gathers = w->call.kind == MW_MPI_GATHER || w->call.kind == MW_MPI_ALLGATHER;
  return gathers ? gather(w, type, blocks) : exchange(w, type, blocks);
}

int mpi_collective_run(mpi_collective *w, bool blocks) {
  int result = call_mpi(w, blocks);
  if (result == 0) return MW_SUCCESS;
  return result < 0 ? mw_error_last()->code : mpi_failed("the collective operation", result);
}

/* ---- operands ---- */

static int check_sizes(const mpi_collective *w) {
  const mw_mpi_call *call = &w->call;
  if (call->in && call->out && call->in != call->out &&
      mw_array_dtype(call->in)->size != mw_array_dtype(call->out)->size)
    return fail(MW_INVALID_VALUE, "the two arrays of a collective operation have different dtypes");
  bool is_reduction = call->kind >= MW_MPI_REDUCE && call->kind <= MW_MPI_EXSCAN;
  if (is_reduction && call->out && w->in_count != w->out_count)
    return fail(MW_INVALID_VALUE, "the result of a reduction has %zu elements, its array %zu", w->out_count,
                w->in_count);
  if ((is_reduction || call->kind == MW_MPI_REDUCE_SCATTER) && !mw_mpi_reduces(mw_array_dtype(call->in), call->op))
    return fail(MW_NOT_SUPPORTED, "MPI does not reduce %s by this operator", mw_type_dtype(mw_array_dtype(call->in)));
  bool in_pieces = is_reduction || call->kind == MW_MPI_BROADCAST;
  if (w->in_count > INT_MAX && !in_pieces)
    return fail(MW_NOT_SUPPORTED, "a collective operation with more than 2^31 - 1 elements of a rank");
  if (w->in_count > (size_t)MPI_PIECE || w->out_count * w->element > MPI_PIECES * (size_t)MPI_PIECE)
    return in_pieces ? fail(MW_NOT_SUPPORTED, "a collective operation with more than 64 GiB of a rank") : MW_SUCCESS;
  return MW_SUCCESS;
}

int mpi_collective_open(mpi_collective *w, struct mw_mpi_comm *comm, const mw_mpi_call *call) {
  *w = (mpi_collective){.comm = comm, .call = *call, .is_in_place = call->in && call->in == call->out};
  mw_array *any = call->in ? call->in : call->out;
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  w->element = any ? mw_array_dtype(any)->size : 1;
  w->in_count = call->in ? mw_array_count(call->in) : 0;
  w->out_count = call->out ? mw_array_count(call->out) : 0;
  code = check_sizes(w);
  if (code == MW_SUCCESS && call->send_rows)
    code = take_counts(call->send_rows, comm->size, call->row, call->in ? w->in_count : SIZE_MAX, &w->sends);
  if (code == MW_SUCCESS && call->receive_rows)
    code = take_counts(call->receive_rows, comm->size, call->row, call->out ? w->out_count : SIZE_MAX, &w->receives);
  bool is_both = w->is_in_place || call->kind == MW_MPI_BROADCAST;
  if (code == MW_SUCCESS && call->out) code = mpi_operand_open(&w->out, call->out, is_both, true);
  if (code == MW_SUCCESS && call->in && !w->is_in_place) code = mpi_operand_open(&w->in, call->in, true, false);
  if (code != MW_SUCCESS) mpi_collective_close(w);
  return code;
}

int mpi_collective_close(mpi_collective *w) {
  mpi_operand_close(&w->in);
  int code = mpi_operand_close(&w->out);
  free(w->sends.counts);
  free(w->receives.counts);
  w->sends = w->receives = (mpi_counts){0};
  return code;
}

static bool has_started(void *context) {
  struct mw_mpi_comm *comm = context;
  mpi_progress();
  return comm->started == comm->begun;
}

int mw_mpi_collect(mw_mpi_comm *comm, const mw_mpi_call *call) {
  mpi_collective work;
  int code = mpi_collective_open(&work, comm, call);
  if (code != MW_SUCCESS) return code;
  if (comm->started != comm->begun) mpi_poll(has_started, comm, HUGE_VAL);
  code = mpi_collective_run(&work, true);
  mpi_completed++;
  int closed = mpi_collective_close(&work);
  return code != MW_SUCCESS ? code : closed;
}
