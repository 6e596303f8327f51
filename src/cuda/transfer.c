/* Copies and fills in streams. Addresses may be the host's own: with CUDA's unified addresses cuMemcpyAsync
 * distinguishes them by itself. */
#include "cuda/cuda.h"
#include "cuda/check/check.h"

#include <stdlib.h>
#include <string.h>

/* Bytes from which a copy is staged through pinned memory; the longest pattern that is filled column by column. */
enum { STAGED = 256 << 10, SMALL = 64 };

static int begin(cuda_stream *stream) {
  int code = cuda_stream_enter(stream);
  if (code == MW_SUCCESS) cuda_stream_inherit_holds(stream);
  return code;
}

static int end(cuda_stream *stream, CUresult result, const char *what, const mw_completion *completion) {
  int code = cuda_outcome(stream->device, result, what);
  if (code == MW_SUCCESS) cuda_stream_queued(stream, completion);
  return code;
}

/* A copy to overlapping memory is made through a temporary. */
static CUresult copy_overlapping(cuda_stream *stream, uint64_t target, uint64_t source, size_t bytes) {
  CUdeviceptr between;
  CUresult result = cu.cuStreamSynchronize(stream->device->side);
  if (result == 0) result = cuda_heap_unrecorded(stream->device, bytes, &between);
  if (result != 0) return result;
  result = cu.cuMemcpyAsync(between, source, bytes, stream->handle);
  if (result == 0) result = cu.cuMemcpyAsync(target, between, bytes, stream->handle);
  CUresult waited = cu.cuStreamSynchronize(stream->handle);
  cu.cuMemFree(between);
  return result ? result : waited;
}

int cuda_copy(void *handle, uint64_t target, uint64_t source, size_t bytes, mw_completion completion) {
  cuda_stream *stream = handle;
  bool overlap = target < source + bytes && source < target + bytes;
  int code = begin(stream);
  if (code != MW_SUCCESS) return code;
  CUresult result = target == source ? 0
                    : overlap        ? copy_overlapping(stream, target, source, bytes)
                                     : cu.cuMemcpyAsync(target, source, bytes, stream->handle);
  cuda_check_wrote(stream->device, stream->handle, target, bytes);
  cuda_check_command(stream, source, bytes, false);
  cuda_check_command(stream, target, bytes, true);
  return end(stream, result, "a copy", &completion);
}

/* ---- fills ---- */

/* Fills `count` times `size` bytes with one command. False if the pattern does not repeat every 1, 2 or 4 bytes. */
static bool fill_by_word(cuda_stream *stream, uint64_t target, const unsigned char *pattern, size_t size, size_t count,
                         CUresult *result) {
  static const size_t widths[] = {1, 2, 4};
  for (size_t i = 0; i < MW_COUNT(widths); i++) {
    size_t width = widths[i];
    if (size % width || target % width || (size > width && memcmp(pattern, pattern + width, size - width) != 0))
      continue;
    uint32_t word = 0;
    memcpy(&word, pattern, width);
    size_t words = size / width * count;
    *result = width == 1   ? cu.cuMemsetD8Async(target, (unsigned char)word, words, stream->handle)
              : width == 2 ? cu.cuMemsetD16Async(target, (unsigned short)word, words, stream->handle)
                           : cu.cuMemsetD32Async(target, word, words, stream->handle);
    return true;
  }
  return false;
}

/* Any other pattern: columns of 4, 2 or 1 bytes, each a fill of a box that is one word wide. */
static CUresult fill_by_column(cuda_stream *stream, uint64_t target, const unsigned char *pattern, size_t size,
                               size_t count) {
  size_t width = size % 4 == 0 && target % 4 == 0 ? 4 : size % 2 == 0 && target % 2 == 0 ? 2 : 1;
  for (size_t at = 0; at < size; at += width) {
    uint32_t word = 0;
    memcpy(&word, pattern + at, width);
    CUresult result = width == 4 ? cu.cuMemsetD2D32Async(target + at, size, word, 1, count, stream->handle)
                      : width == 2
                          ? cu.cuMemsetD2D16Async(target + at, size, (unsigned short)word, 1, count, stream->handle)
                          : cu.cuMemsetD2D8Async(target + at, size, (unsigned char)word, 1, count, stream->handle);
    if (result != 0) return result;
  }
  return 0;
}

