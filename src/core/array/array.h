/* Arrays: declarations shared by array.c (shape and bytes), views.c and strided.c (strides), copy.c, convert.c (conversion) and
 * reduce.c.
 *
 * An element lies at offset + sum of index[d] * strides[d] bytes of the buffer. A contiguous array has row-major
 * strides without gaps; uses of its memory as one piece (kernels' pointers, textures, host views) need a contiguous
 * array. */
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
  int64_t strides[MW_MAX_RANK]; /* bytes; may be negative, or 0 if elements are repeated */
  size_t count, bytes;          /* bytes: of the elements, without gaps */
  bool contiguous, read_only;   /* read_only: elements are repeated */
};

/* A view of a buffer, from byte `offset` on. */
int mw_array_over(mw_buffer *buffer, size_t offset, const mw_type *dtype, int rank, const size_t *shape,
                  mw_array **out);

/* Set dtype, shape, count and bytes, and row-major strides; or only the strides. */
int mw_array_set_shape(mw_array *array, const mw_type *dtype, int rank, const size_t *shape);
void mw_array_set_row_order(mw_array *array);
/* The offset in the buffer of the element with row-major index `place`. */
size_t mw_array_element(const mw_array *array, size_t place);
/* The range of the buffer's bytes that contains the elements: [*low, *high); empty if there are none. */
void mw_array_reach(const mw_array *array, size_t *low, size_t *high);
/* MW_INVALID_VALUE with the message "`what` is a strided view, …" unless the array is contiguous. */
int mw_array_check_contiguous(const mw_array *array, const char *what);
/* MW_INVALID_VALUE if the array is read-only: "`what` is a broadcast view …". */
int mw_array_check_writable(const mw_array *array, const char *what);
/* Whether an element of one may share memory with one of the other. */
bool mw_array_overlaps(const mw_array *a, const mw_array *b);
/* Whether both have the same elements in the same order. */
bool mw_array_is_same_walk(const mw_array *a, const mw_array *b);
/* A new contiguous array with the same elements, on the same device. *out is yours. Does not wait. */
int mw_array_packed(mw_array *array, mw_array **out);
/* elementwise/copy.c: copy by a kernel. Shape, device and element size are equal, and the memory does not overlap. Does
   not wait. */
int mw_array_copy_elements(mw_array *target, mw_array *source);
/* strided.c: whether `count` elements of a strided array are few, in memory that the host can access; and then those
   elements to (reads) or from `packed`, where they lie without gaps. Waits for earlier work. */
bool mw_array_is_walked(const mw_array *array, size_t count);
int mw_array_walk(mw_array *array, size_t first, size_t count, void *packed, bool reads);
/* MW_INVALID_VALUE unless elements first .. first+count-1 are in the array; `what` begins the message: "a read". */
int mw_array_check_range(const mw_array *array, size_t first, size_t count, const char *what);

/* Bulk access from the host. `pass` gets the elements in order: all at once and in place if the host can access the
 * memory, else in pieces, through a copy. Waits for earlier work. */
typedef void mw_array_pass(void *context, void *elements, size_t count);
int mw_array_read_with(mw_array *array, size_t first, size_t count, mw_array_pass *pass, void *context);
/* The same for writing: `pass` must set all bytes of the elements that it gets. */
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
  result.value *= 0x1p112f; /* the exponents' biases differ by 112; this also normalises subnormals */
  result.bits |= result.value >= 65536.0f ? 0x7f800000u : 0; /* infinity and NaN */
  result.bits |= (uint32_t)(half & 0x8000) << 16;
  return result.value;
}

#endif
