/* Linear forms of addresses: the distance between lanes' addresses and lane 0's, and between two accesses, where it
 * is known.
 *
 * An address is a root that all lanes share, a sum of numbers with constant factors, and a constant distance. Numbers
 * are signed and do not wrap, or have 64 bits, so that sums may be split. Only gangs whose lanes are all active may
 * rely on that, since an inactive lane may hold any value.
 *
 * Lanes differ by constants in affine numbers, and in the results of bit operations on these: if lane 0's number is a
 * multiple of 16, `i & 3` is 0, 1, 2, 3, 0, 1, … in lanes 0, 1, 2, …. Such a number is B | b(l) in lane l of a
 * vector, where B is common to all lanes of the vector, and b(l) has no bit of B. */
#include "address_form.h"

#include <string.h>

/* ---- the bits in which lanes differ ---- */

static unsigned width_of(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static uint64_t all_bits(unsigned width) { return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1; }

/* The powers of two that divide lane 0's number in every vector. */
static unsigned vector_align(shape a) {
  unsigned steps = a.step ? (unsigned)__builtin_ctzll((uint64_t)a.step) : 63;
  return a.align < steps ? a.align : steps;
}

static bool constant_operand(LLVMValueRef i, uint64_t *number) {
  LLVMValueRef right = LLVMGetNumOperands(i) > 1 ? LLVMGetOperand(i, 1) : NULL;
  if (!right || !LLVMIsAConstantInt(right) || width_of(right) > 64) return false;
  *number = LLVMConstIntGetZExtValue(right);
  return true;
}

static uint64_t reversed(uint64_t bits, unsigned width) {
  uint64_t result = 0;
  for (unsigned i = 0; i < width; i++) result |= (bits >> i & 1) << (width - 1 - i);
  return result;
}

/* b(l), restricted to those bits of the value that are demanded. */
static bool lane_bits(const shapes *s, LLVMValueRef value, uint64_t demanded, uint64_t *bits, int depth) {
  int lanes = s->cut.lanes;
  shape a = shape_of(s, value);
  unsigned width = width_of(value);
  uint64_t number = 0, differ = 0;
  if (!width || width > 64 || depth == 0) return false;
  if (a.kind != SHAPE_VARYING) {
    bool alike = is_uniform_kind(a.kind) || a.stride == 0;
    unsigned align = vector_align(a);
    if (!alike && (a.stride < 0 || a.stride > INT32_MAX || align > 62)) return false;
    uint64_t low = alike ? UINT64_MAX : ((uint64_t)1 << align) - 1;
    if (!alike && (demanded & ~low) && (uint64_t)a.stride * (unsigned)(lanes - 1) > low) return false;
    for (int l = 0; l < lanes; l++) bits[l] = alike ? 0 : (uint64_t)a.stride * (unsigned)l & demanded & low;
    return true;
  }
  if (!LLVMIsAInstruction(value)) return false;
  LLVMValueRef from = LLVMGetNumOperands(value) ? LLVMGetOperand(value, 0) : NULL;
  bool constant = constant_operand(value, &number);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  if (opcode == LLVMZExt || opcode == LLVMTrunc)
    return lane_bits(s, from, demanded & all_bits(width_of(from)), bits, depth - 1);
  if (opcode == LLVMCall && starts_with(callee_name(value), "llvm.bitreverse.")) {
    if (!lane_bits(s, from, reversed(demanded, width), bits, depth - 1)) return false;
    for (int l = 0; l < lanes; l++) bits[l] = reversed(bits[l], width);
    return true;
  }
  if (!constant) return false;
  bool shift = opcode == LLVMShl || opcode == LLVMLShr;
  if (shift && number >= width) return false;
  switch (opcode) {
  case LLVMAnd: demanded &= number; break;
  case LLVMOr: demanded &= ~number; break;
  case LLVMXor: break;
  case LLVMShl: demanded >>= number; break;
  case LLVMLShr: demanded = demanded << number & all_bits(width); break;
  default: return false;
  }
  if (!lane_bits(s, from, demanded, bits, depth - 1)) return false;
  for (int l = 0; l < lanes; l++) differ |= bits[l];
  for (int l = 0; l < lanes; l++) {
    if (opcode == LLVMShl) bits[l] = bits[l] << number & all_bits(width);
    if (opcode == LLVMLShr) bits[l] >>= number;
    if (opcode == LLVMXor) bits[l] ^= number & differ;
  }
  return true;
}

enum { DEEPEST = 6 };

/* The difference between lane l and lane 0, the same in every vector, as signed numbers. */
static bool lane_distances(const shapes *s, LLVMValueRef value, int64_t *distances) {
  shape a = shape_of(s, value);
  int lanes = s->cut.lanes;
  unsigned width = width_of(value);
  bool alike = is_uniform_kind(a.kind);
  if (a.kind != SHAPE_VARYING) {
    if (!alike && !a.no_wrap && width != 64) return false;
    if (a.stride > INT32_MAX || a.stride < INT32_MIN) return false;
    for (int l = 0; l < lanes; l++) distances[l] = alike ? 0 : a.stride * l;
    return true;
  }
  uint64_t bits[MOST_LANES];
  if (!lane_bits(s, value, all_bits(width), bits, DEEPEST)) return false;
  for (int l = 0; l < lanes; l++) {
    if (bits[l] >> (width - 1)) return false; /* the sign */
    distances[l] = (int64_t)bits[l] - (int64_t)bits[0];
  }
  return true;
}

/* ---- sums ---- */

static bool add_term(form *f, LLVMValueRef value, int64_t times) {
  for (int i = 0; i < f->count; i++) {
    if (f->terms[i].value != value) continue;
    if (f->terms[i].times > INT32_MAX || f->terms[i].times < INT32_MIN) return false;
    f->terms[i].times += times;
    if (!f->terms[i].times) f->terms[i] = f->terms[--f->count];
    return true;
  }
  if (f->count == MOST_TERMS) return false;
  f->terms[f->count++] = (term){value, times};
  return true;
}

/* Sums of 64 bits may wrap, as addresses do. */
static bool is_exact(LLVMValueRef i, bool wide) { return wide || LLVMGetNSW(i); }

static bool add_number(const shapes *s, form *f, LLVMValueRef value, int64_t times, bool wide, int depth) {
  enum { LARGEST = 1 << 20 };
  unsigned width = width_of(value);
  uint64_t number = 0;
  if (!width || width > 64 || times > LARGEST || times < -LARGEST) return false;
  if (LLVMIsAConstantInt(value)) {
    f->distance = (int64_t)((uint64_t)f->distance + (uint64_t)times * (uint64_t)LLVMConstIntGetSExtValue(value));
    return true;
  }
  if (!LLVMIsAInstruction(value) || depth == 0) return add_term(f, value, times);
  LLVMValueRef left = LLVMGetOperand(value, 0);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  bool constant = LLVMIsABinaryOperator(value) && constant_operand(value, &number);
  switch (opcode) {
  case LLVMSExt: return add_number(s, f, left, times, false, depth - 1);
  case LLVMZExt:
    if (!shape_of(s, left).positive && !LLVMGetNNeg(value)) break;
    return add_number(s, f, left, times, false, depth - 1);
  case LLVMOr:
    if (!LLVMGetIsDisjoint(value)) break;
    return add_number(s, f, left, times, wide, depth - 1) &&
           add_number(s, f, LLVMGetOperand(value, 1), times, wide, depth - 1);
  case LLVMAdd:
  case LLVMSub:
    if (!is_exact(value, wide)) break;
    return add_number(s, f, left, times, wide, depth - 1) &&
           add_number(s, f, LLVMGetOperand(value, 1), opcode == LLVMSub ? -times : times, wide, depth - 1);
  case LLVMMul:
    if (!constant || !is_exact(value, wide) || number > LARGEST) break;
    return add_number(s, f, left, times * (int64_t)number, wide, depth - 1);
  case LLVMShl:
    if (!constant || !is_exact(value, wide) || number > 20) break;
    return add_number(s, f, left, times * ((int64_t)1 << number), wide, depth - 1);
  default: break;
  }
  return add_term(f, value, times);
}

static bool add_indices(const shapes *s, form *f, LLVMValueRef gep) {
  LLVMTargetDataRef layout = s->graph->program->layout;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (unsigned i = 1; i <= LLVMGetNumIndices(gep); i++) {
    LLVMValueRef index = LLVMGetOperand(gep, i);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned member = (unsigned)LLVMConstIntGetZExtValue(index);
      f->distance = (int64_t)((uint64_t)f->distance + LLVMOffsetOfElement(layout, type, member));
      type = LLVMStructGetTypeAtIndex(type, member);
      continue;
    }
    if (i > 1) type = LLVMGetElementType(type);
    bool wide = width_of(index) == 64;
    if (!wide && !LLVMIsAConstantInt(index)) return false;
    if (!add_number(s, f, index, (int64_t)LLVMABISizeOfType(layout, type), wide, DEEPEST)) return false;
  }
  return true;
}

