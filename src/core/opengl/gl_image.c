/* OpenGL's images: levels of textures, and renderbuffers; their texel formats, and transfers.
 *
 * The formats are those that CUDA shares: one, two or four channels of 8, 16 or 32 bits, integers, normalised or
 * floats. All state that a transfer depends on is set during the transfer and restored afterwards. */
#include "gl.h"

#include <stdlib.h>
#include <string.h>

/* ---- formats ---- */

enum {
  RED = 0x1903,
  RG = 0x8227,
  RGBA = 0x1908,
  RED_INTEGER = 0x8d94,
  RG_INTEGER = 0x8228,
  RGBA_INTEGER = 0x8d99,
  LUMINANCE = 0x1909,
  ALPHA = 0x1906,
  LUMINANCE_ALPHA = 0x190a,
};

typedef struct format {
  unsigned internal;
  signed char kind, bits, channels; /* kind: mw_channel_kind */
  unsigned transfer;
} format;

#define U MW_CHANNEL_UNSIGNED
#define S MW_CHANNEL_SIGNED
#define F MW_CHANNEL_FLOAT
/* clang-format off */
static const format formats[] = {
    {RED, U, 8, 1, RED},             {RG, U, 8, 2, RG},               {RGBA, U, 8, 4, RGBA},           /* unsized */
    {0x8229, U, 8, 1, RED},          {0x822b, U, 8, 2, RG},           {0x8058, U, 8, 4, RGBA},         /* …8 */
    {0x822a, U, 16, 1, RED},         {0x822c, U, 16, 2, RG},          {0x805b, U, 16, 4, RGBA},        /* …16 */
    {0x822d, F, 16, 1, RED},         {0x822f, F, 16, 2, RG},          {0x881a, F, 16, 4, RGBA},        /* …16F */
    {0x822e, F, 32, 1, RED},         {0x8230, F, 32, 2, RG},          {0x8814, F, 32, 4, RGBA},        /* …32F */
    {0x8231, S, 8, 1, RED_INTEGER},  {0x8237, S, 8, 2, RG_INTEGER},   {0x8d8e, S, 8, 4, RGBA_INTEGER}, /* …8I */
    {0x8232, U, 8, 1, RED_INTEGER},  {0x8238, U, 8, 2, RG_INTEGER},   {0x8d7c, U, 8, 4, RGBA_INTEGER}, /* …8UI */
    {0x8233, S, 16, 1, RED_INTEGER}, {0x8239, S, 16, 2, RG_INTEGER},  {0x8d88, S, 16, 4, RGBA_INTEGER},
    {0x8234, U, 16, 1, RED_INTEGER}, {0x823a, U, 16, 2, RG_INTEGER},  {0x8d76, U, 16, 4, RGBA_INTEGER},
    {0x8235, S, 32, 1, RED_INTEGER}, {0x823b, S, 32, 2, RG_INTEGER},  {0x8d82, S, 32, 4, RGBA_INTEGER},
    {0x8236, U, 32, 1, RED_INTEGER}, {0x823c, U, 32, 2, RG_INTEGER},  {0x8d70, U, 32, 4, RGBA_INTEGER},
    /* of the fixed pipeline: luminance, alpha, both, intensity */
    {LUMINANCE, U, 8, 1, LUMINANCE}, {ALPHA, U, 8, 1, ALPHA}, {LUMINANCE_ALPHA, U, 8, 2, LUMINANCE_ALPHA}, {0x8049, U, 8, 1, RED},
    {0x8040, U, 8, 1, LUMINANCE},    {0x803c, U, 8, 1, ALPHA},  {0x8045, U, 8, 2, LUMINANCE_ALPHA},  {0x804b, U, 8, 1, RED},
    {0x8042, U, 16, 1, LUMINANCE},   {0x803e, U, 16, 1, ALPHA}, {0x8048, U, 16, 2, LUMINANCE_ALPHA}, {0x804d, U, 16, 1, RED},
    {0x881e, F, 16, 1, LUMINANCE},   {0x881c, F, 16, 1, ALPHA}, {0x881f, F, 16, 2, LUMINANCE_ALPHA}, {0x881d, F, 16, 1, RED},
    {0x8818, F, 32, 1, LUMINANCE},   {0x8816, F, 32, 1, ALPHA}, {0x8819, F, 32, 2, LUMINANCE_ALPHA}, {0x8817, F, 32, 1, RED},
};
/* clang-format on */

static unsigned transfer_type(const format *f) {
  if (f->kind == F) return f->bits == 16 ? 0x140b : 0x1406;
  unsigned type = f->bits == 8 ? 0x1400 : f->bits == 16 ? 0x1402 : 0x1404;
  return type + (f->kind == U);
}

