/* Tensor maps under the driver API's names. */
#include "driver.h"

enum { RANK_MOST = 5 };

/* The parts of a layout that both modes have. */
static int describe(mw_tensor_layout *layout, const CUtensorMap *map, const cuuint64_t *sizes,
                    const cuuint64_t *strides, const cuuint32_t *steps) {
  int64_t rank = layout->dimensions;
  if (!map || (uintptr_t)map % 64 != 0)
    return host_fail(MW_INVALID_VALUE, "a CUtensorMap is aligned to 64 bytes, as its type is");
  if (rank < 1 || rank > RANK_MOST)
    return host_fail(MW_INVALID_VALUE, "a tensor map has 1 to %d dimensions, not %u", RANK_MOST, (unsigned)rank);
  if (!sizes || (!strides && rank > 1) || !steps)
    return host_fail(MW_INVALID_VALUE, "a tensor map wants sizes, strides and steps");
  for (unsigned d = 0; d < RANK_MOST; d++) {
    bool given = d < rank;
    layout->size[d] = given ? (int64_t)sizes[d] : 1;
    layout->box[d] = 1;
    layout->step[d] = given ? (int64_t)steps[d] : 1;
    if (d + 1 < rank) layout->stride[d] = (int64_t)strides[d];
  }
  return MW_SUCCESS;
}

/* The context may be the runtime API's, before cuInit: these functions need none in CUDA. */
static int encode(CUtensorMap *map, const void *address, const mw_tensor_layout *layout) {
  host_context *context;
  int code = host_context_current(&context);
  return code ? code : mw_tensor_map_encode(context->device, host_address(address), layout, (unsigned char *)map);
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  mw_tensor_layout layout = {
      (int)type,        rank, .interleave = (int)interleave, .swizzle = (int)swizzle, .promotion = (int)promotion,
      .fill = (int)fill};
  int code = describe(&layout, map, sizes, strides, steps);
  if (code == MW_SUCCESS && !box) code = host_fail(MW_INVALID_VALUE, "a tensor map of tiles wants a box");
  for (unsigned d = 0; code == MW_SUCCESS && d < rank; d++) layout.box[d] = (int64_t)box[d];
  return host_end_driver(code ? code : encode(map, address, &layout));
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  mw_tensor_layout layout = {(int)type,
                             rank,
                             .interleave = (int)interleave,
                             .swizzle = (int)swizzle,
                             .promotion = (int)promotion,
                             .fill = (int)fill,
                             .im2col = 1};
  int code = describe(&layout, map, sizes, strides, steps);
  if (code == MW_SUCCESS && rank > 2 && (!lower || !upper))
    code = host_fail(MW_INVALID_VALUE, "a tensor map of pixels wants the corners of their bounding box");
  for (unsigned d = 0; code == MW_SUCCESS && d + 2 < rank; d++) {
    layout.lower[d] = lower[d];
    layout.upper[d] = upper[d];
  }
  layout.box[0] = (int64_t)channels;
  layout.box[1] = (int64_t)pixels;
  return host_end_driver(code ? code : encode(map, address, &layout));
}
