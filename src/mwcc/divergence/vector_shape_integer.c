/* Shapes of integer arithmetic, comparisons and casts: affine integers.
 *
 * An affine result is exact in this sense: the value of lane l is base + l * stride modulo the type, where base is
 * the result of the same instruction on its operands' bases. So base may belong to an inactive lane 0. A rule that
 * needs more than modular arithmetic has to prove it for the active lanes and for that base. The proofs:
 *
 *   ranges      value_range.c bounds the value in active lanes, and base is the value of some active lane minus l *
 *               stride
 *   nsw         `nsw` bounds the sum in active lanes, and the operands' bases bound it on the side of lane 0
 *   alignment   a base that is a multiple of a power of two not less than the lanes' span keeps all lanes in one
 *               aligned piece
 *   masks       `x & 31` is between 0 and 31 and `x >> 5` not negative for any x, so also for that base */
#include "vector_shape.h"

/* ---- sums and products ---- */

/* The range in which base is exact, as a proof for `nsw`: lane 0 must not overflow where the others do not. */
static bool exact_with_nsw(wide low, wide high, shape a, unsigned width) {
  /* on which side the other lanes are */
  bool above = a.stride >= 0 && a.step >= 0, below = a.stride <= 0 && a.step <= 0;
  return (below || low >= full_range(width).low) && (above || high <= full_range(width).high);
}

static range narrow(wide low, wide high, unsigned width) {
  range all = full_range(width);
  return (range){low < all.low    ? all.low
                 : low > all.high ? all.high
                                  : (int64_t)low,
                 high > all.high  ? all.high
                 : high < all.low ? all.low
                                  : (int64_t)high};
}

static bool is_known(view v) { return v.shape.kind != SHAPE_AFFINE || v.shape.no_wrap; }

static view sum(LLVMValueRef i, view a, view b, bool minus, bool nsw) {
  unsigned width = integer_width(i);
  view v = {.shape = {.kind = SHAPE_AFFINE, .align = least(a.shape.align, b.shape.align)}};
  wide sign = minus ? -1 : 1;
  v.shape.stride = cut_to_width(a.shape.stride + sign * b.shape.stride, width);
  v.shape.step = cut_to_width(a.shape.step + sign * b.shape.step, width);
  bool known = is_known(a) && is_known(b);
  wide low = minus ? (wide)a.base.low - b.base.high : (wide)a.base.low + b.base.low;
  wide high = minus ? (wide)a.base.high - b.base.low : (wide)a.base.high + b.base.high;
  v.shape.no_wrap = nsw && known && exact_with_nsw(low, high, v.shape, width);
  v.base = narrow(low, high, width);
  return v;
}

static view scaled(LLVMValueRef i, view a, int64_t factor, bool nsw) {
  unsigned width = integer_width(i);
  view v = {.shape = {.kind = SHAPE_AFFINE, .align = least(EVERY_POWER, a.shape.align + power_in((uint64_t)factor))}};
  wide stride = (wide)a.shape.stride * factor, step = (wide)a.shape.step * factor;
  v.shape.stride = cut_to_width(stride, width);
  v.shape.step = cut_to_width(step, width);
  wide low = (wide)a.base.low * factor, high = (wide)a.base.high * factor;
  if (factor < 0) {
    wide swap = low;
    low = high, high = swap;
  }
  v.shape.no_wrap = nsw && a.shape.no_wrap && v.shape.stride == stride && v.shape.step == step && factor != 0 &&
                    exact_with_nsw(low, high, v.shape, width);
  v.base = narrow(low, high, width);
  return v;
}

/* ~x is -1 - x, which never wraps. */
static view complement(LLVMValueRef i, view a) {
  view v = a;
  v.shape.stride = cut_to_width(-(wide)a.shape.stride, integer_width(i));
  v.shape.step = cut_to_width(-(wide)a.shape.step, integer_width(i));
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
  default: return c < 64 ? a >> c : 0; /* a right shift: the low bits do not include the sign */
  }
}

