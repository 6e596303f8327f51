/* The shape of one instruction from those of its operands.
 *
 * What makes an affine result exact: the value of lane l is base + l * stride modulo the type, where base is what the same
 * instruction makes of its operands' bases. So base may come from a lane 0 that is not active; a rule that needs more
 * than arithmetic modulo the type has to prove it for the active lanes and for that base. The proofs:
 *   - range.c bounds the value in active lanes, and base is the value of some active lane minus l * stride;
 *   - `nsw` bounds the sum in active lanes, and the operands' bases bound it on the side of lane 0;
 *   - a base that is a multiple of a power of two not less than the lanes' span keeps all lanes in one aligned piece. */
#include "shape.h"

#include <string.h>

__extension__ typedef __int128 wide;

enum { EVERY_POWER = 63 }; /* the alignment of 0 */

/* ---- views of what is no instruction ---- */

static unsigned integer_width(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static bool is_pointer(LLVMValueRef value) { return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind; }

static range everything(unsigned width) {
  if (width == 0 || width >= 64) return (range){INT64_MIN, INT64_MAX};
  return (range){-((int64_t)1 << (width - 1)), ((int64_t)1 << (width - 1)) - 1};
}

static unsigned power_in(uint64_t number) { return number ? (unsigned)__builtin_ctzll(number) : EVERY_POWER; }

static bool is_power_of_two(uint64_t number) { return number && !(number & (number - 1)); }

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

static view uniform(shape_kind kind, unsigned align) { return (view){.shape = {.kind = kind, .align = align}}; }

static const view varying = {.shape = {.kind = SHAPE_VARYING}};

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

static bool is_uniform_kind(shape_kind kind) { return kind == SHAPE_BLOCK || kind == SHAPE_GANG; }

/* ---- joining ---- */

static shape_kind larger(shape_kind a, shape_kind b) { return a > b ? a : b; }

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

static int64_t cut_to_width(wide number, unsigned width) {
  unsigned spare = width == 0 || width > 64 ? 0 : 64 - width;
  return (int64_t)((uint64_t)number << spare) >> spare;
}

/* Whether lanes from base on lie in one aligned piece of 2^align: then no sum carries out of its low bits. */
static bool in_one_piece(const shapes *s, shape a, unsigned align) {
  if (a.stride <= 0) return false;
  return align >= 63 || (wide)(s->width - 1) * a.stride < (wide)1 << align;
}

/* Whether base, computed back from an active lane that lies in r, is a number of the width, too. */
static bool base_fits(const shapes *s, range r, int64_t stride, unsigned width) {
  wide span = (wide)(s->width - 1) * stride;
  if (r.low > r.high) return true;
  return stride > 0 ? r.low - span >= everything(width).low : r.high - span <= everything(width).high;
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
    v.base = everything(64);
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
      v.base = everything(width);
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

/* The numbers where base + l * stride is exact, as a proof for `nsw`: lane 0 must not fall off where the others do not. */
static bool exact_with_nsw(wide low, wide high, int64_t stride, unsigned width) {
  return stride > 0 ? low >= everything(width).low : high <= everything(width).high;
}

static range narrow(wide low, wide high, unsigned width) {
  range all = everything(width);
  return (range){low < all.low    ? all.low
                 : low > all.high ? all.high
                                  : (int64_t)low,
                 high > all.high  ? all.high
                 : high < all.low ? all.low
                                  : (int64_t)high};
}

static view sum(LLVMValueRef i, view a, view b, bool minus, bool nsw) {
  unsigned width = integer_width(i);
  view v = {.shape = {.kind = SHAPE_AFFINE, .align = least(a.shape.align, b.shape.align)}};
  int64_t sa = a.shape.kind == SHAPE_AFFINE ? a.shape.stride : 0,
          sb = b.shape.kind == SHAPE_AFFINE ? b.shape.stride : 0;
  v.shape.stride = cut_to_width(minus ? (wide)sa - sb : (wide)sa + sb, width);
  bool known = (!sa || a.shape.no_wrap) && (!sb || b.shape.no_wrap);
  wide low = minus ? (wide)a.base.low - b.base.high : (wide)a.base.low + b.base.low;
  wide high = minus ? (wide)a.base.high - b.base.low : (wide)a.base.high + b.base.high;
  v.shape.no_wrap = nsw && known && exact_with_nsw(low, high, v.shape.stride, width);
  v.base = narrow(low, high, width);
  return v;
}

static view scaled(LLVMValueRef i, view a, int64_t factor, bool nsw) {
  unsigned width = integer_width(i);
  view v = {.shape = {.kind = SHAPE_AFFINE, .align = least(EVERY_POWER, a.shape.align + power_in((uint64_t)factor))}};
  wide stride = (wide)a.shape.stride * factor;
  v.shape.stride = cut_to_width(stride, width);
  wide low = (wide)a.base.low * factor, high = (wide)a.base.high * factor;
  if (factor < 0) {
    wide swap = low;
    low = high, high = swap;
  }
  v.shape.no_wrap = nsw && a.shape.no_wrap && v.shape.stride == stride && v.shape.stride != 0 &&
                    exact_with_nsw(low, high, v.shape.stride, width);
  v.base = narrow(low, high, width);
  return v;
}

/* ~x is -1 - x, which never wraps. */
static view complement(LLVMValueRef i, view a) {
  view v = a;
  v.shape.stride = cut_to_width(-(wide)a.shape.stride, integer_width(i));
  v.shape.align = 0;
  v.base = (range){-1 - a.base.high, -1 - a.base.low};
  return v;
}

/* ---- bits of aligned values ---- */

static uint64_t bits_operation(LLVMOpcode opcode, uint64_t a, uint64_t c) {
  switch (opcode) {
  case LLVMAnd: return a & c;
  case LLVMOr: return a | c;
  case LLVMXor: return a ^ c;
  default: return c < 64 ? a >> c : 0; /* a right shift: the low bits are no sign */
  }
}

/* An operation on bits with a constant, where base's low bits are 0 and hold all that lanes add: what it makes of lane
   l's low bits is known; if that is linear in l, so is the result. */
static view on_bits(const shapes *s, LLVMValueRef i, LLVMOpcode opcode, view a, uint64_t constant) {
  unsigned width = integer_width(i), align = least(a.shape.align, width);
  bool shift = opcode == LLVMLShr;
  /* the low bits that no lane's share reaches */
  if (opcode == LLVMAnd && is_power_of_two(constant + 1) && !((uint64_t)a.shape.stride & constant))
    return (view){.shape = {.kind = SHAPE_GANG, .align = a.shape.align}, .base = everything(width)};
  if (!in_one_piece(s, a.shape, align)) return varying;
  uint64_t piece = align >= 64 ? ~0ull : ((uint64_t)1 << align) - 1;
  uint64_t low = shift ? constant : constant & piece;
  uint64_t first = bits_operation(opcode, 0, low);
  int64_t step = (int64_t)(bits_operation(opcode, (uint64_t)a.shape.stride, low) - first);
  for (int l = 2; l < s->width; l++)
    if (bits_operation(opcode, (uint64_t)l * (uint64_t)a.shape.stride, low) - first != (uint64_t)l * (uint64_t)step)
      return varying;
  view v = {.shape = {.kind = step ? SHAPE_AFFINE : SHAPE_GANG, .stride = step}, .base = everything(width)};
  unsigned own = power_in(constant);
  if (shift)
    v.shape.align = align > constant ? align - (unsigned)constant : 0;
  else if (opcode == LLVMAnd)
    v.shape.align = constant ? (own > a.shape.align ? own : a.shape.align) : EVERY_POWER;
  else
    v.shape.align = least(own, a.shape.align);
  return v;
}

static bool constant_of(LLVMValueRef value, uint64_t *number) {
  if (!LLVMIsAConstantInt(value) || integer_width(value) > 64) return false;
  *number = LLVMConstIntGetZExtValue(value);
  return true;
}

/* Whether active lanes cannot overflow: the code says so, or their ranges do. */
static bool is_exact(const shapes *s, LLVMValueRef i, int at) {
  if (LLVMGetNSW(i)) return true;
  range a = range_at(&s->table->ranges, LLVMGetOperand(i, 0), at);
  range b = range_at(&s->table->ranges, LLVMGetOperand(i, 1), at), all = everything(integer_width(i));
  wide corners[4];
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd: corners[0] = corners[2] = (wide)a.low + b.low, corners[1] = corners[3] = (wide)a.high + b.high; break;
  case LLVMSub: corners[0] = corners[2] = (wide)a.low - b.high, corners[1] = corners[3] = (wide)a.high - b.low; break;
  case LLVMMul:
    corners[0] = (wide)a.low * b.low, corners[1] = (wide)a.high * b.high;
    corners[2] = (wide)a.low * b.high, corners[3] = (wide)a.high * b.low;
    break;
  default: return false;
  }
  for (int n = 0; n < 4; n++)
    if (corners[n] < all.low || corners[n] > all.high) return false;
  return true;
}

static view affine_binary(const shapes *s, LLVMValueRef i, int at, view a, view b) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  LLVMValueRef left = LLVMGetOperand(i, 0), right = LLVMGetOperand(i, 1);
  uint64_t number = 0;
  bool constant = constant_of(right, &number);
  unsigned width = integer_width(i);
  bool positive = range_at(&s->table->ranges, left, at).low >= 0;
  if (a.shape.kind == SHAPE_VARYING || b.shape.kind == SHAPE_VARYING || !width || width > 64) return varying;
  if (opcode == LLVMXor && constant && LLVMConstIntGetSExtValue(right) == -1) return complement(i, a);
  switch (opcode) {
  case LLVMAdd: return sum(i, a, b, false, is_exact(s, i, at));
  case LLVMSub: return sum(i, a, b, true, is_exact(s, i, at));
  case LLVMMul:
    if (constant) return scaled(i, a, LLVMConstIntGetSExtValue(right), is_exact(s, i, at));
    if (constant_of(left, &number)) return scaled(i, b, LLVMConstIntGetSExtValue(left), is_exact(s, i, at));
    return varying;
  case LLVMShl:
    if (!constant || number >= width || number > 62) return varying;
    return scaled(i, a, (int64_t)1 << number, LLVMGetNSW(i));
  case LLVMOr:
    if (LLVMGetIsDisjoint(i)) return sum(i, a, b, false, true);
    break;
  default: break;
  }
  if (!constant || a.shape.kind != SHAPE_AFFINE) return varying;
  switch (opcode) {
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor: return on_bits(s, i, opcode, a, number);
  case LLVMLShr:
  case LLVMAShr: return number < width ? on_bits(s, i, LLVMLShr, a, number) : varying;
  case LLVMUDiv:
    if (is_power_of_two(number)) return on_bits(s, i, LLVMLShr, a, power_in(number));
    return varying;
  case LLVMURem: return is_power_of_two(number) ? on_bits(s, i, LLVMAnd, a, number - 1) : varying;
  case LLVMSDiv:
    if (positive && is_power_of_two(number) && number < (uint64_t)1 << (width - 1))
      return on_bits(s, i, LLVMLShr, a, power_in(number));
    return varying;
  case LLVMSRem:
    if (positive && is_power_of_two(number) && number < (uint64_t)1 << (width - 1))
      return on_bits(s, i, LLVMAnd, a, number - 1);
    return varying;
  default: return varying;
  }
}