/* Not by address, which differs from run to run: the generated code follows this order. */
static int by_number(const graph *g, const term *a, const term *b) {
  return graph_number(g, a->value) - graph_number(g, b->value);
}

bool form_of(const shapes *s, LLVMValueRef address, form *f) {
  const int64_t farthest = (int64_t)1 << 40;
  *f = (form){0};
  while (LLVMIsAGetElementPtrInst(address) && !local_unit(s->graph, address)) {
    if (!add_indices(s, f, address)) return false;
    address = LLVMGetOperand(address, 0);
  }
  if (shape_of(s, address).kind > SHAPE_GANG || local_unit(s->graph, address)) return false;
  if (f->distance > farthest || f->distance < -farthest) return false;
  f->root = address;
  for (int i = 1; i < f->count; i++) /* sorted, so that forms can be compared */
    for (int j = i; j > 0 && by_number(s->graph, &f->terms[j], &f->terms[j - 1]) < 0; j--) {
      term other = f->terms[j];
      f->terms[j] = f->terms[j - 1];
      f->terms[j - 1] = other;
    }
  return true;
}

bool same_but_distance(const form *a, const form *b) {
  if (a->root != b->root || a->count != b->count) return false;
  for (int i = 0; i < a->count; i++)
    if (a->terms[i].value != b->terms[i].value || a->terms[i].times != b->terms[i].times) return false;
  return true;
}

