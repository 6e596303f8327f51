/* Arrays: a typed, shaped view of a buffer. All that is here speaks of elements and turns them into bytes; the buffer
 * below owns the memory, and freeing one array frees every view of it. */
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

static void set_row_order(mw_array *array) {
  int64_t stride = (int64_t)array->dtype->size;
  for (int i = array->rank - 1; i >= 0; i--) {
    array->strides[i] = stride;
    stride *= (int64_t)array->shape[i];
  }
  array->contiguous = true;
}

/* Fill in dtype, shape, count and bytes, and the strides of row order. */
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
  set_row_order(array);
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

/* ---- views with strides ---- */

/* Whether the strides are those of row order; how far a dimension of one element would go does not matter. */
static bool is_row_order(const mw_array *array) {
  int64_t stride = (int64_t)array->dtype->size;
  for (int i = array->rank - 1; i >= 0; i--) {
    if (array->shape[i] != 1 && array->strides[i] != stride) return false;
    stride *= (int64_t)array->shape[i];
  }
  return true;
}

/* The bytes before and after the first element that the others reach, the first one's size aside. False where it is more than
   memory has addresses. */
static bool reach_of(const mw_array *array, int64_t *before, int64_t *after) {
  *before = *after = 0;
  for (int i = 0; i < array->rank; i++) {
    int64_t far, *side = array->strides[i] < 0 ? before : after;
    if (__builtin_mul_overflow((int64_t)array->shape[i] - 1, array->strides[i], &far) ||
        __builtin_add_overflow(*side, far, side))
      return false;
  }
  return true;
}

void mw_array_reach(const mw_array *array, size_t *low, size_t *high) {
  int64_t before = 0, after = 0;
  *low = *high = array->offset;
  if (array->count == 0) return;
  reach_of(array, &before, &after); /* was in range when the array was made */
  *low = (size_t)((int64_t)array->offset + before);
  *high = (size_t)((int64_t)array->offset + after) + array->dtype->size;
}

size_t mw_array_element(const mw_array *array, size_t place) {
  if (array->contiguous) return array->offset + place * array->dtype->size;
  int64_t at = (int64_t)array->offset;
  for (int i = array->rank - 1; i >= 0; i--) {
    at += (int64_t)(place % array->shape[i]) * array->strides[i];
    place /= array->shape[i];
  }
  return (size_t)at;
}

static bool is_aligned(const mw_array *view) {
  uint64_t bits = view->offset;
  for (int i = 0; i < view->rank; i++)
    if (view->shape[i] > 1) bits |= (uint64_t)view->strides[i];
  return bits % view->dtype->align == 0;
}

/* Whether no two elements share a byte, by a sufficient condition: each stride exceeds what the smaller ones reach. */
static bool has_repeats(const mw_array *view) {
  bool used[MW_MAX_RANK] = {false};
  int64_t reach = (int64_t)view->dtype->size;
  for (int round = 0; round < view->rank; round++) {
    int least = -1;
    for (int i = 0; i < view->rank; i++)
      if (!used[i] && (least < 0 || llabs(view->strides[i]) < llabs(view->strides[least]))) least = i;
    used[least] = true;
    if (view->shape[least] <= 1) continue;
    if (llabs(view->strides[least]) < reach) return true;
    reach += ((int64_t)view->shape[least] - 1) * llabs(view->strides[least]);
  }
  return false;
}

