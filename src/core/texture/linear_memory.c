/* Arrays as memory that textures read: linear memory, and pitched memory, an array of whole rows of which some elements at
 * the end may be padding. */
#include "core/array/array.h"
#include "texture.h"

int mw_pitched_elements(mw_device *device, const mw_type *dtype, size_t width, size_t *elements) {
  mw_properties properties;
  int code = mw_device_properties(device, &properties);
  if (code != MW_SUCCESS) return code;
  if (width > SIZE_MAX / 16 / dtype->size)
    return fail(MW_INVALID_VALUE, "a width of %zu elements is larger than the address space", width);
  size_t align = properties.texture_alignment ? properties.texture_alignment : 256, step = align;
  while (step % dtype->size) step += align;
  step /= dtype->size;
  *elements = ((width ? width : 1) + step - 1) / step * step;
  return MW_SUCCESS;
}

int mw_array_as_resource(const mw_array *array, mw_resource *out) {
  if (array->rank > 2)
    return fail(MW_INVALID_VALUE,
                "a texture over an array of %d dimensions: linear memory has one, pitched memory two; copy it into a "
                "CUDA array with mw.cuda_array",
                array->rank);
  *out = (mw_resource){.buffer = array->buffer, .offset = array->offset};
  int code = mw_channels_of(array->dtype, &out->channels);
  if (code != MW_SUCCESS) return code;
  if (!array->contiguous)
    return fail(MW_INVALID_VALUE,
                "a texture reads memory in order, and this array is a strided view: give it a:contiguous()");
  out->width = array->shape[array->rank - 1];
  if (array->rank == 1) return MW_SUCCESS;
  out->height = array->shape[0];
  out->row_pitch = array->shape[1] * array->dtype->size;
  return MW_SUCCESS;
}