bool form_distances(const shapes *s, const form *f, int64_t *distances) {
  int64_t own[MOST_LANES];
  memset(distances, 0, (size_t)s->cut.lanes * sizeof *distances);
  for (int i = 0; i < f->count; i++) {
    if (!lane_distances(s, f->terms[i].value, own)) return false;
    for (int l = 0; l < s->cut.lanes; l++) {
      if (own[l] > INT32_MAX || own[l] < INT32_MIN) return false;
      distances[l] += own[l] * f->terms[i].times;
    }
  }
  return true;
}

/* Whether the value is the same in lane l of every vector. */
static bool is_by_lane(const shapes *s, LLVMValueRef value, int depth) {
  shape a = shape_of(s, value);
  uint64_t number = 0;
  if (is_uniform_kind(a.kind)) return true;
  if (a.kind != SHAPE_VARYING) return a.kind == SHAPE_AFFINE && a.step == 0;
  if (depth == 0 || !LLVMIsAInstruction(value)) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  LLVMValueRef from = LLVMGetNumOperands(value) ? LLVMGetOperand(value, 0) : NULL;
  switch (opcode) {
  case LLVMAnd: {
    if (!constant_operand(value, &number)) return false;
    shape x = shape_of(s, from);
    unsigned align = x.kind == SHAPE_VARYING ? 0 : vector_align(x);
    if (x.kind == SHAPE_AFFINE && (align > 62 || number >> align == 0)) return true;
    break;
  }
  case LLVMOr:
  case LLVMXor:
  case LLVMMul:
  case LLVMShl:
  case LLVMLShr:
    if (!constant_operand(value, &number)) return false;
    break;
  case LLVMZExt:
  case LLVMSExt:
  case LLVMTrunc: break;
  default: return false;
  }
  return is_by_lane(s, from, depth - 1);
}

bool vectors_share_form(const shapes *s, LLVMValueRef address) {
  form f;
  if (!form_of(s, address, &f)) return false;
  for (int i = 0; i < f.count; i++)
    if (!is_by_lane(s, f.terms[i].value, DEEPEST)) return false;
  return true;
}

bool form_needs(const form *f, LLVMValueRef *values, int *count, int most, const shapes *s) {
  *count = 0;
  for (int i = 0; i < f->count; i++) {
    LLVMValueRef value = f->terms[i].value;
    for (int depth = 0; depth < DEEPEST && shape_of(s, value).kind == SHAPE_VARYING; depth++)
      value = LLVMGetOperand(value, 0);
    if (*count == most) return false;
    values[(*count)++] = value;
  }
  return true;
}
