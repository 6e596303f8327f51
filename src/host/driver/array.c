/* CUDA arrays under the driver API's names, and the copies that CUDA_MEMCPY2D and CUDA_MEMCPY3D describe. */
#include "driver.h"

/* ---- formats ---- */

static const struct {
  CUarray_format format;
  mw_channel_kind kind;
  int bits;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, MW_CHANNEL_UNSIGNED, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, MW_CHANNEL_UNSIGNED, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, MW_CHANNEL_UNSIGNED, 32},
    {CU_AD_FORMAT_SIGNED_INT8, MW_CHANNEL_SIGNED, 8},
    {CU_AD_FORMAT_SIGNED_INT16, MW_CHANNEL_SIGNED, 16},
    {CU_AD_FORMAT_SIGNED_INT32, MW_CHANNEL_SIGNED, 32},
    {CU_AD_FORMAT_HALF, MW_CHANNEL_FLOAT, 16},
    {CU_AD_FORMAT_FLOAT, MW_CHANNEL_FLOAT, 32},
};

enum { FORMATS = sizeof formats / sizeof *formats };

int host_format(CUarray_format format, unsigned components, mw_channels *out) {
  int i = 0;
  while (i < FORMATS && formats[i].format != format) i++;
  if (i == FORMATS || (components != 1 && components != 2 && components != 4))
    return host_fail(MW_INVALID_VALUE, "an array of %u components of format 0x%x", components, (unsigned)format);
  *out = (mw_channels){formats[i].kind, formats[i].bits, (int)components};
  return MW_SUCCESS;
}

CUarray_format host_format_of(const mw_channels *channels) {
  int i = 0;
  while (i < FORMATS - 1 && (formats[i].kind != channels->kind || formats[i].bits != channels->bits)) i++;
  return formats[i].format;
}

/* ---- arrays ---- */

int host_driver_array(CUarray handle, mw_cuda_array **out) {
  *out = host_handle_find(HOST_ARRAY, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is no CUDA array, or one that was destroyed");
}

static int create(host_context *context, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *given) {
  mw_channels channels;
  mw_cuda_array_desc desc;
  int code = host_format(given->Format, given->NumChannels, &channels);
  const struct cudaExtent extent = {given->Width, given->Height, given->Depth};
  if (code == MW_SUCCESS) code = host_array_describe(&channels, extent, given->Flags, &desc);
  if (code == MW_SUCCESS) code = host_array_new(context, &desc, out);
  if (code == MW_SUCCESS) host_handle_set_note(HOST_ARRAY, *out, given->Flags);
  return code;
}

static int describe(CUarray handle, CUDA_ARRAY3D_DESCRIPTOR *out) {
  mw_cuda_array *array;
  size_t texels[3];
  int code = host_driver_array(handle, &array);
  if (code != MW_SUCCESS) return code;
  const mw_cuda_array_desc *desc = mw_cuda_array_describe(array);
  mw_cuda_array_kind kind = desc->kind;
  code = mw_cuda_array_extent(array, 0, texels);
  *out =
      (CUDA_ARRAY3D_DESCRIPTOR){.Width = texels[0],
                                .Height = kind == MW_CUDA_ARRAY_1D || kind == MW_CUDA_ARRAY_1D_LAYERED ? 0 : texels[1],
                                .Depth = kind < MW_CUDA_ARRAY_3D ? 0 : texels[2],
                                .Format = host_format_of(&desc->channels),
                                .NumChannels = (unsigned)desc->channels.count,
                                .Flags = host_handle_note(HOST_ARRAY, handle) & HOST_ARRAY_FLAGS};
  mw_cuda_array_release(array);
  return code;
}

static int describe_2d(CUarray handle, CUDA_ARRAY_DESCRIPTOR *out) {
  CUDA_ARRAY3D_DESCRIPTOR d;
  int code = describe(handle, &d);
  if (code == MW_SUCCESS && d.Depth > 0)
    code = host_fail(MW_INVALID_VALUE, "cuArrayGetDescriptor is about arrays of one or two dimensions");
  if (code == MW_SUCCESS) *out = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
  return code;
}

static int destroy(CUarray handle) {
  if (host_array_check_own(handle) != MW_SUCCESS) return MW_INVALID_VALUE;
  mw_cuda_array *array = host_handle_take(HOST_ARRAY, handle);
  if (!array) return host_fail(MW_INVALID_RESOURCE_HANDLE, "this is no CUDA array, or one that was destroyed");
  int code = mw_cuda_array_free(array);
  mw_cuda_array_release(array);
  return code;
}

CUresult cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc) {
  HOST_DRIVER(create(context, array, desc));
}
CUresult cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc) {
  const CUDA_ARRAY3D_DESCRIPTOR same = {desc->Width, desc->Height, 0, desc->Format, desc->NumChannels, 0};
  return cuArray3DCreate(array, &same);
}
CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array) { HOST_DRIVER(describe(array, desc)); }
CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array) { HOST_DRIVER(describe_2d(array, desc)); }
CUresult cuArrayDestroy(CUarray array) { HOST_DRIVER(destroy(array)); }

