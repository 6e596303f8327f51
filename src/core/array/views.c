/* Strided views: the positions of elements that are not contiguous in row-major order, the range of bytes that they
 * span, and whether some of them share memory. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

/* Whether the strides are row-major without gaps; strides of dimensions of one element are ignored. */
static bool is_row_order(const mw_array *array) {
  int64_t stride = (int64_t)array->dtype->size;
  for (int i = array->rank - 1; i >= 0; i--) {
    if (array->shape[i] != 1 && array->strides[i] != stride) return false;
    stride *= (int64_t)array->shape[i];
  }
  return true;
}

/* The distances that elements extend before and after the first one, without the first one's size. False if they exceed
   the address space. */
static bool reach_of(const mw_array *array, int64_t *before, int64_t *after) {
  *before = *after = 0;
  for (int i = 0; i < array->rank; i++) {
    int64_t far, *side = array->strides[i] < 0 ? before : after;
    if (__builtin_mul_overflow((int64_t)array->shape[i] - 1, array->strides[i], &far) ||
        __builtin_add_overflow(*side, far, side))
      return false;
  }
  return true;
}

void mw_array_reach(const mw_array *array, size_t *low, size_t *high) {
  int64_t before = 0, after = 0;
  *low = *high = array->offset;
  if (array->count == 0) return;
  reach_of(array, &before, &after); /* cannot fail: checked when the array was made */
  *low = (size_t)((int64_t)array->offset + before);
  *high = (size_t)((int64_t)array->offset + after) + array->dtype->size;
}

size_t mw_array_element(const mw_array *array, size_t place) {
  if (array->contiguous) return array->offset + place * array->dtype->size;
  int64_t at = (int64_t)array->offset;
  for (int i = array->rank - 1; i >= 0; i--) {
    at += (int64_t)(place % array->shape[i]) * array->strides[i];
    place /= array->shape[i];
  }
  return (size_t)at;
}

static bool is_aligned(const mw_array *view) {
  uint64_t bits = view->offset;
  for (int i = 0; i < view->rank; i++)
    if (view->shape[i] > 1) bits |= (uint64_t)view->strides[i];
  return bits % view->dtype->align == 0;
}

/* Whether no two elements share a byte, by a sufficient condition: each stride exceeds the span of the smaller ones. */
static bool has_repeats(const mw_array *view) {
  bool used[MW_MAX_RANK] = {false};
  int64_t reach = (int64_t)view->dtype->size;
  for (int done = 0; done < view->rank; done++) {
    int least = -1;
    for (int i = 0; i < view->rank; i++)
      if (!used[i] && (least < 0 || llabs(view->strides[i]) < llabs(view->strides[least]))) least = i;
    used[least] = true;
    if (view->shape[least] <= 1) continue;
    if (llabs(view->strides[least]) < reach) return true;
    reach += ((int64_t)view->shape[least] - 1) * llabs(view->strides[least]);
  }
  return false;
}

int mw_array_view_strided(mw_array *array, int64_t offset, const mw_type *dtype, int rank, const size_t *shape,
                          const int64_t *strides, mw_array **out) {
  mw_array view = {0};
  int64_t before, after, first;
  int code = mw_array_set_shape(&view, dtype ? dtype : array->dtype, rank, shape);
  if (code != MW_SUCCESS) return code;
  if (mw_buffer_is_freed(array->buffer)) return fail(MW_INVALID_RESOURCE_HANDLE, "this array was freed");
  memcpy(view.strides, strides, (size_t)rank * sizeof *strides);
  bool inside = !__builtin_add_overflow((int64_t)array->offset, offset, &first);
  if (view.count == 0) {
    view.offset = array->offset;
    mw_array_set_row_order(&view);
  } else {
    size_t low, high;
    mw_array_reach(array, &low, &high);
    inside = inside && reach_of(&view, &before, &after) && !__builtin_add_overflow(first, before, &before) &&
             !__builtin_add_overflow(first, after, &after) && before >= (int64_t)low &&
             after + (int64_t)view.dtype->size <= (int64_t)high;
    if (!inside)
      return fail(MW_INVALID_VALUE, "a view with these strides leaves the array it is of (%zu %s)", array->count,
                  array->dtype->name);
    view.offset = (size_t)first;
    view.contiguous = is_row_order(&view);
    if (!is_aligned(&view))
      return fail(MW_INVALID_VALUE, "a view as %s cannot have these strides: addresses have to be multiples of %zu",
                  view.dtype->name, view.dtype->align);
    view.read_only = array->read_only || (!view.contiguous && has_repeats(&view));
  }
  mw_refs_init(&view.refs);
  view.buffer = mw_buffer_retain(array->buffer);
  *out = mw_alloc(sizeof view);
  **out = view;
  return MW_SUCCESS;
}

int mw_array_row(mw_array *array, size_t i, mw_array **out) {
  if (array->rank < 2) return fail(MW_INVALID_VALUE, "an array of one dimension has elements, not rows");
  if (i >= array->shape[0])
    return fail(MW_INVALID_VALUE, "row %zu (counted from 1) is outside 1..%zu", i + 1, array->shape[0]);
  return mw_array_view_strided(array, (int64_t)i * array->strides[0], NULL, array->rank - 1, array->shape + 1,
                               array->strides + 1, out);
}

int mw_array_check_contiguous(const mw_array *array, const char *what) {
  if (array->contiguous) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%s is a strided view, and needs to be one piece of memory: write a:contiguous()",
              what);
}

int mw_array_check_writable(const mw_array *array, const char *what) {
  if (!array->read_only) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE,
              "%s is a broadcast view, whose elements share memory: it can be read only; write into a:copy()", what);
}
