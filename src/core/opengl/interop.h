/* OpenGL resources: declarations shared by interop.c and interop_image.c. */
#ifndef MW_GRAPHICS_H
#define MW_GRAPHICS_H

#include "gl.h"
#include "core/texture/texture.h"

/* A layer of a level of an image that was requested, by itself or with all others. */
typedef struct mw_graphics_part {
  unsigned layer, level;
  mw_gl_image image;
  mw_cuda_array *array; /* its own memory, or a view of the whole; NULL if it was not requested by itself */
} mw_graphics_part;

struct mw_graphics {
  mw_device *device;
  unsigned name, target; /* target 0: a buffer */
  unsigned flags;        /* of registering and of mapping */
  void *native;          /* the driver's, or NULL */
  pthread_mutex_t lock;  /* for what follows */
  bool mapped;
  mw_buffer *buffer;
  mw_graphics_part *parts; /* the parts that were fetched, and are written back */
  size_t part_count;
  mw_cuda_array *whole; /* all levels and layers, or NULL */
};

static inline const mw_driver_graphics *mw_graphics_driver(const mw_graphics *graphics) {
  return graphics->device->driver->graphics;
}

/* Check that the resource is mapped and of that kind. Under the lock, as the next two. */
int mw_graphics_check(const mw_graphics *graphics, bool image);
int mw_graphics_store_parts(const mw_graphics *graphics, const mw_gl_context *context);
void mw_graphics_drop_parts(mw_graphics *graphics);

#endif
