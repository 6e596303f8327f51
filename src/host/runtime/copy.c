/* Copies and fills of linear memory under the runtime API's names. */
#include "host/host.h"

int host_copy(host_context *context, mw_stream *stream, const mw_copy *copy) {
  mw_copy mine = *copy;
  mine.foreign = 1;
  return mw_memory_copy(context->device, stream, &mine);
}

int host_copy_line(host_context *context, mw_stream *stream, uint64_t target, uint64_t source, size_t bytes, int kind) {
  const mw_copy copy = {
      .target = target, .source = source, .width = bytes, .height = 1, .depth = 1, .direction = (mw_direction)kind};
  return host_copy(context, stream, &copy);
}

int host_fill(host_context *context, mw_stream *stream, uint64_t target, size_t pitch, size_t rows, unsigned value,
              size_t size, size_t width, size_t height, size_t depth) {
  const mw_fill fill = {.target = target,
                        .pitch = pitch,
                        .rows = rows,
                        .value = value,
                        .size = size,
                        .width = width,
                        .height = height,
                        .depth = depth,
                        .foreign = 1};
  return mw_memory_fill(context->device, stream, &fill);
}

/* The bodies of a synchronous function, and of its Async variant with a stream as last argument: `call` may use
   `context` and `stream`, which is NULL in the first. */
#define SYNCHRONOUS(call)                                                                                              \
  host_context *context;                                                                                               \
  mw_stream *stream = NULL;                                                                                            \
  int code = host_context_current(&context);                                                                           \
  return host_end(code ? code : (call))
#define ASYNCHRONOUS(handle, call)                                                                                     \
  host_context *context;                                                                                               \
  mw_stream *stream;                                                                                                   \
  int code = host_context_stream(handle, &context, &stream);                                                           \
  if (code != MW_SUCCESS) return host_end(code);                                                                       \
  code = (call);                                                                                                       \
  mw_stream_release(stream);                                                                                           \
  return host_end(code)

/* ---- one and two dimensions ---- */

#define COPY(kind) host_copy_line(context, stream, host_address(dst), host_address(src), count, kind)

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind) {
  SYNCHRONOUS(COPY((int)kind));
}
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t handle) {
  ASYNCHRONOUS(handle, COPY((int)kind));
}

static int copy_2d(host_context *context, mw_stream *stream, void *dst, size_t dpitch, const void *src, size_t spitch,
                   size_t width, size_t height, int kind) {
  if (width > dpitch || width > spitch)
    return host_fail(MW_INVALID_PITCH_VALUE, "rows of %zu bytes in pitches of %zu and %zu", width, dpitch, spitch);
  const mw_copy copy = {.target = host_address(dst),
                        .source = host_address(src),
                        .target_pitch = dpitch,
                        .target_rows = height,
                        .source_pitch = spitch,
                        .source_rows = height,
                        .width = width,
                        .height = height,
                        .depth = 1,
                        .direction = (mw_direction)kind};
  return host_copy(context, stream, &copy);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
  SYNCHRONOUS(copy_2d(context, stream, dst, dpitch, src, spitch, width, height, (int)kind));
}
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t handle) {
  ASYNCHRONOUS(handle, copy_2d(context, stream, dst, dpitch, src, spitch, width, height, (int)kind));
}

/* Addresses identify the peers' memory; the ordinals are only checked. */
static int copy_peer(host_context *context, mw_stream *stream, void *dst, int dst_device, const void *src,
                     int src_device, size_t count) {
  if (!host_device_name(dst_device) || !host_device_name(src_device)) return MW_INVALID_DEVICE;
  return COPY(cudaMemcpyDefault);
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count) {
  SYNCHRONOUS(copy_peer(context, stream, dst, dstDevice, src, srcDevice, count));
}
cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                                cudaStream_t handle) {
  ASYNCHRONOUS(handle, copy_peer(context, stream, dst, dstDevice, src, srcDevice, count));
}

/* ---- three dimensions: each side is an array or a pitched pointer ---- */

/* Widths are in texels if an array is involved. */
static int side_of(cudaArray_t handle, const struct cudaPitchedPtr *p, const struct cudaPos *at, host_side *out,
                   size_t *texel) {
  *out = (host_side){.x = at->x, .y = at->y, .z = at->z};
  if (!handle) {
    out->address = host_address(p->ptr);
    out->pitch = p->pitch;
    out->rows = p->ysize;
    return MW_SUCCESS;
  }
  int code = host_array(handle, &out->array);
  if (code != MW_SUCCESS) return code;
  const mw_channels *channels = &mw_cuda_array_describe(out->array)->channels;
  *texel = (size_t)(channels->bits / 8 * channels->count);
  out->x *= *texel;
  return MW_SUCCESS;
}

