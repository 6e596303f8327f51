/* Arrays: a typed, shaped, contiguous view of a buffer. All that is here speaks of elements and turns them into bytes;
 * the buffer below owns the memory, and freeing one array frees every view of it. */
#include "array.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What goes through the host at once where it cannot reach the memory. */
#define PIECE ((size_t)1 << 20)

/* ---- making ---- */

static void describe_shape(const size_t *shape, int rank, char *text, size_t size) {
  size_t length = 0;
  for (int i = 0; i < rank && length < size; i++)
    length += (size_t)snprintf(text + length, size - length, "%s%zu", i ? "x" : "", shape[i]);
}

/* Fill in dtype, shape, count and bytes. */
static int set_shape(mw_array *array, const mw_type *dtype, int rank, const size_t *shape) {
  if (!dtype || dtype->size == 0)
    return fail(MW_INVALID_VALUE, "an array needs an element type that has a size, not %s",
                dtype ? dtype->name : "none");
  if (rank < 1 || rank > MW_MAX_RANK)
    return fail(MW_INVALID_VALUE, "an array has 1 to %d dimensions, not %d", MW_MAX_RANK, rank);
  size_t bytes = dtype->size;
  bool empty = false, overflow = false;
  for (int i = 0; i < rank; i++) {
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(bytes, shape[i], &bytes);
    array->shape[i] = shape[i];
  }
  if (overflow && !empty) {
    char text[200];
    describe_shape(shape, rank, text, sizeof text);
    return fail(MW_MEMORY_ALLOCATION, "an array of %s %s is more than memory has addresses", text, dtype->name);
  }
  array->dtype = dtype;
  array->rank = rank;
  array->bytes = empty ? 0 : bytes;
  array->count = array->bytes / dtype->size;
  return MW_SUCCESS;
}

int mw_array_new(mw_device *device, const mw_type *dtype, int rank, const size_t *shape, mw_array **out) {
  return mw_array_new_kind(device, MW_MEMORY_DEVICE, dtype, rank, shape, out);
}

int mw_array_new_kind(mw_device *device, mw_memory_kind kind, const mw_type *dtype, int rank, const size_t *shape,
                      mw_array **out) {
  mw_array *array = mw_alloc(sizeof *array);
  mw_refs_init(&array->refs);
  int code = set_shape(array, dtype, rank, shape);
  if (code == MW_SUCCESS) code = mw_buffer_new_kind(device, kind, array->bytes, &array->buffer);
  if (code == MW_SUCCESS)
    *out = array;
  else
    free(array);
  return code;
}

static int check_view(const mw_array *array, size_t offset, const mw_array *view) {
  if (mw_buffer_is_freed(array->buffer)) return fail(MW_INVALID_RESOURCE_HANDLE, "this array was freed");
  if (offset > array->bytes || view->bytes > array->bytes - offset) {
    char text[200];
    describe_shape(view->shape, view->rank, text, sizeof text);
    return fail(MW_INVALID_VALUE,
                "a view of %s %s, %zu bytes from byte %zu on, does not fit in an array of %zu bytes (%zu %s)", text,
                view->dtype->name, view->bytes, offset, array->bytes, array->count, array->dtype->name);
  }
  if (view->bytes > 0 && (array->offset + offset) % view->dtype->align != 0)
    return fail(MW_INVALID_VALUE, "a view as %s cannot begin at byte %zu: its address has to be a multiple of %zu",
                view->dtype->name, offset, view->dtype->align);
  return MW_SUCCESS;
}

int mw_array_view(mw_array *array, size_t offset, const mw_type *dtype, int rank, const size_t *shape, mw_array **out) {
  mw_array *view = mw_alloc(sizeof *view);
  mw_refs_init(&view->refs);
  int code = set_shape(view, dtype, rank, shape);
  if (code == MW_SUCCESS) code = check_view(array, offset, view);
  if (code != MW_SUCCESS) {
    free(view);
    return code;
  }
  view->buffer = mw_buffer_retain(array->buffer);
  view->offset = array->offset + offset;
  *out = view;
  return MW_SUCCESS;
}

int mw_array_over(mw_buffer *buffer, size_t offset, const mw_type *dtype, int rank, const size_t *shape,
                  mw_array **out) {
  mw_array whole = {.buffer = buffer, .dtype = mw_dtype("uchar"), .bytes = buffer->bytes, .count = buffer->bytes};
  return mw_array_view(&whole, offset, dtype, rank, shape, out);
}

mw_array *mw_array_retain(mw_array *array) {
  mw_refs_take(&array->refs);
  return array;
}

void mw_array_release(mw_array *array) {
  if (!array || !mw_refs_drop(&array->refs)) return;
  mw_buffer_release(array->buffer);
  free(array);
}

int mw_array_free(mw_array *array) { return mw_buffer_free(array->buffer); }

