/* Texture and surface references of the driver API: cuTexRef*. A change to a bound reference binds it again, so that
 * the next launch uses it. */
#include "driver.h"

void host_texref_release(void *object) {
  host_texref *r = object;
  if (r->symbol) mw_symbol_bind(r->symbol, NULL);
  mw_symbol_release(r->symbol);
  free(r);
}

static host_texref *make(host_context *context, mw_symbol *symbol) {
  host_texref *r = calloc(1, sizeof *r);
  if (!r) abort();
  r->symbol = symbol;
  r->desc = (mw_texture_desc){.address = {MW_ADDRESS_CLAMP, MW_ADDRESS_CLAMP, MW_ADDRESS_CLAMP}, .lod_max = 1000};
  r->channels = (mw_channels){MW_CHANNEL_FLOAT, 32, 1};
  r->handle = host_handle_new(HOST_TEXREF, context->id, r);
  return r;
}

/* The format in the variable's declaration. */
static void take_declared(host_texref *r, const mw_reference *declared) {
  mw_channels channels;
  if (declared->element && mw_channels_of(declared->element, &channels) == MW_SUCCESS) r->channels = channels;
}

int host_texref_new(host_context *context, host_module *m, const char *name, mw_reference_kind kind,
                    host_texref **out) {
  mw_symbol *symbol;
  int code = mw_module_symbol(m->module, name, &symbol);
  if (code != MW_SUCCESS) return code;
  const mw_reference *declared = mw_symbol_reference(symbol);
  if (!declared || declared->kind != kind) {
    code = host_fail(MW_SYMBOL_NOT_FOUND, "%s is no %s reference", name,
                     kind == MW_REFERENCE_TEXTURE ? "texture" : "surface");
    mw_symbol_release(symbol);
    return code;
  }
  for (size_t i = 0; i < m->reference_count; i++) {
    if (mw_symbol_address(m->references[i]->symbol) != mw_symbol_address(symbol)) continue;
    mw_symbol_release(symbol);
    *out = m->references[i];
    return MW_SUCCESS;
  }
  m->references = realloc(m->references, (m->reference_count + 1) * sizeof *m->references);
  if (!m->references) abort();
  *out = m->references[m->reference_count++] = make(context, symbol);
  if (kind == MW_REFERENCE_TEXTURE) take_declared(*out, declared);
  return MW_SUCCESS;
}

static int get(CUtexref handle, host_texref **out) {
  *out = host_handle_find(HOST_TEXREF, handle);
  return *out ? MW_SUCCESS
              : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a reference, or its module was unloaded");
}

/* ---- binding ---- */

static int bind(host_context *context, host_texref *r, size_t *offset) {
  mw_resource resource = {0};
  mw_array *keep = NULL;
  mw_texture *texture;
  int code = r->array    ? host_driver_array(r->array, &resource.array)
             : r->mipmap ? host_mipmap(r->mipmap, &resource.array)
             : r->height ? host_resource_pitched(context, r->address, &r->channels, r->width, r->height, r->pitch,
                                                 &resource, &keep)
                         : host_resource_linear(context, r->address, &r->channels, r->bytes, &resource, &keep);
  /* A mipmapped array needs normalized coordinates: until the flags set them, the reference is unbound. */
  bool later = resource.array && mw_cuda_array_describe(resource.array)->levels > 1 && !r->desc.normalized;
  if (code == MW_SUCCESS && later) {
    if (r->symbol) code = mw_symbol_bind(r->symbol, NULL);
  } else if (code == MW_SUCCESS) {
    code = host_texture_new(&resource, &r->desc, &texture);
    if (code == MW_SUCCESS) {
      if (r->symbol) code = mw_symbol_bind(r->symbol, texture);
      if (code == MW_SUCCESS && offset) *offset = mw_texture_offset(texture);
      mw_texture_release(texture);
    }
  }
  mw_array_release(keep);
  mw_cuda_array_release(resource.array);
  return code;
}

