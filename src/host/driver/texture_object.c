/* Texture and surface objects under the driver API's names: the runtime API's objects, with other descriptors. */
#include "driver.h"

/* The flags that were given are saved in the note of an object that was made here: the runtime API's descriptor
   cannot express all of them. */
#define GIVEN 0x80000000u

/* ---- resources ---- */

static int texels_of(CUarray_format format, unsigned components, struct cudaChannelFormatDesc *out) {
  mw_channels channels;
  int code = host_format(format, components, &channels);
  if (code == MW_SUCCESS) *out = host_channel_desc(&channels);
  return code;
}

/* The runtime API's function refuses other kinds of resources. */
static int resource_of(const CUDA_RESOURCE_DESC *given, struct cudaResourceDesc *out) {
  if (!given) return host_fail(MW_INVALID_VALUE, "there is no resource descriptor");
  *out = (struct cudaResourceDesc){.resType = (enum cudaResourceType)given->resType};
  switch (given->resType) {
  case CU_RESOURCE_TYPE_ARRAY: out->res.array.array = given->res.array.hArray; break;
  case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: out->res.mipmap.mipmap = given->res.mipmap.hMipmappedArray; break;
  case CU_RESOURCE_TYPE_LINEAR:
    out->res.linear.devPtr = host_pointer(given->res.linear.devPtr);
    out->res.linear.sizeInBytes = given->res.linear.sizeInBytes;
    return texels_of(given->res.linear.format, given->res.linear.numChannels, &out->res.linear.desc);
  case CU_RESOURCE_TYPE_PITCH2D:
    out->res.pitch2D.devPtr = host_pointer(given->res.pitch2D.devPtr);
    out->res.pitch2D.width = given->res.pitch2D.width;
    out->res.pitch2D.height = given->res.pitch2D.height;
    out->res.pitch2D.pitchInBytes = given->res.pitch2D.pitchInBytes;
    return texels_of(given->res.pitch2D.format, given->res.pitch2D.numChannels, &out->res.pitch2D.desc);
  default: break;
  }
  return MW_SUCCESS;
}

static CUarray_format format_of(const struct cudaChannelFormatDesc *desc, unsigned *components) {
  mw_channels channels = {0};
  (void)host_channels(desc, &channels); /* cannot fail: an object was made of it */
  *components = (unsigned)channels.count;
  return host_format_of(&channels);
}

static void tell_resource(const struct cudaResourceDesc *found, CUDA_RESOURCE_DESC *out) {
  *out = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)found->resType};
  switch (found->resType) {
  case cudaResourceTypeArray: out->res.array.hArray = found->res.array.array; break;
  case cudaResourceTypeMipmappedArray: out->res.mipmap.hMipmappedArray = found->res.mipmap.mipmap; break;
  case cudaResourceTypeLinear:
    out->res.linear.devPtr = host_address(found->res.linear.devPtr);
    out->res.linear.sizeInBytes = found->res.linear.sizeInBytes;
    out->res.linear.format = format_of(&found->res.linear.desc, &out->res.linear.numChannels);
    break;
  case cudaResourceTypePitch2D:
    out->res.pitch2D.devPtr = host_address(found->res.pitch2D.devPtr);
    out->res.pitch2D.width = found->res.pitch2D.width;
    out->res.pitch2D.height = found->res.pitch2D.height;
    out->res.pitch2D.pitchInBytes = found->res.pitch2D.pitchInBytes;
    out->res.pitch2D.format = format_of(&found->res.pitch2D.desc, &out->res.pitch2D.numChannels);
    break;
  default: break;
  }
}

/* ---- how texels are read ---- */

/* Whether the texels are read as numbers from 0 or -1 to 1 unless the flags say otherwise. */
static int is_normalised(const struct cudaResourceDesc *resource, bool *out) {
  mw_channels channels = {0};
  mw_cuda_array *array;
  int code = MW_SUCCESS;
  if (resource->resType == cudaResourceTypeArray || resource->resType == cudaResourceTypeMipmappedArray) {
    code = resource->resType == cudaResourceTypeArray ? host_array(resource->res.array.array, &array)
                                                      : host_mipmap(resource->res.mipmap.mipmap, &array);
    if (code != MW_SUCCESS) return code;
    channels = mw_cuda_array_describe(array)->channels;
    mw_cuda_array_release(array);
  } else if (resource->resType == cudaResourceTypeLinear) {
    code = host_channels(&resource->res.linear.desc, &channels);
  } else if (resource->resType == cudaResourceTypePitch2D) {
    code = host_channels(&resource->res.pitch2D.desc, &channels);
  }
  *out = channels.kind != MW_CHANNEL_FLOAT && channels.bits < 32;
  return code;
}

