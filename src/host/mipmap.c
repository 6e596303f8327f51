/* Mipmapped arrays of both APIs: arrays of several levels, which textures read as a whole. Copies and surfaces use a
 * level as an ordinary array.
 *
 * A level's handle is derived from the mipmapped array's number and its own, and entered in the table in the first
 * call, so that repeated calls return the same; it is removed with the mipmapped array. */
#include "host/driver/driver.h"

enum { LEVEL_SHIFT = 42, LEVELS = 18 }; /* the counter of handles never reaches such numbers */

static uint64_t level_key(const void *mipmap, unsigned level) {
  return host_address(mipmap) | (uint64_t)(level + 1) << LEVEL_SHIFT;
}

int host_mipmap(const void *handle, mw_cuda_array **out) {
  *out = host_handle_find(HOST_MIPMAP, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "this is not a mipmapped array, or one that was freed");
}

/* The same with the driver API's code. */
static int find(CUmipmappedArray handle, mw_cuda_array **out) {
  return host_mipmap(handle, out) == MW_SUCCESS ? MW_SUCCESS : MW_INVALID_RESOURCE_HANDLE;
}

/* The number of levels: as requested, but at least one and at most as many as possible. */
static size_t levels_of(const mw_cuda_array_desc *desc, unsigned wanted) {
  size_t size = desc->width > desc->height ? desc->width : desc->height, most = 1;
  if (desc->depth > size) size = desc->depth;
  for (; size > 1; size /= 2) most++;
  return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

static int make(host_context *context, const mw_channels *channels, struct cudaExtent extent, unsigned flags,
                unsigned levels, cudaMipmappedArray_t *out) {
  mw_cuda_array_desc desc;
  mw_cuda_array *array;
  if (!out) return host_fail(MW_INVALID_VALUE, "the pointer that receives the mipmapped array is NULL");
  int code = host_array_describe(channels, extent, flags, &desc);
  if (code != MW_SUCCESS) return code;
  desc.levels = levels_of(&desc, levels);
  code = mw_cuda_array_new(context->device, &desc, &array);
  if (code != MW_SUCCESS) return code;
  *out = host_handle_new(HOST_MIPMAP, context->id, array);
  host_handle_set_note(HOST_MIPMAP, *out, flags);
  return MW_SUCCESS;
}

/* `array` is borrowed. */
static int get_level(const void *handle, mw_cuda_array *array, unsigned level, cudaArray_t *out) {
  mw_cuda_array *part;
  int code = mw_cuda_array_level(array, level, &part);
  if (code != MW_SUCCESS) return code;
  uint64_t key = level_key(handle, level);
  mw_cuda_array *known = host_handle_find_key(HOST_ARRAY, key);
  *out = host_pointer(key);
  if (known) {
    mw_cuda_array_release(known);
    mw_cuda_array_release(part);
    return MW_SUCCESS;
  }
  host_handle_enter(HOST_ARRAY, host_handle_owner(HOST_MIPMAP, handle), key, part);
  host_handle_set_note(HOST_ARRAY, *out, host_handle_note(HOST_MIPMAP, handle) | HOST_ARRAY_LEVEL);
  return MW_SUCCESS;
}

/* Removes the handles of the mipmapped array and its levels; NULL if it was none. */
static mw_cuda_array *take(const void *handle) {
  mw_cuda_array *array = host_handle_take(HOST_MIPMAP, handle);
  for (unsigned level = 0; array && level < LEVELS; level++)
    mw_cuda_array_release(host_handle_take_key(HOST_ARRAY, level_key(handle, level)));
  return array;
}

cudaMipmappedArray_t host_mipmap_lend(host_context *context, mw_cuda_array *array, unsigned flags) {
  cudaMipmappedArray_t handle = host_handle_new(HOST_MIPMAP, context->id, array);
  host_handle_set_note(HOST_MIPMAP, handle, flags | HOST_ARRAY_LENT);
  return handle;
}

void host_mipmap_take_back(cudaMipmappedArray_t handle) { mw_cuda_array_release(take(handle)); }

static int destroy(const void *handle, int unknown) {
  if (host_handle_note(HOST_MIPMAP, handle) & HOST_ARRAY_LENT)
    return host_fail(MW_INVALID_VALUE,
                     "this mipmapped array is an OpenGL image: it is freed when the image is unmapped");
  mw_cuda_array *array = take(handle);
  if (!array) return host_fail(unknown, "this is not a mipmapped array, or one that was freed");
  int code = mw_cuda_array_free(array);
  mw_cuda_array_release(array);
  return code;
}

/* ---- the runtime API ---- */

static int new_mipmap(host_context *context, cudaMipmappedArray_t *out, const struct cudaChannelFormatDesc *format,
                      struct cudaExtent extent, unsigned levels, unsigned flags) {
  mw_channels channels;
  int code = host_channels(format, &channels);
  return code ? code : make(context, &channels, extent, flags, levels, out);
}

static int get_array(cudaArray_t *out, cudaMipmappedArray_const_t handle, unsigned level) {
  mw_cuda_array *array;
  int code = host_mipmap(handle, &array);
  if (code != MW_SUCCESS) return code;
  code = get_level(handle, array, level, out);
  mw_cuda_array_release(array);
  return code;
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmap, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned levels, unsigned flags) {
  HOST_RUNTIME(new_mipmap(context, mipmap, desc, extent, levels, flags));
}
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *array, cudaMipmappedArray_const_t mipmap, unsigned level) {
  return host_end(get_array(array, mipmap, level));
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap) {
  return host_end(mipmap ? destroy(mipmap, MW_INVALID_VALUE) : MW_SUCCESS);
}

/* ---- the driver API ---- */

static int create(host_context *context, CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels) {
  mw_channels channels;
  if (!desc) return host_fail(MW_INVALID_VALUE, "there is no descriptor");
  int code = host_format(desc->Format, desc->NumChannels, &channels);
  const struct cudaExtent extent = {desc->Width, desc->Height, desc->Depth};
  return code ? code : make(context, &channels, extent, desc->Flags, levels, out);
}

static int get_driver_array(CUarray *out, CUmipmappedArray handle, unsigned level) {
  mw_cuda_array *array;
  int code = find(handle, &array);
  if (code != MW_SUCCESS) return code;
  code = get_level(handle, array, level, out);
  mw_cuda_array_release(array);
  return code;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *mipmap, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels) {
  HOST_DRIVER(create(context, mipmap, desc, levels));
}
CUresult cuMipmappedArrayGetLevel(CUarray *array, CUmipmappedArray mipmap, unsigned level) {
  HOST_DRIVER(get_driver_array(array, mipmap, level));
}
CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap) { HOST_DRIVER(destroy(mipmap, MW_INVALID_RESOURCE_HANDLE)); }