/* ---- uniform arithmetic: only the alignment is of interest ---- */

static unsigned uniform_align(LLVMValueRef i, view a, view b) {
  uint64_t number = 0;
  unsigned x = a.shape.align, y = b.shape.align;
  bool constant = LLVMGetNumOperands(i) > 1 && constant_of(LLVMGetOperand(i, 1), &number);
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMOr:
  case LLVMXor: return least(x, y);
  case LLVMAnd: return x > y ? x : y;
  case LLVMMul: return least(EVERY_POWER, x + y);
  case LLVMShl: return constant ? least(EVERY_POWER, x + (unsigned)least(64, (unsigned)number)) : x;
  case LLVMLShr:
  case LLVMAShr: return constant && x > number ? x - (unsigned)number : 0;
  case LLVMUDiv:
  case LLVMSDiv: return constant && is_power_of_two(number) && x > power_in(number) ? x - power_in(number) : 0;
  default: return 0;
  }
}

/* ---- comparisons ---- */

static bool is_signed_order(LLVMIntPredicate p) { return p >= LLVMIntSGT; }

/* Whether `a < limit` falls alike for all lanes: limit is a multiple of a piece that holds them all. */
static bool falls_alike(const shapes *s, view a, unsigned limit_align, unsigned width) {
  return in_one_piece(s, a.shape, least(width - 1, least(a.shape.align, limit_align)));
}

