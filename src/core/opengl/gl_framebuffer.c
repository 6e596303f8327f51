/* Transfers of OpenGL images through framebuffers: for renderbuffers, which can only be accessed so, and for textures
 * of OpenGL ES, which can only read framebuffers.
 *
 * OpenGL ES guarantees reading a framebuffer only as four channels: bytes for normalised formats, else 32-bit numbers.
 * The image's channels are extracted from these, without loss: every half is a float. */
#include "gl.h"

#include <stdlib.h>
#include <string.h>

enum {
  READ_FRAMEBUFFER = 0x8ca8,
  DRAW_FRAMEBUFFER = 0x8ca9,
  READ_BINDING = 0x8caa,
  DRAW_BINDING = 0x8ca6,
  COMPLETE = 0x8cd5,
  COLOR_ATTACHMENT = 0x8ce0,
  COLOR_BUFFER = 0x4000,
  NEAREST = 0x2600,
  MIN_FILTER = 0x2801,
  SCISSOR_TEST = 0x0c11,
  RGBA = 0x1908,
  RGBA_INTEGER = 0x8d99,
};

/* ---- four channels of OpenGL ES ---- */

typedef struct form {
  unsigned format, type;
  size_t bytes; /* of a channel */
} form;

static form form_of(const mw_gl_image *image) {
  enum { BYTES = 0x1401, SHORTS = 0x1403, INTEGERS = 0x1404, NUMBERS = 0x1405, FLOATS = 0x1406 };
  bool is_signed = image->channels.kind == MW_CHANNEL_SIGNED;
  if (image->channels.kind == MW_CHANNEL_FLOAT) return (form){RGBA, FLOATS, 4};
  if (image->integers) return (form){RGBA_INTEGER, is_signed ? INTEGERS : NUMBERS, 4};
  return image->channels.bits == 8 ? (form){RGBA, BYTES, 1} : (form){RGBA, SHORTS, 2};
}

/* The half of a float that was read from a half, so nothing is rounded. */
static uint16_t half_of(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000) return (uint16_t)(sign | 0x7c00 | (magnitude >> 13 & 0x3ff)); /* infinity, NaN */
  if (magnitude >= 0x38800000) return (uint16_t)(sign | (magnitude - 0x38000000) >> 13);
  if (magnitude < 0x33800000) return (uint16_t)sign;
  uint32_t shift = 126 - (magnitude >> 23);
  return (uint16_t)(sign | (0x800000 | (magnitude & 0x7fffff)) >> shift);
}

static void pick(const mw_gl_image *image, const unsigned char *from, unsigned char *to) {
  const form read = form_of(image);
  size_t texels = image->width * image->height, bytes = (size_t)image->channels.bits / 8;
  bool halves = image->channels.kind == MW_CHANNEL_FLOAT && bytes == 2;
  for (size_t i = 0; i < texels; i++)
    for (int c = 0; c < image->channels.count; c++) {
      uint32_t value = 0;
      memcpy(&value, from + (4 * i + (size_t)c) * read.bytes, read.bytes);
      if (halves) value = half_of(value);
      memcpy(to + (i * (size_t)image->channels.count + (size_t)c) * bytes, &value, bytes); /* the low end comes first */
    }
}

static int read_four(const mw_gl *gl, const mw_gl_image *image, void *out) {
  const form read = form_of(image);
  unsigned char *all = mw_try_alloc(image->width * image->height * 4 * read.bytes, "an image of OpenGL's");
  if (!all) return MW_MEMORY_ALLOCATION;
  gl->ReadPixels(0, 0, (int)image->width, (int)image->height, read.format, read.type, all);
  pick(image, all, out);
  free(all);
  return MW_SUCCESS;
}

/* ---- reading ---- */

static void attach(const mw_gl *gl, const mw_gl_image *image, size_t layer) {
  unsigned target = image->target;
  if (target == GL_RENDERBUFFER)
    gl->FramebufferRenderbuffer(READ_FRAMEBUFFER, COLOR_ATTACHMENT, GL_RENDERBUFFER, image->name);
  else if (target == GL_TEXTURE_3D || target == GL_TEXTURE_2D_ARRAY)
    gl->FramebufferTextureLayer(READ_FRAMEBUFFER, COLOR_ATTACHMENT, image->name, image->level, (int)layer);
  else
    gl->FramebufferTexture2D(READ_FRAMEBUFFER, COLOR_ATTACHMENT,
                             target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + (unsigned)layer : target,
                             image->name, image->level);
}

