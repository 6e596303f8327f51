/* Communicators: checks of the arrays, and the description of messages for the driver. */
#include "collective.h"
#include "core/array/array.h"
#include "core/failure.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"

#include <stdlib.h>
#include <string.h>

struct mw_communicator {
  mw_device *device;
  const mw_driver_collective *driver;
  void *state;
};

static int driver_of(const mw_device *device, const mw_driver_collective **out) {
  *out = device->driver->collective;
  return *out ? MW_SUCCESS
              : fail(MW_NOT_SUPPORTED, "%s has no library for messages between devices: NCCL connects NVIDIA GPUs",
                     device->name);
}

int mw_communicator_library(mw_device *device, char *text, size_t size) {
  const mw_driver_collective *driver;
  mw_text out = {0};
  int code = driver_of(device, &driver);
  if (code == MW_SUCCESS) code = driver->name(device->state, &out);
  if (code == MW_SUCCESS && size > 0) {
    size_t length = out.length < size ? out.length : size - 1;
    memcpy(text, out.data ? out.data : "", length);
    text[length] = '\0';
  }
  mw_text_free(&out);
  return code;
}

int mw_communicator_id(mw_device *device, char *id) {
  const mw_driver_collective *driver;
  int code = driver_of(device, &driver);
  return code ? code : driver->id(device->state, id);
}

static mw_communicator *make(mw_device *device, const mw_driver_collective *driver) {
  mw_communicator *new = mw_alloc(sizeof *new);
  *new = (mw_communicator){.device = mw_device_retain(device), .driver = driver};
  return new;
}

static void end(mw_communicator *communicator) {
  mw_device *device = communicator->device;
  free(communicator);
  mw_device_release(device);
}

int mw_communicator_new(mw_device *device, const char *id, int size, int rank, double seconds, mw_communicator **out) {
  const mw_driver_collective *driver;
  int code = driver_of(device, &driver);
  if (code != MW_SUCCESS) return code;
  if (size < 1 || rank < 0 || rank >= size)
    return fail(MW_INVALID_VALUE, "rank %d of %d: ranks count from 0 to the size - 1", rank, size);
  mw_communicator *new = make(device, driver);
  code = driver->open(device->state, id, size, rank, seconds, &new->state);
  if (code != MW_SUCCESS) {
    end(new);
    return code;
  }
  *out = new;
  return MW_SUCCESS;
}

int mw_communicator_split(mw_communicator *communicator, int color, int key, mw_communicator **out) {
  mw_communicator *new = make(communicator->device, communicator->driver);
  int code = new->driver->split(communicator->state, color, key, &new->state);
  *out = code == MW_SUCCESS && color >= 0 ? new : NULL;
  if (!*out) end(new);
  return code;
}

void mw_communicator_release(mw_communicator *communicator) {
  if (!communicator) return;
  communicator->driver->close(communicator->state);
  end(communicator);
}

int mw_communicator_rank(mw_communicator *communicator, int *rank, int *size) {
  return communicator->driver->rank(communicator->state, rank, size);
}

int mw_communicator_abort(mw_communicator *communicator, const char *reason) {
  return communicator->driver->abort(communicator->state, reason);
}

void mw_communicator_limit(mw_communicator *communicator, double seconds) {
  communicator->driver->limit(communicator->state, seconds);
}

int mw_communicator_group(mw_device *device, int begins) {
  const mw_driver_collective *driver;
  int code = driver_of(device, &driver);
  return code ? code : driver->group(begins != 0);
}

/* ---- messages ---- */

static char scalar_of(const mw_type *type) {
  switch (type->kind) {
  case MW_TYPE_FLOAT: return type->size == 4 ? 'f' : type->size == 8 ? 'd' : 'h';
  case MW_TYPE_BFLOAT: return 'x';
  case MW_TYPE_INT: return type->size == 1 ? 'b' : type->size == 4 ? 'i' : type->size == 8 ? 'l' : 0;
  case MW_TYPE_UINT: return type->size == 1 ? 'B' : type->size == 4 ? 'I' : type->size == 8 ? 'L' : 0;
  case MW_TYPE_BOOL: return 'B';
  default: return 0;
  }
}

static bool reduces(mw_message_kind kind) {
  return kind == MW_MESSAGE_ALLREDUCE || kind == MW_MESSAGE_REDUCE || kind == MW_MESSAGE_REDUCE_SCATTER;
}

static bool names_a_peer(mw_message_kind kind) {
  return kind == MW_MESSAGE_REDUCE || kind == MW_MESSAGE_BROADCAST || kind == MW_MESSAGE_SEND ||
         kind == MW_MESSAGE_RECEIVE;
}

