/* OpenGL interoperability: OpenGL buffers are mapped as memory, images as CUDA arrays (interop_image.c).
 *
 * A driver may share a resource itself. If it cannot, or if the context belongs to another driver, the mapping is a
 * copy: device memory that is filled from GL when the resource is mapped, and written back when it is unmapped. The
 * difference is visible only in time. A part of an image is fetched when its array is requested, and only such parts
 * are written back.
 *
 * Memory and arrays of mappings are `lent`: only the resource frees them. */
#include "interop.h"
#include "core/graph/capture.h"
#include "core/memory/allocation_map.h"

#include <stdlib.h>

#define MAP_FLAGS (MW_GRAPHICS_READ_ONLY | MW_GRAPHICS_WRITE_DISCARD)

/* ---- registering ---- */

static int check_flags(unsigned flags, unsigned known) {
  if ((flags & ~known) == 0 && (flags & MAP_FLAGS) != MAP_FLAGS) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "flags of 0x%x: there are 1 (read only) or 2 (write all, read nothing)%s", flags,
              known == MAP_FLAGS ? "" : ", and for images 4 (surfaces) and 8 (gather)");
}

/* Try to share it by the driver itself; it may be unable to with this context, which is not a failure. */
static int make_native(mw_graphics *graphics) {
  const mw_driver_graphics *driver = mw_graphics_driver(graphics);
  if (!driver) return MW_SUCCESS;
  int code =
      driver->make(graphics->device->state, graphics->name, graphics->target, graphics->flags, &graphics->native);
  return code == MW_INVALID_GRAPHICS_CONTEXT ? MW_SUCCESS : code;
}

static int make(mw_device *device, unsigned name, unsigned target, unsigned flags, mw_graphics **out) {
  mw_graphics *graphics = mw_alloc(sizeof *graphics);
  mw_lock_init(&graphics->lock);
  graphics->device = mw_device_retain(device);
  graphics->name = name;
  graphics->target = target;
  graphics->flags = flags;
  int code = make_native(graphics);
  if (code == MW_SUCCESS)
    *out = graphics;
  else
    mw_graphics_release(graphics);
  return code;
}

int mw_graphics_buffer(mw_device *device, unsigned name, unsigned flags, mw_graphics **out) {
  mw_gl_context context;
  size_t bytes;
  int code = check_flags(flags, MAP_FLAGS);
  if (code == MW_SUCCESS) code = mw_gl_current(&context);
  if (code == MW_SUCCESS) code = mw_gl_buffer_size(&context, name, &bytes);
  return code ? code : make(device, name, 0, flags, out);
}

int mw_graphics_image(mw_device *device, unsigned name, unsigned target, unsigned flags, mw_graphics **out) {
  mw_gl_context context;
  mw_gl_image image;
  int code = check_flags(flags, MAP_FLAGS | MW_GRAPHICS_SURFACE | MW_GRAPHICS_GATHER);
  if (code == MW_SUCCESS) code = mw_gl_current(&context);
  if (code == MW_SUCCESS) code = mw_gl_image_describe(&context, name, target, 0, &image);
  return code ? code : make(device, name, target, flags, out);
}

int mw_graphics_set_flags(mw_graphics *graphics, unsigned flags) {
  int code = check_flags(flags, MAP_FLAGS);
  mw_lock(&graphics->lock);
  if (code == MW_SUCCESS && graphics->mapped)
    code = fail(MW_ALREADY_MAPPED, "the resource is mapped: set its flags before mapping it");
  if (code == MW_SUCCESS && graphics->native) code = mw_graphics_driver(graphics)->set_flags(graphics->native, flags);
  if (code == MW_SUCCESS) graphics->flags = (graphics->flags & ~(unsigned)MAP_FLAGS) | flags;
  mw_unlock(&graphics->lock);
  return code;
}

int mw_graphics_is_mapped(mw_graphics *graphics) {
  mw_lock(&graphics->lock);
  int mapped = graphics->mapped;
  mw_unlock(&graphics->lock);
  return mapped;
}

/* ---- mapping, under the lock ---- */

static int fill(const mw_graphics *graphics, const mw_gl_context *context, mw_buffer *buffer) {
  if (buffer->host) mw_buffer_wrote(buffer, 0, buffer->bytes);
  if (buffer->host) return mw_gl_buffer_read(context, graphics->name, buffer->host, buffer->bytes);
  void *between = mw_try_alloc(buffer->bytes, "a buffer of OpenGL's");
  if (!between) return MW_MEMORY_ALLOCATION;
  int code = mw_gl_buffer_read(context, graphics->name, between, buffer->bytes);
  if (code == MW_SUCCESS) code = mw_buffer_write(buffer, 0, between, buffer->bytes);
  free(between);
  return code;
}