static view compare(const shapes *s, LLVMValueRef i, view a, view b) {
  LLVMIntPredicate p = LLVMGetICmpPredicate(i);
  bool equality = p == LLVMIntEQ || p == LLVMIntNE;
  if (!integer_width(LLVMGetOperand(i, 0)) && !is_pointer(LLVMGetOperand(i, 0))) return varying;
  if (a.shape.kind == SHAPE_AFFINE && b.shape.kind == SHAPE_AFFINE) {
    if (a.shape.stride != b.shape.stride) return varying;
    if (equality) return uniform(SHAPE_GANG, 0);
    if (!a.shape.no_wrap || !b.shape.no_wrap) return varying;
    /* the bases are compared: as unsigned numbers only where they cannot be negative */
    if (is_signed_order(p) || (a.base.low >= 0 && b.base.low >= 0 && a.shape.positive && b.shape.positive))
      return uniform(SHAPE_GANG, 0);
    return varying;
  }
  bool left = a.shape.kind == SHAPE_AFFINE;
  view affine = left ? a : b, limit = left ? b : a;
  if (equality || affine.shape.kind != SHAPE_AFFINE || !is_uniform_kind(limit.shape.kind)) return varying;
  /* a < limit and a >= limit ask for limit; a <= limit and a > limit for limit + 1 */
  bool strict = p == LLVMIntULT || p == LLVMIntSLT || p == LLVMIntUGE || p == LLVMIntSGE;
  unsigned align = limit.shape.align;
  if (strict != left) {
    uint64_t number;
    if (!constant_of(LLVMGetOperand(i, left ? 1 : 0), &number)) return varying;
    align = power_in(number + 1);
  }
  unsigned width = integer_width(LLVMGetOperand(i, 0));
  return falls_alike(s, affine, align, width ? width : 64) ? uniform(SHAPE_GANG, 0) : varying;
}