static int set_format(mw_gl_image *image, unsigned internal) {
  for (size_t i = 0; i < MW_COUNT(formats); i++) {
    const format *f = &formats[i];
    if (f->internal != internal) continue;
    image->channels = (mw_channels){(mw_channel_kind)f->kind, f->bits, f->channels};
    image->integers = f->transfer == RED_INTEGER || f->transfer == RG_INTEGER || f->transfer == RGBA_INTEGER;
    image->internal = internal;
    image->format = f->transfer;
    image->type = transfer_type(f);
    return MW_SUCCESS;
  }
  return fail(
      MW_INVALID_VALUE,
      "images of OpenGL's internal format 0x%04x cannot be shared: those with one, two or four channels of 8, 16 "
      "or 32 bits can (GL_R8, GL_RG16F, GL_RGBA32F, GL_RGBA8UI, …)",
      internal);
}

/* ---- state that is restored ---- */

typedef struct setting {
  unsigned name;
  int during;    /* the value for transfers */
  bool embedded; /* OpenGL ES has it too */
} setting;

static const setting store[] = {
    /* GL_PACK_… and GL_UNPACK_…: swapped bytes, bit order, row length, skipped rows, pixels, images, image height */
    {0x0d00, 0, false}, {0x0d01, 0, false}, {0x0d02, 0, true},  {0x0d03, 0, true},
    {0x0d04, 0, true},  {0x0d05, 1, true},  {0x806b, 0, false}, {0x806c, 0, false},
    {0x0cf0, 0, false}, {0x0cf1, 0, false}, {0x0cf2, 0, true},  {0x0cf3, 0, true},
    {0x0cf4, 0, true},  {0x0cf5, 1, true},  {0x806d, 0, true},  {0x806e, 0, true}};

enum { PACK_BUFFER = 0x88eb, UNPACK_BUFFER = 0x88ec, PACK_BINDING = 0x88ed, UNPACK_BINDING = 0x88ef };

typedef struct saved {
  int store[MW_COUNT(store)], pack, unpack;
} saved;

static void save(const mw_gl_context *context, saved *before) {
  const mw_gl *gl = context->gl;
  *before = (saved){0};
  for (size_t i = 0; i < MW_COUNT(store); i++) {
    if (context->embedded && !store[i].embedded) continue;
    before->store[i] = mw_gl_integer(gl, store[i].name);
    gl->PixelStorei(store[i].name, store[i].during);
  }
  if (context->version < 21) return;
  before->pack = mw_gl_integer(gl, PACK_BINDING);
  before->unpack = mw_gl_integer(gl, UNPACK_BINDING);
  gl->BindBuffer(PACK_BUFFER, 0);
  gl->BindBuffer(UNPACK_BUFFER, 0);
}

static void restore(const mw_gl_context *context, const saved *before) {
  const mw_gl *gl = context->gl;
  for (size_t i = 0; i < MW_COUNT(store); i++)
    if (!context->embedded || store[i].embedded) gl->PixelStorei(store[i].name, before->store[i]);
  if (context->version < 21) return;
  gl->BindBuffer(PACK_BUFFER, (unsigned)before->pack);
  gl->BindBuffer(UNPACK_BUFFER, (unsigned)before->unpack);
}

/* ---- what an image is ---- */

unsigned mw_gl_binding(unsigned target) {
  switch (target) {
  case GL_TEXTURE_2D: return 0x8069;
  case GL_TEXTURE_3D: return 0x806a;
  case GL_TEXTURE_RECTANGLE: return 0x84f6;
  case GL_TEXTURE_CUBE_MAP: return 0x8514;
  case GL_TEXTURE_2D_ARRAY: return 0x8c1d;
  case GL_RENDERBUFFER: return 0x8ca7;
  default: return 0;
  }
}

/* OpenGL ES reports the size of a texture from 3.1 on. */
static int check_context(const mw_gl_context *context, unsigned target) {
  int wanted = target == GL_RENDERBUFFER ? 30 : 31;
  if (!context->embedded || context->version >= wanted) return MW_SUCCESS;
  return fail(MW_NOT_SUPPORTED, "OpenGL ES before %d.%d, of which this context is, does not tell the size of a %s",
              wanted / 10, wanted % 10, target == GL_RENDERBUFFER ? "renderbuffer" : "texture");
}

enum { WIDTH = 0x1000, HEIGHT = 0x1001, INTERNAL = 0x1003, DEPTH = 0x8071 };