static int map_copy(mw_graphics *graphics) {
  mw_gl_context context;
  mw_gl_image image;
  size_t bytes;
  int code = mw_gl_current(&context);
  if (code == MW_SUCCESS && graphics->target)
    return mw_gl_image_describe(&context, graphics->name, graphics->target, 0, &image);
  if (code == MW_SUCCESS) code = mw_gl_buffer_size(&context, graphics->name, &bytes);
  if (code == MW_SUCCESS && bytes == 0)
    code = fail(MW_INVALID_VALUE, "buffer %u has no storage: call glBufferData first", graphics->name);
  if (code == MW_SUCCESS) code = mw_buffer_new(graphics->device, bytes, &graphics->buffer);
  if (code == MW_SUCCESS && !(graphics->flags & MW_GRAPHICS_WRITE_DISCARD))
    code = fill(graphics, &context, graphics->buffer);
  return code;
}

static int map_native(mw_graphics *graphics, mw_stream *stream) {
  const mw_driver_graphics *driver = mw_graphics_driver(graphics);
  uint64_t address;
  size_t bytes;
  int code = driver->map(stream->state, graphics->native);
  if (code != MW_SUCCESS || graphics->target) return code;
  code = driver->pointer(graphics->native, &address, &bytes);
  if (code != MW_SUCCESS) {
    (void)driver->unmap(stream->state, graphics->native);
    return code;
  }
  graphics->buffer = mw_buffer_of_handle(graphics->device, address, NULL);
  graphics->buffer->bytes = bytes;
  return MW_SUCCESS;
}

static int map(mw_graphics *graphics, mw_stream *stream) {
  if (graphics->mapped) return fail(MW_ALREADY_MAPPED, "resource %u of OpenGL is mapped already", graphics->name);
  int code = graphics->native ? map_native(graphics, stream) : map_copy(graphics);
  if (code == MW_SUCCESS && graphics->buffer) mw_memory_lend(graphics->buffer);
  if (code == MW_SUCCESS) {
    graphics->mapped = true;
  } else {
    mw_buffer_release(graphics->buffer);
    graphics->buffer = NULL;
  }
  return code;
}

/* ---- unmapping, under the lock ---- */

static int store_buffer(const mw_graphics *graphics, const mw_gl_context *context) {
  mw_buffer *buffer = graphics->buffer;
  int code = mw_buffer_use(buffer);
  if (code != MW_SUCCESS) return code;
  void *between = buffer->host ? NULL : mw_try_alloc(buffer->bytes, "a buffer of OpenGL's");
  if (!between && !buffer->host) code = MW_MEMORY_ALLOCATION;
  if (between) code = mw_buffer_read(buffer, 0, between, buffer->bytes);
  if (code == MW_SUCCESS)
    code = mw_gl_buffer_write(context, graphics->name, between ? between : buffer->host, buffer->bytes);
  mw_buffer_unuse(buffer);
  free(between);
  return code;
}

static int store(const mw_graphics *graphics) {
  mw_gl_context context;
  if (graphics->flags & MW_GRAPHICS_READ_ONLY) return MW_SUCCESS;
  int code = mw_gl_current(&context);
  if (code == MW_SUCCESS && graphics->buffer) code = store_buffer(graphics, &context);
  return code ? code : mw_graphics_store_parts(graphics, &context);
}

/* Memory and arrays of the mapping become invalid. */
static void take_back(mw_graphics *graphics) {
  if (graphics->buffer) {
    mw_memory_unlend(graphics->buffer->address);
    mw_buffer_free(graphics->buffer);
    mw_buffer_release(graphics->buffer);
  }
  mw_graphics_drop_parts(graphics);
  graphics->buffer = NULL;
  graphics->mapped = false;
}

/* If GL does not accept the data, the resource stays mapped, so that nothing is lost. */
static int unmap(mw_graphics *graphics, mw_stream *stream) {
  if (!graphics->mapped) return fail(MW_NOT_MAPPED, "resource %u of OpenGL is not mapped", graphics->name);
  int code = graphics->native ? mw_graphics_driver(graphics)->unmap(stream->state, graphics->native) : store(graphics);
  if (code == MW_SUCCESS) take_back(graphics);
  return code;
}

void mw_graphics_release(mw_graphics *graphics) {
  if (!graphics) return;
  if (graphics->mapped) {
    (void)mw_device_wait(graphics->device);
    take_back(graphics);
  }
  if (graphics->native) mw_graphics_driver(graphics)->end(graphics->device->state, graphics->native);
  pthread_mutex_destroy(&graphics->lock);
  mw_device_release(graphics->device);
  free(graphics);
}

/* ---- several at once ---- */

static int check(mw_stream *stream, mw_graphics *const *list, size_t count) {
  if (count == 0) return fail(MW_INVALID_VALUE, "there are no resources to map");
  for (size_t i = 0; i < count; i++) {
    if (list[i]->device != stream->device)
      return fail(MW_INVALID_RESOURCE_HANDLE, "the resource was registered for %s, and the stream is %s's",
                  list[i]->device->name, stream->device->name);
    for (size_t k = 0; k < i; k++)
      if (list[k] == list[i])
        return fail(MW_INVALID_RESOURCE_HANDLE, "resources %zu and %zu of the list are the same", k + 1, i + 1);
  }
  return mw_capture_refuse_wait(stream->device);
}

