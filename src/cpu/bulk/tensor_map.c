/* Tensor maps: copying a box of a tensor, or pixels, to shared memory and back (PTX cp.async.bulk.tensor, modes tile
 * and im2col).
 *
 * In shared memory the box is dense, the innermost dimension first. For elements outside the tensor, a load writes the
 * fill value and a store does nothing. Swizzling permutes pieces of 16 bytes within lines of 32, 64 or 128 bytes: the
 * number of the piece is XORed with the address bits above 128 bytes.
 *
 * Pixels of im2col are rows of channels. The first is at the coordinates; the next ones follow along the dimensions
 * after the first, each within the bounding box: a dimension's first pixel is `lower` after the tensor's, and its last
 * one at most `upper` after the tensor's. Each is read at its place plus the offsets, so that one copy fetches what
 * one weight of a convolution multiplies. */
#include "bulk_copy.h"
#include "cpu/check/check.h"
#include "cpu/execution/services.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 16 };

typedef struct box {
  const mw_tensor_map *map;
  const int32_t *at;
  size_t size, row; /* bytes of an element; elements of a row of the box */
  uint64_t rows;
  uint32_t count[5];
  bool im2col;
  int64_t offset[5], pixel[5]; /* of im2col: from each pixel; the next pixel */
} box;

static void check_map(mw_worker *base, const cpu_tensor_place *place) {
  char what[160];
  const mw_tensor_map *map = place->map;
  if (map->mark != MW_TENSOR_MAP && map->mark != MW_TENSOR_MAP_IM2COL)
    cpu_service_fail(base, MW_ILLEGAL_ADDRESS, NULL, 0,
                     "copies by a tensor map that cuTensorMapEncodeTiled has not made: pass the CUtensorMap as a const "
                     "__grid_constant__ parameter");
  if ((map->mark == MW_TENSOR_MAP_IM2COL) != place->im2col)
    cpu_service_fail(base, MW_ILLEGAL_INSTRUCTION, NULL, 0,
                     place->im2col ? "copies pixels (im2col), and the tensor map is one of tiles"
                                   : "copies a tile, and the tensor map is one of pixels (im2col)");
  if (map->dimensions == place->dimensions) return;
  snprintf(what, sizeof what, "copies with %u coordinates, and the tensor map has %u dimensions", place->dimensions,
           map->dimensions);
  cpu_service_fail(base, MW_ILLEGAL_INSTRUCTION, NULL, 0, what);
}

/* The first pixel lies in the bounding box: one after it causes an illegal instruction on an H100. */
static void check_pixel(mw_worker *base, const box *b) {
  char what[200];
  const mw_tensor_map *map = b->map;
  for (uint32_t d = 1; b->im2col && d < map->dimensions - 1; d++) {
    int64_t first = map->lower[d - 1], last = (int64_t)map->size[d] - 1 + map->upper[d - 1];
    if (b->at[d] >= first && b->at[d] <= last) continue;
    snprintf(what, sizeof what, "copies pixels from %d on, outside of their bounding box, which is from %lld to %lld",
             b->at[d], (long long)first, (long long)last);
    cpu_service_fail(base, MW_ILLEGAL_INSTRUCTION, NULL, 0, what);
  }
}

/* Refuse coordinates that cause an illegal instruction on an H100. */
static void check_place(mw_worker *base, const box *b, bool writes) {
  char what[200];
  int64_t bytes = b->at[0] * (int64_t)b->size;
  if (bytes % PIECE != 0) {
    snprintf(what, sizeof what,
             "copies a box from element %d of the last dimension on, byte %lld: it has to be a multiple of 16 bytes",
             b->at[0], (long long)bytes);
    cpu_service_fail(base, MW_ILLEGAL_INSTRUCTION, NULL, 0, what);
  }
  check_pixel(base, b);
  for (uint32_t d = 0; writes && d < b->map->dimensions; d++) {
    if (b->at[d] >= 0) continue;
    snprintf(what, sizeof what,
             "writes a box that begins at %d, before the tensor: a box that is written may only end outside", b->at[d]);
    cpu_service_fail(base, MW_ILLEGAL_INSTRUCTION, NULL, 0, what);
  }
}

