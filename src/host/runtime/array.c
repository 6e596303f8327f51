/* CUDA arrays under the runtime API's names: descriptors, allocation and copies. */
#include "host/host.h"

/* ---- descriptors ---- */

int host_channels(const struct cudaChannelFormatDesc *desc, mw_channels *out) {
  bool alike = desc && (desc->y == 0 || desc->y == desc->x) && (desc->z == 0 || desc->z == desc->x) &&
               desc->z == desc->w && (desc->z == 0 || desc->y != 0);
  if (!alike || (unsigned)desc->f > MW_CHANNEL_FLOAT)
    return host_fail(MW_INVALID_CHANNEL_DESCRIPTOR,
                     "a channel descriptor has one, two or four channels of 8, 16 or 32 bits");
  *out = (mw_channels){(mw_channel_kind)desc->f, desc->x, desc->z ? 4 : desc->y ? 2 : 1};
  const mw_type *type;
  return mw_channels_dtype(out, &type);
}

struct cudaChannelFormatDesc host_channel_desc(const mw_channels *c) {
  return (struct cudaChannelFormatDesc){c->bits, c->count > 1 ? c->bits : 0, c->count > 2 ? c->bits : 0,
                                        c->count > 2 ? c->bits : 0, (enum cudaChannelFormatKind)c->kind};
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f) {
  return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

/* ---- making ---- */

int host_array_new(host_context *context, const mw_cuda_array_desc *desc, cudaArray_t *out) {
  mw_cuda_array *array;
  if (!out) return host_fail(MW_INVALID_VALUE, "the pointer that receives the array is NULL");
  int code = mw_cuda_array_new(context->device, desc, &array);
  if (code == MW_SUCCESS) *out = host_handle_new(HOST_ARRAY, context->id, array);
  return code;
}

int host_array(cudaArray_const_t handle, mw_cuda_array **out) {
  *out = host_handle_find(HOST_ARRAY, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "this is no CUDA array, or one that was freed");
}

int host_array_describe(const mw_channels *channels, struct cudaExtent extent, unsigned flags,
                        mw_cuda_array_desc *out) {
  bool layered = flags & cudaArrayLayered, cubemap = flags & cudaArrayCubemap;
  if (flags > 15)
    return host_fail(MW_INVALID_VALUE,
                     "the flags of an array are 1 (layered), 2 (surfaces), 4 (cubemap) and 8 (gather)");
  mw_cuda_array_desc desc = {.width = extent.width, .height = extent.height, .channels = *channels};
  desc.kind = cubemap         ? (layered ? MW_CUDA_ARRAY_CUBEMAP_LAYERED : MW_CUDA_ARRAY_CUBEMAP)
              : layered       ? (extent.height ? MW_CUDA_ARRAY_2D_LAYERED : MW_CUDA_ARRAY_1D_LAYERED)
              : extent.depth  ? MW_CUDA_ARRAY_3D
              : extent.height ? MW_CUDA_ARRAY_2D
                              : MW_CUDA_ARRAY_1D;
  if (layered) desc.layers = cubemap ? extent.depth / 6 : extent.depth;
  if (desc.kind == MW_CUDA_ARRAY_3D) desc.depth = extent.depth;
  *out = desc;
  return MW_SUCCESS;
}

static int new_array(host_context *context, cudaArray_t *out, const struct cudaChannelFormatDesc *format,
                     struct cudaExtent extent, unsigned flags) {
  mw_channels channels;
  mw_cuda_array_desc desc;
  int code = host_channels(format, &channels);
  if (code == MW_SUCCESS) code = host_array_describe(&channels, extent, flags, &desc);
  if (code == MW_SUCCESS) code = host_array_new(context, &desc, out);
  if (code == MW_SUCCESS) host_handle_set_note(HOST_ARRAY, *out, flags);
  return code;
}

cudaError_t(cudaMallocArray)(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                             unsigned flags) {
  HOST_RUNTIME(flags & (cudaArrayLayered | cudaArrayCubemap)
                   ? host_fail(MW_INVALID_VALUE, "arrays of layers and cubemaps are made by cudaMalloc3DArray")
                   : new_array(context, array, desc, (struct cudaExtent){width, height, 0}, flags));
}
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned flags) {
  HOST_RUNTIME(new_array(context, array, desc, extent, flags));
}