/* A long pattern, or a few copies of one: a copy, which reads its source before it returns. */
static CUresult fill_once(cuda_stream *stream, uint64_t target, const void *pattern, size_t bytes) {
  return cu.cuMemcpyHtoDAsync(target, pattern, bytes, stream->handle);
}

int cuda_fill(void *handle, uint64_t target, const void *pattern, size_t size, size_t count, mw_completion completion) {
  cuda_stream *stream = handle;
  CUresult result = 0;
  int code = begin(stream);
  if (code != MW_SUCCESS) return code;
  if (!fill_by_word(stream, target, pattern, size, count, &result)) {
    if (count == 1)
      result = fill_once(stream, target, pattern, size);
    else if (size <= SMALL)
      result = fill_by_column(stream, target, pattern, size, count);
    else
      for (size_t i = 0; i < count && result == 0; i++) result = fill_once(stream, target + i * size, pattern, size);
  }
  cuda_check_wrote(stream->device, stream->handle, target, size * count);
  cuda_check_command(stream, target, size * count, true);
  return end(stream, result, "a fill", &completion);
}

/* ---- boxes ---- */

static void wrote_box(cuda_stream *stream, const mw_box *box) {
  for (size_t z = 0; z < box->depth && stream->device->check; z++)
    for (size_t y = 0; y < box->height; y++)
      cuda_check_wrote(stream->device, stream->handle, box->target + z * box->target_slice + y * box->target_pitch,
                       box->width);
}

static CUDA_MEMCPY3D describe_copy(const mw_box *box, size_t z, size_t depth) {
  return (CUDA_MEMCPY3D){.source_kind = CU_MEMORY_UNIFIED,
                         .source_device = box->source + z * box->source_slice,
                         .source_pitch = box->source_pitch,
                         .source_height = depth > 1 ? box->source_slice / box->source_pitch : box->height,
                         .target_kind = CU_MEMORY_UNIFIED,
                         .target_device = box->target + z * box->target_slice,
                         .target_pitch = box->target_pitch,
                         .target_height = depth > 1 ? box->target_slice / box->target_pitch : box->height,
                         .width = box->width,
                         .height = box->height,
                         .depth = depth};
}

int cuda_copy_box(void *handle, const mw_box *box, mw_completion completion) {
  cuda_stream *stream = handle;
  CUresult result = 0;
  int code = begin(stream);
  if (code != MW_SUCCESS) return code;
  bool whole = box->source_slice % box->source_pitch == 0 && box->target_slice % box->target_pitch == 0;
  size_t step = whole ? box->depth : 1;
  for (size_t z = 0; z < box->depth && result == 0; z += step) {
    CUDA_MEMCPY3D copy = describe_copy(box, z, step);
    result = cu.cuMemcpy3DAsync(&copy, stream->handle);
  }
  wrote_box(stream, box);
  return end(stream, result, "a copy of a box", &completion);
}

/* cuMemcpyAsync and its kin copy between devices too, but not from a pool to which the other device has no access. */
int cuda_copy_between(void *handle, void *to, void *from, const mw_box *box, mw_completion completion) {
  cuda_stream *stream = handle;
  CUcontext target = ((cuda_device *)to)->context, source = ((cuda_device *)from)->context;
  CUresult result = 0;
  int code = begin(stream);
  if (code != MW_SUCCESS) return code;
  if (box->height == 1 && box->depth == 1) {
    result = cu.cuMemcpyPeerAsync(box->target, target, box->source, source, box->width, stream->handle);
    return end(stream, result, "a copy between devices", &completion);
  }
  for (size_t z = 0; z < box->depth && result == 0; z++) {
    CUDA_MEMCPY3D copy = describe_copy(box, z, 1);
    copy.target_kind = copy.source_kind = CU_MEMORY_DEVICE;
    copy.target_context = target;
    copy.source_context = source;
    result = cu.cuMemcpy3DPeerAsync(&copy, stream->handle);
  }
  return end(stream, result, "a copy between devices", &completion);
}

