/* A picture in memory, and the formats that image.c knows. */
#ifndef MW_PICTURE_H
#define MW_PICTURE_H

#include "base/base.h"

/* Packed bytes, rows from the top; channels 1 (grey), 3 (RGB) or 4 (RGBA). */
typedef struct mw_picture {
  int width, height, channels;
  unsigned char *pixels;
} mw_picture;

/* Each decodes a whole file, whose `path` is for messages, into *out (pixels: yours, free) or fails with what is wrong. */
int mw_netpbm_decode(const char *path, const mw_text *file, mw_picture *out);
int mw_png_decode(const char *path, const mw_text *file, mw_picture *out);

/* Each adds the bytes of a file to *out. Netpbm takes 1 or 3 channels. */
int mw_netpbm_encode(const mw_picture *picture, mw_text *out);
int mw_png_encode(const char *path, const mw_picture *picture, mw_text *out);

/* Room for the pixels of a picture whose sizes are set; MW_MEMORY_ALLOCATION. */
int mw_picture_alloc(const char *path, mw_picture *picture);
size_t mw_picture_bytes(const mw_picture *picture);

#endif
