/* OpenGL images as CUDA arrays: one for each layer of a level, or all of them as one mipmapped array.
 *
 * If the mapping is a copy, there is one array for the whole image, made when the first part is requested. Parts are
 * views of it, so that the mipmapped array and the parts share memory, as they do if the driver shares the image
 * itself; only requested texels are fetched. Views are impossible in two cases: a driver's own array (in the hardware's
 * layout) with layers, and a device without arrays of the image's kind. There, parts are separate arrays. */
#include "interop.h"

#include <stdlib.h>

/* ---- array descriptions of images ---- */

static bool is_cubemap(const mw_gl_image *image) { return image->target == GL_TEXTURE_CUBE_MAP; }

/* A layer of a level. */
static mw_cuda_array_desc describe_part(const mw_gl_image *image) {
  bool solid = image->target == GL_TEXTURE_3D;
  return (mw_cuda_array_desc){.kind = solid ? MW_CUDA_ARRAY_3D : MW_CUDA_ARRAY_2D,
                              .channels = image->channels,
                              .width = image->width,
                              .height = image->height,
                              .depth = solid ? image->depth : 0};
}

static mw_cuda_array_desc describe_whole(const mw_gl_context *context, const mw_gl_image *first) {
  mw_cuda_array_desc desc = describe_part(first);
  desc.levels = mw_gl_image_levels(context, first);
  if (is_cubemap(first)) desc.kind = MW_CUDA_ARRAY_CUBEMAP;
  if (first->target == GL_TEXTURE_2D_ARRAY) {
    desc.kind = MW_CUDA_ARRAY_2D_LAYERED;
    desc.layers = first->layers;
  }
  return desc;
}

static int describe(const mw_graphics *graphics, const mw_gl_context *context, unsigned level, mw_gl_image *out) {
  return mw_gl_image_describe(context, graphics->name, graphics->target, (int)level, out);
}

/* ---- moving texels ---- */

/* A whole part as the two sides of a copy. */
static int copy_part(const mw_graphics *graphics, const mw_graphics_part *p, void *texels, bool to_array) {
  const mw_gl_image *image = &p->image;
  size_t row = image->width * (size_t)(image->channels.bits / 8 * image->channels.count);
  mw_box_side array = {.array = p->array};
  if (!p->array) array = (mw_box_side){.array = graphics->whole, .level = p->level, .z = p->layer};
  const mw_box_side memory = {.host = texels, .row_pitch = row, .slice_pitch = row * image->height};
  return mw_copy_box(to_array ? &array : &memory, to_array ? &memory : &array, row, image->height, image->depth);
}

static int store_part(const mw_graphics *graphics, const mw_gl_context *context, const mw_graphics_part *p) {
  void *texels = mw_try_alloc(mw_gl_image_bytes(&p->image), "an image of OpenGL's");
  if (!texels) return MW_MEMORY_ALLOCATION;
  int code = copy_part(graphics, p, texels, false);
  if (code == MW_SUCCESS) code = mw_gl_image_write(context, &p->image, p->layer, texels);
  free(texels);
  return code;
}

int mw_graphics_store_parts(const mw_graphics *graphics, const mw_gl_context *context) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < graphics->part_count && code == MW_SUCCESS; i++)
    code = store_part(graphics, context, &graphics->parts[i]);
  return code;
}

static int fetch(const mw_graphics *graphics, const mw_gl_context *context, const mw_graphics_part *p) {
  if (graphics->flags & MW_GRAPHICS_WRITE_DISCARD) return MW_SUCCESS;
  void *texels = mw_try_alloc(mw_gl_image_bytes(&p->image), "an image of OpenGL's");
  if (!texels) return MW_MEMORY_ALLOCATION;
  int code = mw_gl_image_read(context, &p->image, p->layer, 1, texels);
  if (code == MW_SUCCESS) code = copy_part(graphics, p, texels, true);
  free(texels);
  return code;
}

/* ---- parts ---- */

static mw_graphics_part *find_part(const mw_graphics *graphics, unsigned layer, unsigned level) {
  for (size_t i = 0; i < graphics->part_count; i++)
    if (graphics->parts[i].layer == layer && graphics->parts[i].level == level) return &graphics->parts[i];
  return NULL;
}

