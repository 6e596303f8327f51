/* Tensor maps under the driver API's names. */
#include "driver.h"

enum { RANK_MOST = 5 };

static int encode(host_context *context, CUtensorMap *map, int type, unsigned rank, const void *address,
                  const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps,
                  const int kinds[4]) {
  mw_tensor_layout layout = {.type = type,
                             .dimensions = rank,
                             .interleave = kinds[0],
                             .swizzle = kinds[1],
                             .promotion = kinds[2],
                             .fill = kinds[3]};
  if (!map || (uintptr_t)map % 64 != 0)
    return host_fail(MW_INVALID_VALUE, "a CUtensorMap is aligned to 64 bytes, as its type is");
  if (rank < 1 || rank > RANK_MOST)
    return host_fail(MW_INVALID_VALUE, "a tensor map has 1 to %d dimensions, not %u", RANK_MOST, rank);
  if (!sizes || (!strides && rank > 1) || !box || !steps)
    return host_fail(MW_INVALID_VALUE, "a tensor map wants sizes, strides, a box and steps");
  for (unsigned d = 0; d < RANK_MOST; d++) {
    bool given = d < rank;
    layout.size[d] = given ? (int64_t)sizes[d] : 1;
    layout.box[d] = given ? (int64_t)box[d] : 1;
    layout.step[d] = given ? (int64_t)steps[d] : 1;
    if (d + 1 < rank) layout.stride[d] = (int64_t)strides[d];
  }
  return mw_tensor_map_encode(context->device, host_address(address), &layout, (unsigned char *)map);
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const int kinds[] = {(int)interleave, (int)swizzle, (int)promotion, (int)fill};
  host_context *context; /* also the runtime API's, before cuInit: the function needs none in CUDA */
  int code = host_context_current(&context);
  return host_end_driver(code ? code
                              : encode(context, map, (int)type, rank, address, sizes, strides, box, steps, kinds));
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  (void)map, (void)type, (void)rank, (void)address, (void)sizes, (void)strides, (void)lower, (void)upper;
  (void)channels, (void)pixels, (void)steps, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
  return host_end_driver(
      host_fail(MW_NOT_SUPPORTED, "kernels have no copies in im2col mode here, only in tiles: cuTensorMapEncodeTiled"));
}
