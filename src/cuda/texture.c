/* CUDA arrays, textures and surfaces in hardware. The record that the core made states how a texture reads; the
 * address of its memory is that of the array, or of the record's first level. */
#include "cuda/cuda.h"
#include "core/texture/texture.h"

#include <stdlib.h>
#include <string.h>

/* The core's handle for both kinds of CUDA array. */
typedef struct native_array {
  CUarray array; /* NULL: a mipmapped array */
  CUmipmappedArray mipmap;
  size_t texel, bytes;
  unsigned epoch;
} native_array;

static unsigned format_of(int kind, int bits) {
  if (kind == MW_CHANNEL_FLOAT) return bits == 16 ? CU_FORMAT_HALF : CU_FORMAT_FLOAT;
  static const unsigned formats[2][3] = {{CU_FORMAT_S8, CU_FORMAT_S16, CU_FORMAT_S32},
                                         {CU_FORMAT_U8, CU_FORMAT_U16, CU_FORMAT_U32}};
  return formats[kind == MW_CHANNEL_UNSIGNED][bits == 8 ? 0 : bits == 16 ? 1 : 2];
}

/* ---- CUDA arrays ---- */

/* CUDA's conventions: an extent that the kind does not have is 0, and layers and faces are counted as depth. */
static CUDA_ARRAY3D_DESCRIPTOR describe(const mw_cuda_array_desc *desc) {
  CUDA_ARRAY3D_DESCRIPTOR out = {.width = desc->width,
                                 .format = format_of(desc->channels.kind, desc->channels.bits),
                                 .channels = (unsigned)desc->channels.count,
                                 .flags = CU_ARRAY_SURFACE};
  bool flat = desc->kind == MW_CUDA_ARRAY_1D || desc->kind == MW_CUDA_ARRAY_1D_LAYERED;
  bool cube = desc->kind == MW_CUDA_ARRAY_CUBEMAP || desc->kind == MW_CUDA_ARRAY_CUBEMAP_LAYERED;
  bool layered = desc->kind == MW_CUDA_ARRAY_1D_LAYERED || desc->kind == MW_CUDA_ARRAY_2D_LAYERED ||
                 desc->kind == MW_CUDA_ARRAY_CUBEMAP_LAYERED;
  out.height = flat ? 0 : desc->height;
  out.depth = desc->kind == MW_CUDA_ARRAY_3D ? desc->depth : layered || cube ? desc->layers * (cube ? 6 : 1) : 0;
  if (layered) out.flags |= CU_ARRAY_LAYERED;
  if (cube) out.flags |= CU_ARRAY_CUBEMAP;
  /* Gathers must be enabled in advance, and only two-dimensional arrays of up to 32768 by 32768 texels support them. */
  if (desc->kind == MW_CUDA_ARRAY_2D && desc->levels == 1 && desc->width <= 32768 && desc->height <= 32768)
    out.flags |= CU_ARRAY_GATHER;
  return out;
}

/* The bytes of the texels, without the padding of CUDA's layout. */
static size_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR *d, size_t texel, size_t levels) {
  size_t width = d->width, height = d->height ? d->height : 1, depth = d->depth ? d->depth : 1, bytes = 0;
  for (size_t level = 0; level == 0 || level < levels; level++) {
    bytes += texel * width * height * depth;
    width = width > 1 ? width / 2 : 1;
    height = height > 1 ? height / 2 : 1;
    if (depth > 1 && !(d->flags & (CU_ARRAY_LAYERED | CU_ARRAY_CUBEMAP))) depth /= 2;
  }
  return bytes;
}