int cuda_fill_box(void *handle, const mw_box *box, const void *pattern, size_t size, mw_completion completion) {
  cuda_stream *stream = handle;
  CUresult result = 0;
  uint32_t word = 0;
  int code = begin(stream);
  if (code != MW_SUCCESS) return code;
  memcpy(&word, pattern, size);
  size_t width = box->width / size;
  for (size_t z = 0; z < box->depth && result == 0; z++) {
    CUdeviceptr slice = box->target + z * box->target_slice;
    result =
        size == 4 ? cu.cuMemsetD2D32Async(slice, box->target_pitch, word, width, box->height, stream->handle)
        : size == 2
            ? cu.cuMemsetD2D16Async(slice, box->target_pitch, (unsigned short)word, width, box->height, stream->handle)
            : cu.cuMemsetD2D8Async(slice, box->target_pitch, (unsigned char)word, width, box->height, stream->handle);
  }
  wrote_box(stream, box);
  return end(stream, result, "a fill of a box", &completion);
}

/* ---- host and device ---- */

/* Waits until all earlier work is done. The default stream's commands wait for the other streams' work, but waiting
   for the stream alone does not: hence the event. */
static int drain(cuda_stream *stream) {
  cuda_device *device = stream->device;
  CUresult result = stream->flags & MW_STREAM_LEGACY ? cu.cuEventRecord(device->order, stream->handle) : 0;
  if (result == 0) result = cuda_stream_wait_done(stream);
  return cuda_outcome(device, result, "waiting for a stream");
}

/* Chooses the stream in which the host reads or writes: this one, or, in a host function that a stream calls, an
   internal one. In the latter case the work before the function is done, and the stream waits for the function. */
static int begin_for_host(cuda_stream *stream, CUstream *handle) {
  int code = begin(stream);
  *handle = stream->handle;
  if (code == MW_SUCCESS) code = cuda_stream_held(stream);
  if (code != MW_NOT_READY || !mw_stream_in_function()) return code;
  mw_error_clear();
  *handle = stream->device->side;
  return MW_SUCCESS;
}

static CUresult wait_in(cuda_stream *stream, CUstream in) {
  return in == stream->handle ? cuda_stream_wait_done(stream) : cu.cuStreamSynchronize(in);
}

int cuda_write(void *handle, uint64_t target, const void *source, size_t bytes) {
  cuda_stream *stream = handle;
  CUstream in;
  int code = begin_for_host(stream, &in);
  if (code != MW_SUCCESS) return code;
  cuda_check_wrote(stream->device, in, target, bytes);
  if (bytes >= STAGED) {
    if (in == stream->handle) code = drain(stream);
    return code ? code : cuda_stage(stream->device, target, (void *)source, bytes, true);
  }
  code = cuda_outcome(stream->device, cu.cuMemcpyHtoDAsync(target, source, bytes, in), "writing memory");
  return code ? code : cuda_outcome(stream->device, wait_in(stream, in), "writing memory");
}

int cuda_read(void *handle, uint64_t source, void *target, size_t bytes) {
  cuda_stream *stream = handle;
  CUstream in;
  int code = begin_for_host(stream, &in);
  if (code != MW_SUCCESS) return code;
  if (bytes >= STAGED) {
    if (in == stream->handle) code = drain(stream);
    return code ? code : cuda_stage(stream->device, source, target, bytes, false);
  }
  code = cuda_outcome(stream->device, cu.cuMemcpyDtoHAsync(target, source, bytes, in), "reading memory");
  return code ? code : cuda_outcome(stream->device, wait_in(stream, in), "reading memory");
}