/* ---- casts ---- */

static view extend(const shapes *s, LLVMValueRef i, int at, view a, bool is_signed) {
  LLVMValueRef from = LLVMGetOperand(i, 0);
  unsigned width = integer_width(from);
  if (a.shape.kind == SHAPE_VARYING || !width || width > 64) return varying;
  range r = range_at(&s->table->ranges, from, at);
  bool exact = a.shape.no_wrap || base_fits(s, r, a.shape.stride, width);
  bool positive = r.low >= 0 || (!is_signed && LLVMGetNNeg(i));
  if (!exact || !(is_signed || positive)) return varying;
  view v = a;
  v.shape.no_wrap = true;
  return v;
}

static view cast_shape(const shapes *s, LLVMValueRef i, int at, view a) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  LLVMValueRef from = LLVMGetOperand(i, 0);
  bool address = opcode == LLVMPtrToInt || opcode == LLVMIntToPtr;
  switch (opcode) {
  case LLVMSExt: return extend(s, i, at, a, true);
  case LLVMZExt: return extend(s, i, at, a, false);
  case LLVMIntToPtr:
    if (integer_width(from) != 64) return varying;
    break;
  case LLVMTrunc:
  case LLVMPtrToInt:
  case LLVMAddrSpaceCast:
  case LLVMFreeze: break;
  case LLVMBitCast:
    if (!is_pointer(i) || !is_pointer(from)) return varying;
    break;
  default: return varying;
  }
  view v = a;
  if (opcode == LLVMTrunc || address) {
    v.shape.no_wrap = false;
    v.base = everything(integer_width(i));
  }
  return v;
}

/* ---- addresses ---- */

