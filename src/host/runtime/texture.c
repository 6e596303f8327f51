/* Texture references, texture objects and surfaces of the runtime API.
 *
 * A reference is a struct of the host: one that cudaGetTextureReference made for a variable of the program, or one to
 * which mwCudaRegister gave the variable's name. Its filter and address modes take effect with the next binding. */
#include "host/host.h"

/* ---- what is read ---- */

int host_resource_linear(host_context *context, uint64_t address, const mw_channels *channels, size_t bytes,
                         mw_resource *out, mw_array **keep) {
  mw_memory_info info;
  const mw_type *type;
  int code = mw_memory_find(context->device, address, &info);
  if (code == MW_SUCCESS) code = mw_channels_dtype(channels, &type);
  if (code != MW_SUCCESS) return code;
  if (info.kind != MW_MEMORY_DEVICE && info.kind != MW_MEMORY_MANAGED && info.kind != MW_MEMORY_PINNED)
    return host_fail(MW_INVALID_VALUE, "a texture has to be bound to device memory");
  size_t left = (size_t)(info.address + info.bytes - address);
  size_t count = (bytes < left ? bytes : left) / type->size;
  code = mw_memory_array(address, type, 1, &count, keep);
  if (code != MW_SUCCESS) return code;
  *out = (mw_resource){
      .buffer = mw_array_buffer(*keep), .offset = mw_array_offset(*keep), .channels = *channels, .width = count};
  return MW_SUCCESS;
}

int host_resource_pitched(host_context *context, uint64_t address, const mw_channels *channels, size_t width,
                          size_t height, size_t pitch, mw_resource *out, mw_array **keep) {
  size_t texel = (size_t)(channels->bits / 8 * channels->count);
  if (width == 0 || height == 0) return host_fail(MW_INVALID_VALUE, "a texture of %zu x %zu texels", width, height);
  if (pitch % texel || pitch / texel < width)
    return host_fail(MW_INVALID_PITCH_VALUE, "rows of %zu texels of %zu bytes cannot be %zu bytes apart", width, texel,
                     pitch);
  int code = host_resource_linear(context, address, channels, (size_t)-1, out, keep);
  if (code != MW_SUCCESS) return code;
  out->width = width;
  out->height = height;
  out->row_pitch = pitch;
  return MW_SUCCESS;
}

int host_texture_new(const mw_resource *resource, const mw_texture_desc *desc, mw_texture **out) {
  mw_texture_desc own = *desc;
  if (!resource->array && resource->height == 0) {
    own.filter = MW_FILTER_POINT;
    own.normalized = 0;
    for (int i = 0; i < 3; i++) own.address[i] = MW_ADDRESS_CLAMP;
  }
  return mw_texture_new(resource, &own, out);
}

/* ---- references ---- */

typedef struct shown_reference {
  union {
    textureReference texture;
    surfaceReference surface;
  } shown; /* its address is the reference that the host has */
  mw_symbol *symbol;
} shown_reference;

void host_reference_release(void *object) {
  shown_reference *r = object;
  mw_symbol_bind(r->symbol, NULL);
  mw_symbol_release(r->symbol);
  free(r);
}

static int get_reference(host_context *context, const void *name, mw_reference_kind kind, const void **out) {
  mw_symbol *symbol;
  int code = host_symbol(context, name, &symbol);
  if (code != MW_SUCCESS) return code;
  const mw_reference *declared = mw_symbol_reference(symbol);
  if (!declared || declared->kind != kind)
    return host_fail(kind == MW_REFERENCE_TEXTURE ? MW_INVALID_TEXTURE : MW_INVALID_SURFACE, "%s is no %s reference",
                     mw_symbol_name(symbol), kind == MW_REFERENCE_TEXTURE ? "texture" : "surface");
  /* One a variable, so repeated calls return the same. It lives as long as the context's program, as symbols do. */
  shown_reference *known = host_handle_find_key(HOST_REFERENCE, host_address(symbol));
  if (!known) {
    known = calloc(1, sizeof *known);
    if (!known) abort();
    known->symbol = mw_symbol_retain(symbol);
    for (int i = 0; i < 3 && kind == MW_REFERENCE_TEXTURE; i++)
      known->shown.texture.addressMode[i] = cudaAddressModeClamp;
    host_handle_enter(HOST_REFERENCE, context->id, host_address(symbol), known);
    host_handle_enter(HOST_SHOWN, context->id, host_address(known), known);
  }
  *out = &known->shown;
  return MW_SUCCESS;
}