static int describe_renderbuffer(const mw_gl *gl, mw_gl_image *image) {
  enum { RB_WIDTH = 0x8d42, RB_HEIGHT = 0x8d43, RB_INTERNAL = 0x8d44, RB_SAMPLES = 0x8cab };
  int width = 0, height = 0, internal = 0, samples = 0;
  unsigned before = (unsigned)mw_gl_integer(gl, mw_gl_binding(GL_RENDERBUFFER));
  gl->BindRenderbuffer(GL_RENDERBUFFER, image->name);
  gl->GetRenderbufferParameteriv(GL_RENDERBUFFER, RB_WIDTH, &width);
  gl->GetRenderbufferParameteriv(GL_RENDERBUFFER, RB_HEIGHT, &height);
  gl->GetRenderbufferParameteriv(GL_RENDERBUFFER, RB_INTERNAL, &internal);
  gl->GetRenderbufferParameteriv(GL_RENDERBUFFER, RB_SAMPLES, &samples);
  gl->BindRenderbuffer(GL_RENDERBUFFER, before);
  image->width = (size_t)width;
  image->height = (size_t)height;
  if (samples > 0) return fail(MW_INVALID_VALUE, "a renderbuffer of %d samples cannot be shared: resolve it", samples);
  if (image->level > 0) return fail(MW_INVALID_VALUE, "a renderbuffer has one level, 0");
  return set_format(image, (unsigned)internal);
}

static int describe_texture(const mw_gl *gl, mw_gl_image *image) {
  int width = 0, height = 0, depth = 0, internal = 0;
  unsigned target = image->target, before = (unsigned)mw_gl_integer(gl, mw_gl_binding(target));
  unsigned part = target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X : target;
  gl->BindTexture(target, image->name);
  if (mw_gl_error(gl) != 0)
    return fail(MW_INVALID_VALUE, "texture %u is of another target than 0x%04x", image->name, target);
  gl->GetTexLevelParameteriv(part, image->level, WIDTH, &width);
  gl->GetTexLevelParameteriv(part, image->level, HEIGHT, &height);
  gl->GetTexLevelParameteriv(part, image->level, DEPTH, &depth);
  gl->GetTexLevelParameteriv(part, image->level, INTERNAL, &internal);
  gl->BindTexture(target, before);
  if (mw_gl_error(gl) != 0 || width == 0)
    return fail(MW_INVALID_VALUE, "texture %u has no level %d", image->name, image->level);
  image->width = (size_t)width;
  image->height = (size_t)height;
  if (target == GL_TEXTURE_3D) image->depth = (size_t)depth;
  image->layers = target == GL_TEXTURE_CUBE_MAP ? 6 : target == GL_TEXTURE_2D_ARRAY ? (size_t)depth : 1;
  return set_format(image, (unsigned)internal);
}

int mw_gl_image_describe(const mw_gl_context *context, unsigned name, unsigned target, int level, mw_gl_image *out) {
  const mw_gl *gl = context->gl;
  *out = (mw_gl_image){.name = name, .target = target, .level = level, .depth = 1, .layers = 1};
  int code = check_context(context, target);
  if (code != MW_SUCCESS) return code;
  if (!mw_gl_binding(target))
    return fail(
        MW_INVALID_VALUE,
        "target 0x%04x cannot be shared: GL_TEXTURE_2D, _RECTANGLE, _CUBE_MAP, _3D, _2D_ARRAY and GL_RENDERBUFFER "
        "can",
        target);
  if (context->embedded && target == GL_TEXTURE_RECTANGLE)
    return fail(MW_INVALID_VALUE, "OpenGL ES has no rectangles: use GL_TEXTURE_2D, which may have any size");
  bool there = target == GL_RENDERBUFFER ? gl->IsRenderbuffer(name) : gl->IsTexture(name);
  if (!there)
    return fail(MW_INVALID_RESOURCE_HANDLE, "the current OpenGL context has no %s %u",
                target == GL_RENDERBUFFER ? "renderbuffer" : "texture", name);
  return target == GL_RENDERBUFFER ? describe_renderbuffer(gl, out) : describe_texture(gl, out);
}

static size_t halved(size_t size) { return size > 1 ? size / 2 : 1; }

size_t mw_gl_image_levels(const mw_gl_context *context, const mw_gl_image *first) {
  const mw_gl *gl = context->gl;
  if (first->target == GL_RENDERBUFFER || first->target == GL_TEXTURE_RECTANGLE) return 1;
  unsigned target = first->target, before = (unsigned)mw_gl_integer(gl, mw_gl_binding(target));
  unsigned part = target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X : target;
  size_t levels = 1, size[3] = {first->width, first->height, first->depth};
  gl->BindTexture(target, first->name);
  while (size[0] > 1 || size[1] > 1 || size[2] > 1) {
    int width = 0, height = 0, depth = 0, internal = 0, level = first->level + (int)levels;
    for (int i = 0; i < 3; i++) size[i] = halved(size[i]);
    gl->GetTexLevelParameteriv(part, level, WIDTH, &width);
    gl->GetTexLevelParameteriv(part, level, HEIGHT, &height);
    gl->GetTexLevelParameteriv(part, level, DEPTH, &depth);
    gl->GetTexLevelParameteriv(part, level, INTERNAL, &internal);
    size_t slices = target == GL_TEXTURE_3D ? size[2] : target == GL_TEXTURE_2D_ARRAY ? first->layers : (size_t)depth;
    if ((size_t)width != size[0] || (size_t)height != size[1] || (size_t)depth != slices ||
        (unsigned)internal != first->internal)
      break;
    levels++;
  }
  gl->BindTexture(target, before);
  (void)mw_gl_error(gl);
  return levels;
}

