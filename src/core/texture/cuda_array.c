/* CUDA arrays: memory for textures and surfaces, in one buffer.
 *
 * The layout, which is private to the device, is row-major: texels, rows, slices (depth, layers or faces), then level
 * after level. A row begins at a multiple of ROW_ALIGN, a level at a multiple of LEVEL_ALIGN. */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_ALIGN = 32, LEVEL_ALIGN = 256 };

/* The largest sizes in texels. (CUDA C++ Programming Guide, technical specifications, compute capability 8.0) A device
   that reports limits of its own has those. */
typedef struct limits {
  size_t width, height, depth, layers;
} limits;

static const limits most[] = {
    [MW_CUDA_ARRAY_1D] = {131072, 1, 1, 1},
    [MW_CUDA_ARRAY_2D] = {131072, 65536, 1, 1},
    [MW_CUDA_ARRAY_3D] = {16384, 16384, 16384, 1},
    [MW_CUDA_ARRAY_1D_LAYERED] = {32768, 1, 1, 2048},
    [MW_CUDA_ARRAY_2D_LAYERED] = {32768, 32768, 1, 2048},
    [MW_CUDA_ARRAY_CUBEMAP] = {32768, 32768, 1, 1},
    [MW_CUDA_ARRAY_CUBEMAP_LAYERED] = {32768, 32768, 1, 341},
};

const char *mw_cuda_array_kind_name(mw_cuda_array_kind kind) {
  static const char *const names[] = {
      [MW_CUDA_ARRAY_1D] = "a 1-D CUDA array",
      [MW_CUDA_ARRAY_2D] = "a 2-D CUDA array",
      [MW_CUDA_ARRAY_3D] = "a 3-D CUDA array",
      [MW_CUDA_ARRAY_1D_LAYERED] = "a layered 1-D CUDA array",
      [MW_CUDA_ARRAY_2D_LAYERED] = "a layered 2-D CUDA array",
      [MW_CUDA_ARRAY_CUBEMAP] = "a cubemap",
      [MW_CUDA_ARRAY_CUBEMAP_LAYERED] = "a layered cubemap",
  };
  return (size_t)kind < MW_COUNT(names) ? names[kind] : "a CUDA array of no kind";
}

static bool is_cubemap(mw_cuda_array_kind kind) {
  return kind == MW_CUDA_ARRAY_CUBEMAP || kind == MW_CUDA_ARRAY_CUBEMAP_LAYERED;
}

/* ---- checking ---- */

static limits limits_of(const mw_device *device, mw_cuda_array_kind kind) {
  const mw_texture_limits *t = &device->properties.textures;
  size_t cube = (size_t)t->texture_cubemap_layered[0], cube_layers = (size_t)t->texture_cubemap_layered[1] / 6;
  const limits own[] = {
      [MW_CUDA_ARRAY_1D] = {(size_t)t->texture_1d, 1, 1, 1},
      [MW_CUDA_ARRAY_2D] = {(size_t)t->texture_2d[0], (size_t)t->texture_2d[1], 1, 1},
      [MW_CUDA_ARRAY_3D] = {(size_t)t->texture_3d[0], (size_t)t->texture_3d[1], (size_t)t->texture_3d[2], 1},
      [MW_CUDA_ARRAY_1D_LAYERED] = {(size_t)t->texture_1d_layered[0], 1, 1, (size_t)t->texture_1d_layered[1]},
      [MW_CUDA_ARRAY_2D_LAYERED] = {(size_t)t->texture_2d_layered[0], (size_t)t->texture_2d_layered[1], 1,
                                    (size_t)t->texture_2d_layered[2]},
      [MW_CUDA_ARRAY_CUBEMAP] = {(size_t)t->texture_cubemap, (size_t)t->texture_cubemap, 1, 1},
      [MW_CUDA_ARRAY_CUBEMAP_LAYERED] = {cube, cube, 1, cube_layers},
  };
  return t->textures ? own[kind] : most[kind];
}

static int check_size(const mw_cuda_array_desc *desc, const char *name, size_t size, size_t limit) {
  const char *kind = mw_cuda_array_kind_name(desc->kind);
  if (limit == 1 && size > 1)
    return fail(MW_INVALID_VALUE, "%s has no %s, and this one was given %zu", kind, name, size);
  if (size > limit)
    return fail(MW_INVALID_VALUE, "%s has a %s of %zu at most, and this one was given %zu", kind, name, limit, size);
  return MW_SUCCESS;
}

static size_t at_least_one(size_t size) { return size ? size : 1; }

