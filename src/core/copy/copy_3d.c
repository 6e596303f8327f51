/* Copies of boxes: rows and slices between host memory, buffers and CUDA arrays, in every direction.
 *
 * Each side is first normalised to an address with pitches, checked against the memory that contains it. A copy within
 * the device then is a command of a stream. A copy that involves the host, or whose sides may overlap, waits for
 * earlier work and copies rows, several at a time if they are contiguous on both sides. */
#include "core/graph/capture.h"
#include "core/launch/command.h"
#include "core/graph/graph.h"
#include "core/texture/texture.h"

#include <stdlib.h>
#include <string.h>

typedef struct box {
  size_t width, height, depth; /* bytes, rows, slices */
} box;

typedef struct side {
  const char *name;    /* "source" */
  unsigned char *host; /* the host's address of `at` 0 if the host can access the memory; else NULL */
  mw_buffer *buffer;   /* NULL: host memory */
  size_t at;           /* the box's first byte */
  size_t row_pitch, slice_pitch;
  bool native; /* the driver's own CUDA array, which only the driver can access */
  const mw_box_side *given;
} side;

/* ---- checking ---- */

static int check_pitch(const side *s, const mw_box_side *given, const box *b) {
  if (s->row_pitch < b->width && (b->height > 1 || b->depth > 1))
    return fail(MW_INVALID_PITCH_VALUE, "a copy of rows of %zu bytes, and the rows of its %s are %zu bytes apart",
                b->width, s->name, given->row_pitch);
  if (s->slice_pitch < (b->height - 1) * s->row_pitch + b->width && b->depth > 1)
    return fail(MW_INVALID_PITCH_VALUE,
                "a copy of slices of %zu rows, and the slices of its %s are %zu bytes apart, the rows %zu", b->height,
                s->name, given->slice_pitch, s->row_pitch);
  return MW_SUCCESS;
}

/* *out = a * b + c; false on overflow. */
static bool add_product(size_t a, size_t b, size_t c, size_t *out) {
  size_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, c, out);
}

static int resolve_memory(const mw_box_side *given, const box *b, side *s) {
  s->row_pitch = given->row_pitch ? given->row_pitch : b->width;
  s->slice_pitch = given->slice_pitch ? given->slice_pitch : s->row_pitch * b->height;
  int code = check_pitch(s, given, b);
  if (code != MW_SUCCESS) return code;
  s->buffer = given->buffer;
  s->host = given->buffer ? given->buffer->host : given->host;
  size_t end;
  if (!add_product(given->y, s->row_pitch, given->offset, &s->at) ||
      !add_product(given->z, s->slice_pitch, s->at, &s->at) || !add_product(1, given->x, s->at, &s->at) ||
      !add_product(b->depth - 1, s->slice_pitch, s->at, &end) || !add_product(b->height - 1, s->row_pitch, end, &end) ||
      !add_product(1, b->width, end, &end))
    return fail(MW_INVALID_VALUE, "the region of a copy is larger than the address space");
  if (given->buffer && end > given->buffer->bytes)
    return fail(MW_INVALID_VALUE, "a copy ends at byte %zu of its %s, which is %zu bytes of memory", end, s->name,
                given->buffer->bytes);
  return MW_SUCCESS;
}

static int check_axis(const side *s, const char *axis, size_t from, size_t count, size_t size) {
  if (from <= size && count <= size - from) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "a copy of %zu from %s = %zu on goes past the end of its %s, a CUDA array of %zu there",
              count, axis, from, s->name, size);
}

static int resolve_array(const mw_box_side *given, const box *b, side *s) {
  const mw_cuda_array *array = given->array;
  size_t texel = mw_channels_bytes(&array->desc.channels), extent[3];
  int code = mw_cuda_array_extent(array, given->level, extent);
  if (code != MW_SUCCESS) return code;
  if (given->x % texel || b->width % texel)
    return fail(MW_INVALID_VALUE, "a copy of %zu bytes from byte %zu on cuts texels of its %s, which have %zu bytes",
                b->width, given->x, s->name, texel);
  code = check_axis(s, "x", given->x / texel, b->width / texel, extent[0]);
  if (code == MW_SUCCESS) code = check_axis(s, "y", given->y, b->height, extent[1]);
  if (code == MW_SUCCESS) code = check_axis(s, "z", given->z, b->depth, extent[2]);
  if (code != MW_SUCCESS) return code;
  const mw_tex_level *level = &array->levels[given->level];
  s->row_pitch = level->row_pitch;
  s->slice_pitch = level->slice_pitch;
  s->buffer = array->buffer;
  s->native = array->native;
  s->host = array->buffer->host;
  s->at = level->base + given->z * level->slice_pitch + given->y * level->row_pitch + given->x;
  return MW_SUCCESS;
}