static view address_shape(const shapes *s, LLVMValueRef i, int at) {
  LLVMTargetDataRef layout = s->graph->program->layout;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(i);
  view v = view_of(s, LLVMGetOperand(i, 0));
  shape_kind kind = v.shape.kind;
  wide stride = v.shape.kind == SHAPE_AFFINE ? v.shape.stride : 0;
  unsigned align = v.shape.align;
  if (!is_pointer(i)) return varying;
  for (unsigned n = 1; n < (unsigned)LLVMGetNumOperands(i); n++) {
    LLVMValueRef index = LLVMGetOperand(i, n);
    view step = view_of(s, index);
    if (step.shape.kind == SHAPE_UNDEFINED) return (view){0};
    if (n > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
      align = least(align, power_in(LLVMOffsetOfElement(layout, type, field)));
      type = LLVMStructGetTypeAtIndex(type, field);
      continue;
    }
    if (n > 1) type = LLVMGetElementType(type);
    uint64_t size = LLVMABISizeOfType(layout, type);
    kind = larger(kind, step.shape.kind);
    if (step.shape.kind == SHAPE_AFFINE) {
      unsigned width = integer_width(index);
      bool exact = step.shape.no_wrap || base_fits(s, range_at(&s->table->ranges, index, at), step.shape.stride, width);
      if (width < 64 && !exact) return varying;
      stride += (wide)step.shape.stride * (wide)size;
    }
    align = least(align, least(EVERY_POWER, step.shape.align + power_in(size)));
  }
  if (kind == SHAPE_VARYING || kind == SHAPE_UNDEFINED) return kind == SHAPE_VARYING ? varying : (view){0};
  v = uniform(kind, align);
  v.shape.stride = kind == SHAPE_AFFINE ? cut_to_width(stride, 64) : 0;
  return v;
}

/* ---- built-ins and calls ---- */

/* base + lane, where base is a multiple of 2^align between 0 and most. */
static view count_up(unsigned align, int64_t most) {
  return (view){.shape = {.kind = SHAPE_AFFINE, .stride = 1, .align = align, .no_wrap = true}, .base = {0, most}};
}

/* Warps are cut from x + y * Dx + z * Dx * Dy: gangs are pieces of them only where rows are whole. */
static view seed(const shapes *s, const char *name) {
  unsigned lanes = power_in((unsigned)s->width);
  if (strcmp(name, "tid.x") == 0) return count_up(lanes, 1023);
  if (strcmp(name, "tid.y") == 0 || strcmp(name, "tid.z") == 0) return uniform(SHAPE_GANG, 0);
  if (strcmp(name, "ntid.x") == 0) return uniform(SHAPE_BLOCK, s->whole_rows ? lanes : 0);
  if (starts_with(name, "ctaid.") || starts_with(name, "ntid.") || starts_with(name, "nctaid."))
    return uniform(SHAPE_BLOCK, 0);
  if (strcmp(name, "warpsize") == 0) return uniform(SHAPE_BLOCK, 5);
  if (!s->whole_rows || s->width > 32) return varying;
  if (strcmp(name, "laneid") == 0) return count_up(s->width == 32 ? EVERY_POWER : lanes, 32 - s->width);
  return strcmp(name, "warpid") == 0 ? uniform(SHAPE_GANG, 0) : varying;
}

static bool reads_and_writes_nothing(LLVMValueRef call) {
  unsigned memory = LLVMGetEnumAttributeKindForName("memory", 6);
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) return false;
  if (LLVMGetEnumAttributeAtIndex(callee, whole, convergent)) return false;
  LLVMAttributeRef fact = LLVMGetEnumAttributeAtIndex(callee, whole, memory);
  if (!fact) fact = LLVMGetCallSiteEnumAttribute(call, whole, memory);
  if (fact) return LLVMGetEnumAttributeValue(fact) == 0;
  if (LLVMGetIntrinsicID(callee)) return false;
  /* A function that is only declared comes from libm; without a pointer it has nothing but its arguments to go by. */
  for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
    if (is_pointer(LLVMGetOperand(call, i))) return false;
  return !is_pointer(call);
}

/* The largest kind among the operands; UNDEFINED where one is. */
static shape_kind kind_of_operands(const shapes *s, LLVMValueRef i, unsigned count) {
  shape_kind kind = SHAPE_BLOCK;
  for (unsigned n = 0; n < count; n++) {
    LLVMValueRef operand = LLVMGetOperand(i, n);
    if (LLVMIsUndef(operand)) continue;
    shape_kind here = view_of(s, operand).shape.kind;
    if (here == SHAPE_UNDEFINED) return here;
    kind = larger(kind, here);
  }
  return kind;
}