/* Check that all resources are mapped, or that none is, before changing any. */
static int check_mapped(mw_graphics *const *list, size_t count, bool mapped) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < count && code == MW_SUCCESS; i++) {
    mw_lock(&list[i]->lock);
    if (list[i]->mapped != mapped)
      code = fail(mapped ? MW_NOT_MAPPED : MW_ALREADY_MAPPED, "resource %u of OpenGL is %s", list[i]->name,
                  mapped ? "not mapped" : "mapped already");
    mw_unlock(&list[i]->lock);
  }
  return code;
}

int mw_graphics_map(mw_stream *stream, mw_graphics *const *list, size_t count) {
  int code = check(stream, list, count);
  if (code == MW_SUCCESS) code = check_mapped(list, count, false);
  for (size_t i = 0; i < count && code == MW_SUCCESS; i++) {
    mw_lock(&list[i]->lock);
    code = map(list[i], stream);
    mw_unlock(&list[i]->lock);
    if (code == MW_SUCCESS) continue;
    while (i-- > 0) { /* nothing can have been written yet */
      mw_lock(&list[i]->lock);
      if (list[i]->native) (void)mw_graphics_driver(list[i])->unmap(stream->state, list[i]->native);
      take_back(list[i]);
      mw_unlock(&list[i]->lock);
    }
    break;
  }
  return code;
}

static void nothing(void *context) { (void)context; }

/* Wait for the work that may write to mapped memory: the stream's, and the work that unmapping, as an operation of the
   stream, waits for by the legacy default stream's rule; or all work, if the copies to OpenGL wait for it anyway. */
static int finish(mw_stream *stream, mw_graphics *const *list, size_t count) {
  bool only = true;
  for (size_t i = 0; i < count; i++) only = only && (list[i]->native || (list[i]->buffer && list[i]->buffer->host));
  if (!only) return mw_device_synchronize(stream->device);
  int code = mw_stream_call(stream, nothing, NULL);
  return code ? code : mw_stream_synchronize(stream);
}

int mw_graphics_unmap(mw_stream *stream, mw_graphics *const *list, size_t count) {
  int code = check(stream, list, count), failure = MW_SUCCESS;
  if (code == MW_SUCCESS) code = check_mapped(list, count, true);
  if (code != MW_SUCCESS) return code;
  /* A kernel's failure is reported, but the resource is unmapped nevertheless. */
  failure = finish(stream, list, count);
  if (failure == MW_NOT_READY) return failure;
  mw_error *story = failure ? mw_error_copy(mw_error_last()) : NULL;
  for (size_t i = 0; i < count && code == MW_SUCCESS; i++) {
    mw_lock(&list[i]->lock);
    code = unmap(list[i], stream);
    mw_unlock(&list[i]->lock);
  }
  if (code == MW_SUCCESS && story) code = mw_error_raise(story);
  mw_error_free(story);
  return code;
}

/* ---- what is mapped ---- */

int mw_graphics_check(const mw_graphics *graphics, bool image) {
  if (!graphics->mapped)
    return fail(MW_NOT_MAPPED, "resource %u of OpenGL is not mapped: see cudaGraphicsMapResources", graphics->name);
  if (image && !graphics->target)
    return fail(MW_NOT_MAPPED_AS_ARRAY, "resource %u of OpenGL is a buffer: it has an address and no arrays",
                graphics->name);
  if (!image && graphics->target)
    return fail(MW_NOT_MAPPED_AS_POINTER, "resource %u of OpenGL is an image: it has arrays and no address",
                graphics->name);
  return MW_SUCCESS;
}

int mw_graphics_pointer(mw_graphics *graphics, uint64_t *address, size_t *bytes) {
  mw_lock(&graphics->lock);
  int code = mw_graphics_check(graphics, false);
  if (code == MW_SUCCESS) {
    *address = graphics->buffer->address;
    *bytes = graphics->buffer->bytes;
  }
  mw_unlock(&graphics->lock);
  return code;
}

int mw_graphics_device(unsigned list, size_t i, char name[32]) {
  mw_gl_context context;
  size_t devices = 0, drawing = 0;
  if (list < 1 || list > 3)
    return fail(MW_INVALID_VALUE,
                "%u is not a list of devices: there are 1 (all), 2 (the current frame's), 3 (the next's)", list);
  int code = mw_gl_current(&context);
  if (code != MW_SUCCESS) return code;
  for (; mw_device_list(devices, name) == MW_SUCCESS; devices++)
    if (mw_device_draws(devices, list) && drawing++ == i) return MW_SUCCESS;
  if (drawing == 0) return mw_device_list(i, name);
  return fail(MW_INVALID_DEVICE, "there is no device %zu of OpenGL's: there are %zu, counted from 0", i, drawing);
}
