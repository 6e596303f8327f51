/* Views: what is known of constants and parameters, the join of two shapes, and the last touch that every result gets. */
#include "shape.h"

static unsigned align_of_constant(LLVMValueRef value) {
  if (LLVMIsAConstantInt(value)) return integer_width(value) <= 64 ? power_in(LLVMConstIntGetZExtValue(value)) : 0;
  if (LLVMIsAConstantPointerNull(value)) return EVERY_POWER;
  if (LLVMIsAGlobalVariable(value)) return power_in(LLVMGetAlignment(value) ? LLVMGetAlignment(value) : 1);
  if (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMAddrSpaceCast)
    return align_of_constant(LLVMGetOperand(value, 0));
  return 0;
}

view view_of(const shapes *s, LLVMValueRef value) {
  int number = graph_number(s->graph, value);
  if (number >= 0 && number < s->graph->value_count) return s->table->of[number];
  if (number < 0 && LLVMIsUndef(value)) return (view){.shape = {.kind = SHAPE_UNDEFINED}};
  view v = uniform(SHAPE_BLOCK, number < 0 ? align_of_constant(value) : 0);
  v.base = range_of(&s->table->ranges, value);
  v.shape.positive = integer_width(value) && v.base.low >= 0;
  return v;
}

/* ---- joining ---- */

shape join_shapes(shape a, shape b) {
  if (a.kind == SHAPE_UNDEFINED) return b;
  if (b.kind == SHAPE_UNDEFINED) return a;
  shape both = {.kind = larger(a.kind, b.kind),
                .stride = a.stride,
                .align = least(a.align, b.align),
                .no_wrap = a.no_wrap && b.no_wrap,
                .positive = a.positive && b.positive};
  if (both.kind == SHAPE_AFFINE && (a.kind != b.kind || a.stride != b.stride)) both.kind = SHAPE_VARYING;
  return both.kind == SHAPE_VARYING ? varying.shape : both;
}

/* ---- affine values ---- */

int64_t cut_to_width(wide number, unsigned width) {
  unsigned spare = width == 0 || width > 64 ? 0 : 64 - width;
  return (int64_t)((uint64_t)number << spare) >> spare;
}

bool in_one_piece(const shapes *s, shape a, unsigned align) {
  if (a.stride <= 0) return false;
  return align >= 63 || (wide)(s->width - 1) * a.stride < (wide)1 << align;
}

bool base_fits(const shapes *s, range r, int64_t stride, unsigned width) {
  wide span = (wide)(s->width - 1) * stride;
  if (r.low > r.high) return true;
  return stride > 0 ? r.low - span >= full_range(width).low : r.high - span <= full_range(width).high;
}

static range base_from_lanes(const shapes *s, range r, int64_t stride) {
  wide span = (wide)(s->width - 1) * stride, low = r.low, high = r.high;
  if (stride > 0)
    low -= span;
  else
    high -= span;
  return (range){low < INT64_MIN ? INT64_MIN : (int64_t)low, high > INT64_MAX ? INT64_MAX : (int64_t)high};
}

/* The last touch, for phis too: strides of 0 and impossible ones, alignment, what the range of the value proves. */
view settle(const shapes *s, LLVMValueRef i, view v) {
  unsigned width = integer_width(i);
  bool can_be_affine = is_pointer(i) || (width >= 8 && width <= 64);
  if (v.shape.kind == SHAPE_UNDEFINED) return v;
  if (s->width == 1 && v.shape.kind > SHAPE_GANG) v.shape.kind = SHAPE_GANG;
  if (v.shape.kind == SHAPE_AFFINE) v.shape.stride = cut_to_width(v.shape.stride, is_pointer(i) ? 64 : width);
  if (v.shape.kind == SHAPE_AFFINE && v.shape.stride == 0) v.shape.kind = SHAPE_GANG;
  if (v.shape.kind == SHAPE_AFFINE && !can_be_affine) v.shape.kind = SHAPE_VARYING;
  if (!width || width > 64) {
    v.shape.no_wrap = v.shape.positive = false;
    v.base = full_range(64);
    if (v.shape.kind == SHAPE_VARYING) v.shape = varying.shape;
    if (v.shape.kind != SHAPE_AFFINE) v.shape.stride = 0;
    return v;
  }
  range r = range_of(&s->table->ranges, i);
  v.shape.positive = r.low >= 0;
  if (v.shape.kind == SHAPE_AFFINE) {
    v.shape.no_wrap = v.shape.no_wrap || base_fits(s, r, v.shape.stride, width) ||
                      in_one_piece(s, v.shape, least(v.shape.align, width));
    if (!v.shape.no_wrap) {
      v.base = full_range(width);
      return v;
    }
    range back = base_from_lanes(s, r, v.shape.stride);
    if (back.low > v.base.low) v.base.low = back.low;
    if (back.high < v.base.high) v.base.high = back.high;
    return v;
  }
  v.base = r;
  v.shape.stride = 0;
  v.shape.no_wrap = false;
  if (v.shape.kind == SHAPE_VARYING) v.shape.align = 0;
  return v;
}