/* The pixels at the coordinates. Three, two or one offsets share 16 bits. */
static void find_pixels(box *b, uint32_t offsets) {
  static const uint32_t bits[] = {16, 8, 5};
  uint32_t dimensions = b->map->dimensions, shift = bits[dimensions - 3];
  b->im2col = true;
  b->row = b->map->box[0];
  b->rows = b->map->box[1];
  for (uint32_t d = 0; d < dimensions; d++) {
    b->pixel[d] = b->at[d];
    b->offset[d] = d == 0 || d == dimensions - 1 ? 0 : offsets >> (d - 1) * shift & ((1u << shift) - 1);
  }
}

static box box_of(const cpu_tensor_place *place) {
  const mw_tensor_map *map = place->map;
  box b = {.map = map, .at = place->at, .size = cpu_bulk_size(map->type), .rows = 1};
  if (place->im2col) {
    find_pixels(&b, place->offsets);
    return b;
  }
  for (uint32_t d = 0; d < map->dimensions; d++) {
    uint32_t step = d == 0 && map->interleave == 0 ? 1 : map->step[d];
    b.count[d] = (map->box[d] + step - 1) / step;
    if (d > 0) b.rows *= b.count[d];
  }
  b.row = b.count[0];
  return b;
}

static void advance_pixel(box *b) {
  const mw_tensor_map *map = b->map;
  for (uint32_t d = 1; d < map->dimensions - 1; d++) {
    b->pixel[d] += map->step[d];
    if (b->pixel[d] < (int64_t)map->size[d] + map->upper[d - 1]) return;
    b->pixel[d] = map->lower[d - 1];
  }
  b->pixel[map->dimensions - 1]++;
}

static uint64_t pixel_address(box *b) {
  uint64_t address = b->map->address;
  bool inside = true;
  for (uint32_t d = 1; d < b->map->dimensions; d++) {
    int64_t where = b->pixel[d] + b->offset[d];
    inside = inside && where >= 0 && (uint64_t)where < b->map->size[d];
    address += (uint64_t)where * b->map->stride[d - 1];
  }
  advance_pixel(b);
  return inside ? address : 0;
}

/* The address of the first element of a row of the tensor; 0: the row is outside. Rows are taken in order. */
static uint64_t row_address(box *b, uint64_t row) {
  uint64_t address = b->map->address;
  if (b->im2col) return pixel_address(b);
  for (uint32_t d = 1; d < b->map->dimensions; d++) {
    int64_t where = b->at[d] + (int64_t)(row % b->count[d]) * b->map->step[d];
    row /= b->count[d];
    if (where < 0 || (uint64_t)where >= b->map->size[d]) return 0;
    address += (uint64_t)where * b->map->stride[d - 1];
  }
  return address;
}

/* The address in shared memory of the byte that would be at `address` without swizzling. */
static uint64_t swizzled(const box *b, uint64_t address) {
  static const uint64_t masks[] = {0, 1, 3, 7};
  return address ^ (address >> 7 & masks[b->map->swizzle & 3]) << 4;
}

/* The fill value of elements outside the tensor: 0, or a NaN, whose 16 bits an H100 repeats in elements of any type. */
static void fill(const box *b, unsigned char *to, size_t bytes) {
  const uint64_t value = b->map->fill ? 0x7ff77ff77ff77ff7 : 0;
  for (size_t i = 0; i < bytes; i += b->size) memcpy(to + i, &value, b->size);
}

static void flush(const box *b, unsigned char *row, size_t bytes) {
  if (b->map->type != MW_BULK_F32_FTZ && b->map->type != MW_BULK_TF32_FTZ) return;
  for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
    uint32_t word;
    memcpy(&word, row + i, sizeof word);
    if ((word & 0x7f800000) == 0) word &= 0x80000000;
    memcpy(row + i, &word, sizeof word);
  }
}

/* The part of a row that is inside the tensor: elements [*first, *last) of the box. */
static void find_inside(const box *b, int64_t *first, int64_t *last) {
  int64_t at = b->at[0], size = (int64_t)b->map->size[0], row = (int64_t)b->row;
  *first = at < 0 ? -at : 0;
  *last = size - at < row ? size - at : row;
  if (*first > row) *first = row;
  if (*last < *first) *last = *first;
}

