/* Channel formats of texels, and the corresponding element types. */
#include "texture.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct { mw_channel_kind kind; int bits; const char *name; } formats[] = {
    {MW_CHANNEL_SIGNED, 8, "char"},    {MW_CHANNEL_UNSIGNED, 8, "uchar"},
    {MW_CHANNEL_SIGNED, 16, "short"},  {MW_CHANNEL_UNSIGNED, 16, "ushort"},
    {MW_CHANNEL_SIGNED, 32, "int"},    {MW_CHANNEL_UNSIGNED, 32, "uint"},
    {MW_CHANNEL_FLOAT, 16, "half"},    {MW_CHANNEL_FLOAT, 32, "float"},
};
/* clang-format on */

static const char *find_name(const mw_channels *channels) {
  for (size_t i = 0; i < MW_COUNT(formats); i++)
    if (formats[i].kind == channels->kind && formats[i].bits == channels->bits) return formats[i].name;
  return NULL;
}

int mw_channels_check(const mw_channels *channels) {
  bool counted = channels->count == 1 || channels->count == 2 || channels->count == 4;
  if (counted && find_name(channels)) return MW_SUCCESS;
  return fail(MW_INVALID_CHANNEL_DESCRIPTOR,
              "there are no texels of %d channels of %d bits: textures have 1, 2 or 4 channels, integers of 8, 16 or "
              "32 bits, or floats of 16 or 32",
              channels->count, channels->bits);
}

size_t mw_channels_bytes(const mw_channels *channels) { return (size_t)channels->bits / 8 * (size_t)channels->count; }

/* One component: there is no built-in type half1, and users expect float, not float1. */
mw_channels_text mw_channels_name(const mw_channels *channels) {
  mw_channels_text name;
  const char *scalar = find_name(channels);
  snprintf(name.text, sizeof name.text, channels->count == 1 ? "%s" : "%s%d", scalar ? scalar : "no texel",
           channels->count);
  return name;
}

int mw_channels_dtype(const mw_channels *channels, const mw_type **out) {
  int code = mw_channels_check(channels);
  if (code == MW_SUCCESS) *out = mw_dtype(mw_channels_name(channels).text);
  return code;
}

int mw_channels_of(const mw_type *dtype, mw_channels *out) {
  bool vector = dtype->kind == MW_TYPE_VECTOR;
  const mw_type *scalar = vector ? dtype->element : dtype;
  mw_channels found = {.bits = (int)scalar->size * 8, .count = vector ? (int)dtype->count : 1};
  bool number = true;
  switch (scalar->kind) {
  case MW_TYPE_INT: found.kind = MW_CHANNEL_SIGNED; break;
  case MW_TYPE_UINT: found.kind = MW_CHANNEL_UNSIGNED; break;
  case MW_TYPE_FLOAT: found.kind = MW_CHANNEL_FLOAT; break;
  default: number = false;
  }
  bool counted = found.count == 1 || found.count == 2 || found.count == 4;
  if (!number || !counted || !find_name(&found))
    return fail(MW_INVALID_CHANNEL_DESCRIPTOR,
                "a texture cannot be made of %s: its elements are char, uchar, short, ushort, int, uint, half or "
                "float, one, two or four of them",
                dtype->name);
  *out = found;
  return MW_SUCCESS;
}