size_t mw_gl_image_bytes(const mw_gl_image *image) {
  size_t texel = (size_t)image->channels.bits / 8 * (size_t)image->channels.count;
  return image->width * image->height * image->depth * texel;
}

/* ---- textures ---- */

/* All layers of an array are transferred at once. */
static int read_layers(const mw_gl *gl, const mw_gl_image *image, size_t layer, size_t count, void *out) {
  size_t bytes = mw_gl_image_bytes(image);
  if (count == image->layers) {
    gl->GetTexImage(image->target, image->level, image->format, image->type, out);
    return MW_SUCCESS;
  }
  char *all = mw_try_alloc(bytes * image->layers, "the layers of an image of OpenGL's");
  if (!all) return MW_MEMORY_ALLOCATION;
  gl->GetTexImage(image->target, image->level, image->format, image->type, all);
  memcpy(out, all + layer * bytes, bytes * count);
  free(all);
  return MW_SUCCESS;
}

static int read_texture(const mw_gl *gl, const mw_gl_image *image, size_t layer, size_t count, void *out) {
  unsigned before = (unsigned)mw_gl_integer(gl, mw_gl_binding(image->target));
  int code = MW_SUCCESS;
  gl->BindTexture(image->target, image->name);
  if (image->target == GL_TEXTURE_2D_ARRAY)
    code = read_layers(gl, image, layer, count, out);
  else if (image->target == GL_TEXTURE_CUBE_MAP)
    for (size_t i = 0; i < count; i++)
      gl->GetTexImage(GL_TEXTURE_CUBE_MAP_POSITIVE_X + (unsigned)(layer + i), image->level, image->format, image->type,
                      (char *)out + i * mw_gl_image_bytes(image));
  else
    gl->GetTexImage(image->target, image->level, image->format, image->type, out);
  gl->BindTexture(image->target, before);
  return code;
}

static void write_texture(const mw_gl *gl, const mw_gl_image *image, size_t layer, const void *texels) {
  unsigned target = image->target, before = (unsigned)mw_gl_integer(gl, mw_gl_binding(target));
  int width = (int)image->width, height = (int)image->height;
  gl->BindTexture(target, image->name);
  if (target == GL_TEXTURE_2D_ARRAY)
    gl->TexSubImage3D(target, image->level, 0, 0, (int)layer, width, height, 1, image->format, image->type, texels);
  else if (target == GL_TEXTURE_3D)
    gl->TexSubImage3D(target, image->level, 0, 0, 0, width, height, (int)image->depth, image->format, image->type,
                      texels);
  else
    gl->TexSubImage2D(target == GL_TEXTURE_CUBE_MAP ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + (unsigned)layer : target,
                      image->level, 0, 0, width, height, image->format, image->type, texels);
  gl->BindTexture(target, before);
}

/* ---- both ---- */

static int outcome(const mw_gl *gl, const mw_gl_image *image, const char *what) {
  unsigned error = mw_gl_error(gl);
  if (error == 0) return MW_SUCCESS;
  return fail(MW_UNKNOWN, "OpenGL refuses %s %s %u with error 0x%04x", what,
              image->target == GL_RENDERBUFFER ? "renderbuffer" : "texture", image->name, error);
}

static int read_frames(const mw_gl_context *context, const mw_gl_image *image, size_t layer, size_t count, void *out) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < count && code == MW_SUCCESS; i++)
    code = mw_gl_frame_read(context, image, layer + i, (char *)out + i * mw_gl_image_bytes(image));
  return code;
}

int mw_gl_image_read(const mw_gl_context *context, const mw_gl_image *image, size_t layer, size_t count, void *target) {
  saved before;
  int code = MW_SUCCESS;
  save(context, &before);
  if (image->target == GL_RENDERBUFFER || context->embedded)
    code = read_frames(context, image, layer, count, target);
  else
    code = read_texture(context->gl, image, layer, count, target);
  restore(context, &before);
  return code ? code : outcome(context->gl, image, "to read");
}

int mw_gl_image_write(const mw_gl_context *context, const mw_gl_image *image, size_t layer, const void *source) {
  saved before;
  save(context, &before);
  if (image->target == GL_RENDERBUFFER)
    mw_gl_frame_write(context->gl, image, source);
  else
    write_texture(context->gl, image, layer, source);
  restore(context, &before);
  return outcome(context->gl, image, "to write");
}