int host_array_check_own(const void *handle) {
  unsigned note = host_handle_note(HOST_ARRAY, handle);
  if (note & HOST_ARRAY_LENT)
    return host_fail(MW_INVALID_VALUE, "this array belongs to an OpenGL image, and is freed when that is unmapped");
  if (note & HOST_ARRAY_LEVEL)
    return host_fail(MW_INVALID_VALUE, "this array is a level of a mipmapped array, and is freed with it");
  return MW_SUCCESS;
}

cudaError_t cudaFreeArray(cudaArray_t handle) {
  if (!handle) return host_end(MW_SUCCESS);
  if (host_array_check_own(handle) != MW_SUCCESS) return host_end(MW_INVALID_VALUE);
  mw_cuda_array *array = host_handle_take(HOST_ARRAY, handle);
  if (!array) return host_end(host_fail(MW_INVALID_VALUE, "this is no CUDA array, or one that was freed"));
  int code = mw_cuda_array_free(array);
  mw_cuda_array_release(array);
  return host_end(code);
}

static int get_info(cudaArray_const_t handle, struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                    unsigned *flags) {
  mw_cuda_array *array;
  int code = host_array(handle, &array);
  if (code != MW_SUCCESS) return code;
  const mw_cuda_array_desc *desc = mw_cuda_array_describe(array);
  size_t texels[3];
  code = mw_cuda_array_extent(array, 0, texels);
  if (format) *format = host_channel_desc(&desc->channels);
  if (extent)
    *extent = (struct cudaExtent){
        texels[0], desc->kind == MW_CUDA_ARRAY_1D || desc->kind == MW_CUDA_ARRAY_1D_LAYERED ? 0 : texels[1],
        desc->kind < MW_CUDA_ARRAY_3D ? 0 : texels[2]};
  if (flags) *flags = host_handle_note(HOST_ARRAY, handle) & HOST_ARRAY_FLAGS;
  mw_cuda_array_release(array);
  return code;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array) {
  return host_end(get_info(array, desc, NULL, NULL));
}
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned *flags,
                             cudaArray_t array) {
  return host_end(get_info(array, desc, extent, flags));
}

/* ---- copies ---- */

typedef struct plane {
  cudaArray_const_t array;
  size_t x, y;
  uint64_t memory;
  size_t pitch, width, height; /* pitch 0: `width` consecutive bytes */
  int kind;
  bool to_array;
} plane;

static int copy_plane(host_context *context, mw_stream *stream, const plane *p) {
  mw_cuda_array *array;
  int wrong = p->to_array ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
  if (p->kind <= cudaMemcpyHostToHost || p->kind > cudaMemcpyDefault || p->kind == wrong)
    return host_fail(MW_INVALID_MEMCPY_DIRECTION, "%d is no cudaMemcpyKind of such a copy", p->kind);
  if (p->pitch && p->width > p->pitch)
    return host_fail(MW_INVALID_PITCH_VALUE, "rows of %zu bytes in a pitch of %zu", p->width, p->pitch);
  int code = host_array(p->array, &array);
  if (code != MW_SUCCESS) return code;
  if (p->height == 0 && !p->pitch) {
    code = host_array_line(context, stream, array, p->x, p->y, p->memory, p->width, p->to_array);
  } else {
    const host_side in = {.array = array, .x = p->x, .y = p->y};
    const host_side out = {.address = p->memory, .pitch = p->pitch, .rows = p->height};
    code = host_box_copy(context, stream, p->to_array ? &in : &out, p->to_array ? &out : &in, p->width, p->height, 1,
                         p->kind);
  }
  mw_cuda_array_release(array);
  return code;
}

