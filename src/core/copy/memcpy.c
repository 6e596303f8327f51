/* Copies and fills by address: checked against the memory at the address, then passed to the driver as a box. CUDA
 * arrays are translated to addresses, except the driver's own. */
#include "core/memory/allocation_map.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"
#include "core/graph/graph.h"
#include "core/texture/texture.h"

/* ---- checks ---- */

/* One side of a transfer. */
typedef struct side {
  const char *name;
  uint64_t address;
  size_t pitch, rows;
  mw_piece piece;
  const mw_array_place *place; /* in a CUDA array, or NULL */
} side;

/* The number of bytes from the first accessed one to the last. False on overflow. */
static bool reach(const side *s, size_t width, size_t height, size_t depth, size_t *out) {
  size_t slices, rows;
  return !__builtin_mul_overflow(s->pitch, s->rows, &slices) && !__builtin_mul_overflow(slices, depth - 1, &slices) &&
         !__builtin_mul_overflow(s->pitch, height - 1, &rows) && !__builtin_add_overflow(slices, rows, out) &&
         !__builtin_add_overflow(*out, width, out);
}

/* Complete the pitches of a single row or slice, and refuse rows and slices that overlap. */
static int check_pitch(side *s, size_t width, size_t height, size_t depth, const mw_device *device) {
  if (height == 1 && depth == 1 && s->pitch < width) s->pitch = width;
  if (depth == 1 && s->rows < height) s->rows = height;
  if (s->pitch < width)
    return fail(MW_INVALID_PITCH_VALUE, "rows of %zu bytes overlap at the %s, where they are %zu bytes apart", width,
                s->name, s->pitch);
  if (s->rows < height)
    return fail(MW_INVALID_VALUE, "slices of %zu rows overlap at the %s, where they are %zu rows apart", height,
                s->name, s->rows);
  if (height > 1 && s->pitch > device->properties.memory_pitch)
    return fail(MW_INVALID_PITCH_VALUE, "a pitch of %zu bytes at the %s: %s has %zu at most", s->pitch, s->name,
                device->name, device->properties.memory_pitch);
  return MW_SUCCESS;
}

static int check_range(side *s, size_t bytes, bool foreign, mw_device *device) {
  mw_piece_hold(device, s->address, &s->piece);
  const mw_memory_info *info = &s->piece.info;
  if (s->address == 0) return fail(MW_INVALID_VALUE, "the %s is the null pointer", s->name);
  if (info->kind == MW_MEMORY_UNKNOWN) {
    bool reserved = device->driver->reserves && device->driver->reserves(device->state, s->address);
    if (foreign && !reserved) return MW_SUCCESS;
    return fail(MW_INVALID_VALUE, "the %s, 0x%llx, is not in allocated memory", s->name,
                (unsigned long long)s->address);
  }
  uint64_t left = info->address + info->bytes - s->address;
  if (bytes <= left) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%zu bytes are more than the %s has: it ends %llu bytes after the address", bytes,
              s->name, (unsigned long long)left);
}

/* A box in a CUDA array: found, checked and held. */
static int hold_array(side *s, const mw_copy *copy, mw_device *device) {
  mw_buffer *buffer = s->place->array->buffer;
  if (buffer->device != device)
    return fail(MW_INVALID_VALUE, "the %s is a CUDA array on %s, and the copy is one of %s", s->name,
                buffer->device->name, device->name);
  int code = mw_box_locate(s->place, s->name, copy->width, copy->height, copy->depth, &s->address, &s->pitch, &s->rows);
  if (code == MW_SUCCESS) code = mw_buffer_use(buffer);
  if (code != MW_SUCCESS) return code;
  s->piece.buffer = buffer;
  s->piece.info = (mw_memory_info){MW_MEMORY_DEVICE, buffer->address, buffer->bytes, 0, device};
  return MW_SUCCESS;
}

static int hold_memory(side *s, const mw_copy *copy, mw_device *device) {
  size_t bytes = 0;
  int code = check_pitch(s, copy->width, copy->height, copy->depth, device);
  if (code == MW_SUCCESS && !reach(s, copy->width, copy->height, copy->depth, &bytes))
    code = fail(MW_INVALID_VALUE, "the copy is larger than the address space");
  return code == MW_SUCCESS ? check_range(s, bytes, copy->foreign, device) : code;
}

