/* The lattice of views: constants and parameters, the join of two shapes, and the normalisation of results. */
#include "vector_shape.h"

static unsigned align_of_constant(LLVMValueRef value) {
  if (LLVMIsAConstantInt(value)) return integer_width(value) <= 64 ? power_in(LLVMConstIntGetZExtValue(value)) : 0;
  if (LLVMIsAConstantPointerNull(value)) return EVERY_POWER;
  if (LLVMIsAGlobalVariable(value)) return power_in(LLVMGetAlignment(value) ? LLVMGetAlignment(value) : 1);
  if (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMAddrSpaceCast)
    return align_of_constant(LLVMGetOperand(value, 0));
  return 0;
}

/* ---- single vectors ---- */

/* The lanes of one vector often have more in common than all lanes of the gang. So what is varying is examined again
   for a single vector: there the base of an affine value is the vector's own, and has a step of its own. */

shapes shapes_of_vector(const shapes *s) {
  shapes of_vector = *s;
  of_vector.by_vector = s->by_vector ? s->by_vector : s->cut.vectors;
  of_vector.cut.vectors = 1;
  return of_vector;
}

/* The number of the last vector, as far as bases are concerned: the same for all gangs of up to 16. */
static int last_vector(const shapes *s) {
  enum { USUAL = 16 };
  int count = s->by_vector ? s->by_vector : s->cut.vectors;
  return (count > USUAL ? count : USUAL) - 1;
}

/* base(u) = base + u * step is representable in the active lanes only where it is between base and them. */
static view view_of_vector(const shapes *s, view v) {
  bool aside = (v.shape.stride > 0 && v.shape.step < 0) || (v.shape.stride < 0 && v.shape.step > 0);
  if (v.shape.kind == SHAPE_AFFINE) {
    wide far = (wide)v.shape.step * last_vector(s), low = v.base.low + (far < 0 ? far : 0),
         high = v.base.high + (far > 0 ? far : 0);
    v.base = (range){low < INT64_MIN ? INT64_MIN : (int64_t)low, high > INT64_MAX ? INT64_MAX : (int64_t)high};
    v.shape.align = least(v.shape.align, power_in((uint64_t)v.shape.step));
    if (aside) v.shape.no_wrap = false;
  } else if (v.shape.kind != SHAPE_VECTOR_AFFINE) {
    return v;
  }
  v.shape.step = 0;
  v.shape.kind = v.shape.stride ? SHAPE_AFFINE : SHAPE_GANG;
  if (v.shape.kind == SHAPE_GANG) v.shape.no_wrap = false;
  return v;
}

view view_of_vectors(view v) {
  if (v.shape.kind == SHAPE_UNDEFINED || v.shape.kind == SHAPE_VARYING) return v;
  if (v.shape.kind != SHAPE_AFFINE) v.shape.stride = 0;
  v.shape.kind = SHAPE_VECTOR_AFFINE;
  v.shape.step = 0;
  return v;
}

view view_of(const shapes *s, LLVMValueRef value) {
  int number = graph_number(s->graph, value);
  if (number >= 0 && number < s->graph->value_count)
    return s->by_vector ? view_of_vector(s, s->table->of[number]) : s->table->of[number];
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
                .step = a.step,
                .align = least(a.align, b.align),
                .no_wrap = a.no_wrap && b.no_wrap,
                .positive = a.positive && b.positive};
  if (both.kind < SHAPE_AFFINE) return both;
  if (both.kind == SHAPE_AFFINE && a.step != b.step) both.kind = SHAPE_VECTOR_AFFINE;
  if (a.stride != b.stride) both.kind = SHAPE_VARYING;
  if (both.kind == SHAPE_VECTOR_AFFINE) {
    both.step = 0;
    both.align = least(least(both.align, power_in((uint64_t)a.step)), power_in((uint64_t)b.step));
  }
  return both.kind == SHAPE_VARYING ? varying.shape : both;
}

/* ---- affine values ---- */

