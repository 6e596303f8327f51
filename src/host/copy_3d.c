/* Copies of boxes between CUDA arrays and memory, in a stream. */
#include "host.h"

static int check_kind(int kind) {
  return kind >= 0 && kind <= cudaMemcpyDefault
             ? MW_SUCCESS
             : host_fail(MW_INVALID_MEMCPY_DIRECTION, "%d is no cudaMemcpyKind", kind);
}

static uint64_t address_of(const host_side *s) {
  return s->array ? 0 : s->address + s->x + (s->y + s->z * s->rows) * s->pitch;
}

static mw_array_place place_of(const host_side *s) {
  return s->array ? (mw_array_place){.array = s->array, .x = s->x, .y = s->y, .z = s->z} : (mw_array_place){0};
}

int host_box_copy(host_context *context, mw_stream *stream, const host_side *target, const host_side *source,
                  size_t width, size_t height, size_t depth, int kind) {
  const mw_copy copy = {.target = address_of(target),
                        .source = address_of(source),
                        .target_in = place_of(target),
                        .source_in = place_of(source),
                        .target_pitch = target->pitch,
                        .target_rows = target->rows,
                        .source_pitch = source->pitch,
                        .source_rows = source->rows,
                        .width = width,
                        .height = height,
                        .depth = depth,
                        .direction = (mw_direction)kind};
  int code = check_kind(kind);
  return code ? code : host_copy(context, stream, &copy);
}

/* ---- consecutive bytes of an array: the rest of a row, whole rows, the beginning of one ---- */

static int copy_part(host_context *context, mw_stream *stream, mw_cuda_array *array, size_t x, size_t y,
                     uint64_t memory, size_t width, size_t height, bool to_array) {
  const host_side in = {.array = array, .x = x, .y = y}, out = {.address = memory, .pitch = width, .rows = height};
  return host_box_copy(context, stream, to_array ? &in : &out, to_array ? &out : &in, width, height, 1,
                       cudaMemcpyDefault);
}

int host_array_line(host_context *context, mw_stream *stream, mw_cuda_array *array, size_t x, size_t y, uint64_t memory,
                    size_t bytes, bool to_array) {
  const mw_cuda_array_desc *desc = mw_cuda_array_describe(array);
  size_t across = desc->width * (size_t)(desc->channels.bits / 8 * desc->channels.count), down = desc->height;
  if (x > across || y > down || bytes > across * down || x + bytes > across * (down - y))
    return host_fail(MW_INVALID_VALUE, "%zu bytes from (%zu, %zu) on leave an array of %zu rows of %zu bytes", bytes, x,
                     y, down, across);
  int code = MW_SUCCESS;
  while (bytes > 0 && code == MW_SUCCESS) {
    bool whole = x == 0 && bytes >= across;
    size_t rows = whole ? bytes / across : 1, width = whole ? across : bytes < across - x ? bytes : across - x;
    if (width > 0) code = copy_part(context, stream, array, x, y, memory, width, rows, to_array);
    memory += width * rows;
    bytes -= width * rows;
    y += rows;
    x = 0;
  }
  return code;
}
