/* Messages between two ranks: arrays, whose dtype and shape travel with them, and strings of bytes.
 *
 * A message begins with a head. A short one contains the elements as well; the elements of a long one follow in pieces on
 * the communicator for data, under a tag of their own that the head tells, so that receives which are posted together do
 * not take each other's. A receive that does not fit drops what was sent and tells the sender (watch.c). */
#include "mpi/mpi.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME = 32, MAX_RANK = 8, SHORT = 3840, TAGS = 32768 };

typedef struct head {
  uint64_t bytes;
  uint64_t shape[MAX_RANK];
  int32_t rank;         /* dimensions; -1: bytes */
  uint32_t number;      /* of a long message: its tag; NOT_LONG if the elements follow here */
  int32_t world_sender; /* who to complain to */
  uint32_t element;     /* bytes of an element */
  char dtype[NAME];
} head;
static const uint32_t NOT_LONG = UINT32_MAX;

typedef enum phase { SENDING, RECEIVING_HEAD, RECEIVING_DATA, DONE } phase;

struct mw_mpi_request {
  mw_refs refs;
  struct mw_mpi_request *next; /* among those in flight, the oldest first */
  struct mw_mpi_comm *comm;
  phase phase;
  mpi_operand operand; /* its address is NULL for a receive of whatever comes */
  void *own;           /* the contents of such a receive, or a copy of bytes to send */
  mpi_handle requests[1 + 64], head_request;
  size_t pieces;
  int source, tag;
  mw_error *failure;
  head head;
  char contents[SHORT]; /* follow the head in a short message */
};

static struct mw_mpi_request *first, *spare;
uint64_t mpi_completed;

/* ---- waiting ---- */

bool mpi_tested(mpi_handle *request, int *status) {
  int is_done = 0, own[MPI_STATUS_INTS];
  if (mpi.Test(request, &is_done, status ? status : own) != 0) return true;
  return is_done != 0;
}

bool mpi_poll(bool (*done)(void *), void *context, double seconds) {
  double began = 0;
  for (unsigned turn = 1;; turn++) {
    if (done(context)) return true;
    if (turn % 64 != 0) continue;
    double now = mw_time();
    if (began == 0) began = now;
    if (now - began >= seconds) return false;
    if (now - began > 0.005)
      nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    else if (now - began > 0.00005)
      sched_yield(); /* ranks that share a core wait for each other's turn */
  }
}

bool mpi_is_transferring(void) {
  for (struct mw_mpi_request *at = first; at; at = at->next)
    if (at->phase == RECEIVING_DATA) return true;
  return false;
}

/* ---- life ---- */

static struct mw_mpi_request *new_request(struct mw_mpi_comm *comm) {
  struct mw_mpi_request *request = spare;
  if (request)
    spare = request->next;
  else
    request = mw_alloc(sizeof *request);
  memset(request, 0, offsetof(struct mw_mpi_request, requests));
  mw_refs_init(&request->refs);
  request->comm = mw_mpi_retain(comm);
  request->pieces = 0;
  request->failure = NULL;
  return request;
}

void mw_mpi_request_release(mw_mpi_request *request) {
  if (!request || !mw_refs_drop(&request->refs)) return;
  mpi_operand_close(&request->operand);
  mw_mpi_release(request->comm);
  mw_error_free(request->failure);
  free(request->own);
  request->next = spare;
  spare = request;
}

static void begin(struct mw_mpi_request *request) {
  struct mw_mpi_request **end = &first;
  while (*end) end = &(*end)->next;
  *end = request;
  mw_refs_take(&request->refs);
}

static void keep_failure(struct mw_mpi_request *request) {
  if (!request->failure) request->failure = mw_error_copy(mw_error_last());
}

static void finish(struct mw_mpi_request *request) {
  struct mw_mpi_request **at = &first;
  while (*at != request) at = &(*at)->next;
  *at = request->next;
  request->phase = DONE;
  mpi_completed++;
  if (mpi_operand_close(&request->operand) != MW_SUCCESS) keep_failure(request);
  mw_mpi_request_release(request);
}

/* ---- what a message is ---- */

static void describe(const head *what, char out[160]) {
  if (what->rank < 0) {
    snprintf(out, 160, "%llu bytes of a Lua value", (unsigned long long)what->bytes);
    return;
  }
  size_t at = (size_t)snprintf(out, 160, "%s {", what->dtype);
  for (int i = 0; i < what->rank && at < 140; i++)
    at += (size_t)snprintf(out + at, 160 - at, i ? ", %llu" : "%llu", (unsigned long long)what->shape[i]);
  snprintf(out + at, 160 - at, "}");
}

static void describe_array(mw_array *array, head *out) {
  const size_t *shape = mw_array_shape(array);
  out->rank = mw_array_rank(array);
  for (int i = 0; i < out->rank; i++) out->shape[i] = shape[i];
  out->bytes = mw_array_bytes(array);
  out->element = (uint32_t)mw_array_dtype(array)->size;
  snprintf(out->dtype, NAME, "%s", mw_type_dtype(mw_array_dtype(array)));
}