/* ---- bytes of one-dimensional arrays, or of an array's rows one after the other ---- */

static int line(host_context *context, const CUstream *where, CUarray handle, size_t offset, uint64_t memory,
                size_t bytes, bool to_array) {
  mw_cuda_array *array;
  mw_stream *stream = NULL;
  int code = host_driver_array(handle, &array);
  if (code != MW_SUCCESS) return code;
  const mw_cuda_array_desc *desc = mw_cuda_array_describe(array);
  size_t across = desc->width * (size_t)(desc->channels.bits / 8 * desc->channels.count);
  if (where) code = host_stream(context, *where, &stream);
  if (code == MW_SUCCESS)
    code = host_array_line(context, stream, array, offset % across, offset / across, memory, bytes, to_array);
  mw_stream_release(stream);
  mw_cuda_array_release(array);
  return code;
}

static int line_to_line(host_context *context, CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
                        size_t bytes) {
  void *between = malloc(bytes ? bytes : 1);
  if (!between) return host_fail(MW_MEMORY_ALLOCATION, "no memory for a copy of %zu bytes", bytes);
  int code = line(context, NULL, src, src_offset, host_address(between), bytes, false);
  if (code == MW_SUCCESS) code = line(context, NULL, dst, dst_offset, host_address(between), bytes, true);
  free(between);
  return code;
}

CUresult cuMemcpyDtoA(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes) {
  HOST_DRIVER(line(context, NULL, dst, offset, src, bytes, true));
}
CUresult cuMemcpyAtoD(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes) {
  HOST_DRIVER(line(context, NULL, src, offset, dst, bytes, false));
}
CUresult cuMemcpyAtoA(CUarray dst, size_t dstOffset, CUarray src, size_t srcOffset, size_t bytes) {
  HOST_DRIVER(line_to_line(context, dst, dstOffset, src, srcOffset, bytes));
}
CUresult cuMemcpyHtoA(CUarray dst, size_t offset, const void *src, size_t bytes) {
  HOST_DRIVER(line(context, NULL, dst, offset, host_address(src), bytes, true));
}
CUresult cuMemcpyHtoAAsync(CUarray dst, size_t offset, const void *src, size_t bytes, CUstream stream) {
  HOST_DRIVER(line(context, &stream, dst, offset, host_address(src), bytes, true));
}
CUresult cuMemcpyAtoH(void *dst, CUarray src, size_t offset, size_t bytes) {
  HOST_DRIVER(line(context, NULL, src, offset, host_address(dst), bytes, false));
}
CUresult cuMemcpyAtoHAsync(void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream) {
  HOST_DRIVER(line(context, &stream, src, offset, host_address(dst), bytes, false));
}

/* ---- boxes ---- */

/* One side of a copy that a struct describes; *device: whether it is device memory. */
static int side(CUmemorytype type, const void *host, CUdeviceptr address, CUarray handle, host_side *out,
                bool *device) {
  *device = type != CU_MEMORYTYPE_HOST;
  switch (type) {
  case CU_MEMORYTYPE_HOST: out->address = host_address(host); return MW_SUCCESS;
  case CU_MEMORYTYPE_DEVICE:
  case CU_MEMORYTYPE_UNIFIED: out->address = address; return MW_SUCCESS;
  case CU_MEMORYTYPE_ARRAY:
    return handle ? host_driver_array(handle, &out->array)
                  : host_fail(MW_INVALID_VALUE, "one side of a copy is an array, and there is none");
  default: return host_fail(MW_INVALID_VALUE, "%d is not a type of memory", (int)type);
  }
}

/* A pitch of 0 means the row's own width, a height of 0 the number of rows that are copied. */
static int complete(host_side *s, size_t width, size_t height, size_t depth) {
  if (s->array) return MW_SUCCESS;
  if (!s->pitch) s->pitch = width + s->x;
  if (!s->rows) s->rows = height + s->y;
  if (width + s->x > s->pitch)
    return host_fail(MW_INVALID_PITCH_VALUE, "rows of %zu bytes from byte %zu on in a pitch of %zu", width, s->x,
                     s->pitch);
  if (depth > 1 && height + s->y > s->rows)
    return host_fail(MW_INVALID_VALUE, "%zu rows from row %zu on in slices of %zu", height, s->y, s->rows);
  return MW_SUCCESS;
}

