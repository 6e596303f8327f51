/* OpenGL for interop.c: the functions of the calling thread's current context.
 *
 * Neither OpenGL's headers nor its libraries are needed for building, and no library is loaded: if a thread has a
 * context, the library that made it is already loaded. */
#ifndef MW_GL_H
#define MW_GL_H

#include "base/base.h"

/* X(result, name, parameters), without the prefix gl. */
/* clang-format off */
#define MW_GL_FUNCTIONS(X)                                                                                             \
  X(unsigned, GetError, (void))                                                                                        \
  X(const unsigned char *, GetString, (unsigned name))                                                                 \
  X(void, GetIntegerv, (unsigned name, int *values))                                                                   \
  X(unsigned char, IsEnabled, (unsigned name))                                                                         \
  X(void, Enable, (unsigned name))                                                                                     \
  X(void, Disable, (unsigned name))                                                                                    \
  X(void, Finish, (void))                                                                                              \
  X(unsigned char, IsBuffer, (unsigned buffer))                                                                        \
  X(void, GenBuffers, (int count, unsigned *buffers))                                                                  \
  X(void, DeleteBuffers, (int count, const unsigned *buffers))                                                         \
  X(void, BindBuffer, (unsigned target, unsigned buffer))                                                              \
  X(void, BufferData, (unsigned target, intptr_t size, const void *data, unsigned usage))                              \
  X(void, BufferSubData, (unsigned target, intptr_t offset, intptr_t size, const void *data))                          \
  X(void, GetBufferSubData, (unsigned target, intptr_t offset, intptr_t size, void *data))                             \
  X(void, GetBufferParameteriv, (unsigned target, unsigned name, int *value))                                          \
  X(void, GetBufferParameteri64v, (unsigned target, unsigned name, int64_t *value))                                    \
  X(void *, MapBufferRange, (unsigned target, intptr_t offset, intptr_t size, unsigned access))                        \
  X(unsigned char, UnmapBuffer, (unsigned target))                                                                     \
  X(void, CopyBufferSubData, (unsigned from, unsigned to, intptr_t from_offset, intptr_t to_offset, intptr_t size))    \
  X(unsigned char, IsTexture, (unsigned texture))                                                                      \
  X(void, GenTextures, (int count, unsigned *textures))                                                                \
  X(void, DeleteTextures, (int count, const unsigned *textures))                                                       \
  X(void, BindTexture, (unsigned target, unsigned texture))                                                            \
  X(void, TexParameteri, (unsigned target, unsigned name, int value))                                                  \
  X(void, GetTexLevelParameteriv, (unsigned target, int level, unsigned name, int *value))                             \
  X(void, GetTexImage, (unsigned target, int level, unsigned format, unsigned type, void *texels))                     \
  X(void, TexImage2D, (unsigned target, int level, int internal, int width, int height, int border, unsigned format,   \
                       unsigned type, const void *texels))                                                             \
  X(void, TexSubImage2D, (unsigned target, int level, int x, int y, int width, int height, unsigned format,            \
                          unsigned type, const void *texels))                                                          \
  X(void, TexSubImage3D, (unsigned target, int level, int x, int y, int z, int width, int height, int depth,           \
                          unsigned format, unsigned type, const void *texels))                                         \
  X(void, PixelStorei, (unsigned name, int value))                                                                     \
  X(void, ReadPixels, (int x, int y, int width, int height, unsigned format, unsigned type, void *texels))             \
  X(unsigned char, IsRenderbuffer, (unsigned renderbuffer))                                                            \
  X(void, BindRenderbuffer, (unsigned target, unsigned renderbuffer))                                                  \
  X(void, GetRenderbufferParameteriv, (unsigned target, unsigned name, int *value))                                    \
  X(void, GenFramebuffers, (int count, unsigned *framebuffers))                                                        \
  X(void, DeleteFramebuffers, (int count, const unsigned *framebuffers))                                               \
  X(void, BindFramebuffer, (unsigned target, unsigned framebuffer))                                                    \
  X(void, FramebufferRenderbuffer, (unsigned target, unsigned attachment, unsigned kind, unsigned renderbuffer))       \
  X(void, FramebufferTexture2D, (unsigned target, unsigned attachment, unsigned kind, unsigned texture, int level))    \
  X(void, FramebufferTextureLayer, (unsigned target, unsigned attachment, unsigned texture, int level, int layer))     \
  X(unsigned, CheckFramebufferStatus, (unsigned target))                                                               \
  X(void, BlitFramebuffer, (int x0, int y0, int x1, int y1, int to_x0, int to_y0, int to_x1, int to_y1,                \
                            unsigned mask, unsigned filter))