int64_t cut_to_width(wide number, unsigned width) {
  unsigned spare = width == 0 || width > 64 ? 0 : 64 - width;
  return (int64_t)((uint64_t)number << spare) >> spare;
}

bool in_one_piece(const shapes *s, shape a, unsigned align) {
  if (a.stride < 0 || a.step < 0 || (a.stride == 0 && a.step == 0)) return false;
  return span_of(s, a).high < (wide)1 << align;
}

span span_of(const shapes *s, shape a) {
  wide lanes = (wide)(s->cut.lanes - 1) * a.stride, vectors = (wide)(s->cut.vectors - 1) * a.step;
  return (span){(lanes < 0 ? lanes : 0) + (vectors < 0 ? vectors : 0),
                (lanes > 0 ? lanes : 0) + (vectors > 0 ? vectors : 0)};
}

bool base_fits(const shapes *s, range r, shape a, unsigned width) {
  span across = span_of(s, a);
  if (r.low > r.high) return true;
  return r.low - across.high >= full_range(width).low && r.high - across.low <= full_range(width).high;
}

static range base_from_lanes(const shapes *s, range r, shape a) {
  span across = span_of(s, a);
  wide low = r.low - across.high, high = r.high - across.low;
  return (range){low < INT64_MIN ? INT64_MIN : (int64_t)low, high > INT64_MAX ? INT64_MAX : (int64_t)high};
}

/* Normalise a result, also of phis: strides of 0 and impossible ones, alignment, and what the range of the value
   proves. */
view settle(const shapes *s, LLVMValueRef i, view v) {
  unsigned width = integer_width(i);
  bool can_be_affine = is_pointer(i) || (width >= 8 && width <= 64);
  if (v.shape.kind == SHAPE_UNDEFINED) return v;
  if (v.shape.kind == SHAPE_VECTOR_AFFINE) {
    shapes of_vector = shapes_of_vector(s);
    return view_of_vectors(settle(&of_vector, i, view_of_vector(s, v)));
  }
  if (v.shape.kind != SHAPE_AFFINE) v.shape.stride = v.shape.step = 0;
  if (s->cut.lanes == 1) v.shape.stride = 0;
  if (s->cut.vectors == 1) v.shape.step = 0;
  if (s->cut.lanes * s->cut.vectors == 1 && v.shape.kind > SHAPE_GANG) v.shape.kind = SHAPE_GANG;
  v.shape.stride = cut_to_width(v.shape.stride, is_pointer(i) ? 64 : width);
  v.shape.step = cut_to_width(v.shape.step, is_pointer(i) ? 64 : width);
  if (v.shape.kind == SHAPE_AFFINE && v.shape.stride == 0 && v.shape.step == 0) v.shape.kind = SHAPE_GANG;
  if (v.shape.kind == SHAPE_AFFINE && !can_be_affine) v.shape.kind = SHAPE_VARYING;
  if (!width || width > 64) {
    v.shape.no_wrap = v.shape.positive = false;
    v.base = full_range(64);
    if (v.shape.kind == SHAPE_VARYING) v.shape = varying.shape;
    return v;
  }
  range r = range_of(&s->table->ranges, i);
  v.shape.positive = r.low >= 0;
  if (v.shape.kind == SHAPE_AFFINE) {
    /* a piece smaller than the whole range of the width: in the whole range the sign changes half-way */
    v.shape.no_wrap =
        v.shape.no_wrap || base_fits(s, r, v.shape, width) || in_one_piece(s, v.shape, least(v.shape.align, width - 1));
    if (!v.shape.no_wrap) {
      v.base = full_range(width);
      return v;
    }
    range back = base_from_lanes(s, r, v.shape);
    if (back.low > v.base.low) v.base.low = back.low;
    if (back.high < v.base.high) v.base.high = back.high;
    return v;
  }
  v.base = r;
  v.shape.stride = v.shape.step = 0;
  v.shape.no_wrap = false;
  if (v.shape.kind == SHAPE_VARYING) v.shape.align = 0;
  return v;
}