static bool is_same(const head *a, const head *b) {
  return a->rank == b->rank && a->bytes == b->bytes && a->element == b->element && strcmp(a->dtype, b->dtype) == 0 &&
         memcmp(a->shape, b->shape, sizeof a->shape[0] * (size_t)(a->rank < 0 ? 0 : a->rank)) == 0;
}

static int check_place(const struct mw_mpi_comm *comm, int rank, const char *what) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  if (rank >= 0 && rank < comm->size) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%s rank %d: this communicator has the ranks 0 to %d", what, rank, comm->size - 1);
}

static int check_tag(int tag) {
  if (tag >= 0 && tag < TAGS) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "a tag is a whole number from 0 to %d, got %d", TAGS - 1, tag);
}

/* ---- sending ---- */

static int start_pieces(struct mw_mpi_request *request, void *address, size_t bytes, int other, bool sends) {
  int tag = (int)(request->head.number % TAGS);
  mpi_handle comm = request->comm->data;
  if (bytes > sizeof request->requests / sizeof request->requests[0] * (size_t)MPI_PIECE)
    return fail(MW_NOT_SUPPORTED, "a message has at most 65 GiB");
  for (size_t at = 0; at < bytes; at += MPI_PIECE) {
    int size = (int)(bytes - at < MPI_PIECE ? bytes - at : MPI_PIECE), code;
    mpi_handle *out = &request->requests[request->pieces];
    *out = 0;
    code = sends ? mpi.Isend((char *)address + at, size, mpi.byte, other, tag, comm, out)
                 : mpi.Irecv((char *)address + at, size, mpi.byte, other, tag, comm, out);
    if (code != 0) return mpi_failed(sends ? "MPI_Isend" : "MPI_Irecv", code);
    request->pieces++;
  }
  return MW_SUCCESS;
}

static int send_head(struct mw_mpi_request *request, const void *contents, int to, int tag) {
  size_t bytes = request->head.bytes, size = sizeof(head);
  bool is_long = bytes > SHORT;
  request->head.world_sender = mpi_world->rank;
  request->head.number = is_long ? request->comm->sent++ % TAGS : NOT_LONG;
  if (!is_long) {
    if (bytes) memcpy(request->contents, contents, bytes);
    size += bytes;
  }
  request->head_request = 0;
  int code = mpi.Isend(&request->head, (int)size, mpi.byte, to, tag, request->comm->head, &request->head_request);
  if (code != 0) return mpi_failed("MPI_Isend", code);
  return is_long ? start_pieces(request, (void *)(uintptr_t)contents, bytes, to, true) : MW_SUCCESS;
}

int mw_mpi_send(mw_mpi_comm *comm, mw_array *array, const void *bytes, size_t size, int to, int tag,
                mw_mpi_request **out) {
  int code = check_place(comm, to, "a message to");
  if (code == MW_SUCCESS) code = check_tag(tag);
  if (code != MW_SUCCESS) return code;
  struct mw_mpi_request *request = new_request(comm);
  const void *contents = bytes;
  if (array) {
    describe_array(array, &request->head);
    code = mpi_operand_open(&request->operand, array, true, false);
    contents = request->operand.address;
    /* libmpi copies short contents out of the host's memory; memory of a device it has to read itself. */
    if (code == MW_SUCCESS && mpi.takes_device && request->head.bytes <= SHORT && request->head.bytes) {
      code = mw_array_read(array, 0, mw_array_count(array), request->contents);
      contents = request->contents;
    }
  } else {
    request->head = (head){.rank = -1, .bytes = size, .element = 1};
    if (size > SHORT) {
      contents = request->own = mw_try_alloc(size, "a message");
      if (!contents)
        code = MW_MEMORY_ALLOCATION;
      else
        memcpy(request->own, bytes, size);
    }
  }
  request->phase = SENDING;
  request->source = comm->rank;
  request->tag = tag;
  if (code == MW_SUCCESS) code = send_head(request, contents, to, tag);
  if (code != MW_SUCCESS) return mw_mpi_request_release(request), code;
  begin(request);
  *out = request;
  return MW_SUCCESS;
}

/* ---- receiving ---- */

int mw_mpi_receive(mw_mpi_comm *comm, mw_array *array, int from, int tag, mw_mpi_request **out) {
  int code = from == MW_MPI_ANY ? mpi_check_open(comm) : check_place(comm, from, "a message from");
  if (code == MW_SUCCESS && tag != MW_MPI_ANY) code = check_tag(tag);
  if (code != MW_SUCCESS) return code;
  struct mw_mpi_request *request = new_request(comm);
  if (array) code = mpi_operand_open(&request->operand, array, false, true);
  request->phase = RECEIVING_HEAD;
  request->head_request = 0;
  if (code == MW_SUCCESS) {
    int result =
        mpi.Irecv(&request->head, (int)(sizeof(head) + SHORT), mpi.byte, from == MW_MPI_ANY ? mpi.any_source : from,
                  tag == MW_MPI_ANY ? mpi.any_tag : tag, comm->head, &request->head_request);
    if (result != 0) code = mpi_failed("MPI_Irecv", result);
  }
  if (code != MW_SUCCESS) return mw_mpi_request_release(request), code;
  begin(request);
  *out = request;
  return MW_SUCCESS;
}