static int read_attached(const mw_gl_context *context, const mw_gl_image *image, void *out) {
  const mw_gl *gl = context->gl;
  if (context->embedded && gl->CheckFramebufferStatus(READ_FRAMEBUFFER) != COMPLETE)
    return fail(
        MW_NOT_SUPPORTED,
        "this context of OpenGL ES cannot give back images of internal format 0x%04x: it could where it renders "
        "to them; one that is registered with cudaGraphicsRegisterFlagsWriteDiscard is only written",
        image->internal);
  if (context->embedded) return read_four(gl, image, out);
  gl->ReadPixels(0, 0, (int)image->width, (int)image->height, image->format, image->type, out);
  return MW_SUCCESS;
}

int mw_gl_frame_read(const mw_gl_context *context, const mw_gl_image *image, size_t layer, void *target) {
  const mw_gl *gl = context->gl;
  unsigned frame, before = (unsigned)mw_gl_integer(gl, READ_BINDING);
  size_t slices = image->target == GL_TEXTURE_3D ? image->depth : 1, bytes = mw_gl_image_bytes(image) / slices;
  int code = MW_SUCCESS;
  gl->GenFramebuffers(1, &frame);
  gl->BindFramebuffer(READ_FRAMEBUFFER, frame);
  for (size_t slice = 0; slice < slices && code == MW_SUCCESS; slice++) {
    attach(gl, image, layer + slice);
    code = read_attached(context, image, (char *)target + slice * bytes);
  }
  gl->BindFramebuffer(READ_FRAMEBUFFER, before);
  gl->DeleteFramebuffers(1, &frame);
  return code;
}

/* ---- writing ---- */

/* The texels are written to a texture of the same format, and copied from there. */
void mw_gl_frame_write(const mw_gl *gl, const mw_gl_image *image, const void *texels) {
  unsigned frames[2], texture, bound = (unsigned)mw_gl_integer(gl, mw_gl_binding(GL_TEXTURE_2D));
  unsigned read = (unsigned)mw_gl_integer(gl, READ_BINDING), draw = (unsigned)mw_gl_integer(gl, DRAW_BINDING);
  int width = (int)image->width, height = (int)image->height;
  bool scissor = gl->IsEnabled(SCISSOR_TEST);
  gl->GenTextures(1, &texture);
  gl->BindTexture(GL_TEXTURE_2D, texture);
  gl->TexParameteri(GL_TEXTURE_2D, MIN_FILTER, NEAREST);
  gl->TexImage2D(GL_TEXTURE_2D, 0, (int)image->internal, width, height, 0, image->format, image->type, texels);
  gl->GenFramebuffers(2, frames);
  gl->BindFramebuffer(READ_FRAMEBUFFER, frames[0]);
  gl->FramebufferTexture2D(READ_FRAMEBUFFER, COLOR_ATTACHMENT, GL_TEXTURE_2D, texture, 0);
  gl->BindFramebuffer(DRAW_FRAMEBUFFER, frames[1]);
  gl->FramebufferRenderbuffer(DRAW_FRAMEBUFFER, COLOR_ATTACHMENT, GL_RENDERBUFFER, image->name);
  if (scissor) gl->Disable(SCISSOR_TEST);
  gl->BlitFramebuffer(0, 0, width, height, 0, 0, width, height, COLOR_BUFFER, NEAREST);
  if (scissor) gl->Enable(SCISSOR_TEST);
  gl->BindFramebuffer(READ_FRAMEBUFFER, read);
  gl->BindFramebuffer(DRAW_FRAMEBUFFER, draw);
  gl->DeleteFramebuffers(2, frames);
  gl->BindTexture(GL_TEXTURE_2D, bound);
  gl->DeleteTextures(1, &texture);
}
