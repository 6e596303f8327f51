/* Pictures in files: which format it is, and what all formats have in common. */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* SIZE_MAX where that is too small: the sizes come from files. */
size_t mw_picture_bytes(const mw_picture *picture) {
  size_t bytes;
  if (__builtin_mul_overflow((size_t)picture->width, (size_t)picture->height, &bytes)) return SIZE_MAX;
  return __builtin_mul_overflow(bytes, (size_t)picture->channels, &bytes) ? SIZE_MAX : bytes;
}

int mw_picture_alloc(const char *path, mw_picture *picture) {
  size_t bytes = mw_picture_bytes(picture);
  picture->pixels = bytes < SIZE_MAX ? malloc(bytes) : NULL;
  if (picture->pixels) return MW_SUCCESS;
  return fail(MW_MEMORY_ALLOCATION, "the picture '%s' of %d × %d pixels does not fit in memory", path, picture->width,
              picture->height);
}

static int decode(const char *path, const mw_text *file, mw_picture *out) {
  const char *data = file->data;
  if (file->length == 0) return fail(MW_INVALID_VALUE, "the picture '%s' is an empty file", path);
  if (file->length >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0) return mw_png_decode(path, file, out);
  if (data[0] == 'P' && file->length > 1 && strchr("1234567", data[1])) return mw_netpbm_decode(path, file, out);
  return fail(MW_INVALID_VALUE, "'%s' is not a picture that can be read: it is no PGM, PPM or PNG file", path);
}

int mw_image_read(const char *path, int *width, int *height, int *channels, unsigned char **pixels) {
  mw_text file;
  mw_picture picture = {0};
  int code = mw_file_read_regular(path, &file);
  if (code != MW_SUCCESS) return code;
  code = decode(path, &file, &picture);
  mw_text_free(&file);
  if (code != MW_SUCCESS) return code;
  *width = picture.width;
  *height = picture.height;
  *channels = picture.channels;
  *pixels = picture.pixels;
  return MW_SUCCESS;
}

static int encode(const char *path, const mw_picture *picture, mw_text *out) {
  const char *ending = strrchr(path, '.');
  if (!ending || strchr(ending, '/')) ending = "";
  if (strcasecmp(ending, ".png") == 0) return mw_png_encode(path, picture, out);
  int wanted = strcasecmp(ending, ".pgm") == 0 ? 1 : strcasecmp(ending, ".ppm") == 0 ? 3 : 0;
  if (wanted == 0) {
    return fail(MW_INVALID_VALUE, "cannot tell the format of '%s' from its name: it should end in .pgm, .ppm or .png",
                path);
  }
  if (picture->channels != wanted) {
    return fail(MW_INVALID_VALUE, "'%s' takes %d channel%s, and the picture has %d: write a %s", path, wanted,
                wanted == 1 ? "" : "s", picture->channels,
                picture->channels == 1   ? ".pgm or .png"
                : picture->channels == 3 ? ".ppm or .png"
                                         : ".png");
  }
  return mw_netpbm_encode(picture, out);
}

int mw_image_write(const char *path, int width, int height, int channels, const unsigned char *pixels) {
  mw_picture picture = {width, height, channels, (unsigned char *)pixels};
  if (width < 1 || height < 1)
    return fail(MW_INVALID_VALUE, "a picture has at least 1 × 1 pixels, not %d × %d", width, height);
  if (channels != 1 && channels != 3 && channels != 4) {
    return fail(MW_INVALID_VALUE, "a picture has 1, 3 or 4 channels (grey, RGB, RGBA), not %d", channels);
  }
  mw_text file = {0};
  int code = encode(path, &picture, &file);
  if (code == MW_SUCCESS) code = mw_file_write(path, file.data, file.length);
  mw_text_free(&file);
  return code;
}

void mw_image_release(unsigned char *pixels) { free(pixels); }