static size_t most_levels(const mw_cuda_array_desc *desc) {
  size_t size = desc->width > desc->height ? desc->width : desc->height, levels = 1;
  if (desc->depth > size) size = desc->depth;
  for (; size > 1; size /= 2) levels++;
  return levels;
}

/* Normalise the description, or report what is wrong with it. */
static int complete(const mw_device *device, const mw_cuda_array_desc *given, mw_cuda_array_desc *out) {
  if ((size_t)given->kind >= MW_COUNT(most))
    return fail(MW_INVALID_VALUE, "%d is not a kind of CUDA array", given->kind);
  const limits own = limits_of(device, given->kind), *limit = &own;
  const char *kind = mw_cuda_array_kind_name(given->kind);
  *out = *given;
  if (limit->width == 0)
    return fail(MW_NOT_SUPPORTED, "%s has no %s: devices of compute capability %d.%d had none", device->name,
                kind + strcspn(kind, " ") + 1, device->properties.major, device->properties.minor);
  int code = mw_channels_check(&given->channels);
  if (code != MW_SUCCESS) return code;
  if (given->width == 0) return fail(MW_INVALID_VALUE, "%s needs a width", kind);
  if (is_cubemap(given->kind) && given->height == 0) out->height = given->width;
  if (limit->height > 1 && out->height == 0) return fail(MW_INVALID_VALUE, "%s needs a height", kind);
  if (limit->depth > 1 && given->depth == 0) return fail(MW_INVALID_VALUE, "%s needs a depth", kind);
  if (limit->layers > 1 && given->layers == 0) return fail(MW_INVALID_VALUE, "%s needs a number of layers", kind);
  code = check_size(given, "width", given->width, limit->width);
  if (code == MW_SUCCESS) code = check_size(given, "height", out->height, limit->height);
  if (code == MW_SUCCESS) code = check_size(given, "depth", given->depth, limit->depth);
  if (code == MW_SUCCESS) code = check_size(given, "number of layers", given->layers, limit->layers);
  if (code != MW_SUCCESS) return code;
  if (is_cubemap(given->kind) && out->height != out->width)
    return fail(MW_INVALID_VALUE, "the faces of %s are squares, not %zu by %zu", kind, out->width, out->height);
  out->height = at_least_one(out->height);
  out->depth = at_least_one(out->depth);
  out->layers = at_least_one(out->layers);
  out->levels = at_least_one(out->levels);
  if (out->levels > most_levels(out))
    return fail(MW_INVALID_VALUE, "%zu levels are too many for %s of %zu x %zu x %zu: it can be halved to %zu levels",
                out->levels, kind, out->width, out->height, out->depth, most_levels(out));
  return MW_SUCCESS;
}

/* ---- layout ---- */

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
static size_t halved(size_t size, size_t times) { return at_least_one(size >> times); }

size_t mw_cuda_array_slices(const mw_cuda_array *array, size_t level) {
  const mw_cuda_array_desc *desc = &array->desc;
  return array->levels[level].depth * desc->layers * (is_cubemap(desc->kind) ? 6 : 1);
}

/* The limits above keep all products far below 2^64. Levels after the first are smaller. */
static size_t lay_out(mw_cuda_array *array) {
  const mw_cuda_array_desc *desc = &array->desc;
  size_t end = 0;
  for (size_t i = 0; i < desc->levels; i++) {
    mw_tex_level *level = &array->levels[i];
    *level = (mw_tex_level){.base = end,
                            .width = (uint32_t)halved(desc->width, i),
                            .height = (uint32_t)halved(desc->height, i),
                            .depth = (uint32_t)halved(desc->depth, i)};
    level->row_pitch = round_up(level->width * mw_channels_bytes(&desc->channels), ROW_ALIGN);
    level->slice_pitch = level->row_pitch * level->height;
    end += round_up(level->slice_pitch * mw_cuda_array_slices(array, i), LEVEL_ALIGN);
  }
  return end;
}

/* ---- lifetime ---- */

/* The driver's own array, whose layout is unknown: `bytes` is its size in the layout above. */
static int make_native(mw_device *device, mw_cuda_array *array, size_t bytes) {
  uint64_t handle;
  int code = device->driver->array_new(device->state, &array->desc, &handle);
  if (code == MW_MEMORY_ALLOCATION) {
    (void)mw_device_wait(device);
    code = device->driver->array_new(device->state, &array->desc, &handle);
  }
  if (code != MW_SUCCESS) return code;
  array->native = true;
  array->bytes = bytes;
  array->buffer = mw_buffer_of_handle(device, handle, device->driver->array_free);
  return MW_SUCCESS;
}