/* The numbers of a reduction: of complex elements, their parts. */
static int describe_numbers(const mw_type *type, mw_message *message) {
  const mw_type *part = type;
  if (type->kind == MW_TYPE_VECTOR && message->operation == MW_MESSAGE_SUM) {
    part = type->element;
    message->count *= (size_t)type->count;
    message->size = part->size;
  }
  message->scalar = scalar_of(part);
  return message->scalar
             ? MW_SUCCESS
             : fail(MW_NOT_SUPPORTED, "NCCL does not reduce elements of %s this way; convert them first", type->name);
}

static int check_array(const mw_communicator *communicator, const mw_array *array, const char *what) {
  if (!array) return fail(MW_INVALID_VALUE, "%s is missing", what);
  if (array->buffer->device != communicator->device)
    return fail(MW_INVALID_VALUE, "%s is on %s, and the communicator is on %s", what, array->buffer->device->name,
                communicator->device->name);
  return mw_array_check_contiguous(array, what);
}

/* Whether the rank has a source or a target in this kind of message. */
static bool has_source(const mw_message *message, int rank) {
  if (message->kind == MW_MESSAGE_BROADCAST) return message->peer == rank;
  return message->kind != MW_MESSAGE_RECEIVE;
}

static bool has_target(const mw_message *message, int rank) {
  if (message->kind == MW_MESSAGE_REDUCE) return message->peer == rank;
  return message->kind != MW_MESSAGE_SEND;
}

static int check_counts(const mw_message *message, const mw_array *source, const mw_array *target, int size) {
  if (!source || !target) return MW_SUCCESS;
  size_t s = source->count, t = target->count;
  if (source->dtype != target->dtype)
    return fail(MW_INVALID_VALUE, "a message of elements of %s into an array of %s: both arrays need one dtype",
                source->dtype->name, target->dtype->name);
  if (message->kind == MW_MESSAGE_ALLGATHER) s *= (size_t)size;
  if (message->kind == MW_MESSAGE_REDUCE_SCATTER) t *= (size_t)size;
  return s == t
             ? MW_SUCCESS
             : fail(MW_INVALID_VALUE,
                    "the arrays of a message do not fit together: %zu elements are sent and %zu received, by %d ranks",
                    source->count, target->count, size);
}

static int describe(mw_communicator *communicator, mw_array *source, mw_array *target, mw_message *message) {
  int rank, size, code = communicator->driver->rank(communicator->state, &rank, &size);
  if (code == MW_SUCCESS && names_a_peer(message->kind) && (message->peer < 0 || message->peer >= size))
    code = fail(MW_INVALID_VALUE, "rank %d: this communicator has the ranks 0 to %d", message->peer, size - 1);
  bool sends = has_source(message, rank), receives = has_target(message, rank);
  if (code == MW_SUCCESS && sends) code = check_array(communicator, source, "the source of a message");
  if (code == MW_SUCCESS && receives) code = check_array(communicator, target, "the target of a message");
  if (code == MW_SUCCESS && receives) code = mw_array_check_writable(target, "the target of a message");
  if (code == MW_SUCCESS && sends && receives) code = check_counts(message, source, target, size);
  if (code != MW_SUCCESS) return code;
  const mw_array *counted = message->kind == MW_MESSAGE_REDUCE_SCATTER || !sends ? target : source;
  message->count = counted->count;
  message->size = counted->dtype->size;
  message->source = sends ? source->buffer->address + source->offset : 0;
  message->target = receives ? target->buffer->address + target->offset : 0;
  return reduces(message->kind) ? describe_numbers(counted->dtype, message) : MW_SUCCESS;
}

int mw_communicator_queue(mw_communicator *communicator, mw_message_kind kind, mw_array *source, mw_array *target,
                          mw_message_operation operation, int peer, const char *site) {
  mw_message message = {.kind = kind, .operation = operation, .peer = peer, .site = site};
  mw_stream *stream = mw_stream_of(communicator->device);
  if (mw_capture_concerns(stream))
    return fail(MW_NOT_SUPPORTED, "messages cannot be captured into a graph: send them outside of the capture");
  int code = describe(communicator, source, target, &message);
  if (code != MW_SUCCESS) return code;
  message.owner = mw_owner_current();
  mw_command *command = mw_command_new(NULL, 2);
  if (message.source) code = mw_command_use(command, source->buffer);
  if (code == MW_SUCCESS && message.target) code = mw_command_use(command, target->buffer);
  if (code != MW_SUCCESS) {
    mw_command_end(command);
    return code;
  }
  return communicator->driver->queue(communicator->state, stream->state, &message, mw_command_completion(command));
}
