/* PGM and PPM (http://netpbm.sourceforge.net/doc/pgm.html, ppm.html), 8 bits: numbers between white space, then the
 * samples as text (P2, P3) or as bytes (P5, P6). */
#include "image.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  const char *path;
  const unsigned char *at, *end;
} reader;

static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip_space(reader *in) {
  while (in->at < in->end && (is_space(*in->at) || *in->at == '#')) {
    if (*in->at == '#') {
      while (in->at < in->end && *in->at != '\n' && *in->at != '\r') in->at++;
    } else {
      in->at++;
    }
  }
}

/* `what` completes "… where … should be". */
static int read_number(reader *in, const char *what, int least, int most, int *out) {
  skip_space(in);
  if (in->at == in->end) return fail(MW_INVALID_VALUE, "the picture '%s' ends where %s should be", in->path, what);
  const unsigned char *start = in->at;
  long long value = 0;
  for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
    if (value <= INT_MAX) value = value * 10 + (*in->at - '0');
  }
  if (in->at == start) {
    return fail(MW_INVALID_VALUE, "the picture '%s' has no number where %s should be", in->path, what);
  }
  if (value < least || value > most) {
    return fail(MW_INVALID_VALUE, "the picture '%s' has %.*s as %s: only %d to %d can be read", in->path,
                (int)(in->at - start < 20 ? in->at - start : 20), (const char *)start, what, least, most);
  }
  *out = (int)value;
  return MW_SUCCESS;
}

/* ---- samples ---- */

static unsigned char scale(int sample, int largest) { return (unsigned char)((sample * 255 + largest / 2) / largest); }

static int read_text(reader *in, int largest, size_t count, unsigned char *pixels) {
  for (size_t i = 0; i < count; i++) {
    int sample, code = read_number(in, "a sample", 0, largest, &sample);
    if (code != MW_SUCCESS) return code;
    pixels[i] = scale(sample, largest);
  }
  return MW_SUCCESS;
}

static int read_bytes(reader *in, int largest, size_t count, unsigned char *pixels) {
  memcpy(pixels, in->at, count);
  for (size_t i = 0; i < count && largest < 255; i++) {
    if (pixels[i] > largest) {
      return fail(MW_INVALID_VALUE,
                  "the picture '%s' is damaged: it has a sample of %d, and says that %d is the largest", in->path,
                  pixels[i], largest);
    }
    pixels[i] = scale(pixels[i], largest);
  }
  return MW_SUCCESS;
}

int mw_netpbm_decode(const char *path, const mw_text *file, mw_picture *out) {
  const unsigned char *data = (const unsigned char *)file->data;
  reader in = {path, data + 2, data + file->length};
  char kind = file->data[1];
  int largest, code;
  mw_picture picture = {.channels = kind == '3' || kind == '6' ? 3 : 1};
  bool text = kind == '2' || kind == '3';
  if (!strchr("2356", kind)) {
    return fail(MW_INVALID_VALUE, "'%s' is a netpbm picture of type P%c: only P2, P3, P5 and P6 can be read", path,
                kind);
  }
  if ((code = read_number(&in, "its width", 1, INT_MAX, &picture.width)) != MW_SUCCESS) return code;
  if ((code = read_number(&in, "its height", 1, INT_MAX, &picture.height)) != MW_SUCCESS) return code;
  if ((code = read_number(&in, "its largest sample", 1, 255, &largest)) != MW_SUCCESS) return code;
  if (in.at < in.end && is_space(*in.at)) in.at++; /* one, and only one: the next byte may be a sample */
  /* Check that the file has as many samples before memory is allocated for them. As text, each sample takes at least
     two bytes, except the last one. */
  size_t count = mw_picture_bytes(&picture), there = (size_t)(in.end - in.at);
  size_t room = text ? there / 2 + 1 : there;
  if (count > room) {
    return fail(MW_INVALID_VALUE, "the picture '%s' is cut off: %d × %d pixels are %zu samples, and there can be %zu",
                path, picture.width, picture.height, count, room);
  }
  if ((code = mw_picture_alloc(path, &picture)) != MW_SUCCESS) return code;
  code = (text ? read_text : read_bytes)(&in, largest, count, picture.pixels);
  if (code != MW_SUCCESS)
    free(picture.pixels);
  else
    *out = picture;
  return code;
}

int mw_netpbm_encode(const mw_picture *picture, mw_text *out) {
  enum { HEADER = 64 };
  if (!mw_text_reserve(out, HEADER + mw_picture_bytes(picture), "a picture's file")) return MW_MEMORY_ALLOCATION;
  mw_text_addf(out, "P%d\n%d %d\n255\n", picture->channels == 1 ? 5 : 6, picture->width, picture->height);
  mw_text_add(out, picture->pixels, mw_picture_bytes(picture));
  return MW_SUCCESS;
}