/* clang-format on */

typedef struct mw_gl {
#define DECLARE(result, name, params) result(*name) params;
  MW_GL_FUNCTIONS(DECLARE)
#undef DECLARE
} mw_gl;

enum {
  GL_BUFFER_OF_ARRAYS = 0x8892,
  GL_TEXTURE_2D = 0x0de1,
  GL_TEXTURE_RECTANGLE = 0x84f5,
  GL_TEXTURE_3D = 0x806f,
  GL_TEXTURE_CUBE_MAP = 0x8513,
  GL_TEXTURE_CUBE_MAP_POSITIVE_X = 0x8515,
  GL_TEXTURE_2D_ARRAY = 0x8c1a,
  GL_RENDERBUFFER = 0x8d41,
};

/* The calling thread's context. */
typedef struct mw_gl_context {
  const mw_gl *gl;
  bool embedded; /* OpenGL ES */
  int version;   /* 32 is 3.2 */
} mw_gl_context;

/* MW_INVALID_GRAPHICS_CONTEXT if none is current. Clears GL's pending errors. */
int mw_gl_current(mw_gl_context *out);
/* The first error since, 0 if there is none; clears all. */
unsigned mw_gl_error(const mw_gl *gl);
int mw_gl_integer(const mw_gl *gl, unsigned name);

/* Buffers. MW_INVALID_RESOURCE_HANDLE if the context has none of that name. read and write transfer all `bytes` and
   preserve bindings. MW_UNKNOWN if GL reports an error. */
int mw_gl_buffer_size(const mw_gl_context *context, unsigned name, size_t *bytes);
int mw_gl_buffer_read(const mw_gl_context *context, unsigned name, void *target, size_t bytes);
int mw_gl_buffer_write(const mw_gl_context *context, unsigned name, const void *source, size_t bytes);

/* ---- images (gl_image.c) ---- */

/* A level of a texture, or a renderbuffer, and the layout of its texels in memory. */
typedef struct mw_gl_image {
  unsigned name, target;
  int level;
  mw_channels channels;
  bool integers; /* channels are integers, not normalised */
  unsigned internal, format, type;
  size_t width, height, depth; /* depth: of a 3-D texture; else 1 */
  size_t layers;               /* of an array, or six faces */
} mw_gl_image;

/* MW_INVALID_RESOURCE_HANDLE as above, MW_INVALID_VALUE for a target, a level or a format that cannot be shared. */
int mw_gl_image_describe(const mw_gl_context *context, unsigned name, unsigned target, int level, mw_gl_image *out);
/* The number of levels from this one, the first, on, as far as each is half as large as the one before. */
size_t mw_gl_image_levels(const mw_gl_context *context, const mw_gl_image *first);
size_t mw_gl_image_bytes(const mw_gl_image *image); /* of one layer */
/* Transfer `count` layers, with rows without gaps. MW_NOT_SUPPORTED if OpenGL ES cannot read the format. */
int mw_gl_image_read(const mw_gl_context *context, const mw_gl_image *image, size_t layer, size_t count, void *target);
int mw_gl_image_write(const mw_gl_context *context, const mw_gl_image *image, size_t layer, const void *source);

/* ---- the same through framebuffers (gl_framebuffer.c), while the transfer state is set ---- */

/* The name of the state variable for a target's binding; 0 for a target that is not supported. */
unsigned mw_gl_binding(unsigned target);
int mw_gl_frame_read(const mw_gl_context *context, const mw_gl_image *image, size_t layer, void *target);
void mw_gl_frame_write(const mw_gl *gl, const mw_gl_image *image, const void *source); /* a renderbuffer */

#endif
