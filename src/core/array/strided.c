/* Elements of a strided array to host memory and back, where the host can access the array's memory: a loop over a few
 * elements takes less time than a kernel that packs them. */
#include "array.h"
#include "core/graph/capture.h"

#include <string.h>

/* Larger transfers are left to the kernel, which runs on several processors. */
#define MOST_BYTES ((size_t)1 << 18)

bool mw_array_is_walked(const mw_array *array, size_t count) {
  return array->buffer->host && array->rank > 0 && count <= MOST_BYTES / array->dtype->size;
}

/* `count` elements, `step` bytes apart, to bytes without gaps; or back. A loop for each usual size, so that memcpy is a
   move. */
static void move(char *elements, int64_t step, char *packed, size_t size, size_t count, bool reads) {
  if (step == (int64_t)size) {
    memcpy(reads ? packed : elements, reads ? elements : packed, size * count);
    return;
  }
#define OF_SIZE(n)                                                                                                     \
  case n:                                                                                                              \
    for (size_t i = 0; i < count; i++, elements += step)                                                               \
      memcpy(reads ? packed + (n) * i : elements, reads ? elements : packed + (n) * i, n);                             \
    return;
  switch (size) {
    OF_SIZE(1)
    OF_SIZE(2)
    OF_SIZE(4)
    OF_SIZE(8)
    OF_SIZE(16)
  default:
    for (size_t i = 0; i < count; i++, elements += step)
      memcpy(reads ? packed + size * i : elements, reads ? elements : packed + size * i, size);
  }
#undef OF_SIZE
}

/* Tell checked runs which bytes are initialised now. */
static void note_written(const mw_array *array, size_t offset, int64_t step, size_t count) {
  size_t size = array->dtype->size;
  if (!array->buffer->device->driver->wrote) return;
  if (step == (int64_t)size)
    mw_buffer_wrote(array->buffer, offset, size * count);
  else
    for (size_t i = 0; i < count; i++) mw_buffer_wrote(array->buffer, offset + (size_t)(step * (int64_t)i), size);
}

int mw_array_walk(mw_array *array, size_t first, size_t count, void *packed, bool reads) {
  mw_buffer *buffer = array->buffer;
  int code = reads ? MW_SUCCESS : mw_capture_refuse_wait(buffer->device);
  if (code == MW_SUCCESS) code = mw_buffer_use(buffer);
  if (code != MW_SUCCESS) return code;
  code = mw_device_synchronize(buffer->device);
  size_t size = array->dtype->size, row = array->shape[array->rank - 1];
  int64_t step = array->strides[array->rank - 1];
  char *at = packed;
  while (code == MW_SUCCESS && count > 0) {
    size_t offset = mw_array_element(array, first), run = row - first % row;
    if (run > count) run = count;
    move((char *)buffer->host + offset, step, at, size, run, reads);
    if (!reads) note_written(array, offset, step, run);
    at += run * size;
    first += run;
    count -= run;
  }
  mw_buffer_unuse(buffer);
  return code;
}