int host_copy_3d_driver(host_context *context, mw_stream *stream, const CUDA_MEMCPY3D *c) {
  host_side to = {.pitch = c->dstPitch, .rows = c->dstHeight, .x = c->dstXInBytes, .y = c->dstY, .z = c->dstZ};
  host_side from = {.pitch = c->srcPitch, .rows = c->srcHeight, .x = c->srcXInBytes, .y = c->srcY, .z = c->srcZ};
  bool to_device = false, from_device = false;
  int code = side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, &to, &to_device);
  if (code == MW_SUCCESS) code = side(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, &from, &from_device);
  if (code == MW_SUCCESS) code = complete(&to, c->WidthInBytes, c->Height, c->Depth);
  if (code == MW_SUCCESS) code = complete(&from, c->WidthInBytes, c->Height, c->Depth);
  bool unified = c->dstMemoryType == CU_MEMORYTYPE_UNIFIED || c->srcMemoryType == CU_MEMORYTYPE_UNIFIED;
  int kind = unified ? cudaMemcpyDefault : (from_device ? 2 : 0) + (to_device ? 1 : 0);
  if (code == MW_SUCCESS) code = host_box_copy(context, stream, &to, &from, c->WidthInBytes, c->Height, c->Depth, kind);
  mw_cuda_array_release(to.array);
  mw_cuda_array_release(from.array);
  return code;
}

static CUDA_MEMCPY3D as_3d(const CUDA_MEMCPY2D *c) {
  return (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
                         .srcY = c->srcY,
                         .srcMemoryType = c->srcMemoryType,
                         .srcHost = c->srcHost,
                         .srcDevice = c->srcDevice,
                         .srcArray = c->srcArray,
                         .srcPitch = c->srcPitch,
                         .dstXInBytes = c->dstXInBytes,
                         .dstY = c->dstY,
                         .dstMemoryType = c->dstMemoryType,
                         .dstHost = c->dstHost,
                         .dstDevice = c->dstDevice,
                         .dstArray = c->dstArray,
                         .dstPitch = c->dstPitch,
                         .WidthInBytes = c->WidthInBytes,
                         .Height = c->Height,
                         .Depth = 1};
}

static int copy_box_in(host_context *context, CUstream handle, const CUDA_MEMCPY3D *c) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  code = host_copy_3d_driver(context, stream, c);
  mw_stream_release(stream);
  return code;
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D *copy) { HOST_DRIVER(host_copy_3d_driver(context, NULL, copy)); }
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream) {
  HOST_DRIVER(copy_box_in(context, stream, copy));
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D *copy) {
  const CUDA_MEMCPY3D same = as_3d(copy);
  return cuMemcpy3D(&same);
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy) { return cuMemcpy2D(copy); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream) {
  const CUDA_MEMCPY3D same = as_3d(copy);
  return cuMemcpy3DAsync(&same, stream);
}

/* The copy without its contexts, whose fields are reserved in CUDA_MEMCPY3D. */
static int without_contexts(const CUDA_MEMCPY3D_PEER *c, CUDA_MEMCPY3D *out) {
  _Static_assert(sizeof *c == sizeof *out &&
                     offsetof(CUDA_MEMCPY3D_PEER, srcContext) == offsetof(CUDA_MEMCPY3D, reserved0) &&
                     offsetof(CUDA_MEMCPY3D_PEER, dstContext) == offsetof(CUDA_MEMCPY3D, reserved1),
                 "the fields stand in the same places");
  if (!c) return host_fail(MW_INVALID_VALUE, "cuMemcpy3DPeer wants its parameters");
  memcpy(out, c, sizeof *out);
  out->reserved0 = out->reserved1 = NULL;
  return host_check_peers(c->dstContext, c->srcContext);
}

static int copy_peer(host_context *context, const CUstream *stream, const CUDA_MEMCPY3D_PEER *c) {
  CUDA_MEMCPY3D same;
  int code = without_contexts(c, &same);
  if (code != MW_SUCCESS) return code;
  return stream ? copy_box_in(context, *stream, &same) : host_copy_3d_driver(context, NULL, &same);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) { HOST_DRIVER(copy_peer(context, NULL, copy)); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
  HOST_DRIVER(copy_peer(context, &stream, copy));
}
