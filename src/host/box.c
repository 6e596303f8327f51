/* Copies of boxes where a CUDA array may take part: rows and slices between arrays and memory by address.
 *
 * Copies without an array are the core's copies by address, in a stream. Those with one are mw_copy_box, which waits for
 * the work before it; for memory of the device it wants the buffer, which mw_memory_array finds. A variable of a module is
 * in no such buffer: its bytes take the way over the host's memory. */
#include "host.h"

static int check_kind(int kind) {
  return kind >= 0 && kind <= cudaMemcpyDefault
             ? MW_SUCCESS
             : host_fail(MW_INVALID_MEMCPY_DIRECTION, "%d is no cudaMemcpyKind", kind);
}

static int copy_memory(host_context *context, mw_stream *stream, const host_side *target, const host_side *source,
                       size_t width, size_t height, size_t depth, int kind) {
  const mw_copy copy = {.target = target->address + target->x + (target->y + target->z * target->rows) * target->pitch,
                        .source = source->address + source->x + (source->y + source->z * source->rows) * source->pitch,
                        .target_pitch = target->pitch,
                        .target_rows = target->rows,
                        .source_pitch = source->pitch,
                        .source_rows = source->rows,
                        .width = width,
                        .height = height,
                        .depth = depth,
                        .direction = (mw_direction)kind};
  return host_copy(context, stream, &copy);
}

/* ---- a side as mw_copy_box takes it ---- */

typedef struct side {
  mw_box_side box;
  mw_array *keep; /* of device memory: its buffer's */
  bool apart;     /* device memory in no buffer of its own: box.host is memory of ours in its place */
} side;

static int resolve_memory(host_context *context, const host_side *given, size_t bytes, side *out) {
  mw_memory_info info;
  int code = mw_memory_find(context->device, given->address, &info);
  if (code != MW_SUCCESS) return code;
  if (given->address == 0) return host_fail(MW_INVALID_VALUE, "one side of a copy is the null pointer");
  bool host = info.kind != MW_MEMORY_DEVICE && info.kind != MW_MEMORY_MANAGED && info.kind != MW_MEMORY_PINNED;
  if (!host && mw_memory_array(info.address, mw_dtype("uchar"), 1, &info.bytes, &out->keep) == MW_SUCCESS) {
    out->box.buffer = mw_array_buffer(out->keep);
    out->box.offset = mw_array_offset(out->keep) + (size_t)(given->address - info.address);
  } else if (host) {
    out->box.host = host_pointer(given->address);
  } else {
    out->apart = true;
    out->box = (mw_box_side){.host = malloc(bytes)};
    if (!out->box.host) return host_fail(MW_MEMORY_ALLOCATION, "no memory for a copy of %zu bytes", bytes);
    return MW_SUCCESS;
  }
  out->box.row_pitch = given->pitch;
  out->box.slice_pitch = given->pitch * given->rows;
  return MW_SUCCESS;
}

static int resolve(host_context *context, const host_side *given, size_t bytes, side *out) {
  *out = (side){.box = {.array = given->array, .x = given->x, .y = given->y, .z = given->z}};
  return given->array ? MW_SUCCESS : resolve_memory(context, given, bytes, out);
}

static void let_go(side *s) {
  if (s->apart) free(s->box.host);
  mw_array_release(s->keep);
}

/* Between the memory and ours in its place. */
static int exchange(host_context *context, const host_side *given, side *s, bool back, size_t width, size_t height,
                    size_t depth) {
  const host_side ours = {.address = host_address(s->box.host), .pitch = width, .rows = height};
  return copy_memory(context, NULL, back ? given : &ours, back ? &ours : given, width, height, depth,
                     cudaMemcpyDefault);
}

int host_box_copy(host_context *context, mw_stream *stream, const host_side *target, const host_side *source,
                  size_t width, size_t height, size_t depth, int kind) {
  side to, from;
  size_t bytes;
  int code = check_kind(kind);
  if (code != MW_SUCCESS) return code;
  if (!target->array && !source->array) return copy_memory(context, stream, target, source, width, height, depth, kind);
  if (__builtin_mul_overflow(width, height, &bytes) || __builtin_mul_overflow(bytes, depth, &bytes))
    return host_fail(MW_INVALID_VALUE, "the box of a copy is larger than memory");
  if (stream) code = mw_stream_synchronize(stream);
  if (code != MW_SUCCESS || bytes == 0) return code;
  code = resolve(context, target, bytes, &to);
  if (code == MW_SUCCESS) {
    code = resolve(context, source, bytes, &from);
    if (code == MW_SUCCESS && from.apart) code = exchange(context, source, &from, false, width, height, depth);
    if (code == MW_SUCCESS) code = mw_copy_box(&to.box, &from.box, width, height, depth);
    if (code == MW_SUCCESS && to.apart) code = exchange(context, target, &to, true, width, height, depth);
    let_go(&from);
  }
  let_go(&to);
  return code;
}

/* ---- bytes behind each other in an array: the rest of a row, whole rows, the beginning of one ---- */

static int copy_part(host_context *context, mw_cuda_array *array, size_t x, size_t y, uint64_t memory, size_t width,
                     size_t height, bool to_array) {
  const host_side in = {.array = array, .x = x, .y = y}, out = {.address = memory, .pitch = width, .rows = height};
  return host_box_copy(context, NULL, to_array ? &in : &out, to_array ? &out : &in, width, height, 1,
                       cudaMemcpyDefault);
}

int host_array_line(host_context *context, mw_cuda_array *array, size_t x, size_t y, uint64_t memory, size_t bytes,
                    bool to_array) {
  const mw_cuda_array_desc *desc = mw_cuda_array_describe(array);
  size_t across = desc->width * (size_t)(desc->channels.bits / 8 * desc->channels.count), down = desc->height;
  if (x > across || y > down || bytes > across * down || x + bytes > across * (down - y))
    return host_fail(MW_INVALID_VALUE, "%zu bytes from (%zu, %zu) on leave an array of %zu rows of %zu bytes", bytes, x,
                     y, down, across);
  int code = MW_SUCCESS;
  while (bytes > 0 && code == MW_SUCCESS) {
    bool whole = x == 0 && bytes >= across;
    size_t rows = whole ? bytes / across : 1, width = whole ? across : bytes < across - x ? bytes : across - x;
    if (width > 0) code = copy_part(context, array, x, y, memory, width, rows, to_array);
    memory += width * rows;
    bytes -= width * rows;
    y += rows;
    x = 0;
  }
  return code;
}
