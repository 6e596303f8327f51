/* Copies of arrays: within a device and between devices, contiguous and strided. */
#include "array.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are staged through host memory at a time if the host cannot access device memory. */
#define PIECE ((size_t)1 << 20)

/* Work queued in `stream` from now on waits for the current work of `other`. */
static int wait_in(mw_stream *stream, mw_stream *other) {
  const mw_driver *driver = stream->device->driver;
  void *event;
  int code = driver->event_new(other->device->state, MW_EVENT_DISABLE_TIMING, &event);
  if (code != MW_SUCCESS) return code;
  code = driver->event_record(event, other->state);
  if (code == MW_SUCCESS) code = driver->stream_wait(stream->state, event);
  driver->event_free(event);
  return code;
}

/* Copy by the driver, in the target's stream: after the current work of the source's stream, and before its later
   work. */
static int copy_directly(mw_array *target, mw_array *source, mw_stream *to, mw_stream *from) {
  mw_command *command = mw_command_new(NULL, 2);
  int code = mw_command_use(command, target->buffer);
  if (code == MW_SUCCESS) code = mw_command_use(command, source->buffer);
  if (code == MW_SUCCESS) code = wait_in(to, from);
  const mw_box box = {.target = target->buffer->address + target->offset,
                      .source = source->buffer->address + source->offset,
                      .width = source->bytes,
                      .height = 1,
                      .depth = 1};
  if (code == MW_SUCCESS)
    code = to->device->driver->copy_between(to->state, to->device->state, from->device->state, &box,
                                            mw_command_completion(command));
  if (code == MW_SUCCESS) return wait_in(from, to);
  mw_command_end(command);
  return code;
}

/* Copy between devices: in pieces through host memory if the driver has no direct copy, or refuses it. */
static int copy_across(mw_array *target, mw_array *source) {
  mw_stream *to = mw_stream_of(target->buffer->device), *from = mw_stream_of(source->buffer->device);
  if (to->device->driver == from->device->driver && to->device->driver->copy_between && source->bytes > 0 &&
      !mw_capture_concerns(to) && !mw_capture_concerns(from)) {
    if (copy_directly(target, source, to, from) == MW_SUCCESS) return MW_SUCCESS;
    mw_error_clear();
  }
  size_t size = source->dtype->size, piece = PIECE / size ? PIECE / size : 1;
  void *memory = mw_try_alloc(piece * size, "a copy between devices");
  if (!memory) return MW_MEMORY_ALLOCATION;
  int code = MW_SUCCESS;
  for (size_t first = 0; first < source->count && code == MW_SUCCESS; first += piece) {
    size_t count = source->count - first < piece ? source->count - first : piece;
    code = mw_array_read(source, first, count, memory);
    if (code == MW_SUCCESS) code = mw_array_write(target, first, count, memory);
  }
  free(memory);
  return code;
}

static int copy_packed(mw_array *target, mw_array *source) {
  if (target->buffer->device != source->buffer->device) return copy_across(target, source);
  return mw_buffer_copy(target->buffer, target->offset, source->buffer, source->offset, source->bytes);
}

static bool same_shape(const mw_array *a, const mw_array *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

bool mw_array_overlaps(const mw_array *a, const mw_array *b) {
  size_t low_a, high_a, low_b, high_b;
  if (a->buffer != b->buffer) return false;
  mw_array_reach(a, &low_a, &high_a);
  mw_array_reach(b, &low_b, &high_b);
  return low_a < high_b && low_b < high_a;
}

bool mw_array_is_same_walk(const mw_array *a, const mw_array *b) {
  if (a->buffer != b->buffer || a->offset != b->offset || !same_shape(a, b) || a->dtype->size != b->dtype->size)
    return false;
  for (int d = 0; d < a->rank; d++)
    if (a->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
  return true;
}

/* Copy if one of them is strided: by a kernel on one device; cases that one kernel cannot handle go through a
   contiguous array. */
static int copy_strided(mw_array *target, mw_array *source) {
  bool here = target->buffer->device == source->buffer->device;
  if (here && same_shape(target, source) && !mw_array_overlaps(target, source))
    return mw_array_copy_elements(target, source);
  mw_array *packed = NULL, *shaped = NULL;
  int code;
  if (!here && source->contiguous) {
    code = mw_array_new(target->buffer->device, source->dtype, source->rank, source->shape, &packed);
    if (code == MW_SUCCESS) code = copy_across(packed, source);
  } else {
    code = mw_array_packed(source, &packed);
  }
  if (code == MW_SUCCESS && (target->contiguous || !here)) {
    code = mw_array_copy(target, packed);
  } else if (code == MW_SUCCESS) {
    code = mw_array_view(packed, 0, source->dtype, target->rank, target->shape, &shaped);
    if (code == MW_SUCCESS) code = mw_array_copy_elements(target, shaped);
  }
  mw_array_release(shaped);
  mw_array_release(packed);
  return code;
}

int mw_array_packed(mw_array *array, mw_array **out) {
  mw_array *packed;
  int code = mw_array_new(array->buffer->device, array->dtype, array->rank, array->shape, &packed);
  if (code != MW_SUCCESS) return code;
  code = array->contiguous ? copy_packed(packed, array) : mw_array_copy_elements(packed, array);
  if (code == MW_SUCCESS)
    *out = packed;
  else
    mw_array_release(packed);
  return code;
}

int mw_array_copy(mw_array *target, mw_array *source) {
  const mw_type *wanted = target->dtype, *stored = source->dtype;
  if (target->count != source->count)
    return fail(MW_INVALID_VALUE, "a copy of %zu elements into an array of %zu: the counts have to be equal",
                source->count, target->count);
  if (wanted->size != stored->size || !mw_type_accepts(wanted, stored))
    return fail(MW_INVALID_VALUE, "a copy of %s into an array of %s: the types have to be the same", stored->name,
                wanted->name);
  int code = mw_array_check_writable(target, "what is copied to");
  if (code != MW_SUCCESS || target->count == 0) return code;
  return target->contiguous && source->contiguous ? copy_packed(target, source) : copy_strided(target, source);
}