/* ---- facts ---- */

mw_buffer *mw_array_buffer(const mw_array *array) { return array->buffer; }
size_t mw_array_offset(const mw_array *array) { return array->offset; }
const mw_type *mw_array_dtype(const mw_array *array) { return array->dtype; }
int mw_array_rank(const mw_array *array) { return array->rank; }
const size_t *mw_array_shape(const mw_array *array) { return array->shape; }
size_t mw_array_count(const mw_array *array) { return array->count; }
size_t mw_array_bytes(const mw_array *array) { return array->bytes; }

int mw_array_check_range(const mw_array *array, size_t first, size_t count, const char *what) {
  if (first <= array->count && count <= array->count - first) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE,
              "%s of %zu elements from element %zu on (counted from 1) goes past the end of an array of %zu", what,
              count, first + 1, array->count);
}

/* ---- bytes ---- */

int mw_array_read(mw_array *array, size_t first, size_t count, void *target) {
  int code = mw_array_check_range(array, first, count, "a read");
  if (code != MW_SUCCESS) return code;
  size_t size = array->dtype->size;
  return mw_buffer_read(array->buffer, array->offset + first * size, target, count * size);
}

int mw_array_write(mw_array *array, size_t first, size_t count, const void *source) {
  int code = mw_array_check_range(array, first, count, "a write");
  if (code != MW_SUCCESS) return code;
  size_t size = array->dtype->size;
  return mw_buffer_write(array->buffer, array->offset + first * size, source, count * size);
}

int mw_array_fill(mw_array *array, const void *element) {
  return mw_buffer_fill(array->buffer, array->offset, element, array->dtype->size, array->count);
}

/* What is queued in `stream` from now on waits for what is in `other` so far. */
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

/* By the driver, in the target's stream: behind what the source's stream has now, and before what it gets later. */
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

/* Between devices: through host memory, piece by piece, where the driver has no other way, or refuses it. */
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

int mw_array_copy(mw_array *target, mw_array *source) {
  const mw_type *wanted = target->dtype, *stored = source->dtype;
  if (target->count != source->count)
    return fail(MW_INVALID_VALUE, "a copy of %zu elements into an array of %zu: the counts have to be equal",
                source->count, target->count);
  if (wanted->size != stored->size || !mw_type_accepts(wanted, stored))
    return fail(MW_INVALID_VALUE, "a copy of %s into an array of %s: the types have to be the same", stored->name,
                wanted->name);
  if (target->buffer->device != source->buffer->device) return copy_across(target, source);
  return mw_buffer_copy(target->buffer, target->offset, source->buffer, source->offset, source->bytes);
}

/* ---- bulk access ---- */

typedef enum access_mode { READ, WRITE } access_mode;

static int pass_pieces(mw_array *array, access_mode mode, size_t first, size_t count, mw_array_pass *pass,
                       void *context) {
  mw_device *device = array->buffer->device;
  size_t size = array->dtype->size, piece = PIECE / size ? PIECE / size : 1;
  uint64_t address = array->buffer->address + array->offset + first * size;
  unsigned char *memory = mw_try_alloc(piece * size, "elements on their way to or from the device");
  if (!memory) return MW_MEMORY_ALLOCATION;
  int code = MW_SUCCESS;
  for (size_t done = 0; done < count && code == MW_SUCCESS; done += piece) {
    size_t now = count - done < piece ? count - done : piece;
    if (mode == READ) code = device->driver->read(device->stream, address + done * size, memory, now * size);
    if (code == MW_SUCCESS) pass(context, memory, now);
    if (mode == WRITE) code = device->driver->write(device->stream, address + done * size, memory, now * size);
  }
  free(memory);
  return code;
}

static int pass_over(mw_array *array, access_mode mode, size_t first, size_t count, mw_array_pass *pass,
                     void *context) {
  mw_buffer *buffer = array->buffer;
  int code = mw_buffer_use(buffer);
  if (code != MW_SUCCESS) return code;
  if (mode == READ)
    code = mw_device_synchronize(buffer->device);
  else
    code = mw_device_wait(buffer->device); /* what a kernel did wrong is no reason not to write */
  if (code == MW_SUCCESS && count > 0) {
    if (buffer->host)
      pass(context, buffer->host + array->offset + first * array->dtype->size, count);
    else
      code = pass_pieces(array, mode, first, count, pass, context);
  }
  mw_buffer_unuse(buffer);
  return code;
}

int mw_array_read_with(mw_array *array, size_t first, size_t count, mw_array_pass *pass, void *context) {
  return pass_over(array, READ, first, count, pass, context);
}

int mw_array_write_with(mw_array *array, size_t first, size_t count, mw_array_pass *pass, void *context) {
  return pass_over(array, WRITE, first, count, pass, context);
}