static void load(mw_worker *base, box *b, uint64_t target) {
  size_t bytes = b->row * b->size;
  int64_t first, last;
  find_inside(b, &first, &last);
  for (uint64_t row = 0; row < b->rows; row++) {
    uint64_t from = row_address(b, row), to = target + row * bytes;
    int64_t inside = from ? last - first : 0;
    unsigned char line[PIECE];
    if (inside > 0) {
      uint64_t start = from + (uint64_t)(b->at[0] + first) * b->size;
      cpu_bulk_check(base, start, (uint64_t)inside * b->size, "reads");
      cpu_check_bulk(base, start, (uint64_t)inside * b->size, 0);
    }
    for (size_t at = 0; at < bytes; at += PIECE) {
      size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
      for (size_t i = 0; i < piece; i += b->size) {
        int64_t element = (int64_t)((at + i) / b->size);
        if (inside > 0 && element >= first && element < last)
          memcpy(line + i, (const char *)(uintptr_t)from + (b->at[0] + element) * (int64_t)b->size, b->size);
        else
          fill(b, line + i, b->size);
      }
      flush(b, line, piece);
      memcpy((void *)(uintptr_t)swizzled(b, to + at), line, piece);
    }
  }
}

void cpu_tensor_load(mw_worker *base, const cpu_tensor_place *place, uint64_t target, uint32_t ranks,
                     uint64_t barrier) {
  check_map(base, place);
  box b = box_of(place);
  check_place(base, &b, false);
  uint64_t bytes = b.rows * b.row * b.size;
  for (uint32_t rank = 0; rank < MW_CLUSTER_MOST; rank++) {
    if (ranks ? !(ranks >> rank & 1) : rank > 0) continue;
    uint64_t to = ranks ? cpu_bulk_at_rank(base, target, rank) : target;
    cpu_bulk_check(base, to, bytes, "writes");
    cpu_check_bulk(base, to, bytes, MW_ACCESS_STORE);
    box copied = b;
    load(base, &copied, to);
    if (barrier) cpu_bulk_arrived(base, ranks ? cpu_bulk_at_rank(base, barrier, rank) : barrier, bytes);
  }
}

void cpu_tensor_store(mw_worker *base, const cpu_tensor_place *place, uint64_t source, mw_bulk_operation operation) {
  const mw_tensor_map *map = place->map;
  const int32_t *at = place->at;
  check_map(base, place);
  box b = box_of(place);
  check_place(base, &b, true);
  size_t bytes = b.row * b.size;
  int64_t first, last;
  find_inside(&b, &first, &last);
  uint32_t flags = MW_ACCESS_STORE | (operation == MW_BULK_SET ? 0 : MW_ACCESS_UPDATE | MW_ACCESS_ATOMIC);
  cpu_bulk_check(base, source, b.rows * bytes, "reads");
  cpu_check_bulk(base, source, b.rows * bytes, 0);
  for (uint64_t row = 0; row < b.rows; row++) {
    uint64_t to = row_address(&b, row), from = source + row * bytes;
    if (!to || last == first) continue;
    uint64_t start = to + (uint64_t)(at[0] + first) * b.size;
    cpu_bulk_check(base, start, (uint64_t)(last - first) * b.size, "writes");
    cpu_check_bulk(base, start, (uint64_t)(last - first) * b.size, flags);
    for (int64_t i = first; i < last; i++) {
      void *cell = (char *)(uintptr_t)to + (at[0] + i) * (int64_t)b.size;
      const void *value = (const void *)(uintptr_t)swizzled(&b, from + (uint64_t)i * b.size);
      if (operation == MW_BULK_SET)
        memcpy(cell, value, b.size);
      else
        cpu_bulk_update(cell, value, operation, map->type);
    }
  }
}

/* ---- encoding ---- */

int cpu_tensor_map(void *device, uint64_t address, const mw_tensor_layout *l, unsigned char out[128]) {
  mw_tensor_map map = {.mark = l->im2col ? MW_TENSOR_MAP_IM2COL : MW_TENSOR_MAP,
                       .address = address,
                       .dimensions = (uint32_t)l->dimensions};
  _Static_assert(sizeof map <= 128, "it is a CUtensorMap");
  (void)device;
  for (int d = 0; d < l->dimensions; d++) {
    map.size[d] = (uint64_t)l->size[d];
    map.box[d] = (uint16_t)l->box[d];
    map.step[d] = (uint16_t)l->step[d];
    if (d > 0) map.stride[d - 1] = (uint64_t)l->stride[d - 1];
  }
  for (int d = 0; d < 3; d++) {
    map.lower[d] = (int16_t)l->lower[d];
    map.upper[d] = (int16_t)l->upper[d];
  }
  map.type = (uint8_t)l->type;
  map.interleave = (uint8_t)l->interleave;
  map.swizzle = (uint8_t)l->swizzle;
  map.fill = (uint8_t)l->fill;
  memset(out, 0, 128);
  memcpy(out, &map, sizeof map);
  return MW_SUCCESS;
}
