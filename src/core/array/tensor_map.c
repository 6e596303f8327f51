/* Tensor maps: the limits on their layouts (CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col). */
#include "core/core.h"

enum { TYPES = 13, FIRST_FLOAT = 6 };

static const int sizes[TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static int check_kinds(const mw_tensor_layout *l) {
  if (l->type < 0 || l->type >= TYPES)
    return fail(MW_INVALID_VALUE, "a tensor map's elements have no type %lld: CUtensorMapDataType has 0 to %d",
                (long long)l->type, TYPES - 1);
  if (l->dimensions < 1 || l->dimensions > 5)
    return fail(MW_INVALID_VALUE, "a tensor map has 1 to 5 dimensions, not %lld", (long long)l->dimensions);
  if (l->interleave < 0 || l->interleave > 2 || l->swizzle < 0 || l->swizzle > 3 || l->promotion < 0 ||
      l->promotion > 3 || l->fill < 0 || l->fill > 1)
    return fail(MW_INVALID_VALUE, "a tensor map's interleave is 0 to 2, its swizzle and promotion are 0 to 3, and its "
                                  "fill is 0 or 1");
  if (l->interleave && l->dimensions < 3)
    return fail(MW_INVALID_VALUE, "an interleaved tensor map has 3 dimensions or more, not %lld",
                (long long)l->dimensions);
  if (l->interleave == 2 && l->swizzle != 1)
    return fail(MW_INVALID_VALUE, "a tensor map with an interleave of 32 bytes needs a swizzle of 32 bytes");
  if (l->fill && l->type < FIRST_FLOAT)
    return fail(MW_INVALID_VALUE,
                "a tensor map fills with NaN only where elements are floating-point numbers: fill with zeros");
  return MW_SUCCESS;
}

static int check_sizes(uint64_t address, const mw_tensor_layout *l) {
  static const char *const order[] = {"1st", "2nd", "3rd", "4th", "5th"};
  const int64_t unit = l->interleave == 2 ? 32 : 16, bytes = sizes[l->type];
  if (address % (uint64_t)unit)
    return fail(MW_INVALID_VALUE, "a tensor map's memory begins at a multiple of %lld bytes, not at 0x%llx",
                (long long)unit, (unsigned long long)address);
  for (int d = 0; d < l->dimensions; d++) {
    if (l->size[d] < 1 || l->size[d] > (int64_t)1 << 32)
      return fail(MW_INVALID_VALUE, "the %s size of a tensor map is %lld: it has to be 1 to 2^32", order[d],
                  (long long)l->size[d]);
    if (!l->im2col && (l->box[d] < 1 || l->box[d] > 256))
      return fail(MW_INVALID_VALUE, "the %s size of a tensor map's box is %lld: it has to be 1 to 256", order[d],
                  (long long)l->box[d]);
    if (l->step[d] < 1 || l->step[d] > 8)
      return fail(MW_INVALID_VALUE, "the %s step of a tensor map is %lld: it has to be 1 to 8", order[d],
                  (long long)l->step[d]);
    if (d > 0 && (l->stride[d - 1] < 0 || l->stride[d - 1] >= (int64_t)1 << 40 || l->stride[d - 1] % unit))
      return fail(MW_INVALID_VALUE,
                  "the stride of a tensor map's %s dimension is %lld bytes: it has to be a multiple of %lld below 2^40",
                  order[d], (long long)l->stride[d - 1], (long long)unit);
  }
  int64_t row = l->box[0] * bytes, most = l->swizzle ? (int64_t)16 << l->swizzle : INT64_MAX;
  if (l->interleave == 0 && row % 16)
    return fail(MW_INVALID_VALUE, "a row of a tensor map's box has %lld bytes: it has to be a multiple of 16",
                (long long)row);
  if (l->interleave == 0 && row > most)
    return fail(MW_INVALID_VALUE, "a row of a tensor map's box has %lld bytes, and swizzling takes %lld at most",
                (long long)row, (long long)most);
  return MW_SUCCESS;
}

/* Pixels and their bounding box. The corners share 16 bits in an instruction's offsets. */
static int check_pixels(const mw_tensor_layout *l) {
  static const int64_t ends[] = {32768, 128, 16};
  if (l->dimensions < 3)
    return fail(MW_INVALID_VALUE, "a tensor map of pixels (im2col) has 3 to 5 dimensions, not %lld",
                (long long)l->dimensions);
  if (l->box[0] < 1 || l->box[0] > 256)
    return fail(MW_INVALID_VALUE, "a tensor map copies 1 to 256 channels of a pixel, not %lld", (long long)l->box[0]);
  if (l->box[1] < 1 || l->box[1] > 1024)
    return fail(MW_INVALID_VALUE, "a tensor map copies 1 to 1024 pixels, not %lld", (long long)l->box[1]);
  for (int d = 0; d < l->dimensions - 2; d++) {
    int64_t end = ends[l->dimensions - 3], lower = l->lower[d], upper = l->upper[d];
    if (lower < -end || lower >= end || upper < -end || upper >= end)
      return fail(MW_INVALID_VALUE,
                  "a corner of the pixels' bounding box is %lld: with %lld dimensions it has to be %lld to %lld",
                  (long long)(lower < -end || lower >= end ? lower : upper), (long long)l->dimensions, (long long)-end,
                  (long long)end - 1);
  }
  return MW_SUCCESS;
}

int mw_tensor_map_encode(mw_device *device, uint64_t address, const mw_tensor_layout *layout, unsigned char out[128]) {
  if (!device->driver->tensor_map || device->properties.max_cluster == 0)
    return fail(MW_NOT_SUPPORTED, "tensor maps came with compute capability 9.0, and %s has %d.%d", device->name,
                device->properties.major, device->properties.minor);
  int code = check_kinds(layout);
  if (code == MW_SUCCESS && layout->im2col) code = check_pixels(layout);
  if (code == MW_SUCCESS) code = check_sizes(address, layout);
  return code ? code : device->driver->tensor_map(device->state, address, layout, out);
}
