/* Conversion of an image's pixels to texels: grey or four channels, bytes or floats. */
#include "base/base.h"

#include <string.h>

typedef struct pixel {
  unsigned char x, y, z, w;
} pixel;

static pixel read_pixel(const unsigned char *at, int channels) {
  if (channels == 1) return (pixel){at[0], at[0], at[0], 255};
  return (pixel){at[0], at[1], at[2], channels == 4 ? at[3] : 255};
}

static double grey_of(pixel p) {
  if (p.x == p.y && p.y == p.z) return p.x;
  return 0.299 * p.x + 0.587 * p.y + 0.114 * p.z; /* ITU-R BT.601 */
}

int mw_image_texels(int width, int height, int channels, const unsigned char *pixels, const mw_type *dtype,
                    void *texels) {
  static const char *const names[] = {"uchar", "uchar4", "float", "float4"};
  enum { UCHAR, UCHAR4, FLOAT, FLOAT4, NONE } format = UCHAR;
  while (format < NONE && mw_dtype(names[format]) != dtype) format++;
  if (format == NONE)
    return fail(MW_NOT_SUPPORTED, "the texels of a picture are uchar, uchar4, float or float4, not %s", dtype->name);
  if (channels != 1 && channels != 3 && channels != 4)
    return fail(MW_INVALID_VALUE, "a picture has 1, 3 or 4 channels, not %d", channels);
  size_t count = (size_t)width * (size_t)height;
  unsigned char *bytes = texels;
  float *floats = texels;
  for (size_t i = 0; i < count; i++) {
    pixel p = read_pixel(pixels + i * (size_t)channels, channels);
    const float four[] = {(float)p.x / 255, (float)p.y / 255, (float)p.z / 255, (float)p.w / 255};
    switch (format) {
    case UCHAR: bytes[i] = (unsigned char)(grey_of(p) + 0.5); break;
    case UCHAR4: memcpy(bytes + 4 * i, &p, sizeof p); break;
    case FLOAT: floats[i] = (float)(grey_of(p) / 255); break;
    default: memcpy(floats + 4 * i, four, sizeof four); break;
    }
  }
  return MW_SUCCESS;
}