/* What was sent is not what is awaited: both sides are told. */
static void refuse(struct mw_mpi_request *request, const head *wanted) {
  char sent[160], awaited[160], text[512];
  describe(&request->head, sent);
  describe(wanted, awaited);
  fail(MW_INVALID_VALUE, "rank %d receives into %s, but rank %d sent %s (tag %d)", request->comm->rank, awaited,
       request->source, sent, request->tag);
  keep_failure(request);
  snprintf(text, sizeof text, "rank %d sent %s to rank %d, which receives into %s (tag %d)", request->source, sent,
           request->comm->rank, awaited, request->tag);
  mpi_complain(request->head.world_sender, text);
}

static void take_contents(struct mw_mpi_request *request) {
  mpi_operand *operand = &request->operand;
  if (!mpi.takes_device || operand->staging)
    memcpy(operand->address, request->contents, operand->bytes);
  else if (mw_array_write(operand->array, 0, mw_array_count(operand->array), request->contents) != MW_SUCCESS)
    keep_failure(request);
}

static void take_head(struct mw_mpi_request *request, const int *status) {
  head wanted = {0};
  bool drops = !request->operand.array;
  request->source = status[mpi.status_source];
  request->tag = status[mpi.status_tag];
  if (request->operand.array) {
    describe_array(request->operand.array, &wanted);
    if (!is_same(&request->head, &wanted)) {
      refuse(request, &wanted);
      request->operand.writes = false;
      drops = true;
    }
  }
  size_t bytes = request->head.bytes;
  if (request->head.number == NOT_LONG) {
    if (!drops && bytes) take_contents(request);
    finish(request);
    return;
  }
  void *target = request->operand.address;
  if (drops) target = request->own = mw_try_alloc(bytes, "a message");
  request->phase = RECEIVING_DATA;
  if (!target || start_pieces(request, target, bytes, request->source, false) != MW_SUCCESS) {
    keep_failure(request);
    finish(request);
  }
}

static void advance(struct mw_mpi_request *request) {
  int status[MPI_STATUS_INTS], is_done = 0;
  if (request->phase == RECEIVING_HEAD) {
    int code = mpi.Test(&request->head_request, &is_done, status);
    if (code != 0) {
      mpi_failed("receiving", code);
      keep_failure(request);
      finish(request);
    } else if (is_done) {
      take_head(request, status);
    }
    return;
  }
  if (request->phase == SENDING && !mpi_tested(&request->head_request, NULL)) return;
  while (request->pieces > 0 && mpi_tested(&request->requests[request->pieces - 1], NULL)) request->pieces--;
  if (request->pieces == 0) finish(request);
}

void mpi_progress(void) {
  for (struct mw_mpi_request *at = first, *next; at; at = next) {
    next = at->next;
    advance(at);
  }
}

static bool is_done(void *context) {
  mpi_progress();
  return ((struct mw_mpi_request *)context)->phase == DONE;
}

int mw_mpi_wait(mw_mpi_request *request, double seconds) {
  if (!mpi_poll(is_done, request, seconds)) return MW_NOT_READY;
  return request->failure ? mw_error_raise(request->failure) : MW_SUCCESS;
}

static void fill_message(const head *what, int source, int tag, mw_mpi_message *out) {
  *out = (mw_mpi_message){.source = source, .tag = tag, .rank = what->rank, .bytes = what->bytes};
  snprintf(out->dtype, sizeof out->dtype, "%s", what->dtype);
  for (int i = 0; i < what->rank; i++) out->shape[i] = what->shape[i];
}

int mw_mpi_received(mw_mpi_request *request, mw_mpi_message *out) {
  if (request->phase != DONE) return fail(MW_NOT_READY, "the message has not arrived");
  fill_message(&request->head, request->source, request->tag, out);
  out->contents = request->own ? request->own : request->contents;
  return MW_SUCCESS;
}

int mw_mpi_probe(mw_mpi_comm *comm, int from, int tag, int *source, int *found_tag) {
  int status[MPI_STATUS_INTS],
      is_there = 0, code = from == MW_MPI_ANY ? mpi_check_open(comm) : check_place(comm, from, "a message from");
  if (code != MW_SUCCESS) return code;
  mpi_progress();
  code = mpi.Iprobe(from == MW_MPI_ANY ? mpi.any_source : from, tag == MW_MPI_ANY ? mpi.any_tag : tag, comm->head,
                    &is_there, status);
  if (code != 0) return mpi_failed("MPI_Iprobe", code);
  if (!is_there) return MW_NOT_READY;
  *source = status[mpi.status_source];
  *found_tag = status[mpi.status_tag];
  return MW_SUCCESS;
}
