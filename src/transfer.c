/* Copies and fills by address: checked against the memory that lies there, then handed to the driver as a box. */
#include "memory.h"
#include "capture.h"
#include "command.h"
#include "graph.h"

/* ---- checks ---- */

/* One side of a transfer. */
typedef struct side {
  const char *name;
  uint64_t address;
  size_t pitch, rows;
  mw_piece piece;
} side;

/* Bytes from the first one that is touched to the last. False where that cannot be counted. */
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
    return fail(MW_INVALID_VALUE, "the %s, 0x%llx, is no memory that is allocated", s->name,
                (unsigned long long)s->address);
  }
  uint64_t left = info->address + info->bytes - s->address;
  if (bytes <= left) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%zu bytes are more than the %s has: it ends %llu bytes behind the address", bytes,
              s->name, (unsigned long long)left);
}

static bool is_device(const side *s) {
  return s->piece.info.kind == MW_MEMORY_DEVICE || s->piece.info.kind == MW_MEMORY_MANAGED;
}

static bool is_host(const side *s) { return s->piece.info.kind != MW_MEMORY_DEVICE; }

static int check_direction(mw_direction direction, const side *target, const side *source) {
  if ((unsigned)direction > MW_ANY_DIRECTION)
    return fail(MW_INVALID_MEMCPY_DIRECTION, "%d is no direction of a copy: they are 0 to %d", (int)direction,
                MW_ANY_DIRECTION);
  if (direction == MW_ANY_DIRECTION) return MW_SUCCESS;
  static const char *const names[] = {"host to host", "host to device", "device to host", "device to device"};
  bool from_device = direction & MW_DEVICE_TO_HOST, to_device = direction & MW_HOST_TO_DEVICE;
  const side *wrong = !(from_device ? is_device(source) : is_host(source)) ? source
                      : !(to_device ? is_device(target) : is_host(target)) ? target
                                                                           : NULL;
  /* Pinned memory is reached from both sides at one address. */
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

static int hand_over_copy(mw_stream *stream, const mw_copy *copy, side *target, side *source) {
  const mw_driver *driver = stream->device->driver;
  mw_box box = {.target = copy->target,
                .source = copy->source,
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
  int code = rows_touch && slices_touch
                 ? driver->copy(stream->state, box.target, box.source, box.width * box.height * box.depth,
                                mw_command_completion(command))
                 : driver->copy_box(stream->state, &box, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}

int mw_memory_copy(mw_device *device, mw_stream *stream, const mw_copy *copy) {
  if (copy->width == 0 || copy->height == 0 || copy->depth == 0) return MW_SUCCESS;
  side target = {"target", copy->target, copy->target_pitch, copy->target_rows, {{0}, NULL}};
  side source = {"source", copy->source, copy->source_pitch, copy->source_rows, {{0}, NULL}};
  side *const sides[] = {&target, &source};
  int code = MW_SUCCESS;
  for (int i = 0; i < 2 && code == MW_SUCCESS; i++) {
    size_t bytes = 0;
    code = check_pitch(sides[i], copy->width, copy->height, copy->depth, device);
    if (code == MW_SUCCESS && !reach(sides[i], copy->width, copy->height, copy->depth, &bytes))
      code = fail(MW_INVALID_VALUE, "the copy is more than memory has addresses");
    if (code == MW_SUCCESS) code = check_range(sides[i], bytes, copy->foreign, device);
  }
  if (code == MW_SUCCESS) code = check_direction(copy->direction, &target, &source);
  mw_stream *where = stream ? stream : &device->legacy;
  if (code == MW_SUCCESS && mw_capture_concerns(where)) {
    const mw_work work = {.kind = MW_WORK_COPY, .copy = *copy};
    code = mw_capture_check(where);
    if (code == MW_SUCCESS) code = mw_capture_add(where, &work);
    goto done;
  }
  bool wait = !stream || pageable(&target) || pageable(&source);
  if (code == MW_SUCCESS) code = finish(where, hand_over_copy(where, copy, &target, &source), wait);
done:
  mw_piece_drop(&target.piece);
  mw_piece_drop(&source.piece);
  return code;
}

int mw_memory_fill(mw_device *device, mw_stream *stream, const mw_fill *fill) {
  size_t width, bytes = 0;
  if (fill->size != 1 && fill->size != 2 && fill->size != 4)
    return fail(MW_INVALID_VALUE, "a fill with elements of %zu bytes: they have 1, 2 or 4", fill->size);
  if (fill->width == 0 || fill->height == 0 || fill->depth == 0) return MW_SUCCESS;
  side target = {"target", fill->target, fill->pitch, fill->rows, {{0}, NULL}};
  if (__builtin_mul_overflow(fill->width, fill->size, &width))
    return fail(MW_INVALID_VALUE, "the fill is more than memory has addresses");
  int code = check_pitch(&target, width, fill->height, fill->depth, device);
  if (code == MW_SUCCESS && !reach(&target, width, fill->height, fill->depth, &bytes))
    code = fail(MW_INVALID_VALUE, "the fill is more than memory has addresses");
  if (code == MW_SUCCESS && fill->target % fill->size != 0)
    code =
        fail(MW_INVALID_VALUE, "a fill of elements of %zu bytes at an address that is no multiple of it", fill->size);
  if (code == MW_SUCCESS) code = check_range(&target, bytes, fill->foreign, device);
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