static bool is_device(const side *s) {
  return s->piece.info.kind == MW_MEMORY_DEVICE || s->piece.info.kind == MW_MEMORY_MANAGED;
}

static bool is_host(const side *s) { return s->piece.info.kind != MW_MEMORY_DEVICE; }

static int check_direction(mw_direction direction, const side *target, const side *source) {
  if ((unsigned)direction > MW_ANY_DIRECTION)
    return fail(MW_INVALID_MEMCPY_DIRECTION, "%d is not a direction of a copy; directions are 0 to %d", (int)direction,
                MW_ANY_DIRECTION);
  if (direction == MW_ANY_DIRECTION) return MW_SUCCESS;
  static const char *const names[] = {"host to host", "host to device", "device to host", "device to device"};
  bool from_device = direction & MW_DEVICE_TO_HOST, to_device = direction & MW_HOST_TO_DEVICE;
  const side *wrong = !(from_device ? is_device(source) : is_host(source)) ? source
                      : !(to_device ? is_device(target) : is_host(target)) ? target
                                                                           : NULL;
  /* Pinned memory has one address on host and device, so it suits any direction. */
  if (!wrong || wrong->piece.info.kind == MW_MEMORY_PINNED) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "a copy from %s, and the %s is memory of the %s", names[direction], wrong->name,
              is_device(wrong) ? "device" : "host");
}

/* ---- handing over ---- */

static bool pageable(const side *s) {
  return s->piece.info.kind == MW_MEMORY_UNKNOWN || s->piece.info.kind == MW_MEMORY_HOST;
}

static mw_command *command_for(side *a, side *b) {
  mw_command *command = mw_command_new(NULL, 2);
  if (a->piece.buffer) (void)mw_command_use(command, a->piece.buffer);
  if (b && b->piece.buffer) (void)mw_command_use(command, b->piece.buffer);
  return command;
}

static int finish(mw_stream *stream, int code, bool wait) {
  return code == MW_SUCCESS && wait ? mw_stream_synchronize(stream) : code;
}

static bool is_native(const side *s) { return s->place && s->place->array->native; }

static mw_array_side native_side(const side *s) {
  if (!is_native(s)) return (mw_array_side){.address = s->address, .row_pitch = s->pitch, .rows = s->rows};
  const mw_array_place *at = s->place;
  return (mw_array_side){.array = at->array->buffer->address,
                         .level = (int)(at->array->first + at->level),
                         .x = at->x,
                         .y = at->y,
                         .z = at->z};
}

