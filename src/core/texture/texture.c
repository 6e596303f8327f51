/* Textures and surfaces: the record that a handle points to, in device memory, changed in stream order.
 *
 * While only references are bound to a texture, changing its description makes a new record: launches get the
 * current handle, and work in flight retains the previous record. Once the handle has been exported, the record stays
 * in place and is overwritten by a command of the default stream. When such a texture is released, it queues another
 * command that uses its memory: copies of the handle in device memory cannot be counted, so they stay valid for all
 * work queued until then. */
#include "texture.h"
#include "core/launch/command.h"

#include <stdlib.h>
#include <string.h>

/* ---- the record: the memory ---- */

static const uint32_t kinds[] = {
    [MW_CUDA_ARRAY_1D] = MW_TEX_1D,
    [MW_CUDA_ARRAY_2D] = MW_TEX_2D,
    [MW_CUDA_ARRAY_3D] = MW_TEX_3D,
    [MW_CUDA_ARRAY_1D_LAYERED] = MW_TEX_1D_LAYERED,
    [MW_CUDA_ARRAY_2D_LAYERED] = MW_TEX_2D_LAYERED,
    [MW_CUDA_ARRAY_CUBEMAP] = MW_TEX_CUBEMAP,
    [MW_CUDA_ARRAY_CUBEMAP_LAYERED] = MW_TEX_CUBEMAP_LAYERED,
};

static void set_channels(mw_tex_record *record, const mw_channels *channels) {
  record->channel_kind = channels->kind;
  record->channel_bits = (uint32_t)channels->bits;
  record->channels = (uint32_t)channels->count;
  record->texel_bytes = (uint32_t)mw_channels_bytes(channels);
}

/* Levels first, first+1, … of a CUDA array. */
static void set_levels(mw_tex_record *record, const mw_cuda_array *array, size_t first) {
  const mw_cuda_array_desc *desc = &array->desc;
  record->kind = kinds[desc->kind];
  set_channels(record, &desc->channels);
  record->layers = (uint32_t)desc->layers;
  record->level_count = (uint32_t)(desc->levels - first);
  for (size_t i = first; i < desc->levels; i++) {
    record->levels[i - first] = array->levels[i];
    record->levels[i - first].base += array->buffer->address;
  }
}

/* (CUDA C++ Programming Guide, technical specifications: maximum width of a 1-D texture reference bound to linear
   memory, maximum width, height and pitch of a 2-D one) */
enum { MOST_LINEAR = 1 << 28, MOST_WIDTH = 131072, MOST_HEIGHT = 65000, MOST_PITCH = 2097120 };

static int check_sizes(const mw_resource *resource, size_t texel) {
  const mw_texture_limits *own = &resource->buffer->device->properties.textures;
  int linear = own->textures ? own->texture_1d_linear : MOST_LINEAR;
  int width = own->textures ? own->texture_2d_linear[0] : MOST_WIDTH;
  int height = own->textures ? own->texture_2d_linear[1] : MOST_HEIGHT;
  size_t row = resource->width * texel;
  if (resource->height == 0) {
    if (resource->width <= (size_t)linear) return MW_SUCCESS;
    return fail(MW_INVALID_VALUE, "a texture over linear memory has %d elements at most, this one is to have %zu",
                linear, resource->width);
  }
  if (resource->width == 0 || resource->width > (size_t)width || resource->height > (size_t)height)
    return fail(MW_INVALID_VALUE,
                "a texture over pitched memory has 1 x 1 to %d x %d texels, this one is to have %zu x %zu (width x "
                "height); a CUDA array may have more rows",
                width, height, resource->width, resource->height);
  size_t align = resource->buffer->device->properties.texture_pitch_alignment;
  if (align < texel) align = texel;
  if (resource->row_pitch < row || resource->row_pitch % align || resource->row_pitch > MOST_PITCH)
    return fail(MW_INVALID_PITCH_VALUE,
                "rows of %zu texels of %zu bytes cannot be %zu bytes apart: the pitch is a multiple of %zu, at least a "
                "row and at most %d; memory made by mw.pitched has one that is right, and mw.cuda_array needs none",
                resource->width, texel, resource->row_pitch, align, MOST_PITCH);
  if (resource->row_pitch * resource->height > MW_TEX_MOST_BYTES)
    return fail(MW_INVALID_VALUE, "a texture over %zu rows of %zu bytes: it reads 8 GiB at most", resource->height,
                resource->row_pitch);
  return MW_SUCCESS;
}

