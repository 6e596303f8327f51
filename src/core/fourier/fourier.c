/* Fourier transforms of arrays by a library: checks, and the description for the driver. */
#include "fourier.h"
#include "core/array/array.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"

#include <limits.h>
#include <string.h>

static int no_library(const mw_device *device) {
  return fail(MW_NOT_SUPPORTED, "%s has no library for Fourier transforms", device->name);
}

int mw_fourier_library(mw_device *device, char *text, size_t size) {
  const mw_driver_fourier *fourier = device->driver->fourier;
  mw_text out = {0};
  if (!fourier) return no_library(device);
  int code = fourier->name(device->state, &out);
  if (code == MW_SUCCESS && size > 0) {
    size_t length = out.length < size ? out.length : size - 1;
    memcpy(text, out.data ? out.data : "", length);
    text[length] = '\0';
  }
  mw_text_free(&out);
  return code;
}

/* Whether an array has contiguous numbers of the side of a transform: complex ones, or real ones of the same width. */
static bool is_side(const mw_array *array, bool is_complex, bool is_double) {
  const mw_type *type = array->dtype, *part = mw_type_is_complex(type) ? type->element : type;
  return array->contiguous && (type != part) == is_complex && part->kind == MW_TYPE_FLOAT &&
         part->size == (is_double ? 8 : 4);
}

/* Memory that makes the transform faster; NULL if there is none. */
static mw_buffer *room_for(mw_device *device, const mw_transform *transform) {
  const mw_driver_fourier *fourier = device->driver->fourier;
  size_t bytes = fourier->room ? fourier->room(device->state, transform) : 0;
  mw_buffer *room = NULL;
  if (bytes && mw_buffer_new(device, bytes, &room) != MW_SUCCESS) mw_error_clear();
  return room;
}

/* Queue the transform of arrays that were checked. */
static int queue(mw_stream *stream, mw_array *x, mw_array *y, mw_transform *transform) {
  mw_command *command = mw_command_new(NULL, 3);
  mw_buffer *room = room_for(stream->device, transform);
  transform->from = x->buffer->address + x->offset;
  transform->to = y->buffer->address + y->offset;
  transform->room = room ? room->address : 0;
  int code = mw_command_use(command, x->buffer);
  if (code == MW_SUCCESS) code = mw_command_use(command, y->buffer);
  if (code == MW_SUCCESS && room) code = mw_command_use(command, room);
  if (code == MW_SUCCESS)
    code = stream->device->driver->fourier->transform(stream->state, transform, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  mw_buffer_release(room);
  return code;
}

/* The same, of a copy of x: the library overwrites what it transforms. */
static int queue_copy(mw_stream *stream, mw_array *x, mw_array *y, mw_transform *transform) {
  mw_array *copy = NULL;
  int code = mw_array_new(stream->device, x->dtype, x->rank, x->shape, &copy);
  if (code == MW_SUCCESS) code = mw_array_copy(copy, x);
  if (code == MW_SUCCESS) code = queue(stream, copy, y, transform);
  mw_array_release(copy);
  return code;
}

int mw_array_fourier(mw_array *x, mw_array *y, mw_fourier_kind kind, size_t n, size_t inner) {
  bool from_real = kind == MW_FOURIER_REAL, to_real = kind == MW_FOURIER_REAL_INVERSE;
  size_t in = to_real ? n / 2 + 1 : n, out = from_real ? n / 2 + 1 : n;
  if (n == 0 || inner == 0 || n > INT_MAX || inner > INT_MAX)
    return fail(MW_NOT_SUPPORTED, "libraries transform 1 to 2^31 - 1 numbers");
  size_t outer = x->count / in / inner;
  const mw_type *complex = from_real ? y->dtype : x->dtype;
  mw_transform transform = {.kind = kind, .is_double = complex->size == 16, .outer = outer, .n = n, .inner = inner};
  if (!is_side(x, !from_real, transform.is_double) || !is_side(y, !to_real, transform.is_double))
    return fail(MW_INVALID_VALUE,
                "a transform needs contiguous arrays of complex numbers, or of real numbers of the same width");
  if (x->count != outer * in * inner || y->count != outer * out * inner)
    return fail(MW_INVALID_VALUE, "the sizes of a transform's arrays do not fit together");
  mw_stream *stream = mw_stream_of(x->buffer->device);
  if (x->buffer->device != y->buffer->device)
    return fail(MW_INVALID_VALUE, "both arrays of a transform have to be on one device");
  if (mw_array_overlaps(x, y)) return fail(MW_INVALID_VALUE, "a transform by a library cannot write into its input");
  int code = mw_array_check_writable(y, "the result of a transform");
  if (code != MW_SUCCESS) return code;
  if (mw_capture_concerns(stream))
    return fail(MW_NOT_SUPPORTED, "transforms by a library cannot be captured into a graph");
  if (!stream->device->driver->fourier) return no_library(stream->device);
  if (outer == 0) return MW_SUCCESS;
  bool is_lost = to_real && stream->device->driver->fourier->inverse_overwrites;
  return is_lost ? queue_copy(stream, x, y, &transform) : queue(stream, x, y, &transform);
}