int mw_array_view_strided(mw_array *array, int64_t offset, const mw_type *dtype, int rank, const size_t *shape,
                          const int64_t *strides, mw_array **out) {
  mw_array view = {0};
  int64_t before, after, first;
  int code = set_shape(&view, dtype ? dtype : array->dtype, rank, shape);
  if (code != MW_SUCCESS) return code;
  if (mw_buffer_is_freed(array->buffer)) return fail(MW_INVALID_RESOURCE_HANDLE, "this array was freed");
  memcpy(view.strides, strides, (size_t)rank * sizeof *strides);
  bool inside = !__builtin_add_overflow((int64_t)array->offset, offset, &first);
  if (view.count == 0) {
    view.offset = array->offset;
    set_row_order(&view);
  } else {
    size_t low, high;
    mw_array_reach(array, &low, &high);
    inside = inside && reach_of(&view, &before, &after) && !__builtin_add_overflow(first, before, &before) &&
             !__builtin_add_overflow(first, after, &after) && before >= (int64_t)low &&
             after + (int64_t)view.dtype->size <= (int64_t)high;
    if (!inside)
      return fail(MW_INVALID_VALUE, "a view with these strides leaves the array it is of (%zu %s)", array->count,
                  array->dtype->name);
    view.offset = (size_t)first;
    view.contiguous = is_row_order(&view);
    if (!is_aligned(&view))
      return fail(MW_INVALID_VALUE, "a view as %s cannot have these strides: addresses have to be multiples of %zu",
                  view.dtype->name, view.dtype->align);
    view.read_only = array->read_only || (!view.contiguous && has_repeats(&view));
  }
  mw_refs_init(&view.refs);
  view.buffer = mw_buffer_retain(array->buffer);
  *out = mw_alloc(sizeof view);
  **out = view;
  return MW_SUCCESS;
}

int mw_array_row(mw_array *array, size_t i, mw_array **out) {
  if (array->rank < 2) return fail(MW_INVALID_VALUE, "an array of one dimension has elements, not rows");
  if (i >= array->shape[0])
    return fail(MW_INVALID_VALUE, "row %zu (counted from 1) is outside 1..%zu", i + 1, array->shape[0]);
  return mw_array_view_strided(array, (int64_t)i * array->strides[0], NULL, array->rank - 1, array->shape + 1,
                               array->strides + 1, out);
}

int mw_array_check_contiguous(const mw_array *array, const char *what) {
  if (array->contiguous) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%s is a strided view, and needs to be one piece of memory: write a:contiguous()",
              what);
}

int mw_array_check_writable(const mw_array *array, const char *what) {
  if (!array->read_only) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE,
              "%s is a broadcast view, whose elements share memory: it can be read only; write into a:copy()", what);
}

int mw_array_view(mw_array *array, size_t offset, const mw_type *dtype, int rank, const size_t *shape, mw_array **out) {
  mw_array *view = mw_alloc(sizeof *view);
  mw_refs_init(&view->refs);
  int code = set_shape(view, dtype, rank, shape);
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

/* ---- facts ---- */

mw_buffer *mw_array_buffer(const mw_array *array) { return array->buffer; }
size_t mw_array_offset(const mw_array *array) { return array->offset; }
const mw_type *mw_array_dtype(const mw_array *array) { return array->dtype; }
int mw_array_rank(const mw_array *array) { return array->rank; }
const size_t *mw_array_shape(const mw_array *array) { return array->shape; }
const int64_t *mw_array_strides(const mw_array *array) { return array->strides; }
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

/* Elements of a strided array in row order: one at its place, several through an array that is contiguous. */
static int read_strided(mw_array *array, size_t first, size_t count, void *target) {
  size_t size = array->dtype->size;
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

static int copy_packed(mw_array *target, mw_array *source) {
  if (target->buffer->device != source->buffer->device) return copy_across(target, source);
  return mw_buffer_copy(target->buffer, target->offset, source->buffer, source->offset, source->bytes);
}

static bool same_shape(const mw_array *a, const mw_array *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

bool mw_array_overlaps(const mw_array *a, const mw_array *b) {
  size_t low_a, high_a, low_b, high_b;
  mw_array_reach(a, &low_a, &high_a);
  mw_array_reach(b, &low_b, &high_b);
  return a->buffer == b->buffer && low_a < high_b && low_b < high_a;
}

bool mw_array_is_same_walk(const mw_array *a, const mw_array *b) {
  if (a->buffer != b->buffer || a->offset != b->offset || !same_shape(a, b) || a->dtype->size != b->dtype->size)
    return false;
  for (int d = 0; d < a->rank; d++)
    if (a->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
  return true;
}

/* Where one of them is strided: elements by a kernel on one device; what a kernel cannot do at once goes through an array that
   is contiguous. */
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

static int pass_in_place(mw_array *array, access_mode mode, size_t first, size_t count, mw_array_pass *pass,
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