/* After a change of how it is read: binds it again if it is bound. */
static int changed(host_context *context, host_texref *r) {
  return r->array || r->mipmap || r->address ? bind(context, r, NULL) : MW_SUCCESS;
}

/* An array, or a mipmapped one. */
static int set_array(host_context *context, CUtexref handle, CUarray array, CUmipmappedArray mipmap, unsigned flags) {
  host_texref *r;
  mw_cuda_array *found;
  int code = get(handle, &r);
  if (code == MW_SUCCESS && flags != CU_TRSA_OVERRIDE_FORMAT)
    code = host_fail(MW_INVALID_VALUE, "the flags of cuTexRefSetArray are CU_TRSA_OVERRIDE_FORMAT");
  if (code == MW_SUCCESS) code = mipmap ? host_mipmap(mipmap, &found) : host_driver_array(array, &found);
  if (code != MW_SUCCESS) return code;
  r->channels = mw_cuda_array_describe(found)->channels;
  r->array = array;
  r->mipmap = mipmap;
  r->address = 0;
  mw_cuda_array_release(found);
  return bind(context, r, NULL);
}

static int set_address(host_context *context, size_t *offset, CUtexref handle, CUdeviceptr address, size_t bytes) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  r->array = NULL;
  r->mipmap = NULL;
  r->address = address;
  r->bytes = bytes;
  r->height = 0;
  return bind(context, r, offset);
}

static int set_address_2d(host_context *context, CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *desc,
                          CUdeviceptr address, size_t pitch) {
  host_texref *r;
  mw_channels channels;
  int code = get(handle, &r);
  if (code == MW_SUCCESS) code = host_format(desc->Format, desc->NumChannels, &channels);
  if (code == MW_SUCCESS && desc->Height == 0)
    code = host_fail(MW_INVALID_VALUE, "a two-dimensional texture needs at least one row");
  if (code != MW_SUCCESS) return code;
  r->channels = channels;
  r->array = NULL;
  r->mipmap = NULL;
  r->address = address;
  r->width = desc->Width;
  r->height = desc->Height;
  r->pitch = pitch;
  return bind(context, r, NULL);
}

CUresult cuTexRefSetArray(CUtexref reference, CUarray array, unsigned flags) {
  HOST_DRIVER(set_array(context, reference, array, NULL, flags));
}
CUresult cuTexRefSetMipmappedArray(CUtexref reference, CUmipmappedArray mipmap, unsigned flags) {
  HOST_DRIVER(mipmap ? set_array(context, reference, NULL, mipmap, flags)
                     : host_fail(MW_INVALID_VALUE, "there is no mipmapped array"));
}
CUresult cuTexRefSetAddress(size_t *offset, CUtexref reference, CUdeviceptr address, size_t bytes) {
  HOST_DRIVER(set_address(context, offset, reference, address, bytes));
}
CUresult cuTexRefSetAddress2D(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr address,
                              size_t pitch) {
  HOST_DRIVER(set_address_2d(context, reference, desc, address, pitch));
}

/* ---- how it is read ---- */

static int set_format(CUtexref handle, CUarray_format format, int components) {
  host_texref *r;
  int code = get(handle, &r);
  return code ? code : host_format(format, (unsigned)components, &r->channels);
}

static int set_address_mode(host_context *context, CUtexref handle, int dimension, CUaddress_mode mode) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  if (dimension < 0 || dimension > 2 || (unsigned)mode > CU_TR_ADDRESS_MODE_BORDER)
    return host_fail(MW_INVALID_VALUE, "address mode %d of dimension %d", (int)mode, dimension);
  r->desc.address[dimension] = (mw_address_mode)mode;
  return changed(context, r);
}

static int set_filter(host_context *context, CUtexref handle, CUfilter_mode mode) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  if ((unsigned)mode > CU_TR_FILTER_MODE_LINEAR) return host_fail(MW_INVALID_VALUE, "filter mode %d", (int)mode);
  r->desc.filter = (mw_filter_mode)mode;
  return changed(context, r);
}