int mw_box_locate(const mw_array_place *place, const char *name, size_t width, size_t height, size_t depth,
                  uint64_t *address, size_t *pitch, size_t *rows) {
  const mw_box_side given = {.array = place->array, .level = place->level, .x = place->x, .y = place->y, .z = place->z};
  side s = {.name = name};
  int code = resolve_array(&given, &(box){width, height, depth}, &s);
  if (code != MW_SUCCESS) return code;
  *address = s.buffer->address + s.at;
  *pitch = s.row_pitch;
  *rows = s.slice_pitch / s.row_pitch;
  return MW_SUCCESS;
}

static int resolve(const mw_box_side *given, const box *b, const char *name, side *s) {
  *s = (side){.name = name, .given = given};
  if ((given->host != NULL) + (given->buffer != NULL) + (given->array != NULL) != 1)
    return fail(MW_INVALID_VALUE, "the %s of a copy is host memory, a buffer or a CUDA array: one of the three", name);
  return given->array ? resolve_array(given, b, s) : resolve_memory(given, b, s);
}

/* ---- copying ---- */

static bool is_in_one_piece(const side *s, const box *b) {
  return s->row_pitch == b->width && (b->depth == 1 || s->slice_pitch == b->width * b->height);
}

static size_t row_at(const side *s, size_t y, size_t z) { return s->at + z * s->slice_pitch + y * s->row_pitch; }

static int read_row(const side *s, size_t at, unsigned char *out, size_t bytes) {
  if (s->host) {
    memcpy(out, s->host + at, bytes);
    return MW_SUCCESS;
  }
  mw_device *device = s->buffer->device;
  return device->driver->read(device->stream, s->buffer->address + at, out, bytes);
}

static int write_row(const side *s, size_t at, const unsigned char *in, size_t bytes) {
  if (s->host) {
    memcpy(s->host + at, in, bytes);
    if (s->buffer) mw_buffer_wrote(s->buffer, at, bytes);
    return MW_SUCCESS;
  }
  mw_device *device = s->buffer->device;
  return device->driver->write(device->stream, s->buffer->address + at, in, bytes);
}

static int copy_row(const side *target, size_t to, const side *source, size_t from, size_t bytes) {
  if (target->host && target->buffer) mw_buffer_wrote(target->buffer, to, bytes);
  if (target->host) return read_row(source, from, target->host + to, bytes);
  if (source->host) return write_row(target, to, source->host + from, bytes);
  unsigned char *row = mw_try_alloc(bytes, "a row between two devices");
  if (!row) return MW_MEMORY_ALLOCATION;
  int code = read_row(source, from, row, bytes);
  if (code == MW_SUCCESS) code = write_row(target, to, row, bytes);
  free(row);
  return code;
}

static int copy_rows(const side *target, const side *source, const box *b) {
  if (is_in_one_piece(target, b) && is_in_one_piece(source, b))
    return copy_row(target, target->at, source, source->at, b->width * b->height * b->depth);
  int code = MW_SUCCESS;
  for (size_t z = 0; z < b->depth && code == MW_SUCCESS; z++)
    for (size_t y = 0; y < b->height && code == MW_SUCCESS; y++)
      code = copy_row(target, row_at(target, y, z), source, row_at(source, y, z), b->width);
  return code;
}

static size_t span(const side *s, const box *b) { return row_at(s, b->height - 1, b->depth - 1) + b->width - s->at; }

static bool are_apart(const side *target, const side *source, const box *b) {
  return !target->buffer || target->buffer != source->buffer || target->at + span(target, b) <= source->at ||
         source->at + span(source, b) <= target->at;
}