cudaError_t(cudaGetTextureReference)(const struct textureReference **out, const void *symbol) {
  const void *found;
  host_context *context;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = get_reference(context, symbol, MW_REFERENCE_TEXTURE, &found);
  if (code == MW_SUCCESS) *out = found;
  return host_end(code);
}

cudaError_t cudaGetSurfaceReference(const struct surfaceReference **out, const void *symbol) {
  const void *found;
  host_context *context;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = get_reference(context, symbol, MW_REFERENCE_SURFACE, &found);
  if (code == MW_SUCCESS) *out = found;
  return host_end(code);
}

/* The variable that a reference stands for; borrowed. */
static int symbol_of(host_context *context, const void *given, mw_reference_kind kind, mw_symbol **out) {
  int wrong = kind == MW_REFERENCE_TEXTURE ? MW_INVALID_TEXTURE : MW_INVALID_SURFACE;
  const shown_reference *known = host_handle_find_key(HOST_SHOWN, host_address(given));
  if (known) {
    *out = known->symbol;
    return MW_SUCCESS;
  }
  if (!given || !host_is_registered(given))
    return host_fail(wrong, "a reference is what cudaGetTextureReference returns, or a variable that mwCudaRegister "
                            "gave a name to");
  int code = host_symbol(context, given, out);
  if (code != MW_SUCCESS) return code;
  const mw_reference *declared = mw_symbol_reference(*out);
  return declared && declared->kind == kind ? MW_SUCCESS
                                            : host_fail(wrong, "%s is not a %s reference", mw_symbol_name(*out),
                                                        kind == MW_REFERENCE_SURFACE ? "surface" : "texture");
}

static mw_texture_desc description(const struct textureReference *r) {
  mw_texture_desc desc = {.filter = (mw_filter_mode)r->filterMode,
                          .read = MW_READ_AUTO,
                          .normalized = r->normalized != 0,
                          .srgb = r->sRGB != 0,
                          .mip_filter = (mw_filter_mode)r->mipmapFilterMode,
                          .lod_bias = r->mipmapLevelBias,
                          .lod_min = r->minMipmapLevelClamp,
                          .lod_max = r->maxMipmapLevelClamp,
                          .max_anisotropy = (int)r->maxAnisotropy};
  for (int i = 0; i < 3; i++) desc.address[i] = (mw_address_mode)r->addressMode[i];
  return desc;
}

static int bind(mw_symbol *symbol, const struct textureReference *r, const mw_resource *resource, size_t *offset) {
  mw_texture *texture;
  mw_texture_desc desc = description(r);
  int code = host_texture_new(resource, &desc, &texture);
  if (code != MW_SUCCESS) return code;
  code = mw_symbol_bind(symbol, texture);
  if (code == MW_SUCCESS && offset) *offset = mw_texture_offset(texture);
  mw_texture_release(texture);
  return code;
}

/* height 0: linear memory of `size` bytes. */
static int bind_memory(host_context *context, size_t *offset, const struct textureReference *r, const void *address,
                       const struct cudaChannelFormatDesc *format, size_t size, size_t height, size_t pitch) {
  mw_symbol *symbol;
  mw_channels channels;
  mw_resource resource;
  mw_array *keep = NULL;
  int code = symbol_of(context, r, MW_REFERENCE_TEXTURE, &symbol);
  if (code == MW_SUCCESS) code = host_channels(format, &channels);
  if (code != MW_SUCCESS) return code;
  code = height
             ? host_resource_pitched(context, host_address(address), &channels, size, height, pitch, &resource, &keep)
             : host_resource_linear(context, host_address(address), &channels, size, &resource, &keep);
  if (code == MW_SUCCESS) code = bind(symbol, r, &resource, offset);
  mw_array_release(keep);
  return code;
}

/* A descriptor that is given must be the array's. */
static int check_same(const mw_cuda_array *array, const struct cudaChannelFormatDesc *given) {
  mw_channels channels;
  const mw_channels *have = &mw_cuda_array_describe(array)->channels;
  if (!given) return MW_SUCCESS;
  int code = host_channels(given, &channels);
  if (code != MW_SUCCESS) return code;
  bool same = channels.kind == have->kind && channels.bits == have->bits && channels.count == have->count;
  return same ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "the array's texels are not what the descriptor says");
}

