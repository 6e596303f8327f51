/* Broadcasting and traversal order of elementwise functions.
 *
 * Shapes broadcast as in NumPy: they are aligned at the last dimension, and a dimension of one element is repeated.
 * Dimensions that are contiguous with the next one in every array are merged, so that contiguous arrays are traversed
 * in a single dimension, whatever their rank. */
#include "elementwise.h"

#include <string.h>

/* ---- broadcasting ---- */

static void add_shape(mw_text *text, int rank, const size_t *shape) {
  mw_text_addf(text, "{");
  for (int i = 0; i < rank; i++) mw_text_addf(text, "%s%zu", i ? ", " : "", shape[i]);
  mw_text_addf(text, "}");
}

static int fail_shapes(const mw_elementwise *f, const mw_operand_value *values, const char *why) {
  mw_text text = {0};
  int count = 0;
  for (size_t k = 0; k < f->operand_count; k++) {
    if (!mw_is_walked(&f->operands[k]) || !values[k].array) continue;
    mw_text_addf(&text, count++ ? ", %s " : "%s ", f->operands[k].name);
    add_shape(&text, values[k].array->rank, values[k].array->shape);
  }
  int code = fail(MW_INVALID_VALUE, "%s: %s: %s", f->name, why, text.data);
  mw_text_free(&text);
  return code;
}

/* Broadcast the shape so far with one more; false if they are incompatible. */
static bool widen(const mw_array *array, int *rank, size_t shape[MW_MAX_RANK]) {
  int missing = array->rank - *rank;
  if (missing > 0) {
    memmove(shape + missing, shape, (size_t)*rank * sizeof *shape);
    for (int d = 0; d < missing; d++) shape[d] = 1;
    *rank = array->rank;
  }
  for (int d = 0; d < array->rank; d++) {
    size_t *common = &shape[*rank - array->rank + d];
    if (*common == 1) *common = array->shape[d];
    if (array->shape[d] != *common && array->shape[d] != 1) return false;
  }
  return true;
}

int mw_broadcast_shape(const mw_elementwise *f, const mw_operand_value *values, int *rank, size_t shape[MW_MAX_RANK]) {
  *rank = 0;
  const char *const apart = "these shapes do not fit together (sizes have to be equal or 1, from the last on)";
  for (size_t k = 0; k < f->operand_count; k++)
    if (f->operands[k].kind == MW_OPERAND_IN && !widen(values[k].array, rank, shape))
      return fail_shapes(f, values, apart);
  /* Inputs are repeated to fill a larger output, but outputs are not repeated. */
  for (size_t k = 0; k < f->operand_count; k++) {
    const mw_array *array = values[k].array;
    if (f->operands[k].kind != MW_OPERAND_OUT || !array) continue;
    if (!widen(array, rank, shape)) return fail_shapes(f, values, apart);
    if (array->rank != *rank || memcmp(array->shape, shape, (size_t)*rank * sizeof *shape) != 0)
      return fail_shapes(f, values, "what is written needs the shape of all together");
  }
  return MW_SUCCESS;
}

/* ---- the walk ---- */

static void set_steps(int64_t step[MW_MAX_RANK], const mw_array *array, int rank) {
  memset(step, 0, MW_MAX_RANK * sizeof *step);
  int missing = rank - array->rank;
  for (int d = 0; d < array->rank; d++)
    if (array->shape[d] != 1) step[missing + d] = array->strides[d];
}

static void set_index_steps(mw_layout *layout, int64_t step[MW_MAX_RANK]) {
  int64_t next = 1;
  for (int d = layout->rank - 1; d >= 0; d--) {
    step[d] = next;
    next *= (int64_t)layout->extent[d];
  }
}

static void drop_dimension(mw_layout *layout, size_t operands, int which) {
  for (int d = which; d + 1 < layout->rank; d++) {
    layout->extent[d] = layout->extent[d + 1];
    for (size_t k = 0; k < operands; k++) layout->step[k][d] = layout->step[k][d + 1];
  }
  layout->rank--;
}

