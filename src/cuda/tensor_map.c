/* Tensor maps, which the driver encodes. */
#include "cuda/cuda.h"

#include <string.h>

int cuda_tensor_map(void *handle, uint64_t address, const mw_tensor_layout *l, unsigned char out[128]) {
  cuda_device *device = handle;
  _Alignas(64) unsigned char map[128];
  uint64_t sizes[5], strides[5];
  unsigned box[5], steps[5];
  for (int d = 0; d < 5; d++) {
    sizes[d] = (uint64_t)l->size[d];
    strides[d] = d < 4 ? (uint64_t)l->stride[d] : 0;
    box[d] = (unsigned)l->box[d];
    steps[d] = (unsigned)l->step[d];
  }
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  code = cuda_outcome(device,
                      cu.cuTensorMapEncodeTiled(map, (int)l->type, (unsigned)l->dimensions, (void *)(uintptr_t)address,
                                                sizes, strides, box, steps, (int)l->interleave, (int)l->swizzle,
                                                (int)l->promotion, (int)l->fill),
                      "encoding a tensor map");
  if (code == MW_SUCCESS) memcpy(out, map, sizeof map);
  return code;
}