/* stream: a pointer to the handle, or NULL for the synchronous forms. */
static cudaError_t run(const plane *p, const cudaStream_t *handle) {
  host_context *context;
  mw_stream *stream = NULL;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS && handle) code = host_stream(context, *handle, &stream);
  if (code != MW_SUCCESS) return host_end(code);
  code = copy_plane(context, stream, p);
  mw_stream_release(stream);
  return host_end(code);
}

#define LINE(handle, in)                                                                                               \
  &(plane) { handle, x, y, host_address(memory), 0, count, 0, (int)kind, in }
#define BOX(handle, in)                                                                                                \
  &(plane) { handle, x, y, host_address(memory), pitch ? pitch : 1, width, height, (int)kind, in }

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void *memory, size_t count,
                              enum cudaMemcpyKind kind) {
  return run(LINE(dst, true), NULL);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *memory, size_t count,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
  return run(LINE(dst, true), &stream);
}
cudaError_t cudaMemcpyFromArray(void *memory, cudaArray_const_t src, size_t x, size_t y, size_t count,
                                enum cudaMemcpyKind kind) {
  return run(LINE(src, false), NULL);
}
cudaError_t cudaMemcpyFromArrayAsync(void *memory, cudaArray_const_t src, size_t x, size_t y, size_t count,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
  return run(LINE(src, false), &stream);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void *memory, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
  return run(BOX(dst, true), NULL);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *memory, size_t pitch,
                                     size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return run(BOX(dst, true), &stream);
}
cudaError_t cudaMemcpy2DFromArray(void *memory, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind) {
  return run(BOX(src, false), NULL);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void *memory, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
                                       size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return run(BOX(src, false), &stream);
}

/* ---- from array to array ---- */

static int copy_arrays(host_context *context, cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx,
                       size_t sy, size_t width, size_t height) {
  mw_cuda_array *to, *from;
  int code = host_array(dst, &to);
  if (code != MW_SUCCESS) return code;
  code = host_array(src, &from);
  if (code == MW_SUCCESS) {
    const host_side target = {.array = to, .x = dx, .y = dy}, source = {.array = from, .x = sx, .y = sy};
    code = host_box_copy(context, NULL, &target, &source, width, height, 1, cudaMemcpyDeviceToDevice);
    mw_cuda_array_release(from);
  }
  mw_cuda_array_release(to);
  return code;
}

/* Through host memory, because the rows of the two arrays may have different lengths. */
int host_array_to_array(host_context *context, mw_cuda_array *to, size_t dx, size_t dy, mw_cuda_array *from, size_t sx,
                        size_t sy, size_t count) {
  void *between = malloc(count ? count : 1);
  if (!between) return host_fail(MW_MEMORY_ALLOCATION, "no memory for a copy of %zu bytes", count);
  int code = host_array_line(context, NULL, from, sx, sy, host_address(between), count, false);
  if (code == MW_SUCCESS) code = host_array_line(context, NULL, to, dx, dy, host_address(between), count, true);
  free(between);
  return code;
}

static int copy_lines(host_context *context, cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx,
                      size_t sy, size_t count) {
  mw_cuda_array *to, *from;
  int code = host_array(dst, &to);
  if (code != MW_SUCCESS) return code;
  code = host_array(src, &from);
  if (code == MW_SUCCESS) {
    code = host_array_to_array(context, to, dx, dy, from, sx, sy, count);
    mw_cuda_array_release(from);
  }
  mw_cuda_array_release(to);
  return code;
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy,
                                   size_t count, enum cudaMemcpyKind kind) {
  (void)kind;
  HOST_RUNTIME(copy_lines(context, dst, dx, dy, src, sx, sy, count));
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy,
                                     size_t width, size_t height, enum cudaMemcpyKind kind) {
  (void)kind;
  HOST_RUNTIME(copy_arrays(context, dst, dx, dy, src, sx, sy, width, height));
}
