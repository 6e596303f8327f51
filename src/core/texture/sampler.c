/* Samplers: the description of how a texture is read, checked against its memory and written into its record. */
#include "texture.h"

#include <math.h>

/* The record uses the interface's values. */
_Static_assert((int)MW_ADDRESS_WRAP == MW_TEX_ADDRESS_WRAP && (int)MW_ADDRESS_CLAMP == MW_TEX_ADDRESS_CLAMP &&
                   (int)MW_ADDRESS_MIRROR == MW_TEX_ADDRESS_MIRROR && (int)MW_ADDRESS_BORDER == MW_TEX_ADDRESS_BORDER,
               "address modes");
_Static_assert((int)MW_FILTER_LINEAR == MW_TEX_FILTER_LINEAR && (int)MW_CHANNEL_FLOAT == MW_TEX_CHANNEL_FLOAT &&
                   (int)MW_CHANNEL_UNSIGNED == MW_TEX_CHANNEL_UNSIGNED,
               "filters and channels");

static bool is_float(const mw_tex_record *record) { return record->channel_kind == MW_TEX_CHANNEL_FLOAT; }

static int check_modes(const mw_texture_desc *desc) {
  for (int i = 0; i < 3; i++)
    if ((unsigned)desc->address[i] > MW_ADDRESS_BORDER)
      return fail(MW_INVALID_VALUE, "%d is not an address mode", desc->address[i]);
  if ((unsigned)desc->filter > MW_FILTER_LINEAR || (unsigned)desc->mip_filter > MW_FILTER_LINEAR)
    return fail(MW_INVALID_VALUE, "%d is not a filter mode", desc->filter);
  if ((unsigned)desc->read > MW_READ_NORMALIZED) return fail(MW_INVALID_VALUE, "%d is not a read mode", desc->read);
  if (isnan(desc->lod_bias) || isnan(desc->lod_min) || isnan(desc->lod_max))
    return fail(MW_INVALID_VALUE, "a level of detail is not a number");
  return MW_SUCCESS;
}

static int check_read(const mw_texture_desc *desc, mw_read_mode read, const mw_tex_record *record) {
  bool normalized = read == MW_READ_NORMALIZED;
  if (normalized && (is_float(record) || record->channel_bits == 32))
    return fail(MW_INVALID_NORM_SETTING,
                "only integers of 8 or 16 bits can be read as normalized floats, and these texels are %s of %u bits",
                is_float(record) ? "floats" : "integers", record->channel_bits);
  if (desc->srgb && !(normalized && record->channel_kind == MW_TEX_CHANNEL_UNSIGNED && record->channel_bits == 8))
    return fail(MW_INVALID_NORM_SETTING, "only unsigned integers of 8 bits, read as normalized floats, can hold sRGB");
  return MW_SUCCESS;
}

static int check_filter(const mw_texture_desc *desc, mw_read_mode read, const mw_tex_record *record) {
  bool floats = is_float(record) || read == MW_READ_NORMALIZED;
  if (desc->filter == MW_FILTER_LINEAR && record->kind == MW_TEX_LINEAR)
    return fail(MW_INVALID_FILTER_SETTING,
                "linear memory is read by element and cannot be filtered: give the texture an array of two dimensions, "
                "or a CUDA array");
  if ((desc->filter == MW_FILTER_LINEAR || (desc->mip_filter == MW_FILTER_LINEAR && record->level_count > 1)) &&
      !floats)
    return fail(MW_INVALID_FILTER_SETTING,
                "a linear filter gives floats, and these texels are read as integers: read them as normalized floats, "
                "or filter by point");
  return MW_SUCCESS;
}

/* A kind whose coordinates must be normalized, such as a mipmap. */
static int check_coordinates(const mw_texture_desc *desc, const mw_tex_record *record) {
  if (record->kind == MW_TEX_LINEAR && desc->normalized)
    return fail(MW_INVALID_VALUE, "linear memory is read by element: its coordinates cannot be normalized");
  if (record->level_count > 1 && !desc->normalized)
    return fail(MW_INVALID_VALUE, "the coordinates of a mipmap, whose levels differ in size, have to be normalized");
  return MW_SUCCESS;
}

int mw_sampler_apply(const mw_texture_desc *desc, mw_read_mode read, mw_tex_record *record) {
  int code = check_modes(desc);
  if (code == MW_SUCCESS) code = check_read(desc, read, record);
  if (code == MW_SUCCESS) code = check_filter(desc, read, record);
  if (code == MW_SUCCESS) code = check_coordinates(desc, record);
  if (code != MW_SUCCESS) return code;
  for (int i = 0; i < 3; i++) {
    mw_address_mode mode = desc->address[i];
    bool folds = mode == MW_ADDRESS_WRAP || mode == MW_ADDRESS_MIRROR;
    record->address[i] = folds && !desc->normalized ? MW_TEX_ADDRESS_CLAMP : (uint32_t)mode;
  }
  record->filter = desc->filter;
  record->read = read == MW_READ_NORMALIZED ? MW_TEX_READ_NORMALIZED : MW_TEX_READ_ELEMENT;
  record->normalized = desc->normalized != 0;
  record->srgb = desc->srgb != 0;
  record->seamless = desc->seamless != 0;
  for (int i = 0; i < 4; i++) record->border[i] = desc->border[i];
  record->mip_filter = desc->mip_filter;
  record->lod_bias = desc->lod_bias;
  record->lod_min = desc->lod_min;
  record->lod_max = desc->lod_max;
  record->max_anisotropy = desc->max_anisotropy > 0 ? (uint32_t)desc->max_anisotropy : 0;
  return MW_SUCCESS;
}
