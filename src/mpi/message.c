/* Messages between two ranks: arrays, whose dtype and shape travel with them, and strings of bytes.
 *
 * A message begins with a head. A short one contains the elements as well; the elements of a long one follow in pieces
 * on the communicator for data, under a tag of their own, which the head contains, so that receives that are posted
 * together do not match each other's pieces. A receive that does not fit drops what was sent and notifies the sender
 * (deadlock.c). */
#include "mpi/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 32, MAX_RANK = 8, SHORT = 3840, TAGS = 32768 };

/* The shape is last: only the dimensions that the array has are sent, and the elements of a short message follow
   them. */
typedef struct head {
  uint64_t bytes;
  uint32_t number;      /* of a long message: its tag; NOT_LONG if the elements follow here */
  int32_t world_sender; /* the rank to notify of a mismatch */
  uint32_t element;     /* bytes of an element */
  int32_t rank;         /* dimensions; -1: bytes */
  char dtype[NAME];     /* zeros after the name */
  uint64_t shape[MAX_RANK];
} head;
static const uint32_t NOT_LONG = UINT32_MAX;

typedef enum phase { SENDING, RECEIVING_HEAD, RECEIVING_DATA } phase;

typedef struct message {
  struct mw_mpi_request base;
  struct message *next_free;
  phase phase;
  mpi_operand operand; /* its address is NULL for a receive of any contents */
  void *own;           /* the contents of such a receive, or a copy of bytes to send */
  size_t pieces;
  int source, tag;
  mpi_handle head_request, requests[64];
  head wanted; /* by a receive into an array */
  head head;
  char contents[SHORT]; /* room for those that follow the head */
} message;

static message *free_messages;
static void advance(struct mw_mpi_request *request);

static void destroy(struct mw_mpi_request *request) {
  message *self = (message *)request;
  self->operand.writes = false; /* what has not arrived */
  mpi_operand_close(&self->operand);
  free(self->own);
  self->next_free = free_messages;
  free_messages = self;
}

static const mpi_request_kind kind = {.advance = advance, .destroy = destroy};

static message *new_message(struct mw_mpi_comm *comm, phase first_phase) {
  message *self = free_messages;
  if (self)
    free_messages = self->next_free;
  else
    self = mw_alloc(sizeof *self);
  mpi_request_init(&self->base, &kind, comm);
  self->phase = first_phase;
  self->operand = (mpi_operand){0};
  self->own = NULL;
  self->pieces = 0;
  self->head_request = 0;
  return self;
}

static void finish(message *self) {
  if (self->phase == RECEIVING_DATA) mpi_transfers--;
  if (mpi_operand_close(&self->operand) != MW_SUCCESS) mpi_keep_failure(&self->base);
  mpi_finish(&self->base);
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
  const mw_type *type = mw_array_dtype(array);
  const char *name = mw_type_dtype(type);
  size_t length = strlen(name);
  out->rank = mw_array_rank(array);
  for (int i = 0; i < out->rank; i++) out->shape[i] = shape[i];
  out->bytes = mw_array_bytes(array);
  out->element = (uint32_t)type->size;
  memset(out->dtype, 0, NAME);
  memcpy(out->dtype, name, length < NAME ? length : NAME - 1);
}

static size_t head_size(const head *what) {
  return offsetof(head, shape) + sizeof what->shape[0] * (size_t)(what->rank < 0 ? 0 : what->rank);
}

/* Where the elements of a short message begin. */
static char *contents_of(message *self) { return (char *)&self->head + head_size(&self->head); }