static mw_graphics_part *add_part(mw_graphics *graphics, const mw_graphics_part *part) {
  size_t bytes = (graphics->part_count + 1) * sizeof *part;
  graphics->parts = mw_realloc(graphics->parts, bytes);
  graphics->parts[graphics->part_count] = *part;
  return &graphics->parts[graphics->part_count++];
}

void mw_graphics_drop_parts(mw_graphics *graphics) {
  for (size_t i = 0; i < graphics->part_count; i++) {
    if (!graphics->parts[i].array) continue;
    mw_buffer_free(graphics->parts[i].array->buffer);
    mw_cuda_array_release(graphics->parts[i].array);
  }
  if (graphics->whole) mw_buffer_free(graphics->whole->buffer);
  mw_cuda_array_release(graphics->whole);
  free(graphics->parts);
  graphics->whole = NULL;
  graphics->parts = NULL;
  graphics->part_count = 0;
}

static bool has_layers(const mw_cuda_array *array) {
  return array->desc.kind == MW_CUDA_ARRAY_CUBEMAP || array->desc.kind == MW_CUDA_ARRAY_2D_LAYERED;
}

/* Make the array for the whole image. */
static int make_whole(mw_graphics *graphics, const mw_gl_context *context) {
  mw_gl_image first;
  int code = graphics->whole ? MW_SUCCESS : describe(graphics, context, 0, &first);
  if (code != MW_SUCCESS || graphics->whole) return code;
  const mw_cuda_array_desc desc = describe_whole(context, &first);
  code = mw_cuda_array_new(graphics->device, &desc, &graphics->whole);
  if (code == MW_SUCCESS) graphics->whole->lent = true;
  return code;
}

/* A part as an array with memory of its own. */
static int make_apart(const mw_graphics *graphics, mw_graphics_part *p) {
  const mw_cuda_array_desc desc = describe_part(&p->image);
  return mw_cuda_array_new(graphics->device, &desc, &p->array);
}

/* A view of the whole: a level, or the part's layer of it. */
static int make_view(const mw_graphics *graphics, mw_graphics_part *p) {
  int code = mw_cuda_array_level(graphics->whole, p->level, &p->array);
  if (code != MW_SUCCESS || !has_layers(graphics->whole)) return code;
  mw_tex_level *level = &p->array->levels[0];
  level->base += p->layer * level->slice_pitch;
  p->array->desc.kind = MW_CUDA_ARRAY_2D;
  p->array->desc.layers = 1;
  p->array->bytes = level->slice_pitch;
  return MW_SUCCESS;
}

static int make_copy(mw_graphics *graphics, const mw_gl_context *context, mw_graphics_part *p) {
  bool layers = graphics->target == GL_TEXTURE_CUBE_MAP || graphics->target == GL_TEXTURE_2D_ARRAY;
  bool opaque = graphics->device->driver->array_new && layers;
  if (opaque && graphics->whole)
    return fail(MW_NOT_SUPPORTED,
                "layers of an OpenGL image cannot be arrays by themselves here while its mipmapped array exists: "
                "cudaGetMipmappedArrayLevel has them, or unmap it first");
  int code = opaque ? MW_NOT_SUPPORTED : make_whole(graphics, context);
  if (code == MW_NOT_SUPPORTED) return make_apart(graphics, p);
  return code ? code : make_view(graphics, p);
}

static int make_native(const mw_graphics *graphics, mw_graphics_part *p) {
  const mw_driver_graphics *driver = mw_graphics_driver(graphics);
  mw_cuda_array_desc desc = describe_part(&p->image);
  uint64_t handle;
  int code = driver->array(graphics->native, p->layer, p->level, &desc, &handle);
  return code ? code : mw_cuda_array_over(graphics->device, &desc, handle, driver->array_end, &p->array);
}