/* Sides that may overlap are copied through a temporary buffer, with the semantics of memmove. */
static int copy_apart(const side *target, const side *source, const box *b) {
  if (are_apart(target, source, b)) return copy_rows(target, source, b);
  side between = {.host = mw_try_alloc(b->width * b->height * b->depth, "a copy"), .row_pitch = b->width};
  if (!between.host) return MW_MEMORY_ALLOCATION;
  between.slice_pitch = b->width * b->height;
  int code = copy_rows(&between, source, b);
  if (code == MW_SUCCESS) code = copy_rows(target, &between, b);
  free(between.host);
  return code;
}

/* ---- with the driver's own arrays ---- */

static mw_array_side describe_side(const side *s, const box *b) {
  const mw_box_side *given = s->given;
  if (s->native)
    return (mw_array_side){.array = s->buffer->address,
                           .level = (int)(given->array->first + given->level),
                           .x = given->x,
                           .y = given->y,
                           .z = given->z};
  size_t rows = b->depth > 1 ? s->slice_pitch / s->row_pitch : b->height;
  return (mw_array_side){
      .address = (s->buffer ? s->buffer->address : (uint64_t)(uintptr_t)s->host) + s->at,
      .row_pitch = s->row_pitch,
      .rows = rows,
  };
}

static int hand_over(mw_device *device, const mw_array_box *part) {
  mw_command *command = mw_command_new(NULL, 1);
  int code = device->driver->array_copy(device->stream, part, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}

/* Whether slices are a whole number of rows apart, which the driver needs for copies with its arrays. */
static bool has_whole_slices(const side *s, const box *b) {
  return b->depth == 1 || s->native || s->slice_pitch % s->row_pitch == 0;
}

/* Copies slice by slice if slices are not a whole number of rows apart. Overlapping boxes of one array are copied
   through host memory. */
static int copy_native(mw_device *device, const side *target, const side *source, const box *b) {
  mw_array_box whole = {.width = b->width, .height = b->height, .depth = b->depth};
  if (target->native && source->native && target->buffer == source->buffer) {
    side between = {.host = malloc(b->width * b->height * b->depth), .row_pitch = b->width};
    if (!between.host)
      return fail(MW_MEMORY_ALLOCATION, "no memory for a copy of %zu bytes", b->width * b->height * b->depth);
    between.slice_pitch = b->width * b->height;
    int code = copy_native(device, &between, source, b);
    if (code == MW_SUCCESS) code = copy_native(device, target, &between, b);
    free(between.host);
    return code;
  }
  whole.target = describe_side(target, b);
  whole.source = describe_side(source, b);
  size_t step = has_whole_slices(target, b) && has_whole_slices(source, b) ? b->depth : 1;
  int code = MW_SUCCESS;
  whole.depth = step;
  for (size_t z = 0; z < b->depth && code == MW_SUCCESS; z += step) {
    code = hand_over(device, &whole);
    whole.target.z++, whole.source.z++;
    whole.target.address += target->slice_pitch;
    whole.source.address += source->slice_pitch;
  }
  return code == MW_SUCCESS ? mw_stream_synchronize(&device->legacy) : code;
}

/* ---- the whole ---- */

static int check_device(const side *target, const side *source, mw_device **device) {
  *device = target->buffer ? target->buffer->device : source->buffer ? source->buffer->device : NULL;
  if (!*device)
    return fail(MW_INVALID_VALUE, "a copy between two places of host memory: one side has to be on a device");
  if (source->buffer && source->buffer->device != *device)
    return fail(MW_INVALID_VALUE, "a copy of memory from %s to %s: both have to be on one device",
                source->buffer->device->name, (*device)->name);
  return MW_SUCCESS;
}

static int copy_now(mw_device *device, const side *to, const side *from, const box *b) {
  int code = to->buffer ? mw_buffer_use(to->buffer) : MW_SUCCESS;
  if (code != MW_SUCCESS) return code;
  if (from->buffer) code = mw_buffer_use(from->buffer);
  if (code == MW_SUCCESS) {
    /* The host must not receive the results of a failed kernel unnoticed. */
    if (to->buffer)
      mw_device_wait(device);
    else
      code = mw_device_synchronize(device);
    if (code == MW_SUCCESS)
      code = to->native || from->native ? copy_native(device, to, from, b) : copy_apart(to, from, b);
    if (from->buffer) mw_buffer_unuse(from->buffer);
  }
  if (to->buffer) mw_buffer_unuse(to->buffer);
  return code;
}

/* ---- in a stream ---- */

static bool can_be_queued(const side *to, const side *from, const box *b) {
  if (!to->buffer || !from->buffer) return false;
  if (!to->native && !from->native) return are_apart(to, from, b);
  return to->buffer != from->buffer && has_whole_slices(to, b) && has_whole_slices(from, b);
}

static int hand_to(mw_stream *stream, const side *to, const side *from, const box *b, mw_completion completion) {
  const mw_driver *driver = stream->device->driver;
  if (to->native || from->native) {
    const mw_array_box whole = {describe_side(to, b), describe_side(from, b), b->width, b->height, b->depth};
    return driver->array_copy(stream->state, &whole, completion);
  }
  const mw_box whole = {.target = to->buffer->address + to->at,
                        .source = from->buffer->address + from->at,
                        .target_pitch = to->row_pitch,
                        .target_slice = to->slice_pitch,
                        .source_pitch = from->row_pitch,
                        .source_slice = from->slice_pitch,
                        .width = b->width,
                        .height = b->height,
                        .depth = b->depth};
  if (is_in_one_piece(to, b) && is_in_one_piece(from, b))
    return driver->copy(stream->state, whole.target, whole.source, b->width * b->height * b->depth, completion);
  return driver->copy_box(stream->state, &whole, completion);
}

static int queue(mw_stream *stream, const side *to, const side *from, const box *b) {
  mw_command *command = mw_command_new(NULL, 2);
  int code = mw_command_use(command, to->buffer);
  if (code == MW_SUCCESS) code = mw_command_use(command, from->buffer);
  if (code == MW_SUCCESS) code = hand_to(stream, to, from, b, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}

static int capture(mw_stream *stream, const side *to, const side *from, const box *b) {
  int code = mw_capture_check(stream);
  if (code != MW_SUCCESS) return code;
  if (!can_be_queued(to, from, b))
    return fail(MW_INVALID_VALUE, "a copy of a region within one allocation waits for the device, so it cannot be "
                                  "captured: copy through another array");
  mw_work work = {.kind = MW_WORK_BOX,
                  .copy = {.width = b->width, .height = b->height, .depth = b->depth},
                  .to = *to->given,
                  .from = *from->given};
  if (work.to.buffer) work.target = mw_buffer_retain(work.to.buffer);
  if (work.from.buffer) work.source = mw_buffer_retain(work.from.buffer);
  if (work.to.array) work.copy.target_in.array = mw_cuda_array_retain(work.to.array);
  if (work.from.array) work.copy.source_in.array = mw_cuda_array_retain(work.from.array);
  return mw_capture_add(stream, &work);
}

typedef struct copy {
  box b;
  side to, from;
  mw_device *device;
} copy;

static int check(const mw_box_side *target, const mw_box_side *source, copy *c) {
  int code = resolve(source, &c->b, "source", &c->from);
  if (code == MW_SUCCESS) code = resolve(target, &c->b, "target", &c->to);
  return code ? code : check_device(&c->to, &c->from, &c->device);
}

static bool is_nothing(const box *b) { return b->width == 0 || b->height == 0 || b->depth == 0; }

int mw_copy_box(const mw_box_side *target, const mw_box_side *source, size_t width, size_t height, size_t depth) {
  copy c = {.b = {width, height, depth}};
  if (is_nothing(&c.b)) return MW_SUCCESS;
  int code = check(target, source, &c);
  return code ? code : copy_now(c.device, &c.to, &c.from, &c.b);
}

/* stream: NULL for the calling thread's. */
int mw_copy_box_in(mw_stream *stream, const mw_box_side *target, const mw_box_side *source, size_t width, size_t height,
                   size_t depth) {
  copy c = {.b = {width, height, depth}};
  if (is_nothing(&c.b)) return MW_SUCCESS;
  int code = check(target, source, &c);
  if (code != MW_SUCCESS) return code;
  if (!stream) stream = mw_stream_of(c.device);
  if (c.to.buffer && c.from.buffer && mw_capture_concerns(stream)) return capture(stream, &c.to, &c.from, &c.b);
  bool queued = can_be_queued(&c.to, &c.from, &c.b);
  return queued ? queue(stream, &c.to, &c.from, &c.b) : copy_now(c.device, &c.to, &c.from, &c.b);
}

int mw_copy_box_queued(const mw_box_side *target, const mw_box_side *source, size_t width, size_t height,
                       size_t depth) {
  return mw_copy_box_in(NULL, target, source, width, height, depth);
}