/* What a warp agrees on, it agrees on only where it is one gang, and where all its lanes ask the same. */
static bool is_agreed(const char *name) {
  static const char *const agreed[] = {"llvm.nvvm.vote.", "llvm.nvvm.match.all.", "llvm.nvvm.redux.",
                                       "llvm.nvvm.activemask"};
  for (size_t i = 0; i < MW_COUNT(agreed); i++)
    if (starts_with(name, agreed[i])) return true;
  return false;
}

static view call_shape(const shapes *s, LLVMValueRef call) {
  static const char sreg[] = "llvm.nvvm.read.ptx.sreg.";
  const char *name = callee_name(call);
  unsigned count = LLVMGetNumArgOperands(call);
  if (starts_with(name, sreg)) return seed(s, name + strlen(sreg));
  if (is_barrier(call)) return uniform(SHAPE_BLOCK, 0);
  if (s->whole_rows && s->width == 32 && is_agreed(name) &&
      (!count || is_uniform_kind(view_of(s, LLVMGetOperand(call, 0)).shape.kind)))
    return uniform(SHAPE_GANG, 0);
  if (!reads_and_writes_nothing(call)) return varying;
  shape_kind kind = kind_of_operands(s, call, count);
  return kind == SHAPE_AFFINE ? varying : (view){.shape = {.kind = kind}};
}

/* ---- memory ---- */

static view load_shape(const shapes *s, LLVMValueRef load) {
  shape_kind kind = view_of(s, LLVMGetOperand(load, 0)).shape.kind;
  if (LLVMGetVolatile(load) || LLVMGetOrdering(load) != LLVMAtomicOrderingNotAtomic) return varying;
  return kind == SHAPE_AFFINE ? varying : (view){.shape = {.kind = kind}};
}

static view select_shape(const shapes *s, LLVMValueRef i) {
  view condition = view_of(s, LLVMGetOperand(i, 0));
  view a = view_of(s, LLVMGetOperand(i, 1)), b = view_of(s, LLVMGetOperand(i, 2));
  if (condition.shape.kind == SHAPE_UNDEFINED) return (view){0};
  if (!is_uniform_kind(condition.shape.kind)) return varying;
  view v = {.shape = join_shapes(a.shape, b.shape)};
  v.base.low = a.base.low < b.base.low ? a.base.low : b.base.low;
  v.base.high = a.base.high > b.base.high ? a.base.high : b.base.high;
  if (v.shape.kind != SHAPE_UNDEFINED) v.shape.kind = larger(v.shape.kind, condition.shape.kind);
  return v;
}

/* ---- all of them ---- */

view transfer_shape(const shapes *s, LLVMValueRef i, int at) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  unsigned count = (unsigned)LLVMGetNumOperands(i);
  switch (opcode) {
  case LLVMCall: return settle(s, i, call_shape(s, i));
  case LLVMLoad: return settle(s, i, load_shape(s, i));
  case LLVMGetElementPtr: return settle(s, i, address_shape(s, i, at));
  case LLVMSelect: return settle(s, i, select_shape(s, i));
  case LLVMAlloca: /* each thread has its own */
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg:
  case LLVMVAArg: return settle(s, i, varying);
  default: break;
  }
  shape_kind kind = kind_of_operands(s, i, count);
  if (kind == SHAPE_UNDEFINED) return (view){0};
  view a = view_of(s, LLVMGetOperand(i, 0)), b = count > 1 ? view_of(s, LLVMGetOperand(i, 1)) : (view){0};
  if (is_uniform_kind(kind)) return settle(s, i, uniform(kind, uniform_align(i, a, b)));
  if (opcode == LLVMICmp) return settle(s, i, compare(s, i, a, b));
  if (kind == SHAPE_VARYING) return settle(s, i, varying);
  if (LLVMIsABinaryOperator(i)) return settle(s, i, affine_binary(s, i, at, a, b));
  return settle(s, i, cast_shape(s, i, at, a));
}
