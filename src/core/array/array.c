/* Arrays: typed, shaped views of a buffer. The functions here take elements and translate them to bytes. The buffer
 * owns the memory, and freeing one array frees every view of it. */
#include "array.h"
#include "core/failure.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are staged through host memory at a time if the host cannot access device memory. */
#define PIECE ((size_t)1 << 20)
/* Rows without elements that are listed: they have no memory that would bound them. */
#define MOST_EMPTY_ROWS (1 << 20)

/* ---- making ---- */

static void describe_shape(const size_t *shape, int rank, char *text, size_t size) {
  size_t length = 0;
  for (int i = 0; i < rank && length < size; i++)
    length += (size_t)snprintf(text + length, size - length, "%s%zu", i ? "x" : "", shape[i]);
}

void mw_array_set_row_order(mw_array *array) {
  int64_t stride = (int64_t)array->dtype->size;
  for (int i = array->rank - 1; i >= 0; i--) {
    array->strides[i] = stride;
    stride *= (int64_t)array->shape[i];
  }
  array->contiguous = true;
}

/* Set dtype, shape, count and bytes, and row-major strides. */
int mw_array_set_shape(mw_array *array, const mw_type *dtype, int rank, const size_t *shape) {
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
    return fail(MW_MEMORY_ALLOCATION, "an array of %s %s is larger than the address space", text, dtype->name);
  }
  array->dtype = dtype;
  array->rank = rank;
  array->bytes = empty ? 0 : bytes;
  array->count = array->bytes / dtype->size;
  mw_array_set_row_order(array);
  return MW_SUCCESS;
}

int mw_array_new(mw_device *device, const mw_type *dtype, int rank, const size_t *shape, mw_array **out) {
  return mw_array_new_kind(device, MW_MEMORY_DEVICE, dtype, rank, shape, out);
}

int mw_array_new_kind(mw_device *device, mw_memory_kind kind, const mw_type *dtype, int rank, const size_t *shape,
                      mw_array **out) {
  mw_array *array = mw_alloc(sizeof *array);
  mw_refs_init(&array->refs);
  int code = mw_array_set_shape(array, dtype, rank, shape);
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
  int code = mw_array_set_shape(view, dtype, rank, shape);
  if (code == MW_SUCCESS) code = mw_array_check_contiguous(array, "what the view is of");
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
  mw_array whole = {
      .buffer = buffer, .dtype = mw_dtype("uchar"), .bytes = buffer->bytes, .count = buffer->bytes, .contiguous = true};
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
int mw_array_use(mw_array *array) { return mw_buffer_use(array->buffer); }
void mw_array_unuse(mw_array *array) { mw_buffer_unuse(array->buffer); }

/* ---- facts ---- */

mw_buffer *mw_array_buffer(const mw_array *array) { return array->buffer; }
size_t mw_array_offset(const mw_array *array) { return array->offset; }
const mw_type *mw_array_dtype(const mw_array *array) { return array->dtype; }
int mw_array_rank(const mw_array *array) { return array->rank; }
const size_t *mw_array_shape(const mw_array *array) { return array->shape; }
const int64_t *mw_array_strides(const mw_array *array) { return array->strides; }

int mw_array_check_rows(const mw_array *array, const char *what) {
  size_t rows = 1;
  for (int i = 0; i < array->rank - 1 && array->shape[i] && array->count == 0; i++) {
    if (!__builtin_mul_overflow(rows, array->shape[i], &rows) && rows <= MOST_EMPTY_ROWS) continue;
    char text[200];
    describe_shape(array->shape, array->rank, text, sizeof text);
    return fail(MW_INVALID_VALUE, "%s: an array of %s %s has no elements, and more than %d rows of none to list", what,
                text, array->dtype->name, MOST_EMPTY_ROWS);
  }
  return MW_SUCCESS;
}
int mw_array_is_contiguous(const mw_array *array) { return array->contiguous; }
int mw_array_is_read_only(const mw_array *array) { return array->read_only; }
size_t mw_array_count(const mw_array *array) { return array->count; }
size_t mw_array_bytes(const mw_array *array) { return array->bytes; }

int mw_array_check_range(const mw_array *array, size_t first, size_t count, const char *what) {
  if (first <= array->count && count <= array->count - first) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE,
              "%s of %zu elements from element %zu on (counted from 1) goes past the end of an array of %zu", what,
              count, first + 1, array->count);
}

/* ---- bytes ---- */

/* Read elements of a strided array in row-major order: a few in place, more through a contiguous copy. */
static int read_strided(mw_array *array, size_t first, size_t count, void *target) {
  size_t size = array->dtype->size;
  if (mw_array_is_walked(array, count)) return mw_array_walk(array, first, count, target, true);
  if (count == 1) return mw_buffer_read(array->buffer, mw_array_element(array, first), target, size);
  mw_array *packed;
  int code = mw_array_packed(array, &packed);
  if (code != MW_SUCCESS) return code;
  code = mw_array_read(packed, first, count, target);
  mw_array_release(packed);
  return code;
}

static int write_strided(mw_array *array, size_t first, size_t count, const void *source) {
  size_t size = array->dtype->size;
  if (mw_array_is_walked(array, count)) return mw_array_walk(array, first, count, (void *)(uintptr_t)source, false);
  if (count == 1) return mw_buffer_write(array->buffer, mw_array_element(array, first), source, size);
  mw_array *packed;
  int code = mw_array_packed(array, &packed);
  if (code != MW_SUCCESS) return code;
  code = mw_array_write(packed, first, count, source);
  if (code == MW_SUCCESS) code = mw_array_copy(array, packed);
  mw_array_release(packed);
  return code;
}

