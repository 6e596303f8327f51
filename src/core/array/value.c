/* Arrays as values: as the address that a pointer takes, and as the elements of a C array in a struct. */
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
  *address = array->buffer->address + array->offset;
  return MW_SUCCESS;
}

int mw_array_as_elements(mw_array *array, const mw_type *type, const char *what, void *out) {
  if (!mw_type_accepts(type->element, array->dtype) || array->bytes != type->size)
    return fail(MW_INVALID_VALUE, "%s wants %s, got an array of %zu %s", what ? what : "the value", type->name,
                array->count, mw_type_dtype(array->dtype));
  return mw_array_read(array, 0, array->count, out);
}