static int check_memory(const mw_resource *resource, size_t texel) {
  const mw_buffer *buffer = resource->buffer;
  size_t rows = resource->height ? resource->height - 1 : 0;
  size_t bytes = rows * resource->row_pitch + resource->width * texel;
  if (mw_buffer_is_freed(buffer)) return fail(MW_INVALID_RESOURCE_HANDLE, "a texture over memory that was freed");
  if (resource->offset > buffer->bytes || bytes > buffer->bytes - resource->offset)
    return fail(MW_INVALID_VALUE, "a texture over %zu bytes from byte %zu on goes past the end of %zu bytes of memory",
                bytes, resource->offset, buffer->bytes);
  if ((buffer->address + resource->offset) % texel)
    return fail(MW_INVALID_VALUE, "a texture of %s cannot begin at byte %zu: its address has to be a multiple of %zu",
                mw_channels_name(&resource->channels).text, resource->offset, texel);
  return MW_SUCCESS;
}

/* Linear and pitched textures begin at an aligned address: *offset is the distance from there to the resource in
   bytes. */
static int set_memory(mw_tex_record *record, const mw_resource *resource, size_t *offset) {
  int code = mw_channels_check(&resource->channels);
  if (code != MW_SUCCESS) return code;
  size_t texel = mw_channels_bytes(&resource->channels);
  code = check_sizes(resource, texel);
  if (code == MW_SUCCESS) code = check_memory(resource, texel);
  if (code != MW_SUCCESS) return code;
  uint64_t address = resource->buffer->address + resource->offset;
  size_t align = resource->buffer->device->properties.texture_alignment;
  *offset = align ? address % align : 0;
  set_channels(record, &resource->channels);
  record->kind = resource->height ? MW_TEX_PITCHED : MW_TEX_LINEAR;
  record->layers = record->level_count = 1;
  record->levels[0] = (mw_tex_level){.base = address - *offset,
                                     .row_pitch = resource->row_pitch,
                                     .slice_pitch = resource->row_pitch * resource->height,
                                     .width = (uint32_t)(resource->width + *offset / texel),
                                     .height = resource->height ? (uint32_t)resource->height : 1,
                                     .depth = 1};
  return MW_SUCCESS;
}

/* ---- the record: in device memory ---- */

/* Under the lock. */
static int use(mw_texture *texture, mw_command *command) {
  int code = mw_command_use(command, texture->record);
  if (code == MW_SUCCESS) code = mw_command_use(command, texture->array ? texture->array->buffer : texture->buffer);
  return code;
}

int mw_texture_use(mw_texture *texture, mw_command *command, uint64_t *handle) {
  mw_lock(&texture->lock);
  int code = use(texture, command);
  if (handle) *handle = texture->record->address;
  mw_unlock(&texture->lock);
  return code;
}

void mw_texture_hold(mw_texture *texture, mw_buffer *buffers[MW_TEXTURE_BUFFERS]) {
  mw_lock(&texture->lock);
  buffers[0] = mw_buffer_retain(texture->record);
  buffers[1] = mw_buffer_retain(texture->array ? texture->array->buffer : texture->buffer);
  mw_unlock(&texture->lock);
}

