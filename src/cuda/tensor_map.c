/* Tensor maps, which the driver encodes. */
#include "cuda/cuda.h"

#include <string.h>

int cuda_tensor_map(void *handle, uint64_t address, const mw_tensor_layout *l, unsigned char out[128]) {
  cuda_device *device = handle;
  _Alignas(64) unsigned char map[128];
  uint64_t sizes[5], strides[5];
  unsigned box[5], steps[5];
  int lower[3], upper[3];
  for (int d = 0; d < 5; d++) {
    sizes[d] = (uint64_t)l->size[d];
    strides[d] = d < 4 ? (uint64_t)l->stride[d] : 0;
    box[d] = (unsigned)l->box[d];
    steps[d] = (unsigned)l->step[d];
  }
  for (int d = 0; d < 3; d++) {
    lower[d] = (int)l->lower[d];
    upper[d] = (int)l->upper[d];
  }
  int code = cuda_enter(device), type = (int)l->type, interleave = (int)l->interleave, swizzle = (int)l->swizzle;
  int promotion = (int)l->promotion, fill = (int)l->fill;
  unsigned rank = (unsigned)l->dimensions;
  void *memory = (void *)(uintptr_t)address;
  if (code != MW_SUCCESS) return code;
  CUresult result = l->im2col ? cu.cuTensorMapEncodeIm2col(map, type, rank, memory, sizes, strides, lower, upper,
                                                           box[0], box[1], steps, interleave, swizzle, promotion, fill)
                              : cu.cuTensorMapEncodeTiled(map, type, rank, memory, sizes, strides, box, steps,
                                                          interleave, swizzle, promotion, fill);
  code = cuda_outcome(device, result, "encoding a tensor map");
  if (code == MW_SUCCESS) memcpy(out, map, sizeof map);
  return code;
}