int cuda_array_make(void *handle, const mw_cuda_array_desc *desc, uint64_t *out) {
  cuda_device *device = handle;
  CUDA_ARRAY3D_DESCRIPTOR wanted = describe(desc);
  size_t texel = (size_t)desc->channels.bits / 8 * (size_t)desc->channels.count;
  size_t bytes = bytes_of(&wanted, texel, desc->levels);
  int code = cuda_enter(device);
  if (code == MW_SUCCESS) code = cuda_heap_check(device, bytes);
  if (code != MW_SUCCESS) return code;
  native_array *array = mw_alloc(sizeof *array);
  CUresult result;
  do
    result = desc->levels > 1 ? cu.cuMipmappedArrayCreate(&array->mipmap, &wanted, (unsigned)desc->levels)
                              : cu.cuArray3DCreate(&array->array, &wanted);
  while (cuda_heap_make_room(device, result));
  array->texel = texel;
  *out = (uint64_t)(uintptr_t)array;
  if (result == 0) {
    cuda_heap_count(device, bytes);
    array->bytes = bytes;
    array->epoch = device->epoch;
    return MW_SUCCESS;
  }
  free(array);
  return cuda_outcome(device, result, "making a CUDA array");
}

static void end_array(cuda_device *device, uint64_t handle) {
  native_array *array = (native_array *)(uintptr_t)handle;
  if (array->epoch == device->epoch) cuda_heap_count(device, -array->bytes);
  if (array->epoch == device->epoch && cuda_enter_quietly(device)) {
    if (array->array)
      cu.cuArrayDestroy(array->array);
    else
      cu.cuMipmappedArrayDestroy(array->mipmap);
  }
  free(array);
}

void cuda_array_end(void *device, uint64_t handle) { cuda_end(device, end_array, handle, true); }

uint64_t cuda_array_lent(CUarray handle, const mw_cuda_array_desc *desc) {
  native_array *array = mw_alloc(sizeof *array);
  array->array = handle;
  array->texel = (size_t)desc->channels.bits / 8 * (size_t)desc->channels.count;
  return (uint64_t)(uintptr_t)array;
}

uint64_t cuda_mipmap_lent(CUmipmappedArray handle, const mw_cuda_array_desc *desc) {
  native_array *array = (native_array *)(uintptr_t)cuda_array_lent(NULL, desc);
  array->mipmap = handle;
  return (uint64_t)(uintptr_t)array;
}

void cuda_array_lent_end(void *device, uint64_t handle) {
  (void)device;
  free((native_array *)(uintptr_t)handle);
}

static CUresult level_of(const native_array *array, int level, CUarray *out) {
  *out = array->array;
  return array->array ? 0 : cu.cuMipmappedArrayGetLevel(out, array->mipmap, (unsigned)level);
}

/* ---- copies ---- */

static CUresult set_source(const mw_array_side *side, CUDA_MEMCPY3D *copy) {
  if (side->array) {
    copy->source_kind = CU_MEMORY_ARRAY;
    copy->source_x = side->x;
    copy->source_y = side->y;
    copy->source_z = side->z;
    return level_of((native_array *)(uintptr_t)side->array, side->level, &copy->source_array);
  }
  copy->source_kind = CU_MEMORY_UNIFIED;
  copy->source_device = side->address;
  copy->source_pitch = side->row_pitch;
  copy->source_height = side->rows;
  return 0;
}

static CUresult set_target(const mw_array_side *side, CUDA_MEMCPY3D *copy) {
  if (side->array) {
    copy->target_kind = CU_MEMORY_ARRAY;
    copy->target_x = side->x;
    copy->target_y = side->y;
    copy->target_z = side->z;
    return level_of((native_array *)(uintptr_t)side->array, side->level, &copy->target_array);
  }
  copy->target_kind = CU_MEMORY_UNIFIED;
  copy->target_device = side->address;
  copy->target_pitch = side->row_pitch;
  copy->target_height = side->rows;
  return 0;
}

int cuda_array_copy(void *handle, const mw_array_box *box, mw_completion completion) {
  cuda_stream *stream = handle;
  int code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  cuda_stream_inherit_holds(stream);
  CUDA_MEMCPY3D copy = {.width = box->width, .height = box->height, .depth = box->depth};
  CUresult result = set_source(&box->source, &copy);
  if (result == 0) result = set_target(&box->target, &copy);
  if (result == 0) result = cu.cuMemcpy3DAsync(&copy, stream->handle);
  code = cuda_outcome(stream->device, result, "a copy with a CUDA array");
  if (code == MW_SUCCESS) cuda_stream_queued(stream, &completion);
  return code;
}

/* ---- textures and surfaces ---- */

