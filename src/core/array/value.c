/* What arrays can stand for: the address that a pointer takes, the elements of a C array in a struct, memory of the host,
 * a picture. */
#include "array.h"

#include <string.h>

int mw_array_as_pointer(const mw_array *array, const mw_type *pointer, const mw_device *device, const char *what,
                        uint64_t *address) {
  if (!what) what = "the value";
  if (mw_buffer_is_freed(array->buffer)) return fail(MW_INVALID_VALUE, "%s is an array that was freed", what);
  if (!mw_type_accepts(pointer->element, array->dtype))
    return fail(MW_INVALID_VALUE, "%s wants %s, got an array of %s: make it with the dtype \"%s\", or see a:as(dtype)",
                what, pointer->name, mw_type_dtype(array->dtype), mw_type_dtype(pointer->element));
  if (device && array->buffer->device != device)
    return fail(MW_INVALID_VALUE, "%s is an array of another device (%s)", what, array->buffer->device->name);
  if (!array->contiguous)
    return fail(MW_INVALID_VALUE, "%s is a strided view, and a kernel walks memory in order: give it a:contiguous()",
                what);
  mw_buffer_show(array->buffer);
  *address = array->buffer->address + array->offset;
  return MW_SUCCESS;
}

int mw_array_as_elements(mw_array *array, const mw_type *type, const char *what, void *out) {
  if (!mw_type_accepts(type->element, array->dtype) || array->bytes != type->size)
    return fail(MW_INVALID_VALUE, "%s wants %s, got an array of %zu %s", what ? what : "the value", type->name,
                array->count, mw_type_dtype(array->dtype));
  return mw_array_read(array, 0, array->count, out);
}

int mw_array_host(mw_array *array, void **out) {
  if (mw_buffer_is_freed(array->buffer)) return fail(MW_INVALID_VALUE, "host: this array was freed");
  if (!array->contiguous)
    return fail(MW_INVALID_VALUE,
                "host: this is a strided view, which is not one piece of memory; write a:contiguous():host()");
  unsigned char *bytes = mw_buffer_host(array->buffer);
  if (!bytes && array->count)
    return fail(MW_NOT_SUPPORTED, "host: the memory of %s is not the host's; a:totable() and a:bytes() copy it",
                array->buffer->device->name);
  *out = bytes ? bytes + array->offset : NULL;
  return MW_SUCCESS;
}

int mw_array_channels(const mw_array *array, const char *what, int *channels) {
  const mw_type *type = array->dtype;
  bool vector = type->kind == MW_TYPE_VECTOR;
  const mw_type *scalar = vector ? type->element : type;
  size_t count = vector ? type->count : array->rank == 3 ? array->shape[2] : 1;
  bool shaped = array->rank == 2 || (array->rank == 3 && !vector);
  if (scalar->kind == MW_TYPE_UINT && scalar->size == 1 && shaped && (count == 1 || count == 3 || count == 4)) {
    *channels = (int)count;
    return MW_SUCCESS;
  }
  return fail(
      MW_INVALID_VALUE,
      "%s wants uchar pixels of shape {height, width} or {height, width, 1, 3 or 4}, got an array of %s with %d "
      "dimension%s",
      what, mw_type_dtype(type), array->rank, array->rank == 1 ? "" : "s");
}