int mw_cuda_array_new(mw_device *device, const mw_cuda_array_desc *desc, mw_cuda_array **out) {
  mw_cuda_array_desc whole;
  int code = complete(device, desc, &whole);
  if (code != MW_SUCCESS) return code;
  mw_cuda_array *array = mw_alloc(sizeof *array);
  mw_refs_init(&array->refs);
  array->desc = whole;
  size_t bytes = lay_out(array), first = array->levels[0].slice_pitch * mw_cuda_array_slices(array, 0);
  if (first > MW_TEX_MOST_BYTES)
    code = fail(MW_MEMORY_ALLOCATION, "%s of %zu bytes: there are 8 GiB at most", mw_cuda_array_kind_name(whole.kind),
                first);
  if (code == MW_SUCCESS && device->driver->array_new)
    code = make_native(device, array, bytes);
  else if (code == MW_SUCCESS)
    code = mw_buffer_new(device, bytes, &array->buffer);
  if (code == MW_SUCCESS)
    *out = array;
  else
    free(array);
  return code;
}

int mw_cuda_array_over(mw_device *device, const mw_cuda_array_desc *desc, uint64_t handle,
                       void (*give_back)(void *device, uint64_t handle), mw_cuda_array **out) {
  mw_cuda_array_desc whole;
  int code = complete(device, desc, &whole);
  if (code != MW_SUCCESS) {
    give_back(device->state, handle);
    return code;
  }
  mw_cuda_array *array = mw_alloc(sizeof *array);
  mw_refs_init(&array->refs);
  array->desc = whole;
  array->bytes = lay_out(array);
  array->native = true;
  array->buffer = mw_buffer_of_handle(device, handle, give_back);
  *out = array;
  return MW_SUCCESS;
}

mw_cuda_array *mw_cuda_array_retain(mw_cuda_array *array) {
  mw_refs_take(&array->refs);
  return array;
}

void mw_cuda_array_release(mw_cuda_array *array) {
  if (!array || !mw_refs_drop(&array->refs)) return;
  mw_buffer_release(array->buffer);
  mw_cuda_array_release(array->whole);
  free(array);
}

int mw_cuda_array_free(mw_cuda_array *array) {
  if (array->lent)
    return fail(MW_INVALID_VALUE,
                "this array is an OpenGL image, or a part of one: it is freed when the image is unmapped");
  if (array->whole)
    return fail(MW_INVALID_VALUE,
                "a level of a mipmapped array is freed with the array, and cannot be freed by itself");
  return mw_buffer_free(array->buffer);
}

int mw_cuda_array_level(mw_cuda_array *array, size_t level, mw_cuda_array **out) {
  size_t extent[3];
  int code = mw_cuda_array_extent(array, level, extent);
  if (code != MW_SUCCESS) return code;
  mw_cuda_array *part = mw_alloc(sizeof *part);
  mw_refs_init(&part->refs);
  part->whole = mw_cuda_array_retain(array);
  part->buffer = mw_buffer_retain(array->buffer);
  part->native = array->native;
  part->first = array->first + level;
  part->levels[0] = array->levels[level];
  part->bytes = part->levels[0].slice_pitch * mw_cuda_array_slices(array, level);
  part->desc = array->desc;
  part->desc.width = part->levels[0].width;
  part->desc.height = part->levels[0].height;
  part->desc.depth = part->levels[0].depth;
  part->desc.levels = 1;
  *out = part;
  return MW_SUCCESS;
}

/* ---- facts ---- */

int mw_cuda_array_is_freed(const mw_cuda_array *array) { return mw_buffer_is_freed(array->buffer); }
const mw_cuda_array_desc *mw_cuda_array_describe(const mw_cuda_array *array) { return &array->desc; }
mw_device *mw_cuda_array_device(const mw_cuda_array *array) { return array->buffer->device; }
size_t mw_cuda_array_bytes(const mw_cuda_array *array) {
  return array->native || array->whole ? array->bytes : array->buffer->bytes;
}

int mw_cuda_array_extent(const mw_cuda_array *array, size_t level, size_t extent[3]) {
  if (level >= array->desc.levels)
    return fail(MW_INVALID_VALUE, "there is no level %zu (counted from 0) in %s of %zu level%s", level,
                mw_cuda_array_kind_name(array->desc.kind), array->desc.levels, array->desc.levels == 1 ? "" : "s");
  extent[0] = array->levels[level].width;
  extent[1] = array->levels[level].height;
  extent[2] = mw_cuda_array_slices(array, level);
  return MW_SUCCESS;
}