bool mw_texture_is_settled(mw_texture *texture, mw_buffer *buffers[MW_TEXTURE_BUFFERS]) {
  mw_lock(&texture->lock);
  bool settled = texture->exported && !texture->device->driver->texture_new;
  buffers[0] = texture->record;
  buffers[1] = texture->array ? texture->array->buffer : texture->buffer;
  mw_unlock(&texture->lock);
  return settled;
}

/* Handles in device memory stay valid for the work queued until now. */
static void queue_release(mw_texture *texture) {
  mw_device *device = texture->device;
  for (size_t i = 0; i <= texture->before_count; i++) {
    mw_command *command = mw_command_new(NULL, MW_TEXTURE_BUFFERS);
    mw_buffer *record = i < texture->before_count ? texture->before[i] : texture->record;
    int code = record ? mw_command_use(command, record) : MW_INVALID_VALUE;
    if (code == MW_SUCCESS) code = mw_command_use(command, texture->array ? texture->array->buffer : texture->buffer);
    if (code == MW_SUCCESS) code = device->driver->stream_call(device->stream, mw_command_completion(command));
    if (code != MW_SUCCESS) mw_command_end(command);
  }
}

/* Write the record in the default stream, which the others wait for. The command's uses, of memory not freed, last
   until it is done. */