/* Whether dimension d can be merged with the next one: in all arrays its stride is that dimension's whole extent. */
static bool continues(const mw_layout *layout, size_t operands, int d) {
  for (size_t k = 0; k < operands; k++)
    if (layout->step[k][d] != layout->step[k][d + 1] * (int64_t)layout->extent[d + 1]) return false;
  return true;
}

static void merge_dimensions(mw_layout *layout, size_t operands) {
  for (int d = layout->rank - 1; d >= 0 && layout->rank > 1; d--)
    if (layout->extent[d] == 1) drop_dimension(layout, operands, d);
  for (int d = layout->rank - 2; d >= 0; d--) {
    if (!continues(layout, operands, d)) continue;
    size_t extent = layout->extent[d] * layout->extent[d + 1];
    for (size_t k = 0; k < operands; k++) layout->step[k][d] = layout->step[k][d + 1];
    layout->extent[d] = extent;
    drop_dimension(layout, operands, d + 1);
  }
}

/* Rows should be long: if the innermost dimension is short and another one is not, interchange them. */
static void turn_long_dimension_inward(mw_layout *layout, size_t operands) {
  enum { SHORT = 16 };
  int last = layout->rank - 1, longest = last;
  for (int d = 0; d < last; d++)
    if (layout->extent[d] > layout->extent[longest]) longest = d;
  if (layout->extent[last] >= SHORT || layout->extent[longest] < 4 * layout->extent[last]) return;
  size_t extent = layout->extent[longest];
  layout->extent[longest] = layout->extent[last];
  layout->extent[last] = extent;
  for (size_t k = 0; k < operands; k++) {
    int64_t step = layout->step[k][longest];
    layout->step[k][longest] = layout->step[k][last];
    layout->step[k][last] = step;
  }
}

void mw_layout_of(const mw_elementwise *f, const mw_operand_value *values, int rank, const size_t *shape,
                  mw_layout *layout) {
  size_t operands = f->operand_count + 1; /* and the index */
  layout->rank = rank;
  layout->count = 1;
  for (int d = 0; d < rank; d++) {
    layout->extent[d] = shape[d];
    layout->count *= shape[d];
  }
  memset(layout->step, 0, operands * sizeof *layout->step);
  for (size_t k = 0; k < f->operand_count; k++)
    if (mw_is_walked(&f->operands[k])) set_steps(layout->step[k], values[k].array, rank);
  if (f->uses_index) set_index_steps(layout, layout->step[f->operand_count]);
  merge_dimensions(layout, operands);
  if (layout->rank > 1) turn_long_dimension_inward(layout, operands);
}

/* ---- its class ---- */

static mw_step_class class_of_step(int64_t step, size_t size) {
  return step == (int64_t)size ? MW_STEP_NEXT : step == 0 ? MW_STEP_STAY : MW_STEP_ANY;
}

mw_layout_class mw_layout_classify(const mw_elementwise *f, const mw_operand_value *values, const mw_layout *layout) {
  mw_layout_class class = {0};
  int last = layout->rank - 1;
  bool flat = layout->rank == 1;
  for (size_t k = 0; k < f->operand_count; k++) {
    if (!mw_is_walked(&f->operands[k])) continue;
    class.step[k] = (unsigned char)class_of_step(layout->step[k][last], values[k].array->dtype->size);
    flat = flat && class.step[k] == MW_STEP_NEXT;
  }
  if (f->uses_index)
    class.step[f->operand_count] = (unsigned char)class_of_step(layout->step[f->operand_count][last], 1);
  class.wide = layout->count > INT32_MAX;
  if (flat) memset(class.step, 0, sizeof class.step);
  class.rank = flat ? 0 : layout->rank;
  class.short_rows = !flat && layout->rank > 1 && layout->extent[last] <= 64;
  return class;
}
