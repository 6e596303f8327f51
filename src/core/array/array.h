/* Arrays, as array.c (shape and bytes), views.c (strides), copy.c, convert.c (conversion) and reduce.c share them.
 *
 * An element lies at offset + sum of index[d] * strides[d] bytes of the buffer. A contiguous array's strides are those of
 * row order; whatever hands its memory on as a piece (kernels' pointers, textures, host views) needs one. */
#ifndef MW_ARRAY_H
#define MW_ARRAY_H

#include "core/core.h"

#define MW_MAX_RANK 8

struct mw_array {
  mw_refs refs;
  mw_buffer *buffer;
  size_t offset; /* bytes into the buffer */
  const mw_type *dtype;
  int rank;
  size_t shape[MW_MAX_RANK];
  int64_t strides[MW_MAX_RANK]; /* bytes; may be negative, or 0 where elements are repeated */
  size_t count, bytes;          /* bytes: of the elements, wherever they lie */
  bool contiguous, read_only;   /* read_only: elements are repeated */
};

/* A view of a buffer, from a byte of it on. */
int mw_array_over(mw_buffer *buffer, size_t offset, const mw_type *dtype, int rank, const size_t *shape,
                  mw_array **out);

/* Fill in dtype, shape, count and bytes, and the strides of row order; or the latter alone. */
int mw_array_set_shape(mw_array *array, const mw_type *dtype, int rank, const size_t *shape);
void mw_array_set_row_order(mw_array *array);
/* Bytes into the buffer of the element at `place` in row order. */
size_t mw_array_element(const mw_array *array, size_t place);
/* The bytes of the buffer between which the elements lie: from *low to *high, which is not included; equal where there are
   none. */
void mw_array_reach(const mw_array *array, size_t *low, size_t *high);
/* MW_INVALID_VALUE with the sentence "`what` is a strided view: …" unless the array is contiguous. */
int mw_array_check_contiguous(const mw_array *array, const char *what);
/* MW_INVALID_VALUE where the array must not be written: "`what` is a broadcast view …". */
int mw_array_check_writable(const mw_array *array, const char *what);
/* Whether some element of one may share memory with one of the other. */
bool mw_array_overlaps(const mw_array *a, const mw_array *b);
/* Whether both have the same elements in the same order. */
bool mw_array_is_same_walk(const mw_array *a, const mw_array *b);
/* A new contiguous array with the same elements, on the same device. *out is yours. Does not wait. */
int mw_array_packed(mw_array *array, mw_array **out);
/* elementwise/copy.c: by a kernel; same shape, device and element size, and their memory does not overlap. Does not wait. */
int mw_array_copy_elements(mw_array *target, mw_array *source);
/* MW_INVALID_VALUE unless elements first .. first+count-1 are in the array; `what` begins the sentence: "a read". */
int mw_array_check_range(const mw_array *array, size_t first, size_t count, const char *what);

/* Bulk access from the host. `pass` gets the elements in order, as many at a time as it pleases the device: all at once
 * and in place where the memory is host memory, else piece by piece through a copy. Waits for the work before. */
typedef void mw_array_pass(void *context, void *elements, size_t count);
int mw_array_read_with(mw_array *array, size_t first, size_t count, mw_array_pass *pass, void *context);
/* The same for writing: `pass` has to set all bytes of the elements that it gets. */
int mw_array_write_with(mw_array *array, size_t first, size_t count, mw_array_pass *pass, void *context);

/* The integer types that loops are specialised for: X(name, kind, C type). */
#define MW_INTEGERS(X)                                                                                                 \
  X(i8, MW_TYPE_INT, int8_t)                                                                                           \
  X(i16, MW_TYPE_INT, int16_t)                                                                                         \
  X(i32, MW_TYPE_INT, int32_t)                                                                                         \
  X(i64, MW_TYPE_INT, int64_t)                                                                                         \
  X(u8, MW_TYPE_UINT, uint8_t)                                                                                         \
  X(u16, MW_TYPE_UINT, uint16_t)                                                                                       \
  X(u32, MW_TYPE_UINT, uint32_t)                                                                                       \
  X(u64, MW_TYPE_UINT, uint64_t)

/* IEEE half to float, exactly; written so that a loop over it vectorises. */
static inline float mw_half_to_float(uint16_t half) {
  union {
    uint32_t bits;
    float value;
  } result = {.bits = (uint32_t)(half & 0x7fff) << 13};
  result.value *= 0x1p112f; /* the exponents' biases differ by 112; denormals become normal by the way */
  result.bits |= result.value >= 65536.0f ? 0x7f800000u : 0; /* infinity and NaN */
  result.bits |= (uint32_t)(half & 0x8000) << 16;
  return result.value;
}

#endif