static int queue_record(mw_texture *texture, const mw_tex_record *record) {
  mw_device *device = texture->device;
  mw_command *command = mw_command_new(NULL, MW_TEXTURE_BUFFERS);
  use(texture, command);
  int code = device->driver->fill(device->stream, texture->record->address, record, sizeof *record, 1,
                                  mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}

static int make_native(mw_texture *texture, const mw_tex_record *record, mw_buffer **out) {
  const mw_driver *driver = texture->device->driver;
  mw_cuda_array *array = texture->array ? texture->array : texture->resource.array;
  uint64_t handle, native = array ? array->buffer->address : 0;
  void *device = texture->device->state;
  int code = texture->is_surface
                 ? driver->surface_new(device, native, (int)(array->first + texture->level), &handle)
                 : driver->texture_new(device, record, native, array && array->whole ? (int)array->first : -1, &handle);
  if (code == MW_SUCCESS)
    *out =
        mw_buffer_of_handle(texture->device, handle, texture->is_surface ? driver->surface_free : driver->texture_free);
  return code;
}

/* A driver's texture is immutable: holders of its handle read as before, and later requests get a new handle. */
static void keep_before(mw_texture *texture) {
  texture->before = mw_realloc(texture->before, (texture->before_count + 1) * sizeof *texture->before);
  texture->before[texture->before_count++] = texture->record;
}

/* Make a new record, which no work uses yet, so that it needs no ordering. Work in flight retains the previous one. */
static int renew_record(mw_texture *texture, const mw_tex_record *record) {
  mw_buffer *buffer;
  int code = texture->device->driver->texture_new ? make_native(texture, record, &buffer)
                                                  : mw_buffer_new(texture->device, sizeof *record, &buffer);
  if (code != MW_SUCCESS) return code;
  if (texture->device->driver->texture_new)
    ; /* nothing to do */
  else if (buffer->host)
    memcpy(buffer->host, record, sizeof *record), mw_buffer_wrote(buffer, 0, sizeof *record);
  else
    code = mw_buffer_write(buffer, 0, record, sizeof *record);
  if (code != MW_SUCCESS) {
    mw_buffer_release(buffer);
    return code;
  }
  if (texture->exported)
    keep_before(texture);
  else
    mw_buffer_release(texture->record);
  texture->record = buffer;
  texture->now = *record;
  return MW_SUCCESS;
}

/* ---- lifetime ---- */

static mw_texture *new_texture(mw_device *device) {
  mw_texture *texture = mw_alloc(sizeof *texture);
  mw_refs_init(&texture->refs);
  mw_lock_init(&texture->lock);
  texture->device = device;
  return texture;
}

mw_texture *mw_texture_retain(mw_texture *texture) {
  mw_refs_take(&texture->refs);
  return texture;
}

void mw_texture_release(mw_texture *texture) {
  if (!texture || !mw_refs_drop(&texture->refs)) return;
  if (texture->exported && texture->device->driver->texture_new)
    queue_release(texture);
  else if (texture->exported)
    queue_record(texture, &texture->now); /* unchanged: only for the command's uses */
  mw_buffer_release(texture->record);
  for (size_t i = 0; i < texture->before_count; i++) mw_buffer_release(texture->before[i]);
  free(texture->before);
  mw_cuda_array_release(texture->array);
  mw_buffer_release(texture->buffer);
  pthread_mutex_destroy(&texture->lock);
  free(texture);
}

/* The mode that MW_READ_AUTO means for a texture object. */
static mw_read_mode read_of(const mw_texture_desc *desc, const mw_tex_record *record) {
  if (desc->read != MW_READ_AUTO) return desc->read;
  bool small = record->channel_kind != MW_TEX_CHANNEL_FLOAT && record->channel_bits < 32;
  return small && (desc->filter == MW_FILTER_LINEAR || desc->srgb) ? MW_READ_NORMALIZED : MW_READ_ELEMENT;
}

static int start(mw_texture *texture, const mw_tex_record *record, mw_texture **out) {
  int code = renew_record(texture, record);
  if (code == MW_SUCCESS)
    *out = texture;
  else
    mw_texture_release(texture);
  return code;
}

int mw_texture_new(const mw_resource *resource, const mw_texture_desc *desc, mw_texture **out) {
  if ((resource->array != NULL) + (resource->buffer != NULL) != 1)
    return fail(MW_INVALID_VALUE, "a texture reads a CUDA array or a buffer: one of the two");
  mw_texture *texture = new_texture(resource->array ? mw_cuda_array_device(resource->array) : resource->buffer->device);
  mw_tex_record record = {0};
  int code = MW_SUCCESS;
  texture->resource = *resource;
  texture->desc = *desc;
  if (resource->array && mw_cuda_array_is_freed(resource->array))
    code = fail(MW_INVALID_RESOURCE_HANDLE, "a texture over a CUDA array that was freed");
  else if (resource->array)
    set_levels(&record, resource->array, 0);
  else
    code = set_memory(&record, resource, &texture->offset);
  if (code == MW_SUCCESS) code = mw_sampler_apply(desc, read_of(desc, &record), &record);
  if (code != MW_SUCCESS) {
    mw_texture_release(texture);
    return code;
  }
  if (resource->array)
    texture->array = mw_cuda_array_retain(resource->array);
  else
    texture->buffer = mw_buffer_retain(resource->buffer);
  return start(texture, &record, out);
}

int mw_surface_new(mw_cuda_array *array, size_t level, mw_texture **out) {
  const mw_properties *facts = &array->buffer->device->properties;
  if (facts->textures.textures && !facts->textures.surfaces)
    return fail(MW_NOT_SUPPORTED, "surfaces came with compute capability 2.0, and %s is %d.%d",
                array->buffer->device->name, facts->major, facts->minor);
  size_t extent[3];
  int code = mw_cuda_array_extent(array, level, extent);
  if (code == MW_SUCCESS && mw_cuda_array_is_freed(array))
    code = fail(MW_INVALID_RESOURCE_HANDLE, "a surface over a CUDA array that was freed");
  if (code != MW_SUCCESS) return code;
  mw_texture *texture = new_texture(mw_cuda_array_device(array));
  mw_tex_record record = {0};
  texture->is_surface = true;
  texture->array = mw_cuda_array_retain(array);
  texture->resource.array = array;
  texture->level = level;
  set_levels(&record, array, level);
  record.level_count = 1;
  return start(texture, &record, out);
}

/* ---- reading another way ---- */

static int fail_surface(void) {
  return fail(MW_NOT_SUPPORTED, "a surface has no sampling options: it is read and written texel by texel");
}

/* Under the lock. */
static int apply(mw_texture *texture, const mw_texture_desc *desc) {
  mw_tex_record record = texture->now;
  int code = mw_sampler_apply(desc, read_of(desc, &record), &record);
  bool same = memcmp(&record, &texture->now, sizeof record) == 0;
  if (code == MW_SUCCESS && !same)
    code = texture->exported && !texture->device->driver->texture_new ? queue_record(texture, &record)
                                                                      : renew_record(texture, &record);
  if (code != MW_SUCCESS) return code;
  texture->now = record;
  texture->desc = *desc;
  return code;
}

int mw_texture_configure(mw_texture *texture, const mw_texture_desc *desc) {
  if (texture->is_surface) return fail_surface();
  int code = MW_SUCCESS;
  mw_lock(&texture->lock);
  mw_texture_desc wanted = *desc;
  const mw_texture_desc *old = &texture->desc;
  if (wanted.read == MW_READ_AUTO) wanted.read = old->read;
  if ((old->read != MW_READ_AUTO && wanted.read != old->read) || !wanted.srgb != !old->srgb)
    code = fail(MW_INVALID_VALUE, "how a texture reads elements (%s) is fixed: make another one",
                wanted.read != old->read ? "as they are, or as normalized floats" : "as sRGB or not");
  else
    code = apply(texture, &wanted);
  mw_unlock(&texture->lock);
  return code;
}

int mw_texture_decide(mw_texture *texture, mw_read_mode read, bool *agreed) {
  int code = MW_SUCCESS;
  mw_lock(&texture->lock);
  mw_texture_desc wanted = texture->desc;
  if (wanted.read == MW_READ_AUTO) {
    wanted.read = read;
    code = apply(texture, &wanted);
  }
  *agreed = texture->desc.read == read;
  mw_unlock(&texture->lock);
  return code;
}

/* ---- facts ---- */

int mw_texture_is_surface(const mw_texture *texture) { return texture->is_surface; }
size_t mw_texture_offset(const mw_texture *texture) { return texture->offset; }

int mw_texture_describe(const mw_texture *texture, mw_resource *resource, mw_texture_desc *desc) {
  mw_texture *shared = (mw_texture *)texture; /* its description may be changing */
  if (texture->is_surface && desc) return fail_surface();
  mw_lock(&shared->lock);
  if (resource) *resource = texture->resource;
  if (desc) *desc = texture->desc;
  mw_unlock(&shared->lock);
  return MW_SUCCESS;
}

/* A reference has an offset, which its program adds to x. An object has none, so its reads would be shifted. */
static int check_aligned(const mw_texture *texture) {
  if (texture->offset == 0) return MW_SUCCESS;
  return fail(
      MW_INVALID_VALUE,
      "the memory of this texture object begins %zu bytes after a multiple of %zu (texture_alignment): copy it, or "
      "bind the texture to a reference, which has an offset to add",
      texture->offset, texture->device->properties.texture_alignment);
}

int mw_texture_handle(mw_texture *texture, uint64_t *handle) {
  bool agreed;
  int code = check_aligned(texture);
  if (code != MW_SUCCESS) return code;
  mw_lock(&texture->lock);
  mw_read_mode read = read_of(&texture->desc, &texture->now);
  mw_unlock(&texture->lock);
  if (!texture->is_surface) code = mw_texture_decide(texture, read, &agreed);
  if (code != MW_SUCCESS) return code;
  mw_lock(&texture->lock);
  texture->exported = true;
  *handle = texture->record->address;
  mw_unlock(&texture->lock);
  return MW_SUCCESS;
}

int mw_texture_as_value(mw_texture *texture, const char *what, uint64_t *handle) {
  if (texture) return mw_texture_handle(texture, handle);
  return fail(MW_INVALID_VALUE, "%s is a texture or surface that was freed", what);
}