int mw_array_read(mw_array *array, size_t first, size_t count, void *target) {
  int code = mw_array_check_range(array, first, count, "a read");
  if (code != MW_SUCCESS) return code;
  if (!array->contiguous) return read_strided(array, first, count, target);
  size_t size = array->dtype->size;
  return mw_buffer_read(array->buffer, array->offset + first * size, target, count * size);
}

/* Whether nothing but a ticket says that a kernel of the device is done: other streams, captures and checked runs have
   to know of waits. */
static bool may_poll(const mw_array *array, const mw_array *flag) {
  mw_device *device = array->buffer->device;
  bool has_others = atomic_load_explicit(&device->stream_count, memory_order_acquire) > 0 || mw_stream_in_function() ||
                    atomic_load(&device->captures) > 0 || atomic_load(&device->checking) > 0;
  bool is_there = array->buffer->host && flag->buffer->host && array->count == 1 && flag->count == 1 &&
                  !mw_buffer_is_freed(array->buffer) && !mw_buffer_is_freed(flag->buffer) &&
                  array->buffer->epoch == atomic_load(&device->epoch);
  return !has_others && is_there && device->driver->take_failures;
}

int mw_array_poll(mw_array *array, mw_array *flag, unsigned ticket, void *target) {
  mw_device *device = array->buffer->device;
  if (!may_poll(array, flag)) return MW_NOT_READY;
  const atomic_uint *at = (const atomic_uint *)(const void *)(flag->buffer->host + flag->offset);
  double end = mw_time() + 30e-6;
  while (atomic_load_explicit(at, memory_order_acquire) != ticket)
    if (mw_time() > end) return MW_NOT_READY;
  device->driver->take_failures(device->state);
  int code = mw_failure_raise(device, NULL, mw_owner_current());
  if (code == MW_SUCCESS) memcpy(target, array->buffer->host + array->offset, array->dtype->size);
  return code;
}

int mw_array_write(mw_array *array, size_t first, size_t count, const void *source) {
  int code = mw_array_check_range(array, first, count, "a write");
  if (code == MW_SUCCESS) code = mw_array_check_writable(array, "what is written to");
  if (code != MW_SUCCESS) return code;
  if (!array->contiguous) return write_strided(array, first, count, source);
  size_t size = array->dtype->size;
  return mw_buffer_write(array->buffer, array->offset + first * size, source, count * size);
}

/* A strided array is filled by a copy of one element, repeated. */
static int fill_strided(mw_array *array, const void *element) {
  const size_t one = 1;
  const int64_t still[MW_MAX_RANK] = {0};
  mw_array *single, *repeated = NULL;
  int code = mw_array_new(array->buffer->device, array->dtype, 1, &one, &single);
  if (code != MW_SUCCESS) return code;
  code = mw_array_fill(single, element);
  if (code == MW_SUCCESS) code = mw_array_view_strided(single, 0, NULL, array->rank, array->shape, still, &repeated);
  if (code == MW_SUCCESS) code = mw_array_copy(array, repeated);
  mw_array_release(repeated);
  mw_array_release(single);
  return code;
}

int mw_array_fill(mw_array *array, const void *element) {
  int code = mw_array_check_writable(array, "what is filled");
  if (code != MW_SUCCESS || array->count == 0) return code;
  if (!array->contiguous) return fill_strided(array, element);
  return mw_buffer_fill(array->buffer, array->offset, element, array->dtype->size, array->count);
}

/* ---- bulk access ---- */

typedef enum access_mode { READ, WRITE } access_mode;

static int pass_pieces(mw_array *array, access_mode mode, size_t first, size_t count, mw_array_pass *pass,
                       void *context) {
  mw_device *device = array->buffer->device;
  size_t size = array->dtype->size, piece = PIECE / size ? PIECE / size : 1;
  if (piece > count) piece = count ? count : 1;
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

static int pass_in_place(mw_array *array, access_mode mode, size_t first, size_t count, mw_array_pass *pass,
                         void *context) {
  mw_buffer *buffer = array->buffer;
  int code = mw_buffer_use(buffer);
  if (code != MW_SUCCESS) return code;
  if (mode == READ)
    code = mw_device_synchronize(buffer->device);
  else
    code = mw_device_wait(buffer->device); /* a kernel's failure does not prevent the write */
  size_t at = array->offset + first * array->dtype->size;
  if (code == MW_SUCCESS && count > 0) {
    if (buffer->host && mode == WRITE) mw_buffer_wrote(buffer, at, count * array->dtype->size);
    if (buffer->host)
      pass(context, buffer->host + at, count);
    else
      code = pass_pieces(array, mode, first, count, pass, context);
  }
  mw_buffer_unuse(buffer);
  return code;
}

static int pass_over(mw_array *array, access_mode mode, size_t first, size_t count, mw_array_pass *pass,
                     void *context) {
  mw_array *packed;
  int code = mode == WRITE ? mw_array_check_writable(array, "what is written to") : MW_SUCCESS;
  if (code != MW_SUCCESS || array->contiguous)
    return code ? code : pass_in_place(array, mode, first, count, pass, context);
  code = mw_array_packed(array, &packed);
  if (code != MW_SUCCESS) return code;
  code = pass_in_place(packed, mode, first, count, pass, context);
  if (code == MW_SUCCESS && mode == WRITE) code = mw_array_copy(array, packed);
  mw_array_release(packed);
  return code;
}

int mw_array_read_with(mw_array *array, size_t first, size_t count, mw_array_pass *pass, void *context) {
  return pass_over(array, READ, first, count, pass, context);
}

int mw_array_write_with(mw_array *array, size_t first, size_t count, mw_array_pass *pass, void *context) {
  return pass_over(array, WRITE, first, count, pass, context);
}