/* Make the part, or, if its texels are in the whole already, a view of it. Under the lock. */
static int make_part(mw_graphics *graphics, mw_graphics_part *p) {
  mw_gl_context context;
  bool fetched = find_part(graphics, p->layer, p->level) != NULL;
  int code = mw_gl_current(&context);
  if (code == MW_SUCCESS) code = describe(graphics, &context, p->level, &p->image);
  if (code == MW_SUCCESS && p->layer >= p->image.layers)
    code =
        fail(MW_INVALID_VALUE, "there is no layer %u (counted from 0) in an image of %zu", p->layer, p->image.layers);
  if (code != MW_SUCCESS) return code;
  code = graphics->native ? make_native(graphics, p) : make_copy(graphics, &context, p);
  if (code == MW_SUCCESS) p->array->lent = true;
  return code || graphics->native || fetched ? code : fetch(graphics, &context, p);
}

int mw_graphics_array(mw_graphics *graphics, unsigned layer, unsigned level, mw_cuda_array **out) {
  mw_lock(&graphics->lock);
  int code = mw_graphics_check(graphics, true);
  mw_graphics_part new = {.layer = layer, .level = level}, *found = find_part(graphics, layer, level);
  if (code == MW_SUCCESS && (!found || !found->array)) {
    code = make_part(graphics, &new);
    if (code != MW_SUCCESS)
      mw_cuda_array_release(new.array);
    else if (found)
      *found = new;
    else
      found = add_part(graphics, &new);
  }
  if (code == MW_SUCCESS) *out = mw_cuda_array_retain(found->array);
  mw_unlock(&graphics->lock);
  return code;
}

/* ---- the whole ---- */

/* Fetch the parts of a level that were not fetched yet: OpenGL returns all layers at once. */
static int fetch_level(mw_graphics *graphics, const mw_gl_context *context, unsigned level) {
  mw_graphics_part part = {.level = level};
  int code = describe(graphics, context, level, &part.image);
  if (code != MW_SUCCESS) return code;
  size_t bytes = mw_gl_image_bytes(&part.image);
  bool discard = graphics->flags & MW_GRAPHICS_WRITE_DISCARD;
  unsigned char *texels = discard ? NULL : mw_try_alloc(bytes * part.image.layers, "an image of OpenGL's");
  if (!texels && !discard) return MW_MEMORY_ALLOCATION;
  if (texels) code = mw_gl_image_read(context, &part.image, 0, part.image.layers, texels);
  for (; part.layer < part.image.layers && code == MW_SUCCESS; part.layer++) {
    if (find_part(graphics, part.layer, level)) continue;
    if (texels) code = copy_part(graphics, &part, texels + part.layer * bytes, true);
    if (code == MW_SUCCESS) (void)add_part(graphics, &part);
  }
  free(texels);
  return code;
}

static int complete(mw_graphics *graphics, const mw_gl_context *context) {
  if (!graphics->whole && graphics->part_count)
    return fail(MW_NOT_SUPPORTED,
                "layers of this image are mapped as separate arrays, which cannot be part of a mipmapped array "
                "here: unmap the image first");
  int code = make_whole(graphics, context);
  for (unsigned level = 0; code == MW_SUCCESS && level < graphics->whole->desc.levels; level++)
    code = fetch_level(graphics, context, level);
  return code;
}

static int make_native_whole(mw_graphics *graphics, const mw_gl_context *context) {
  const mw_driver_graphics *driver = mw_graphics_driver(graphics);
  mw_gl_image first;
  uint64_t handle;
  int code = describe(graphics, context, 0, &first);
  if (code != MW_SUCCESS) return code;
  const mw_cuda_array_desc desc = describe_whole(context, &first);
  code = driver->mipmap(graphics->native, &desc, &handle);
  if (code == MW_SUCCESS)
    code = mw_cuda_array_over(graphics->device, &desc, handle, driver->array_end, &graphics->whole);
  if (code == MW_SUCCESS) graphics->whole->lent = true;
  return code;
}

int mw_graphics_mipmap(mw_graphics *graphics, mw_cuda_array **out) {
  mw_gl_context context;
  mw_lock(&graphics->lock);
  int code = mw_graphics_check(graphics, true);
  if (code == MW_SUCCESS) code = mw_gl_current(&context);
  if (code == MW_SUCCESS && !graphics->native) code = complete(graphics, &context);
  if (code == MW_SUCCESS && graphics->native && !graphics->whole) code = make_native_whole(graphics, &context);
  if (code == MW_SUCCESS) *out = mw_cuda_array_retain(graphics->whole);
  mw_unlock(&graphics->lock);
  return code;
}