/* The byte count, the element, the dtype and the shape. */
static bool is_same(const head *a, const head *b) {
  return a->bytes == b->bytes && a->rank == b->rank &&
         memcmp(&a->element, &b->element, head_size(a) - offsetof(head, element)) == 0;
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

static int start_pieces(message *self, void *address, size_t bytes, int other, bool sends) {
  int tag = (int)(self->head.number % TAGS);
  mpi_handle comm = self->base.comm->data;
  if (bytes > sizeof self->requests / sizeof self->requests[0] * (size_t)MPI_PIECE)
    return fail(MW_NOT_SUPPORTED, "a message has at most 64 GiB");
  for (size_t at = 0; at < bytes; at += MPI_PIECE) {
    int size = (int)(bytes - at < MPI_PIECE ? bytes - at : MPI_PIECE), code;
    mpi_handle *out = &self->requests[self->pieces];
    *out = 0;
    code = sends ? mpi.Isend((char *)address + at, size, mpi.byte, other, tag, comm, out)
                 : mpi.Irecv((char *)address + at, size, mpi.byte, other, tag, comm, out);
    if (code != 0) return mpi_failed(sends ? "MPI_Isend" : "MPI_Irecv", code);
    self->pieces++;
  }
  return MW_SUCCESS;
}

static int send_head(message *self, const void *contents, int to, int tag) {
  struct mw_mpi_comm *comm = self->base.comm;
  size_t bytes = self->head.bytes, size = head_size(&self->head);
  bool is_long = bytes > SHORT;
  self->head.world_sender = mpi_world->rank;
  self->head.number = is_long ? comm->sent++ % TAGS : NOT_LONG;
  if (!is_long) {
    if (contents && bytes) memcpy(contents_of(self), contents, bytes);
    size += bytes;
  }
  int code = mpi.Isend(&self->head, (int)size, mpi.byte, to, tag, comm->head, &self->head_request);
  if (code != 0) return mpi_failed("MPI_Isend", code);
  return is_long ? start_pieces(self, (void *)(uintptr_t)contents, bytes, to, true) : MW_SUCCESS;
}

/* What is to be sent: *contents is NULL if it is there already. Short contents are copied now, so nothing is kept. */
static int take_array(message *self, mw_array *array, const void **contents) {
  describe_array(array, &self->head);
  int code;
  if (self->head.bytes > SHORT) {
    code = mpi_operand_open(&self->operand, array, true, false);
    *contents = self->operand.address;
    return code;
  }
  void *address = NULL;
  if (mw_array_is_contiguous(array)) {
    code = mw_array_host(array, &address);
    *contents = address;
    if (code != MW_NOT_SUPPORTED) return code;
    mw_error_clear();
  }
  return mw_array_read(array, 0, mw_array_count(array), contents_of(self));
}

static int take_bytes(message *self, const void *bytes, size_t size, const void **contents) {
  self->head.rank = -1;
  self->head.bytes = size;
  self->head.element = 1;
  *contents = bytes;
  if (size <= SHORT) return MW_SUCCESS;
  *contents = self->own = mw_try_alloc(size, "a message");
  if (!self->own) return MW_MEMORY_ALLOCATION;
  memcpy(self->own, bytes, size);
  return MW_SUCCESS;
}

/* Wait for a request that has begun; what is not done is the caller's. */
static int hand_out(message *self, double seconds, mw_mpi_request **out) {
  int code = mw_mpi_wait(&self->base, seconds);
  if (code == MW_NOT_READY) return *out = &self->base, MW_SUCCESS;
  mw_mpi_request_release(&self->base);
  return code;
}

int mw_mpi_send(mw_mpi_comm *comm, mw_array *array, const void *bytes, size_t size, int to, int tag, double seconds,
                mw_mpi_request **out) {
  int code = check_place(comm, to, "a message to");
  if (code == MW_SUCCESS) code = check_tag(tag);
  if (code != MW_SUCCESS) return code;
  message *self = new_message(comm, SENDING);
  const void *contents = NULL;
  *out = NULL;
  code = array ? take_array(self, array, &contents) : take_bytes(self, bytes, size, &contents);
  if (code == MW_SUCCESS) code = send_head(self, contents, to, tag);
  if (code != MW_SUCCESS) return mw_mpi_request_release(&self->base), code;
  if (self->pieces == 0 && mpi_tested(&self->head_request, NULL)) {
    mpi_completed++;
    mw_mpi_request_release(&self->base);
    return MW_SUCCESS;
  }
  mpi_begin(&self->base);
  return hand_out(self, seconds, out);
}

/* ---- receiving ---- */

/* What was sent does not fit the receive: the error is raised on both sides. */
static void refuse(message *self, const head *wanted) {
  char sent[160], awaited[160], text[512];
  int rank = self->base.comm->rank;
  describe(&self->head, sent);
  describe(wanted, awaited);
  fail(MW_INVALID_VALUE, "rank %d receives into %s, but rank %d sent %s (tag %d)", rank, awaited, self->source, sent,
       self->tag);
  mpi_keep_failure(&self->base);
  snprintf(text, sizeof text, "rank %d sent %s to rank %d, which receives into %s (tag %d)", self->source, sent, rank,
           awaited, self->tag);
  mpi_complain(self->head.world_sender, text);
}

static void take_contents(message *self) {
  mpi_operand *operand = &self->operand;
  if (!operand->is_device)
    memcpy(operand->address, contents_of(self), operand->bytes);
  else if (mw_array_write(operand->array, 0, mw_array_count(operand->array), contents_of(self)) != MW_SUCCESS)
    mpi_keep_failure(&self->base);
}

static void take_head(message *self, const int *status) {
  bool drops = !self->operand.array;
  self->source = status[mpi.status_source];
  self->tag = status[mpi.status_tag];
  if (self->operand.array) {
    if (!is_same(&self->head, &self->wanted)) {
      refuse(self, &self->wanted);
      self->operand.writes = false;
      drops = true;
    }
  }
  size_t bytes = self->head.bytes;
  if (self->head.number == NOT_LONG) {
    if (!drops && bytes) take_contents(self);
    finish(self);
    return;
  }
  void *target = self->operand.address;
  if (drops) target = self->own = mw_try_alloc(bytes, "a message");
  self->phase = RECEIVING_DATA;
  mpi_transfers++;
  if (!target || start_pieces(self, target, bytes, self->source, false) != MW_SUCCESS) {
    mpi_keep_failure(&self->base);
    self->operand.writes = false;
    finish(self);
  }
}

static void advance(struct mw_mpi_request *request) {
  message *self = (message *)request;
  int status[MPI_STATUS_INTS], is_done = 0;
  if (self->phase == RECEIVING_HEAD) {
    int code = mpi_test(&self->head_request, &is_done, status);
    if (code != 0) {
      mpi_failed("receiving", code);
      mpi_keep_failure(request);
      self->operand.writes = false;
      finish(self);
    } else if (is_done) {
      take_head(self, status);
    }
    return;
  }
  if (self->phase == SENDING && !mpi_tested(&self->head_request, NULL)) return;
  while (self->pieces > 0 && mpi_tested(&self->requests[self->pieces - 1], NULL)) self->pieces--;
  if (self->pieces == 0) finish(self);
}

int mw_mpi_receive(mw_mpi_comm *comm, mw_array *array, int from, int tag, double seconds, int *source, int *found_tag,
                   mw_mpi_request **out) {
  int code = from == MW_MPI_ANY ? mpi_check_open(comm) : check_place(comm, from, "a message from");
  if (code == MW_SUCCESS && tag != MW_MPI_ANY) code = check_tag(tag);
  if (code != MW_SUCCESS) return code;
  message *self = new_message(comm, RECEIVING_HEAD);
  *out = NULL;
  if (array) code = mpi_operand_open(&self->operand, array, false, true);
  if (code == MW_SUCCESS) {
    int result =
        mpi.Irecv(&self->head, (int)(sizeof(head) + SHORT), mpi.byte, from == MW_MPI_ANY ? mpi.any_source : from,
                  tag == MW_MPI_ANY ? mpi.any_tag : tag, comm->head, &self->head_request);
    if (result != 0) code = mpi_failed("MPI_Irecv", result);
  }
  if (code != MW_SUCCESS) return mw_mpi_request_release(&self->base), code;
  if (array) describe_array(array, &self->wanted); /* now, while the sender works, and not when the message is there */
  mpi_begin(&self->base);
  if (!array) { /* its contents are the request's */
    code = mw_mpi_wait(&self->base, seconds);
    if (code != MW_SUCCESS && code != MW_NOT_READY) return mw_mpi_request_release(&self->base), code;
    return *out = &self->base, MW_SUCCESS;
  }
  self->base.refs++;
  code = hand_out(self, seconds, out);
  *source = self->source;
  *found_tag = self->tag;
  mw_mpi_request_release(&self->base);
  return code;
}

static void fill_message(const head *what, int source, int tag, mw_mpi_message *out) {
  *out = (mw_mpi_message){.source = source, .tag = tag, .rank = what->rank, .bytes = what->bytes};
  snprintf(out->dtype, sizeof out->dtype, "%s", what->dtype);
  for (int i = 0; i < what->rank; i++) out->shape[i] = what->shape[i];
}

int mw_mpi_received(mw_mpi_request *request, mw_mpi_message *out) {
  message *self = (message *)request;
  if (request->kind != &kind) return fail(MW_INVALID_VALUE, "this request is not of a message");
  if (!request->is_done) return fail(MW_NOT_READY, "the message has not arrived");
  fill_message(&self->head, self->source, self->tag, out);
  out->contents = self->own ? self->own : contents_of(self);
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
