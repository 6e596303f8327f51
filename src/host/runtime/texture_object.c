/* Texture and surface objects of the runtime API. An object's handle is what kernels take, and its key in the table. */
#include "host/host.h"

typedef struct object {
  mw_texture *texture;
  struct cudaResourceDesc resource; /* as given, for queries */
  struct cudaTextureDesc desc;
} object;

void host_object_release(void *given) {
  object *o = given;
  mw_texture_release(o->texture);
  free(o);
}

static mw_texture_desc description(const struct cudaTextureDesc *d) {
  mw_texture_desc desc = {.filter = (mw_filter_mode)d->filterMode,
                          .read = d->readMode == cudaReadModeNormalizedFloat ? MW_READ_NORMALIZED : MW_READ_ELEMENT,
                          .normalized = d->normalizedCoords != 0,
                          .srgb = d->sRGB != 0,
                          .seamless = d->seamlessCubemap != 0,
                          .mip_filter = (mw_filter_mode)d->mipmapFilterMode,
                          .lod_bias = d->mipmapLevelBias,
                          .lod_min = d->minMipmapLevelClamp,
                          .lod_max = d->maxMipmapLevelClamp,
                          .max_anisotropy = (int)d->maxAnisotropy};
  for (int i = 0; i < 3; i++) desc.address[i] = (mw_address_mode)d->addressMode[i];
  for (int i = 0; i < 4; i++) desc.border[i] = d->borderColor[i];
  return desc;
}

/* The resource in a descriptor; *array and *keep are the caller's to release. */
static int resolve(host_context *context, const struct cudaResourceDesc *given, mw_resource *out, mw_array **keep) {
  mw_channels channels;
  int code;
  if (!given) return host_fail(MW_INVALID_VALUE, "there is no resource descriptor");
  switch (given->resType) {
  case cudaResourceTypeArray: return host_array(given->res.array.array, &out->array);
  case cudaResourceTypeMipmappedArray: return host_mipmap(given->res.mipmap.mipmap, &out->array);
  case cudaResourceTypeLinear:
    code = host_channels(&given->res.linear.desc, &channels);
    return code ? code
                : host_resource_linear(context, host_address(given->res.linear.devPtr), &channels,
                                       given->res.linear.sizeInBytes, out, keep);
  case cudaResourceTypePitch2D:
    code = host_channels(&given->res.pitch2D.desc, &channels);
    return code ? code
                : host_resource_pitched(context, host_address(given->res.pitch2D.devPtr), &channels,
                                        given->res.pitch2D.width, given->res.pitch2D.height,
                                        given->res.pitch2D.pitchInBytes, out, keep);
  default:
    return host_fail(MW_INVALID_VALUE,
                     "a resource of type %d: it is an array, a mipmapped one, linear or pitched memory",
                     (int)given->resType);
  }
}

static int enter(host_context *context, host_kind kind, mw_texture *texture, const struct cudaResourceDesc *resource,
                 const struct cudaTextureDesc *desc, unsigned long long *out) {
  uint64_t handle;
  int code = mw_texture_handle(texture, &handle);
  if (code != MW_SUCCESS) {
    mw_texture_release(texture);
    return code;
  }
  object *o = calloc(1, sizeof *o);
  if (!o) abort();
  o->texture = texture;
  o->resource = *resource;
  if (desc) o->desc = *desc;
  host_handle_enter(kind, context->id, handle, o);
  *out = handle;
  return MW_SUCCESS;
}

static int create_texture(host_context *context, cudaTextureObject_t *out, const struct cudaResourceDesc *resource,
                          const struct cudaTextureDesc *texture, const void *view) {
  static const struct cudaTextureDesc plain;
  mw_resource what = {0};
  mw_array *keep = NULL;
  mw_texture *made;
  if (view) return host_fail(MW_NOT_SUPPORTED, "moonwarp has no resource views: give NULL");
  if (!texture) texture = &plain;
  int code = resolve(context, resource, &what, &keep);
  if (code == MW_SUCCESS) {
    mw_texture_desc desc = description(texture);
    code = host_texture_new(&what, &desc, &made);
    if (code == MW_SUCCESS) code = enter(context, HOST_TEXTURE, made, resource, texture, out);
  }
  mw_array_release(keep);
  mw_cuda_array_release(what.array);
  return code;
}

static int create_surface(host_context *context, cudaSurfaceObject_t *out, const struct cudaResourceDesc *resource) {
  mw_cuda_array *array;
  mw_texture *made;
  if (!resource || resource->resType != cudaResourceTypeArray)
    return host_fail(MW_INVALID_VALUE, "a surface is made of a CUDA array");
  int code = host_array(resource->res.array.array, &array);
  if (code != MW_SUCCESS) return code;
  code = mw_surface_new(array, 0, &made);
  if (code == MW_SUCCESS) code = enter(context, HOST_SURFACE, made, resource, NULL, out);
  mw_cuda_array_release(array);
  return code;
}

static int destroy(host_kind kind, uint64_t handle, const char *what) {
  object *o = host_handle_take_key(kind, handle);
  if (!o) return host_fail(MW_INVALID_VALUE, "this is no %s object, or one that was destroyed", what);
  host_object_release(o);
  return MW_SUCCESS;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *out, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view) {
  HOST_RUNTIME(create_texture(context, out, resource, texture, view));
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t handle) {
  return host_end(destroy(HOST_TEXTURE, handle, "texture"));
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *out, const struct cudaResourceDesc *resource) {
  HOST_RUNTIME(create_surface(context, out, resource));
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t handle) {
  return host_end(destroy(HOST_SURFACE, handle, "surface"));
}

static int find(host_kind kind, unsigned long long handle, const object **out) {
  *out = host_handle_find_key(kind, handle);
  return *out ? MW_SUCCESS
              : host_fail(MW_INVALID_VALUE, "this is not a %s object, or one that was destroyed",
                          kind == HOST_SURFACE ? "surface" : "texture");
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t handle) {
  const object *o;
  int code = find(HOST_TEXTURE, handle, &o);
  if (code == MW_SUCCESS) *resource = o->resource;
  return host_end(code);
}
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t handle) {
  const object *o;
  int code = find(HOST_TEXTURE, handle, &o);
  if (code == MW_SUCCESS) *texture = o->desc;
  return host_end(code);
}
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t handle) {
  const object *o;
  int code = find(HOST_SURFACE, handle, &o);
  if (code == MW_SUCCESS) *resource = o->resource;
  return host_end(code);
}