/* Whether integers are read as integers is part of the declaration, as in the core. */
static int set_flags(host_context *context, CUtexref handle, unsigned flags) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  if (flags & ~(unsigned)(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB))
    return host_fail(MW_INVALID_VALUE, "0x%x are not valid flags of a texture reference", flags);
  r->flags = flags;
  r->desc.normalized = (flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  r->desc.srgb = (flags & CU_TRSF_SRGB) != 0;
  return changed(context, r);
}

CUresult cuTexRefSetFormat(CUtexref reference, CUarray_format format, int components) {
  HOST_DRIVER(set_format(reference, format, components));
}
CUresult cuTexRefSetAddressMode(CUtexref reference, int dimension, CUaddress_mode mode) {
  HOST_DRIVER(set_address_mode(context, reference, dimension, mode));
}
CUresult cuTexRefSetFilterMode(CUtexref reference, CUfilter_mode mode) {
  HOST_DRIVER(set_filter(context, reference, mode));
}
CUresult cuTexRefSetFlags(CUtexref reference, unsigned flags) { HOST_DRIVER(set_flags(context, reference, flags)); }

/* ---- queries ---- */

#define QUERY(statements)                                                                                              \
  host_context *context;                                                                                               \
  host_texref *r;                                                                                                      \
  int code = host_context_driver(&context);                                                                            \
  if (code == MW_SUCCESS) code = get(reference, &r);                                                                   \
  if (code != MW_SUCCESS) return host_end_driver(code);                                                                \
  statements;                                                                                                          \
  return host_end_driver(code)

CUresult cuTexRefGetAddress(CUdeviceptr *address, CUtexref reference) {
  QUERY(if (r->address) *address = r->address;
        else code = host_fail(MW_INVALID_VALUE, "the reference is not bound to linear memory"));
}
CUresult cuTexRefGetArray(CUarray *array, CUtexref reference) {
  QUERY(if (r->array) *array = r->array;
        else code = host_fail(MW_INVALID_VALUE, "the reference is not bound to an array"));
}
CUresult cuTexRefGetAddressMode(CUaddress_mode *mode, CUtexref reference, int dimension) {
  QUERY(if (dimension >= 0 && dimension < 3) *mode = (CUaddress_mode)r->desc.address[dimension];
        else code = host_fail(MW_INVALID_VALUE, "there is no dimension %d", dimension));
}
CUresult cuTexRefGetFilterMode(CUfilter_mode *mode, CUtexref reference) {
  QUERY(*mode = (CUfilter_mode)r->desc.filter);
}
CUresult cuTexRefGetFormat(CUarray_format *format, int *components, CUtexref reference) {
  QUERY({
    if (format) *format = host_format_of(&r->channels);
    if (components) *components = r->channels.count;
  });
}
CUresult cuTexRefGetFlags(unsigned *flags, CUtexref reference) { QUERY(*flags = r->flags); }

static int set_border(host_context *context, CUtexref handle, const float *color) {
  host_texref *r;
  int code = get(handle, &r);
  if (code == MW_SUCCESS && !color) code = host_fail(MW_INVALID_VALUE, "a border's color is four numbers");
  if (code != MW_SUCCESS) return code;
  memcpy(r->desc.border, color, sizeof r->desc.border);
  return changed(context, r);
}

static int set_anisotropy(host_context *context, CUtexref handle, unsigned most) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  r->desc.max_anisotropy = (int)most;
  return changed(context, r);
}

/* ---- mipmaps ---- */

static int set_mip_filter(host_context *context, CUtexref handle, CUfilter_mode mode) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  if ((unsigned)mode > CU_TR_FILTER_MODE_LINEAR) return host_fail(MW_INVALID_VALUE, "filter mode %d", (int)mode);
  r->desc.mip_filter = (mw_filter_mode)mode;
  return changed(context, r);
}

static int set_bias(host_context *context, CUtexref handle, float bias) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  r->desc.lod_bias = bias;
  return changed(context, r);
}