/* The range of `x & constant` or `x >> constant` for any x, so also for the base of an inactive lane 0. */
static range range_of_bits(LLVMValueRef i, uint64_t constant) {
  unsigned width = integer_width(i);
  range all = full_range(width);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  if (opcode == LLVMAnd && constant <= (uint64_t)all.high) return (range){0, (int64_t)constant};
  if (opcode == LLVMLShr && constant > 0 && constant < width) return (range){0, all.high >> (constant - 1)};
  return all;
}

/* A bit operation with a constant, where base's low bits are 0 and hold everything that lanes add. The result of lane
   l's low bits is known; if that is linear in l, so is the result. */
static view shape_of_bits_operation(const shapes *s, LLVMValueRef i, LLVMOpcode opcode, view a, uint64_t constant) {
  unsigned width = integer_width(i), align = least(a.shape.align, width);
  bool shift = opcode == LLVMLShr;
  /* the low bits in which no lane differs */
  if (opcode == LLVMAnd && is_power_of_two(constant + 1) && !((uint64_t)(a.shape.stride | a.shape.step) & constant))
    return (view){.shape = {.kind = SHAPE_GANG, .align = a.shape.align}, .base = full_range(width)};
  if (!in_one_piece(s, a.shape, align)) return varying;
  uint64_t piece = align >= 64 ? ~0ull : ((uint64_t)1 << align) - 1;
  uint64_t low = shift ? constant : constant & piece;
  uint64_t first = bits_operation(opcode, 0, low);
  uint64_t stride = bits_operation(opcode, (uint64_t)a.shape.stride, low) - first;
  uint64_t step = bits_operation(opcode, (uint64_t)a.shape.step, low) - first;
  for (uint64_t u = 0; u < (uint64_t)s->cut.vectors; u++)
    for (uint64_t l = 0; l < (uint64_t)s->cut.lanes; l++) {
      uint64_t from = l * (uint64_t)a.shape.stride + u * (uint64_t)a.shape.step;
      if (bits_operation(opcode, from, low) - first != l * stride + u * step) return varying;
    }
  view v = {.shape = {.kind = SHAPE_AFFINE, .stride = (int64_t)stride, .step = (int64_t)step},
            .base = range_of_bits(i, constant)};
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

/* Whether active lanes cannot overflow, by the instruction's flags or by ranges. */
static bool is_exact(const shapes *s, LLVMValueRef i, int at) {
  if (LLVMGetNSW(i)) return true;
  range a = range_at(&s->table->ranges, LLVMGetOperand(i, 0), at);
  range b = range_at(&s->table->ranges, LLVMGetOperand(i, 1), at), all = full_range(integer_width(i));
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

view binary_shape(const shapes *s, LLVMValueRef i, int at, view a, view b) {
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
  case LLVMXor: return shape_of_bits_operation(s, i, opcode, a, number);
  case LLVMAShr: /* like the logical shift, where the sign is the same in all lanes, or clear in all active ones */
    if (!positive) a.shape.align = least(a.shape.align, width - 1);
    return number < width ? shape_of_bits_operation(s, i, LLVMLShr, a, number) : varying;
  case LLVMLShr: return number < width ? shape_of_bits_operation(s, i, LLVMLShr, a, number) : varying;
  case LLVMUDiv:
    if (is_power_of_two(number)) return shape_of_bits_operation(s, i, LLVMLShr, a, power_in(number));
    return varying;
  case LLVMURem: return is_power_of_two(number) ? shape_of_bits_operation(s, i, LLVMAnd, a, number - 1) : varying;
  case LLVMSDiv:
    if (positive && is_power_of_two(number) && number < (uint64_t)1 << (width - 1))
      return shape_of_bits_operation(s, i, LLVMLShr, a, power_in(number));
    return varying;
  case LLVMSRem:
    if (positive && is_power_of_two(number) && number < (uint64_t)1 << (width - 1))
      return shape_of_bits_operation(s, i, LLVMAnd, a, number - 1);
    return varying;
  default: return varying;
  }
}

/* ---- uniform arithmetic: only the alignment matters ---- */

unsigned uniform_align(LLVMValueRef i, view a, view b) {
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

/* Whether `a < limit` has one result for all lanes: limit is a multiple of a piece that contains them all. */
static bool compares_uniformly(const shapes *s, view a, unsigned limit_align, unsigned width) {
  return in_one_piece(s, a.shape, least(width - 1, least(a.shape.align, limit_align)));
}

view compare_shape(const shapes *s, LLVMValueRef i, view a, view b) {
  LLVMIntPredicate p = LLVMGetICmpPredicate(i);
  bool equality = p == LLVMIntEQ || p == LLVMIntNE;
  if (!integer_width(LLVMGetOperand(i, 0)) && !is_pointer(LLVMGetOperand(i, 0))) return varying;
  if (a.shape.kind == SHAPE_AFFINE && b.shape.kind == SHAPE_AFFINE) {
    if (a.shape.stride != b.shape.stride || a.shape.step != b.shape.step) return varying;
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
  /* a < limit and a >= limit need limit aligned; a <= limit and a > limit need limit + 1 */
  bool strict = p == LLVMIntULT || p == LLVMIntSLT || p == LLVMIntUGE || p == LLVMIntSGE;
  unsigned align = limit.shape.align;
  if (strict != left) {
    uint64_t number;
    if (!constant_of(LLVMGetOperand(i, left ? 1 : 0), &number)) return varying;
    align = power_in(number + 1);
  }
  unsigned width = integer_width(LLVMGetOperand(i, 0));
  return compares_uniformly(s, affine, align, width ? width : 64) ? uniform(SHAPE_GANG, 0) : varying;
}

/* ---- casts ---- */

/* Whether a constant is made from the address of shared memory. */
static bool refers_to_shared(LLVMValueRef value) {
  if (!LLVMIsAConstant(value)) return false;
  if (LLVMIsAGlobalVariable(value)) return memory_of(value) == MEMORY_SHARED;
  for (int n = 0; LLVMIsAConstantExpr(value) && n < LLVMGetNumOperands(value); n++)
    if (refers_to_shared(LLVMGetOperand(value, (unsigned)n))) return true;
  return false;
}

/* Whether a number is only the 32-bit distance of an address from a shared variable, as ptx/memory.c makes it, and is
   only used as an address. A lane may rely on its being small, so neighbouring lanes do not wrap. */
static bool is_shared_distance(LLVMValueRef extension) {
  LLVMValueRef from = LLVMGetOperand(extension, 0);
  LLVMOpcode opcode = LLVMIsAInstruction(from) ? LLVMGetInstructionOpcode(from) : (LLVMOpcode)0;
  if ((opcode != LLVMSub && opcode != LLVMAdd) || !refers_to_shared(LLVMGetOperand(from, 1))) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(extension); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef sum = LLVMGetUser(use);
    if (LLVMGetInstructionOpcode(sum) != LLVMAdd || !refers_to_shared(LLVMGetOperand(sum, 1))) return false;
    for (LLVMUseRef end = LLVMGetFirstUse(sum); end; end = LLVMGetNextUse(end))
      if (!LLVMIsAIntToPtrInst(LLVMGetUser(end))) return false;
  }
  return true;
}

/* Whether the lanes of a gang are so close to each other that none wraps where another is small. */
static bool is_narrow(const shapes *s, shape a) {
  wide lanes = (wide)s->cut.lanes * a.stride, vectors = (wide)s->cut.vectors * a.step, most = 1 << 28;
  return lanes <= most && lanes >= -most && vectors <= most && vectors >= -most;
}

static view extend(const shapes *s, LLVMValueRef i, int at, view a, bool is_signed) {
  LLVMValueRef from = LLVMGetOperand(i, 0);
  unsigned width = integer_width(from);
  if (a.shape.kind == SHAPE_VARYING || !width || width > 64) return varying;
  range r = range_at(&s->table->ranges, from, at);
  bool exact = a.shape.no_wrap || base_fits(s, r, a.shape, width) ||
               (is_signed && is_narrow(s, a.shape) && is_shared_distance(i));
  bool positive = r.low >= 0 || (!is_signed && LLVMGetNNeg(i));
  if (!exact || !(is_signed || positive)) return varying;
  view v = a;
  v.shape.no_wrap = true;
  return v;
}

view cast_shape(const shapes *s, LLVMValueRef i, int at, view a) {
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
    v.base = full_range(integer_width(i));
  }
  return v;
}