int host_copy_3d(host_context *context, mw_stream *stream, const struct cudaMemcpy3DParms *p) {
  host_side target, source = {0};
  size_t texel = 1;
  if (!p) return host_fail(MW_INVALID_VALUE, "cudaMemcpy3D wants its parameters");
  if (!(p->srcArray || p->srcPtr.ptr) || !(p->dstArray || p->dstPtr.ptr))
    return host_fail(MW_INVALID_VALUE, "cudaMemcpy3D wants a source and a target: an array or a pointer each");
  int code = side_of(p->dstArray, &p->dstPtr, &p->dstPos, &target, &texel);
  if (code == MW_SUCCESS) code = side_of(p->srcArray, &p->srcPtr, &p->srcPos, &source, &texel);
  if (code == MW_SUCCESS)
    code = host_box_copy(context, stream, &target, &source, p->extent.width * texel, p->extent.height, p->extent.depth,
                         (int)p->kind);
  mw_cuda_array_release(source.array);
  mw_cuda_array_release(target.array);
  return code;
}

static int copy_3d_peer(host_context *context, mw_stream *stream, const struct cudaMemcpy3DPeerParms *p) {
  if (!p) return host_fail(MW_INVALID_VALUE, "cudaMemcpy3DPeer wants its parameters");
  if (!host_device_name(p->srcDevice) || !host_device_name(p->dstDevice)) return MW_INVALID_DEVICE;
  const struct cudaMemcpy3DParms same = {p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                                         p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDefault};
  return host_copy_3d(context, stream, &same);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) { SYNCHRONOUS(host_copy_3d(context, stream, p)); }
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t handle) {
  ASYNCHRONOUS(handle, host_copy_3d(context, stream, p));
}
cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p) { SYNCHRONOUS(copy_3d_peer(context, stream, p)); }
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t handle) {
  ASYNCHRONOUS(handle, copy_3d_peer(context, stream, p));
}

/* ---- fills ---- */

static int fill_2d(host_context *context, mw_stream *stream, void *dst, size_t pitch, int value, size_t width,
                   size_t height) {
  if (width > pitch) return host_fail(MW_INVALID_PITCH_VALUE, "rows of %zu bytes in a pitch of %zu", width, pitch);
  return host_fill(context, stream, host_address(dst), pitch, height, (unsigned)value & 0xff, 1, width, height, 1);
}

#define FILL host_fill(context, stream, host_address(dst), 0, 0, (unsigned)value & 0xff, 1, count, 1, 1)
#define FILL_3D                                                                                                        \
  host_fill(context, stream, host_address(dst.ptr), dst.pitch, dst.ysize, (unsigned)value & 0xff, 1, extent.width,     \
            extent.height, extent.depth)

cudaError_t cudaMemset(void *dst, int value, size_t count) { SYNCHRONOUS(FILL); }
cudaError_t cudaMemsetAsync(void *dst, int value, size_t count, cudaStream_t handle) { ASYNCHRONOUS(handle, FILL); }
cudaError_t cudaMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height) {
  SYNCHRONOUS(fill_2d(context, stream, dst, pitch, value, width, height));
}
cudaError_t cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t handle) {
  ASYNCHRONOUS(handle, fill_2d(context, stream, dst, pitch, value, width, height));
}
cudaError_t cudaMemset3D(struct cudaPitchedPtr dst, int value, struct cudaExtent extent) { SYNCHRONOUS(FILL_3D); }
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr dst, int value, struct cudaExtent extent, cudaStream_t handle) {
  ASYNCHRONOUS(handle, FILL_3D);
}

/* ---- variables ---- */

/* The part of a variable that is copied. */
static int part_of(host_context *context, const void *symbol, size_t count, size_t offset, uint64_t *address) {
  mw_symbol *found;
  int code = host_symbol(context, symbol, &found);
  if (code != MW_SUCCESS) return code;
  size_t size = mw_symbol_size(found);
  if (offset > size || count > size - offset)
    return host_fail(MW_INVALID_VALUE, "%zu bytes from byte %zu on are more than %s has, which are %zu", count, offset,
                     mw_symbol_name(found), size);
  *address = mw_symbol_address(found) + offset;
  return MW_SUCCESS;
}

static int copy_symbol(host_context *context, mw_stream *stream, const void *symbol, const void *memory, size_t count,
                       size_t offset, int kind, bool to_symbol) {
  uint64_t address;
  int code = part_of(context, symbol, count, offset, &address);
  if (code != MW_SUCCESS) return code;
  return host_copy_line(context, stream, to_symbol ? address : host_address(memory),
                        to_symbol ? host_address(memory) : address, count, kind);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
                               enum cudaMemcpyKind kind) {
  SYNCHRONOUS(copy_symbol(context, stream, symbol, src, count, offset, (int)kind, true));
}
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t handle) {
  ASYNCHRONOUS(handle, copy_symbol(context, stream, symbol, src, count, offset, (int)kind, true));
}
cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind) {
  SYNCHRONOUS(copy_symbol(context, stream, symbol, dst, count, offset, (int)kind, false));
}
cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t handle) {
  ASYNCHRONOUS(handle, copy_symbol(context, stream, symbol, dst, count, offset, (int)kind, false));
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
  uint64_t at = 0;
  host_context *context;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = part_of(context, symbol, 0, 0, &at);
  if (code == MW_SUCCESS) *address = host_pointer(at);
  return host_end(code);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
  host_context *context;
  mw_symbol *found;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = host_symbol(context, symbol, &found);
  if (code == MW_SUCCESS) *size = mw_symbol_size(found);
  return host_end(code);
}