static int array_of(const void *handle, mw_cuda_array **out) { return host_array(handle, out); }

/* A CUDA array, or a mipmapped one. */
static int bind_array(host_context *context, const struct textureReference *r, const void *handle,
                      int (*find)(const void *handle, mw_cuda_array **out),
                      const struct cudaChannelFormatDesc *format) {
  mw_symbol *symbol;
  mw_resource resource = {0};
  int code = symbol_of(context, r, MW_REFERENCE_TEXTURE, &symbol);
  if (code == MW_SUCCESS) code = find(handle, &resource.array);
  if (code != MW_SUCCESS) return code;
  code = check_same(resource.array, format);
  if (code == MW_SUCCESS) code = bind(symbol, r, &resource, NULL);
  mw_cuda_array_release(resource.array);
  return code;
}

static int bind_surface(host_context *context, const struct surfaceReference *r, cudaArray_const_t handle,
                        const struct cudaChannelFormatDesc *format) {
  mw_symbol *symbol;
  mw_cuda_array *array;
  mw_texture *surface;
  int code = symbol_of(context, r, MW_REFERENCE_SURFACE, &symbol);
  if (code == MW_SUCCESS) code = host_array(handle, &array);
  if (code != MW_SUCCESS) return code;
  code = check_same(array, format);
  if (code == MW_SUCCESS) code = mw_surface_new(array, 0, &surface);
  if (code == MW_SUCCESS) {
    code = mw_symbol_bind(symbol, surface);
    mw_texture_release(surface);
  }
  mw_cuda_array_release(array);
  return code;
}

static int unbind(host_context *context, const struct textureReference *r) {
  mw_symbol *symbol;
  int code = symbol_of(context, r, MW_REFERENCE_TEXTURE, &symbol);
  return code ? code : mw_symbol_bind(symbol, NULL);
}

static int get_offset(host_context *context, const struct textureReference *r, size_t *offset) {
  mw_symbol *symbol;
  int code = symbol_of(context, r, MW_REFERENCE_TEXTURE, &symbol);
  if (code != MW_SUCCESS) return code;
  mw_texture *bound = mw_symbol_bound(symbol);
  if (!bound) return host_fail(MW_INVALID_TEXTURE_BINDING, "the texture reference is bound to nothing");
  *offset = mw_texture_offset(bound);
  mw_texture_release(bound);
  return MW_SUCCESS;
}

cudaError_t cudaBindTexture(size_t *offset, const struct textureReference *reference, const void *address,
                            const struct cudaChannelFormatDesc *desc, size_t size) {
  HOST_RUNTIME(bind_memory(context, offset, reference, address, desc, size, 0, 0));
}
cudaError_t cudaBindTexture2D(size_t *offset, const struct textureReference *reference, const void *address,
                              const struct cudaChannelFormatDesc *desc, size_t width, size_t height, size_t pitch) {
  HOST_RUNTIME(height ? bind_memory(context, offset, reference, address, desc, width, height, pitch)
                      : host_fail(MW_INVALID_VALUE, "a two-dimensional texture needs at least one row"));
}
cudaError_t cudaBindTextureToArray(const struct textureReference *reference, cudaArray_const_t array,
                                   const struct cudaChannelFormatDesc *desc) {
  HOST_RUNTIME(bind_array(context, reference, array, array_of, desc));
}
cudaError_t cudaBindTextureToMipmappedArray(const struct textureReference *reference, cudaMipmappedArray_const_t mipmap,
                                            const struct cudaChannelFormatDesc *desc) {
  HOST_RUNTIME(bind_array(context, reference, mipmap, host_mipmap, desc));
}
cudaError_t cudaBindSurfaceToArray(const struct surfaceReference *reference, cudaArray_const_t array,
                                   const struct cudaChannelFormatDesc *desc) {
  HOST_RUNTIME(bind_surface(context, reference, array, desc));
}
cudaError_t cudaUnbindTexture(const struct textureReference *reference) { HOST_RUNTIME(unbind(context, reference)); }
cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const struct textureReference *reference) {
  HOST_RUNTIME(get_offset(context, reference, offset));
}