static int set_clamp(host_context *context, CUtexref handle, float least, float most) {
  host_texref *r;
  int code = get(handle, &r);
  if (code != MW_SUCCESS) return code;
  r->desc.lod_min = least;
  r->desc.lod_max = most;
  return changed(context, r);
}

CUresult cuTexRefSetMipmapFilterMode(CUtexref reference, CUfilter_mode mode) {
  HOST_DRIVER(set_mip_filter(context, reference, mode));
}
CUresult cuTexRefSetMipmapLevelBias(CUtexref reference, float bias) { HOST_DRIVER(set_bias(context, reference, bias)); }
CUresult cuTexRefSetMipmapLevelClamp(CUtexref reference, float least, float most) {
  HOST_DRIVER(set_clamp(context, reference, least, most));
}
CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *mipmap, CUtexref reference) {
  QUERY(if (r->mipmap) *mipmap = r->mipmap;
        else code = host_fail(MW_INVALID_VALUE, "the reference is not bound to a mipmapped array"));
}
CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode *mode, CUtexref reference) {
  QUERY(*mode = (CUfilter_mode)r->desc.mip_filter);
}
CUresult cuTexRefGetMipmapLevelBias(float *bias, CUtexref reference) { QUERY(*bias = r->desc.lod_bias); }
CUresult cuTexRefGetMipmapLevelClamp(float *least, float *most, CUtexref reference) {
  QUERY({
    *least = r->desc.lod_min;
    *most = r->desc.lod_max;
  });
}

CUresult cuTexRefSetBorderColor(CUtexref reference, float *color) {
  HOST_DRIVER(set_border(context, reference, color));
}
CUresult cuTexRefGetBorderColor(float *color, CUtexref reference) {
  QUERY(memcpy(color, r->desc.border, sizeof r->desc.border));
}
CUresult cuTexRefSetMaxAnisotropy(CUtexref reference, unsigned most) {
  HOST_DRIVER(set_anisotropy(context, reference, most));
}
CUresult cuTexRefGetMaxAnisotropy(int *most, CUtexref reference) { QUERY(*most = r->desc.max_anisotropy); }

/* ---- references without a module: they can be set and queried, but no kernel reads them ---- */

static int create(host_context *context, CUtexref *out) {
  *out = make(context, NULL)->handle;
  return MW_SUCCESS;
}

static int destroy(CUtexref handle) {
  host_texref *r;
  int code = get(handle, &r);
  if (code == MW_SUCCESS && r->symbol)
    code = host_fail(MW_INVALID_VALUE, "a module's reference is destroyed with its module");
  if (code != MW_SUCCESS) return code;
  host_handle_take(HOST_TEXREF, handle);
  host_texref_release(r);
  return MW_SUCCESS;
}

CUresult cuTexRefCreate(CUtexref *reference) { HOST_DRIVER(create(context, reference)); }
CUresult cuTexRefDestroy(CUtexref reference) { HOST_DRIVER(destroy(reference)); }

/* ---- surfaces ---- */

static int bind_surface(CUsurfref handle, CUarray array, unsigned flags) {
  host_texref *r;
  mw_cuda_array *found;
  mw_texture *surface;
  int code = get((CUtexref)(void *)handle, &r);
  if (code == MW_SUCCESS && flags != 0) code = host_fail(MW_INVALID_VALUE, "the flags of cuSurfRefSetArray are 0");
  if (code == MW_SUCCESS) code = host_driver_array(array, &found);
  if (code != MW_SUCCESS) return code;
  code = mw_surface_new(found, 0, &surface);
  if (code == MW_SUCCESS) {
    code = mw_symbol_bind(r->symbol, surface);
    if (code == MW_SUCCESS) r->array = array;
    mw_texture_release(surface);
  }
  mw_cuda_array_release(found);
  return code;
}

CUresult cuSurfRefSetArray(CUsurfref reference, CUarray array, unsigned flags) {
  HOST_DRIVER(bind_surface(reference, array, flags));
}
CUresult cuSurfRefGetArray(CUarray *array, CUsurfref reference) {
  return cuTexRefGetArray(array, (CUtexref)(void *)reference);
}
