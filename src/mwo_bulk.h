/* Bulk copies and tensor maps: what generated code asks the runtime for (mw_services.bulk in mwo.h). */
#ifndef MW_MWO_BULK_H
#define MW_MWO_BULK_H

#include <stdint.h>

/* Bulk copies of PTX (cp.async.bulk): the operation in the lowest byte, and above it what its comment says. They are
   done at once. `barrier`: the mbarrier that counts the bytes, or 0. */
typedef enum mw_bulk_call {
  MW_BULK_COPY,   /* a: bytes; b: the ranks of a multicast, or 0 */
  MW_BULK_REDUCE, /* a: bytes; with an mw_bulk_operation << 8 and an mw_bulk_type << 16 */
  MW_BULK_LOAD,   /* of a tensor map, `source`, to shared memory; a, b and the low half of c: 5 coordinates; the next 16
                    bits of c: the ranks of a multicast, or 0, and the last 16: offsets of im2col; with the number of
                    coordinates << 8 */
  MW_BULK_STORE   /* of shared memory to a tensor map, `target`; likewise; with an mw_bulk_operation << 16 */
} mw_bulk_call;

enum { MW_BULK_IM2COL = 1 << 24 }; /* the mode of copies of a tensor map, in `call`: pixels instead of tiles */

typedef enum mw_bulk_operation {
  MW_BULK_SET,
  MW_BULK_ADD,
  MW_BULK_MIN,
  MW_BULK_MAX,
  MW_BULK_INC,
  MW_BULK_DEC,
  MW_BULK_AND,
  MW_BULK_OR,
  MW_BULK_XOR
} mw_bulk_operation;

/* Of elements; the first 13 are CUtensorMapDataType's. */
typedef enum mw_bulk_type {
  MW_BULK_U8,
  MW_BULK_U16,
  MW_BULK_U32,
  MW_BULK_S32,
  MW_BULK_U64,
  MW_BULK_S64,
  MW_BULK_F16,
  MW_BULK_F32,
  MW_BULK_F64,
  MW_BULK_BF16,
  MW_BULK_F32_FTZ,
  MW_BULK_TF32,
  MW_BULK_TF32_FTZ,
  MW_BULK_TYPES
} mw_bulk_type;

/* A tensor map on the CPU device: the 128 bytes of a CUtensorMap. Of im2col maps box[0] and box[1] are the numbers of
   channels and of pixels, and `lower` and `upper` the corners of the bounding box. */
typedef struct mw_tensor_map {
  uint32_t mark, dimensions;
  uint64_t address;
  uint64_t size[5];   /* elements, the innermost first */
  uint64_t stride[4]; /* bytes between elements of the dimensions after the innermost */
  uint16_t box[5], step[5];
  uint8_t type, interleave, swizzle, fill; /* CUtensorMapDataType, …Interleave, …Swizzle, …FloatOOBfill */
  int16_t lower[3], upper[3];
} mw_tensor_map;

enum { MW_TENSOR_MAP = 0x70616d74, MW_TENSOR_MAP_IM2COL = 0x70616d69 }; /* marks */

#endif