static int hand_over_native(mw_stream *stream, const mw_copy *copy, side *target, side *source) {
  const mw_array_box box = {native_side(target), native_side(source), copy->width, copy->height, copy->depth};
  mw_command *command = command_for(target, source);
  int code = stream->device->driver->array_copy(stream->state, &box, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}

/* A copy between two devices: the driver needs both. */
static bool lie_apart(const side *target, const side *source) {
  const mw_memory_info *to = &target->piece.info, *from = &source->piece.info;
  return to->kind == MW_MEMORY_DEVICE && from->kind == MW_MEMORY_DEVICE && to->device != from->device &&
         to->device->driver == from->device->driver && to->device->driver->copy_between;
}

static int hand_over_copy(mw_stream *stream, const mw_copy *copy, side *target, side *source) {
  if (is_native(target) || is_native(source)) return hand_over_native(stream, copy, target, source);
  const mw_driver *driver = stream->device->driver;
  mw_box box = {.target = target->address,
                .source = source->address,
                .target_pitch = target->pitch,
                .target_slice = target->pitch * target->rows,
                .source_pitch = source->pitch,
                .source_slice = source->pitch * source->rows,
                .width = copy->width,
                .height = copy->height,
                .depth = copy->depth};
  bool rows_touch = (box.height == 1 || (box.target_pitch == box.width && box.source_pitch == box.width));
  bool slices_touch = box.depth == 1 || (rows_touch && box.target_slice == box.width * box.height &&
                                         box.source_slice == box.width * box.height);
  mw_command *command = command_for(target, source);
  if (rows_touch && slices_touch) {
    box.width *= box.height * box.depth;
    box.height = box.depth = 1;
  }
  mw_completion completion = mw_command_completion(command);
  int code = lie_apart(target, source) ? driver->copy_between(stream->state, target->piece.info.device->state,
                                                              source->piece.info.device->state, &box, completion)
             : box.height == 1 && box.depth == 1
                 ? driver->copy(stream->state, box.target, box.source, box.width, completion)
                 : driver->copy_box(stream->state, &box, completion);
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}

/* ---- boxes of one CUDA array ---- */

static bool meet(size_t a, size_t b, size_t length) { return a < b + length && b < a + length; }

static bool overlap(const mw_copy *copy) {
  const mw_array_place *a = &copy->target_in, *b = &copy->source_in;
  return a->array && b->array && a->array->buffer == b->array->buffer &&
         a->array->first + a->level == b->array->first + b->level && meet(a->x, b->x, copy->width) &&
         meet(a->y, b->y, copy->height) && meet(a->z, b->z, copy->depth);
}

/* Copy through host memory, waiting. */
static int copy_overlapping(mw_stream *stream, const mw_copy *copy) {
  const mw_array_place *to = &copy->target_in, *from = &copy->source_in;
  const mw_box_side target = {.array = to->array, .level = to->level, .x = to->x, .y = to->y, .z = to->z};
  const mw_box_side source = {.array = from->array, .level = from->level, .x = from->x, .y = from->y, .z = from->z};
  int code = mw_stream_synchronize(stream);
  return code ? code : mw_copy_box(&target, &source, copy->width, copy->height, copy->depth);
}

static int capture_copy(mw_stream *stream, const mw_copy *copy) {
  mw_work work = {.kind = MW_WORK_COPY, .copy = *copy};
  int code = mw_capture_check(stream);
  if (code == MW_SUCCESS && overlap(copy))
    code = fail(MW_INVALID_VALUE,
                "the regions of one CUDA array overlap: such a copy waits for the device, so it cannot be captured");
  if (code != MW_SUCCESS) return code;
  if (copy->target_in.array) mw_cuda_array_retain(copy->target_in.array);
  if (copy->source_in.array) mw_cuda_array_retain(copy->source_in.array);
  return mw_capture_add(stream, &work);
}

/* ---- copies ---- */

/* The sides of a copy that is not empty, with their memory held: the caller must drop it even after a failure. */
static int check_copy(mw_device *device, const mw_copy *copy, side *target, side *source) {
  *target = (side){.name = "target",
                   .address = copy->target,
                   .pitch = copy->target_pitch,
                   .rows = copy->target_rows,
                   .place = copy->target_in.array ? &copy->target_in : NULL};
  *source = (side){.name = "source",
                   .address = copy->source,
                   .pitch = copy->source_pitch,
                   .rows = copy->source_rows,
                   .place = copy->source_in.array ? &copy->source_in : NULL};
  side *const sides[] = {target, source};
  int code = MW_SUCCESS;
  for (int i = 0; i < 2 && code == MW_SUCCESS; i++)
    code = sides[i]->place ? hold_array(sides[i], copy, device) : hold_memory(sides[i], copy, device);
  return code ? code : check_direction(copy->direction, target, source);
}

int mw_memory_copy(mw_device *device, mw_stream *stream, const mw_copy *copy) {
  if (copy->width == 0 || copy->height == 0 || copy->depth == 0) return MW_SUCCESS;
  side target, source;
  int code = check_copy(device, copy, &target, &source);
  mw_stream *where = stream ? stream : &device->legacy;
  if (code == MW_SUCCESS && mw_capture_concerns(where)) {
    code = capture_copy(where, copy);
  } else if (code == MW_SUCCESS && overlap(copy)) {
    code = copy_overlapping(where, copy);
  } else if (code == MW_SUCCESS) {
    bool wait = !stream || pageable(&target) || pageable(&source);
    code = finish(where, hand_over_copy(where, copy, &target, &source), wait);
  }
  mw_piece_drop(&target.piece);
  mw_piece_drop(&source.piece);
  return code;
}

static bool is_pageable(mw_device *device, const mw_array_place *place, uint64_t address) {
  side s = {.name = ""};
  if (place->array) return false;
  mw_memory_find(device, address, &s.piece.info);
  return pageable(&s);
}

int mw_memory_copy_waits(mw_device *device, const mw_copy *copy) {
  return overlap(copy) || is_pageable(device, &copy->target_in, copy->target) ||
         is_pageable(device, &copy->source_in, copy->source);
}

/* The same of a fill; *width: bytes of a row. */
static int check_fill(mw_device *device, const mw_fill *fill, side *target, size_t *width) {
  size_t bytes = 0;
  *target = (side){.name = "target", .address = fill->target, .pitch = fill->pitch, .rows = fill->rows};
  if (__builtin_mul_overflow(fill->width, fill->size, width))
    return fail(MW_INVALID_VALUE, "the fill is larger than the address space");
  int code = check_pitch(target, *width, fill->height, fill->depth, device);
  if (code == MW_SUCCESS && !reach(target, *width, fill->height, fill->depth, &bytes))
    code = fail(MW_INVALID_VALUE, "the fill is larger than the address space");
  if (code == MW_SUCCESS && fill->target % fill->size != 0)
    code = fail(MW_INVALID_VALUE, "a fill of elements of %zu bytes needs an address that is a multiple of their size",
                fill->size);
  return code ? code : check_range(target, bytes, fill->foreign, device);
}

int mw_memory_fill(mw_device *device, mw_stream *stream, const mw_fill *fill) {
  size_t width;
  if (fill->size != 1 && fill->size != 2 && fill->size != 4)
    return fail(MW_INVALID_VALUE, "a fill with elements of %zu bytes: they have 1, 2 or 4", fill->size);
  if (fill->width == 0 || fill->height == 0 || fill->depth == 0) return MW_SUCCESS;
  side target;
  int code = check_fill(device, fill, &target, &width);
  mw_stream *where = stream ? stream : &device->legacy;
  if (code == MW_SUCCESS && mw_capture_concerns(where)) {
    const mw_work work = {.kind = MW_WORK_FILL, .fill = *fill};
    code = mw_capture_check(where);
    if (code == MW_SUCCESS) code = mw_capture_add(where, &work);
  } else if (code == MW_SUCCESS) {
    mw_box box = {.target = fill->target,
                  .target_pitch = target.pitch,
                  .target_slice = target.pitch * target.rows,
                  .width = width,
                  .height = fill->height,
                  .depth = fill->depth};
    mw_command *command = command_for(&target, NULL);
    code =
        where->device->driver->fill_box(where->state, &box, &fill->value, fill->size, mw_command_completion(command));
    if (code != MW_SUCCESS) mw_command_end(command);
    code = finish(where, code, !stream || pageable(&target));
  }
  mw_piece_drop(&target.piece);
  return code;
}

/* ---- for lists ---- */

/* Whether rows and slices are contiguous; the pitches are complete. */
static bool is_flat(const side *s, size_t width, size_t height, size_t depth) {
  return (height == 1 && depth == 1) || (s->pitch == width && (depth == 1 || s->rows == height));
}

/* A reference to the buffer that contains the piece, or NULL. */
static mw_buffer *keep(const mw_device *device, const side *s) {
  if (!s->piece.buffer || s->piece.buffer->device != device || pageable(s)) return NULL;
  return mw_memory_buffer(s->address);
}

bool mw_copy_flat(mw_device *device, const mw_copy *copy, mw_buffer *buffers[2]) {
  side target, source;
  buffers[0] = buffers[1] = NULL;
  if (copy->width == 0 || copy->height == 0 || copy->depth == 0) return false;
  if (copy->target_in.array || copy->source_in.array) return false;
  if (check_copy(device, copy, &target, &source) == MW_SUCCESS &&
      is_flat(&target, copy->width, copy->height, copy->depth) &&
      is_flat(&source, copy->width, copy->height, copy->depth)) {
    buffers[0] = keep(device, &target);
    buffers[1] = keep(device, &source);
  }
  mw_piece_drop(&target.piece);
  mw_piece_drop(&source.piece);
  if (buffers[0] && buffers[1]) return true;
  mw_buffer_release(buffers[0]);
  mw_buffer_release(buffers[1]);
  return false;
}

bool mw_fill_flat(mw_device *device, const mw_fill *fill, mw_buffer **buffer) {
  side target;
  size_t width;
  *buffer = NULL;
  if (fill->width == 0 || fill->height == 0 || fill->depth == 0) return false;
  if (check_fill(device, fill, &target, &width) == MW_SUCCESS && is_flat(&target, width, fill->height, fill->depth))
    *buffer = keep(device, &target);
  mw_piece_drop(&target.piece);
  return *buffer != NULL;
}