static int reading_of(const CUDA_TEXTURE_DESC *given, const struct cudaResourceDesc *resource,
                      struct cudaTextureDesc *out) {
  bool normalised = false;
  int code = given ? is_normalised(resource, &normalised)
                   : host_fail(MW_INVALID_VALUE, "there is no texture descriptor: pass a CUDA_TEXTURE_DESC");
  if (code != MW_SUCCESS) return code;
  unsigned flags = given->flags;
  *out = (struct cudaTextureDesc){.filterMode = (enum cudaTextureFilterMode)given->filterMode,
                                  .readMode = normalised && !(flags & CU_TRSF_READ_AS_INTEGER)
                                                  ? cudaReadModeNormalizedFloat
                                                  : cudaReadModeElementType,
                                  .sRGB = (flags & CU_TRSF_SRGB) != 0,
                                  .normalizedCoords = (flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
                                  .maxAnisotropy = given->maxAnisotropy,
                                  .mipmapFilterMode = (enum cudaTextureFilterMode)given->mipmapFilterMode,
                                  .mipmapLevelBias = given->mipmapLevelBias,
                                  .minMipmapLevelClamp = given->minMipmapLevelClamp,
                                  .maxMipmapLevelClamp = given->maxMipmapLevelClamp,
                                  .disableTrilinearOptimization = (flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
                                  .seamlessCubemap = (flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0};
  for (int i = 0; i < 3; i++) out->addressMode[i] = (enum cudaTextureAddressMode)given->addressMode[i];
  memcpy(out->borderColor, given->borderColor, sizeof out->borderColor);
  return MW_SUCCESS;
}

static unsigned flags_of(const struct cudaTextureDesc *found) {
  return (found->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
         (found->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) | (found->sRGB ? CU_TRSF_SRGB : 0u) |
         (found->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
         (found->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
}

static void tell_reading(const struct cudaTextureDesc *found, CUtexObject object, CUDA_TEXTURE_DESC *out) {
  unsigned note = host_handle_note(HOST_TEXTURE, host_pointer(object));
  *out = (CUDA_TEXTURE_DESC){.filterMode = (CUfilter_mode)found->filterMode,
                             .flags = note & GIVEN ? note & ~GIVEN : flags_of(found),
                             .maxAnisotropy = found->maxAnisotropy,
                             .mipmapFilterMode = (CUfilter_mode)found->mipmapFilterMode,
                             .mipmapLevelBias = found->mipmapLevelBias,
                             .minMipmapLevelClamp = found->minMipmapLevelClamp,
                             .maxMipmapLevelClamp = found->maxMipmapLevelClamp};
  for (int i = 0; i < 3; i++) out->addressMode[i] = (CUaddress_mode)found->addressMode[i];
  memcpy(out->borderColor, found->borderColor, sizeof out->borderColor);
}

/* ---- the functions ---- */

static int create_texture(CUtexObject *out, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                          const CUDA_RESOURCE_VIEW_DESC *view) {
  struct cudaResourceDesc source;
  struct cudaTextureDesc how;
  int code = resource_of(resource, &source);
  if (code == MW_SUCCESS) code = reading_of(texture, &source, &how);
  if (code == MW_SUCCESS) code = (int)cudaCreateTextureObject(out, &source, &how, (const void *)view);
  if (code == MW_SUCCESS) host_handle_set_note(HOST_TEXTURE, host_pointer(*out), texture->flags | GIVEN);
  return code;
}

static int create_surface(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource) {
  struct cudaResourceDesc source;
  int code = resource_of(resource, &source);
  return code ? code : (int)cudaCreateSurfaceObject(out, &source);
}

CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                           const CUDA_RESOURCE_VIEW_DESC *view) {
  HOST_THROUGH(create_texture(object, resource, texture, view));
}
CUresult cuTexObjectDestroy(CUtexObject object) { HOST_THROUGH(cudaDestroyTextureObject(object)); }
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject object) {
  struct cudaResourceDesc found;
  HOST_THROUGH_THEN(cudaGetTextureObjectResourceDesc(&found, object),
                    if (code == MW_SUCCESS) tell_resource(&found, resource));
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *texture, CUtexObject object) {
  struct cudaTextureDesc found;
  HOST_THROUGH_THEN(cudaGetTextureObjectTextureDesc(&found, object),
                    if (code == MW_SUCCESS) tell_reading(&found, object, texture));
}
CUresult cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource) {
  HOST_THROUGH(create_surface(object, resource));
}
CUresult cuSurfObjectDestroy(CUsurfObject object) { HOST_THROUGH(cudaDestroySurfaceObject(object)); }
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject object) {
  struct cudaResourceDesc found;
  HOST_THROUGH_THEN(cudaGetSurfaceObjectResourceDesc(&found, object),
                    if (code == MW_SUCCESS) tell_resource(&found, resource));
}