static CUDA_RESOURCE_DESC describe_memory(const mw_tex_record *record) {
  const mw_tex_level *level = &record->levels[0];
  CUDA_RESOURCE_DESC out = {.kind = CU_RESOURCE_LINEAR};
  unsigned format = format_of((int)record->channel_kind, (int)record->channel_bits);
  if (record->kind == MW_TEX_LINEAR) {
    out.of.linear.address = level->base;
    out.of.linear.format = format;
    out.of.linear.channels = record->channels;
    out.of.linear.bytes = (size_t)level->width * record->texel_bytes;
    return out;
  }
  out.kind = CU_RESOURCE_PITCHED;
  out.of.pitched.address = level->base;
  out.of.pitched.format = format;
  out.of.pitched.channels = record->channels;
  out.of.pitched.width = level->width;
  out.of.pitched.height = level->height;
  out.of.pitched.pitch = level->row_pitch;
  return out;
}

static CUDA_TEXTURE_DESC describe_sampler(const mw_tex_record *record) {
  CUDA_TEXTURE_DESC out = {.filter = record->filter,
                           .mip_filter = record->mip_filter,
                           .lod_bias = record->lod_bias,
                           .lod_min = record->lod_min,
                           .lod_max = record->lod_max,
                           .flags = CU_TEXTURE_EXACT_TRILINEAR};
  for (int i = 0; i < 3; i++) out.address[i] = record->address[i];
  bool integers = record->channel_kind != MW_TEX_CHANNEL_FLOAT && record->read == MW_TEX_READ_ELEMENT;
  for (int i = 0; i < 4; i++) {
    int64_t whole = (int64_t)record->border[i]; /* textures of integers have an integer border in its place */
    int32_t bits = (int32_t)(uint32_t)whole;
    if (integers)
      memcpy(&out.border[i], &bits, sizeof bits);
    else
      out.border[i] = record->border[i];
  }
  if (integers) out.flags |= CU_TEXTURE_READ_AS_INTEGER;
  if (record->normalized) out.flags |= CU_TEXTURE_NORMALIZED;
  if (record->srgb) out.flags |= CU_TEXTURE_SRGB;
  if (record->seamless) out.flags |= CU_TEXTURE_SEAMLESS;
  return out;
}

int cuda_texture_make(void *handle, const mw_tex_record *record, uint64_t array, int level, uint64_t *out) {
  cuda_device *device = handle;
  native_array *native = (native_array *)(uintptr_t)array;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  CUDA_RESOURCE_DESC resource = {0};
  CUresult result = 0;
  if (!native) {
    resource = describe_memory(record);
  } else if (level >= 0 || native->array) {
    resource.kind = CU_RESOURCE_ARRAY;
    result = level_of(native, level < 0 ? 0 : level, &resource.of.array);
  } else {
    resource.kind = CU_RESOURCE_MIPMAP;
    resource.of.mipmap = native->mipmap;
  }
  CUDA_TEXTURE_DESC sampler = describe_sampler(record);
  if (result == 0) result = cu.cuTexObjectCreate(out, &resource, &sampler, NULL);
  return cuda_outcome(device, result, "making a texture");
}

int cuda_surface_make(void *handle, uint64_t array, int level, uint64_t *out) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  CUDA_RESOURCE_DESC resource = {.kind = CU_RESOURCE_ARRAY};
  CUresult result = level_of((native_array *)(uintptr_t)array, level, &resource.of.array);
  if (result == 0) result = cu.cuSurfObjectCreate(out, &resource);
  return cuda_outcome(device, result, "making a surface");
}

static void end_texture(cuda_device *device, uint64_t handle) {
  if (cuda_enter_quietly(device)) cu.cuTexObjectDestroy(handle);
}

static void end_surface(cuda_device *device, uint64_t handle) {
  if (cuda_enter_quietly(device)) cu.cuSurfObjectDestroy(handle);
}

void cuda_texture_end(void *device, uint64_t handle) { cuda_end(device, end_texture, handle, false); }

void cuda_surface_end(void *device, uint64_t handle) { cuda_end(device, end_surface, handle, false); }
